"""Every Python block of the guides runs, and prints what the page says."""

import logging
import warnings
from collections.abc import Iterator

import pytest

import jmsbridge_embedded
from tests.docs.pages import Script, page, scripts

PAGES = (
    "guide.md",
    "architecture.md",
    "messages.md",
    "logging.md",
    "shutdown.md",
    "workers.md",
    "applications.md",
    "asyncio.md",
)
SCRIPTS = [script for name in PAGES for script in scripts(name)]


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    """A page may configure the loggers of jmsbridge, which other tests use."""
    loggers = [logging.getLogger(name) for name in ("jmsbridge", "jmsbridge.receive")]
    before = [(logger, logger.handlers[:], logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, handlers, level, propagate in before:
        logger.handlers[:] = handlers
        logger.setLevel(level)
        logger.propagate = propagate


@pytest.fixture(autouse=True)
def _fresh_broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("JMSBRIDGE_URL", raising=False)
    jmsbridge_embedded.discard()
    yield
    jmsbridge_embedded.discard()


@pytest.mark.parametrize("script", SCRIPTS, ids=str)
def test_the_blocks_below_a_heading_run_in_order(script: Script) -> None:
    printed: list[str] = []
    shown = {"__name__": "__main__", "print": lambda *values: printed.append(" ".join(map(str, values)))}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(
            compile(script.code, str(script.path), "exec"), shown
        )  # so that tracebacks have the line numbers of the page
    assert tuple(printed) == script.printed


@pytest.mark.parametrize("name", PAGES)
def test_every_block_of_the_guides_has_a_known_language(name: str) -> None:
    fences = {line for line in page(name).splitlines() if line.startswith("```")}
    assert fences <= {"```", "```python", "```sh", "```toml", "```ini", "```yaml"}


def test_the_guides_have_code() -> None:
    assert len(SCRIPTS) > 12
    assert sum(len(script.printed) for script in SCRIPTS) > 25
