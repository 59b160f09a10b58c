"""The options of ``format("jms")``. Spark lower-cases their names, so they are found without regard to case.

No secret is among them: options are pickled into tasks and shown in plans. A password is read from the environment or
from a file where the connection is made.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

import jmsbridge
from jmsbridge import Connection, Destination, Queue, Topic
from jmsbridge.config import mask_url, resolve
from jmsbridge.config.kinds import Positive, Seconds, Timeout, convert_option
from jmsbridge.config.masking import is_secret
from jmsbridge.config.suggest import nearest
from jmsbridge.documents import destination_named
from jmsbridge.errors import ConfigurationError

__all__ = [
    "MESSAGE_ID",
    "BrowseOptions",
    "Common",
    "ReadOptions",
    "WriteOptions",
    "browse_options",
    "camel",
    "columns_options",
    "connect",
    "converted",
    "local_path",
    "named",
    "read_options",
    "topic_or",
    "write_options",
]

_PASS_THROUGH = "jms."
MESSAGE_ID = "messageId"
"""The column that identifies a row, unless ``dedupId`` names another."""
_VISIBLE = "options are visible in plans and logs: give passwordEnv or passwordFile instead"

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+")
_Count = Annotated[int, msgspec.Meta(ge=0)]

T = TypeVar("T", bound="Common")


def named(text: str) -> Destination:
    """What an option names: ``orders``, ``queue:orders`` or ``topic:news``, without the blanks around it."""
    return destination_named(text.strip())


def topic_or(topic: str | None, text: str) -> Destination:
    """The topic that an option names, or without one what ``text`` does."""
    if topic is None:
        return named(text)
    if not topic.strip():
        raise ConfigurationError("topic is empty: it needs a name")
    return Topic(topic.strip())


class Common(msgspec.Struct, frozen=True, kw_only=True):
    """What both directions share: where the broker is, and how to log in."""

    url: str
    """A URL, several separated by commas for failover, or a profile of ``jmsbridge.toml``."""
    user: str | None = None
    password_env: str | None = None
    """The environment variable with the password, on each machine that connects."""
    password_file: str | None = None
    """The file with the password, on each machine that connects."""
    client_id: str | None = None
    client_options: str = "{}"
    """Options of the connection as a JSON object; a single one can also be given as ``jms.NAME``."""


class BrowseOptions(Common, frozen=True, kw_only=True):
    """The options of ``spark.read.format("jms")``."""

    queue: str | None = None
    selector: str | None = None
    include_properties: bool = True
    body_format: Literal["binary", "text"] = "binary"
    decode_errors: Literal["fail", "null"] = "fail"
    """With ``bodyFormat=text``: what happens to a body that is not text."""


class ReadOptions(BrowseOptions, frozen=True, kw_only=True):
    """The options of ``spark.readStream.format("jms")``."""

    offsets: Literal["log", "native"] = "log"
    """Whether Spark's offsets are those of a log, or the broker's own positions: then see ``PositionOptions``."""
    topic: str | None = None
    subscribe: str | None = None
    """Several queues, separated by commas; each has its own lanes in the log."""
    subscription_name: str | None = None
    """The durable subscription of a topic; without it messages are lost while the query does not run."""
    shared_subscription: bool = False
    wal_path: str | None = None
    """The folder of the log: as durable as the checkpoint, and of one query alone."""
    wal_transport: Literal["path", "inline"] = "path"
    """How rows reach the executors: they read the log's folder, or rows travel within the tasks."""
    max_messages_per_trigger: Positive = 10_000
    max_bytes_per_trigger: Positive = 64 * 1024 * 1024
    min_messages_per_trigger: _Count = 0
    """A batch waits for so many messages, for ``maxTriggerDelay`` at most; with AvailableNow it does not wait."""
    max_trigger_delay: Seconds = 900.0
    receivers: Positive = 1
    """Consumers of each queue that receive at the same time, each with its own lane in the log."""
    distributed: bool = False
    """Whether the consumers are tasks, which run on executors, rather than threads of one process of the driver."""
    min_partitions: Positive = 2
    """Into how many tasks a batch is divided, if it has as many messages."""
    receive_timeout: Timeout = 0.1
    """How long a quiet queue is waited for before what was received is written."""
    prefetch: Positive | None = None
    """How many messages are delivered ahead; as many as a segment holds unless it is more."""
    id_property: str | None = None
    """The property that identifies a message, where JMSMessageID does not."""
    dedup_retention: Seconds = 3600.0
    """How long ids are kept of messages that the broker may deliver again."""
    fail_on_data_loss: bool = True
    """Whether a query ends where a part of the log is missing, or goes on without it and says so."""

    @property
    def destinations(self) -> tuple[Destination, ...]:
        """The queues or the topic to read."""
        if self.subscribe is not None:
            return tuple(map(named, self.subscribe.split(",")))
        return (topic_or(self.topic, str(self.queue)),)

    @property
    def lanes(self) -> int:
        """How many lanes the log has for these receivers."""
        return self.receivers * len(self.destinations)

    def destination_of(self, lane: int) -> Destination:
        """What the receiver of a lane reads; the same whatever the number of receivers."""
        return self.destinations[lane % len(self.destinations)]

    @property
    def segment_rows(self) -> int:
        """How many messages a segment of the log holds at most."""
        return min(self.max_messages_per_trigger, 10_000)


