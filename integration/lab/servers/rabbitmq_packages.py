"""RabbitMQ and Erlang from Debian packages, unpacked into a folder of the user: nothing is installed on the host."""

import os
import shutil
from pathlib import Path

from integration.lab.errors import BrokerFailed, BrokerUnavailable
from integration.lab.fetching.install import Say
from integration.lab.fetching.tools import need, run

__all__ = ["check_rabbitmq", "fetch_rabbitmq"]

_ERLANG = (
    *("base", "asn1", "crypto", "eldap", "inets", "mnesia", "os-mon", "parsetools", "public-key", "runtime-tools"),
    *("ssl", "syntax-tools", "tools", "xmerl"),
)
# Libraries of Erlang, for hosts of another Debian release.
_COMMON = ("libc6", "libgcc-s1", "libstdc++6", "libtinfo6", "zlib1g", "libzstd1", "libsystemd0", "libcap2")
_LIBRARIES = {
    "trixie": (*_COMMON, "libssl3t64"),
    "bookworm": (*_COMMON, "libssl3", "libgcrypt20", "libgpg-error0", "liblz4-1", "liblzma5"),
}
_RELEASE = Path("/etc/os-release")
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def fetch_rabbitmq(suite: str, version: str, aside: Path, folder: Path, say: Say) -> None:
    """Download, verify (by apt-get) and unpack into `aside` the installation that will run in `folder`."""
    own = _host_release() == suite
    packages = ["rabbitmq-server", *(f"erlang-{part}" for part in _ERLANG)]
    packages += [] if own else [*_LIBRARIES[suite], "patchelf"]
    downloads = aside / "downloads"
    say(f"package index of Debian {suite}")
    options = _apt_options(downloads, suite)
    run([need("apt-get", _WHY), *options, "update"])
    say(f"{len(packages)} packages of Debian {suite}")
    run(["apt-get", *options, "download", *packages], folder=downloads)
    say("unpacking")
    for package in sorted(downloads.glob("*.deb")):
        run([need("dpkg-deb", _WHY), "-x", package, aside])
    if not list(aside.glob(f"usr/lib/rabbitmq/lib/rabbitmq_server-{version}")):
        raise BrokerFailed(f"Debian {suite} no longer has RabbitMQ {version}: update integration/lab/table.py")
    shutil.rmtree(downloads)
    if not own:
        say("adapting the programs to this host")
        _fit(aside, folder)
    for script in aside.glob("usr/lib/erlang/**/bin/erl"):
        text = script.read_text()
        script.unlink()  # it may be a symbolic link
        script.write_text(text.replace("ROOTDIR=/usr/lib/erlang", f"ROOTDIR={folder}/usr/lib/erlang"))
        script.chmod(0o755)


def check_rabbitmq(folder: Path) -> None:
    """Check that Erlang runs there, with its crypto library."""
    program = 'ok = application:ensure_started(crypto), io:format("ready"), halt().'
    said = run([folder / "usr/lib/erlang/bin/erl", "-noshell", "-noinput", "-eval", program], timeout=60)
    if "ready" not in said:
        raise BrokerFailed(f"the Erlang below {folder} does not run: {said.strip()[-300:]}")


_WHY = "RabbitMQ is fetched from Debian's packages, which needs a Debian host; elsewhere use Docker or a server's URL"


def _host_release() -> str:
    facts: dict[str, str] = {}
    try:
        for line in _RELEASE.read_text().splitlines():
            key, _, value = line.partition("=")
            facts[key] = value.strip('"')
    except FileNotFoundError:
        raise BrokerUnavailable(_WHY) from None
    if facts.get("ID") != "debian":
        raise BrokerUnavailable(f"this host is {facts.get('PRETTY_NAME', 'no Debian')}: {_WHY}")
    return facts.get("VERSION_CODENAME", "")


def _apt_options(downloads: Path, suite: str) -> list[str]:
    """A private configuration of apt: the host's package source with another suite; the host is not changed."""
    source = _package_source()
    for needed in ("lists/partial", "cache/archives/partial"):
        (downloads / needed).mkdir(mode=0o700, parents=True)
    signed = f" [signed-by={_KEYRING}]" if _KEYRING.exists() else ""
    (downloads / "sources.list").write_text(f"deb{signed} {source} {suite} main\n")
    settings = {
        "Dir::Etc::sourcelist": downloads / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": downloads / "lists",
        "Dir::State::status": "/dev/null",
        "Dir::Cache": downloads / "cache",
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Acquire::Retries": "3",
    }
    return [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]


def _package_source() -> str:
    wanted = ["--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages"]
    listed = [line.split(maxsplit=1) for line in run([need("apt-get", _WHY), "indextargets", *wanted]).splitlines()]
    for codename, address in listed:
        if codename == _host_release():
            return address
    raise BrokerUnavailable("apt-get has no package source for this Debian release; see /etc/apt/sources.list.d")


def _fit(aside: Path, folder: Path) -> None:
    """Make every program use the libraries that come with it, in its final folder."""
    linker = next(aside.glob("usr/lib/*-linux-gnu/ld-linux*.so.*"))
    libraries = linker.parent
    patchelf: list[str | Path] = [linker, "--library-path", libraries, aside / "usr/bin/patchelf"]
    stands = folder / libraries.relative_to(aside)
    for path in sorted((aside / "usr/lib/erlang").rglob("*")):
        if path.is_symlink() or not path.is_file() or not _is_elf(path):
            continue
        interpreter: list[str | Path] = ["--set-interpreter", stands / linker.name] if _is_program(path) else []
        run([*patchelf, "--force-rpath", "--set-rpath", stands, *interpreter, path])


def _is_elf(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _is_program(path: Path) -> bool:
    return os.access(path, os.X_OK) and path.suffix != ".so"
