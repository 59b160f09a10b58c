"""``jmsbridge send``: sends arguments or standard input as messages, pipelined."""

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Annotated, Any

import msgspec
import typer

from jmsbridge import DeliveryMode, Destination, JMSError, Message, MessageProducer, Session
from jmsbridge.cli.lines import errors_at, from_line, numbered
from jmsbridge.cli.progress import counting
from jmsbridge.cli.running import ERROR, OK, complain, note, reporting
from jmsbridge.cli.target import Broker, seconds, warn_if_fleeting, warn_if_private
from jmsbridge.core.arguments import milliseconds
from jmsbridge.documents import BadDocument, Outgoing, destination_named
from jmsbridge.errors import ConfigurationError, InvalidArgumentException, MessageFormat
from jmsbridge.messages.names import admit
from jmsbridge.values import Byte, Double, Float, Int, Long, Short

__all__ = ["Fixed", "InputFormat", "Sending", "send", "send_all"]

_TYPES: dict[str, Any] = {
    "string": str,
    "boolean": lambda text: {"true": True, "false": False}[text.lower()],
    "byte": lambda text: Byte(int(text)),
    "short": lambda text: Short(int(text)),
    "int": lambda text: Int(int(text)),
    "long": lambda text: Long(int(text)),
    "float": lambda text: Float(float(text)),
    "double": lambda text: Double(float(text)),
}


class InputFormat(StrEnum):
    """The format of standard input."""

    JSON = "json"
    TEXT = "text"
    BYTES = "bytes"


class Sending:
    """A completion listener that counts; thread-safe."""

    def __init__(self, reached: int = 0) -> None:
        self._lock = threading.Lock()  # guards what the callbacks change
        self.confirmed = 0
        self.fleeting = 0  # NON_PERSISTENT among them
        self.error: str | None = None
        self.failed: int | None = None  # the number of the message with the error
        self.beyond = 0  # messages behind that one which the broker has
        self.waiting: deque[int] = deque()  # the numbers of messages without a callback, which come in this order
        self.expired = 0
        self.reached = reached  # the number of the last message

    def on_completion(self, message: Message) -> None:
        """The broker has one more message."""
        with self._lock:
            self.waiting.popleft()
            self.confirmed += 1
            self.beyond += self.failed is not None
            self.fleeting += message.jms_delivery_mode == DeliveryMode.NON_PERSISTENT

    def on_exception(self, message: Message, error: Exception) -> None:
        """A send failed; the first error is kept."""
        with self._lock:
            number = self.waiting.popleft()
            if self.failed is None:
                self.failed, self.error = number, f"message {number}: {error}"

    @property
    def done(self) -> int:
        """After the end: the number of the last message up to which all are with the broker, or have expired."""
        open_ones = [*self.waiting, *([] if self.failed is None else [self.failed])]
        return min(open_ones) - 1 if open_ones else self.reached


def send(  # size: one parameter per option of the command line
    broker: Broker,
    to: Annotated[
        str | None,
        typer.Argument(metavar="[DESTINATION]", help="queue:NAME, topic:NAME or NAME. Default: the one in each line."),
    ] = None,
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="Text messages to send instead of standard input, which is also -."),
    ] = None,
    form: Annotated[
        InputFormat,
        typer.Option("--format", "-f", help="Input: JSON lines, a text message per line, or all as one bytes message."),
    ] = InputFormat.JSON,
    properties: Annotated[
        list[str] | None,
        typer.Option("--property", "-p", metavar="NAME[:TYPE]=VALUE", help="Set a property; repeatable."),
    ] = None,
    priority: Annotated[int | None, typer.Option(min=0, max=9, help="0 to 9.", show_default=False)] = None,
    time_to_live: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Such as 30, 250ms, 5m.", show_default=False)
    ] = None,
    delivery_delay: Annotated[
        str | None, typer.Option(metavar="DURATION", help="The same.", show_default=False)
    ] = None,
    non_persistent: Annotated[bool, typer.Option("--non-persistent", help="Send NON_PERSISTENT.")] = False,
    correlation_id: Annotated[str | None, typer.Option(help="JMSCorrelationID.", show_default=False)] = None,
    reply_to: Annotated[str | None, typer.Option(help="JMSReplyTo, a destination.", show_default=False)] = None,
    jms_type: Annotated[str | None, typer.Option("--type", help="JMSType.", show_default=False)] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
) -> int:
    """Send messages: the TEXTs, or standard input.

    A message counts as sent when the broker has confirmed it. The command exits with 0 only if all were sent.

    Examples:

      jmsbridge send orders "first" "second" -p n:short=5

      jmsbridge receive orders | jmsbridge send topic:archive -t rabbitmq://other

      jmsbridge send logs --format text < /var/log/syslog
    """
    _check_utf8([to, *(texts or []), *(properties or []), correlation_id, reply_to, jms_type])
    default = None if to is None else destination_named(to)
    fixed = Fixed(
        properties=_properties(properties or []),
        options=_options(priority, time_to_live, non_persistent),
        delivery_delay=_lasting(delivery_delay, "--delivery-delay") if delivery_delay else None,
        headers=_headers(correlation_id, reply_to, jms_type),
    )
    return send_all(lambda session: _inputs(session, texts, form), default, fixed, broker, quiet=quiet)


def _check_utf8(words: list[str | None]) -> None:
    """ConfigurationError if bytes of the command line are no text: Python makes halves of surrogate pairs of them."""
    for word in filter(None, words):
        try:
            word.encode("utf-8")
        except UnicodeEncodeError:
            raise ConfigurationError(f"{word!r} is not UTF-8") from None


