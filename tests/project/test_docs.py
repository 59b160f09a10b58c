"""What the documentation says is so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.docs import main, regenerated
from tools.laws.source import ROOT

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def test_generated_sections_are_up_to_date() -> None:
    assert main(check=True) == []


def test_a_section_is_written_between_its_comments() -> None:
    page = "a\n<!-- begin: options, written by x -->\nstale words\n<!-- end -->\nb\n"
    again = regenerated(page)
    assert again.startswith("a\n<!-- begin: options, written by x -->\n\n| option |")
    assert again.endswith("\n<!-- end -->\nb\n")
    assert "stale words" not in again
    assert regenerated(again) == again


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_the_example_of_the_readme_runs() -> None:
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    ran = subprocess.run([sys.executable, "-W", "error", "-c", example[1]], capture_output=True, text=True, timeout=30)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("two of everything\n", "", 0)
