from pathlib import Path

import pytest

import jmsbridge
from jmsbridge.errors import ConfigurationError
from jmsbridge.spark.options import browse_options, connect, read_options, write_options
from jmsbridge.spark.position_options import position_options

GIVEN = {"url": "embedded:", "queue": "orders", "walPath": "/data/log"}


def refused(**options: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read_options(GIVEN | {name.replace("__", "."): value for name, value in options.items()})
    return str(caught.value)


def test_names_arrive_in_lower_case() -> None:
    options = read_options({name.lower(): value for name, value in GIVEN.items()} | {"maxmessagespertrigger": "7"})
    assert (options.queue, options.wal_path, options.max_messages_per_trigger) == ("orders", "/data/log", 7)


def test_a_segment_is_no_larger_than_a_trigger() -> None:
    assert read_options(GIVEN | {"maxOffsetsPerTrigger": "50"}).segment_rows == 50


def test_several_queues_have_lanes_that_do_not_change_with_the_number_of_receivers() -> None:
    given = {"url": "embedded:", "subscribe": "a, b", "walPath": "/x"}
    two, four = read_options(given), read_options(given | {"receivers": "2"})
    assert [str(two.destination_of(lane).address) for lane in range(two.lanes)] == ["queue:a", "queue:b"]
    assert [str(four.destination_of(lane).address) for lane in range(four.lanes)] == ["queue:a", "queue:b"] * 2


@pytest.mark.parametrize(
    ("names", "text"), [("a,", "needs a name"), ("a,a", "names a queue twice"), ("a,topic:b", "names a topic")]
)
def test_several_queues_are_different_queues(names: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        read_options({"url": "embedded:", "subscribe": names, "walPath": "/x"})


def test_durations_are_seconds_or_text() -> None:
    assert read_options(GIVEN | {"receiveTimeout": "250ms", "dedupRetention": "2"}).receive_timeout == 0.25


def test_the_path_of_load_is_the_url() -> None:
    assert read_options({"path": "embedded:", "queue": "a", "walPath": "/x"}).url == "embedded:"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"maxMessagePerTrigger": "1"}, "did you mean 'maxMessagesPerTrigger'"),
        ({"startingOffsets": "earliest"}, "no positions"),
        ({"receivers": "0"}, "option receivers"),
        ({"bodyFormat": "xml"}, "option bodyFormat"),
        ({"topic": "news"}, "one of queue, topic and subscribe"),
        ({"subscribe": "a,b"}, "one of queue, topic and subscribe"),
        ({"minMessagesPerTrigger": "20000"}, "more than maxMessagesPerTrigger"),
        ({"minMessagesPerTrigger": "5", "distributed": "true"}, "minMessagesPerTrigger"),
        ({"queue": "topic:news"}, "give topic instead"),
        ({"jms__prefetsch": "3"}, "did you mean 'prefetch'"),
        ({"jms__prefetch": "many"}, "prefetch"),
        ({"clientOptions": "[]"}, "must be a JSON object"),
        ({"clientOptions": "{"}, "not JSON"),
        ({"distributed": "true", "walTransport": "inline"}, "put walPath where the driver and every executor can"),
        ({"distributed": "true", "clientId": "me"}, "clientId belongs to one connection"),
        ({"distributed": "perhaps"}, "option distributed"),
        ({"walPath": "s3a://bucket/log"}, "a folder of a file system"),
        ({"walPath": ""}, "walPath is missing"),  # as of a variable without a value
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, str], text: str) -> None:
    assert text in refused(**options)


@pytest.mark.parametrize("path", ["file:/data/log", "file:///data/log", "/data/log"])
def test_the_log_is_in_a_folder(path: str) -> None:
    assert read_options(GIVEN | {"walPath": path}).wal_path == "/data/log"


def test_an_alias_beside_the_name_with_another_value() -> None:
    assert "twice" in refused(maxMessagesPerTrigger="1", maxOffsetsPerTrigger="2")


@pytest.mark.parametrize("left_out", ["url", "walPath", "queue"])
def test_what_is_needed(left_out: str) -> None:
    with pytest.raises(ConfigurationError, match=left_out):
        read_options({name: value for name, value in GIVEN.items() if name != left_out})


def test_a_topic_needs_a_durable_subscription() -> None:
    with pytest.raises(ConfigurationError, match="subscriptionName"):
        read_options({"url": "embedded:", "topic": "news", "walPath": "/x"})


@pytest.mark.parametrize("name", ["", " "])
def test_a_topic_without_a_name_is_refused_before_the_query_runs(name: str) -> None:
    given = {"url": "embedded:", "topic": name}
    with pytest.raises(ConfigurationError, match="needs a name"):
        read_options(given | {"walPath": "/x", "subscriptionName": "a"})
    with pytest.raises(ConfigurationError, match="needs a name"):
        write_options(given)
    with pytest.raises(ConfigurationError, match="needs a name"):
        position_options(given)


