"""`jmsbridge migrate`: its output, its page, its errors."""

import json
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from jmsbridge.cli import app

SOURCES = Path(__file__).parent / "sources"


def _run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["migrate", *map(str, arguments)])


def test_lines_for_tools() -> None:
    result = _run(SOURCES / "classic", "--backend", "embedded")
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert ["feature", "unique client id", "client_id", "native", "", "Orders.java:13"] in lines
    assert ["use", "Session.commit()", "commit()", "Orders.java:20"] in lines
    assert "24 uses of messaging in 1 file" in result.stderr


def test_json() -> None:
    report = json.loads(_run(SOURCES / "spring", "--json", "-b", "embedded").stdout)
    assert report["backend"] == "embedded"
    assert {"kind": "call", "java": "TextMessage.getText()", "python": "text", "features": [],
            "at": ["Listeners.java:28"]} in report["uses"]  # fmt: skip


def test_problems_and_configuration_are_told(tmp_path: Path) -> None:
    (tmp_path / "application.yml").touch()
    (tmp_path / "jndi.properties").write_text("connectionfactory.shop = amqp://broker:5672?jms.password=secret\n")
    (tmp_path / "pom.xml").write_text("<dependency>\n<artifactId>qpid-jms-client</artifactId></dependency>\n")
    (tmp_path / "build.gradle.kts").write_text('implementation("com.rabbitmq.jms:rabbitmq-jms:3.2.0")\n')
    (tmp_path / "Half.java").write_bytes((SOURCES / "broken" / "Half.java").read_bytes())
    result = _run(tmp_path)
    assert result.exit_code == 0
    assert "warning: Half.java:10: is not Java here" in result.stderr
    assert f"`jmsbridge import {tmp_path}/jndi.properties`, which makes a profile of it" in " ".join(
        result.stderr.split()
    )
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert [line[1::2] for line in lines if line[0] == "library"] == [
        ["qpid-jms-client", "pom.xml:2"],
        ["rabbitmq-jms", "build.gradle.kts:1"],
    ]
    report = json.loads(_run(tmp_path, "--json").stdout)
    empty, found = report["configuration"]
    assert (empty["file"], "profile" in empty, found["file"]) == ("application.yml", False, "jndi.properties")
    assert empty["problem"]
    assert found["profile"].startswith("[profiles.jndi]\nurl = ")
    assert "secret" not in json.dumps(report)
    assert _run(tmp_path, "--html", tmp_path / "report.html").exit_code == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<pre>[profiles.jndi]" in page
    assert "pip install &#x27;jmsbridge[rabbitmq]&#x27;" in page


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_page_stands_alone_and_escapes_what_it_quotes(tmp_path: Path) -> None:
    listener = '@JmsListener(destination = "<script>") void a(String text) {}'
    java = f"import org.springframework.jms.annotation.JmsListener; class A {{ {listener} }}"
    (tmp_path / "A.java").write_text(java, encoding="utf-8")
    target = tmp_path / "report.html"
    assert _run(tmp_path, "--html", target, "-b", "embedded").exit_code == 0
    page = _Page()
    page.feed(target.read_text(encoding="utf-8"))
    assert "script" not in page.tags
    assert page.links == []
    assert "@app.listener('<script>')" in page.words


def test_a_page_that_exists_is_kept_without_force(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text("mine", encoding="utf-8")
    result = _run(SOURCES / "beans", "--html", target)
    assert result.exit_code == 2
    assert "--force overwrites it" in " ".join(result.stderr.split())
    assert target.read_text(encoding="utf-8") == "mine"
    assert _run(SOURCES / "beans", "--html", target, "--force").exit_code == 0
    assert "<table>" in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere"], "'nowhere' does not exist"),
        ([SOURCES / "classic", "-b", "rabbit"], "unknown scheme 'rabbit'"),
        ([SOURCES / "classic", "--html", "no/such/folder.html"], "cannot write"),
    ],
)
def test_errors_are_words(arguments: list[object], words: str) -> None:
    result = _run(*arguments)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


def test_without_the_parser_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("jmsbridge.migrate", "tree_sitter"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    result = _run(SOURCES / "classic")
    assert result.exit_code == 2
    assert "pip install 'jmsbridge[migrate]'" in " ".join(result.stderr.split())
