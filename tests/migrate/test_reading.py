"""What `jmsbridge migrate` finds in Java sources."""

from pathlib import Path

import pytest

from jmsbridge.config.features import FEATURES
from jmsbridge.errors import ConfigurationError
from jmsbridge.java_api import INTERFACES, PARENTS, inherited, rows
from jmsbridge.java_api.others import CLASSES, EXTENDED, others
from jmsbridge.migrate import Project, document, read_project
from jmsbridge.migrate.features import USED

SOURCES = Path(__file__).parent / "sources"


def _read(name: str) -> Project:
    return read_project(SOURCES / name)


def _found(project: Project) -> list[tuple[int, str]]:
    return [(each.line, each.java) for each in project.findings]


def _python(project: Project, java: str) -> str:
    return next(each.python for each in project.findings if each.java.startswith(java))


def _java(folder: Path, code: str, imports: str = "jakarta.jms.*") -> Project:
    path = folder / "Sample.java"
    path.write_text(f"import {imports};\nclass Sample {{\n{code}\n}}\n", encoding="utf-8")
    return read_project(path)


def test_plain_jms_with_variables_fields_chains_casts_and_lambdas() -> None:
    assert _found(_read("classic")) == [
        (12, "new ActiveMQConnectionFactory(…)"),
        (12, "ConnectionFactory.createConnection()"),
        (13, "Connection.setClientID(String)"),
        (14, "Connection.createSession(boolean, int)"),
        (15, "Session.createQueue(String)"),
        (15, "Session.createProducer(Destination)"),
        (16, "Session.createTextMessage(String)"),
        (17, "TextMessage.setStringProperty(String, String)"),
        (18, "MessageProducer.send(Message, int, int, long)"),
        (19, "Session.createProducer(Destination)"),
        (19, "Session.createTopic(String)"),
        (19, "MessageProducer.send(Destination, Message)"),
        (20, "Session.commit()"),
        (21, "Connection.close()"),
        (25, "Session.createConsumer(Destination, String)"),
        (26, "MessageConsumer.setMessageListener(MessageListener)"),
        (29, "TextMessage.getText()"),
        (29, "Message.getIntProperty(String)"),
        (31, "JMSException.getErrorCode()"),
        (35, "MessageConsumer.setMessageListener(MessageListener)"),
        (36, "MessageConsumer.receiveNoWait()"),
        (38, "BytesMessage.getBodyLength()"),
        (40, "Message.getJMSMessageID()"),
        (44, "Session.createTemporaryQueue()"),
    ]


def test_a_method_of_the_project_with_a_name_of_the_api_is_no_use_of_it() -> None:
    assert [line for line, java in _found(_read("classic")) if java.endswith("commit()")] == [20]


def test_the_simplified_api_and_injection() -> None:
    project = _read("simplified")
    assert (14, "@Inject JMSContext") in _found(project)
    assert (18, "@Resource Topic") in _found(project)
    assert (26, "JMSProducer.send(Destination, String)") in _found(project)
    assert (30, "try (JMSConsumer consumer = …)") in _found(project)
    assert _python(project, "@JMSDestinationDefinition") == 'Topic("prices")'
    assert _python(project, "JMSProducer.setDeliveryDelay") == "set_delivery_delay(…), in seconds"
    assert _python(project, "JMSConsumer.receiveBody") == "receive_body(…, timeout=…), in seconds"


def test_listeners_and_templates_of_spring() -> None:
    project = _read("spring")
    listeners = [each.python for each in project.findings if each.java.startswith("@JmsListener")]
    assert listeners == [
        "@app.listener('orders', concurrency=(3, 10), selector=\"region = 'north'\")",
        "@app.listener('topic:news', subscription='audit')",
        "@app.listener('unchecked', send_to='checked')",
    ]
    assert (38, "Session.createTextMessage(String)") in _found(project)
    assert (21, "Message.setJMSType(String)") in _found(project)
    assert _python(project, "JmsTemplate.convertAndSend") == "Template.send(destination, value)"


