"""What the Java brokers have in common."""

import os
import re
import shutil
from pathlib import Path

from integration.lab.errors import BrokerUnavailable
from integration.lab.fetching.tools import need, run
from integration.lab.servers.server import Run
from integration.lab.table import HOST

__all__ = ["check_java", "java", "small"]

_OLDEST = 17


def java() -> str:
    """The Java that runs brokers: the one of JAVA_HOME, or the first on the path."""
    home = os.environ.get("JAVA_HOME")
    program = Path(home, "bin", "java") if home else None
    if program is not None and program.exists():
        return str(program)
    return need("java", f"the Java brokers need Java {_OLDEST} or newer (Debian: default-jre-headless)")


def check_java() -> None:
    """BrokerUnavailable where there is no Java, or an old one."""
    program = java()
    said = run([program, "-XshowSettings:properties", "-version"], timeout=60, merge=True)
    found = re.search(r"java\.specification\.version = (\d+)", said)
    if found is None or int(found[1]) < _OLDEST:
        raise BrokerUnavailable(f"{shutil.which(program)} is older than Java {_OLDEST}, which the Java brokers need")


def small(site: Run, heap: str = "256m") -> list[str]:
    """A Java that starts fast, stays small, and keeps to its own folder."""
    return [
        java() if site.host == HOST else "java",
        "-Xms64m",
        f"-Xmx{heap}",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-XX:-UsePerfData",
        f"-XX:ErrorFile={site.folder}/logs/hs_err.log",
        f"-Djava.io.tmpdir={site.folder}/tmp",
        f"-Duser.home={site.folder}",
    ]
