"""The whole compliance suite, with most of what a broker may lack emulated."""

from jmsbridge.testing.suite import *  # noqa: F403
