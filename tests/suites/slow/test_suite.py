"""The compliance suite where no verb is answered before it returns; code that expects an answer at once fails here."""

from jmsbridge.testing.suite import *  # noqa: F403
