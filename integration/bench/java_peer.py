"""RabbitMQ's own JMS client as a peer: its jars by Maven, compiled here."""

from pathlib import Path

from integration.interop import program

__all__ = ["class_path"]

_HERE = Path(__file__).with_name("java")


def class_path() -> str:
    """What ``java -cp`` needs to run the peer; BrokerUnavailable says what is missing."""
    peer = _HERE / "src" / "Peer.java"
    return program.class_path("bench", _HERE / "pom.xml", {peer.name: peer.read_text(encoding="utf-8")})
