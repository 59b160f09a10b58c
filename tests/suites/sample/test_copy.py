"""The sample is small and copied by one command; a copy passes the contract."""

import subprocess
import sys
from pathlib import Path

import pytest

from jmsbridge.testing.sample import FOLDER, copy


def _run(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, timeout=50)


def test_a_copy_passes_the_contract(tmp_path: Path) -> None:
    copied = _run("jmsbridge.testing.sample", "mine", folder=tmp_path)
    assert copied.returncode == 0, copied.stderr
    assert "pytest --level contract" in copied.stdout
    ran = _run("pytest", "-q", "-p", "no:cacheprovider", "--level", "contract", folder=tmp_path / "mine")
    assert ran.returncode == 0, ran.stdout
    assert "sample: " in ran.stdout


def test_a_copy_has_what_a_distribution_needs(tmp_path: Path) -> None:
    made = {path.relative_to(tmp_path).as_posix() for path in copy(tmp_path)}
    package = {"acme_jms/__init__.py", "acme_jms/broker.py", "acme_jms/link.py"}
    assert made == {"pyproject.toml", "conftest.py", "test_suite.py", *package}


def test_an_existing_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FileExistsError):
        copy(tmp_path)
    refused = _run("jmsbridge.testing.sample", ".", folder=tmp_path)
    assert refused.returncode == 2
    assert "not empty" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_sample_is_small() -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in FOLDER.glob("acme_jms/*.py"))
    assert lines < 360
