"""Messages that other programs have encrypted: jmsbridge has no keys, and shows them as they are."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from integration.lab.broker import Broker
from integration.networked.conftest import name
from integration.networked.connecting import connect
from integration.pulsar.test_faults import raw_client, url_of
from jmsbridge import BytesMessage, Connection, Queue
from jmsbridge.testing.suite.support import send_texts, text_of

__all__ = ["connect", "name"]

pytestmark = pytest.mark.timeout(120)

FAULT = "JMS_jmsbridge_fault"


def _send_encrypted(pulsar: Broker, queue: str, count: int, folder: Path, *, batched: bool) -> None:
    import _pulsar

    private, public = str(folder / "private.pem"), str(folder / "public.pem")
    for command in (["genrsa", "-out", private, "2048"], ["rsa", "-in", private, "-pubout", "-out", public]):
        subprocess.run(["openssl", *command], check=True, capture_output=True, timeout=60)
    settings: Any = _pulsar.ProducerConfiguration()
    settings.batching_enabled(batched)
    settings.encryption_key("key")
    settings.crypto_key_reader(_pulsar.CryptoKeyReader(public, private))
    client = raw_client(pulsar)
    producer = client.create_producer(f"persistent://public/default/{queue}", settings)
    for _ in range(count):
        builder = _pulsar.MessageBuilder()
        builder.content(b"secret")
        producer.send_async(builder.build(), lambda *_: None)
    producer.flush()
    client.close()


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("prefetch", ["1", "250"])
def test_they_stop_no_consumer(
    pulsar: Broker, connect: Callable[..., Connection], name: str, tmp_path: Path, batched: bool, prefetch: str
) -> None:
    """The library would drop them and their credit, and what is behind them would never come."""
    queue = Queue(name)
    session = connect(url_of(pulsar, prefetch=prefetch)).create_session()
    with session.create_consumer(queue) as consumer:
        send_texts(session, queue, "before")
        assert text_of(consumer.receive(timeout=10)) == "before"
        _send_encrypted(pulsar, name, 300, tmp_path, batched=batched)
        send_texts(session, queue, "behind")
        faults = []
        while isinstance(received := consumer.receive(timeout=10), BytesMessage):
            faults.append(received.get_string_property(FAULT))
        assert text_of(received) == "behind"
    assert faults
    assert all(fault is not None and fault.startswith("encrypted") for fault in faults)
    assert len(faults) == 300 or batched
