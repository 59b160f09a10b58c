"""What the backend makes of the options that it is given."""

import socket

import msgspec
import pytest

from jmsbridge.spi import ConnectFailed, Endpoint
from jmsbridge.testing.harness import LinkLog
from jmsbridge_rabbitmq import backend


class OfAnother(msgspec.Struct):
    """Options that are not this backend's."""

    heartbeat: float = 1.0


def test_options_of_another_kind_are_no_reason_to_take_the_defaults() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and nobody listens: whoever takes the defaults fails to connect
        endpoint = Endpoint(scheme="rabbitmq", host="127.0.0.1", port=unused.getsockname()[1])
        with pytest.raises(AttributeError, match="OfAnother"):
            backend.open(endpoint, OfAnother(), LinkLog())
        with pytest.raises(ConnectFailed):
            backend.open(endpoint, None, LinkLog())
