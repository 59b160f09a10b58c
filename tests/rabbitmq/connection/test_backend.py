"""The backend with options of different classes."""

import socket

import msgspec
import pytest

from jmsbridge.spi import ConnectFailed, Endpoint
from jmsbridge.testing.harness import LinkLog
from jmsbridge_rabbitmq import backend


class OfAnother(msgspec.Struct):
    """Options of another class than that of the backend."""

    heartbeat: float = 1.0


def test_options_of_another_class_keep_their_values() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # no broker listens there, so the default port would fail to connect
        endpoint = Endpoint(scheme="rabbitmq", host="127.0.0.1", port=unused.getsockname()[1])
        with pytest.raises(AttributeError, match="OfAnother"):
            backend.open(endpoint, OfAnother(), LinkLog())
        with pytest.raises(ConnectFailed):
            backend.open(endpoint, None, LinkLog())
