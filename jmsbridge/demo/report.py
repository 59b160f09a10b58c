"""The report at the end of the demo."""

import msgspec
from rich.console import Console
from rich.table import Table

__all__ = ["Leg", "show"]


class Leg(msgspec.Struct, frozen=True):
    """One scenario: the number of messages, the seconds, and the problems found."""

    what: str
    messages: int
    seconds: float
    problems: tuple[str, ...] = ()


def show(legs: list[Leg], target: str, console: Console | None = None) -> int:
    """Print the table; returns 0 if there are no problems, else 1."""
    console = console or Console(highlight=False)
    table = Table(title=f"jmsbridge on {target}", title_justify="left")
    table.add_column("way")
    table.add_column("messages", justify="right")
    table.add_column("seconds", justify="right")
    table.add_column("per second", justify="right")
    table.add_column("compared")
    for leg in legs:
        verdict = "[red]differs[/]" if leg.problems else "[green]identical[/]"
        rate = f"{leg.messages / leg.seconds:,.0f}" if leg.seconds else "–"
        table.add_row(leg.what, f"{leg.messages:,}", f"{leg.seconds:.2f}", rate, verdict)
    console.print(table)
    problems = [f"{leg.what}: {problem}" for leg in legs for problem in leg.problems]
    for problem in problems:
        console.print(f"[red]✗[/] {problem}")
    if not problems:
        console.print("[green]✓[/] every file arrived unchanged, byte for byte")
    return 1 if problems else 0