def test_a_message_driven_bean() -> None:
    (found,) = _read("beans").findings
    assert found.python == (
        "@app.listener('topic:java:/jms/mail', selector=\"kind = 'letter'\", subscription='mailer', shared=False, "
        "transacted=True)"
    )
    assert set(found.features) >= {"durable", "topic_selectors", "transactions"}


def test_a_file_that_is_not_java_is_listed_and_the_rest_goes_on() -> None:
    project = _read("broken")
    assert [(each.file, each.line) for each in project.problems] == [("Half.java", 10)]
    assert _found(project) == [(7, "JMSContext.createQueue(String)")]


def test_a_file_that_cannot_be_read_is_listed(tmp_path: Path) -> None:
    (tmp_path / "Folder.java").mkdir()
    (tmp_path / "Big.java").write_bytes(b" " * (5 << 20))
    (tmp_path / "Deep.java").write_text(f"class Deep {{ int x = {'(' * 5000}1{')' * 5000}; }}", encoding="utf-8")
    (tmp_path / "Good.java").write_text("import javax.jms.*; class Good { void a(Queue q) throws Exception "
                                        "{ q.getQueueName(); } }", encoding="utf-8")  # fmt: skip
    (tmp_path / "Bytes.java").write_bytes(bytes(range(256)))
    project = read_project(tmp_path)
    assert _found(project) == [(1, "Queue.getQueueName()")]
    assert {each.file for each in project.problems} == {"Big.java", "Bytes.java", "Deep.java"}


SPRING_XML = """<beans
  xmlns:jms="http://www.springframework.org/schema/jms"><jms:listener destination="orders" ref="shop"/></beans>"""
BEAN_XML = "<ejb-jar>\n\n<message-driven><ejb-name>Shop</ejb-name></message-driven></ejb-jar>"
CAMEL_XML = "<routes xmlns='http://camel.apache.org/schema/spring'><route>\n<from uri='jms:orders'/></route></routes>"
ROUTE = """import org.apache.camel.builder.RouteBuilder;
class Route extends RouteBuilder { public void configure() {
    from("jms:queue:orders").to("file:orders"); } }"""
OTHER_ROUTE = 'import org.apache.camel.builder.RouteBuilder; class Other { String name = "kafka:orders"; }'


def test_messaging_that_is_not_read_is_told_with_its_line(tmp_path: Path) -> None:
    files = {"spring.xml": SPRING_XML, "ejb-jar.xml": BEAN_XML, "camel.xml": CAMEL_XML, "Route.java": ROUTE}
    for name, content in (files | {"Other.java": OTHER_ROUTE, "other.xml": "<beans/>"}).items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    assert [
        (each.file, each.line, each.reason.partition(" is not read")[0]) for each in read_project(tmp_path).problems
    ] == [
        ("Route.java", 3, "a route of Camel"),
        ("camel.xml", 2, "a route of Camel"),
        ("ejb-jar.xml", 3, "XML of message-driven beans"),
        ("spring.xml", 2, "XML of Spring"),
    ]


def test_a_file_that_is_not_utf_8_is_told(tmp_path: Path) -> None:
    (tmp_path / "A.java").write_bytes('class A {}\nclass B { String place = "café"; }'.encode("latin-1"))
    assert [(each.line, each.reason.partition(";")[0]) for each in read_project(tmp_path).problems] == [
        (2, "is not UTF-8 here")
    ]


def test_two_escapes_that_are_one_character_are_one(tmp_path: Path) -> None:
    listener = '@org.springframework.jms.annotation.JmsListener(destination = "\\uD83D\\uDE00")'
    source = f"class A {{ {listener} void a(String b) {{}} }}"
    (tmp_path / "A.java").write_text(source, encoding="utf-8")
    assert [job.destination for job in read_project(tmp_path).jobs] == ["\U0001f600"]


