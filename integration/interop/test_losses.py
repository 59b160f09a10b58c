"""What the rows list as lost is what the pages of the backends say."""

from pathlib import Path

import pytest

from integration.interop.rows import PAGES, ROWS, Row


def _told(page: str) -> set[str]:
    text = (Path(__file__).parents[2] / "docs" / "backends" / page).read_text(encoding="utf-8")
    lines = text.splitlines()
    start = lines.index("| the other end | what | why |") + 2
    rows = [line.strip("| ").split(" | ") for line in lines[start : lines.index("", start)]]
    return {f"{program}: {subject}" for program, subject, _ in rows}


@pytest.mark.parametrize("row", [row for row in ROWS if row.python in PAGES], ids=lambda row: row.name)
def test_each_difference_is_in_the_table_of_losses(row: Row) -> None:
    listed = [each.reason for each in row.differences] + [each.reason for each in row.losses]
    assert set(listed) <= _told(PAGES[row.python])
