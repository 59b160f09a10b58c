"""The application and the tests of ``docs/testing.md``, run as they stand there."""

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import page
from tools.laws.source import ROOT


def files() -> dict[str, str]:
    """The Python blocks of the page by the file name in their first line."""
    found: dict[str, str] = {}
    for block in page("testing.md").split("```python\n")[1:]:
        code = block.partition("```")[0]
        found[code.partition("\n")[0].removeprefix("# ")] = code
    return found


def test_the_example_of_the_page_passes(tmp_path: Path) -> None:
    written = files()
    assert set(written) == {"conftest.py", "shop.py", "test_shop.py"}
    for name, code in written.items():
        (tmp_path / name).write_text(code, encoding="utf-8")
    # The page's tests are for an environment that has jmsbridge; a bare checkout has no entry points.
    register = "import jmsbridge_embedded\nfrom jmsbridge.spi import registry\n"
    register += 'registry.register("embedded", jmsbridge_embedded.backend)\n'
    with (tmp_path / "conftest.py").open("a", encoding="utf-8") as conftest:
        conftest.write(register)
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'backends'}"},
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "4 passed" in ran.stdout
