"""Messages as JSON lines, and messages from them; ``docs/cli.md`` describes the form."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from jmsbridge import Message, Session
from jmsbridge.cli.printing import json_text
from jmsbridge.documents import BadDocument, Outgoing, from_document, to_document

__all__ = ["errors_at", "from_line", "numbered", "to_line"]

_TEXT = "for lines of plain text, use send --format text"


def to_line(message: Message) -> bytes:
    """One message as a JSON line, with the line end."""
    return json_text(to_document(message), allow_nan=False, separators=(",", ":")).encode("utf-8") + b"\n"


def numbered(lines: Iterable[bytes], file: str = "") -> Iterator[tuple[str, bytes]]:
    """Lines, each with its place for ``errors_at``."""
    return ((f"{file}line {number}", line) for number, line in enumerate(lines, 1))


@contextmanager
def errors_at(where: str) -> Iterator[None]:
    """Say where in the input a message is wrong."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise BadDocument(f"{where}: not UTF-8: {error}") from None
    except ValueError as error:
        raise BadDocument(f"{where}: {error}") from None


def from_line(line: str | bytes, session: Session) -> Outgoing:
    """The message of a JSON line; a ValueError says what is wrong."""
    text = line if isinstance(line, str) else line.decode("utf-8-sig", "surrogatepass")
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BadDocument(f"not JSON: {error} ({_TEXT})") from None
    except RecursionError:
        raise BadDocument("nested too deeply") from None
    if not isinstance(document, dict):
        raise BadDocument(f"a message must be a JSON object ({_TEXT})")
    try:
        return from_document(document, session)
    except BadDocument as error:
        if document.keys() & {"body", "headers", "kind"}:
            raise
        raise BadDocument(f"{error} ({_TEXT})") from None  # it is the text of a message
