"""TLS in front of a plain port, with a certificate of the test."""

import asyncio
import contextlib
import ssl
import threading
from types import TracebackType
from typing import Self

__all__ = ["TlsFront"]

_PATIENCE = 10.0


class TlsFront:
    """Terminates TLS with the certificate of ``context`` and forwards to a port of this machine."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        self._target = port
        self._context = context
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tls-front", daemon=True)
        self._thread.start()
        self._tasks: set[asyncio.Task[None]] = set()
        begun = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context), self._loop
        )
        self._server = begun.result(_PATIENCE)
        self.port: int = self._server.sockets[0].getsockname()[1]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        from_broker, to_broker = await asyncio.open_connection("127.0.0.1", self._target)
        with contextlib.suppress(asyncio.CancelledError):  # the test is over
            await asyncio.gather(_pass_on(reader, to_broker), _pass_on(from_broker, writer))
        for each in (writer, to_broker):
            each.transport.abort()
        self._tasks.discard(task)

    async def _stop(self) -> None:
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(_PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_PATIENCE)
        self._loop.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError, ssl.SSLError):  # either side has closed
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()
