"""One file in this process: the thread that owns the connection, and its queue of operations.

The thread runs all waiting operations in one transaction, so that they share one fsync, and answers tickets after
COMMIT. The WAL is synced here, not by SQLite: only if a confirmation was asked for, before it is given, and after the
transaction has ended, so that other processes can write meanwhile.
"""

import contextlib
import itertools
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeVar

from jmsbridge.spi import BackendError, ConnectFailed, LinkLost
from jmsbridge.transport.deliveries.expiry import now_ms as _now
from jmsbridge_embedded.client import Client
from jmsbridge_embedded.file.batch import Batch, Operation
from jmsbridge_embedded.file.disk.catalog import Catalog
from jmsbridge_embedded.file.disk.entries import Entries
from jmsbridge_embedded.file.disk.forking import Use
from jmsbridge_embedded.file.disk.log import Log
from jmsbridge_embedded.file.disk.schema import (
    LOCK_WAIT,
    begin,
    explained,
    is_busy,
    is_damage,
    is_fatal,
    is_unknown,
    open_file,
)
from jmsbridge_embedded.file.dispatch import Dispatcher
from jmsbridge_embedded.file.nodes import Nodes
from jmsbridge_embedded.file.operation_queue import OperationQueue
from jmsbridge_embedded.file.operations import Call, End, Verb
from jmsbridge_embedded.file.presence import Presence
from jmsbridge_embedded.native import product

__all__ = ["Attached", "Store"]

_log = logging.getLogger("jmsbridge.embedded")
_numbers = itertools.count(1)
_T = TypeVar("_T")

_PATIENCE: Final = 30.0  # seconds that closing may take
_SLACK: Final = 1.0  # extra seconds for the thread to report why the file could not be opened in time
_HOUSEKEEPING: Final = 500  # milliseconds between two checks of other processes, while there are any
_SWEEPING: Final = 1000  # milliseconds between two sweeps for expired messages
_LONGEST_WAIT: Final = 30.0  # seconds; bounded because the wall clock may be changed while the thread waits
_sync = getattr(os, "fdatasync", os.fsync)


class Attached(Protocol):
    """A link as its store sees it; all but ``tell`` is called on the store's thread."""

    client: Client

    def end(self, batch: Batch, lost: str, *, death: bool = False) -> None:
        """Return all held messages."""

    def abandon(self, lost: str) -> None:
        """The store is dead, or belongs to the parent process."""

    def tell(self, error: BackendError) -> None:
        """Report the death of the link."""


