"""The options of ``offsets=native``: which are known where, and what a position may look like."""

import json

import pytest

from jmsbridge import Queue, Topic
from jmsbridge.errors import ConfigurationError
from jmsbridge.spark.position_options import by_position, position_options

GIVEN = {"url": "pulsar://host", "topic": "news", "offsets": "native"}


def refused(given: dict[str, str], *, streams: bool | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        position_options(given, streams=streams)
    return str(caught.value)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({"offsets": "native"}, True),
        ({"OFFSETS": "Native"}, True),
        ({"offsets": "log"}, False),
        ({"startingOffsets": "native"}, False),
        ({}, False),
    ],
)
def test_whether_they_are_asked_for(given: dict[str, str], asked: bool) -> None:
    assert by_position(given) is asked


def test_names_arrive_in_lower_case() -> None:
    given = {name.lower(): value for name, value in GIVEN.items()}
    options = position_options(given | {"maxoffsetspertrigger": "7", "failondataloss": "false"}, streams=True)
    assert (options.max_messages_per_trigger, options.fail_on_data_loss) == (7, False)


@pytest.mark.parametrize(
    ("streams", "starting"), [(True, "latest"), (False, "earliest"), (None, "earliest")], ids=["stream", "batch", "any"]
)
def test_where_a_query_begins_by_default(streams: bool | None, starting: str) -> None:
    options = position_options(GIVEN, streams=streams)
    assert (options.starting_offsets, options.ending_offsets) == (starting, "latest")
    assert options.fail_on_data_loss


@pytest.mark.parametrize("streams", [True, False])
def test_a_given_beginning_counts(streams: bool) -> None:
    for value in ("earliest", "latest", json.dumps({"0": "12:34:-1", "1": "earliest"})):
        assert position_options(GIVEN | {"startingOffsets": value}, streams=streams).starting_offsets == value


@pytest.mark.parametrize("name", ["startingOffsets", "endingOffsets"])
@pytest.mark.parametrize("value", ["first", "[]", "12:34:-1", '{"0": 7}', '{"0": null}', '"earliest"', "{", "Latest"])
def test_what_is_no_position(name: str, value: str) -> None:
    said = refused(GIVEN | {name: value})
    assert name in said
    assert value in said


def test_options_of_a_batch_alone_and_of_a_stream_alone() -> None:
    assert "Trigger.AvailableNow" in refused(GIVEN | {"endingOffsets": "latest"}, streams=True)
    for name in ("maxMessagesPerTrigger", "maxOffsetsPerTrigger", "minPartitions"):
        assert "spark.readStream" in refused(GIVEN | {name: "5"}, streams=False)
        position_options(GIVEN | {name: "5"}, streams=True)
        position_options(GIVEN | {name: "5"})  # it is not known yet which it is


def test_what_is_read() -> None:
    assert position_options(GIVEN).destination == Topic("news")
    assert position_options({"url": "pulsar://host", "queue": "orders"}).destination == Queue("orders")
    for given in ({"queue": "orders"}, {"topic": None}):
        wrong = {name: value for name, value in {**GIVEN, **given}.items() if value is not None}
        assert "one of queue and topic" in refused(wrong)
    assert "give topic instead" in refused({"url": "pulsar://host", "queue": "topic:news"})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"clientId": "me"}, "clientId"),
        ({"walPath": "/x"}, "walPath"),
        ({"startingOffset": "latest"}, "did you mean 'startingOffsets'"),
        ({"failOnDataLoss": "perhaps"}, "failOnDataLoss"),
        ({"minPartitions": "0"}, "minPartitions"),
    ],
)
def test_a_wrong_option_is_refused(given: dict[str, str], text: str) -> None:
    assert text in refused(GIVEN | given)