def test_consumers_of_a_topic_on_executors_share_the_subscription() -> None:
    given = {"url": "embedded:", "topic": "news", "walPath": "/x", "subscriptionName": "a", "distributed": "true"}
    assert read_options(given | {"sharedSubscription": "true"}).distributed
    with pytest.raises(ConfigurationError, match="it needs sharedSubscription"):
        read_options(given)


def test_options_of_the_connection_without_regard_to_case() -> None:
    options = read_options(GIVEN | {"jms.sendwindow": "5", "clientOptions": '{"prefetch": 3}'})
    assert options.client_options == '{"prefetch": 3, "send_window": "5"}'


class TestSecrets:
    @pytest.mark.parametrize(
        "options",
        [
            {"password": "hunter2"},
            {"url": "rabbitmq://app:hunter2@host"},
            {"clientOptions": '{"password": "hunter2"}'},
        ],
    )
    def test_a_visible_password_is_refused_and_not_repeated(self, options: dict[str, str]) -> None:
        text = refused(**options)
        assert "passwordEnv" in text
        assert "hunter2" not in text

    def test_a_password_is_read_when_the_connection_is_made(self, monkeypatch: pytest.MonkeyPatch) -> None:
        options = read_options(GIVEN | {"user": "app", "passwordEnv": "NOWHERE_SET"})
        with pytest.raises(ConfigurationError, match="NOWHERE_SET"):
            connect(options)
        monkeypatch.setenv("NOWHERE_SET", "hunter2")
        assert "hunter2" not in repr(options)
        connect(options).close()

    def test_a_password_in_a_file(self, tmp_path: Path) -> None:
        options = read_options(GIVEN | {"user": "app", "passwordFile": str(tmp_path / "secret")})
        with pytest.raises(ConfigurationError, match="passwordFile"):
            connect(options)
        (tmp_path / "secret").write_text("hunter2\n")
        connect(options).close()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"topic": "news"}, "one of queue, topic and destination"),
        ({"queue": "topic:news"}, "give topic instead"),
        ({"queue": ""}, "a destination needs a name"),
        ({"confirmWindows": "1"}, "did you mean 'confirmWindow'"),
        ({"walPath": "/x"}, "unknown option 'walPath'"),
        ({"transacted": "true", "dedupId": "key"}, "transacted or dedupId"),
        ({"priority": "10"}, "option priority"),
        ({"password": "hunter2"}, "passwordEnv"),
    ],
)
def test_a_wrong_option_of_the_sink_is_refused(options: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        write_options({"url": "embedded:", "queue": "orders"} | options)
    assert text in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", ["", " ", "topic:"])
def test_a_destination_without_a_name_is_refused_before_a_task_runs(name: str) -> None:
    with pytest.raises(ConfigurationError, match="needs a name"):
        write_options({"url": "embedded:", "destination": name})


def test_options_of_the_sink() -> None:
    options = write_options({"url": "embedded:", "checkpointLocation": "/c", "ttl": "5m", "CONFIRMTIMEOUT": "250ms"})
    assert (options.fixed, options.ttl, options.confirm_timeout) == (None, 300.0, 0.25)
    assert options.dedup_column == "messageId"
    assert write_options({"url": "embedded:", "topic": "news"}).fixed == jmsbridge.Topic("news")
    assert write_options({"url": "embedded:", "destination": "topic:news"}).fixed == jmsbridge.Topic("news")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"topic": "news"}, "spark.readStream"),
        ({"queue": "topic:news"}, "no messages to show"),
        ({"walPath": "/x"}, "belongs to spark.readStream"),
        ({"maxOffsetsPerTrigger": "/x"}, "belongs to spark.readStream"),
        ({"mode": "consume"}, "drain"),
        ({"selektor": "a = 1"}, "did you mean 'selector'"),
    ],
)
def test_a_wrong_option_of_a_batch_read_is_refused(options: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        browse_options({"url": "embedded:", "queue": "orders"} | options)
    assert text in str(caught.value)


def test_a_batch_read_needs_a_queue() -> None:
    with pytest.raises(ConfigurationError, match="option queue is missing"):
        browse_options({"url": "embedded:"})


@pytest.mark.parametrize("name", ["orders", " orders\n", "queue:orders", " queue:orders "])
def test_a_queue_is_named_by_one_rule_everywhere(name: str) -> None:
    given, queue = {"url": "embedded:", "queue": name}, jmsbridge.Queue("orders")
    assert read_options(given | {"walPath": "/x"}).destinations == (queue,)
    assert read_options({"url": "embedded:", "walPath": "/x", "subscribe": f"{name},b"}).destinations[0] == queue
    assert position_options(given).destination == queue
    assert write_options(given).fixed == queue
    assert write_options({"url": "embedded:", "destination": name}).fixed == queue


def test_a_topic_is_named_by_one_rule_everywhere() -> None:
    given, topic = {"url": "embedded:", "topic": " news "}, jmsbridge.Topic("news")
    assert read_options(given | {"walPath": "/x", "subscriptionName": "s"}).destinations == (topic,)
    assert position_options(given).destination == topic
    assert write_options(given).fixed == topic
