"""``jmsbridge migrate``: what a Java project uses of messaging, and what that is in Python."""

from pathlib import Path
from typing import Annotated, Any

import typer

from jmsbridge.cli.printing import counted, print_json
from jmsbridge.cli.running import OK, note
from jmsbridge.cli.tables import print_rows
from jmsbridge.config.writing import replacing
from jmsbridge.errors import ConfigurationError

__all__ = ["migrate"]

_STYLES = {"emulated": "yellow", "refused": "red"}
_READABLE = 0o644


def migrate(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The folder of the Java project, or one file.")],
    backend: Annotated[
        str | None,
        typer.Option("--backend", "-b", metavar="SCHEME", help="Say what this backend does: rabbitmq, amqp, …"),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write the report as one HTML page, too.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--skeletons", metavar="FOLDER", help="Write Python for the listeners and senders found."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> int:
    """Report what a Java project uses of JMS and where, what it is in Python, and what a backend does about it.

    Reads sources with `javax.jms` or `jakarta.jms`, plain or with Spring's `@JmsListener` and `JmsTemplate`, injected
    contexts and message-driven beans. Nothing of the project is executed. What cannot be read or parsed is listed on
    standard error with its line, and the rest goes on. Needs the extra `migrate`. In a pipe each line begins with
    "feature" (then feature, option name, support, price, place), "library" or "use" (then Java, Python, place).
    The page and the JSON have the profiles that `jmsbridge import` makes of the project's configuration, too.

    Examples:

      jmsbridge migrate shop/ --backend rabbitmq

      jmsbridge migrate shop/ --backend pulsar --html report.html

      jmsbridge migrate shop/ --skeletons shop_listeners/

      jmsbridge migrate src/main/java/Orders.java --json | jq '.uses[].java'
    """
    read_project, document, html, skeletons = _parts()
    project = read_project(path)
    report = document(project, backend)
    texts = {} if folder is None else {folder / name: text for name, text in skeletons(project).items()}
    if page is not None:
        texts[page] = html(report, f"{path.resolve().name}: from Java to Python")
    _write(texts, folder, force)
    if as_json:
        print_json(report, indent=2)
    else:
        _print(report)
    for each in report["problems"]:
        note(f"warning: {each['at']}: {each['reason']}")
    if not as_json:
        for each in report["configuration"]:
            what = f": {each['problem']}" if "problem" in each else ", which makes a profile of it"
            note(f"{each['file']} is configuration, for `{each['command']}`{what}")
        uses = sum(len(use["at"]) for use in report["uses"])
        note(f"{counted(uses, 'use')} of messaging in {counted(report['files'], 'file')}")
    return OK


def _parts() -> Any:
    """The modules of the command, which need the parser of the extra."""
    try:
        from jmsbridge.migrate import document, read_project
        from jmsbridge.migrate.page import html
        from jmsbridge.migrate.skeletons import skeletons
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("tree_sitter"):
            raise
        raise ConfigurationError("the parser of Java is missing: pip install 'jmsbridge[migrate]'") from None
    return read_project, document, html, skeletons


def _write(texts: dict[Path, str], folder: Path | None, force: bool) -> None:
    """Write all files, or none if one of them exists."""
    existing = next((path for path in texts if path.exists()), None)
    if existing is not None and not force:
        raise ConfigurationError(f"{str(existing)!r} exists; --force overwrites it")
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigurationError(f"cannot write {str(folder)!r}: {error.strerror}") from None
    for path, text in texts.items():
        with replacing(path, _READABLE) as stream:
            stream.write(text.encode("utf-8", "replace"))
        note(f"{path} is written")


def _print(report: dict[str, Any]) -> None:
    features = [
        (each["text"], each["name"], each.get("outcome", ""), each.get("price", ""), _places(each["at"]))
        for each in report["features"]
    ]
    on = f", on {report['backend']}" if report["backend"] else ""
    print_rows(
        ("feature", "option name", "support", "price", "where"),
        features,
        title=f"features of a broker{on}",
        lead="feature",
        style=lambda row: _STYLES.get(str(row[2]), ""),
    )
    libraries = [(each["library"], each["python"], _places(each["at"])) for each in report["libraries"]]
    print_rows(("library", "Python", "where"), libraries, title="libraries of the build", lead="library")
    uses = [(each["java"], each["python"], _places(each["at"])) for each in report["uses"]]
    print_rows(("Java", "Python", "where"), uses, title="Java and Python", lead="use")


def _places(at: list[str]) -> str:
    return " ".join(at)
