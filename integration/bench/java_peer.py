"""The brokers' own JMS clients as peers: connected as for the interop tests, measured by one program."""

from pathlib import Path

from integration.interop import program
from integration.lab.fetching import programs

__all__ = ["class_path"]

_HERE = Path(__file__).with_name("java")
_CLIENTS = Path(program.__file__).parent


def class_path(client: str) -> str:
    """What ``java -cp`` needs to run the peer with a client of ``integration.interop``.

    BrokerUnavailable says what is missing.
    """
    folder = _CLIENTS / client
    files = [_CLIENTS / "java" / "Client.java", *folder.glob("Factory.java")]
    files += [*_HERE.glob("*.java"), *(_HERE / client).glob("*.java")]
    texts = {file.name: file.read_text(encoding="utf-8") for file in sorted(files)}
    return programs.class_path(f"bench-{client}", folder / "pom.xml", texts)
