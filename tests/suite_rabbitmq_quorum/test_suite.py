"""The whole compliance suite, on RabbitMQ 4 with quorum queues."""

import pytest

from jmsbridge.testing.suite import *  # noqa: F403

pytestmark = pytest.mark.long
