"""The URL forms of the Java clients, taken apart."""

from urllib.parse import parse_qsl, quote, unquote

import msgspec

from jmsbridge.config.java.model import Draft
from jmsbridge.config.java.text import opened, split_outside, unresolved
from jmsbridge.errors import ConfigurationError

__all__ = ["Composite", "Member", "address", "composite", "member", "merged_options", "put_urls"]


class Member(msgspec.Struct, frozen=True):
    """One broker of a URL. ``host`` keeps its brackets; ``port`` is text, since a reference may stand for it."""

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
    """A URL that holds others: ``failover:(a,b)?x=y``, ``(a,b)?x=y``, ``a?x=y#b``; a plain one holds itself."""

    scheme: str
    members: list[Member]
    options: dict[str, str]


def composite(text: str) -> Composite:
    """Take a URL apart; ConfigurationError where it cannot be read, without showing it."""
    text = text.strip()
    first, hash_, others = text.partition("#")
    if hash_ and not first.startswith("("):
        one = member(first)
        # only Artemis writes it so, for which the options of the first hold for all
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
    """What is inside the first pair of parentheses, and what follows; without any, what is before the options."""
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
    """A member, or what is in it where it is a list again."""
    if not text.startswith("("):
        return [text]
    inside, after = _parentheses(text)
    return [part + after for part in split_outside(inside)]


def member(text: str) -> Member:
    """Take a URL of one broker apart."""
    scheme, colon, rest = text.strip().partition(":")
    if not colon or not scheme:
        raise ConfigurationError("a URL in the list has no scheme, such as tcp: or amqp:")
    rest, _, query = rest.removeprefix("//").partition("?")
    authority, slash, path = rest.partition("/")
    if "@" in path or ("@" in query and "=" not in query.partition("@")[0]):  # What is here is not what was meant.
        raise ConfigurationError("in a URL's user information '/' is written %2F and '?' %3F, and behind it '@' %40")
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
        raise ConfigurationError("a port of the URL is no number")
    return host, port or None


def _options(query: str) -> dict[str, str]:
    return {name: value for name, value in parse_qsl(query, keep_blank_values=True) if name}


def merged_options(draft: Draft, url: Composite, nested: str) -> dict[str, str]:
    """The options of a URL and of the brokers in it; ``nested`` is the prefix of those meant for all brokers."""
    options: dict[str, str] = {}
    for one in url.members:
        for name, value in one.options.items():
            if options.setdefault(name, value) != value:
                draft.drop(name, "it differs between the URLs; the first one counts for all")
    for name, value in url.options.items():
        if options.get(name.removeprefix(nested), value) != value:
            draft.drop(name.removeprefix(nested), "it differs for a single broker; what holds for the list counts")
        options[name.removeprefix(nested)] = value
    return options


def put_urls(draft: Draft, scheme: str, members: list[Member], by: str) -> None:
    """Write our URLs of these brokers. Credentials that all share become options, others stay in the URLs."""
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
