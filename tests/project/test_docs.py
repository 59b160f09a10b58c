"""Generated parts, links and the example of the README are right."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jmsbridge.cli import app
from tools.docs import command_pages, main, regenerated
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


def test_every_command_has_a_page_that_is_kept_up_to_date(tmp_path: Path) -> None:
    folder = tmp_path / "docs" / "commands"
    folder.mkdir(parents=True)
    (folder / "gone.md").write_text("a command that was", encoding="utf-8")
    stale = main(tmp_path, check=True)
    assert folder / "gone.md" in stale
    assert (folder / "gone.md").exists()
    assert main(tmp_path) == stale
    assert {page.name for page in folder.iterdir()} == set(command_pages())
    assert main(tmp_path, check=True) == []


@pytest.mark.parametrize("page", sorted(command_pages()))
def test_the_page_of_a_command_has_all_that_its_help_has(page: str) -> None:
    text = (ROOT / "docs" / "commands" / page).read_text(encoding="utf-8")
    for section in re.split(r"^#+ jmsbridge ", text, flags=re.MULTILINE)[1:]:
        command = section.partition("\n")[0].split()
        if command == ["dlq"] or command == ["config"]:
            continue
        shown = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "500", "TERM": "dumb"}).stdout
        options = set(re.findall(r"(?<![\w-])--[a-z-]+", shown.partition("Options")[2])) - {"--help"}
        assert options <= set(re.findall(r"`(--[a-z-]+)", section)), command
        assert " ".join(section.split("\n\n")[1].split()) in " ".join(shown.split())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_a_target(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_the_example_of_the_readme_runs() -> None:
    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    ran = subprocess.run([sys.executable, "-W", "error", "-c", example[1]], capture_output=True, text=True, timeout=30)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("two of everything\n", "", 0)
