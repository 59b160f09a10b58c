"""Starting, killing, restarting, sharing and cleaning up, with a broker of a few lines of Python."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from integration.lab.errors import BrokerError, BrokerFailed, BrokerUnavailable
from integration.lab.running import state as states
from integration.lab.running.ports import is_free
from integration.lab.running.processes import inside, myself
from integration.lab.starting import find, join, leave, start
from integration.lab.table import HOST
from integration.lab.tests.fake import FAKE, Fake, ask
from tools.laws.source import ROOT


def left_over(cache: Path) -> list[object]:
    """Remaining processes and folders of brokers."""
    return [*(cache / "runs").iterdir(), *inside(cache)]


def test_a_broker_starts_answers_and_leaves_nothing(fake: Fake, cache: Path) -> None:
    with start("fake") as broker:
        assert broker.running
        assert ask(broker.ports["main"], b"a") == b"kept a"
        assert broker.url() == f"fake://jb:jbpass@{HOST}:{broker.ports['main']}"
        assert broker.url(user=None, path="/x") == f"fake://{HOST}:{broker.ports['main']}/x"
        assert "jbpass" not in repr(broker)
        assert "listening" in broker.log()
        assert (broker.folder / "etc" / "fake.conf").read_text() == f"port={broker.ports['main']}\n"
        assert len(list(inside(cache))) == 2, "the helper that it started counts as well"
    assert not broker.running
    assert left_over(cache) == []
    assert is_free(broker.ports["main"])
    broker.stop()


@pytest.mark.parametrize("kill", [True, False])
def test_a_restart_keeps_ports_and_data(fake: Fake, kill: bool) -> None:
    with start("fake") as broker:
        before = broker.ports
        ask(broker.ports["main"], b"a")
        broker.restart(kill=kill)
        assert broker.ports == before
        assert ask(broker.ports["main"], b"b") == b"kept ab"
        broker.purge()
        assert ask(broker.ports["main"], b"") == b"kept "


def test_kill_ends_the_process_and_frees_its_ports(fake: Fake, cache: Path) -> None:
    with start("fake") as broker:
        broker.kill()
        assert not broker.running
        assert is_free(broker.ports["main"])
        assert list(inside(cache)) == []
        broker.kill()
        broker.restart()
        assert broker.running


def test_brokers_of_tests_do_not_use_the_default_ports(fake: Fake) -> None:
    with start("fake") as mine, start("fake", keep=True) as usual, start("fake", keep=True) as second:
        assert set(mine.ports.values()).isdisjoint(FAKE.ports.values())
        assert usual.ports == FAKE.ports
        assert set(second.ports.values()).isdisjoint(FAKE.ports.values())
        assert ask(second.ports["main"], b"") == b"kept "


def test_a_default_port_in_use_moves_all_of_them(fake: Fake) -> None:
    with socket.create_server((HOST, FAKE.ports["inner"])), start("fake", keep=True) as broker:
        assert set(broker.ports.values()).isdisjoint(FAKE.ports.values())


def test_a_broker_that_ends_at_once_is_an_error_with_its_log(fake: Fake, cache: Path) -> None:
    fake.script = "print('no such luck'); raise SystemExit(1)"
    with pytest.raises(BrokerFailed, match=r"Fake broker \(fake-.*it ended while starting[\s\S]*no such luck"):
        start("fake")
    assert left_over(cache) == []


def test_a_broker_that_never_answers_is_ended(fake: Fake, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake.script = "import signal; print('sulking', flush=True); signal.pause()"
    monkeypatch.setattr(Fake, "start_timeout", 0.5)
    with pytest.raises(BrokerFailed, match=r"not ready after 0\.5 s \(main: "):
        start("fake")
    assert left_over(cache) == []


def test_ctrl_c_while_starting_leaves_nothing(fake: Fake, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("integration.lab.broker.wait_ready", interrupted)
    with pytest.raises(KeyboardInterrupt):
        start("fake")
    assert left_over(cache) == []


def test_the_error_for_a_broker_that_is_not_fetched_names_the_command(fake: Fake) -> None:
    fake.home = None
    with pytest.raises(BrokerUnavailable, match="Fake broker is not fetched: `make brokers` fetches it"):
        start("fake")


def test_unknown_names_list_the_known_ones(cache: Path) -> None:
    with pytest.raises(ValueError, match="there is no broker 'nix'; there are rabbitmq, "):
        start("nix")


def test_a_name_can_be_used_once(fake: Fake) -> None:
    with start("fake", instance="one"), pytest.raises(BrokerError, match="'one' exists already"):
        start("fake", instance="one")
    assert find("one") is None


def test_rabbitmqctl_and_unknown_schemes_are_refused(fake: Fake) -> None:
    with start("fake") as broker:
        with pytest.raises(BrokerError, match="Fake broker has no rabbitmqctl"):
            broker.ctl("status")
        with pytest.raises(ValueError, match="Fake broker has no amqp; it has fake"):
            broker.url("amqp")


def test_options_are_those_of_the_kind_and_stay(fake: Fake) -> None:
    with start("fake", options=["spiced", "spiced"]) as broker:
        assert broker.options == ("spiced",)
        broker.restart(kill=True)
        found = find(broker.instance)
        assert found is not None
        assert found.options == ("spiced",)
        assert (broker.folder / "etc" / "fake.conf").read_text().endswith("spiced\n")
    with pytest.raises(ValueError, match="Fake broker has no option 'sour'; it has spiced"):
        start("fake", options=["sour"])
    with pytest.raises(ValueError, match="Apache Pulsar has no option 'spiced'; it has logins, no-filter"):
        start("pulsar", options=["spiced"])


def test_in_a_container_there_are_no_options(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JMSBRIDGE_BROKERS", "docker")
    with pytest.raises(BrokerUnavailable, match="Fake broker in a container has no spiced"):
        start("fake", options=["spiced"])


def _owner_of_a_broker(cache: Path) -> tuple[subprocess.Popen[str], str, int]:
    command = [sys.executable, "-m", "integration.lab.tests.fake"]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    instance, port = process.stdout.readline().split()
    return process, instance, int(port)


def test_brokers_of_a_killed_process_are_removed_at_the_next_start(fake: Fake, cache: Path) -> None:
    process, instance, port = _owner_of_a_broker(cache)
    with process:
        with start("fake"):
            assert find(instance) is not None, "its owner runs, so the sweep must not end it"
        os.kill(process.pid, signal.SIGKILL)
    assert ask(port, b"") == b"kept ", "it outlives its owner for a while"
    with start("fake") as mine:
        assert find(instance) is None
        assert is_free(port)
        assert [path.name for path in (cache / "runs").iterdir()] == [mine.instance]


def test_a_folder_without_a_state_is_removed(fake: Fake, cache: Path) -> None:
    with start("fake", keep=True) as broker:
        (broker.folder / "state.json").unlink()
        assert states.sweep() == [broker.instance]
        assert left_over(cache) == []


def test_a_shared_broker_is_stopped_by_its_last_user(fake: Fake, cache: Path) -> None:
    mine = join("fake", "shared")
    again = join("fake", "shared")
    assert again.ports == mine.ports
    other = subprocess.run(
        [sys.executable, "-c", _JOIN_AND_LEAVE], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    assert other.stdout.split() == [str(mine.ports["main"]), "True"], other.stderr
    assert mine.running, "the other one was not the last"
    leave(mine)
    assert left_over(cache) == []
    leave(mine)


_JOIN_AND_LEAVE = """
from integration.lab.starting import join, leave
from integration.lab.tests.fake import register
register()
broker = join("fake", "shared")
print(broker.ports["main"], broker.running)
leave(broker)
"""


def test_a_shared_broker_that_crashed_is_started_again(fake: Fake) -> None:
    broker = join("fake", "shared")
    broker.kill()
    again = join("fake", "shared")
    assert again.running
    assert again.ports == broker.ports
    leave(again)


def test_a_reused_process_id_is_not_the_old_process(fake: Fake) -> None:
    me = myself()
    assert me.alive
    impostor = type(me)(me.pid, me.started + "0")
    assert not impostor.alive
    impostor.kill()
    impostor.terminate()
    assert not type(me)(me.pid, "").alive
