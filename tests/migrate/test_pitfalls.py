"""What a reader of Java sources could miss, claim wrongly or give away (issue 19)."""

import os
from pathlib import Path

from jmsbridge.migrate import Project, document, read_project
from jmsbridge.migrate.skeletons import skeletons

SPRING = "org.springframework.jms"


def _read(folder: Path, code: str, name: str = "src/main/java/shop/Sample.java") -> Project:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    return read_project(folder)


def _python(project: Project) -> str:
    return "\n".join(skeletons(project).values())


def test_packages_may_be_called_like_folders_of_builds(tmp_path: Path) -> None:
    code = f'import {SPRING}.core.*;\nclass Sample {{ void f(JmsTemplate t) {{ t.convertAndSend("a", 1); }} }}'
    _read(tmp_path, code, "src/main/java/adapter/out/Sample.java")
    assert _read(tmp_path, code, "target/generated/Sample.java").files == 1


def test_secrets_of_annotations_are_not_shown(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        "import jakarta.jms.*;\nimport jakarta.ejb.*;\n"
        '@JMSConnectionFactoryDefinition(name = "f", password = "HIDDEN", properties = {"keyPassword=HIDDEN", "x=1"})\n'
        '@MessageDriven(activationConfig = { @ActivationConfigProperty(propertyName = "password", '
        'propertyValue = "HIDDEN"), @ActivationConfigProperty(propertyName = "destination", propertyValue = "a") })\n'
        "class Sample implements MessageListener { public void onMessage(Message m) {} }",
    )
    told = str(document(found, "embedded")) + _python(found)
    assert "HIDDEN" not in told
    assert "password = ***" in told
    assert "x=1" in told


def test_a_placeholder_that_names_a_secret_has_no_value(tmp_path: Path) -> None:
    (tmp_path / "src/main/resources").mkdir(parents=True)
    (tmp_path / "src/main/resources/application.properties").write_text("shop.password=HIDDEN\nshop.queue=orders\n")
    found = _read(
        tmp_path,
        f"import {SPRING}.core.*;\nclass Sample {{ "
        '@Value("${shop.password}") String secret; @Value("${shop.queue}") String queue;\n'
        "void f(JmsTemplate t) { t.convertAndSend(secret, 1); t.convertAndSend(queue, 1); "
        't.convertAndSend("${shop.token:HIDDEN}", 1); } }',
    )
    assert [where for job in found.jobs for _, where, _ in job.sends] == [None, "orders", None]
    assert "HIDDEN" not in _python(found)


def test_a_payload_is_no_destination(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        f"import {SPRING}.core.*;\nclass Sample {{ void f(JmsTemplate t, MessagePostProcessor p) {{ "
        't.convertAndSend("text", m -> m); t.convertAndSend("text", p); t.convertAndSend("a", "text", p); } }',
    )
    assert [where for job in found.jobs for _, where, _ in job.sends] == [None, None, "a"]


def test_annotations_may_be_written_in_full(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        f'class Sample {{ @{SPRING}.annotation.JmsListener(destination = "a") void on(String text) {{}} }}',
    )
    assert "@app.listener('a')" in _python(found)


def test_classes_that_only_sound_like_messaging_are_none(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        "import java.util.*;\nimport java.util.concurrent.*;\nimport org.apache.activemq.*;\n"
        "import org.apache.activemq.broker.Connection;\n"
        "class Sample { static class HttpConnectionFactory {} Object a = new HttpConnectionFactory(); "
        "Object b = new PriorityQueue<String>(); Object c = new LinkedBlockingQueue<String>();\n"
        "void f(HttpSession s, Connection c) { s.close(); c.start(); }\n"
        'Object d = new ActiveMQConnectionFactory("x"); }',
    )
    assert [each.java for each in found.findings] == ["new ActiveMQConnectionFactory(…)"]


def test_an_object_is_that_of_its_package_with_the_fields_of_its_parents(tmp_path: Path) -> None:
    for package, body in (("other", "String wrong;"), ("shop", "int number;")):
        code = f"package {package};\npublic class Order extends Base {{ {body} }}\nclass Base {{ protected long id; }}"
        _read(tmp_path, code, f"src/main/java/{package}/Order.java")
    found = _read(
        tmp_path,
        f"package shop;\nimport {SPRING}.annotation.*;\n"
        'class Sample { @JmsListener(destination = "a") void on(Order order) {} }',
    )
    text = _python(found)
    assert "    id: int\n    number: int\n" in text
    assert "wrong" not in text


def test_headers_of_spring_are_in_the_message(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        f"import {SPRING}.annotation.*;\nclass Sample {{ "
        '@JmsListener(destination = "a") void on(String text, @Header(JmsHeaders.MESSAGE_ID) String messageId, '
        "@Header String tenant) {} }",
    )
    text = _python(found)
    assert "message_id: Message" in text
    assert "Property('tenant')" in text


