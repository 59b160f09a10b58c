"""The Python that `jmsbridge migrate --skeletons` writes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import jmsbridge
from jmsbridge import Queue
from jmsbridge.app import App, JsonConverter
from jmsbridge.cli import app
from jmsbridge.migrate import read_project
from jmsbridge.migrate.skeletons import skeletons
from tools.laws.source import ROOT

SOURCES = Path(__file__).parent / "sources"

LISTENERS = '''"""From Listeners.java, by `jmsbridge migrate`: a start, to be filled in by hand."""

from dataclasses import dataclass
from typing import Annotated, Any

from jmsbridge import Session, Template, TextMessage
from jmsbridge.app import App, Property


@dataclass
class Order:  # Listeners.java:13
    number: int
    article: str | None = None


app = App()  # the target is in $JMSBRIDGE_URL


@app.listener('orders', concurrency=(3, 10), selector="region = 'north'")
def on_order(order: Order, region: Annotated[str, Property('region')]) -> None:  # Listeners.java:19
    raise NotImplementedError('Listeners.java:19')


def on_order_sends(template: Template, value: Any) -> None:  # Listeners.java:19
    template.send('invoices', value)  # Listeners.java:20


@app.listener('topic:news', subscription='audit')
def on_news(message: TextMessage, session: Session) -> None:  # Listeners.java:27
    raise NotImplementedError('Listeners.java:27')


@app.listener('unchecked', send_to='checked')
def check(order: Order) -> Order:  # Listeners.java:33
    raise NotImplementedError('Listeners.java:33')


def ask(template: Template, value: Any) -> None:  # Listeners.java:37
    template.send('questions', value)  # Listeners.java:38
'''


def _modules(name: str) -> dict[str, str]:
    return skeletons(read_project(SOURCES / name))


def test_listeners_of_spring() -> None:
    assert _modules("spring") == {"listeners.py": LISTENERS}


def test_senders_of_plain_jms_have_the_destinations_of_the_sources() -> None:
    text = _modules("classic")["orders.py"]
    assert "def send(template: Template, value: Any, value_2: Any) -> None:  # Orders.java:11" in text
    assert "    template.send('orders', value)  # Orders.java:18" in text
    assert "    template.send('topic:audit', value_2)  # Orders.java:19" in text


def test_constants_and_placeholders_are_what_sources_and_configuration_say() -> None:
    text = _modules("configured")["billing.py"]
    assert "@app.listener('shop.orders', concurrency=(2, 5), send_to='audit')" in text
    assert "    template.send('shop.reminders', value)  # src/main/java/shop/Billing.java:25" in text
    assert "# selector = ?${shop.unknown}?: the sources do not say what that is\n@app.listener('invoices')\n" in text
    assert "    template.send('shop.orders', value)  # src/main/java/shop/Billing.java:31" in text


def test_texts_in_blocks_are_as_java_has_them(tmp_path: Path) -> None:
    (tmp_path / "A.java").write_text(
        "import org.springframework.jms.annotation.JmsListener;\n"
        'class A { @JmsListener(destination = "a", selector = """\n'
        '      region = \'north\'  \n        AND size > 1""") void on(String t) {} }'
    )
    (found,) = read_project(tmp_path).jobs
    assert found.settings == {"selector": "region = 'north'\n  AND size > 1"}


def test_a_variable_that_is_assigned_again_names_no_destination(tmp_path: Path) -> None:
    (tmp_path / "A.java").write_text(
        "import org.springframework.jms.core.JmsTemplate;\n"
        'class A { void f(JmsTemplate t) { String a = "a", b = "b"; b = b + 1; t.convertAndSend(a, 1); '
        "t.convertAndSend(b, 2); } }"
    )
    (found,) = read_project(tmp_path).jobs
    assert [where for _, where, _ in found.sends] == ["a", None]


def test_the_configuration_nearest_to_a_source_counts_first(tmp_path: Path) -> None:
    java = 'class A { @JmsListener(destination = "${q}") void on(String t) {} }'
    java = f"import org.springframework.jms.annotation.JmsListener;\n{java}"
    for module in ("a", "b"):
        for kind in ("main", "test"):
            folder = tmp_path / module / "src" / kind
            (folder / "java").mkdir(parents=True)
            (folder / "resources").mkdir()
            (folder / "resources" / "application.properties").write_text(f"q={module}-{kind}\n")
            (folder / "java" / "A.java").write_text(java)
    found = {each.file: each.destination for each in read_project(tmp_path).jobs}
    assert found == {
        f"{module}/src/{kind}/java/A.java": f"{module}-{kind}" for module in ("a", "b") for kind in ("main", "test")
    }


