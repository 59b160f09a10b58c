"""Java programs on jmsbridge, as the page shows them, and what becomes of their errors."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from integration.conformance.harness import java_or_skip
from integration.conformance.jars import HERE
from tools.laws.source import ROOT

pytestmark = pytest.mark.timeout(900)

PAGE = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
BROKEN = """
import jakarta.jms.*;
public class Broken {
    public static void main(String[] arguments) throws Exception {
        ConnectionFactory factory = (ConnectionFactory) new javax.naming.InitialContext().lookup("ConnectionFactory");
        Connection connection = factory.createConnection();
        Session session = connection.createSession();
        session.createConsumer(session.createQueue("q")).setMessageListener(message -> System.out.println("listened"));
        connection.start();
        session.createProducer(session.createQueue("q")).send(session.createMessage());
        %s
    }
}
"""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    java_or_skip()
    environment = {name: value for name, value in os.environ.items() if name != "JMSBRIDGE_URL"}
    environment["PYTHONPATH"] = os.pathsep.join(str(each) for each in (ROOT, ROOT / "backends"))
    return subprocess.run(
        [sys.executable, "-m", "integration.conformance", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.mark.parametrize("api", ["jakarta.jms", "javax.jms"])
def test_the_program_of_the_page_runs(api: str) -> None:
    program = HERE / "examples" / "Orders.java"
    assert program.read_text(encoding="utf-8") in PAGE
    ran = run("--api", api, str(program))
    assert (ran.stdout, ran.returncode) == ("thank you for two of everything\n", 0), ran.stderr


def test_the_junit_test_of_the_page_runs() -> None:
    command = re.search(r"conformance (--source .*) org.junit.runner.JUnitCore OrdersTest", PAGE)
    assert command is not None
    ran = run(*command[1].split(), "org.junit.runner.JUnitCore", "OrdersTest")
    assert "OK (2 tests)" in ran.stdout
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("ending", "status", "said"),
    [
        ("Thread.sleep(1000);", 0, ""),  # a connection that nobody closes does not hold up the end
        ('throw new RuntimeException("mine");', 1, "java.lang.RuntimeException: mine"),
        ("System.exit(7);", 7, ""),
        ("new Thread(() -> System.exit(8)).start();", 8, ""),
    ],
    ids=["left open", "exception", "exit", "exit elsewhere"],
)
def test_a_program_ends_as_in_java(ending: str, status: int, said: str, tmp_path: Path) -> None:
    program = tmp_path / "Broken.java"
    program.write_text(BROKEN % ending, encoding="utf-8")
    ran = run(str(program))
    assert ran.returncode == status, ran.stderr
    assert said in ran.stderr


def test_a_program_that_does_not_compile_says_so(tmp_path: Path) -> None:
    program = tmp_path / "Broken.java"
    program.write_text(BROKEN % "nonsense", encoding="utf-8")
    ran = run(str(program))
    assert ran.returncode == 1
    assert "not a statement" in ran.stderr
