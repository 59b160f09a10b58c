"""Errors of the launcher; each names the broker and the remedy."""

__all__ = ["BrokerError", "BrokerFailed", "BrokerUnavailable"]


class BrokerError(Exception):
    """Base of the errors about brokers."""


class BrokerUnavailable(BrokerError):
    """The broker cannot run on this machine, or is not fetched yet."""


class BrokerFailed(BrokerError):
    """A broker did not start, stop or answer as it should."""
