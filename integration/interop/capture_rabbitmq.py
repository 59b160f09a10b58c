"""Writes ``tests/rabbitmq/messages/golden``: what RabbitMQ's Java client puts on the wire, byte by byte.

``python -m integration.interop.capture_rabbitmq``; needed again only for a new version of that client.
"""

import json
from pathlib import Path

import pika
from pika import spec

from integration.interop.program import build
from integration.lab.starting import start

__all__ = ["main"]

_GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "rabbitmq" / "messages" / "golden"


class _Kept(spec.BasicProperties):  # type: ignore[misc]  # pika has no types
    """Properties that also keep the bytes that they were made from."""

    raw = b""

    def decode(self, encoded: bytes, offset: int = 0) -> spec.BasicProperties:
        self.raw = encoded[offset:]
        read: spec.BasicProperties = super().decode(encoded, offset)
        return read


def main() -> None:
    """Send the matrix in both modes to a broker of our own, and write down what arrives."""
    spec.props[spec.BasicProperties.INDEX] = _Kept  # this process does nothing else with pika
    program = build("rabbitmq", "Interop")
    with start("rabbitmq") as broker:
        uri = broker.url("amqp")
        connection = pika.BlockingConnection(pika.URLParameters(f"{uri}/%2F"))
        channel = connection.channel()
        for mode in ("jms", "amqp"):
            channel.queue_declare(mode, durable=True)
            lines = []
            for sent in program.run(uri, mode, "emit", mode):
                _, properties, body = channel.basic_get(mode, auto_ack=True)
                lines.append(json.dumps({"sent": sent, "properties": properties.raw.hex(), "body": body.hex()}))
            (_GOLDEN / f"{mode}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        connection.close()


if __name__ == "__main__":
    main()
