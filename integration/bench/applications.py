"""What applications use, beside what it is built on and beside its peers: containers, template, asyncio."""

import msgspec

from integration.bench.clients.protocol import LARGE_PREFETCH
from integration.bench.rows import FAST, MIDDLE, OURS_APP, SLOW, Comparison, Rate, Row

__all__ = ["applications"]

_PEERS = "json_peers"
_PREFETCH = f"prefetch={LARGE_PREFETCH}"
_OURS = (
    Row("a producer by hand", "one at a time", OURS_APP, "producer", SLOW),
    Row("Template.send", "one at a time", OURS_APP, "template", SLOW),
    Row("Template.request, one after the other", "requests", OURS_APP, "ask_one", SLOW // 4),
    Row("Template.request_async, 1,000 at once", "requests", OURS_APP, "ask_many", SLOW * 2),
    Row("aio, sends gathered", "window of 1000", OURS_APP, "aio_send", FAST),
    Row("listener by hand", "receive", OURS_APP, "listener", FAST, options=_PREFETCH),
    Row("container, concurrency 1", "receive", OURS_APP, "container", FAST, options=_PREFETCH),
    Row("container, async listener", "receive", OURS_APP, "async_container", FAST, options=_PREFETCH),
    Row("aio, async for", "receive", OURS_APP, "aio_receive", FAST, options=_PREFETCH),
)
_OTHERS = (
    Row("aio-pika, gathered", "window of 1000", _PEERS, "send", MIDDLE),
    Row("aio-pika, iterator", "receive", _PEERS, "receive", MIDDLE),
    Row("FastStream, subscriber", "receive", _PEERS, "subscribe", SLOW),
)
_PLAIN = Row("what is received", "load", _PEERS, "send", FAST)  # FastStream reads no JSON in a message of JMS
_OWN = (
    Rate("container, concurrency 1", "listener by hand", 0.85),
    Rate("Template.send", "a producer by hand", 0.9),
    Rate("Template.request_async, 1,000 at once", "Template.request, one after the other", 5.0),
)
_BESIDE = (
    Rate("aio, sends gathered", "aio-pika, gathered", 3.0),
    Rate("aio, async for", "aio-pika, iterator", 3.0),
    Rate("aio, async for", "FastStream, subscriber", 8.0),
    Rate("container, async listener", "FastStream, subscriber", 4.0),
)
_TEXT = """# Performance of applications {where}

{{made}}

Objects of about 256 bytes as JSON, persistent, to or from a durable queue; {{broker}} on the same machine. Each program
is a process of its own. All are measured in turn, every time in another order, a quarter of a window each, after one
window that warms up, so that the load of the machine affects all of them: medians of {{windows}} windows. Ratios are
medians of the ratios within the same turn. Every client that receives has a prefetch of 1000. An object is converted
for each send and each receipt, by `JsonConverter` here, by `json` or pydantic in the peers. A listener connects in its
window. Another process answers the requests: an `async` listener with 32 consumers that acknowledges after its answer
was confirmed. CPU is that of the asking process.

Clients: {{clients}}.

## Required ratios

{{bars}}
{{groups}}"""


def applications(base: Comparison, name: str, where: str, *, peers: bool) -> Comparison:
    """The comparison on the broker of ``base``, with the peers that speak its protocol or without."""
    return msgspec.structs.replace(
        base,
        name=name,
        queue_types=base.queue_types[:1],
        rows=(*_OURS, *_OTHERS) if peers else _OURS,
        loader=_PLAIN if peers else Row("what is received", "load", OURS_APP, "load", FAST),
        rates=(*_OWN, *_BESIDE) if peers else _OWN,
        costs=(),
        delayed=(),
        page=f"performance-{name}.md",
        text=_TEXT.format(where=where),
        packages=("aio-pika", "faststream") if peers else (),
        java_clients="jmsbridge",
    )
