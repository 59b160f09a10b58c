"""Each law notices a violation, and sees the whole checkout; `make check` applies them."""

from pathlib import Path, PurePosixPath

import pytest

from tools.laws import PYTHON_LAWS, TEXT_LAWS, brokers, packages, structure
from tools.laws.source import ROOT, Source, python_sources, sources


def test_the_laws_see_the_whole_checkout() -> None:
    paths = {str(source.path) for source in sources()}
    assert {"README.md", "pyproject.toml", ".ci/run", "jmsbridge/errors.py", "tools/laws/size.py"} <= paths
    modules = {source.module for source in python_sources(sources())}
    assert {"jmsbridge.spi", "jmsbridge.spi.backend", "tests.project.test_laws"} <= modules


def broken(law: str, path: str, text: str) -> list[str]:
    check = (PYTHON_LAWS | TEXT_LAWS)[law]
    return [violation.text for violation in check(Source(PurePosixPath(path), text))]


BACKEND = "backends/jmsbridge_stomp/link.py"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (BACKEND, "import jmsbridge"),
        (BACKEND, "from jmsbridge import errors"),
        (BACKEND, "from jmsbridge.session import Session"),
        (BACKEND, "from jmsbridge.spiced import x"),
        (BACKEND, "import pika"),
        (BACKEND, "import jmsbridge_embedded.memory.queues.queue"),
        (BACKEND, "def f():\n    from jmsbridge.core.lane import Lane"),
        ("jmsbridge/factory.py", "import jmsbridge_embedded"),
        ("jmsbridge/factory.py", "name = 'jmsbridge_stomp'"),
        ("jmsbridge/core/lane.py", "from jmsbridge.testing import harness"),
        ("jmsbridge/core/lane.py", "from jmsbridge import cli"),
        ("jmsbridge/core/lane.py", "from ..spark import x"),
        ("jmsbridge/spi/ticket.py", "from jmsbridge.core.ticket import Ticket"),
        ("jmsbridge/spi/ticket.py", "from ..session import Session"),
        ("jmsbridge/spi/ticket.py", "from jmsbridge.transport import tickets"),
        ("jmsbridge/transport/network/loop.py", "from jmsbridge.config import Options"),
        ("jmsbridge/transport/network/loop.py", "from jmsbridge.selectors import tree"),
        ("jmsbridge/core/lane.py", "import socket"),
        ("jmsbridge/spi/ticket.py", "import ssl"),
    ],
)
def test_forbidden_imports_are_seen(path: str, text: str) -> None:
    assert len(broken("imports", path, text)) == 1


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (BACKEND, "import socket, msgspec, stomp.utils"),
        (
            BACKEND,
            "from jmsbridge.spi import Link\nfrom jmsbridge import codecs\nfrom . import wire\nfrom .wire import x",
        ),
        (BACKEND, "from jmsbridge.selectors.tree import Tree\nfrom jmsbridge_stomp.wire import encode"),
        ("jmsbridge/core/lane.py", "from jmsbridge.errors import JMSError\nfrom . import clock"),
        (BACKEND, "from jmsbridge.transport.network.loop import new_loop"),
        (
            "jmsbridge/transport/network/loop.py",
            "import selectors\nfrom jmsbridge.spi import Ticket\nfrom jmsbridge import values",
        ),
        ("jmsbridge/headers.py", "REASON = 'JMS_jmsbridge_dead_letter_reason'"),
    ],
)
def test_allowed_imports_pass(path: str, text: str) -> None:
    assert broken("imports", path, text) == []


def function(lines: int, comment: str = "") -> str:
    return f"def f():{comment}\n" + "    x = 1\n" * (lines - 1)


