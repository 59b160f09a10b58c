"""The cause of a failed connection is explained, however deeply a client library has wrapped it."""

import socket
import ssl

import pytest

from jmsbridge.transport.network.diagnosis import causes, describe, unreachable


class WrappedTimeout(Exception):
    """A time-out wrapped as client libraries do it."""


def untrusted(message: str = "self-signed certificate", code: int = 18) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError()
    error.verify_message, error.verify_code = message, code
    return error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ConnectionRefusedError(111, "Connection refused"), "no connection: Connection refused; is the broker running"),
        (OSError(24, "Too many open files"), "no socket: Too many open files; close connections"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (untrusted(), "not trusted: self-signed certificate; set ca_file to the authority"),
        (untrusted("certificate has expired", 10), "has expired; the broker needs a new certificate"),
        (untrusted("certificate is not yet valid", 9), "not yet valid; the broker needs a new"),
        (ssl.SSLError(1, "wrong version number"), "does that port expect TLS? The usual port is 8883"),
        (TimeoutError(), "no answer in time: is Acme listening there, or is that another protocol's port"),
        (WrappedTimeout(), "no answer in time: is Acme listening there"),
        (ValueError("odd"), "no connection: ValueError: odd"),
    ],
)
def test_the_cause_is_explained(error: BaseException, said: str) -> None:
    assert said in unreachable([error], "Acme", 8883)
    wrapped = RuntimeError("it failed", RuntimeError(error))
    if not isinstance(error, ValueError):
        assert said in unreachable(causes(wrapped), "Acme", 8883)


def test_a_cycle_of_causes_ends() -> None:
    first, second = RuntimeError("first"), RuntimeError("second")
    first.__cause__, second.__cause__ = second, first
    assert causes(first) == [first, second]


def test_an_error_without_a_text_is_its_type() -> None:
    assert (describe(EOFError()), describe(EOFError("end"))) == ("EOFError", "EOFError: end")
