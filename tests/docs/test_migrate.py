"""The page on `jmsbridge migrate` shows what the command says and writes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from jmsbridge.cli import app
from tests.docs.pages import page

PAGE = page("migrate.md")


def _block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


def _table(heading: str) -> list[list[str]]:
    rows = PAGE.split(f"| {heading} |")[1].split("\n\n")[0].splitlines()[2:]
    return [[cell.strip().strip("`") for cell in row.strip("|").split(" | ")] for row in rows]


@pytest.fixture
def report(tmp_path: Path) -> Any:
    source = tmp_path / "Orders.java"
    source.write_text(_block("java"), encoding="utf-8")
    folder = str(tmp_path / "written")
    arguments = ["migrate", str(source), "--backend", "pulsar", "--json", "--skeletons", folder]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_tables_are_those_of_the_command(report: Any) -> None:
    assert _table("feature") == [[f["text"], f["outcome"], " ".join(f["at"])] for f in report["features"]]
    assert _table("Java") == [[use["java"], use["python"], " ".join(use["at"])] for use in report["uses"]]


def test_the_module_is_the_one_that_is_written(report: Any, tmp_path: Path) -> None:
    assert report["problems"] == []
    assert (tmp_path / "written" / "orders.py").read_text(encoding="utf-8") == _block("python")