def test_links_hidden_folders_and_results_of_builds_are_left_out(tmp_path: Path) -> None:
    for folder in (".git", "target", "src"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "A.java").write_text("class A {}", encoding="utf-8")
    (tmp_path / "B.java").symlink_to(tmp_path / "src" / "A.java")
    (tmp_path / "src" / "jndi.properties").touch()
    project = read_project(tmp_path)
    assert project.files == 1
    assert project.configuration == [tmp_path / "src" / "jndi.properties"]


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("void a(Session s) throws Exception { var c = s.createConsumer(null); c.receive(5); }", "receive(long)"),
        ("void a(java.util.List<Message> l) { for (Message m : l) { m.acknowledge(); } }", "acknowledge()"),
        ("void a(Object o) { if (o instanceof TextMessage t) { t.setText(null); } }", "setText(String)"),
        ("void a(java.util.function.Consumer<?> f, JMSConsumer c) { b(c::receiveNoWait); }", "receiveNoWait()"),
        ("Session s; Sample me() { return this; } void a() { this.me().s.rollback(); }", "rollback()"),
        ("void a(jakarta.jms.Session s) { s.recover(); }", "recover()"),
        ("class Inner extends Inherits {} abstract class Inherits implements Session { void a() { run(); } }", "run()"),
        ("void a() { try { b(); } catch (JMSSecurityException e) { e.getErrorCode(); } }", "getErrorCode()"),
        ("<M extends Message> void a(M m) throws Exception { m.getJMSType(); }", "getJMSType()"),
        ("void a(Message[] m) throws Exception { m[0].getJMSType(); }", "getJMSType()"),
        ("void a(XASession s) { s.getXAResource(); }", "getXAResource(…)"),
    ],
)
def test_types_of_receivers(code: str, found: str, tmp_path: Path) -> None:
    project = _java(tmp_path, code)
    assert project.problems == []
    assert [java.partition(".")[2] for _, java in _found(project)][-1:] == [found]


@pytest.mark.parametrize(
    ("code", "features"),
    [
        ("s.createConsumer(queue, \"a = 1\")", {"queue_selectors"}),
        ("s.createConsumer(topic, \"a = 1\", true)", {"topic_selectors", "no_local"}),
        ("s.createConsumer(any, null, false)", set()),
        ("s.createConsumer(any, selector)", {"queue_selectors", "topic_selectors"}),
        ("s.createDurableSubscriber(topic, \"n\", null, true)", {"durable", "exclusive_durable", "no_local"}),
        ("c.createSession(false, 1)", set()),
        ("c.createSession(true, 0)", {"transactions", "send_transactions"}),
        ("c.createSession(Session.SESSION_TRANSACTED)", {"transactions", "send_transactions"}),
        ("p.send(m, 2, Message.DEFAULT_PRIORITY, 0)", {"send_confirm"}),
        ("m.setShortProperty(\"n\", n)", {"typed_properties"}),
        ("s.createBrowser(queue, \"a = 1\")", {"browse", "queue_selectors"}),
    ],
)  # fmt: skip
def test_the_features_that_a_call_needs(code: str, features: set[str], tmp_path: Path) -> None:
    given = "Connection c, Session s, MessageProducer p, Message m, Queue queue, Topic topic, Destination any"
    (found,) = _java(tmp_path, f"void a({given}) throws JMSException {{ {code}; }}").findings
    assert set(found.features) == features


def test_every_feature_is_one_of_the_table_of_capabilities() -> None:
    assert {row.name for row in FEATURES} >= USED


def test_the_report_has_the_outcomes_of_the_backend() -> None:
    project = _read("classic")
    assert "outcome" not in document(project)["features"][0]
    report = document(project, "embedded")
    assert {each["outcome"] for each in report["features"]} == {"native"}
    assert next(each["at"] for each in report["features"] if each["name"] == "client_id") == ["Orders.java:13"]
    with pytest.raises(ConfigurationError, match="unknown scheme"):
        document(project, "rabbit")


