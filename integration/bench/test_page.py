"""Required ratios and the page of the benchmark, with forged figures."""

from pathlib import Path

import msgspec
import pytest

from integration.bench import report
from integration.bench.bars import bars
from integration.bench.brokers import COMPARISONS, DEFAULT
from integration.bench.turns import Figure

MADE = COMPARISONS[DEFAULT]


def figure(
    name: str, rate: float, *, queue_type: str = "classic", delay: float | None = None, cost: float = 50
) -> Figure:
    row = next(row for row in MADE.rows if row.name == name)
    return Figure(row, queue_type, delay, (rate / 2, rate, rate * 2), (cost, cost, cost))


OURS = "jmsbridge, completion listener"
PEER = "pika SelectConnection, own thread"


def test_a_bar_is_a_ratio() -> None:
    (met,) = bars(MADE, [figure(OURS, 30_000), figure(PEER, 20_000)])
    assert (met.reached, met.met) == (1.5, True)
    (missed,) = bars(MADE, [figure(OURS, 10_000), figure(PEER, 20_000)])
    assert not missed.met


def test_a_bar_compares_the_same_turns() -> None:
    ours, peer = figure(OURS, 1), figure(PEER, 1)
    ours = msgspec.structs.replace(ours, rates=(10, 20, 30))
    peer = msgspec.structs.replace(peer, rates=(5, 20, 10))
    assert bars(MADE, [ours, peer])[0].reached == 2


def test_types_of_queues_and_delays_are_not_mixed() -> None:
    assert bars(MADE, [figure(OURS, 1), figure(PEER, 1, queue_type="quorum"), figure(PEER, 1, delay=0.0)]) == []


def test_cpu_must_be_less() -> None:
    ours, peer = figure("jmsbridge, send()", 100, cost=90), figure("pika BlockingConnection", 100, cost=80)
    rate, cost = bars(MADE, [ours, peer])
    assert rate.met
    assert not cost.met


def test_where_the_brokers_credit_is_the_limit_its_rate_counts() -> None:
    made = next(each for each in COMPARISONS.values() if each.credit)
    row, _, credit = made.delayed
    near, far = (Figure(row, "durable", delay, (rate,), (1,)) for delay, rate in ((0.0, 50_000), (0.02, 19_000)))
    (bar,) = bars(made, [near, far, Figure(credit, "durable", 0.02, (20_000,), (1,))])
    assert (bar.reached, bar.wanted) == (0.95, 0.9)
    (bar,) = bars(
        made, [near, msgspec.structs.replace(far, rates=(45_000,)), Figure(credit, "durable", 0.02, (9,), (1,))]
    )
    assert (bar.reached, bar.wanted) == (0.9, 0.85)


def test_a_delay_is_compared_with_none_through_the_same_proxy() -> None:
    figures = [figure(OURS, 50_000), figure(OURS, 20_000, delay=0.0), figure(OURS, 17_000, delay=0.02)]
    (bar,) = bars(MADE, figures)
    assert bar.reached == 0.85
    assert "20 ms" in bar.text


def test_every_comparison_names_rows_that_are_there() -> None:
    every = [figure(row.name, 1, queue_type=kind) for kind in ("classic", "quorum") for row in MADE.chosen([], kind)]
    assert len(bars(MADE, every)) == 10 + 8 + 3


def test_rows_are_chosen_by_name_or_group() -> None:
    assert [row.name for row in MADE.chosen(["kombu"], "classic")] == ["kombu, confirm_publish", "kombu"]
    assert all(row.receives for row in MADE.chosen(["receive"], "classic"))
    assert len(MADE.chosen([], "quorum")) == len(MADE.rows) - 3


def test_the_page_holds_every_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "_DOCS", tmp_path)
    figures = [figure(OURS, 12_345), figure(PEER, 20_000), figure(OURS, 4_321, delay=0.02)]
    written = report.write(MADE, figures, bars(MADE, figures), "the command", "the broker", 1.5)
    page = written.read_text(encoding="utf-8")
    assert "| jmsbridge, completion listener | 12,345 | 6,172 | 24,690 | 50 |" in page
    assert "## Window of 1000, classic queue, proxy with 20 ms there and back" in page
    assert f'**missed**: "{OURS}" to "{PEER}", classic queue: 0.62, at least 1.00' in page
