"""Parsing of the URL forms of the Java clients."""

from urllib.parse import parse_qsl, quote, unquote

import msgspec

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.text import opened, split_outside, unresolved
from jmsbridge.errors import ConfigurationError

__all__ = ["Composite", "Member", "address", "composite", "member", "merged_options", "put_urls"]


class Member(msgspec.Struct, frozen=True):
    """One broker of a URL. ``host`` keeps its brackets; ``port`` is text, since it may be a reference."""

    scheme: str
    host: str
    port: str | None
    path: str
    user: str | None
    password: str | None
    options: dict[str, str]

    def __repr__(self) -> str:
        return f"Member({self.scheme}:…)"


class Composite(msgspec.Struct, frozen=True):
    """A URL of several: ``failover:(a,b)?x=y``, ``(a,b)?x=y``, ``a?x=y#b``; a plain URL is its only member."""

    scheme: str
    members: list[Member]
    options: dict[str, str]


def composite(text: str) -> Composite:
    """Parse a URL; ConfigurationError, which does not show the URL, if that fails."""
    text = text.strip()
    first, hash_, others = text.partition("#")
    if hash_ and not first.startswith("("):
        one = member(first)
        # only Artemis has this form; the options of the first apply to all
        return Composite("", [one, *(member(each) for each in split_outside(others.replace("#", ",")))], one.options)
    scheme = ""
    rest = text
    if not text.startswith("("):
        scheme, colon, rest = text.partition(":")
        inner = rest.removeprefix("//")
        if not colon:
            raise ConfigurationError("the URL has no scheme, such as tcp: or amqp:")
        if not (inner.startswith("(") or scheme.lower() in ("failover", "discovery", "masterslave", "fanout")):
            return Composite("", [member(text)], {})
        rest = inner
    inside, after = _parentheses(rest)
    members = split_outside(inside)
    if not members:
        raise ConfigurationError("the URL's list of brokers is empty")
    _, _, query = after.partition("?")
    flat = [part for each in members for part in _flattened(each)]
    return Composite(scheme.lower(), [member(each) for each in flat], _options(query))


def _parentheses(text: str) -> tuple[str, str]:
    """The text inside the first pair of parentheses and the text after it; without any, the text before the options."""
    if not text.startswith("("):
        inside, mark, query = text.partition("?")
        return inside, mark + query
    level = 0
    for place, letter in enumerate(text):
        level += {"(": 1, ")": -1}.get(letter, 0)
        if not level:
            return text[1:place], text[place + 1 :]
    raise ConfigurationError("the URL has a parenthesis that is not closed")


def _flattened(text: str) -> list[str]:
    """A member, or its own members if it is a list."""
    if not text.startswith("("):
        return [text]
    inside, after = _parentheses(text)
    return [part + after for part in split_outside(inside)]


def member(text: str) -> Member:
    """Parse the URL of one broker."""
    scheme, colon, rest = text.strip().partition(":")
    if not colon or not scheme:
        raise ConfigurationError("a URL in the list has no scheme, such as tcp: or amqp:")
    rest, _, query = rest.removeprefix("//").partition("?")
    authority, slash, path = rest.partition("/")
    if "@" in path or ("@" in query and query.partition("@")[0].find("=") < 1):  # a password with "/" or "?"
        raise ConfigurationError("in a URL's user information write '/' as %2F and '?' as %3F, and after it '@' as %40")
    info, at, where = authority.rpartition("@")
    user, has_password, password = info.partition(":")
    host, port = address(where)
    return Member(
        scheme=scheme.lower(),
        host=host,
        port=port,
        path=slash + path,
        user=unquote(user) if at and user else None,
        password=unquote(password) if has_password else None,
        options=_options(query),
    )


def address(text: str) -> tuple[str, str | None]:
    """Host and port of ``host:port``, ``[::1]:port`` or ``host``."""
    if text.startswith("["):
        host, _, rest = text.partition("]")
        return f"{host}]", rest.removeprefix(":") or None
    host, _, port = text.partition(":")
    if port and not (port.isdigit() or unresolved(port)):
        raise ConfigurationError("a port of the URL is not a number")
    return host, port or None


def _options(query: str) -> dict[str, str]:
    return {name: value for name, value in parse_qsl(query, keep_blank_values=True) if name}


def merged_options(draft: Draft, url: Composite, nested: str) -> dict[str, str]:
    """The options of a URL and of its brokers; ``nested`` is the prefix of options for all brokers."""
    options: dict[str, str] = {}
    for one in url.members:
        for name, value in one.options.items():
            if options.setdefault(name, value) != value:
                draft.drop(name, "it differs between the URLs; the first one applies to all")
    for name, value in url.options.items():
        if options.get(name.removeprefix(nested), value) != value:
            draft.drop(name.removeprefix(nested), "it differs for a single broker; the option of the list wins")
        options[name.removeprefix(nested)] = value
    return options


def put_urls(draft: Draft, scheme: str, members: list[Member], by: str) -> None:
    """Write our URLs of these brokers. Shared credentials become options, others stay in the URLs."""
    shared = {(each.user, each.password) for each in members}
    if len(shared) == 1:
        user, password = shared.pop()
        draft.user(user or "", by)
        draft.password(password or "", by)
        shared = set()
    for number, each in enumerate(members, 1):
        info = ""
        if len(shared) > 1 and each.user:
            secret = "" if not each.password else ":" + draft.secret(each.password, by, number)
            info = f"{quote(opened(each.user), safe='')}{secret}@"
        host = each.host or "localhost"
        draft.urls.append(f"{scheme}://{info}{host}{f':{each.port}' if each.port else ''}{each.path}")
