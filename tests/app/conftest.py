"""Like the conftest of an application, except ``pytest_plugins``, which only the topmost conftest may have."""

from jmsbridge.testing.broker import jms_broker

__all__ = ["jms_broker"]
