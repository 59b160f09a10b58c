"""docker/compose.yaml, without a container engine: well-formed, pinned, and the same as the launcher's own table."""

import os
import re
import stat
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.lab.broker import SERVERS
from integration.lab.composing import compose_files
from integration.lab.errors import BrokerUnavailable
from integration.lab.running.images import IMAGES
from integration.lab.starting import find, start
from integration.lab.table import HOST, KINDS, PASSWORD, USER
from integration.lab.tests.fake import Fake
from tools.laws.source import ROOT

DOCKER = ROOT / "docker"
FILE: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
CONTAINED = [name for name in KINDS if name in IMAGES]
NOT_IN_THE_IMAGE = {"activemq": {"admin"}}


def test_the_committed_files_are_what_the_launcher_writes() -> None:
    expected = compose_files()
    stale = [str(path) for path, text in expected.items() if (DOCKER / path).read_text(encoding="utf-8") != text]
    assert stale == [], "write them anew: python -m integration.lab compose"
    files = {path.relative_to(DOCKER) for path in DOCKER.rglob("*") if path.is_file()}
    assert {path for path in files if path.parts[0] not in ("tls", "spark")} == set(expected)


def test_the_services_are_the_brokers() -> None:
    assert set(FILE) == {"services", "volumes"}
    assert list(KINDS) == list(SERVERS)
    assert list(FILE["services"]) == CONTAINED
    assert set(FILE["volumes"]) == {f"{name}-data" for name in CONTAINED}


@pytest.mark.parametrize("name", CONTAINED)
def test_a_service_equals_the_table(name: str) -> None:
    service, kind = FILE["services"][name], KINDS[name]
    assert re.fullmatch(r"[a-z/-]+:" + re.escape(kind.version), service["image"])
    hidden = kind.internal | NOT_IN_THE_IMAGE.get(name, set())
    ports = {listener: port for listener, port in kind.ports.items() if listener not in hidden}
    assert service["ports"] == [f"{HOST}:{port}:{port}" for port in ports.values()]
    asked = re.findall(r"\d+", service["healthcheck"]["test"][-1].partition(";")[0])
    assert asked == [str(port) for port in ports.values()]
    mounted = {volume.split(":")[1]: volume.split(":")[0] for volume in service["volumes"]}
    assert mounted == {"/jb/etc": f"./{name}", "/jb/tls": "./tls", "/jb/data": f"{name}-data"}


@pytest.mark.parametrize("name", [name for name in CONTAINED if KINDS[name].login])
def test_users_and_ports_are_in_the_configuration(name: str) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (DOCKER / name).iterdir())
    assert USER in text
    assert PASSWORD in text
    for listener, port in KINDS[name].ports.items():
        if listener not in KINDS[name].internal | NOT_IN_THE_IMAGE.get(name, set()):
            assert f"0.0.0.0:{port}" in text or f"port = {port}" in text


def test_every_file_that_a_command_names_is_mounted() -> None:
    for name, service in FILE["services"].items():
        words = " ".join([*service["entrypoint"], *service.get("environment", {}).values()])
        for file in re.findall(r"/jb/etc/([\w.]+)", words):
            assert (DOCKER / name / file).is_file(), f"{name} wants {file}"


def test_variables_of_the_container_are_not_taken_by_compose() -> None:
    for service in FILE["services"].values():
        for text in [*service["entrypoint"], *service["healthcheck"]["test"]]:
            assert "$" not in text.replace("$$", "")


def test_the_cluster_of_spark_is_made_of_this_project_and_reaches_the_brokers() -> None:
    made = yaml.safe_load((DOCKER / "spark" / "compose.yaml").read_text(encoding="utf-8"))
    assert [(DOCKER / "spark" / path).resolve() for path in made["include"]] == [DOCKER / "compose.yaml"]
    assert set(made["services"]) == {"master", "worker", "driver"}
    for service in made["services"].values():
        assert (DOCKER / "spark" / service["build"]["context"]).resolve() == ROOT
        assert service["volumes"] == ["spark-data:/data"]
    environment = made["services"]["driver"]["environment"]
    assert environment == {
        **made["services"]["worker"]["environment"],
        "PYSPARK_SUBMIT_ARGS": "--master spark://master:7077 pyspark-shell",
    }
    assert environment["JMS_PASSWORD"] == PASSWORD
    steps = (DOCKER / "spark" / "Dockerfile").read_text(encoding="utf-8")
    copied = " ".join(re.findall(r"^COPY (.+) /src/\w*$", steps, re.MULTILINE)).split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert {path.partition("/")[0] for path in needed} <= set(copied)
    assert all((ROOT / path).exists() for path in copied)
    assert re.search(r"^FROM python:3\.11-", steps, re.MULTILINE)


ENGINE = """#!/bin/sh
echo "$@" >> "$CALLS"
case " $* " in *" ps "*) echo id;; *" logs "*) echo from the container;; esac
"""


@pytest.fixture
def calls(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for docker that records its calls; brokers are to run in containers."""
    program = tmp_path / "bin" / "docker"
    program.parent.mkdir()
    program.write_text(ENGINE)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("JMSBRIDGE_BROKERS", "docker")
    return tmp_path / "calls"


def test_the_launcher_uses_an_engine_when_told_to(calls: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("integration.lab.running.probes.amqp_0_9_1", lambda port, ca=None: lambda: "")
    for probe in ("amqp_1_0", "stomp"):
        monkeypatch.setattr(f"integration.lab.running.probes.{probe}", lambda port, ca=None: lambda: "")
    monkeypatch.setattr("integration.lab.running.probes.rest", lambda admin, path: lambda: "")
    with start("rabbitmq") as broker:
        service = yaml.safe_load((broker.folder / "compose.yaml").read_text())["services"]["rabbitmq"]
        assert f"{HOST}:{broker.ports['amqp']}:{broker.ports['amqp']}" in service["ports"]
        assert f"0.0.0.0:{broker.ports['amqp']}" in (broker.folder / "etc" / "rabbitmq.conf").read_text()
        assert broker.running
        assert broker.log() == "from the container\n"
        broker.ctl("status")
        broker.restart(kill=True)
        broker.restart()
        assert find(broker.instance) is not None
    told = [line.partition("compose.yaml ")[2] for line in calls.read_text().splitlines()]
    wanted = [line for line in told if not line.startswith(("ps ", "logs "))]
    up, kill = "up --detach", "kill"
    assert wanted == [up, "exec --no-TTY rabbitmq rabbitmqctl status", kill, up, "stop", up, "down --volumes"]
    assert list((cache / "runs").iterdir()) == []


def test_a_broker_without_an_image_is_not_to_be_had_in_a_container(calls: Path) -> None:
    with pytest.raises(BrokerUnavailable, match="Qpid Broker-J has no container image"):
        start("brokerj")
    assert not calls.exists()


@pytest.mark.parametrize("file", ["compose.yaml", "spark/compose.yaml"])
def test_docker_accepts_the_file_if_it_is_installed(file: str) -> None:
    try:
        asked = subprocess.run(["docker", "compose", "version"], capture_output=True, check=False, timeout=30)
    except FileNotFoundError:
        pytest.skip("docker compose is not installed; it would check the files in docker/")
    if asked.returncode:
        pytest.skip("docker compose is not installed; it would check the files in docker/")
    checked = subprocess.run(
        ["docker", "compose", "--file", DOCKER / file, "config", "--quiet"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert checked.returncode == 0, checked.stderr
