"""What variables mean: destinations of senders, and of listeners that are set on a consumer (issue 19)."""

from pathlib import Path

from jmsbridge.migrate import read_project
from jmsbridge.migrate.findings import Job


def _jobs(folder: Path, code: str) -> list[Job]:
    path = folder / "Sample.java"
    path.write_text(f"import jakarta.jms.*;\nclass Sample {{\n{code}\n}}\n", encoding="utf-8")
    return read_project(path).jobs


def _sends(folder: Path, fields: str, code: str) -> list[str | None]:
    found = _jobs(folder, f"{fields}\nvoid f(Session s, Message m, boolean x, String given) {{ {code} }}")
    return [where for job in found for _, where, _ in job.sends]


def _listeners(folder: Path, code: str) -> list[tuple[str, str | None, dict[str, object]]]:
    found = _jobs(folder, f"void f(Session s, Topic given) {{ {code} }}")
    return [(job.method, job.destination, job.settings) for job in found if job.kind == "listener"]


def test_a_parameter_hides_a_field(tmp_path: Path) -> None:
    field = 'String given = "orders";'
    assert _sends(tmp_path, field, "s.createProducer(s.createQueue(given)).send(m);") == [None]
    assert _sends(tmp_path, field, "s.createProducer(s.createQueue(this.given)).send(m);") == ["orders"]


def test_a_first_value_counts_wherever_it_is_assigned(tmp_path: Path) -> None:
    made = 'private Queue later; Sample(Session s, Queue later) { this.later = s.createQueue("later"); }'
    assert _sends(tmp_path, made, "s.createProducer(later).send(m);") == ["later"]
    handed = "private Queue later; Sample(Queue later) { this.later = later; }"
    assert _sends(tmp_path, handed, "s.createProducer(later).send(m);") == [None]
    alias = 'Queue one; one = s.createQueue("one"); Queue two = one; s.createProducer(two).send(m);'
    assert _sends(tmp_path, "", alias) == ["one"]


def test_one_of_two_values_is_none(tmp_path: Path) -> None:
    either = 'Queue q; if (x) q = s.createQueue("a"); else q = s.createQueue("b"); s.createProducer(q).send(m);'
    assert _sends(tmp_path, "", either) == [None]
    maybe = 'Queue q = null; if (x) q = s.createQueue("a"); s.createProducer(q).send(m);'
    assert _sends(tmp_path, "", maybe) == [None]


def test_listeners_that_are_written_where_they_are_set(tmp_path: Path) -> None:
    selected = 'MessageConsumer c = s.createConsumer(s.createQueue("a"), "x = 1"); c.setMessageListener(m -> {});'
    assert _listeners(tmp_path, selected) == [("onMessage", "a", {"selector": "x = 1"})]
    durable = 's.createDurableConsumer(s.createTopic("t"), "n", null, false).setMessageListener(this::onNews);'
    assert _listeners(tmp_path, durable) == [("onNews", "topic:t", {"subscription": "n", "shared": False})]
    shared = 's.createSharedConsumer(s.createTopic("t"), "n", "y = 2").setMessageListener(m -> {});'
    expected = {"subscription": "n", "durable": False, "selector": "y = 2"}
    assert _listeners(tmp_path, shared) == [("onMessage", "topic:t", expected)]
    anonymous = "new MessageListener() { public void onMessage(Message m) {} }"
    assert _listeners(tmp_path, f"s.createConsumer(given).setMessageListener({anonymous});") == [
        ("onMessage", None, {})
    ]


def test_a_class_of_listeners_has_the_destination_of_its_only_consumer(tmp_path: Path) -> None:
    (tmp_path / "Named.java").write_text(
        "import jakarta.jms.*;\nclass Named implements MessageListener { public void onMessage(Message m) {} }"
    )
    (tmp_path / "Sample.java").write_text(
        "import jakarta.jms.*;\nclass Sample { void f(Session s) { "
        'MessageConsumer c = s.createConsumer(s.createQueue("a"));'
        " c.setMessageListener(new Named()); } }"
    )
    (job,) = read_project(tmp_path).jobs
    assert (job.owner, job.destination) == ("Named", "a")
    (tmp_path / "Other.java").write_text(
        'import jakarta.jms.*;\nclass Other { void f(Session s) { s.createConsumer(s.createQueue("b"))'
        ".setMessageListener(new Named()); } }"
    )
    (job,) = read_project(tmp_path).jobs
    assert job.destination is None
