"""Resolves a target to endpoints and typed options; the call overrides the URL, the profile and the defaults."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from jmsbridge.config.backends import NETWORKED, backend_for, refuse_java_url
from jmsbridge.config.features import FEATURES
from jmsbridge.config.kinds import convert_option
from jmsbridge.config.layers import Given, given, merged, nested
from jmsbridge.config.masking import MASK, is_secret, masked_fields
from jmsbridge.config.options import Options
from jmsbridge.config.policies import read_policies
from jmsbridge.config.profiles import Profile, find_profile
from jmsbridge.config.suggest import nearest
from jmsbridge.config.urls import ParsedURL, looks_like_url, parse_url, scheme_of, split_urls
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi.backend import Backend
from jmsbridge.spi.envelope import Endpoint

__all__ = ["DEFAULT_TARGET", "Target", "resolve"]

DEFAULT_TARGET = "embedded:"

_CREDENTIALS = ("user", "password")


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """Where to connect, with every option and the origin of its value.

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
        """Every option with its value, secrets masked, and its origin; tables under their names in a URL."""
        values = masked_fields(self.backend_options) | masked_fields(self.options)
        values["user"] = ", ".join(endpoint.user or "" for endpoint in self.endpoints).strip(", ") or None
        values["password"] = MASK if any(endpoint.password for endpoint in self.endpoints) else None
        flat = dict(leaf for name, value in values.items() for leaf in _flat(name, value))
        return {name: (value, self._origin(name)) for name, value in flat.items()}

    def _origin(self, name: str) -> str:
        return self.origins.get(name) or self.origins.get(name.partition(".")[0], "default")

    def __repr__(self) -> str:
        told = {name: value for name, (value, origin) in self.settings().items() if origin != "default"}
        options = "".join(f", {name}={value!r}" for name, value in told.items())
        return f"Target({', '.join(map(str, self.endpoints))}{options})"


