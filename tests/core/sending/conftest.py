from typing import Any

import pytest

from jmsbridge import Connection
from tests.core.conftest import Connect

__all__ = ["connect_grouped"]


@pytest.fixture
def connect_grouped(connect: Connect) -> Connect:
    """Connections whose sends are confirmed in groups."""

    def grouped(**options: Any) -> Connection:
        return connect(send_confirmation="group", **options)

    return grouped
