"""Sends rows to the broker, pipelined, each confirmed; knows nothing of Spark, and only the public API of jmsbridge."""

import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

import msgspec
import pyarrow as pa

from jmsbridge import Connection, DeliveryMode, Destination, JMSException, Message, Session
from jmsbridge.config import mask_url
from jmsbridge.documents import Outgoing
from jmsbridge.errors import ConfigurationError, UnsupportedFeatureException
from jmsbridge.spark.connections import Connections
from jmsbridge.spark.options import WriteOptions, connect
from jmsbridge.spark.rows import BadDocument, message_of, rows_of_batch

__all__ = ["Sender", "Sent", "cached", "check_ids", "forget"]

_connections: Connections[WriteOptions, Connection] = Connections(connect, lambda connection: connection.close())
cached, forget = _connections.get, _connections.forget


class Sent(msgspec.Struct):
    """What a task has sent: a count, those that had no id, and the ids that went to each destination."""

    rows: int = 0
    without_id: int = 0
    detected: bool = False
    """Whether the broker was given ids by which it drops what is sent twice."""
    ids: dict[str, set[str]] = {}

    @property
    def guarantee(self) -> str:
        """What holds if the rows are sent again after a failure."""
        if not self.detected:
            return "at-least-once"
        return "exactly-once" if not self.without_id else "at-least-once: some rows have no id"


def check_ids(options: WriteOptions, tasks: Iterable[Sent]) -> None:
    """ConfigurationError if tasks of one batch have sent the same id, or more ids than the broker remembers."""
    seen: dict[str, set[str]] = {}
    for sent in tasks:
        for destination, ids in sent.ids.items():
            known = seen.setdefault(destination, set())
            if not known.isdisjoint(ids):
                _refuse_id(options, min(known & ids), destination)
            known |= ids
            _check_window(options, len(known), destination)


def _refuse_id(options: WriteOptions, identity: str, destination: str) -> NoReturn:
    raise ConfigurationError(
        f"several rows for {destination} have {identity!r} in the column {options.dedup_id}, of which the broker would "
        "keep one and drop the others as sent again: give dedupId=a column with a value of its own in each row, or "
        "dedupId=none for at least once"
    )


def _check_window(options: WriteOptions, count: int, destination: str) -> None:
    if count > options.duplicate_window:
        raise ConfigurationError(
            f"a batch of {count} rows for {destination} is more than the {options.duplicate_window} ids that the "
            "broker remembers, so a repeated batch would arrive twice: use smaller batches (maxMessagesPerTrigger "
            "of the source), let the broker remember more and say so with duplicateWindow, or give dedupId=none "
            "for at least once"
        )


class _Confirmations:
    """A completion listener that bounds how many sends wait for their confirmation."""

    def __init__(self, most: int, timeout: float) -> None:
        self._most = most
        self._timeout = timeout
        self._changed = threading.Condition()  # guards the rest
        self._waiting = 0
        self._error: JMSException | None = None

    def on_completion(self, message: Message) -> None:
        """The broker has one more message."""
        with self._changed:
            self._waiting -= 1
            self._changed.notify()

    def on_exception(self, message: Message, error: JMSException) -> None:
        """A send failed."""
        with self._changed:
            self._waiting -= 1
            self._error = self._error or error
            self._changed.notify()

    def begin(self) -> None:
        """One more send; waits for room."""
        self._wait(self._most - 1)
        with self._changed:
            self._waiting += 1

    def finish(self) -> None:
        """Wait until every send is confirmed."""
        self._wait(0)

    def _wait(self, most: int) -> None:
        with self._changed:
            while self._waiting > most and self._error is None:
                before, deadline = self._waiting, time.monotonic() + self._timeout
                while self._waiting == before and self._error is None:
                    if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() >= deadline:
                        raise JMSException(
                            f"the broker has confirmed none of {before} sends for {self._timeout:g} s (confirmTimeout)"
                        )
            if self._error is not None:
                raise self._error


