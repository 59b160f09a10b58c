"""The harness that is shipped with the sample backend."""

from tests.suites.sample.acme import harness

__all__ = ["harness"]
