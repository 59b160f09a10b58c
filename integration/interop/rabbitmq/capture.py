"""Writes ``tests/rabbitmq/messages/golden``: what RabbitMQ's Java client puts on the wire, byte by byte.

``python -m integration.interop.rabbitmq.capture``; needed again only for a new version of that client.
"""

import json
from pathlib import Path
from typing import Any

import pika
from pika import spec

from integration.interop.matrix import MATRIX
from integration.interop.program import build
from integration.interop.rows import ROWS, Row
from integration.interop.way import Way
from integration.lab.broker import Broker
from integration.lab.starting import start

__all__ = ["main"]

_GOLDEN = Path(__file__).resolve().parents[3] / "tests" / "rabbitmq" / "messages" / "golden"

_NOT_IN_THEM = ("correlation_bytes", "delivery_time", "destination")
"""What is told of each that is not in its bytes."""


class _Kept(spec.BasicProperties):  # type: ignore[misc]  # pika has no types
    """Properties that also keep the bytes that they were made from."""

    raw = b""

    def decode(self, encoded: bytes, offset: int = 0) -> spec.BasicProperties:
        self.raw = encoded[offset:]
        read: spec.BasicProperties = super().decode(encoded, offset)
        return read


def main() -> None:
    """Send the matrix in both dialects to a broker of our own, and write down what arrives."""
    spec.props[spec.BasicProperties.INDEX] = _Kept  # this process does nothing else with pika
    with start("rabbitmq") as broker:
        connection = pika.BlockingConnection(pika.URLParameters(f"{broker.url('amqp')}/%2F"))
        for name, file in (("rabbitmq-jms", "jms"), ("rabbitmq-amqp", "amqp")):
            row = next(row for row in ROWS if row.name == name)
            lines = list(map(json.dumps, _captured(row, broker, connection.channel(), file)))
            (_GOLDEN / f"{file}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        connection.close()


def _captured(row: Row, broker: Broker, channel: Any, queue: str) -> list[dict[str, Any]]:
    unsent = {refusal.sample for refusal in row.refusals}
    samples = [sample for sample in MATRIX if sample.name not in unsent]
    channel.queue_declare(queue, durable=True)
    told = Way(row, broker, build(row.client.folder)).java("write", messages=[each.told(queue) for each in samples])
    found = []
    for sent in told:
        _, properties, body = channel.basic_get(queue, auto_ack=True)
        for field in _NOT_IN_THEM:
            del sent[field]
        found.append({"sent": sent, "properties": properties.raw.hex(), "body": body.hex()})
    return found


if __name__ == "__main__":
    main()
