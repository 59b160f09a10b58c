"""The options of ``format("jms")`` with ``offsets=native``: a destination is read by the positions of its broker."""

import json
from collections.abc import Mapping
from typing import Literal

from jmsbridge import Destination, Queue
from jmsbridge.config.kinds import Positive
from jmsbridge.errors import ConfigurationError
from jmsbridge.spark.options import Common, converted, topic_or

__all__ = ["PositionOptions", "by_position", "position_options"]

_EARLIEST, _LATEST = "earliest", "latest"


class PositionOptions(Common, frozen=True, kw_only=True):
    """The options of ``spark.readStream`` and of ``spark.read`` by position."""

    offsets: Literal["native"] = "native"
    queue: str | None = None
    topic: str | None = None
    starting_offsets: str = _EARLIEST
    """``earliest``, ``latest``, or a JSON object with one of these or a position for each lane; a query that has a
    checkpoint goes on where that says."""
    ending_offsets: str = _LATEST
    """The same for the end of what ``spark.read`` reads."""
    max_messages_per_trigger: Positive = 10_000
    min_partitions: Positive = 2
    """Into how many tasks a batch is divided, if it has thousands of messages for each."""
    include_properties: bool = True
    body_format: Literal["binary", "text"] = "binary"
    decode_errors: Literal["fail", "null"] = "fail"
    """With ``bodyFormat=text``: what happens to a body that is not text."""
    fail_on_data_loss: bool = True
    """Whether a query ends where the broker has removed messages of it, or may have, or goes on behind them."""

    @property
    def destination(self) -> Destination:
        """What is read."""
        return topic_or(self.topic, str(self.queue))


def by_position(given: Mapping[str, str]) -> bool:
    """Whether these options ask for it."""
    return any(key.lower() == "offsets" and value.lower() == "native" for key, value in given.items())


def position_options(given: Mapping[str, str], *, streams: bool | None = None) -> PositionOptions:
    """The options of a stream or a batch, if it is known which; ConfigurationError says what is wrong."""
    names = {key.lower() for key in given}
    if streams and "endingoffsets" in names:
        raise ConfigurationError("endingOffsets belongs to spark.read: Trigger.AvailableNow ends with what is there")
    if streams is False and names & {"maxmessagespertrigger", "maxoffsetspertrigger", "minpartitions"}:
        raise ConfigurationError("maxMessagesPerTrigger and minPartitions belong to spark.readStream")
    defaults = {"startingOffsets": _LATEST} if streams and "startingoffsets" not in names else {}
    options = converted(PositionOptions, {**given, "offsets": "native", **defaults})
    if (options.queue is None) == (options.topic is None):
        raise ConfigurationError("give one of queue and topic")
    where = options.destination  # raises for an empty name: here, not in the query
    if options.queue is not None and not isinstance(where, Queue):
        raise ConfigurationError(f"queue is {options.queue!r}, which is a topic: give topic instead")
    if options.client_id is not None:
        raise ConfigurationError("clientId belongs to one connection, and with offsets=native each executor has one")
    for name, value in (("startingOffsets", options.starting_offsets), ("endingOffsets", options.ending_offsets)):
        _check(name, value)
    return options


def _check(name: str, value: str) -> None:
    if value in (_EARLIEST, _LATEST):
        return
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise ConfigurationError(f'{name} is "earliest", "latest" or a JSON object of positions, not {value!r}')
