"""How the peer answers: the events of one connection, by the script."""

from typing import TYPE_CHECKING, Any

import proton

from tests.amqp.peer.link import PeerLink, condition_of
from tests.amqp.peer.records import Sent, Settled
from tests.amqp.peer.script import Condition, Outcome

if TYPE_CHECKING:
    from tests.amqp.peer.connection import PeerConnection

__all__ = ["Answering"]

_DECLARE, _DISCHARGE, _DECLARED, _TRANSACTIONAL = 0x31, 0x32, 0x33, 0x34
_STATES = {"received": 0x23, "accepted": 0x24, "rejected": 0x25, "released": 0x26, "modified": 0x27, "none": 0}


class Answering:
    """For the peer's thread."""

    def __init__(self, connection: "PeerConnection") -> None:
        self._connection = connection
        self._records = connection.peer.records
        self._script = connection.script
        self._transactions: dict[bytes, list[bytes]] = {}
        self._declared = 0

    def on(self, event: Any) -> None:
        """One event of proton's engine."""
        handler = getattr(self, f"_{event.type.name.lower().removeprefix('pn_')}", None)
        if handler is not None:
            handler(event)

    # -- connection and sessions

    def _connection_remote_open(self, event: Any) -> None:
        engine, script = self._connection.engine, self._script
        self._records.event("open", (engine.remote_container, engine.remote_hostname))
        if script.connection == "ignore":
            return
        engine.container = "peer"
        engine.offered_capabilities = proton.SymbolList(script.offered)
        if isinstance(script.connection, Condition):
            self._connection.refuse(script.connection)
        else:
            engine.properties = proton.PropertyDict(dict(script.properties))
            engine.open()

    def _connection_remote_close(self, event: Any) -> None:
        self._records.event("close", self._connection.engine.remote_condition)
        if self._script.answers_close:
            self._connection.engine.close()

    def _transport_closed(self, event: Any) -> None:
        self._connection.flush()
        self._records.event("transport closed", str(self._connection.transport.condition))
        self._connection.cut()

    def _session_remote_open(self, event: Any) -> None:
        session, answer = event.session, self._script.session
        self._records.event("begin")
        if answer == "ignore":
            return
        session.open()
        if isinstance(answer, Condition):
            session.condition = condition_of(answer)
            session.close()

    def _session_remote_close(self, event: Any) -> None:
        self._records.event("end")
        if self._script.answers_end:
            event.session.close()

    # -- links

    def _link_remote_open(self, event: Any) -> None:
        made = event.link
        there = made.remote_source if made.is_receiver is False else made.remote_target
        link = PeerLink(
            self._connection,
            made,
            made.name,
            made.is_sender,
            there.address,
            made.is_receiver and made.remote_target.type == proton.Terminus.COORDINATOR,
            _symbols(there.capabilities),
        )
        self._connection.remember(link)
        answer = self._script.attach(link)
        if answer == "ignore":
            pass
        elif isinstance(answer, Condition):
            self._refuse(link, answer)
        elif answer == "end session":
            link.end_session(Condition("amqp:not-implemented"))
        elif answer == "close connection":
            self._connection.close(Condition("amqp:internal-error"))
        else:
            self._attach(link)
            if answer == "detach at once":
                link.close(Condition("amqp:link:detach-forced"))
        self._records.event("attach", link)

    def _refuse(self, link: PeerLink, condition: Condition) -> None:
        """As AMQP wants it: an attach without a terminus, then the reason."""
        made = link.proton
        link.refused = True
        if link.receives:
            made.target.copy(made.remote_target)
            made.source.type = proton.Terminus.UNSPECIFIED
        else:
            made.source.copy(made.remote_source)
            made.target.type = proton.Terminus.UNSPECIFIED
        made.open()
        made.condition = condition_of(condition)
        made.close()

    def _attach(self, link: PeerLink) -> None:
        made, script = link.proton, self._script
        made.source.copy(made.remote_source)
        made.target.copy(made.remote_target)
        if link.receives and made.remote_source.type == proton.Terminus.UNSPECIFIED:
            made.source.type = proton.Terminus.SOURCE  # the look-up of a subscription
            made.source.address = "found"
        if not script.echoes_filters:
            made.source.filter.clear()
        if made.remote_target.dynamic:
            made.target.address = f"temporary-{made.name}"
        if not script.browses:
            made.source.distribution_mode = proton.Terminus.DIST_MODE_MOVE
        if link.receives and script.source_capabilities:
            _say(made.source, script.source_capabilities)
        if link.coordinator:
            made.target.type = proton.Terminus.COORDINATOR
            _say(made.target, script.coordinator_capabilities)
        if script.max_message_size:
            made.max_message_size = script.max_message_size
        made.snd_settle_mode = made.remote_snd_settle_mode
        made.rcv_settle_mode = made.remote_rcv_settle_mode
        made.open()
        if not link.receives:
            made.flow(script.coordinator_credit if link.coordinator else script.credit)

    def _link_remote_close(self, event: Any) -> None:
        self._records.event("link close", event.link.name)
        if self._script.answers_detach:
            event.link.close()

    def _link_remote_detach(self, event: Any) -> None:
        self._records.event("link detach", event.link.name)
        if self._script.answers_detach:
            event.link.detach()

    def _link_flow(self, event: Any) -> None:
        link = self._connection.find(event.link)
        if link is None or not link.receives or link.refused:
            return
        self._records.event("flow", (link.address, link.proton.credit, link.proton.drain_mode))
        self._connection.serve(link)
        if link.proton.drain_mode and link.proton.credit:
            if self._script.drains and not link.has_begun:
                link.proton.drained()
            else:
                self._records.event("drain", link)

    # -- deliveries

    def _delivery(self, event: Any) -> None:
        delivery = event.delivery
        link = self._connection.find(delivery.link)
        if link is None:
            return
        if link.receives:
            if delivery.updated:
                self._settled(delivery)
        elif delivery.readable and not delivery.partial:
            self._arrived(link, delivery)

    def _settled(self, delivery: Any) -> None:
        remote, state = delivery.remote, int(delivery.remote_state or 0)
        txn = None
        if state == _TRANSACTIONAL:
            fields = list(remote.data)
            txn = bytes(fields[0])
            state = int(fields[1].descriptor) if len(fields) > 1 and fields[1] is not None else 0
        failed, undeliverable = bool(remote.failed), bool(remote.undeliverable)
        seen = Settled(delivery.context, state, failed, undeliverable, txn, delivery.settled)
        self._records.note(lambda: self._records.settled.append(seen))
        if delivery.settled:
            delivery.settle()

    def _arrived(self, link: PeerLink, delivery: Any) -> None:
        data = bytes(link.proton.recv(delivery.pending) or b"")
        link.proton.advance()
        if link.coordinator:
            self._coordinate(link, delivery, data)
            return
        script = self._script
        if script.credit and link.proton.credit <= script.credit // 2:
            link.proton.flow(script.credit - link.proton.credit)
        txn = None
        if int(delivery.remote_state or 0) == _TRANSACTIONAL:
            txn = bytes(next(iter(delivery.remote.data)))
        peer = self._connection.peer

        def answer(outcome: Outcome) -> None:
            peer.do(lambda: self._answer(delivery, data, txn, outcome))

        sent = Sent(data, link.address, delivery.settled, txn, answer)
        chosen = script.outcome(sent)
        self._records.note(lambda: self._records.sent.append(sent))
        if chosen == "die":
            self._connection.cut()
        elif isinstance(chosen, Outcome):
            self._answer(delivery, data, txn, chosen)

    def _answer(self, delivery: Any, data: bytes, txn: bytes | None, outcome: Outcome) -> None:
        if outcome.state == "accepted":
            if txn is None:
                self._records.note(lambda: self._records.accepted.append(data))
            else:
                self._transactions.get(txn, []).append(data)
        state = _STATES[outcome.state]
        if outcome.condition is not None:
            delivery.local.condition = condition_of(outcome.condition)
        if txn is not None and state:
            delivery.local.data = [txn, proton.Described(proton.ulong(state), [])]
            state = _TRANSACTIONAL
        if state:
            delivery.update(state)
        if outcome.settled:
            delivery.settle()
        self._connection.flush()

    # -- transactions

    def _coordinate(self, link: PeerLink, delivery: Any, data: bytes) -> None:
        read = proton.Data()
        read.decode(data)
        read.rewind()
        read.next()
        request = read.get_object().value  # out of the amqp-value section
        if int(request.descriptor) == _DECLARE:
            self._declare(delivery)
        else:
            txn, fail = bytes(request.value[0]), bool(request.value[1])
            self._discharge(link, delivery, txn, fail)

    def _declare(self, delivery: Any) -> None:
        answer = self._script.declare()
        self._records.event("declare", answer)
        if answer == "die":
            self._connection.cut()
        elif isinstance(answer, Condition):
            delivery.local.condition = condition_of(answer)
            delivery.update(_STATES["rejected"])
            delivery.settle()
        elif answer == "declare":
            self._declared += 1
            txn = f"txn-{self._declared}".encode()
            self._transactions[txn] = []
            delivery.local.data = [txn]
            delivery.update(_DECLARED)
            delivery.settle()

    def _discharge(self, link: PeerLink, delivery: Any, txn: bytes, fail: bool) -> None:
        answer = self._script.discharge(txn, fail)
        held = self._transactions.pop(txn, [])
        refused = isinstance(answer, Outcome) and answer.state != "accepted"
        if not fail and not refused:
            self._records.note(lambda: self._records.accepted.extend(held))
        self._records.event("discharge", (txn, fail))
        if answer == "die":
            self._connection.cut()
        elif answer == "detach":
            link.close(Condition("amqp:internal-error"))
        elif answer == "end session":
            link.end_session(Condition("amqp:internal-error"))
        elif isinstance(answer, Outcome):
            if answer.condition is not None:
                delivery.local.condition = condition_of(answer.condition)
            if answer.state != "none":
                delivery.update(_STATES[answer.state])
            if answer.settled:
                delivery.settle()


def _array(names: tuple[str, ...]) -> Any:
    return proton.Array(proton.UNDESCRIBED, proton.Data.SYMBOL, *(proton.symbol(name) for name in names))


def _say(terminus: Any, capabilities: tuple[str, ...]) -> None:
    terminus.capabilities.clear()
    terminus.capabilities.put_object(_array(capabilities))


def _symbols(data: Any) -> tuple[str, ...]:
    data.rewind()
    if not data.next():
        return ()
    found = data.get_object()
    return tuple(map(str, getattr(found, "elements", [found])))
