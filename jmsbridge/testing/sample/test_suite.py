"""The whole compliance suite, on the sample broker."""

from jmsbridge.testing.suite import *
