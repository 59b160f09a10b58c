"""As an application's own conftest would do it, but for ``pytest_plugins``, which only the topmost one may have."""

from jmsbridge.testing.broker import jms_broker

__all__ = ["jms_broker"]
