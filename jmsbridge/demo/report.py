"""What the demo tells at the end."""

import msgspec
from rich.console import Console
from rich.table import Table

__all__ = ["Leg", "show"]


class Leg(msgspec.Struct, frozen=True):
    """One way that messages took: how many, in which time, and whether what came out is what went in."""

    what: str
    messages: int
    seconds: float
    problems: tuple[str, ...] = ()


def show(legs: list[Leg], target: str, console: Console | None = None) -> int:
    """Print the table; 0 when everything came out as it went in, else 1."""
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
        console.print("[green]✓[/] every file came out byte for byte as it went in")
    return 1 if problems else 0
