"""The compliance suite where no verb is answered before it returns: what assumes an answer at once shows here."""

from jmsbridge.testing.suite import *  # noqa: F403
