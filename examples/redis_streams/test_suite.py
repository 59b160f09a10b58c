"""The whole compliance suite, on Redis Streams."""

from jmsbridge.testing.suite import *
