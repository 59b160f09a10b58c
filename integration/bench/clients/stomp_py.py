"""stomp.py as it is shipped: sends without receipts, with one each, with many under way, in transactions; receives."""

import importlib
import os
import threading
from typing import Any
from urllib.parse import urlsplit

from integration.bench.clients.protocol import BODY, PREFETCH, WINDOW, Arguments, arguments, check, headers, serve

os.environ.setdefault("STOMP_SKIP_HOSTNAME_SCAN", "1")  # importing it asks the name server otherwise

__all__ = ["main"]

_stomp: Any = importlib.import_module("stomp")  # it has no types

_BATCH = 100
_PATIENCE = 60.0
_LARGE = "x" * 4096


class _Listener(_stomp.ConnectionListener):  # type: ignore[misc]
    """Counts receipts, and passes messages on."""

    def __init__(self) -> None:
        self.under_way = threading.Semaphore(WINDOW)
        self.wanted = ""
        self.done = threading.Event()
        self.error = ""
        self.got: Any = None

    def on_receipt(self, frame: Any) -> None:
        self.under_way.release()
        if frame.headers["receipt-id"] == self.wanted:
            self.done.set()

    def on_error(self, frame: Any) -> None:
        self.error = str(frame.headers)
        self.done.set()

    def on_message(self, frame: Any) -> None:
        self.got(frame)

    def wait(self) -> None:
        """Until the wanted receipt has come, or the last message."""
        if not self.done.wait(_PATIENCE) or self.error:
            raise RuntimeError(self.error or "no answer")
        self.done.clear()


class _Client:
    def __init__(self, wanted: Arguments) -> None:
        self.listener = _Listener()
        place = urlsplit(wanted.url)
        self.connection = _stomp.Connection12([(place.hostname, place.port)], auto_content_length=False)
        self.connection.set_listener("bench", self.listener)
        self.connection.connect(place.username, place.password, wait=True)
        self._destination = f"/queue/{wanted.queue}"
        self._properties = {**headers("9.75"), "rush": "true", "persistent": "true"}
        self._number = 0

    def _receipt(self) -> str:
        self._number += 1
        return str(self._number)

    def _send(self, body: str = BODY, **more: str) -> None:
        self.connection.send(self._destination, body, headers={**self._properties, **more})

    def plain(self, count: int) -> None:
        """Only the last one asks for a receipt, so that the broker has them all."""
        for _ in range(count - 1):
            self._send()
        self.each(1)

    def each(self, count: int) -> None:
        for _ in range(count):
            self.listener.wanted = self._receipt()
            self._send(receipt=self.listener.wanted)
            self.listener.wait()

    def window(self, count: int, body: str = BODY) -> None:
        self.listener.wanted = str(self._number + count)
        for _ in range(count):
            if not self.listener.under_way.acquire(timeout=_PATIENCE):
                raise RuntimeError(self.listener.error or "no receipt")
            self._send(body, receipt=self._receipt())
        self.listener.wait()

    def large(self, count: int) -> None:
        self.window(count, _LARGE)

    def transacted(self, count: int) -> None:
        for start in range(0, count, _BATCH):
            transaction = self.connection.begin()
            for _ in range(min(_BATCH, count - start)):
                self._send(transaction=transaction)
            self.listener.wanted = self._receipt()
            self.connection.commit(transaction, headers={"receipt": self.listener.wanted})
            self.listener.wait()

    def receive(self, count: int) -> None:
        left = count

        def got(frame: Any) -> None:
            nonlocal left
            if not left:
                return
            check(len(frame.body), int(frame.headers["number"]))
            self.connection.ack(frame.headers["ack"])
            left -= 1
            if not left:
                self.listener.done.set()

        self.listener.got = got
        wanted = {"activemq.prefetchSize": str(PREFETCH), "consumer-window-size": "1000000"}
        self.connection.subscribe(self._destination, "1", "client-individual", headers=wanted)
        self.listener.wait()
        self.listener.wanted = self._receipt()
        self.connection.unsubscribe("1", headers={"receipt": self.listener.wanted})
        self.listener.wait()


def main(wanted: Arguments) -> None:
    """Roles ``plain``, ``each``, ``window``, ``large``, ``transacted``, ``receive``."""
    client = _Client(wanted)
    serve(getattr(client, wanted.role))
    client.connection.disconnect()


if __name__ == "__main__":
    main(arguments())
