"""Java programs on jmsbridge: those of the documentation, and programs with errors."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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
EXIT_IN_A_LISTENER = """
        session.createConsumer(session.createQueue("last")).setMessageListener(message -> System.exit(9));
        session.createProducer(session.createQueue("last")).send(session.createMessage());
        Thread.sleep(60_000);
"""
# An unknown method is an unexpected error of the face, even if the program ignores it.
UNEXPECTED = """
        try {
            java.lang.reflect.Proxy.getInvocationHandler(session)
                .invoke(session, Object.class.getMethod("notify"), null);
        } catch (Throwable error) {
        }
"""
PACKAGED = "package %s; public class Program { public static void main(String... arguments) { %s } }"


@contextmanager
def started(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    java_or_skip()
    environment = {name: value for name, value in os.environ.items() if name != "JMSBRIDGE_URL"}
    environment["PYTHONPATH"] = os.pathsep.join(str(each) for each in (ROOT, ROOT / "backends"))
    process = subprocess.Popen(
        [sys.executable, "-m", "integration.conformance", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=10)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    with started(*arguments) as process:
        output, errors = process.communicate(timeout=200)
    return subprocess.CompletedProcess(arguments, process.returncode, output, errors)


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
        ("Thread.sleep(1000);", 0, ""),  # an open connection does not block the end
        ('throw new RuntimeException("mine");', 1, "java.lang.RuntimeException: mine"),
        ("System.exit(7);", 7, ""),
        ("new Thread(() -> System.exit(8)).start();", 8, ""),
        (EXIT_IN_A_LISTENER, 9, ""),
        (UNEXPECTED, 70, "NotImplementedError: notify"),
    ],
    ids=["left open", "exception", "exit", "exit elsewhere", "exit in a listener", "unexpected error"],
)
def test_a_program_ends_as_in_java(ending: str, status: int, said: str, tmp_path: Path) -> None:
    program = tmp_path / "Broken.java"
    program.write_text(BROKEN % ending, encoding="utf-8")
    ran = run(str(program))
    assert ran.returncode == status, ran.stderr
    assert said in ran.stderr


def test_ctrl_c_ends_a_program(tmp_path: Path) -> None:
    program = tmp_path / "Broken.java"
    program.write_text(BROKEN % "Thread.sleep(60_000);", encoding="utf-8")
    with started(str(program)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "listened\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130


def test_programs_in_packages_run(tmp_path: Path) -> None:
    for package, body in (("one", 'two.Program.main("a", "b");'), ("two", "System.out.println(arguments.length);")):
        (tmp_path / package).mkdir()
        (tmp_path / package / "Program.java").write_text(PACKAGED % (package, body), encoding="utf-8")
    ran = run("--source", str(tmp_path / "two" / "Program.java"), str(tmp_path / "one" / "Program.java"))
    assert (ran.stdout, ran.returncode) == ("2\n", 0), ran.stderr


@pytest.mark.parametrize(
    ("program", "said"),
    [("no.such.Program", "no program no.such.Program"), ("Missing.java", "No such file"), ("jmsbridge.Launch", "main")],
)
def test_a_missing_program_is_named(program: str, said: str) -> None:
    ran = run(program)
    assert ran.returncode == 1
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_program_that_does_not_compile_says_so(tmp_path: Path) -> None:
    program = tmp_path / "Broken.java"
    program.write_text(BROKEN % "nonsense", encoding="utf-8")
    ran = run(str(program))
    assert ran.returncode == 1
    assert "not a statement" in ran.stderr
