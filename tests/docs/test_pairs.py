"""The page of pairs shows the programs that CI runs."""

from pathlib import Path

import pytest

from tests.docs.pages import page
from tools.laws.source import ROOT

EXAMPLES = ROOT / "examples"
FILES = [
    *(path for folder in ("from_spring", "from_faststream") for path in sorted((EXAMPLES / folder).glob("*.py"))),
    *sorted((EXAMPLES / "from_spring" / "java").glob("*.java")),
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_program_is_on_the_page(path: Path) -> None:
    fence = {".py": "python", ".java": "java"}[path.suffix]
    assert f"```{fence}\n{path.read_text(encoding='utf-8').rstrip()}\n```" in page("from-spring.md")


def test_there_are_programs() -> None:
    assert len(FILES) >= 14
