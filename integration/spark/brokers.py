"""The brokers on which the crash matrix and the migration run."""

__all__ = ["CRASHED", "DETECTING", "NOT_DETECTING", "WITH_POSITIONS"]

DETECTING = "artemis"
"""Drops what is sent twice."""
NOT_DETECTING = "rabbitmq"
"""Does not, and confirms no acknowledgement."""
CRASHED = (NOT_DETECTING, DETECTING)
WITH_POSITIONS = ("pulsar", "single_address=true")
"""Keeps messages in a log that is read by position; with the options of its URL."""
