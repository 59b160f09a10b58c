"""Marks of cases: which rules, promises and pitfalls a case tests, what it requires, and its level."""

import pytest

from jmsbridge.spi.native import Native
from jmsbridge.testing.promises import Promise

__all__ = ["MOST_RULES", "level", "pitfall", "promise", "requires", "rule"]

MOST_RULES = 3
"""The most rules that one case may name; more are not tested clearly."""


def rule(*ids: str) -> pytest.MarkDecorator:
    """This case fails when one of these rules (ids of ``jmsbridge.testing.rules``) is broken; at most three."""
    if not 1 <= len(ids) <= MOST_RULES:
        raise ValueError(f"a case names one to {MOST_RULES} rules, not {len(ids)}: split it")
    return pytest.mark.rule(*ids)


def pitfall(*numbers: int) -> pytest.MarkDecorator:
    """This case detects one of the forty known mistakes of other implementations."""
    return pytest.mark.pitfall(*numbers)


def promise(*promises: Promise) -> pytest.MarkDecorator:
    """This case fails when one of these promises of the SPI is broken.

    The report of a failure quotes them, and the promises of the capabilities that the case ``requires``.
    """
    return pytest.mark.promise.with_args(*promises)


def requires(feature: Native, *, native: bool = False) -> pytest.MarkDecorator:
    """This case requires ``feature`` (one flag or several).

    If the feature is native or emulated, the case must pass. If it is refused, the case must end in
    ``UnsupportedFeature``. With ``native`` the case tests something that cannot be emulated, such as an exact count
    across links: if the feature is emulated, the case does not apply.
    """
    return pytest.mark.requires(feature, native=native)


def level(name: str) -> pytest.MarkDecorator:
    """``"contract"``: this case uses only the SPI. Unmarked cases use the facade (``"semantics"``)."""
    if name not in ("contract", "semantics"):
        raise ValueError(f"a level must be 'contract' or 'semantics', not {name!r}")
    return pytest.mark.level(name)
