"""Objects as bytes, which is the default of Spring's converter, between listeners here and Spring, both ways; texts."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

import jmsbridge
from integration.interop.program import Program
from integration.lab.broker import Broker
from integration.lab.errors import BrokerUnavailable
from integration.lab.fetching.programs import class_path
from integration.lab.fixtures import unavailable
from jmsbridge import BytesMessage, Queue
from jmsbridge.app import App, JsonConverter
from tests.app.support import Heard

pytestmark = [
    pytest.mark.broker("artemis"),
    pytest.mark.server,
    pytest.mark.timeout(240),
    pytest.mark.filterwarnings("ignore::jmsbridge.errors.EmulationWarning"),
]

_FOLDER = Path(__file__).resolve().parent / "spring_bytes"
_LIBRARIES = Path(__file__).resolve().parents[2] / "examples" / "from_spring" / "java" / "pom.xml"


@dataclass
class Order:
    number: int
    article: str


@dataclass
class Receipt:
    number: int
    text: str


@pytest.fixture(scope="module")
def spring() -> Program:
    """The Spring program, beside its jars."""
    sources = {path.name: path.read_text(encoding="utf-8") for path in _FOLDER.glob("*.java")}
    try:
        return Program(class_path("spring-bytes", _LIBRARIES, sources), "Exchange")
    except BrokerUnavailable as error:
        unavailable(str(error))
        raise


@pytest.fixture
def name() -> str:
    """A new name."""
    return f"spring-bytes-{os.urandom(4).hex()}"


def address(broker: Broker) -> str:
    """The broker as Qpid JMS wants it."""
    where, _, _ = broker.url("amqp").partition("?")
    scheme, _, rest = where.partition("://")
    login, _, host = rest.rpartition("@")
    user, _, password = login.partition(":")
    return f"{scheme}://{host}?jms.username={user}&jms.password={password}"


def test_spring_asks_and_a_listener_answers(artemis: Broker, name: str, spring: Program) -> None:
    app = App(artemis.url("amqp"), converter=JsonConverter({"Order": Order, "Receipt": Receipt}, as_bytes=True))

    @app.listener(name)
    def on_order(order: Order) -> Receipt:
        return Receipt(order.number, f"thank you for {order.article}")

    with app, spring.start("ask", address(artemis), name) as asking:
        assert asking.rest() == [{"number": 7, "text": "thank you for a pen"}]


def test_python_asks_and_spring_answers(artemis: Broker, name: str, spring: Program) -> None:
    converter = JsonConverter({"Order": Order, "Receipt": Receipt}, as_bytes=True)
    with (
        spring.start("answer", address(artemis), name) as answering,
        jmsbridge.context(artemis.url("amqp")) as context,
    ):
        replies = context.create_temporary_queue()
        message = converter.to_message(context, Order(7, "a pen"))
        context.create_producer().set_jms_reply_to(replies).send(Queue(name), message)
        reply = context.create_consumer(replies).receive(timeout=60)
        assert reply is not None
        assert converter.from_message(reply, Receipt) == Receipt(7, "thank you for a pen")
        assert isinstance(reply, BytesMessage)
        assert answering.rest() == [True]


def test_a_text_that_spring_sends_as_json(artemis: Broker, name: str, spring: Program) -> None:
    app, heard = App(artemis.url("amqp"), converter=JsonConverter({"Order": Order})), Heard()

    @app.listener(name, redelivery={"dead_letter_queue": f"{name}.dead"})
    def on_text(text: str) -> None:
        heard.append(text)

    with app, spring.start("text", address(artemis), name) as sending:
        assert sending.rest() == [True]
        assert heard.wait(2) == ['a "pen"', 'a "pen"']
