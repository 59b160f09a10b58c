"""What the comparisons over STOMP have in common: rows, ratios, and the text of their pages."""

from integration.bench.rows import FAST, LONG, MIDDLE, OURS, SLOW, Cost, Rate, Row

__all__ = [
    "ASYNC",
    "COSTS",
    "FAR",
    "GROUP",
    "LARGE",
    "LARGE_GROUP",
    "LOADER",
    "PACKAGES",
    "PEER_LARGE",
    "PIPELINED",
    "RATES",
    "ROWS",
    "peers",
    "text",
]

_STOMP = "stomp"
_PEER = "stomp_py"
PACKAGES = ("stomp.py",)


def _ours(name: str, group: str, role: str, count: int, options: str = "") -> Row:
    return Row(name, group, OURS, role, count, scheme=_STOMP, options=options)


def _peer(name: str, group: str, role: str, count: int) -> Row:
    return Row(name, group, _PEER, role, count, scheme=_STOMP)


_SEND = _ours("jmsbridge, send()", "one at a time", "sync", SLOW)
_EACH = _peer("stomp.py, a receipt each", "one at a time", "each", SLOW)
ASYNC = _ours("jmsbridge, completion listener", "window of 1000", "async", FAST)
PIPELINED = _peer("stomp.py, receipts under way", "window of 1000", "window", FAST)
GROUP = _ours("jmsbridge, confirmed in groups", "window of 1000", "async", LONG, "send_confirmation=group")
_PLAIN = _peer("stomp.py, without receipts", "not confirmed", "plain", LONG)
LARGE = _ours("jmsbridge, 4 KiB of bytes", "4 KiB, window of 1000", "large", MIDDLE)
LARGE_GROUP = _ours(
    "jmsbridge, 4 KiB of bytes in groups", "4 KiB, window of 1000", "large", MIDDLE, "send_confirmation=group"
)
PEER_LARGE = _peer("stomp.py, 4 KiB of text", "4 KiB, window of 1000", "large", MIDDLE)
_AUTO = _ours("jmsbridge, listener AUTO", "receive", "auto", FAST)
_DUPS = _ours("jmsbridge, listener DUPS_OK", "receive", "dups_ok", FAST)
_RECEIVE = _peer("stomp.py, each acknowledged", "receive", "receive", FAST)
LOADER = _ours("what is received", "load", "async", FAST)
FAR = _ours("jmsbridge, window of 10,000", "pipelined", "async", LONG, "send_window=10000")
ROWS = (
    *(_SEND, _EACH, ASYNC, PIPELINED, GROUP, _PLAIN, LARGE, LARGE_GROUP, PEER_LARGE),
    _ours("jmsbridge, transactions", "transactions of 100", "transacted", FAST),
    _peer("stomp.py, transactions", "transactions of 100", "transacted", MIDDLE),
    *(_AUTO, _DUPS, _RECEIVE),
)


def peers(title: str, client: str) -> tuple[Row, ...]:
    """The rows of a Java client."""
    return (
        Row(f"{title}, send()", "one at a time", "java", "sync", SLOW, (), client, "tcp"),
        Row(f"{title}, asynchronous", "window of 1000", "java", "async", LONG, (), client, "tcp"),
        Row(f"{title}, listener AUTO", "receive", "java", "auto", FAST, (), client, "tcp"),
    )


RATES = (
    Rate(GROUP.name, _EACH.name, 3.5),
    Rate(GROUP.name, _PLAIN.name, 0.5),
    Rate(_AUTO.name, _RECEIVE.name, 1.2),
    Rate(_DUPS.name, _RECEIVE.name, 1.3),
)
COSTS = (Cost(_AUTO.name, _RECEIVE.name, 0.55),)

_TEXT = """# Performance over STOMP, {where}

{{made}}

256 bytes of text with five properties, persistent, unless a row says otherwise. The clients run on the same machine as
{{broker}}{how}. Each client is a separate process. All are measured in turn, every time in another order, a quarter of
a window each (whole windows through the proxy), after one window that warms up, so that the load of the machine affects
all of them: medians of {{windows}} windows. A ratio is the median of the ratios within the same turn. A message is
created for each send, and a receiver reads its text and one property. CPU is that of the client, all threads. Within a
group all give the same guarantee; "not confirmed" waits only for the receipt of the last message.

Clients: {{clients}}.

## Required ratios

{{bars}}
{{groups}}{limits}"""


def text(where: str, how: str, limits: str = "") -> str:
    """The page of a comparison, with places for its figures: ``where`` and ``how`` it was measured, what limits it."""
    return _TEXT.format(where=where, how=how, limits=limits)