class WriteOptions(Common, frozen=True, kw_only=True):
    """The options of ``df.write.format("jms")`` and ``df.writeStream.format("jms")``."""

    queue: str | None = None
    """Where all rows are sent; without queue, topic and destination, the column ``destination`` says it for each."""
    topic: str | None = None
    destination: str | None = None
    """The same in one text: ``orders`` or ``topic:news``."""
    dedup_id: str = MESSAGE_ID
    """The column by whose value a broker that detects duplicates drops a row sent again; ``none``: no column."""
    duplicate_window: Positive = 20_000
    """How many ids the broker remembers for each destination: a larger batch is refused."""
    transacted: bool = False
    """Whether the rows of a task appear together, up to ``transactionSize`` of them."""
    transaction_size: Positive = 1000
    confirm_window: Positive = 500
    """How many sends of a task may wait for their confirmation by the broker."""
    confirm_timeout: Timeout = 30.0
    max_rate: Positive | None = None
    """How many rows a task sends in a second at most."""
    ttl: Seconds | None = None
    """The time to live of every message, 0 for no end, instead of the column ``expiration``."""
    priority: Annotated[int, msgspec.Meta(ge=0, le=9)] | None = None
    delivery_mode: Literal["PERSISTENT", "NON_PERSISTENT"] | None = None

    @property
    def dedup_column(self) -> str | None:
        """The column whose values are given to the broker; none in transactions, where it may detect no duplicates."""
        return None if self.transacted or self.dedup_id.lower() == "none" else self.dedup_id

    @property
    def fixed(self) -> Destination | None:
        """Where all rows are sent; None if each row says it."""
        text = self.queue if self.queue is not None else self.destination
        return None if text is None and self.topic is None else topic_or(self.topic, str(text))


_ALIASES = {"maxoffsetspertrigger": "maxmessagespertrigger", "path": "url"}
_OF_SPARK = ("checkpointlocation",)
"""Options of a query that Spark gives to its sink, too."""
_ELSEWHERE = {
    "password": _VISIBLE,
    "mode": "spark.read shows what is in a queue, and consumes nothing: jmsbridge.spark.pipelines.drain consumes",
    "startingoffsets": "a queue has no positions: it is read from its head, and what was read is gone from it; "
    "offsets=native reads brokers that have positions",
    "endingoffsets": "a queue has no positions: Trigger.AvailableNow ends with what is there; offsets=native reads "
    "brokers that have positions",
}


def read_options(given: Mapping[str, str]) -> ReadOptions:
    """The options of a stream; ConfigurationError says what is wrong, and names the nearest option."""
    options = converted(ReadOptions, given)
    if sum(each is not None for each in (options.queue, options.topic, options.subscribe)) != 1:
        raise ConfigurationError("give one of queue, topic and subscribe")
    read = options.destinations  # raises for an empty name: here, not in the source
    if options.topic is None:
        _check_queues(options, read)
    if options.topic is None and (options.subscription_name or options.shared_subscription):
        raise ConfigurationError("subscriptionName and sharedSubscription belong to a topic")
    if options.topic is not None and not options.subscription_name:
        raise ConfigurationError(
            "a topic needs subscriptionName: without a durable subscription its messages are lost between two runs"
        )
    if options.receivers > 1 and options.topic is not None and not options.shared_subscription:
        raise ConfigurationError("several receivers of a topic need sharedSubscription")
    if not options.wal_path:
        raise ConfigurationError(
            "walPath is missing: a stream of a queue needs a folder for its log, as durable as the checkpoint"
        )
    if options.min_messages_per_trigger > options.max_messages_per_trigger:
        raise ConfigurationError("minMessagesPerTrigger is more than maxMessagesPerTrigger")
    if options.distributed:
        _check_distributed(options)
    return msgspec.structs.replace(options, wal_path=_folder(options.wal_path))


