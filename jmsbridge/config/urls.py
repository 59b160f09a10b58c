"""Target URLs: ``scheme://user:password@host:port/path?name=value``, ``scheme:path?name=value``, and lists of them."""

import re
from urllib.parse import quote, unquote

import msgspec

from jmsbridge.config.masking import mask_url
from jmsbridge.errors import ConfigurationError

__all__ = ["ParsedURL", "looks_like_url", "parse_url", "scheme_of", "split_urls"]

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\[\]:,\s@]+)(?::(.*))?", re.DOTALL)


class ParsedURL(msgspec.Struct, frozen=True):
    """One URL, taken apart. ``path`` is as written after a host, percent-decoded without one."""

    scheme: str
    host: str | None
    port: int | None
    path: str
    user: str | None
    password: str | None
    options: dict[str, str]

    def __repr__(self) -> str:
        return f"ParsedURL({self.scheme}:…)"


def looks_like_url(text: str) -> bool:
    """Whether a target is a URL, or a list of them, rather than the name of a profile."""
    return _SCHEME.match(text) is not None


def split_urls(text: str) -> list[str]:
    """The members of a comma-separated list; a comma inside a URL stays where it is."""
    first = _SCHEME.match(text.strip())
    same = f"|{re.escape(first[1])}:" if first else ""
    return [part.strip() for part in re.split(rf",\s*(?=[A-Za-z][A-Za-z0-9+.-]*://{same})", text) if part.strip()]


def scheme_of(text: str) -> str:
    """The scheme of a URL, in small letters."""
    return _scheme(text)[1].lower()


def _scheme(text: str) -> re.Match[str]:
    match = _SCHEME.match(text)
    if match is None:
        raise _bad(text, "it has no scheme")
    return match


def parse_url(text: str, *, needs_host: bool = False) -> ParsedURL:
    """Take one URL apart; a ConfigurationError names the URL without its secrets."""
    scheme = _scheme(text)
    rest = text[scheme.end() :]
    if needs_host and not rest.startswith("//"):
        raise _bad(text, f"it has the form {scheme[1]}://USER:PASSWORD@HOST:PORT, with two slashes")
    if "#" in rest:
        raise _bad(text, "it contains '#', which must be written as %23")
    rest, _, query = rest.partition("?")
    if not rest.startswith("//"):
        _check_path(text, rest, query)
        return ParsedURL(scheme[1].lower(), None, None, unquote(rest), None, None, _query(text, query))
    authority, slash, path = rest[2:].partition("/")
    for mark, part in (("/", path), ("?", query)):
        if "@" in part:  # It may be that of a password: then what is here is not what was meant.
            raise _bad(text, f"'@' behind a {mark!r} is written %40, and {mark!r} in a password {quote(mark, safe='')}")
    user, password, address = _userinfo(authority)
    host, port = _address(text, address)
    return ParsedURL(scheme[1].lower(), host, port, slash + path, user, password, _query(text, query))


def _check_path(text: str, path: str, query: str) -> None:
    """A path that looks like a user, a password and a host is one of which two slashes are missing."""
    _, colon, rest = path.partition(":")
    if colon and "@" in rest + query:
        raise _bad(text, "credentials stand between '//' and '@'; in a path ':' is written %3A and '@' %40")


def _userinfo(authority: str) -> tuple[str | None, str | None, str]:
    info, at, address = authority.rpartition("@")
    if not at:
        return None, None, address
    user, colon, password = info.partition(":")
    return unquote(user) or None, unquote(password) if colon else None, address


def _address(text: str, address: str) -> tuple[str | None, int | None]:
    if not address:
        raise _bad(text, "it names no host")
    match = _HOST.fullmatch(address)
    if match is None:
        raise _bad(text, "its host is malformed; in a list write every URL in full")
    host, port = match[1].strip("[]"), match[2]
    if not port:
        return host, None
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        raise _bad(text, "its port is not a number from 1 to 65535")
    return host, int(port)


def _query(text: str, query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in query.split("&") if query else []:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise _bad(text, "its options must have the form name=value, joined by '&'")
        if unquote(name) in options:
            raise _bad(text, f"it sets option {unquote(name)!r} twice")
        options[unquote(name)] = unquote(value)
    return options


def _bad(text: str, why: str) -> ConfigurationError:
    return ConfigurationError(f"{mask_url(text)!r} is no target: {why}")
