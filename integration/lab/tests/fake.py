"""A broker of a few lines of Python, for tests of the launcher's processes, ports and folders."""

import random
import socket
import sys
from pathlib import Path

from integration.lab.fetching.install import Say
from integration.lab.running.ports import is_free
from integration.lab.running.probes import Probe
from integration.lab.servers.server import Run, Server
from integration.lab.starting import start
from integration.lab.table import HOST, KINDS, Kind


def _two_ports() -> dict[str, int]:
    """Default ports of this process, so that workers do not use the same ones."""
    free = (port for port in random.sample(range(12000, 18000), 1000) if is_free(port))
    return {"main": next(free), "inner": next(free)}


FAKE = Kind(
    "fake", "Fake broker", "1.0", _two_ports(), {"fake": "main"}, frozenset({"inner"}), options={"spiced": "for tests"}
)

# It appends the data that it receives to a file, and answers with the whole file.
_SCRIPT = """
import pathlib, signal, socket, subprocess, sys
data, port = pathlib.Path(sys.argv[1], "kept"), int(sys.argv[2])
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
helper = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
with socket.create_server(("127.0.0.1", port)) as server:
    print("listening", flush=True)
    while True:
        link, _ = server.accept()
        with link, data.open("ab") as kept:
            kept.write(link.recv(100))
            kept.flush()
            link.sendall(b"kept " + data.read_bytes())
"""


class Fake(Server):
    """The broker `fake`; `script` and `home` may be changed by a test."""

    kind = FAKE
    start_timeout = 30.0
    script = _SCRIPT
    home: Path | None = Path(sys.prefix)

    def installed(self) -> Path | None:
        return self.home

    def fetch(self, say: Say) -> Path:
        say("nothing to do")
        return Path(sys.prefix)

    def files(self, run: Run) -> dict[str, str]:
        return {"fake.conf": "\n".join([f"port={run.ports['main']}", *run.options, ""])}

    def command(self, run: Run) -> list[str | Path]:
        return [sys.executable, "-c", self.script, run.data, str(run.ports["main"])]

    def probes(self, run: Run) -> dict[str, Probe]:
        return {"main": lambda: "" if ask(run.ports["main"], b"").startswith(b"kept") else "silent"}

    def purge(self, run: Run) -> None:
        (run.data / "kept").write_bytes(b"")


def ask(port: int, text: bytes) -> bytes:
    """The answer of the broker on a port."""
    with socket.create_connection((HOST, port), 5) as link:
        link.sendall(text)
        link.shutdown(socket.SHUT_WR)
        return link.recv(1000)


def register() -> Fake:
    """Register it in the table, for use in a separate process."""
    from integration.lab.broker import SERVERS

    KINDS["fake"] = FAKE
    SERVERS["fake"] = server = Fake()
    return server


if __name__ == "__main__":  # started by a test, which kills it
    register()
    broker = start("fake")
    print(broker.instance, broker.ports["main"], flush=True)
    sys.stdin.read()
