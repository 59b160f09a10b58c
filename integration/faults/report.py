"""The report of a fault run as text."""

from collections import Counter

from integration.faults.run import Report

__all__ = ["BROKEN", "text"]

BROKEN = "BROKEN"
"""The first word of a report with a broken promise: CI does not run such a test again."""


def text(report: Report) -> str:
    """A few lines: disturbances, results, broken promises."""
    plan, verdict = report.plan, report.verdict
    kinds = Counter(one.kind for one in report.disturbances)
    kinds["restart of all consumers"] = report.restarts
    disturbances = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()) if count) or "none"
    result = "kept" if report.ok else BROKEN if report.has_broken_promises else "unfinished"
    lines = [
        f"{result} with seed {plan.seed}, in {report.seconds:.0f} s",
        *(f"failed: {failure}" for failure in report.failures),
        f"processes: producers {', '.join(plan.producers)}; consumers {', '.join(plan.consumers)}",
        f"disturbances: {disturbances}",
        f"messages: {verdict.messages:,}, confirmed {verdict.confirmed:,}, received {verdict.received:,} times",
        f"sends that failed and were repeated: {verdict.refused:,} refused, {verdict.unknown:,} in doubt",
        f"received from two sends, the first of them in doubt: {verdict.sent_twice:,}",
        f"received again after a cut that left the settlement in doubt: {verdict.settled_in_doubt:,}",
        f"received again since the broker had not stored the acknowledgement: {verdict.not_stored:,}",
        f"received again without the mark of a redelivery: {verdict.unmarked:,}",
    ]
    for kind, count in sorted(verdict.counts.items()):
        lines.append(f"{kind}: {count:,}")
        lines += [f"    {example}" for example in verdict.broken[kind]]
    return "\n".join(lines)
