"""Run the tests that need no server on every other Python that this machine has.

``make test`` runs everything on one Python, that of ``.venv``. This runs, on each of the other supported versions that
is found on PATH or below pyenv, the tests whose outcome could depend on the version. Fewer than two versions, that of
``.venv`` included, are a failure. Every version has a virtual environment of its own: ``.venv-3.12`` and so on.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

__all__ = ["ELSEWHERE", "SUPPORTED", "Interpreter", "Unusable", "chosen", "folders", "found", "main", "probe"]

_ROOT = Path(__file__).resolve().parent.parent

SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
"""The versions that are tested if the machine has them; pyproject.toml declares those that are always tested."""

ELSEWHERE = {
    "they check pages, sources and the build, not the library": ("docs", "project", "typing"),
    # CI has no time for these on each version; suites/memory does run on each, and so do embedded/file, core/sending,
    # which has cases of its own for sends confirmed in groups, and tests/aio.
    "they run the compliance suite repeatedly, through the same modules": (
        "suites/aio",
        "suites/faulty",
        "suites/file",
        "suites/grouped",
        "suites/masked",
        "suites/repeated",
        "suites/sample",
        "suites/slow",
    ),
}
"""Folders below ``tests/`` that run on one Python only, by the reason; every other one runs on each."""

_LEAST = 2  # versions, so that a run on one Python is not mistaken for a run on all
_PATIENCE = 20.0  # seconds for an interrupted run to end by itself

# Free-threaded builds are left out, because they have the same version and are not supported.
_PROBE = """
import ensurepip, platform, sys, sysconfig, venv
print("usable" if not sysconfig.get_config_var("Py_GIL_DISABLED") else "free-threaded", platform.python_version())
"""


class Unusable(Exception):
    """The machine has too few Pythons, or an environment cannot be created."""


class Interpreter(msgspec.Struct, frozen=True):
    """One Python of this machine; ``version`` is complete, such as 3.12.1 or 3.14.0rc2."""

    version: str
    path: Path

    @property
    def minor(self) -> str:
        """Such as 3.12."""
        return ".".join(self.version.split(".")[:2])

    def age(self) -> tuple[int, bool, str]:
        """Sorts the versions of one minor version: a final one comes after its candidates."""
        patch = re.match(r"\d+\.\d+\.(\d+)(.*)", self.version)
        assert patch is not None, self.version
        return int(patch[1]), not patch[2].strip("+"), patch[2]


def probe(path: Path) -> Interpreter | None:
    """The interpreter at a path, if it runs and can create environments; a shim of pyenv may do neither."""
    try:
        ran = subprocess.run([path, "-I", "-c", _PROBE], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    word, _, version = ran.stdout.strip().partition(" ")
    known = re.match(r"\d+\.\d+\.\d+", version)
    return Interpreter(version, path) if ran.returncode == 0 and word == "usable" and known else None


def found(search: str, pyenv: Iterable[Path]) -> list[Interpreter]:
    """The newest of each supported minor version on the search path or below pyenv; an equal one on the path wins."""
    best: dict[str, Interpreter] = {}
    for path in _candidates(search, pyenv):
        each = probe(path)
        if each is None or each.minor not in SUPPORTED:
            continue
        if each.minor not in best or each.age() > best[each.minor].age():
            best[each.minor] = each
    return [best[minor] for minor in SUPPORTED if minor in best]


def _candidates(search: str, pyenv: Iterable[Path]) -> Iterator[Path]:
    names = [f"python{minor}" for minor in SUPPORTED] + ["python3", "python"]
    for folder in dict.fromkeys(filter(None, search.split(os.pathsep))):
        yield from (path for name in names if (path := Path(folder, name)).is_file())
    for root in pyenv:
        yield from (path for path in sorted(root.glob("versions/*/bin/python3")) if path.is_file())


def _pyenv() -> list[Path]:
    roots = [os.environ.get("PYENV_ROOT", ""), str(Path.home() / ".pyenv")]
    return [Path(root) for root in dict.fromkeys(roots) if root]


def folders(tests: Path) -> list[Path]:
    """The folders of tests that run on every Python."""
    elsewhere = [tests / name for names in ELSEWHERE.values() for name in names]
    return list(_folders(tests, elsewhere))


def _folders(within: Path, elsewhere: Sequence[Path]) -> Iterator[Path]:
    for folder in sorted(path for path in within.iterdir() if path.is_dir()):
        if folder in elsewhere or not any(folder.rglob("test_*.py")):
            continue
        if any(each.is_relative_to(folder) for each in elsewhere):
            yield from _folders(folder, elsewhere)
        else:
            yield folder


def chosen(every: Sequence[Interpreter], primary: Interpreter, only: Sequence[str] = ()) -> list[Interpreter]:
    """The interpreters to use: all except the primary minor version, or the requested ones."""
    others = [each for each in every if each.minor != primary.minor]
    if 1 + len(others) < _LEAST:
        raise Unusable(
            f"Only Python {primary.version} ({primary.path}) was found; at least {_LEAST} of "
            f"{', '.join(SUPPORTED)} are needed, on PATH or below pyenv."
        )
    missing = [minor for minor in only if minor not in [each.minor for each in every]]
    if missing:
        have = ", ".join(f"{each.version} ({each.path})" for each in every)
        raise Unusable(f"There is no Python {' or '.join(missing)} here, only {have}.")
    return [each for each in every if each.minor in only] if only else others


def _environment(each: Interpreter, where: Path) -> Interpreter:
    """The Python of its virtual environment, which the Makefile creates, and updates when pyproject.toml changes."""
    venv = where / f".venv-{each.minor}"
    # An outer make passes its settings on, which are not meant for this environment.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "--no-print-directory", f"VENV={venv}", f"PYTHON={each.path}", "ARGS=", "venv"]
    if _run(command, inherited) != 0:
        raise Unusable(f"The environment {venv} of Python {each.version} could not be made.")
    inside = probe(venv / "bin" / "python")
    if inside is None or inside.minor != each.minor:
        raise Unusable(f"{venv} does not hold a Python {each.minor} that works: remove it and try again.")
    return inside


def _environments(those: Sequence[Interpreter], where: Path) -> int:
    """Only make the environments, which CI does beside something else."""
    for each in those:
        _environment(each, where)
    return 0


def _test(each: Interpreter, arguments: Sequence[str]) -> int:
    """pytest's status, from the folders that run on every Python unless the arguments name others."""
    command = [str(each.path), "-m", "pytest", "-q", "-n", "8", "--dist", "worksteal", "-m", "not long", *arguments]
    if not any((_ROOT / argument.partition("::")[0]).exists() for argument in arguments):
        command += [str(folder.relative_to(_ROOT)) for folder in folders(_ROOT / "tests")]
    return _run(command, dict(os.environ))