def test_every_line_of_the_table_can_be_shown() -> None:
    assert all(row.shown and "!" not in row.shown for name in INTERFACES for row in rows(name))
    assert {*PARENTS, *(parent for each in PARENTS.values() for parent in each)} <= INTERFACES.keys()
    assert "receive_no_wait()" in {row.shown for row in inherited("TopicSubscriber")}
    assert all(others(name) for name in (*CLASSES, *EXTENDED))
    assert all(each.shown for name in CLASSES for each in others(name))


def test_a_path_without_java_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has no Java file"):
        read_project(tmp_path)
    with pytest.raises(ConfigurationError, match="does not exist"):
        read_project(tmp_path / "nothing")


@pytest.mark.parametrize(
    "use",
    [
        "void close(Set<Connection> all) throws Exception { for (var each : all) each.close(); }",
        "void close(Set<Connection> all) { all.forEach(each -> { each.close(); }); }",
        "void close(Set<? extends Connection> all) { all.stream().filter(e -> true).forEach(c -> c.close()); }",
        'Map<String, Connection> all; void close() { all.get("x").close(); }',
        'Map<String, ? super Connection> all; void close() { all.get("x").close(); }',
        "class Pool<T extends Connection> { List<List<T>> all; void close() { all.get(0).get(0).close(); } }",
        "Map<String, Connection> all; void close() { this.all.forEach((name, each) -> each.close()); }",
        "void close(List<Connection> all) { Iterator<Connection> at = all.iterator(); at.next().close(); }",
        "void close(Map<String, List<Connection>> all) { all.values().forEach(l -> l.forEach(c -> c.close())); }",
        "Supplier<Optional<Connection>> maybe() { return null; } void close() { maybe().get().orElseThrow().close(); }",
    ],
)
def test_elements_of_collections_have_their_type(tmp_path: Path, use: str) -> None:
    assert "Connection.close()" in [java for _, java in _found(_java(tmp_path, use))]


@pytest.mark.parametrize(
    "use",
    [
        "void close(Object o) { switch (o) { case Connection c -> c.close(); default -> {} } }",
        "void close(Object o) { switch (o) { case Connection c: c.close(); break; } }",
        "record Held(Connection c) {} void close(Object o) { if (o instanceof Held(Connection c)) c.close(); }",
        "record Held(Connection c) {} void close(Held held) { held.c().close(); }",
    ],
)
def test_patterns_and_records(tmp_path: Path, use: str) -> None:
    assert "Connection.close()" in [java for _, java in _found(_java(tmp_path, use))]


def test_what_is_not_an_element_of_a_collection_has_no_type(tmp_path: Path) -> None:
    close = "{ all.close(); other.computeIfAbsent(1, key -> key.close()); }"
    code = f"void close(List<Connection> all, Map<Object, Session> other) {close}"
    assert _found(_java(tmp_path, code)) == []


@pytest.mark.parametrize("package", ["org.apache.activemq.artemis.api.core.client", "com.ibm.websphere.session"])
def test_a_session_of_another_api_is_not_one_of_messaging(tmp_path: Path, package: str) -> None:
    code = "void end(ClientSession session) { session.commit(); session.close(); }"
    assert _found(_java(tmp_path, code, f"{package}.ClientSession")) == []


def test_exceptions_of_java_are_none_of_the_api(tmp_path: Path) -> None:
    code = 'void a() { throw new RuntimeException(); }\nvoid b() { throw new JMSRuntimeException("x"); }'
    assert _found(_java(tmp_path, code)) == [(4, "new JMSRuntimeException(…)")]


@pytest.mark.parametrize("body", ["message.getBody(String.class)", "((TextMessage) message).getText()"])
def test_a_body_that_is_read_as_text_is_sent_as_text(tmp_path: Path, body: str) -> None:
    code = f"void a(JMSContext c, Queue q, Message message) throws Exception {{ c.createProducer().send(q, {body}); }}"
    assert (3, "JMSProducer.send(Destination, String)") in _found(_java(tmp_path, code))
