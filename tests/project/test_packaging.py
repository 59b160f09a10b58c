"""The wheel contains what it must, and pyproject.toml is right."""

import importlib.metadata
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

from jmsbridge.config.backends import EXTRAS
from jmsbridge.spi import registry
from tools.laws.source import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TOP = ["jmsbridge", "jmsbridge_command", "pyspark_jms"]
BACKENDS = sorted(path.name for path in (ROOT / "backends").iterdir() if (path / "__init__.py").is_file())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=100)
    (path,) = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_one_wheel_with_every_package(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {*TOP, *BACKENDS}
    for package in (*TOP, *BACKENDS):
        assert {f"{package}/__init__.py", f"{package}/py.typed"} <= names
    for path in ("jmsbridge/testing/suite/__init__.py", "jmsbridge/testing/plugin.py", "jmsbridge/demo/__main__.py"):
        assert path in names


def test_every_source_of_the_packages_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    wanted = {
        path.relative_to(root).as_posix()
        for root, packages in ((ROOT, TOP), (ROOT / "backends", BACKENDS))
        for package in packages
        for path in (root / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted <= set(wheel.namelist())


def test_the_wheel_runs_by_itself(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path)
    program = "import jmsbridge, sys; jmsbridge.connect().close(); print(jmsbridge.__file__)"
    ran = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert ran.returncode == 0, ran.stderr
    assert Path(ran.stdout.strip()).is_relative_to(tmp_path)


def test_the_installed_wheel_runs_the_example_of_the_readme(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """In a new environment, which also sees the libraries of this one, after its own."""
    environment = tmp_path / "environment"
    venv.create(environment)
    python = environment / "bin" / "python"
    options = ["--python", str(python), "--quiet", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", *options, "install", "--no-compile", "--no-deps", "--no-index"]
    subprocess.run([*command, str(wheel.filename)], check=True, timeout=100)
    (packages,) = environment.glob("lib/python*/site-packages")
    libraries = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    (packages / "libraries.pth").write_text("\n".join(libraries), encoding="utf-8")

    def output(*command: str | Path) -> str:
        ran = subprocess.run(command, cwd=tmp_path, env={"PATH": ""}, capture_output=True, text=True, timeout=30)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    example = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    where = "import jmsbridge as j, jmsbridge_embedded as e; print(j.__file__, e.__file__, sep='\\n')"
    found = output(python, "-c", where).splitlines()
    assert all(Path(file).is_relative_to(packages) for file in found), found
    assert output(python, "-W", "error", "-c", example[1]) == "two of everything\n"
    assert "embedded" in output(environment / "bin" / "jmsbridge", "backends")


def test_every_backend_has_its_entry_point() -> None:
    points = PROJECT["project"]["entry-points"]["jmsbridge.backends"]
    assert sorted({re.split("[.:]", target)[0] for target in points.values()}) == BACKENDS
    for scheme in points:
        assert scheme in registry.names()
        assert registry.load(scheme).options() is not None


def test_every_scheme_has_the_extra_that_its_hint_names() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    assert extras["brokers"] == [f"jmsbridge[{','.join(sorted(set(EXTRAS.values())))}]"]
    assert extras["all"] == ["jmsbridge[brokers,migrate,otel,spark]"]
    assert set(EXTRAS) <= set(PROJECT["project"]["entry-points"]["jmsbridge.backends"])


def test_no_extra_is_empty() -> None:
    for_users = {*EXTRAS.values(), "brokers", "migrate", "otel", "spark", "all"}
    for_development = {"bench", "testing", "dev"}
    assert set(PROJECT["project"]["optional-dependencies"]) == for_users | for_development


def test_the_readme_names_the_backends_of_this_version() -> None:
    listed = (ROOT / "README.md").read_text(encoding="utf-8").partition("## What works today")[2]
    schemes = set(PROJECT["project"]["entry-points"]["jmsbridge.backends"])
    named = set(re.findall(r"`([a-z]+)://`", listed)) | set(re.findall(r"`(embedded):", listed))
    assert named <= schemes
    assert {scheme.removesuffix("s").removesuffix("+ssl") for scheme in schemes} <= named
    assert set(re.findall(r"jmsbridge\[(\w+)\]", listed)) == set(EXTRAS.values())


def test_installed_metadata_is_that_of_the_checkout() -> None:
    assert importlib.metadata.version("jmsbridge") == PROJECT["project"]["version"]
