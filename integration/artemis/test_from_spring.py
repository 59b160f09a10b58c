"""Each Spring program and its twin in Python take each other's place on a real broker."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import jmsbridge
from integration.lab.broker import Broker
from integration.lab.fetching.java import java
from integration.lab.fetching.programs import class_path
from integration.lab.table import HOST, PASSWORD, USER

pytestmark = [pytest.mark.broker("artemis"), pytest.mark.server]
ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "examples" / "from_spring"
PAIRS = ["listener", "sender", "quotes", "customer", "checks"]
_PATIENCE = 60.0  # seconds

Command = tuple[list[str], dict[str, str]]
"""A command and its environment."""


def in_java(name: str, broker: Broker) -> Command:
    sources = {path.name: path.read_text(encoding="utf-8") for path in sorted((HERE / "java").glob("*.java"))}
    classes = class_path("from-spring", HERE / "java" / "pom.xml", sources)
    settings = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    url = f"amqp://{HOST}:{broker.ports['amqp']}"
    return [java(), *settings, "-cp", classes, name.capitalize()], {"URL": url, "USER_NAME": USER, "PASSWORD": PASSWORD}


def in_python(name: str, broker: Broker) -> Command:
    serves = "app.listener" in (HERE / f"{name}.py").read_text(encoding="utf-8")
    command = ["-m", "jmsbridge", "run", f"{name}:app"] if serves else [f"{name}.py"]
    paths = os.pathsep.join(map(str, (HERE, ROOT, ROOT / "backends")))
    return [sys.executable, *command], {"JMSBRIDGE_URL": broker.url("amqp"), "PYTHONPATH": paths}


Language = Callable[[str, Broker], Command]
BOTH = pytest.mark.parametrize(
    ("server", "client"), [(in_java, in_python), (in_python, in_java)], ids=["java-serves", "python-serves"]
)


@contextmanager
def started(command: Command) -> Iterator["subprocess.Popen[str]"]:
    words, environment = command
    with subprocess.Popen(
        words, cwd=HERE, env={**os.environ, **environment}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.communicate(timeout=_PATIENCE)
            finally:
                process.kill()


def run(command: Command) -> str:
    with started(command) as process:
        out, _ = process.communicate(timeout=_PATIENCE)
        assert process.returncode == 0, out
        return out


def lines(process: "subprocess.Popen[str]", prefix: str, count: int) -> list[str]:
    """The first lines that begin so."""
    assert process.stdout is not None
    found: list[str] = []
    late = threading.Timer(_PATIENCE, process.terminate)
    late.start()
    for line in process.stdout:
        found += [line.strip()] if line.startswith(prefix) else []
        if len(found) == count:
            late.cancel()
            return found
    raise AssertionError(f"the program ended after {found}")


@BOTH
def test_orders_are_sent_and_heard(artemis: Broker, server: Language, client: Language) -> None:
    with started(server("listener", artemis)) as listening:
        run(client("sender", artemis))
        assert sorted(lines(listening, "order", 2)) == ["order 1: pen", "order 2: paper"]


@BOTH
def test_a_customer_gets_a_quote(artemis: Broker, server: Language, client: Language) -> None:
    with started(server("quotes", artemis)):
        assert "quote 3: 4.5" in run(client("customer", artemis))


@pytest.mark.parametrize("language", [in_java, in_python])
def test_orders_are_checked(artemis: Broker, language: Language) -> None:
    with started(language("checks", artemis)), jmsbridge.context(artemis.url("amqp")) as context:
        orders = context.create_consumer(context.create_queue("orders"))
        producer = context.create_producer().set_property("region", "north").set_property("_type", "Order")
        for text in ('{"number":4,"article":""}', '{"number":5,"article":"glue"}'):
            producer.send(context.create_queue("unchecked"), text)
        checked = orders.receive(timeout=_PATIENCE)
        assert isinstance(checked, jmsbridge.TextMessage)
        assert checked.text is not None
        assert '"glue"' in checked.text
        assert checked.get_string_property("_type") == "Order"
        deadline = time.monotonic() + _PATIENCE
        dead = context.create_consumer(context.create_queue("DLQ"), "region = 'north'")
        left = dead.receive(timeout=deadline - time.monotonic())
        assert isinstance(left, jmsbridge.TextMessage)
        assert left.text == '{"number":4,"article":""}'


@pytest.mark.parametrize("name", PAIRS)
def test_python_is_shorter(name: str) -> None:
    """In lines that are not blank, and with the set-up that all programs share."""
    assert length(HERE / f"{name}.py") < length(HERE / "java" / f"{name.capitalize()}.java")
    assert length(HERE / "shop.py") < length(HERE / "java" / "Shop.java")


def length(path: Path) -> int:
    return sum(bool(line.strip()) for line in path.read_text(encoding="utf-8").splitlines())
