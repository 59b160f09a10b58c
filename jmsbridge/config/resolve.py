"""From what a caller names to endpoints and typed options: call over URL over profile over default."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from jmsbridge.config.backends import backend_for
from jmsbridge.config.masking import MASK, is_secret, masked_fields
from jmsbridge.config.options import Options, convert_option
from jmsbridge.config.profiles import Profile, find_profile
from jmsbridge.config.suggest import nearest
from jmsbridge.config.urls import ParsedURL, looks_like_url, parse_url, split_urls
from jmsbridge.core.plan import TABLE
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi.backend import Backend
from jmsbridge.spi.envelope import Endpoint

__all__ = ["DEFAULT_TARGET", "Target", "resolve"]

DEFAULT_TARGET = "embedded:"

_CREDENTIALS = ("user", "password")


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where to connect, with every option and where its value came from.

    ``origins`` has one entry per option, ``"call"``, ``"URL"``, ``"profile 'orders' (path)"``, ``"URL of profile …"``
    or ``"default"``, and one for ``target`` itself. ``backend_options`` is an instance of the backend's own options
    struct.
    """

    endpoints: tuple[Endpoint, ...]
    options: Options
    backend_options: msgspec.Struct
    origins: dict[str, str]

    @property
    def scheme(self) -> str:
        """The scheme that all endpoints share."""
        return self.endpoints[0].scheme

    def settings(self) -> dict[str, tuple[object, str]]:
        """Every option with its value, secrets masked, and its origin."""
        values = masked_fields(self.backend_options) | masked_fields(self.options)
        values["user"] = ", ".join(endpoint.user or "" for endpoint in self.endpoints).strip(", ") or None
        values["password"] = MASK if any(endpoint.password for endpoint in self.endpoints) else None
        return {name: (value, self.origins.get(name, "default")) for name, value in values.items()}

    def __repr__(self) -> str:
        given = {name: value for name, (value, origin) in self.settings().items() if origin != "default"}
        options = "".join(f", {name}={value!r}" for name, value in given.items())
        return f"Target({', '.join(map(str, self.endpoints))}{options})"


class _Given(msgspec.Struct, frozen=True):
    """One value as given, and by whom."""

    value: Any
    origin: str
    secret: bool = False


def resolve(target: str | Sequence[str] | None = None, overrides: Mapping[str, Any] | None = None) -> Target:
    """Turn a URL, a list of URLs, a profile name or None into a target that can be opened.

    ``overrides`` are the options of the call, ``user`` and ``password`` included. Connects to nothing. Everything wrong
    raises ConfigurationError with the nearest valid name; no text of it shows a secret.
    """
    urls, profile, origin = _named(target)
    parsed = [parse_url(url) for url in urls]
    scheme = _one_scheme(parsed)
    backend = backend_for(scheme)
    by_url = "URL" if profile is None else f"URL of {_profile_origin(profile)}"
    layers = [_call(overrides or {}), _from_urls(parsed, by_url), _from_profile(profile)]
    given: dict[str, _Given] = {}
    for layer in reversed(layers):
        for name, value in layer.items():
            given[name] = _merged(given.get(name), value)
    options, backend_options = _typed(backend, scheme, given, "" if profile is None else f"{origin}: ")
    origins = {name: by_url for name in _CREDENTIALS if any(getattr(url, name) is not None for url in parsed)}
    origins |= {name: item.origin for name, item in given.items() if name not in origins or name in layers[0]}
    for name in (*_CREDENTIALS, *options.__struct_fields__, *backend_options.__struct_fields__):
        origins.setdefault(name, "default")
    endpoints = tuple(_endpoint(url, given, layers[0], options) for url in parsed)
    return Target(
        endpoints=endpoints, options=options, backend_options=backend_options, origins={"target": origin, **origins}
    )


def _named(target: str | Sequence[str] | None) -> tuple[list[str], Profile | None, str]:
    origin = "call"
    if target is None:
        target = os.environ.get("JMSBRIDGE_URL") or None
        origin = "default" if target is None else "$JMSBRIDGE_URL"
        target = target or DEFAULT_TARGET
    if not isinstance(target, str):
        members = [member for part in _texts(target) for member in split_urls(part)]
        if not members:
            raise ConfigurationError("the list of URLs is empty")
        return members, None, origin
    if looks_like_url(target.strip()):
        return split_urls(target), None, origin
    profile = find_profile(target.strip())
    members = [member for part in profile.urls for member in split_urls(part)]
    return members, profile, _profile_origin(profile) if origin == "call" else origin


def _texts(target: Sequence[str]) -> Iterator[str]:
    for part in target if isinstance(target, Iterable) else [target]:
        if not isinstance(part, str):
            raise ConfigurationError(f"a target is a URL, a list of URLs or a profile name, not {type(part).__name__}")
        yield part


