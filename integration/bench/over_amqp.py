"""What the comparisons over AMQP 1.0 have in common: rows, and the text of their pages."""

from integration.bench.rows import FAST, LONG, MIDDLE, OURS, SLOW, Row

__all__ = [
    "ASYNC",
    "BLOCKING",
    "CONTAINER",
    "CREDIT",
    "FAR",
    "FAR_CONTAINER",
    "LOADER",
    "PACKAGES",
    "QPID",
    "QPID_ASYNC",
    "ROWS",
    "SEND",
    "text",
]

_QPID = "qpid"
_FAR = "pipelined"

SEND = Row("jmsbridge, send()", "one at a time", OURS, "sync", SLOW)
BLOCKING = Row("proton BlockingSender", "one at a time", "proton_blocking", "send", SLOW)
ASYNC = Row("jmsbridge, completion listener", "window of 1000", OURS, "async", LONG)
CONTAINER = Row("proton Container", "window of 1000", "proton_container", "send", FAST)
QPID_ASYNC = Row("Qpid JMS, completion listener", "window of 1000", "java", "async", LONG, client=_QPID)
FAR = Row("jmsbridge, window of 10,000", _FAR, OURS, "async", LONG, options="send_window=10000")
FAR_CONTAINER = Row("proton Container, window of 1000", _FAR, "proton_container", "send", FAST)
CREDIT = Row("prepared bytes, as fast as the broker gives credit", _FAR, "amqp_credit", "send", LONG)
LOADER = Row("what is received", "load", OURS, "async", FAST)
ROWS = (
    SEND,
    BLOCKING,
    Row("Qpid JMS, send()", "one at a time", "java", "sync", SLOW, client=_QPID),
    ASYNC,
    CONTAINER,
    QPID_ASYNC,
    Row("jmsbridge, transactions", "transactions of 100", OURS, "transacted", FAST),
    Row("Qpid JMS, transactions", "transactions of 100", "java", "transacted", FAST, client=_QPID),
    Row("jmsbridge, listener AUTO", "receive", OURS, "auto", FAST),
    Row("jmsbridge, listener DUPS_OK", "receive", OURS, "dups_ok", FAST),
    Row("proton BlockingReceiver", "receive", "proton_blocking", "receive", MIDDLE),
    Row("proton Container, each accepted", "receive", "proton_container", "receive", FAST),
    Row("Qpid JMS, listener AUTO", "receive", "java", "auto", FAST, client=_QPID),
    Row("Qpid JMS, listener DUPS_OK", "receive", "java", "dups_ok", FAST, client=_QPID),
)

PACKAGES = ("python-qpid-proton",)
QPID = "Qpid JMS 2.10.0"

_TEXT = """# Performance over AMQP 1.0, {where}

{{made}}

256 bytes of text with five properties, persistent. The clients run on the same machine as {{broker}}{how}. Each client
is a separate process. All are measured in turn, every time in another order, a quarter of a window each (whole windows
through the proxy), after one window that warms up, so that the load of the machine affects all of them: medians of
{{windows}} windows. A ratio is the median of the ratios within the same turn; where it says "its best window", it is
that of our median to that window of the peer. A message is created for each send, and a receiver reads its text and one
property. CPU is that of the client, all threads. Within a group all give the same guarantee.

Clients: {{clients}}.

## Required ratios

{{bars}}
{{groups}}"""


def text(where: str, how: str = "") -> str:
    """The page of a comparison, with places for its figures; ``where`` and ``how`` it was measured."""
    return _TEXT.format(where=where, how=how)
