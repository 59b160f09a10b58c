"""The logins of Pulsar's Java client: a plug-in and its parameters."""

from collections.abc import Mapping

from jmsbridge.config.java.model import Draft

__all__ = ["LOGINS", "LOGIN_PARAMETERS", "login"]

LOGIN_PARAMETERS = ("file", "password", "tlsCertFile", "tlsKeyFile", "token", "userId")
"""The parameters by name."""
LOGINS = "or token_file, or user and password, or certificate and key"
"""What else they may become."""


def login(draft: Draft, plugin: str, text: str, named: Mapping[str, str], by: str) -> None:
    """Log in as the Java client would, with parameters in a text, by name, or both; a secret becomes a reference.

    ``by`` is the setting that has them.
    """
    kind = plugin.strip().rpartition(".")[2].lower().removeprefix("authentication")
    if kind == "token":
        _token(draft, named.get("file") or named.get("token") or text, by)
    elif kind == "basic":
        draft.user(named.get("userId", ""), by)
        draft.password(named.get("password", ""), by)
    elif kind == "tls":
        pairs = (pair.partition(":") for pair in text.split(","))
        files = {name.strip(): path.strip() for name, colon, path in pairs if colon} | dict(named)
        for name, option in (("tlsCertFile", "certificate"), ("tlsKeyFile", "key")):
            if name in files:
                draft.set(option, files[name], by)
    else:
        draft.drop(by, "holds a credential, which is not copied; this login has no equivalent: token, basic, tls have")


def _token(draft: Draft, text: str, by: str) -> None:
    if text.startswith("file:"):
        draft.set("token_file", "/" + text.removeprefix("file:").lstrip("/"), by)
    elif text:
        draft.set("token", draft.secret(text.removeprefix("token:"), by, what="TOKEN"), by)
