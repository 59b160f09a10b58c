"""The same application with FastStream and with jmsbridge: both answer the same plain message."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pika
import pytest

from integration.lab.broker import Broker
from jmsbridge.testing.suite.support import eventually

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "examples" / "from_faststream"
_PLAIN = pika.BasicProperties(content_type="application/json", delivery_mode=2)

needs_faststream = pytest.mark.skipif(
    importlib.util.find_spec("faststream") is None, reason="FastStream is not installed: pip install 'jmsbridge[bench]'"
)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["faststream", "run", "with_faststream:app"], marks=needs_faststream),
        ["jmsbridge", "run", "with_jmsbridge:app"],
    ],
    ids=lambda command: command[0],
)
def test_an_order_gets_its_receipt(broker: Broker, command: list[str]) -> None:
    paths = os.pathsep.join(map(str, (HERE, ROOT, ROOT / "backends")))
    plain = broker.url().replace("rabbitmq:", "amqp:", 1)
    environment = {**os.environ, "PYTHONPATH": paths, "JMSBRIDGE_URL": broker.url(), "RABBITMQ_URL": plain}
    connection = pika.BlockingConnection(pika.URLParameters(plain))
    channel = connection.channel()
    found: list[object] = []

    def answered() -> bool:
        _, _, body = channel.basic_get("receipts", auto_ack=True)
        if body is not None:
            found.append(json.loads(body))
        return bool(found)

    for queue in ("orders", "receipts"):
        channel.queue_declare(queue, durable=True)
        channel.queue_purge(queue)
    with subprocess.Popen([sys.executable, "-m", *command], cwd=HERE, env=environment) as process:
        try:
            channel.basic_publish("", "orders", json.dumps({"number": 7, "article": "pen"}).encode(), _PLAIN)
            eventually(answered, 30.0)
        finally:
            process.terminate()
            process.wait(30)
    assert found == [{"number": 7}]
    for queue in ("orders", "receipts"):
        channel.queue_delete(queue)
    connection.close()


def test_ours_is_no_longer() -> None:
    ours, other = (
        sum(bool(line.strip()) for line in (HERE / f"with_{name}.py").read_text(encoding="utf-8").splitlines())
        for name in ("jmsbridge", "faststream")
    )
    assert ours <= other