def test_the_size_law() -> None:
    assert broken("size", "a.py", function(39)) == []
    assert len(broken("size", "a.py", function(40))) == 1
    assert broken("size", "a.py", function(60, "  # size: one table, read top to bottom")) == []
    documented = 'def f():\n    """' + "Line.\n" * 20 + '    """\n' + "    x = 1\n" * 30
    assert broken("size", "a.py", documented) == []
    assert broken("size", "a.py", "x = 1\n" * 499) == []
    assert len(broken("size", "a.py", "x = 1\n" * 500)) == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("x = 1", 1),
        ("__all__ = ['y']\n_x = 1", 1),
        ("__all__ = ['f', 'f']\ndef f(): ...", 1),
        ("__all__ = []\ndef f(): ...", 1),
        ("__all__ = []\nLIMIT: int = 3", 1),
        ("__all__ = []\nif True:\n    class C: ...", 1),
        ("__all__ = ['os', 'f']\nimport os\ndef f(): ...", 0),
        ("__all__ = ['f']\ntry:\n    from a import f\nexcept ImportError:\n    f = None", 0),
        ("__all__: list[str] = []\nlogger = 1\nT = TypeVar('T')", 0),
    ],
)
def test_the_export_law(text: str, count: int) -> None:
    assert len(broken("exports", "jmsbridge/a.py", text)) == count


@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        ("jmsbridge/consumer.py", "class DurableSubscription: ...", 1),
        ("jmsbridge/consumer.py", "class _Link: ...", 0),
        ("jmsbridge/spi/backend.py", "class Session: ...", 1),
        ("backends/jmsbridge_stomp/link.py", "class StompConnection: ...", 1),
        ("backends/jmsbridge_stomp/link.py", "class StompLink: ...\nclass StoredMessage: ...", 0),
        ("jmsbridge/core/inbox.py", "def take(self):\n    self.ready.wait(1)", 1),
        ("jmsbridge/core/inbox.py", "def wait_ready(self):\n    self.ready.wait()", 1),
        ("jmsbridge/core/inbox.py", "def wait_ready(self, timeout):\n    self.ready.wait(timeout)", 0),
        ("jmsbridge/core/inbox.py", "def _run(self):\n    self.ready.wait()  # wait: until close", 0),
    ],
)
def test_the_naming_law(path: str, text: str, count: int) -> None:
    assert len(broken("naming", path, text)) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("see /" + "tmp/x", 1),
        ("cd /" + "work/main", 1),
        ("index = https://" + "pypi" + ".org/simple", 1),
        ("host = '10" + ".1.2.3'", 1),
        ("host = '127.0.0.1'", 0),
        ("a/work/b and ./home/x", 0),
        ("version 3.1.0.2", 0),
    ],
)
def test_the_law_of_places(text: str, count: int) -> None:
    assert len(broken("places", "docs/x.md", text)) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("def test_a():\n    f()", 1),
        ("def test_a():\n    assert f()", 0),
        ("def test_a():\n    with pytest.raises(ValueError):\n        f()", 0),
        ("def test_a():\n    check()\ndef check():\n    assert f()", 0),
        ("def test_a():\n    check()\ndef check():\n    check()", 1),
        ("import time\ndef test_a():\n    time.sleep(1)\n    assert f()", 1),
        ("import time\ntime.sleep(0)", 0),
        ("import time\ntime.sleep(9)  # sleep: the broker's clock has seconds", 0),
        ("from time import sleep", 1),
        ("import threading\nthreading.Event().wait(9)", 1),
        ("import threading\nthreading.Event().wait(9)  # sleep: a reason does not make it one", 1),
        ("from threading import Event\nwhile not done():\n    Event().wait(timeout=0.1)", 1),
        ("import threading\ndone = threading.Event()\ndone.wait(9)\nEvent.wait(done)\npool().wait(9)", 0),
        ("try:\n    f()\nexcept OSError:\n    pass", 1),
        ("try:\n    f()\nexcept OSError:\n    pass  # gone already", 0),
        ("try:\n    f()\nexcept:\n    g()", 1),
    ],
)
def test_the_law_of_tests(text: str, count: int) -> None:
    assert len(broken("tests", "tests/test_x.py", text)) == count


@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        ("docs/x.md", "It hands the message\nback.", 1),
        ("docs/x.md", "It gives everything back at once, and buries the rest.", 2),
        ("docs/x.md", "`UNLIMITED_REQUEUE` and ``park()`` are names.", 0),
        ("docs/x.md", "seen with seed 017, see stomp.md section 4", 2),
        ("docs/x.md", "seeds 100 to 103; back to the application; a hand, and nothing is back", 0),
        ("docs/glossary.md", "Not: park.", 0),
        ("tests/core/test_x.py", "# parked", 1),
        ("tests/core/test_x.py", '"""Whoever reads it, somebody dooms its fate."""', 4),
        ("tests/core/test_x.py", "def test_nobody():\n    return fate", 0),
        ("CHANGELOG.md", "## [Unreleased]\n- parked\n## [0.1.0]\n- parked\n", 1),
        ("tools/x.py", "def park(lane):\n    return lane", 0),
        ("tools/x.py", "# given\n# back", 1),
        ("tools/x.py", "given = 1  # given\nback = 2  # back", 0),
        ("tools/x.py", '"""What is handed\n    back."""', 1),
        ("tools/x.py", 'raise ValueError(f"{name} was withdrawn")', 1),
        ("tools/x.yaml", "# parked", 0),
    ],
)
def test_the_law_of_vocabulary(path: str, text: str, count: int) -> None:
    assert len(broken("vocabulary", path, text)) == count


