"""Marks that say what a case proves (rules, known pitfalls), what it needs, and which side of the border it tests."""

import pytest

from jmsbridge.spi.native import Native
from jmsbridge.testing.promises import Promise

__all__ = ["MOST_RULES", "level", "pitfall", "promise", "requires", "rule"]

MOST_RULES = 3
"""A case that proves more rules than this proves none of them clearly."""


def rule(*ids: str) -> pytest.MarkDecorator:
    """This case fails when one of these rules (ids of ``jmsbridge.testing.rules``) is broken; at most three."""
    if not 1 <= len(ids) <= MOST_RULES:
        raise ValueError(f"a case names one to {MOST_RULES} rules, not {len(ids)}: split it")
    return pytest.mark.rule(*ids)


def pitfall(*numbers: int) -> pytest.MarkDecorator:
    """This case catches one of the forty mistakes that other implementations made."""
    return pytest.mark.pitfall(*numbers)


def promise(*promises: Promise) -> pytest.MarkDecorator:
    """This case fails when one of these promises of the border is broken.

    The report of a failure quotes them, and those of the capabilities that the case ``requires``.
    """
    return pytest.mark.promise.with_args(*promises)


def requires(feature: Native, *, native: bool = False) -> pytest.MarkDecorator:
    """This case needs what ``feature`` (one flag or several) promises.

    Native or emulated: it runs and must pass. Refused: it runs and must end in ``UnsupportedFeature``. With ``native``
    it tests what no emulation can give, such as an exact count over links: emulated, it does not apply.
    """
    return pytest.mark.requires(feature, native=native)


def level(name: str) -> pytest.MarkDecorator:
    """``"contract"``: this case talks to the SPI alone; unmarked cases go through the facade (``"semantics"``)."""
    if name not in ("contract", "semantics"):
        raise ValueError(f"a level is 'contract' or 'semantics', not {name!r}")
    return pytest.mark.level(name)
