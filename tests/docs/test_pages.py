"""Pages and tables that are derived from the code agree with it."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from jmsbridge import errors, values
from jmsbridge.config import policy_for, profile_names, resolve
from jmsbridge.spi import Native
from jmsbridge.testing.promises import capabilities
from jmsbridge.testing.rules import CHOICES, RULES
from jmsbridge.values import Byte, Char, Float, Long, Short
from tests.docs.pages import DOCS, loggers, page
from tools import pages
from tools.laws.source import ROOT

VERBS = [
    "open", "channel", "declare", "delete", "unsubscribe", "close", "send", "subscribe", "commit", "rollback", "close",
    "grant", "settle", "drain", "close",
]  # fmt: skip
PROTOCOLS = ["AMQP 1.0", "STOMP, Classic", "STOMP, Artemis", "Pulsar"]
OTHER_FORM = {"provider-choices", "rabbitmq", "spark", "spi-on-other-protocols", "spi-three-wires"}  # of decisions
WRITTEN: dict[str, Any] = {
    "boolean": True, "byte": Byte(1), "short": Short(1), "char": Char("1"), "int": 1, "long": Long(1),
    "float": Float(1), "double": 1.0, "string": "1", "bytes": b"1",
}  # fmt: skip


def _tables(text: str) -> Iterator[list[str]]:
    """The rows of all tables, without their heads."""
    for line in text.splitlines():
        if line.startswith("| "):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def _untested(text: str) -> list[str]:
    """The list of rules without its tests, which change more often than the page is generated."""
    rows = [line.rsplit(" | ", 1)[0] for line in text.splitlines() if re.match(r"\| (\w\w-\d+|\d+) \|", line)]
    assert len(rows) == 198
    return rows


def test_the_page_of_capabilities_is_up_to_date() -> None:
    assert page("capabilities.md") == pages.capabilities(), "python -m tools.pages"


def test_every_capability_has_its_promise() -> None:
    assert set(capabilities()) == set(Native)


def test_the_page_of_rules_is_up_to_date_but_for_the_newest_tests() -> None:
    assert _untested(page("rules.md")) == _untested(pages.rule_list()), "python -m tools.pages"


def test_pages_are_written_where_they_are_missing(tmp_path: Path) -> None:
    assert pages.main(tmp_path, check=True) == [tmp_path / "capabilities.md", tmp_path / "rules.md"]
    assert pages.main(tmp_path) == [tmp_path / "capabilities.md", tmp_path / "rules.md"]
    assert pages.main(tmp_path, check=True) == []


def test_the_choices_are_those_of_the_rules() -> None:
    rows = [row for row in _tables(page("decisions/provider-choices.md")) if row[0] in RULES]
    assert rows == [[name, RULES[name], chosen] for name, chosen in CHOICES.items()]


def test_the_index_lists_every_decision() -> None:
    listed = re.findall(r"^\| \[[\w-]+\]\(([\w-]+\.md)\) \|", page("decisions/README.md"), re.MULTILINE)
    assert sorted(listed) == sorted(path.name for path in DOCS.glob("decisions/*.md") if path.name != "README.md")


@pytest.mark.parametrize("path", sorted(DOCS.glob("decisions/[a-z]*.md")), ids=lambda path: str(path.stem))
def test_a_decision_says_why_and_what_was_not_taken(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.stem not in OTHER_FORM:
        assert text.count("**Decided.**") == text.count("**Why.**") == text.count("**Not taken.**") == 1
    assert text.startswith("# ")


def test_every_call_of_the_spi_is_mapped_to_every_protocol() -> None:
    text = page("decisions/spi-on-other-protocols.md").split("## Where the SPI")[0]
    parts = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    assert [part.splitlines()[0] for part in parts] == [f"{n}. `{verb}`" for n, verb in enumerate(VERBS, 1)]
    for part in parts:
        rows = list(_tables(part))
        assert [row[0] for row in rows] == ["protocol", *PROTOCOLS]
        assert all(row[1] for row in rows)


def test_the_page_on_logging_lists_every_logger() -> None:
    rows = [row[0] for row in _tables(page("logging.md")) if row[0].startswith("`jmsbridge.")]
    assert {name for row in rows for name in re.findall(r"`([\w.]+)`", row)} == loggers()


def test_the_guide_lists_every_error() -> None:
    listed = set(re.findall(r"`(\w+)`", page("guide.md").split("\n## Errors")[1].split("\n## ")[0]))
    meanings = {name for name in errors.__all__ if not name.endswith(("Exception", "Warning")) and name[0].isupper()}
    assert meanings <= listed


@pytest.mark.parametrize("written", WRITTEN)
def test_the_table_of_conversions_is_that_of_the_code(written: str) -> None:
    table = list(
        _tables(page("messages.md").split("## Conversions")[1].replace("| |", "| - |").replace("| |", "| - |"))
    )
    head = table[0]
    row = next(row for row in table if row[0] == written)
    for kind, cell in zip(head[1:], row[1:], strict=True):
        assert _converts(getattr(values, f"to_{kind}"), WRITTEN[written]) == (cell in ("x", "p")), (written, kind)


def _converts(read: Callable[[Any], Any], value: Any) -> bool:
    try:
        read(value)
    except errors.MessageFormat:
        return False
    return True


def test_the_reading_order_is_short() -> None:
    order = page("architecture.md").split("## Reading order")[1]
    files = re.findall(r"`([\w/]+\.py)`", order)
    lines = sum(len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in files)
    assert 700 < lines < 1400


def test_the_profiles_of_the_page_on_configuration_are_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORDERS_PASSWORD", "hunter2")
    blocks = re.findall(r"^```toml\n(.*?)^```", page("configuration.md"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    for number, block in enumerate(blocks):
        file = tmp_path / f"{number}.toml"
        file.write_text(block, encoding="utf-8")
        monkeypatch.setenv("JMSBRIDGE_CONFIG", str(file))
        (name,) = profile_names()
        assert resolve(name).scheme.startswith("rabbitmq")
    assert policy_for(resolve("orders").options, "orders", False).expiry_queue == "orders.expired"
    assert policy_for(resolve("orders").options, "orders.eu", False).dead_letter_queue == "orders.dlq"