def local_path(path: str) -> str | None:
    """A path as Python opens it; None if it is not in a file system."""
    scheme, _, rest = path.partition(":")
    if not rest or not _SCHEME.fullmatch(scheme):
        return path
    return "/" + rest.lstrip("/") if scheme.lower() == "file" else None


def _folder(path: str) -> str:
    """The folder of a log; ConfigurationError for one that is not in a file system."""
    found = local_path(path)
    if found is None:
        raise ConfigurationError(
            f"the log (walPath, in a pipeline below its root) cannot be in {path!r}: it needs a folder of a file "
            "system, local or shared, in which files can be locked"
        )
    return found


def _check_queues(options: ReadOptions, read: tuple[Destination, ...]) -> None:
    name = "queue" if options.subscribe is None else "subscribe"
    value = options.queue if options.subscribe is None else options.subscribe
    if len({where.address for where in read}) < len(read):
        raise ConfigurationError(f"{name} is {value!r}, which names a queue twice")
    if not all(isinstance(where, Queue) for where in read):
        raise ConfigurationError(f"{name} is {value!r}, which names a topic: give topic instead")


def _check_distributed(options: ReadOptions) -> None:
    if options.wal_transport == "inline":
        raise ConfigurationError(
            "walTransport=inline is for executors that do not see walPath, but with distributed=true they write it: "
            "put walPath where the driver and every executor can write"
        )
    if options.subscribe is not None:
        raise ConfigurationError("distributed=true reads one queue: give each queue a stream of its own")
    if options.min_messages_per_trigger:
        raise ConfigurationError(
            "minMessagesPerTrigger counts what is in the log: with distributed=true batches fill it"
        )
    if options.client_id is not None:
        raise ConfigurationError("clientId belongs to one connection, and with distributed=true each executor has one")
    if options.topic is not None and not options.shared_subscription:
        raise ConfigurationError("distributed=true reads a topic by several consumers: it needs sharedSubscription")


def browse_options(given: Mapping[str, str]) -> BrowseOptions:
    """The options of a batch read; ConfigurationError says what is wrong, and names the nearest option."""
    streaming = {camel(name).lower() for name in ReadOptions.__struct_fields__}
    streaming -= {camel(name).lower() for name in BrowseOptions.__struct_fields__}
    for key in given:
        if key.lower() == "topic":
            raise ConfigurationError("a topic holds no messages that could be shown: read it with spark.readStream")
        if _ALIASES.get(key.lower(), key.lower()) in streaming:
            raise ConfigurationError(
                f"option {key} belongs to spark.readStream: spark.read shows what is in a queue and consumes nothing"
            )
    options = converted(BrowseOptions, given)
    if options.queue is None:
        raise ConfigurationError("option queue is missing: it says which queue is shown")
    if not isinstance(named(options.queue), Queue):
        raise ConfigurationError(f"queue is {options.queue!r}, which is a topic: it holds no messages to show")
    return options


def columns_options(given: Mapping[str, str]) -> BrowseOptions:
    """What decides the columns, before it is known whether a stream or a batch is read."""
    return converted(ReadOptions, given)


def write_options(given: Mapping[str, str]) -> WriteOptions:
    """The options of a sink; ConfigurationError says what is wrong, and names the nearest option."""
    ours = {key: value for key, value in given.items() if key.lower() not in _OF_SPARK}
    options = converted(WriteOptions, ours)
    if sum(each is not None for each in (options.queue, options.topic, options.destination)) > 1:
        raise ConfigurationError("give one of queue, topic and destination")
    fixed = options.fixed  # raises for an empty destination: here, not in the tasks
    if options.queue is not None and not isinstance(fixed, Queue):
        raise ConfigurationError(f"queue is {options.queue!r}, which is a topic: give topic instead")
    if options.transacted and options.dedup_id not in (MESSAGE_ID, "none"):
        raise ConfigurationError("give transacted or dedupId, not both: brokers detect no duplicates in transactions")
    return options