def test_spring_is_told_that_names_are_those_of_topics(tmp_path: Path) -> None:
    (tmp_path / "src/main/resources").mkdir(parents=True)
    (tmp_path / "src/test/resources").mkdir(parents=True)
    (tmp_path / "src/main/resources/application.yml").write_text("spring.jms.pub-sub-domain: true\nq: news\n")
    (tmp_path / "src/test/resources/application.yml").write_text("q: tested\n")
    found = _read(
        tmp_path,
        f"import {SPRING}.annotation.*;\nimport {SPRING}.core.*;\nclass Sample {{ "
        '@JmsListener(destination = "${q}") void on(String text) {}\n'
        'void f(JmsTemplate t) { t.convertAndSend("other", 1); } }',
    )
    text = _python(found)
    assert "@app.listener('topic:news')" in text
    assert "template.send('topic:other', value)" in text


def test_records_and_enums_may_listen(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        "import jakarta.jms.*;\nrecord One(int x) implements MessageListener { public void onMessage(Message m) {} }\n"
        "enum Two implements MessageListener { A; public void onMessage(Message m) {} }",
    )
    assert [job.owner for job in found.jobs] == ["One", "Two"]


def test_escapes_of_java(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        f"import {SPRING}.core.*;\nclass Sample {{ void f(JmsTemplate t) {{ "
        't.convertAndSend("\\u006frd\\145rs\\t\\"", 1); } }',
    )
    assert [where for _, where, _ in found.jobs[0].sends] == ['orders\t"']


def test_modules_hide_none_of_python(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        f'import {SPRING}.annotation.*;\nclass Queue {{ @JmsListener(destination = "a") void on(String text) {{}} }}',
    )
    assert list(skeletons(found)) == ["queue_.py"]


def test_deep_nesting_in_one_file_is_a_problem_of_that_file(tmp_path: Path) -> None:
    deep = "List<" * 3000 + "Session" + ">" * 3000
    _read(tmp_path, f"import jakarta.jms.*;\nclass Deep {{ {deep} field; }}", "src/main/java/shop/Deep.java")
    found = _read(tmp_path, "import jakarta.jms.*;\nclass Sample { void f(Session s) { s.commit(); } }")
    assert [each.java for each in found.findings] == ["Session.commit()"]
    assert {each.file for each in found.problems} == {"src/main/java/shop/Deep.java"}


def test_constants_of_constants_take_no_time(tmp_path: Path) -> None:
    rows = "".join(f"static final String A{n} = A{n + 1} + A{n + 1};\n" for n in range(30))
    found = _read(
        tmp_path,
        f'import {SPRING}.core.*;\nclass Sample {{ {rows} static final String A30 = "x";\n'
        "void f(JmsTemplate t) { t.convertAndSend(A0, 1); t.convertAndSend(A28, 1); } }",
    )
    assert [where for _, where, _ in found.jobs[0].sends] == [None, "xxxx"]


def test_what_is_switched_off_needs_no_feature(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        f"import jakarta.jms.*;\nimport {SPRING}.listener.*;\nclass Sample {{ "
        "void f(MessageProducer p, Message m, DefaultMessageListenerContainer c) { p.send(m, 1, 4, 0); "
        "c.setSubscriptionDurable(false); c.setSubscriptionShared(true); } }",
    )
    needed = {name for each in found.findings for name in each.features}
    assert not needed & {"priority", "durable"}
    assert "shared" in needed


def test_only_one_parameter_is_the_body(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        f"import {SPRING}.annotation.*;\nclass Sample {{ "
        '@JmsListener(destination = "a", concurrency = "5-5") void on(int number, String text, Session session) {} }',
    )
    text = _python(found)
    assert "@app.listener('a', concurrency=5)" in text
    assert "def on(number: int, text: Message, session: Session) -> None" in text


def test_only_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pom.xml")
    os.mkfifo(tmp_path / "application.properties")
    (tmp_path / "jndi.properties").symlink_to("/etc/passwd")
    found = _read(tmp_path, "class Sample {}")
    assert (found.files, found.configuration, found.libraries) == (1, [], [])


def test_settings_that_the_sources_do_not_say_are_remarks(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        f"import {SPRING}.annotation.*;\nclass Sample {{ "
        '@JmsListener(destination = "a", selector = "${s}", concurrency = "${n}", subscription = "") '
        "void on(String text) {} }",
    )
    text = _python(found)
    assert "# selector = ?${s}?: the sources do not say what that is\n# concurrency" in text
    assert "@app.listener('a')\n" in text


def test_a_bean_may_inherit_its_method(tmp_path: Path) -> None:
    found = _read(
        tmp_path,
        "import jakarta.jms.*;\nimport jakarta.ejb.*;\n"
        "abstract class Base implements MessageListener { public void onMessage(Message m) {} }\n"
        "@TransactionManagement(TransactionManagementType.BEAN)\n"
        '@MessageDriven(activationConfig = { @ActivationConfigProperty(propertyName = "destination", '
        'propertyValue = "a"), @ActivationConfigProperty(propertyName = "maxSession", propertyValue = "5") })\n'
        "class Bean extends Base {}",
    )
    (job,) = found.jobs
    assert (job.owner, job.method, job.destination, job.settings) == ("Bean", "onMessage", "a", {"concurrency": 5})
    assert [each.features for each in found.findings] == [()]
