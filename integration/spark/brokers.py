"""The brokers on which the crash matrix and the migration run."""

__all__ = ["CRASHED", "DETECTING", "NOT_DETECTING"]

DETECTING = "artemis"
"""Drops what is sent twice."""
NOT_DETECTING = "rabbitmq"
"""Does not, and confirms no acknowledgement."""
CRASHED = (NOT_DETECTING, DETECTING)
