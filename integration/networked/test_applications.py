"""Applications of listeners on each networked backend: requests, dead letters with a reason, cuts, killed processes."""

import asyncio
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from integration.lab.broker import Broker
from integration.networked.schemes import Scheme
from jmsbridge import Connection, Queue, Session
from jmsbridge.app import App, JsonConverter
from jmsbridge.spi import DEAD_LETTER_ORIGIN, DEAD_LETTER_REASON
from jmsbridge.testing.proxy import FaultProxy
from tools.laws.source import ROOT

Connect = Callable[..., Connection]

pytestmark = pytest.mark.filterwarnings("ignore::jmsbridge.errors.EmulationWarning")


@dataclass
class Order:
    number: int


@dataclass
class Receipt:
    number: int


CONVERTER = JsonConverter({"Order": Order, "Receipt": Receipt})


def application(scheme: Scheme, url: str, name: str, on_order: Callable[[Order], None] = lambda order: None) -> App:
    options: dict[str, Any] = {"reconnect_delay": 0.05, **scheme.options}
    app = App(url, converter=CONVERTER, **options)

    @app.listener(name, concurrency=2, send_to=f"{name}.out", redelivery={"dead_letter_queue": f"{name}.dead"})
    def listener(order: Order) -> Receipt:
        on_order(order)
        return Receipt(order.number)

    return app


def send(session: Session, name: str, *numbers: int) -> None:
    producer = session.create_producer(Queue(name))
    for number in numbers:
        producer.send(CONVERTER.to_message(session, Order(number)))


def wait_receipts(session: Session, name: str, count: int, patience: float = 20.0) -> None:
    """Wait until each order has its receipt, for so many seconds each; what was in doubt may have two."""
    wanted, found = set(range(count)), set[int]()
    with session.create_consumer(Queue(f"{name}.out")) as consumer:
        while found != wanted:
            message = consumer.receive(timeout=patience)
            assert message is not None, found
            found.add(CONVERTER.from_message(message, Receipt).number)


def test_results_and_dead_letters(scheme: Scheme, broker: Broker, connect: Connect, name: str) -> None:
    session = connect(broker).create_session()
    with application(scheme, broker.url(scheme.plain), name):
        send(session, name, *range(10))
        bad = session.create_text_message('{"number":"no number"}')
        bad.set_string_property("_type", "Order")
        session.create_producer(Queue(name)).send(bad)
        wait_receipts(session, name, 10)
        dead = session.create_consumer(Queue(f"{name}.dead")).receive(timeout=20)
    assert dead is not None
    assert dead.get_body(str) == '{"number":"no number"}'
    assert "Expected `int`, got `str`" in (dead.get_string_property(DEAD_LETTER_REASON) or "")
    assert dead.get_string_property(DEAD_LETTER_ORIGIN) == f"queue:{name}"


def test_a_cut_connection_loses_nothing(scheme: Scheme, broker: Broker, connect: Connect, name: str) -> None:
    session = connect(broker).create_session()
    cut = threading.Event()
    with FaultProxy.to(broker.url(scheme.plain)) as proxy:

        def on_order(order: Order) -> None:
            if order.number == 3 and not cut.is_set():
                cut.set()
                proxy.cut()

        with application(scheme, proxy.through(broker.url(scheme.plain)), name, on_order):
            send(session, name, *range(8))
            wait_receipts(session, name, 8)
    assert cut.is_set()


def test_a_cut_connection_loses_nothing_of_what_is_handled_and_answered_in_the_loop(
    scheme: Scheme, broker: Broker, connect: Connect, name: str
) -> None:
    session = connect(broker).create_session()
    with FaultProxy.to(broker.url(scheme.plain)) as proxy:
        options: dict[str, Any] = {"reconnect_delay": 0.05, **scheme.options}
        app = App(proxy.through(broker.url(scheme.plain)), converter=CONVERTER, **options)
        cuts = [3, 20]

        @app.listener(name, concurrency=2, send_to=f"{name}.out", transacted=False)
        async def listener(order: Order) -> Receipt:
            if order.number in cuts:
                cuts.remove(order.number)
                if order.number == 3:
                    proxy.cut()
                else:
                    asyncio.get_running_loop().call_later(0.002, proxy.cut)
            await asyncio.sleep(0.001)
            return Receipt(order.number)

        with app:
            send(session, name, *range(50))
            wait_receipts(session, name, 50)
    assert not cuts


STARTING = 60.0
"""Seconds for a program to start: on a very busy machine it has taken more than 20."""

PROGRAM = """
    import os, signal, sys
    from integration.networked.schemes import SCHEMES
    from integration.networked.test_applications import application

    def on_order(order):
        if order.number == 2 and sys.argv[4] == "die":
            os.kill(os.getpid(), signal.SIGKILL)

    scheme = next(each for each in SCHEMES if each.name == sys.argv[1])
    sys.exit(application(scheme, sys.argv[2], sys.argv[3], on_order).run())
"""


def test_a_killed_process_loses_nothing_and_another_one_goes_on(
    scheme: Scheme, broker: Broker, connect: Connect, name: str, tmp_path: Path
) -> None:
    session = connect(broker).create_session()
    send(session, name, *range(4))

    def start(how: str) -> "subprocess.Popen[bytes]":
        program = textwrap.dedent(PROGRAM)
        path = f"{ROOT}{os.pathsep}{ROOT / 'backends'}"
        command = [sys.executable, "-c", program, scheme.name, broker.url(scheme.plain), name, how]
        return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, cwd=tmp_path)

    with start("die") as dying:
        assert dying.wait(STARTING) == -9
    living = start("live")
    try:
        wait_receipts(session, name, 4, STARTING)
        living.terminate()
        assert living.wait(30) == 0
    finally:
        living.kill()
        living.wait(10)