class Store:
    """Made, started and stopped by ``registry``. Other threads use only the methods of the first section.

    ``links`` belongs to the store's thread; ``death`` is set once, when the file cannot be used any more.
    """

    def __init__(self, path: Path, verify: bool, released: Callable[["Store"], None]) -> None:
        self.path = path
        self.damaged = False
        self.product = product()
        self.links: set[Attached] = set()
        self.death: BackendError | None = None
        self.dispatcher = Dispatcher()
        self._verify = verify
        self._released = released
        self._number = next(_numbers)
        self._queue = OperationQueue(self._refusal)
        self._use = Use()
        self._stopping = False
        self._again: list[Operation] = []
        self._later: list[Operation] = []
        self._unfinished: set[int] = set()
        self._swept = 0
        self._looked = 0
        self._seen_version = 0
        self._ready: Future[None] = Future()

    # -- for other threads ---------------------------------------------------------------------------------------

    def start(self, timeout: float) -> None:
        """Open the file; ``ConnectFailed`` if that is not possible."""
        self._thread = threading.Thread(
            target=self._run, args=(timeout,), name=f"jmsbridge-embedded-{self._number}-io", daemon=True
        )
        self._thread.start()
        try:
            self._ready.result(timeout + _SLACK)
        except TimeoutError:
            self._stopping = True
            raise ConnectFailed(
                f"{self.path} could not be opened within {timeout:g} s; check what else uses its disk, or raise the "
                "option connect_timeout"
            ) from None

    def submit(self, operation: Operation) -> None:
        """Queue an operation; a ``lazy`` one may be delayed by milliseconds."""
        self._queue.put(operation, patient=threading.current_thread() is not self._thread)

    def call(
        self, act: Callable[[Batch], _T], *, sync: bool = False, timeout: float = _PATIENCE, limit: float | None = None
    ) -> _T:
        """Run ``act`` in a transaction and wait for it. ``limit``: the whole time, if a part of it is over already."""
        call = Call(act, sync=sync)
        self.submit(call)
        try:
            return call.future.result(timeout)
        except TimeoutError:
            call.future.cancel()
            whole = round(limit or timeout, 1)
            raise BackendError(
                f"{self.path} did not answer within {whole:g} s; another program may have locked it"
            ) from None

    def end(self, act: Callable[[Batch], None], timeout: float = _PATIENCE) -> End:
        """End something and wait for it; if that fails now, it is repeated later."""
        call = End(act, self._again_later)
        self.submit(call)
        try:
            call.future.result(timeout)
        except TimeoutError:
            if timeout:  # otherwise an earlier close has logged it
                _log.warning("%s did not answer within %g s; the close is completed when it does", self.path, timeout)
        return call

    def enter(self, link: Attached, timeout: float, limit: float) -> None:
        """Add a link; ``timeout`` is what is left of the time for opening, ``limit``."""

        def add(batch: Batch) -> None:
            link.client.number = self.nodes.add_link(batch, link.client.client_id)
            self.links.add(link)
            batch.on_undo(lambda: self.links.discard(link))

        try:
            self.call(add, timeout=timeout, limit=limit)
        except BackendError as error:
            self.submit(End(partial(link.end, lost=str(error)), self._again_later))  # the file may have it anyway
            if type(error) is BackendError:
                raise ConnectFailed(str(error)) from error
            raise

    def left(self) -> None:
        """Called when a link has ended."""
        self._released(self)

    def cut(self, reason: str) -> None:
        """Kill every link."""
        ended: list[Attached] = []

        def act(batch: Batch) -> None:
            ended.extend(self.links)
            for link in ended:
                link.end(batch, reason, death=True)

        self.end(act)
        for link in dict.fromkeys(ended):
            link.tell(LinkLost(reason))
        self._released(self)

    def stop(self) -> None:
        """Close the file; called after the last link has ended."""

        def act(batch: Batch) -> None:
            self.nodes.leave(batch)
            self._stopping = True

        with contextlib.suppress(BackendError):  # the next process that opens the file cleans up
            self.call(act)
        self._stopping = True
        self.submit(_look(()))
        self._thread.join(_PATIENCE)

    def abandon(self, lost: str) -> None:
        """In a forked child."""
        self.death = LinkLost(lost)
        self._queue.abandon()
        for link in list(self.links):
            link.abandon(lost)
        self.presence.abandon()

    def heard(self, queues: Sequence[int] | None) -> None:
        """Another process reports available messages."""
        with_credit = [queue for queue in list(self.dispatcher.locals) if self.dispatcher.has_credit(queue)]
        named = with_credit if queues is None else [queue for queue in queues if queue in with_credit]
        if named or not queues:
            self.submit(_look(named))

    # -- the thread ----------------------------------------------------------------------------------------------

    def _run(self, timeout: float) -> None:
        try:
            self._open(timeout)
        except Exception as error:  # raised by ``start``
            self._queue.close()
            failure = error if isinstance(error, BackendError) else ConnectFailed(f"{self.path}: {error}")
            if failure is not error:
                failure.__cause__ = error
            self._ready.set_exception(failure)
            return
        self._ready.set_result(None)
        try:
            while not self._stopping:
                operations = self._next()
                if self._is_due(_now()):
                    operations = [*self._housekeeping(), *operations]
                if operations or self._unfinished or self._is_timed(_now()):
                    self._execute(operations)
        except Exception as error:
            _log.exception("the broker in %s failed", self.path)
            self._die([], LinkLost(f"the broker in {self.path} failed: {error}"), damaged=False)
            return
        if self.death is None:
            self._close()

    def _open(self, timeout: float) -> None:
        self._sql = open_file(self.path, self._verify, timeout)
        try:
            self.presence = Presence(self.path, str(self._number), self.heard)
        except OSError as error:
            self._sql.close()
            raise ConnectFailed(f"{self.path}: the folder beside it cannot be used ({error})") from error
        with contextlib.ExitStack() as undo:
            undo.callback(self._sql.close)
            undo.callback(self.presence.close)
            self._file = os.stat(self.path)
            self._wal = os.open(f"{self.path}-wal", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            undo.callback(os.close, self._wal)
            self._shm = os.stat(f"{self.path}-shm").st_ino  # not opened: closing it would drop SQLite's locks on it
            self._sync_folder()
            self._written = Log(self.path, str(self._number))
            undo.callback(self._written.close)
            self.entries = Entries(self._sql)
            self.catalog = Catalog(self._sql, self.entries)
            self.nodes = Nodes(self._sql, self.entries, self.catalog, self.presence)
            register = Call(self._register)
            self._execute([register])
            if self.death is not None:
                undo.pop_all()  # ``_die`` has closed everything
            register.future.result(0)
            undo.pop_all()

    def _register(self, batch: Batch) -> None:
        self.nodes.register(batch, os.getpid())
        self.entries.look()

    def _sync_folder(self) -> None:
        folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _next(self) -> list[Operation]:
        """Wait for operations; none if a timer is due."""
        again, self._again = self._again, []
        if not (again or self._unfinished):
            self._queue.wait(self._pause())
        return self._queue.take(again)

    def _pause(self) -> float:
        """Seconds until the next timer is due."""
        times = [_LONGEST_WAIT * 1000.0]
        now = _now()
        if self.catalog.peers or self._later:
            times.append(self._looked + _HOUSEKEEPING - now)
        if self.entries.next_due:
            times.append(self.entries.next_due - now)
        if self.entries.next_expiry:
            times.append(max(self.entries.next_expiry, min(self._swept, now) + _SWEEPING) - now)
        return max(0.0, min(times) / 1000)

    def _is_timed(self, now: int) -> bool:
        entries = self.entries
        if entries.next_due and entries.next_due <= now:
            return True
        return self._is_sweepable(now)

    def _is_sweepable(self, now: int) -> bool:
        expiry = self.entries.next_expiry
        return 0 < expiry <= now and not 0 <= now - self._swept < _SWEEPING  # the clock may have been set back

    def _is_due(self, now: int) -> bool:
        return bool(self.catalog.peers or self._later) and not 0 <= now - self._looked < _HOUSEKEEPING

    def _housekeeping(self) -> list[Operation]:
        """Check whether other processes live, and whether a wake-up was missed."""
        self._looked = _now()
        self.presence.wake_again()
        made, self._later = self._later, []
        made += [Call(partial(self._clear, peer.id)) for peer in self.nodes.dead()]
        try:
            with self._use:
                changed = int(self._sql.execute("PRAGMA data_version").fetchone()[0])
            if changed != self._seen_version:
                self.entries.look()
        except sqlite3.Error as error:
            if not is_busy(error):
                raise
            return made  # another process is recovering the log of a killed one: checked again next time
        if changed != self._seen_version:
            self._seen_version = changed
            with_credit = [queue for queue in self.dispatcher.locals if self.dispatcher.has_credit(queue)]
            if with_credit:
                made.append(_look(with_credit))
        return made

    def _clear(self, node: int, batch: Batch) -> None:
        peer = self.catalog.peers.get(node)
        if peer is not None:
            self.nodes.clear(batch, peer)

    # -- transactions --------------------------------------------------------------------------------------------

    def _execute(self, operations: list[Operation]) -> None:
        batch = Batch(self.entries, self.catalog, self.path, _now())
        with self._use:
            error, in_doubt = self._commit(batch, operations)
        if error is not None:
            self._failed(operations, error, in_doubt=in_doubt)
            return
        self._written.wrote(self._sql.total_changes, sum(operation.size for operation in operations))
        self._after(batch)

    def _commit(self, batch: Batch, operations: list[Operation]) -> tuple[Exception | None, bool]:
        """Run the operations in a transaction; returns why that failed, and whether they may have had an effect."""
        try:
            self._check_file()
            begin(self._sql, time.monotonic() + LOCK_WAIT)
            self._transact(batch, operations)
        except Exception as error:  # from SQLite, or from a damaged message: see ``_failed``
            self._roll_back(batch)
            return error, False
        try:
            self._sql.execute("COMMIT")
            if any(operation.sync for operation in operations):
                _sync(self._wal)
        except (sqlite3.Error, OSError) as error:
            self._roll_back(batch)
            return error, isinstance(error, OSError) or is_unknown(error)
        return None, False

    def _transact(self, batch: Batch, operations: list[Operation]) -> None:
        row = self._sql.execute("SELECT seq, stored, topology FROM state WHERE one = 1").fetchone()
        self.entries.begin(*row)
        self.catalog.begin(row[2])
        if self.catalog.is_declared_dead:
            raise LinkLost(
                f"{self.path}: other processes took this one for dead, because its lock file in {self.presence.folder} "
                "is gone; do not change that folder while the file is open"
            )
        entries, now = self.entries, batch.now
        if entries.next_due and entries.next_due <= now:
            batch.available |= entries.appear(now)
        if self._is_sweepable(now):
            if self.dispatcher.sweep(batch):
                self._swept = now
            else:
                self._swept, entries.next_expiry = 0, now  # continue at once, after these operations
        for operation in operations:
            try:
                operation.run(batch)
            except BackendError as error:
                batch.effects.append(partial(operation.fail, error))
        queues, self._unfinished = batch.available | batch.granted | self._unfinished, set()
        while queues:
            batch.moved_to = set()
            self._unfinished |= {queue for queue in queues if not self.dispatcher.dispatch(batch, queue)}
            queues = batch.moved_to
        entries.finish(self.catalog.topology)

    def _after(self, batch: Batch) -> None:
        """After COMMIT: run the effects in order, then wake other processes."""
        self._again += batch.again
        for effect in batch.effects:
            if type(effect) is tuple:
                effect[0](effect[1])
            else:
                effect()  # type: ignore[operator]
        foreign, targets = self.catalog.foreign, dict[int, set[int]]()
        if foreign:
            for queue in batch.available:
                for node in foreign.get(queue, ()):
                    targets.setdefault(node, set()).add(queue)
            for node, queues in targets.items():
                peer = self.catalog.peers.get(node)
                if peer is not None:
                    self.presence.wake(peer.socket, queues)

    def _check_file(self) -> None:
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            found = None
        if found is None or (found.st_ino, found.st_dev) != (self._file.st_ino, self._file.st_dev):
            raise LinkLost(
                f"{self.path} was deleted or replaced while it was open; restore the file to get its messages back"
            )
        if not os.fstat(self._wal).st_nlink:
            raise LinkLost(
                f"{self.path}-wal was deleted while {self.path} was open, and with it changes that were not yet in the "
                "file itself; do not delete it while the file is open"
            )
        try:
            shared = os.stat(f"{self.path}-shm").st_ino
        except FileNotFoundError:
            shared = None
        if shared != self._shm:  # a later process creates another: the two would not see each other's locks
            raise LinkLost(
                f"{self.path}-shm was deleted while {self.path} was open, and with it the locks between processes; do "
                "not delete it while the file is open"
            )

    def _roll_back(self, batch: Batch) -> None:
        with contextlib.suppress(sqlite3.Error):  # the transaction may have ended by itself
            if self._sql.in_transaction:
                self._sql.execute("ROLLBACK")
        batch.undo()
        self.catalog.rolled_back()
        self._unfinished |= batch.granted | batch.available

    def _failed(self, operations: list[Operation], error: Exception, *, in_doubt: bool) -> None:
        failure = explained(error, self.path, in_doubt=in_doubt)
        if is_fatal(error):
            self._die(operations, failure, damaged=is_damage(error))
        elif len(operations) == 1 or is_busy(error):
            for operation in operations:
                operation.fail(failure)
            self._unfinished = set()
        else:  # one of them may be the cause: run each in its own transaction
            for operation in operations:
                self._execute([operation])

    def _again_later(self, operation: Operation) -> None:
        """Let housekeeping repeat an end that failed."""
        self._later.append(operation)

    # -- the end -------------------------------------------------------------------------------------------------

    def _die(self, operations: list[Operation], error: BackendError, *, damaged: bool) -> None:
        """Close the file, which cannot be used any more, and report the links as lost."""
        self._stopping = True
        if self.death is not None:
            for operation in operations:
                operation.fail(self.death)
            return
        self.death, self.damaged = error, damaged
        _log.warning("the broker in %s is closed: %s", self.path, error)
        links = list(self.links)
        for link in links:
            link.abandon(str(error))
        for operation in operations:
            operation.fail(error)
        self._close()
        for link in links:
            link.tell(error)

    def _close(self) -> None:
        self._queue.close()
        self._written.close()
        with self._use, contextlib.suppress(sqlite3.Error):  # nothing more can be done
            self._sql.close()
        os.close(self._wal)
        self.presence.close()

    def _refusal(self) -> BackendError:
        return self.death or LinkLost(f"the connection to {self.path} was closed")


def _look(queues: Sequence[int]) -> Verb:
    """Dispatch these queues, in which another process made messages available."""

    def act(batch: Batch) -> None:
        batch.granted.update(queues)

    return Verb(act, failed=lambda error: _log.debug("nothing was claimed: %s", error))
