"""The whole compliance suite, on every target."""

from jmsbridge.testing.suite import *  # noqa: F403