FACTORIES = """
class Config {
    @Bean
    DefaultJmsListenerContainerFactory topics(ConnectionFactory cf) {
        DefaultJmsListenerContainerFactory made = new DefaultJmsListenerContainerFactory();
        made.setPubSubDomain(true);
        made.setConcurrency("2-" + MOST);
        return made;
    }
    static final String MOST = "6";

    @Bean("durable")
    public JmsListenerContainerFactory<?> durableTopics(ConnectionFactory cf) {
        var made = new DefaultJmsListenerContainerFactory();
        made.setSubscriptionDurable(true);
        made.setSubscriptionShared(false);
        made.setClientId("shop");
        return made;
    }

    @Bean(name = "shared") DefaultJmsListenerContainerFactory other() {
        var made = new DefaultJmsListenerContainerFactory(); made.setSubscriptionShared(true); return made;
    }

    @Bean DefaultJmsListenerContainerFactory jmsListenerContainerFactory() {
        var made = new DefaultJmsListenerContainerFactory(); made.setSessionTransacted(true); return made;
    }
}
class Listeners {
    @JmsListener(destination = "a", containerFactory = "topics") void a(String t) {}
    @JmsListener(destination = "b", containerFactory = "durable", subscription = "x") void b(String t) {}
    @JmsListener(destination = "c", containerFactory = "durable") void c(String t) {}
    @JmsListener(destination = "d", containerFactory = "shared", subscription = "y") void d(String t) {}
    @JmsListener(destination = "e") void e(String t) {}
    @JmsListener(destination = "f", containerFactory = "elsewhere") void f(String t) {}
}
"""


def test_listeners_are_what_the_factories_of_their_containers_say(tmp_path: Path) -> None:
    """A listener of a factory for topics was one of a queue, and an unshared durable subscription a shared one."""
    (tmp_path / "A.java").write_text(
        f"package shop;\nimport org.springframework.jms.annotation.JmsListener;{FACTORIES}"
    )
    project = read_project(tmp_path)
    assert [(each.destination, each.settings) for each in project.jobs] == [
        ("topic:a", {"concurrency": (2, 6)}),
        ("topic:b", {"subscription": "x", "shared": False}),
        ("topic:c", {"subscription": "shop.Listeners.c", "shared": False}),
        ("topic:d", {"subscription": "y", "durable": False}),
        ("e", {"transacted": True}),
        ("f", {}),
    ]
    features = [each.features for each in project.findings if each.kind == "annotation"]
    assert features[1:4] == [("durable", "exclusive_durable"), ("durable", "exclusive_durable"), ("shared",)]
    (text,) = skeletons(project).values()
    assert "app = App(client_id='shop')  # the target is in $JMSBRIDGE_URL\n" in text
    assert "# containerFactory = ?elsewhere?: the sources do not say what that is\n@app.listener('f')\n" in text


TEMPLATES = """
class Config {
    @Bean JmsTemplate toTopics(ConnectionFactory cf) {
        JmsTemplate t = new JmsTemplate(cf); t.setPubSubDomain(true); return t;
    }
    @Bean JmsTemplate toQueues(ConnectionFactory cf) { return new JmsTemplate(cf); }
}
class News {
    private final JmsTemplate toTopics;
    @Autowired private JmsTemplate toQueues;
    @Autowired @Qualifier("toTopics") private JmsTemplate other;
    void one(String s) { this.toTopics.convertAndSend("a", s); toQueues.convertAndSend("b", s); }
    void two(String s) { other.convertAndSend("c", s); }
    void three(JmsTemplate t, String s) { t.convertAndSend("d", s); }
    void four(ConnectionFactory cf, String s) {
        var mine = new JmsTemplate(cf); mine.setPubSubDomain(true); mine.convertAndSend("e", s);
    }
}
"""


def test_sends_go_to_topics_if_their_template_does(tmp_path: Path) -> None:
    """They were shown as sends to queues, where no subscriber gets them."""
    (tmp_path / "A.java").write_text(f"import org.springframework.jms.core.JmsTemplate;{TEMPLATES}")
    sent = [where for job in read_project(tmp_path).jobs for _, where, _ in job.sends]
    assert sent == ["topic:a", "b", "topic:c", "d", "topic:e"]


def test_factories_of_one_name_that_differ_say_nothing(tmp_path: Path) -> None:
    for name, value in (("A", "true"), ("B", "false")):
        (tmp_path / f"{name}.java").write_text(
            f"import org.springframework.jms.annotation.JmsListener;\nclass {name} {{\n"
            "@Bean DefaultJmsListenerContainerFactory made() { "
            f"var f = new DefaultJmsListenerContainerFactory(); f.setPubSubDomain({value}); return f; }}\n"
            f'@JmsListener(destination = "q", containerFactory = "made") void on{name}(String t) {{}} }}'
        )
    jobs = read_project(tmp_path).jobs
    assert [each.destination for each in jobs] == ["q", "q"]
    assert [each.remarks for each in jobs] == [['containerFactory = "made"']] * 2


