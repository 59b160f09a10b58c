"""The whole compliance suite, on the embedded broker."""

from jmsbridge.testing.suite import *  # noqa: F403
