"""Disks that are full, read-only, forbidden or limited: clear errors, and no confirmed message is lost."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]
_NOBODY = ["unshare", "--user"]  # runs without the privileges of root, so that permissions apply


def _told(prefix: list[str], case: str, folder: Path) -> list[str]:
    """The errors of a broker in a separate process."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(_ROOT), str(_ROOT / "backends")])}
    command = [*prefix, sys.executable, "-m", "tests.embedded.file.disk", case, str(folder)]
    done = subprocess.run(command, cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _need_namespaces(prefix: list[str]) -> None:
    if shutil.which("unshare") is None or subprocess.run([*prefix, "true"], capture_output=True).returncode:
        pytest.skip("this system does not let users make namespaces of their own (unshare)")


def test_a_full_disk_refuses_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    _need_namespaces(_NAMESPACE)
    path, full = tmp_path / "orders.db", "the disk is full; free some space; confirmed messages are safe"
    assert _told(_NAMESPACE, "full", tmp_path) == [f"{path}: {full}"] * 2 + [f"{tmp_path}/new.db: {full}"]


def test_a_read_only_disk_is_named(tmp_path: Path) -> None:
    _need_namespaces(_NAMESPACE)
    why = f"the folder {tmp_path} cannot be written; the broker writes the file and further files beside it"
    told = _told(_NAMESPACE, "read_only", tmp_path)
    assert told == [
        f"{tmp_path}/orders.db cannot be written; check its owner and permissions",
        f"{tmp_path}/new.db: {why}",
    ]


def test_a_file_or_folder_without_the_right_to_write_is_named(tmp_path: Path) -> None:
    _need_namespaces(_NOBODY)
    path = tmp_path / "orders.db"
    why = f"the folder {tmp_path} cannot be written; the broker writes the file and further files beside it"
    assert _told(_NOBODY, "no_right", tmp_path) == [
        f"{path} cannot be written; check its owner and permissions",
        f"{path}: {why}",
        f"{tmp_path}/new.db: {why}",
    ]


def test_a_limit_on_the_size_of_the_file_leaves_the_message_in_doubt(tmp_path: Path) -> None:
    path = tmp_path / "orders.db"
    (told,) = _told([], "limited", tmp_path)
    assert told.startswith(f"{path}: the disk failed (")
    assert told.endswith("check limits, quotas and the system's log")
