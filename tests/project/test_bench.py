"""How the benchmark computes and shows its figures."""

import pytest

from bench.measuring import WINDOWS, Curve, Figure, figure_of, in_turn
from bench.report import page, replaced, show, show_curves


def test_compared_variants_are_measured_in_turn() -> None:
    order: list[str] = []

    def measure(name: str) -> float:
        order.append(name)
        return float(len(order))

    first, second = in_turn(lambda: measure("a"), lambda: measure("b"))
    assert order == ["a", "b"] * (WINDOWS + 1)
    assert first == [3.0 + 2 * number for number in range(WINDOWS)]
    assert second == [one + 1 for one in first]


def test_a_figure_is_the_median_and_meets_its_bar_or_not() -> None:
    made = figure_of("sends", "messages/s", [5.0, 1.0, 3.0], 3.0)
    assert (made.median, made.low, made.high, made.met) == (3.0, 1.0, 5.0, True)
    assert figure_of("open", "s", [5.0, 1.0, 3.0], 2.0, more=False).met is False
    assert Figure("loop", "turns/s", 1.0, 1.0, 1.0).met is None


def test_figures_are_shown_with_their_bars(capsys: pytest.CaptureFixture[str]) -> None:
    show([figure_of("sends", "messages/s", [3000.0], 4000.0), figure_of("open", "s", [0.005], 1.0, more=False)])
    rows = [line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["sends", "3,000", "3,000", "3,000", "≥ 4,000", "messages/s", "missed"],
        ["open", "0.005", "0.005", "0.005", "≤ 1.0", "s", "met"],
    ]


def test_curves_are_shown_with_their_verdicts(capsys: pytest.CaptureFixture[str]) -> None:
    show_curves(
        [Curve("send", [1.0, 1.5, 2500.0], 2500.0, 2.0), Curve("receive", [1.0, 1.0, 1.5], 1.5, 2.0)], (1, 10, 1000)
    )
    rows = [line.split("│")[1:-1] for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert [[cell.strip() for cell in row] for row in rows] == [
        ["send", "1.0", "1.5", "2,500", "× 2500.0", "missed"],
        ["receive", "1.0", "1.0", "1.5", "× 1.5", "met"],
    ]


def test_a_section_takes_the_place_of_the_one_with_its_heading() -> None:
    page = "# A\n\nfirst\n\n## B\n\nsecond\n\n## C\n\nthird\n"
    assert replaced(page, "## B\n\nnew\n") == page.replace("second", "new")
    assert replaced(page, "# A\n\nnew\n") == page.replace("first", "new")
    assert replaced("# A\n\nfirst\n\n## C\n\nthird\n", "## B\n\nsecond\n") == page


def test_a_page_has_its_text_the_command_and_the_figures() -> None:
    made = page("# Speed\n", [Figure("sink", "messages/s", 2000.0, 1.5, 3000.0, 1000.0)], "make bench-x")
    assert made.startswith("# Speed\n\nMade by `make bench-x` on ")
    assert "| sink | 2,000 | 1.5 | 3,000 | ≥ 1,000 | messages/s |\n" in made
