"""RabbitMQ's own JMS client, compiled here, its jars by Maven into the user's cache."""

import shutil
import subprocess
from pathlib import Path

from platformdirs import user_cache_path

__all__ = ["JavaMissing", "class_path"]

_HERE = Path(__file__).with_name("java")


class JavaMissing(RuntimeError):
    """The Java peer cannot take part; the text says what would let it."""


def class_path() -> str:
    """Compile the peer; what ``java -cp`` needs. JavaMissing without a JDK and Maven."""
    missing = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]
    if missing:
        raise JavaMissing(f"the Java JMS client needs {' and '.join(missing)}")
    folder = user_cache_path("jmsbridge") / "bench-java"
    jars = folder / "jars"
    stamp = folder / "pom.xml"
    pom = _HERE / "pom.xml"
    if not stamp.exists() or stamp.read_text() != pom.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        jars.mkdir(parents=True)
        _run("mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={jars}")
        shutil.copy(pom, stamp)
    classes = folder / "classes"
    _run("javac", "-cp", f"{jars}/*", "-d", str(classes), str(_HERE / "src" / "Peer.java"))
    return f"{classes}:{jars}/*"


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise JavaMissing(f"{command[0]} failed: {(done.stdout + done.stderr).strip()[-1000:]}")