def _one_scheme(urls: list[ParsedURL]) -> str:
    schemes = dict.fromkeys(url.scheme for url in urls)
    if len(schemes) > 1:
        raise ConfigurationError(f"a failover list has one scheme for all its URLs, not {', '.join(schemes)}")
    return next(iter(schemes))


def _call(overrides: Mapping[str, Any]) -> dict[str, _Given]:
    return {
        name: _Given(value, "call")
        for name, value in overrides.items()
        if value is not None or name not in _CREDENTIALS  # None: not given
    }


def _from_urls(urls: list[ParsedURL], origin: str) -> dict[str, _Given]:
    given: dict[str, _Given] = {}
    for url in urls:
        for name, value in url.options.items():
            if name in given and given[name].value != value:
                raise ConfigurationError(f"the URLs of a failover list share their options; {name!r} differs")
            given[name] = _Given(value, origin)
    return _nested(given)


def _nested(given: dict[str, _Given]) -> dict[str, _Given]:
    """``emulation.browse=allow`` in a URL is what ``emulation = { browse = "allow" }`` is in a profile."""
    flat = {name: item for name, item in given.items() if "." not in name}
    for name, item in given.items():
        head, dot, tail = name.partition(".")
        if dot:
            table = flat[head].value if head in flat and isinstance(flat[head].value, dict) else {}
            flat[head] = _Given({**table, tail: item.value}, item.origin, item.secret)
    return flat


def _from_profile(profile: Profile | None) -> dict[str, _Given]:
    if profile is None:
        return {}
    origin = _profile_origin(profile)
    return {name: _Given(value, origin, name in profile.secret) for name, value in profile.options.items()}


def _profile_origin(profile: Profile) -> str:
    return f"profile {profile.name!r} ({profile.file})"


def _merged(lower: _Given | None, upper: _Given) -> _Given:
    """The upper layer wins; of two tables the upper one wins key by key."""
    if lower is None or not (isinstance(lower.value, dict) and isinstance(upper.value, dict)):
        return upper
    return _Given(lower.value | upper.value, upper.origin, lower.secret or upper.secret)


def _typed(backend: Backend, scheme: str, given: dict[str, _Given], where: str) -> tuple[Options, msgspec.Struct]:
    facade, own = set(Options.__struct_fields__), set(backend.options.__struct_fields__)
    for name in given:
        if name not in facade | own | set(_CREDENTIALS):
            hint = nearest(name, facade | own | set(_CREDENTIALS), f"options of {scheme}")
            raise ConfigurationError(f"unknown option {name!r} ({given[name].origin}): {hint}")
    options = Options(**{name: _convert(Options, name, item) for name, item in given.items() if name in facade})
    values = {name: _convert(backend.options, name, item) for name, item in given.items() if name in own - facade}
    if isinstance(options.emulation, dict):
        _check_features(options.emulation)
    # A backend that declares an option of the facade is told the facade's value.
    shared = {name: getattr(options, name) for name in own & facade}
    try:
        return options, backend.options(**values, **shared)
    except ValueError as error:  # each value alone is right
        why = str(error)
    raise ConfigurationError(f"{where}{why}")


def _check_features(emulation: Mapping[str, str]) -> None:
    known = ["default", *(feature.name for feature in TABLE)]
    for name in emulation:
        if name not in known:
            raise ConfigurationError(
                f"option 'emulation' names no feature {name!r}: {nearest(name, known, 'features')}"
            )


def _convert(struct: type[msgspec.Struct], name: str, item: _Given) -> Any:
    try:
        return convert_option(struct, name, item.value)
    except ValueError as error:
        why = str(error)
    shown = MASK if item.secret or is_secret(name) else repr(item.value)
    raise ConfigurationError(f"option {name!r} ({item.origin}) cannot be {shown}: {why}")


def _endpoint(url: ParsedURL, given: dict[str, _Given], call: dict[str, _Given], options: Options) -> Endpoint:
    user, password = (_credential(name, getattr(url, name), given, call) for name in _CREDENTIALS)
    return Endpoint(
        scheme=url.scheme,
        host=url.host,
        port=url.port,
        path=url.path,
        user=user,
        password=password,
        client_id=options.client_id,
    )


def _credential(name: str, own: str | None, given: dict[str, _Given], call: dict[str, _Given]) -> str | None:
    item = call.get(name) or (None if own is not None else given.get(name))
    if item is None:
        return own
    if not isinstance(item.value, str):
        raise ConfigurationError(f"{name!r} ({item.origin}) must be text, not {type(item.value).__name__}")
    return item.value