class Sender:
    """Sends the rows of one task."""

    def __init__(self, options: WriteOptions, connection: Connection) -> None:
        self._options = options
        can = {name: feature.outcome == "native" for name, feature in connection.capabilities.items()}
        if options.transacted and not can["transactions"]:
            raise UnsupportedFeatureException(
                f"the broker at {mask_url(options.url)} has no transactions: leave out the option transacted",
                "transactions",
            )
        column = options.dedup_column
        self._column = column
        self._fixed = options.fixed
        self.sent = Sent(detected=column is not None and can["duplicate_detection"])
        mode = Session.SESSION_TRANSACTED if options.transacted else Session.AUTO_ACKNOWLEDGE
        self._session = connection.create_session(mode)
        self._producer = self._session.create_producer(None)
        self._confirmations = _Confirmations(options.confirm_window, options.confirm_timeout)
        self._began = time.monotonic()

    def send(self, batch: pa.RecordBatch) -> None:
        """Send all rows of a batch; they may be unconfirmed when it returns."""
        for row in rows_of_batch(batch):
            self._pace()
            try:
                self._send(row)
            except BadDocument as error:
                self._fail(str(error), "correct it in the query before it is written", error)
            except JMSException as error:
                self._fail(str(error), "the rows of this task are sent again when it is repeated", error)
            self.sent.rows += 1
            if self._options.transacted and self.sent.rows % self._options.transaction_size == 0:
                self._session.commit()

    def finish(self) -> Sent:
        """Wait for every confirmation, or commit; what was sent."""
        try:
            if self._options.transacted:
                self._session.commit()
            else:
                self._confirmations.finish()
        except JMSException as error:
            self._fail(str(error), "the rows of this task are sent again when it is repeated", error)
        return self.sent

    def close(self) -> None:
        """Release the session; rolls back what is not committed."""
        self._session.close()

    def _pace(self) -> None:
        if self._options.max_rate is not None:
            due = self._began + self.sent.rows / self._options.max_rate
            time.sleep(max(0.0, due - time.monotonic()))  # sleep: the rate that maxRate allows

    def _send(self, row: Mapping[str, Any]) -> None:
        outgoing = message_of(row, self._session)
        where = self._fixed or outgoing.destination
        if where is None:
            raise BadDocument("it has no destination: give the option queue or topic, or a column destination")
        settings = self._settings(outgoing)
        identity = self._identity(row, where)
        if identity is not None:
            settings["duplicate_id"] = identity
        self._producer.delivery_delay = outgoing.delivery_delay
        if self._options.transacted:
            self._producer.send(where, outgoing.message, **settings)
            return
        self._confirmations.begin()
        self._producer.send(where, outgoing.message, completion_listener=self._confirmations, **settings)

    def _identity(self, row: Mapping[str, Any], where: Destination) -> str | None:
        value = None if self._column is None else row.get(self._column)
        identity = "" if value is None else str(value)
        if not identity:
            self.sent.without_id += 1
            return None
        if not self.sent.detected:
            return None
        destination = str(where.address)
        ids = self.sent.ids.setdefault(destination, set())
        if identity in ids:
            _refuse_id(self._options, identity, destination)
        ids.add(identity)
        _check_window(self._options, len(ids), destination)
        return identity

    def _settings(self, outgoing: Outgoing) -> dict[str, Any]:
        settings, options = dict(outgoing.options), self._options
        if options.ttl is not None:
            settings["time_to_live"] = options.ttl
        if options.priority is not None:
            settings["priority"] = options.priority
        elif not 0 <= settings.get("priority", 0) <= 9:
            raise BadDocument(f"its priority is {settings['priority']}, and a priority is 0 to 9")
        if options.delivery_mode is not None:
            settings["delivery_mode"] = getattr(DeliveryMode, options.delivery_mode)
        return settings

    def _fail(self, problem: str, remedy: str, error: Exception) -> None:
        where = "its destination" if self._fixed is None else str(self._fixed.address)
        broker = mask_url(self._options.url)
        raise JMSException(
            f"row {self.sent.rows + 1} of this task, for {where} at {broker}: {problem}; {remedy}"
        ) from error
