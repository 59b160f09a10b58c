"""Decides which features are native, emulated or refused on one link, from ``FEATURES`` and the user's setting."""

import logging
from collections.abc import Mapping

import msgspec

from jmsbridge.config.features import FEATURES, Feature, Outcome
from jmsbridge.core.runtime.warning import warn
from jmsbridge.errors import EmulationWarning, UnsupportedFeatureException
from jmsbridge.spi import Native

__all__ = ["Capability", "Plan"]

log = logging.getLogger("jmsbridge.plan")

_ROWS: dict[Native | str, Feature] = {row.name: row for row in FEATURES}
_ROWS |= {row.native: row for row in reversed(FEATURES)}  # by capability: the first row that needs it


class Capability(msgspec.Struct, frozen=True):
    """How a connection provides one feature.

    ``outcome`` is "native" (by the broker), "emulated" (by the client) or "refused" (UnsupportedFeature). ``name`` is
    the feature's name in the option ``emulation``, ``text`` describes it. ``price`` says what the client does instead
    and what that costs, or what is missing; empty if it is native.
    """

    name: str
    text: str
    outcome: Outcome
    price: str


class Plan:
    """The outcome of each feature on one link that offers ``native``; consulted before a feature is used. Thread-safe.

    ``settings`` is the option ``emulation``: ``"default"``, ``"allow"``, ``"refuse"``, or one of these by feature.
    ``warned`` is shared by the plans of one connection, so that it warns of each emulation only once.
    """

    def __init__(
        self,
        native: Native,
        settings: Mapping[str, str] | str = "default",
        broker: str = "this broker",
        warned: dict[tuple[str, str], object] | None = None,
    ) -> None:
        self.native = native
        self.broker = broker
        self.is_quiet = False
        """While a link is restored there is no caller to warn, so prices are logged instead."""
        self._settings = settings
        self._warned = {} if warned is None else warned

    def outcome(self, feature: Native | str) -> Outcome:
        """The outcome of this feature, given by its capability or its name: native, emulated or refused."""
        row = _ROWS.get(feature)
        native = row.native if row is not None else feature
        if isinstance(native, Native) and native in self.native:
            return "native"
        if row is None or row.emulation is None or row.needs & ~self.native:
            return "refused"
        setting = self._setting(row.name)
        if setting == "default":
            return row.default
        return "emulated" if setting == "allow" else "refused"

    def _setting(self, name: str) -> str:
        if isinstance(self._settings, str):
            return self._settings
        return self._settings.get(name, self._settings.get("default", "default"))

    def capabilities(self) -> dict[str, Capability]:
        """Every feature by name, in the order of the table."""
        return {row.name: self._capability(row) for row in FEATURES}

    def _capability(self, row: Feature) -> Capability:
        outcome = self.outcome(row.name)
        price = "" if outcome == "native" else "; ".join(filter(None, (row.emulation, row.price)))
        return Capability(row.name, row.text, outcome, price)

    def require(self, feature: Native | str) -> Outcome:
        """Use a feature: UnsupportedFeature if it is refused, an EmulationWarning, once, if the table says so."""
        outcome = self.outcome(feature)
        if outcome == "native":
            return outcome
        row = _ROWS[feature]
        if outcome == "refused":
            raise UnsupportedFeatureException(f"{self.broker} has no {row.text}{self._remedy(row)}", row.name)
        this = object()
        if self._warned.setdefault((self.broker, row.name), this) is not this:  # looked up and set in one step
            return outcome
        text = f"{self.broker} has no {row.text}; {row.emulation}: {row.price}"
        if self.is_quiet:
            log.warning("%s", text)
        elif row.warns:
            warn(text, EmulationWarning)
        else:
            log.info("%s", text)
        return outcome

    def _remedy(self, row: Feature) -> str:
        if row.emulation is None:
            return f": {row.price}"
        if row.needs & ~self.native:
            return (
                "; the client cannot emulate it, because this broker does not take messages back while their consumer "
                "is open, or drops or moves those that return often"
            )
        return f'; emulation = {{ {row.name} = "allow" }} permits it: {row.emulation}; {row.price}'
