"""A log that goes on with another broker says so, once, and without secrets."""

import logging
from pathlib import Path

import pytest

from jmsbridge.spark.origin import note_brokers


def warnings(folder: Path, url: str, caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.clear()
    with caplog.at_level(logging.WARNING, "jmsbridge.spark"):
        note_brokers(folder, url)
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    "url", ["amqp://b:1", "amqp://c,amqp://a", "amqp://you:word@a?prefetch=7", "amqp://a,amqp://b:1"]
)
def test_one_address_in_common_is_the_same_broker(url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert not warnings(tmp_path, "amqp://me:secret@a,amqp://b:1", caplog)
    assert not warnings(tmp_path, url, caplog)


def test_another_address_is_named_once_with_the_one_before(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    warnings(tmp_path, "amqp://me:secret@a", caplog)
    (said,) = warnings(tmp_path, "amqp://me:secret@c,amqp://d", caplog)
    assert "was of amqp://a, and goes on with amqp://c, amqp://d. If" in said
    assert not warnings(tmp_path, "amqp://me:secret@c,amqp://d", caplog)


@pytest.mark.parametrize("damage", [b"", b"[1", b"{}"])
def test_a_damaged_note_is_written_anew(damage: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "brokers").write_bytes(damage)
    assert not warnings(tmp_path, "amqp://a", caplog)
    assert len(warnings(tmp_path, "amqp://b", caplog)) == 1