def connect(options: Common, **more: Any) -> Connection:
    """A connection, not started; the password is read now."""
    given = _connection_options(options) | more
    return jmsbridge.connect(options.url, user=options.user, password=_password(options), **given)


def _connection_options(options: Common) -> dict[str, Any]:
    # A message that is in the log already must not go to a dead-letter queue because its acknowledgement failed often.
    given: dict[str, Any] = {"max_redeliveries": -1} | json.loads(options.client_options)
    return given if options.client_id is None else given | {"client_id": options.client_id}


def camel(name: str) -> str:
    """The name of an option as users write it."""
    first, *others = name.split("_")
    return first + "".join(part.capitalize() for part in others)


def _password(options: Common) -> str | None:
    if options.password_env is not None:
        password = os.environ.get(options.password_env)
        if password is None:
            raise ConfigurationError(f"passwordEnv: the environment has no variable {options.password_env!r}")
        return password
    if options.password_file is None:
        return None
    try:
        return Path(options.password_file).read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
    except (OSError, UnicodeDecodeError) as error:
        problem = type(error).__name__
        raise ConfigurationError(f"passwordFile: cannot read {options.password_file!r}: {problem}") from None


def converted(struct: type[T], given: Mapping[str, str]) -> T:
    """The options as such a struct; ConfigurationError says what is wrong, and names the nearest option."""
    known = {camel(name).lower(): name for name in struct.__struct_fields__}
    values: dict[str, Any] = {}
    passed: dict[str, str] = {}
    for key, value in given.items():
        lower = key.lower()
        if lower.startswith(_PASS_THROUGH):
            passed[lower.removeprefix(_PASS_THROUGH)] = value
            continue
        name = known.get(_ALIASES.get(lower, lower))
        if name is None:
            raise _unknown(key, map(camel, known.values()))
        if name in values and given[key] != values[name]:
            raise ConfigurationError(f"option {camel(name)} is given twice, with different values")
        values[name] = value
    if "url" not in values:
        raise ConfigurationError("option url is missing: it says where the broker is")
    if mask_url(values["url"]) != values["url"]:
        raise ConfigurationError(f"the url must not hold a password, because {_VISIBLE}")
    if "password_env" in values and "password_file" in values:
        raise ConfigurationError("give passwordEnv or passwordFile, not both")
    values["client_options"] = json.dumps(_client_options(values, passed))
    return struct(**{name: _value(struct, name, value) for name, value in values.items()})


def _value(struct: type[msgspec.Struct], name: str, value: str) -> Any:
    try:
        return convert_option(struct, name, value)
    except ValueError as error:
        raise ConfigurationError(f"option {camel(name)}: {error}") from None


def _unknown(key: str, known: Iterable[str]) -> ConfigurationError:
    if key.lower() in _ELSEWHERE:
        return ConfigurationError(f"option {key}: {_ELSEWHERE[key.lower()]}")
    return ConfigurationError(f"unknown option {key!r}: {nearest(key, known, 'options')}")


def _client_options(values: Mapping[str, Any], passed: Mapping[str, str]) -> dict[str, Any]:
    """The options of the connection, checked: a wrong one is refused before the query runs."""
    try:
        options = json.loads(values.get("client_options") or "{}")
    except ValueError as error:
        raise ConfigurationError(f"option clientOptions: not JSON: {error}") from None
    if not isinstance(options, dict):
        raise ConfigurationError("option clientOptions must be a JSON object")
    target = resolve(values["url"])
    fields = (*target.options.__struct_fields__, *target.backend_options.__struct_fields__)
    known = {name.replace("_", ""): name for name in fields}
    for key, value in passed.items():
        name = known.get(key.replace("_", "").replace("-", ""))
        if name is None:
            raise ConfigurationError(f"unknown option jms.{key}: {nearest(key, known.values(), 'options')}")
        options[name] = value
    for name in options:
        if is_secret(name):
            raise ConfigurationError(f"{name!r} holds a secret, and {_VISIBLE}")
    resolve(values["url"], options)
    return options
