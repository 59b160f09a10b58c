"""Turns the text of a file, or a URL, into a profile."""

from collections.abc import Mapping
from typing import Literal, get_args

import javaproperties

from jmsbridge.config.java import jndi, spring
from jmsbridge.config.java.detect import client_of_url, read_url
from jmsbridge.config.java.model import CLIENTS, Client, Draft, Imported
from jmsbridge.config.java.text import expanded
from jmsbridge.config.masking import is_secret
from jmsbridge.config.suggest import nearest
from jmsbridge.errors import ConfigurationError

__all__ = ["KINDS", "Kind", "import_text", "settings_of"]

Kind = Literal["url", "properties", "yaml"]
KINDS: tuple[str, ...] = get_args(Kind)
"""What can be imported: a client's URL, a properties file (JNDI or Spring Boot), a YAML file (Spring Boot)."""

_Placeholders = list[tuple[str, str | None]]


def import_text(
    text: str,
    kind: str,
    *,
    client: str | None = None,
    factory: str | None = None,
    spring_profile: str | None = None,
    name: str = "imported",
    prefer: str = "amqp",
) -> Imported:
    """The profile equivalent to this Java configuration, with notes on settings without an equivalent.

    ``client`` is needed if the text fits several clients; ``factory`` chooses a JNDI connection factory,
    ``spring_profile`` a Spring profile. ``name`` is the name of the new profile, from which names of secrets are
    derived. ``prefer`` is the protocol for ActiveMQ, ``amqp`` or ``stomp``. ConfigurationError if nothing can be
    imported. Errors, notes and the profile never contain a secret of the text.
    """
    if client is not None and client not in CLIENTS:
        raise ConfigurationError(f"unknown client {client!r}: {nearest(client, CLIENTS, 'clients')}")
    if prefer not in ("amqp", "stomp"):
        raise ConfigurationError(f"the protocol for ActiveMQ must be amqp or stomp, not {prefer!r}")
    if kind == "url":
        return _url(text, client, name, prefer)
    settings, skipped = _active(_documents(text, kind), spring_profile)
    if spring.is_spring(settings) or kind == "yaml":
        imported = _spring(settings, client, name, prefer)
    else:
        imported = _jndi(settings, client, factory, name, prefer)
    for profile in skipped:
        draft = Draft(imported.client, name)
        draft.drop(f"the part for Spring profile {profile}", f"not active: import it with --spring-profile {profile}")
        imported.notes.extend(draft.notes)
    return imported


def settings_of(text: str, kind: str) -> dict[str, str]:
    """The settings of a properties or YAML file as they are written, those that apply under no Spring profile.

    Values may be secrets. ConfigurationError if the text is not of this kind.
    """
    return _active(_documents(text, kind), None)[0]


def _documents(text: str, kind: str) -> list[dict[str, str]]:
    if kind == "properties":
        return _documents_of_properties(text)
    if kind == "yaml":
        return spring.documents(text)
    raise ConfigurationError(f"unknown kind {kind!r}: {nearest(kind, KINDS, 'kinds')}")


def _url(text: str, client: str | None, name: str, prefer: str) -> Imported:
    said: _Placeholders = []
    text = expanded(text.strip(), {}, ":-", lambda *each: said.append(each))
    found, assumed = client_of_url(text) if client is None else (client, None)
    draft = Draft(found, name)
    if assumed:
        draft.note("the URL", "assumed", assumed)
    read_url(draft, text, "the URL", prefer)
    _explain(draft, said)
    return draft.done()


def _documents_of_properties(text: str) -> list[dict[str, str]]:
    parts: list[list[str]] = [[]]
    for line in text.splitlines(keepends=True):
        if line.strip() in ("#---", "!---"):
            parts.append([])
        else:
            parts[-1].append(line)
    try:
        return [dict(javaproperties.loads("".join(part))) for part in parts]
    except ValueError:
        raise ConfigurationError("the file is not a properties file: it has a malformed \\u escape") from None


def _active(files: list[dict[str, str]], profile: str | None) -> tuple[dict[str, str], list[str]]:
    """The settings that apply under a Spring profile, and the profiles that are left out."""
    merged: dict[str, str] = {}
    skipped: list[str] = []
    for settings in files:
        names = next(
            (settings[key] for key in ("spring.config.activate.on-profile", "spring.profiles") if key in settings), ""
        )
        if not names or profile in [each.strip() for each in names.split(",")]:
            merged |= settings
        else:
            skipped.append(names)
    if profile is not None and len(files) > 1 and len(skipped) == len(files) - 1:
        raise ConfigurationError(
            f"no part of the file is for Spring profile {profile!r}; there are {', '.join(skipped)}"
        )
    return merged, skipped


def _filled(
    settings: Mapping[str, str], lookup: Mapping[str, str], separator: str
) -> tuple[dict[str, str], _Placeholders]:
    """The settings with their placeholders replaced from ``lookup``, and the placeholders that it did not have."""
    said: _Placeholders = []
    filled = {
        name: expanded(text, lookup, separator, lambda *each: said.append(each), secret=is_secret(name))
        for name, text in settings.items()
    }
    return filled, said


def _explain(draft: Draft, said: _Placeholders) -> None:
    for variable, default in said:
        if default is None:
            draft.note(f"${{{variable}}}", "changed", f"taken from the environment variable {variable} at run time")
        else:
            draft.note(f"${{{variable}}}", "changed", "replaced by its default; the profile does not read the variable")


def _spring(settings: dict[str, str], client: str | None, name: str, prefer: str) -> Imported:
    clients = spring.clients_of(settings)
    if client is not None and client not in clients:
        raise ConfigurationError(f"the file has no settings for {CLIENTS[client]}")
    if not clients:
        raise ConfigurationError("the file has no settings of spring.activemq, artemis, rabbitmq, pulsar or amqphub")
    chosen = client or clients[0]
    draft = Draft(chosen, name)
    for other in clients:
        if other != chosen:
            draft.drop(f"the settings for {CLIENTS[other]}", f"a profile has one broker: import with --client {other}")
    relevant = {key: text for key, text in settings.items() if _messaging(key)}
    filled, said = _filled(relevant, settings, ":")
    spring.read(draft, filled, prefer)
    _explain(draft, said)
    return draft.done()


def _messaging(key: str) -> bool:
    return bool(spring.clients_of({key: ""})) or key.replace("-", "").lower().startswith("spring.jms.")


def _jndi(settings: dict[str, str], client: str | None, factory: str | None, name: str, prefer: str) -> Imported:
    filled, said = _filled(settings, settings, ":-")
    found: Client | str | None = client or jndi.client_of(filled)
    assumed = None
    if found is None:
        found, assumed = jndi.client_by_url(filled)
    draft = Draft(found, name)
    if assumed:
        draft.note("the URL", "assumed", assumed)
    jndi.read(draft, filled, factory, prefer)
    _explain(draft, said)
    return draft.done()
