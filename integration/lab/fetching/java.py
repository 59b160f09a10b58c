"""The common part of the Java brokers."""

import os
import re
import shutil
from pathlib import Path

from integration.lab.errors import BrokerUnavailable
from integration.lab.fetching.tools import need, run
from integration.lab.servers.server import Run
from integration.lab.table import HOST, MEASURING

__all__ = ["check_java", "java", "machine"]

_OLDEST = 17
_LARGE = ("-Xms1g", "-Xmx2g")


def java() -> str:
    """The Java that runs brokers: that of JAVA_HOME, or the first on the path."""
    home = os.environ.get("JAVA_HOME")
    program = Path(home, "bin", "java") if home else None
    if program is not None and program.exists():
        return str(program)
    return need("java", f"the Java brokers need Java {_OLDEST} or newer (Debian: default-jre-headless)")


def check_java() -> None:
    """BrokerUnavailable if there is no Java, or an old one."""
    program = java()
    said = run([program, "-XshowSettings:properties", "-version"], timeout=60, merge=True)
    found = re.search(r"java\.specification\.version = (\d+)", said)
    if found is None or int(found[1]) < _OLDEST:
        raise BrokerUnavailable(f"{shutil.which(program)} is older than Java {_OLDEST}, which the Java brokers need")


def machine(site: Run, heap: str = "256m") -> list[str]:
    """A Java that starts fast, uses little memory, and writes only into its own folder; with MEASURING, a large one."""
    quick = ["-Xms64m", f"-Xmx{heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return [
        java() if site.host == HOST else "java",
        *(_LARGE if MEASURING in site.options else quick),
        "-XX:-UsePerfData",
        f"-XX:ErrorFile={site.folder}/logs/hs_err.log",
        f"-Djava.io.tmpdir={site.folder}/tmp",
        f"-Duser.home={site.folder}",
    ]
