"""Where RabbitMQ's packages come from, and the errors on hosts that do not have them."""

import re
import shutil
from pathlib import Path

import pytest

from integration.lab.errors import BrokerFailed, BrokerUnavailable
from integration.lab.fetching.tools import need, run
from integration.lab.servers import rabbitmq_packages as debian

REFUSED = {
    "ubuntu": (
        'ID=ubuntu\nPRETTY_NAME="Ubuntu 24.04"\n',
        "this host is Ubuntu 24.04: RabbitMQ is fetched from Debian's",
    ),
    "nothing": (None, "RabbitMQ is fetched from Debian's packages, which needs a Debian host; elsewhere use Docker"),
}


@pytest.mark.parametrize("host", REFUSED)
def test_the_error_on_other_hosts_names_alternatives(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, message = REFUSED[host]
    release = tmp_path / "os-release"
    if text is not None:
        release.write_text(text)
    monkeypatch.setattr(debian, "_RELEASE", release)
    with pytest.raises(BrokerUnavailable, match=re.escape(message)):
        debian.fetch_rabbitmq("trixie", "4.0.5", tmp_path, tmp_path, lambda said: None)


def test_a_missing_program_is_named_with_its_purpose() -> None:
    with pytest.raises(BrokerUnavailable, match="no-such-program is missing: it makes coffee"):
        need("no-such-program", "it makes coffee")


def test_a_failed_command_shows_the_end_of_what_it_said() -> None:
    with pytest.raises(BrokerFailed, match=r"sh failed \(3\):\n  said this\n  and that"):
        run(["sh", "-c", "echo said this; echo and that >&2; exit 3"])
    with pytest.raises(BrokerFailed, match=r"sh did not end within 0\.2 s"):
        run([shutil.which("sh") or "sh", "-c", "read forever < /dev/zero; sleep 5"], timeout=0.2)