def _flat(name: str, value: object) -> Iterator[tuple[str, object]]:
    """The values in a table under dotted names; an empty table as one value."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if not (isinstance(value, dict) and value):
        yield name, value
        return
    for key, each in value.items():
        yield from _flat(f"{name}.{key}", each)


def resolve(target: str | Sequence[str] | None = None, overrides: Mapping[str, Any] | None = None) -> Target:
    """Turn a URL, a list of URLs, a profile name or None into a target that can be opened.

    ``overrides`` are the options of the call, ``user`` and ``password`` included. Does not connect. Every mistake
    raises ConfigurationError with the nearest valid name, without secrets in its text.
    """
    urls, profile, origin = _named(target)
    scheme = _one_scheme(urls)
    backend = backend_for(scheme)
    parsed = [parse_url(url, needs_host=scheme in NETWORKED) for url in urls]
    by_url = "URL" if profile is None else f"URL of {_profile_origin(profile)}"
    layers = [_call(overrides or {}), _from_urls(parsed, by_url), _from_profile(profile)]
    settings: dict[str, Given] = {}
    for layer in reversed(layers):
        for name, value in layer.items():
            settings[name] = merged(settings.get(name), value)
    origins = {name: by_url for name in _CREDENTIALS if any(getattr(url, name) is not None for url in parsed)}
    for name, item in settings.items():
        if name not in origins or name in layers[0]:
            origins |= item.origins(name)
    options, backend_options = _typed(backend, scheme, settings, origins, "" if profile is None else f"{origin}: ")
    for name in (*_CREDENTIALS, *options.__struct_fields__, *backend_options.__struct_fields__):
        origins.setdefault(name, "default")
    endpoints = tuple(_endpoint(url, settings, layers[0], options) for url in parsed)
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
        members = [member for part in _texts(target) for member in _members(part)]
        if not members:
            raise ConfigurationError("the list of URLs is empty")
        return members, None, origin
    target = target.strip()
    refuse_java_url(target)
    if looks_like_url(target):
        return split_urls(target), None, origin
    profile = find_profile(target)
    members = [member for part in profile.urls for member in _members(part)]
    return members, profile, _profile_origin(profile) if origin == "call" else origin


def _members(text: str) -> list[str]:
    refuse_java_url(text.strip())
    return split_urls(text)


def _texts(target: Sequence[str]) -> Iterator[str]:
    for part in target if isinstance(target, Iterable) else [target]:
        if not isinstance(part, str):
            raise ConfigurationError(
                f"a target must be a URL, a list of URLs or a profile name, not {type(part).__name__}"
            )
        yield part


def _one_scheme(urls: list[str]) -> str:
    schemes = dict.fromkeys(scheme_of(url) for url in urls)
    if len(schemes) > 1:
        raise ConfigurationError(f"the URLs of a failover list must share one scheme, not {', '.join(schemes)}")
    return next(iter(schemes))


def _call(overrides: Mapping[str, Any]) -> dict[str, Given]:
    return {
        name: given(value, "call")
        for name, value in overrides.items()
        if value is not None or name not in _CREDENTIALS  # None: not given
    }


def _from_urls(urls: list[ParsedURL], origin: str) -> dict[str, Given]:
    options: dict[str, str] = {}
    for url in urls:
        for name, value in url.options.items():
            if options.setdefault(name, value) != value:
                raise ConfigurationError(f"the URLs of a failover list must share their options; {name!r} differs")
    return {name: given(value, origin) for name, value in nested(options.items()).items()}


def _from_profile(profile: Profile | None) -> dict[str, Given]:
    if profile is None:
        return {}
    origin = _profile_origin(profile)
    return {name: given(value, origin, name in profile.secret) for name, value in profile.options.items()}


def _profile_origin(profile: Profile) -> str:
    return f"profile {profile.name!r} ({profile.file})"


def _typed(
    backend: Backend, scheme: str, settings: dict[str, Given], origins: dict[str, str], where: str
) -> tuple[Options, msgspec.Struct]:
    facade, own = set(Options.__struct_fields__), set(backend.options.__struct_fields__)
    for name in settings:
        if name not in facade | own | set(_CREDENTIALS):
            hint = nearest(name, facade | own | set(_CREDENTIALS), f"options of {scheme}")
            raise ConfigurationError(f"unknown option {name!r} ({settings[name].origin}): {hint}")
    tables = settings.get("redelivery")
    options = Options(
        **{name: _convert(Options, name, item) for name, item in settings.items() if name in facade - {"redelivery"}}
    )
    if tables is not None:
        options = msgspec.structs.replace(options, redelivery=read_policies(tables, options, origins))
    values = {name: _convert(backend.options, name, item) for name, item in settings.items() if name in own - facade}
    if isinstance(options.emulation, dict):
        _check_features(options.emulation)
    # A backend that declares one of the common options gets its value.
    shared = {name: getattr(options, name) for name in own & facade}
    try:
        return options, backend.options(**values, **shared)
    except ValueError as error:  # from the backend: valid values that contradict each other
        why = str(error)
    raise ConfigurationError(f"{where}{why}")


def _check_features(emulation: Mapping[str, str]) -> None:
    known = ["default", *(feature.name for feature in FEATURES)]
    for name in emulation:
        if name not in known:
            raise ConfigurationError(
                f"option 'emulation' has an unknown feature {name!r}: {nearest(name, known, 'features')}"
            )


def _convert(struct: type[msgspec.Struct], name: str, item: Given) -> Any:
    try:
        return convert_option(struct, name, item.plain)
    except ValueError as error:
        why = str(error)
    shown = MASK if item.secret or is_secret(name) else repr(item.plain)
    raise ConfigurationError(f"option {name!r} ({item.origin}) cannot be {shown}: {why}")


def _endpoint(url: ParsedURL, settings: dict[str, Given], call: dict[str, Given], options: Options) -> Endpoint:
    user, password = (_credential(name, getattr(url, name), settings, call) for name in _CREDENTIALS)
    return Endpoint(
        scheme=url.scheme,
        host=url.host,
        port=url.port,
        path=url.path,
        user=user,
        password=password,
        client_id=options.client_id,
    )


def _credential(name: str, own: str | None, settings: dict[str, Given], call: dict[str, Given]) -> str | None:
    item = call.get(name) or (None if own is not None else settings.get(name))
    if item is None:
        return own
    if not isinstance(item.value, str):
        raise ConfigurationError(f"{name!r} ({item.origin}) must be text, not {type(item.value).__name__}")
    return item.value