def test_constants_that_are_made_of_themselves_have_no_text(tmp_path: Path) -> None:
    (tmp_path / "A.java").write_text(
        "import org.springframework.jms.annotation.JmsListener;\n"
        'class A { static final String A = B + "x", B = A; @JmsListener(destination = A) void on(String t) {} }'
    )
    assert [each.destination for each in read_project(tmp_path).jobs] == [None]


def test_a_data_class_reads_what_java_reads(tmp_path: Path) -> None:
    """Java writes null for an object that is not there, or leaves it out; the message went to the dead letters."""
    (tmp_path / "A.java").write_text(
        "import org.springframework.jms.annotation.JmsListener;\n"
        "class Order { String customer; long id; Integer size; java.util.List<String> lines; }\n"
        'class A { @JmsListener(destination = "orders") void on(Order order) {} }'
    )
    (text,) = skeletons(read_project(tmp_path)).values()
    found: dict[str, Any] = {"__name__": "orders"}
    exec(compile(text, "orders.py", "exec"), found)
    kind = found["Order"]
    with jmsbridge.connect("embedded:") as connection:
        session = connection.create_session()
        for body in ('{"id": 1, "customer": null, "size": null, "lines": null}', '{"id": 1}'):
            read = JsonConverter().from_message(session.create_text_message(body), kind)
            assert read == kind(id=1, customer=None, size=None, lines=None)


def test_a_message_driven_bean_becomes_a_listener() -> None:
    text = _modules("beans")["mailer.py"]
    assert "subscription='mailer', shared=False, transacted=True)" in text
    assert "# java:/jms/mail, a name of JNDI: the sources do not say what that is\n@app.listener(" in text
    assert "def on_message(message: Message) -> None:  # Mailer.java:" in text


@pytest.mark.timeout(240)
def test_modules_pass_mypy_and_can_be_imported(tmp_path: Path) -> None:
    for name in ("classic", "simplified", "spring", "beans"):
        for file, text in _modules(name).items():
            (tmp_path / f"{name}_{file}").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.stdout.startswith("Success"), result.stdout + result.stderr
    found: dict[str, object] = {}
    exec(compile((tmp_path / "spring_listeners.py").read_text(encoding="utf-8"), "listeners.py", "exec"), found)
    assert isinstance(found["app"], App)
    assert [each.name for each in found["app"].listeners] == ["on_order", "on_news", "check"]


def test_a_listener_that_is_not_written_yet_loses_no_message() -> None:
    found: dict[str, object] = {"__name__": "checks"}
    exec(compile(_modules("spring")["listeners.py"], "listeners.py", "exec"), found)
    served = found["app"]
    assert isinstance(served, App)
    url = "embedded:?broker=skeletons"
    with jmsbridge.context(url) as context:
        served.start(url)
        context.create_producer().send(Queue("unchecked"), '{"number": 1, "article": "pen"}')
        served.stop()
        assert context.create_consumer(Queue("unchecked")).receive(timeout=5) is not None


@pytest.mark.parametrize(
    ("java", "python"),
    [
        ("void getURLOf(String s) {}", "def get_url_of(s: str) -> None:"),
        ("void lambda(java.util.Map<String, Object> class_) {}", "def lambda_(class_: dict[str, Any]) -> None:"),
        ("String $x(Object any) { return null; }", "def _x(any: Message) -> str:"),
        ("void a(Session session, @Headers java.util.Map<String, Object> all) {}",
         "def a(session: Session, all: Message) -> None:"),
        ("byte[] a(byte[] b, @Header(\"n\") Integer n) { return b; }",
         "def a(b: bytes, n: Annotated[int, Property('n')]) -> bytes:"),
    ],
)  # fmt: skip
def test_names_and_types(java: str, python: str, tmp_path: Path) -> None:
    imports = "import org.springframework.jms.annotation.*; import org.springframework.messaging.handler.annotation.*;"
    code = f'{imports} class A {{ @JmsListener(destination = "q") {java} }}'
    (tmp_path / "A.java").write_text(code, encoding="utf-8")
    (text,) = skeletons(read_project(tmp_path)).values()
    compile(text, "a.py", "exec")
    assert python in text


def test_files_that_exist_are_kept_without_force(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    arguments = ["migrate", str(SOURCES / "spring"), "--skeletons", str(folder)]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    (folder / "listeners.py").write_text("mine", encoding="utf-8")
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    assert "exists; --force overwrites it" in " ".join(result.stderr.split())
    assert (folder / "listeners.py").read_text(encoding="utf-8") == "mine"
    assert CliRunner().invoke(app, [*arguments, "--force"]).exit_code == 0
    assert (folder / "listeners.py").read_text(encoding="utf-8") != "mine"
