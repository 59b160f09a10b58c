"""The tests' own way to start Java."""

import sys
from pathlib import Path

import pytest

from integration.spark import starting


@pytest.mark.parametrize("patience", [0.5, 20.0], ids=["too late", "fails"])
def test_without_an_archive_java_is_started_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], patience: float
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "python").write_text(f"#!/bin/sh\n{'sleep 30' if patience < 1 else 'exit 1'}\n")
    (tmp_path / "python").chmod(0o755)
    monkeypatch.setattr(starting, "_PATIENCE", patience)
    assert "SharedArchiveFile" not in starting.java_options()
    assert "without an archive" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["python"]
