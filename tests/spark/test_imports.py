"""The table of modules in docs/decisions/spark.md: what a reader by positions would share has nothing of the log."""

import ast
from pathlib import Path

import pytest

import jmsbridge.spark

_FOLDER = Path(jmsbridge.spark.__path__[0])
_PACKAGE = "jmsbridge.spark."
OF_THE_LOG = {"log", "ids", "files", "receiving", "slices", "stream", "staging", "planning", "distributed", "origin"}
SHARED = ["options", "connections", "schema", "rows", "sink", "sending", "showing"]
BY_POSITION = ["position_options", "ranges", "positions"]
KNOW_SPARK = {
    *("source", "stream", "distributed", "sink", "showing", "positions"),
    *("pipelines", "ownership", "jobs", "demo"),
}


def imports(module: str) -> set[str]:
    """What a module of the folder imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((_FOLDER / f"{module}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def own(module: str) -> set[str]:
    """The modules of the folder that a module imports, and those that these import."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        for name in imports(waiting.pop()):
            part = name.removeprefix(_PACKAGE)
            if part != name and (_FOLDER / f"{part}.py").exists() and part not in found:
                found.add(part)
                waiting.append(part)
    return found


@pytest.mark.parametrize("module", [*SHARED, *BY_POSITION])
def test_the_reader_by_positions_and_what_it_shares_know_no_log(module: str) -> None:
    assert not own(module) & OF_THE_LOG


def test_only_the_named_modules_know_spark() -> None:
    modules = [path.stem for path in _FOLDER.glob("*.py")]
    assert {each for each in modules if any(name.startswith("pyspark") for name in imports(each))} == KNOW_SPARK


def test_the_log_knows_no_message_and_no_broker() -> None:
    of_jmsbridge = {name.removeprefix(_PACKAGE) for name in imports("log") | imports("ids") if "jmsbridge" in name}
    assert {name.partition(".")[0] for name in of_jmsbridge} == {"files", "ids", "schema"}


def test_the_imports_of_a_module_are_seen() -> None:
    assert {"staging", "log", "ids", "receiving"} <= own("distributed")
