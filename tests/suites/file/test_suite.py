"""The whole compliance suite, on the embedded broker in a file."""

from jmsbridge.testing.suite import *  # noqa: F403
