"""Explains in words why a connection failed, or a subscription is refused."""

import errno
import ssl

from jmsbridge.spi import ConnectFailed, Endpoint, LinkLost

__all__ = [
    "CLOSE_FIRST",
    "NO_MORE_SOCKETS",
    "SILENT",
    "causes",
    "describe",
    "link_lost",
    "not_connected",
    "trust_remedy",
    "unreachable",
]

NO_MORE_SOCKETS = (errno.EMFILE, errno.ENFILE)
"""This process, or this machine, has as many files and sockets open as it may."""
SILENT = (
    "is that another protocol's port, or do URL and port differ in TLS? "
    "Such a port may take the connection and stay silent"
)
"""What to check if a server takes the connection and then says nothing."""
CLOSE_FIRST = (
    "close that one first; the session of one that is closed must first "
    "acknowledge, commit or roll back what it received"
)
"""What to do if a subscription has a consumer: one that is closed counts until its messages are settled."""
_MOST = 20
_NOT_VALID_NOW = (9, 10)  # OpenSSL's X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED


def link_lost(error: BaseException | None, where: str, said: str | None = None) -> LinkLost:
    """The error for a lost link; ``said`` is what is known of the reason, if the connection did not just break."""
    made = LinkLost(f"the link to {where} is lost: {said or f'the connection broke ({describe(error)})'}")
    made.__cause__ = error
    return made


def not_connected(error: BaseException, endpoint: Endpoint, product: str, tls_port: int) -> ConnectFailed:
    """The error for a connection that could not be opened, if the broker gave no reason."""
    if isinstance(error, ConnectionResetError):
        reason = (
            "the connection broke during login; is the broker starting or stopping, or does that port expect TLS or "
            "another protocol?"
        )
    else:
        reason = unreachable(causes(error), product, tls_port)
    return ConnectFailed(f"{endpoint}: {reason}")


def unreachable(chain: list[BaseException], product: str, tls_port: int) -> str:
    """Explain a failed attempt to connect by the errors that it raised, and say what to check."""
    for each in chain:
        if isinstance(each, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {each.verify_message.rstrip('.')}; {trust_remedy(each)}"
        if isinstance(each, ssl.SSLError):
            reason = getattr(each, "reason", None) or each
            if "ALERT" in str(reason):  # of the other side, so it does speak TLS
                return (
                    f"the broker ended TLS ({reason}): it may demand a client certificate that it trusts (options "
                    "certificate, key), or another version of TLS"
                )
            return f"TLS fails ({reason}); does that port expect TLS? The usual port is {tls_port}"
        if isinstance(each, OSError) and each.errno in NO_MORE_SOCKETS:
            return f"no socket: {each.strerror}; close connections or consumers, or allow more (ulimit -n)"
        if isinstance(each, OSError) and not isinstance(each, TimeoutError):
            return f"no connection: {each.strerror or each}; is the broker running, and are host and port right?"
    if any("Timeout" in type(each).__name__ or "Timeout" in str(each) for each in chain):
        return f"no answer in time: is {product} listening there, or {SILENT}"
    return f"no connection: {describe(chain[-1] if chain else None)}"


def trust_remedy(error: ssl.SSLCertVerificationError) -> str:
    """What to do about a certificate that was not accepted."""
    if getattr(error, "verify_code", None) in _NOT_VALID_NOW:
        return "the broker needs a new certificate, unless this machine's clock is wrong"
    return "set ca_file to the authority that signed it, or server_name to the host name in it"


def causes(error: BaseException) -> list[BaseException]:
    """The error and the errors that it wraps, innermost last."""
    found: list[BaseException] = []
    todo: list[BaseException] = [error]
    while todo and len(found) < _MOST:
        each = todo.pop(0)
        found.append(each)
        inside = [*getattr(each, "exceptions", ()), getattr(each, "exception", None), each.__cause__, *each.args]
        todo += [one for one in inside if isinstance(one, BaseException) and one not in found]
    return found


def describe(error: BaseException | None) -> str:
    """Type and text of an error."""
    return f"{type(error).__name__}: {error}" if error is not None and str(error) else type(error).__name__