def test_the_glossary_and_the_law_of_vocabulary_agree() -> None:
    table = (ROOT / "docs/glossary.md").read_text(encoding="utf-8").partition("| not |\n")[2].partition("\n\n")[0]
    words = {word for row in table.splitlines() for word in row.rsplit("|", 2)[-2].strip(" -").split(", ")} - {""}
    assert {"park", "hand back"} <= words
    assert [word for word in words if not broken("vocabulary", "docs/x.md", word)] == []


def test_the_packaging_law(tmp_path: Path) -> None:
    (tmp_path / "jmsbridge").mkdir()
    (tmp_path / "backends" / "jmsbridge_x").mkdir(parents=True)
    (tmp_path / "backends" / "__init__.py").touch()
    assert len(list(packages.check(tmp_path))) == 3
    (tmp_path / "jmsbridge" / "py.typed").touch()
    (tmp_path / "backends" / "jmsbridge_x" / "py.typed").touch()
    (tmp_path / "backends" / "__init__.py").unlink()
    assert list(packages.check(tmp_path)) == []


def structure_of(**imports: str) -> list[str]:
    """Violations of modules of jmsbridge, each with the modules that it imports; ``__`` separates folders."""
    sources = [
        Source(
            PurePosixPath("jmsbridge", *name.split("__")).with_suffix(".py"),
            "".join(f"from jmsbridge.{other} import x\n" for other in others.split()),
        )
        for name, others in imports.items()
    ]
    return [violation.text for violation in structure.check(sources)]


@pytest.mark.parametrize(
    ("imports", "count"),
    [
        ({"consumer": "core.session", "core__session": "core.receiving.inbox", "core__receiving__inbox": "spi.x"}, 0),
        ({"core__session": "consumer", "consumer": ""}, 1),
        ({"spi__backend": "values", "values": ""}, 0),
        ({"values": "spi.backend", "spi__backend": ""}, 1),
        ({"core__a": "core.b", "core__b": "core.c", "core__c": "core.a"}, 0),
        ({"core__a": "core.b", "core__b": "core.c", "core__c": "core.d", "core__d": "core.a"}, 1),
        ({"cli__a": "demo.b", "demo__b": "cli.a"}, 1),
    ],
)
def test_the_laws_of_structure(imports: dict[str, str], count: int) -> None:
    assert len(structure_of(**imports)) == count


def test_an_import_for_annotations_only_counts() -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from jmsbridge.session import Session"
    lower = Source(PurePosixPath("jmsbridge/spi/x.py"), text)
    higher = Source(PurePosixPath("jmsbridge/session.py"), "")
    assert [violation.line for violation in structure.check([lower, higher])] == [3]


@pytest.mark.parametrize(
    ("path", "text", "count"),
    [
        ("integration/faults/run.py", "url = 'rabbitmq://here'", 1),
        ("integration/faults/run.py", "from integration.lab.servers import artemis", 1),
        ("integration/faults/run.py", '"""As in: run pulsar."""  # or on rabbitmq', 0),
        ("integration/faults/brokers.py", "ROWS = {'rabbitmq': 1}", 0),
        ("integration/rabbitmq/test_x.py", "url = 'rabbitmq://here'", 0),
        ("integration/interop/test_rabbitmq.py", "url = 'rabbitmq://here'", 0),
        ("tests/cli/test_x.py", "url = 'rabbitmq://here'", 0),
    ],
)
def test_only_tables_and_a_brokers_own_files_name_it(path: str, text: str, count: int) -> None:
    assert len(broken("brokers", path, text)) == count


def test_every_table_exists() -> None:
    assert [table for table in brokers.TABLES if not (ROOT / table).is_file()] == []
