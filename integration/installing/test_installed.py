"""The wheel, installed into an empty environment and used outside the checkout; the source archive builds the same."""

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from integration.lab.fixtures import unavailable
from tools.laws.source import ROOT

pytestmark = [pytest.mark.server, pytest.mark.timeout(900)]  # pip may have to fetch what jmsbridge requires

_PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_SCHEMES: dict[str, str] = _PROJECT["entry-points"]["jmsbridge.backends"]
_PAGE = """
pytest_plugins = ["jmsbridge.testing.broker"]
"""
_TEST = """
def test_an_order(jms_broker):
    context = jms_broker.context()
    orders = context.create_queue("orders")
    context.create_producer().send(orders, "two of everything")
    assert context.create_consumer(orders).receive_body(str, timeout=5) == "two of everything"
"""


@dataclass(frozen=True)
class Installed:
    """An environment that has jmsbridge, and an empty folder to work in."""

    environment: Path
    folder: Path

    def run(self, program: str, *arguments: str) -> str:
        """Run a program of the environment, which must succeed; return its output."""
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "JMSBRIDGE", "VIRT"))
        }
        command = [str(self.environment / "bin" / program), *arguments]
        ran = subprocess.run(
            command, cwd=self.folder, env=kept, capture_output=True, text=True, timeout=300, check=False
        )
        assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
        return ran.stdout


def _build(kind: str, source: Path, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=300)
    (built,) = folder.glob("jmsbridge-*")
    return built


def _install(folder: Path) -> Installed:
    """An environment in which pip has installed the wheel and its requirements, and nothing else."""
    built = _build("wheel", ROOT, folder / "wheel")
    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-compile"]
    command = [*pip, f"{built}[all,testing]"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
    if "No matching distribution" in ran.stderr or "Could not find a version" in ran.stderr:
        unavailable("pip cannot install the requirements of jmsbridge here")
    assert ran.returncode == 0, ran.stderr
    work = folder / "work"
    work.mkdir()
    return Installed(environment, work)


def test_what_is_installed_works(tmp_path: Path) -> None:  # one test, since parallel runs would install for each
    installed = _install(tmp_path)
    _packages_are_imported(installed)
    _demo_runs(installed)
    _commands_run(installed)
    _every_backend_is_installed_and_no_extra_is_advised(installed)
    _fixture_for_applications_works(installed)


def _packages_are_imported(installed: Installed) -> None:
    packages = ["jmsbridge", *{target.partition(":")[0] for target in _SCHEMES.values()}]
    where = f"import {', '.join(packages)}; print({', '.join(f'{package}.__file__' for package in packages)})"
    found = installed.run("python", "-c", where).split()
    assert all(Path(file).is_relative_to(installed.environment) for file in found), found


def _demo_runs(installed: Installed) -> None:
    (installed.folder / "lines.txt").write_text("one\ntwo\n", encoding="utf-8")
    assert "identical" in installed.run("python", "-m", "jmsbridge.demo", str(installed.folder))


def _commands_run(installed: Installed) -> None:
    url = f"embedded:{installed.folder}/orders.db"
    installed.run("jmsbridge", "send", "-t", url, "orders", "hello")
    assert installed.run("jmsbridge", "receive", "-t", url, "orders", "-n", "1", "--format", "text") == "hello\n"
    assert "embedded" in installed.run("jmsbridge", "doctor", url)


def _every_backend_is_installed_and_no_extra_is_advised(installed: Installed) -> None:
    told = installed.run("jmsbridge", "backends")
    assert {line.split("\t")[0] for line in told.splitlines()} == set(_SCHEMES)


def _fixture_for_applications_works(installed: Installed) -> None:
    (installed.folder / "conftest.py").write_text(_PAGE, encoding="utf-8")
    (installed.folder / "test_order.py").write_text(_TEST, encoding="utf-8")
    assert "1 passed" in installed.run("python", "-m", "pytest", "-q", "test_order.py")


def test_the_source_archive_builds_the_same_wheel(tmp_path: Path) -> None:
    with tarfile.open(_build("sdist", ROOT, tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    ours, theirs = (_content(_build("wheel", where, tmp_path / where.name)) for where in (ROOT, source))
    assert theirs == ours


def _content(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
