"""The calls of JMS methods that class files make, as ``javap`` lists them."""

import re
import subprocess
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from integration.lab.fetching.tools import need

__all__ = ["Call", "compiled_calls"]

_APIS = (b"javax/jms/", b"jakarta/jms/")
_SOURCE = re.compile(r'^SourceFile: "(.*)"', re.MULTILINE)
_CALL = re.compile(r"^ +(\d+): invoke\w+ .*Method (?:javax|jakarta)/jms/\w+\.(\w+):", re.MULTILINE)
_REFERENCE = re.compile(r"REF_invoke\w+ (?:javax|jakarta)/jms/\w+\.(\w+):")
_LINE = re.compile(r"^ +line (\d+): (\d+)", re.MULTILINE)


class Call(NamedTuple):
    """Where a method is called: the name of the source file, without folders, and the line; and its name."""

    file: str
    line: int
    method: str


def compiled_calls(folder: Path) -> tuple[set[Call], set[str]]:
    """The calls of the class files below a folder, and the names of methods that they only refer to."""
    classes = [path for path in sorted(folder.rglob("*.class")) if any(api in path.read_bytes() for api in _APIS)]
    command = [need("javap", "it lists the calls of class files; install a JDK"), "-p", "-v", *map(str, classes)]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=150).stdout
    calls = {call for part in said.split("\nClassfile ") for call in _of_class(part)}
    return calls, set(_REFERENCE.findall(said))


def _of_class(said: str) -> Iterator[Call]:
    source = _SOURCE.search(said)
    assert source is not None
    for method in said.split("\n    Code:\n")[1:]:
        lines = sorted((int(offset), int(line)) for line, offset in _LINE.findall(method))
        for offset, name in _CALL.findall(method):
            at = bisect_right(lines, (int(offset), 1 << 30)) - 1
            yield Call(source[1], lines[at][1], name)
