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
    """The parts of one URL. ``path`` is percent-decoded only if there is no host."""

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
    """The members of a comma-separated list; a comma inside a URL does not separate."""
    first = _SCHEME.match(text.strip())
    same = f"|{re.escape(first[1])}:" if first else ""
    return [part.strip() for part in re.split(rf",\s*(?=[A-Za-z][A-Za-z0-9+.-]*://{same})", text) if part.strip()]


def scheme_of(text: str) -> str:
    """The scheme of a URL, in lower case."""
    return _scheme(text)[1].lower()


def _scheme(text: str) -> re.Match[str]:
    match = _SCHEME.match(text)
    if match is None:
        raise _bad(text, "it has no scheme")
    return match


def parse_url(text: str, *, needs_host: bool = False) -> ParsedURL:
    """Parse one URL; ConfigurationError names the URL without its secrets."""
    scheme = _scheme(text)
    rest = text[scheme.end() :]
    if needs_host and not rest.startswith("//"):
        raise _bad(text, f"write {scheme[1]}://USER:PASSWORD@HOST:PORT, with two slashes")
    if "#" in rest:
        raise _bad(text, "it contains '#', which must be written as %23")
    rest, _, query = rest.partition("?")
    if not rest.startswith("//"):
        _check_path(text, rest, query)
        return ParsedURL(scheme[1].lower(), None, None, unquote(rest), None, None, _query(text, query))
    authority, slash, path = rest[2:].partition("/")
    for mark, part in (("/", path), ("?", query)):
        if "@" in part:  # It may end a password that contains the mark.
            raise _bad(text, f"write '@' after a {mark!r} as %40, and {mark!r} in a password as {quote(mark, safe='')}")
    user, password, address = _userinfo(authority)
    host, port = _address(text, address)
    return ParsedURL(scheme[1].lower(), host, port, slash + path, user, password, _query(text, query))


def _check_path(text: str, path: str, query: str) -> None:
    """Refuse a path that looks like user, password and host: the two slashes are missing."""
    _, colon, rest = path.partition(":")
    if colon and "@" in rest + query:
        raise _bad(text, "write credentials between '//' and '@', and in a path ':' as %3A and '@' as %40")


def _userinfo(authority: str) -> tuple[str | None, str | None, str]:
    info, at, address = authority.rpartition("@")
    if not at:
        return None, None, address
    user, colon, password = info.partition(":")
    return unquote(user) or None, unquote(password) if colon else None, address


def _address(text: str, address: str) -> tuple[str | None, int | None]:
    if not address:
        raise _bad(text, "it has no host")
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
    return ConfigurationError(f"{mask_url(text)!r} is not a valid target: {why}")
