"""A peer with a script, and links of the backend to it."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # the modules need proton: without it every test of this folder is skipped
    from tests.amqp.faults.support import Opened
    from tests.amqp.peer.script import Script
    from tests.amqp.peer.server import Peer


@pytest.fixture
def start_peer() -> Iterator[Callable[..., "Peer"]]:
    """Starts a peer that is Artemis by its own account, or what the fields of the script say."""
    from tests.amqp.faults.support import ARTEMIS
    from tests.amqp.peer.script import Script
    from tests.amqp.peer.server import Peer

    made: list[Peer] = []

    def start(**script: Any) -> Peer:
        made.append(Peer(Script(**{"properties": ARTEMIS} | script)))
        return made[-1]

    yield start
    for peer in made:
        peer.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test runs with both ways to call proton; most of them with the second only among the long tests."""
    if "calls" in metafunc.fixturenames:
        marks = () if metafunc.module.__name__.endswith(("test_receiving", "test_transactions")) else pytest.mark.long
        metafunc.parametrize("calls", ["fast", pytest.param("public", marks=marks)], indirect=True)


@pytest.fixture
def calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How proton is called: by its C functions, and by its public classes, as with other versions of proton."""
    from jmsbridge_amqp.connection import driver, proton_calls

    made = proton_calls.FastCalls if request.param == "fast" else proton_calls.PublicCalls
    monkeypatch.setattr(driver, "best_calls", made)


@pytest.fixture
def open_link(start_peer: Callable[..., "Peer"], calls: None) -> Iterator[Callable[..., "Opened"]]:
    """Opens a link to a new peer, or to ``peer``."""
    from jmsbridge_amqp.backend import backend
    from tests.amqp.faults.support import Opened

    made: list[Opened] = []

    def open_link(script: "dict[str, Any] | None" = None, peer: "Peer | None" = None, **options: Any) -> Opened:
        made.append(Opened(peer or start_peer(**script or {}), backend, **options))
        return made[-1]

    yield open_link
    for opened in made:
        opened.link.close()


@pytest.fixture
def opened(open_link: Callable[..., "Opened"]) -> "Opened":
    """A link to a peer that behaves well until the test changes its script."""
    return open_link()


@pytest.fixture
def script(opened: "Opened") -> "Script":
    """Of that peer."""
    return opened.script


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> float:
    """Every deadline for an answer is this short."""
    import jmsbridge.transport.deliveries.copies
    import jmsbridge_amqp.channel
    import jmsbridge_amqp.receiving.subscription
    import jmsbridge_amqp.transactions.transaction
    from jmsbridge.transport.network.link_life import LinkLife

    seconds = 0.7
    monkeypatch.setitem(LinkLife.wait.__kwdefaults__, "patience", seconds)  # type: ignore[arg-type]
    for module in (
        jmsbridge_amqp.channel,
        jmsbridge_amqp.receiving.subscription,
        jmsbridge.transport.deliveries.copies,
        jmsbridge_amqp.transactions.transaction,
    ):
        monkeypatch.setattr(module, "DEADLINE", seconds)
    return seconds
