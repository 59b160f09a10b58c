"""Commands of the operating system that brokers need: apt-get, mvn, java, docker."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from integration.lab.errors import BrokerFailed, BrokerUnavailable

__all__ = ["need", "run"]


def need(program: str, why: str) -> str:
    """The path of a program; if it is missing, BrokerUnavailable says what it is for."""
    found = shutil.which(program)
    if found is None:
        raise BrokerUnavailable(f"{program} is missing: {why}")
    return found


def run(
    command: Sequence[str | Path],
    *,
    folder: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 600.0,
    merge: bool = False,
) -> str:
    """Run a command and return its output, with `merge` its standard error too.

    BrokerFailed with the end of its output if it fails or takes too long.
    """
    arguments = [str(part) for part in command]
    name = Path(arguments[0]).name
    try:
        done = subprocess.run(
            arguments,
            cwd=folder,
            env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise BrokerFailed(f"{name} did not end within {timeout:g} s") from None
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines()[-12:]
        raise BrokerFailed("\n  ".join([f"{name} failed ({done.returncode}):", *said]))
    return done.stdout + done.stderr if merge else done.stdout
