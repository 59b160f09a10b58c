"""The libraries of the Java face, and our own Java classes beside them."""

import importlib.util
from pathlib import Path

from integration.lab.errors import BrokerUnavailable
from integration.lab.fetching import programs

__all__ = ["HERE", "classpath", "compiled"]

HERE = Path(__file__).resolve().parent
"""The folder of the Java face."""


def classpath() -> list[Path]:
    """The API jars, JUnit and Joram's tests; BrokerUnavailable where this machine cannot have them."""
    return sorted(_jars().glob("*.jar"))


def compiled(sources: list[Path], api: str) -> Path:
    """The folder with the classes of some Java files, written for jakarta.jms, in the API that is asked for.

    BrokerFailed with the compiler's words where they do not compile.
    """
    files = [(source.name, source.read_text(encoding="utf-8").replace("jakarta.jms", api)) for source in sources]
    return programs.compiled("conformance", _jars(), files)


def _jars() -> Path:
    if importlib.util.find_spec("jpype") is None:
        raise BrokerUnavailable("JPype is missing: pip install 'jmsbridge[dev]'")
    return programs.jars("conformance", HERE / "pom.xml")
