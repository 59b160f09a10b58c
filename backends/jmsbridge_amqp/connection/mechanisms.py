"""SASL: which mechanisms a login allows, what the installed proton can do, and why none fits what the broker offers."""

import re

import proton

from jmsbridge.spi import AuthenticationFailed, ConnectFailed, Endpoint
from jmsbridge_amqp.connection.options import AmqpOptions

__all__ = ["limits_of_proton", "mechanisms_of", "no_mechanism"]

_MECHANISMS = {"plain": "PLAIN", "external": "EXTERNAL", "anonymous": "ANONYMOUS", "scram": "SCRAM-SHA-256 SCRAM-SHA-1"}
_REMEDIES = {
    "plain": "set user and password, and login=plain if login is set",
    "scram": "set user, password and login=scram",
    "external": "use amqps:// with a client certificate: the options certificate and key, and login=external",
    "anonymous": "set login=anonymous",
}


def limits_of_proton() -> str:
    """What the installed proton cannot do, with the remedy; empty if it was built with Cyrus SASL."""
    if proton.SASL.extended():
        return ""
    return (
        "python-qpid-proton was built without Cyrus SASL, so neither login=scram nor GSSAPI is possible: "
        "install libsasl2-dev, then reinstall python-qpid-proton, or use login=plain over TLS if the broker offers it"
    )


def mechanisms_of(endpoint: Endpoint, options: AmqpOptions) -> str:
    """The SASL mechanisms to allow; ConnectFailed if this build of proton lacks them."""
    login = options.login or ("plain" if endpoint.user else "external" if options.certificate else "anonymous")
    if login == "scram" and (limits := limits_of_proton()):
        raise ConnectFailed(f"{endpoint}: {limits}")
    return _MECHANISMS[login]


def no_mechanism(endpoint: Endpoint, allowed: str, first: bytes) -> AuthenticationFailed:
    """The error where proton chose none of the mechanisms that the broker offers in these first bytes."""
    frame = first[8 : 8 + int.from_bytes(first[8:12])]
    offered = re.findall(r"[A-Z][A-Z0-9_-]{2,19}", frame.decode("latin-1"))
    needed, there = " or ".join(allowed.split()), ", ".join(offered) or "none"
    text = f"{endpoint}: this login needs the SASL mechanism {needed}, and the broker offers {there}"
    return AuthenticationFailed(f"{text}: {_remedy(set(offered), set(allowed.split()))}")


def _remedy(offered: set[str], allowed: set[str]) -> str:
    """What the user can do about it."""
    limits = limits_of_proton()
    if offered & allowed:
        return "set user and password" + ("" if limits else ", and install Cyrus SASL's modules (libsasl2-modules)")
    remedies = [text for login, text in _REMEDIES.items() if offered & set(_MECHANISMS[login].split())]
    if limits and _REMEDIES["scram"] in remedies:
        remedies.remove(_REMEDIES["scram"])
        remedies.append(f"{_REMEDIES['scram']}, but {limits}")
    return "; or ".join(remedies) or "let the broker offer PLAIN over TLS, or EXTERNAL for client certificates"
