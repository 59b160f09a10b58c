"""Pages that are generated completely: ``python -m tools.pages`` writes ``docs/capabilities.md`` and ``docs/rules.md``.

``--check`` only compares; it exits with 1 if a page is out of date.
"""

import functools
import sys
from collections.abc import Callable
from pathlib import Path

from jmsbridge.config.features import FEATURES, Feature
from jmsbridge.spi import Native
from jmsbridge.testing import promises, rules
from tools.laws.source import ROOT

__all__ = ["PAGES", "capabilities", "main", "rule_list"]

_HEAD = """# Capabilities

Written by `python -m tools.pages`; do not edit.

JMS promises more than some brokers can do by themselves. A backend says what its broker can do, with one flag of
`jmsbridge.spi.Native` for each promise below, and the compliance suite tests these claims. What is missing is emulated
by the client or refused with `UnsupportedFeature`.
The option `emulation` changes that: `allow` emulates everything that can be, `refuse` nothing; by feature,
`emulation = { transactions = "refuse" }`. *Warns* means an `EmulationWarning`, once per connection and feature.
`jmsbridge backends` and `jmsbridge doctor TARGET` show what holds for a broker.
"""


def capabilities() -> str:
    """The page of capabilities: promises, and what happens if one is missing."""
    text = promises.capabilities()
    rows = [_row(text[row.native], row) for row in FEATURES]
    described = {row.native for row in FEATURES}
    others = [f"- `{flag.name}`: {text[flag]}." for flag in Native if flag not in described]
    return "\n".join(
        [
            _HEAD,
            "| setting | promise | missing: by default | emulation | price |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "Flags without a row of their own:",
            "",
            *others,
            "",
        ]
    )


def _row(promise: str, row: Feature) -> str:
    default = f"{row.default}, warns" if row.warns else row.default
    return f"| `{row.name}` | {row.text}: {promise} | {default} | {row.emulation or 'none'} | {row.price} |"


@functools.cache
def rule_list() -> str:
    """The page of rules, each with its tests."""
    evidence = rules.collect([ROOT / "jmsbridge/testing/suite", ROOT / "tests"])
    return "\n".join(rules.markdown(evidence)) + "\n"


PAGES: dict[str, Callable[[], str]] = {"capabilities.md": capabilities, "rules.md": rule_list}


def main(folder: Path = ROOT / "docs", *, check: bool = False) -> list[Path]:
    """Write the pages that are out of date, or only list them."""
    stale = []
    for name, write in PAGES.items():
        page, text = folder / name, write()
        if not page.exists() or page.read_text(encoding="utf-8") != text:
            stale.append(page)
            if not check:
                page.write_text(text, encoding="utf-8")
    return stale


if __name__ == "__main__":
    _CHECK = "--check" in sys.argv[1:]
    _STALE = main(check=_CHECK)
    for _PAGE in _STALE:
        print(f"{_PAGE.relative_to(ROOT)} {'is out of date: python -m tools.pages' if _CHECK else 'written'}")
    sys.exit(1 if _STALE and _CHECK else 0)
