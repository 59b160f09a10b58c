"""The whole compliance suite, on RabbitMQ 3.10."""

import pytest

from jmsbridge.testing.suite import *  # noqa: F403

pytestmark = pytest.mark.long