def _run(command: Sequence[str], environment: dict[str, str]) -> int:
    """Run a command on this terminal, in the checkout; it has ended when this returns or raises."""
    process = subprocess.Popen(command, cwd=_ROOT, env=environment)
    try:
        return process.wait()
    except KeyboardInterrupt:
        # The terminal has interrupted the child as well, which prints its results and ends its workers.
        _wait(process)
        raise


def _wait(process: subprocess.Popen[bytes]) -> None:
    for end in (process.terminate, process.kill):
        try:
            process.wait(_PATIENCE)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            end()
        else:
            return
    process.wait()


def _say(text: str) -> None:
    print(text, flush=True)


def _each(those: Sequence[Interpreter], where: Path, arguments: Sequence[str]) -> int:
    """Run on one after another, also after a failure, and print the results at the end."""
    results: list[str] = []
    worst = 0
    for number, each in enumerate(those, 1):
        _say(f"\n== Python {each.version}: {number} of {len(those)} ==")
        begun = time.monotonic()
        try:
            status = _test(_environment(each, where), arguments)
        except Unusable as error:
            _say(str(error))
            status = 1
        except KeyboardInterrupt:
            _say(f"\nInterrupted on Python {each.version}. " + " ".join(results))
            return 130
        word = "passed" if status == 0 else f"FAILED (status {status})"
        results.append(f"Python {each.version}: {word} in {time.monotonic() - begun:.0f} s.")
        worst = max(worst, min(status, 1) if status >= 0 else 1)
    _say("\n" + "\n".join(results))
    return worst


def _listed(every: Sequence[Interpreter], primary: Interpreter, those: Sequence[Interpreter]) -> Iterator[str]:
    have = {each.minor: each for each in every} | {primary.minor: primary}
    for minor in SUPPORTED:
        if minor not in have:
            yield f"Python {minor}: not on this machine"
            continue
        each = have[minor]
        what = "the tests that need no server" if each in those else "not asked for"
        if each is primary:
            what = "everything, by `make test`"
        yield f"Python {each.version}: {what} ({each.path})"


def main(arguments: Sequence[str]) -> int:
    """Print the versions and run the tests; 1 if one failed, 2 if there are too few, 130 if interrupted."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.pythons",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Everything else is handed to pytest, such as -x or tests/core.",
    )
    parser.add_argument("--list", action="store_true", help="only list the versions and what runs on each")
    parser.add_argument("--environments", action="store_true", help="only make the environments")
    parser.add_argument("--only", action="append", default=[], metavar="3.12", help="this version; may be repeated")
    parser.add_argument(
        "--venvs", type=Path, default=_ROOT, metavar="FOLDER", help="where the environments are created"
    )
    options, rest = parser.parse_known_args(arguments)
    try:
        primary = probe(Path(sys.executable))
        if primary is None:
            raise Unusable(f"{sys.executable} cannot make environments: install its venv module.")
        every = found(os.environ.get("PATH", ""), _pyenv())
        those = chosen(every, primary, options.only)
        _say("\n".join(_listed(every, primary, those)))
        where = options.venvs.resolve()
        if options.environments:
            return _environments(those, where)
        return 0 if options.list else _each(those, where, rest)
    except Unusable as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