class Fixed(msgspec.Struct, frozen=True):
    """The settings of the command line, for every message."""

    properties: dict[str, Any] = {}
    options: dict[str, Any] = {}
    delivery_delay: float | None = None
    headers: dict[str, Any] = {}

    def apply(self, message: Message) -> None:
        """Set properties and headers."""
        for name, value in self.properties.items():
            message.set_object_property(name, value)
        for name, value in self.headers.items():
            setattr(message, name, value)


def send_all(
    inputs: Callable[[Session], Iterator[Outgoing]],
    default: Destination | None,
    fixed: Fixed,
    broker: Broker,
    *,
    quiet: bool = False,
    verb: str = "sent",
    skipped: int | None = None,
) -> int:
    """Send messages, pipelined, and print how many the broker has; returns the exit code.

    ``skipped`` messages were left out by ``--skip``, which the command has: then it also prints where to continue.
    """
    resolved = broker.resolve()
    private, fleeting = warn_if_private(resolved), warn_if_fleeting(resolved)
    sending = Sending(skipped or 0)
    problem: str | None = None
    with broker.connect() as connection:
        session = connection.create_session()
        producer = session.create_producer(None)

        def report(whole: bool) -> None:
            connection.close()  # waits for outstanding confirmations
            if not quiet or sending.error:
                note(f"{sending.confirmed} {verb}")
            if skipped is not None and not (whole and problem is None and sending.error is None):
                again = f"; this sends the {sending.beyond} behind that message again" if sending.beyond else ""
                note(f"--skip {sending.done} continues{again}")
            if sending.fleeting and fleeting and not quiet:
                note(f"note: {fleeting}")

        with reporting(report):
            if private and not quiet:
                note(f"note: {private}")
            problem = _pump(inputs(session), producer, default, fixed, sending, quiet)
    errors = [each for each in (sending.error, problem) if each]
    for each in errors:
        complain(each)
    return ERROR if errors or sending.expired else OK


def _pump(
    inputs: Iterator[Outgoing],
    producer: MessageProducer,
    default: Any,
    fixed: Fixed,
    sending: Sending,
    quiet: bool,
) -> str | None:
    """Send everything until a send fails; returns the error text of an input that cannot be sent, else None."""
    with counting("sent", quiet=quiet or sys.stdin.isatty(), waiting="waiting for input") as show:
        number = 0
        try:
            for number, outgoing in enumerate(inputs, sending.reached + 1):
                to = default or outgoing.destination
                if to is None:
                    return f"message {number} has no destination, and none is given on the command line"
                if outgoing.expired:
                    complain(f"message {number} expired before it could be sent; continuing")
                    sending.expired += 1
                    sending.reached = number
                    continue
                fixed.apply(outgoing.message)
                delay = fixed.delivery_delay
                producer.delivery_delay = outgoing.delivery_delay if delay is None else delay
                sending.waiting.append(number)
                producer.send(to, outgoing.message, completion_listener=sending, **(outgoing.options | fixed.options))
                sending.reached = number
                if sending.error:
                    break
                show(number)
        except BadDocument as error:
            return str(error)
        except JMSError as error:
            return f"message {number}: {error}"
    return None


def _inputs(session: Session, texts: list[str] | None, form: InputFormat) -> Iterator[Outgoing]:
    if texts and texts != ["-"]:
        yield from (Outgoing(session.create_text_message(text)) for text in texts)
        return
    if sys.stdin.isatty():
        note("reading messages from the terminal, one per line; end with Ctrl-D")
    if form is InputFormat.BYTES:
        message = session.create_bytes_message()
        message.write_bytes(sys.stdin.buffer.read())
        yield Outgoing(message)
        return
    for where, line in numbered(sys.stdin.buffer):
        if form is InputFormat.TEXT:
            with errors_at(where):
                text = line.removesuffix(b"\n").decode("utf-8")
            yield Outgoing(session.create_text_message(text))
        elif line.strip():
            with errors_at(where):
                outgoing = from_line(line, session)
            yield outgoing


def _options(priority: int | None, time_to_live: str | None, non_persistent: bool) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if priority is not None:
        options["priority"] = priority
    if time_to_live is not None:
        options["time_to_live"] = _lasting(time_to_live, "--time-to-live")
    if non_persistent:
        options["delivery_mode"] = DeliveryMode.NON_PERSISTENT
    return options


def _lasting(text: str, option: str) -> float:
    """A duration that a message can have."""
    duration = seconds(text, option)
    try:
        milliseconds(duration)
    except InvalidArgumentException as error:
        raise ConfigurationError(f"{option}: {error}") from None
    return duration


def _headers(correlation_id: str | None, reply_to: str | None, jms_type: str | None) -> dict[str, Any]:
    headers = {
        "jms_correlation_id": correlation_id,
        "jms_reply_to": None if reply_to is None else destination_named(reply_to),
        "jms_type": jms_type,
    }
    return {name: value for name, value in headers.items() if value is not None}


def _properties(given: list[str]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name, _, kind = name.partition(":")
        reader = _TYPES.get(kind or "string")
        if not (name and equals) or reader is None:
            raise ConfigurationError(
                f"--property {text!r} is not NAME=VALUE, or NAME:TYPE=VALUE with one of the types {', '.join(_TYPES)}"
            )
        try:
            checked = admit(name, reader)
        except ValueError as error:
            raise ConfigurationError(f"--property: {error}") from None
        try:
            properties[name] = checked(value)
        except (KeyError, ValueError):
            raise ConfigurationError(f"--property {name}: {value!r} is not a value of type {kind}") from None
        except MessageFormat as error:
            raise ConfigurationError(f"--property: {error}") from None
    return properties
