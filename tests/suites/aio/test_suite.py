"""The cases above the SPI, through ``jmsbridge.aio``, on the embedded broker."""

from jmsbridge.testing.suite import *  # noqa: F403
