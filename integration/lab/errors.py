"""What may go wrong with a broker, each error naming the broker and what to do."""

__all__ = ["BrokerError", "BrokerFailed", "BrokerUnavailable"]


class BrokerError(Exception):
    """Something about a broker went wrong."""


class BrokerUnavailable(BrokerError):
    """This machine cannot have the broker, or has not fetched it yet."""


class BrokerFailed(BrokerError):
    """A broker that is here did not start, stop or answer as it should."""
