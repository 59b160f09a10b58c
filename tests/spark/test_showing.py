"""A batch read on the embedded file broker and on one without browsers, without Spark."""

from pathlib import Path

import pytest

import jmsbridge
from jmsbridge.errors import UnsupportedFeature
from jmsbridge.spark import showing
from jmsbridge.spark.options import browse_options
from jmsbridge.spi import Native
from jmsbridge.testing.scripted import ScriptedBackend

QUEUE = jmsbridge.Queue("orders")
COLUMNS = ["offset", "body", "properties"]


def test_a_batch_read_shows_the_queue_in_order_and_takes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showing, "_ROWS", 7)
    url = f"embedded:{tmp_path / 'broker.db'}"
    with jmsbridge.connect(url) as connection:
        session = connection.create_session()
        producer = session.create_producer(QUEUE)
        for number in range(20):
            message = session.create_text_message(f"body {number}")
            message.set_int_property("n", number)
            producer.send(message)
        options = browse_options({"url": url, "queue": " orders ", "selector": "n >= 2", "bodyFormat": "text"})
        for _ in range(2):
            rows = [row for batch in showing.shown(options, COLUMNS) for row in batch.to_pylist()]
            assert [row["offset"] for row in rows] == list(range(18))
            assert [row["body"] for row in rows] == [f"body {number}" for number in range(2, 20)]
            assert rows[0]["properties"] == [("n", "2")]
        assert connection.admin.depth(QUEUE) == 20


def test_a_broker_that_cannot_show_a_queue_is_refused() -> None:
    backend = ScriptedBackend()
    backend.lower(Native.BROWSE)
    with backend.installed(), pytest.raises(UnsupportedFeature, match=r"scripted:.*cannot show.*readStream"):
        next(showing.shown(browse_options({"url": "scripted://host", "queue": "orders"}), COLUMNS))
