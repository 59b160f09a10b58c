"""The pages of pairs show the programs that CI runs."""

from pathlib import Path

import pytest

from tests.docs.pages import page
from tools.laws.source import ROOT

PAGES = {"from_java": "from-java.md", "from_spring": "from-spring.md", "from_faststream": "from-spring.md"}
FENCES = {".py": "python", ".java": "java"}
FILES = [
    path
    for folder in PAGES
    for path in sorted((ROOT / "examples" / folder).rglob("*"))
    if path.suffix in FENCES and not path.name.startswith("test_")
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_program_is_on_the_page(path: Path) -> None:
    folder = path.relative_to(ROOT / "examples").parts[0]
    assert f"```{FENCES[path.suffix]}\n{path.read_text(encoding='utf-8').rstrip()}\n```" in page(PAGES[folder])


def test_there_are_programs() -> None:
    assert len(FILES) >= 24
