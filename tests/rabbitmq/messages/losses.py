"""What is lost on the way through RabbitMQ, as ``docs/backends/rabbitmq-messages.md`` lists it."""

from pathlib import Path

__all__ = ["listed_losses"]

_PAGE = Path(__file__).parents[3] / "docs" / "backends" / "rabbitmq-messages.md"


def listed_losses(dialect: str) -> set[str]:
    """The second column of the rows for a dialect, and of those for both."""
    lines = _PAGE.read_text(encoding="utf-8").splitlines()
    start = lines.index("| dialect | what | why |") + 2
    rows = [line.strip("| ").split(" | ") for line in lines[start : lines.index("", start)]]
    return {what for which, what, _ in rows if which in (dialect, "both")}
