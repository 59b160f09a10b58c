"""The result of an import, and the draft from which it is made."""

from typing import Any, Literal

import msgspec

from jmsbridge.config.backends import missing_backend
from jmsbridge.config.java.text import opened, unresolved
from jmsbridge.config.kinds import convert_option
from jmsbridge.config.options import Options
from jmsbridge.config.secrets import has_reference
from jmsbridge.spi import registry

__all__ = ["CLIENTS", "Client", "Draft", "Imported", "Kind", "Note"]

Client = Literal["qpid", "classic", "artemis", "rabbitmq", "pulsar"]
CLIENTS: dict[str, str] = {
    "qpid": "Qpid JMS",
    "classic": "ActiveMQ Classic's client",
    "artemis": "Artemis' client",
    "rabbitmq": "RabbitMQ's JMS client",
    "pulsar": "Starlight for JMS (Pulsar)",
}
"""The Java clients whose configuration can be imported, with their names."""


Kind = Literal["dropped", "changed", "secret", "assumed", "unknown"]


class Note(msgspec.Struct, frozen=True):
    """What the user has to know about one imported setting; never contains its value, which may be a secret.

    ``dropped`` has no equivalent, ``changed`` has a slightly different meaning here, ``secret`` has to be set by hand,
    ``assumed`` was read in one of several possible ways, ``unknown`` is not a setting of that client.
    """

    name: str
    kind: Kind
    reason: str


class Imported(msgspec.Struct, frozen=True):
    """A profile as in ``jmsbridge.toml``, and the notes about it."""

    client: str
    profile: dict[str, Any]
    notes: list[Note]


class Draft:
    """A profile in the making."""

    def __init__(self, client: str, name: str) -> None:
        self.client = client
        self.urls: list[str] = []
        self.notes: list[Note] = []
        self._name = name
        self._user: str | None = None
        self._password: tuple[str, str] | None = None  # the given value, and the reference that replaces it
        self._options: dict[str, Any] = {}
        self._by: dict[str, str] = {}  # option: the setting that it came from

    def note(self, name: str, kind: Kind, reason: str) -> None:
        """Add a note about a setting, once."""
        note = Note(opened(name), kind, opened(reason))
        if note not in self.notes:
            self.notes.append(note)

    def drop(self, name: str, reason: str) -> None:
        """Note that a setting is left out."""
        self.note(name, "dropped", reason)

    def get(self, option: str) -> Any:
        """The current value of an option, or None."""
        return self._options.get(option)

    def set(self, option: str, value: Any, by: str) -> bool:
        """Set one of our options, unless another setting has set it; an invalid value is left out.

        Returns whether the option has this value now.
        """
        if isinstance(value, str):
            value = opened(value)
        if option in self._options:
            if self._options[option] != value:
                self.drop(by, f"{option} is set by {self._by[option]}")
            return bool(self._options[option] == value)
        if option in Options.__struct_fields__ and not _refers(value):
            try:
                convert_option(Options, option, value)
            except ValueError as error:
                self.drop(by, f"{option} cannot have this value: {error}")
                return False
        self._options[option] = value
        self._by[option] = opened(by)
        return True

    def user(self, value: str, by: str) -> None:
        """Connect as this user, unless a user is set."""
        value = opened(value)
        if value and self._user not in (None, value):
            self.drop(by, "another user is set already: a profile has one for all its brokers")
        self._user = self._user or value or None

    def password(self, value: str, by: str) -> None:
        """Set a reference to the password; the value itself is not stored."""
        if not value:
            return
        if self._password is None:
            self._password = value, self.secret(value, by)
        elif self._password[0] != value:
            self.drop(by, "another password is set already: a profile has one for all its brokers")

    def secret(self, value: str, by: str, number: int = 0, what: str = "PASSWORD") -> str:
        """A reference for a secret: the file's own placeholder, or an environment variable to be set."""
        if unresolved(value):
            reference = opened(value)
            self.note(by, "secret", f"taken from the same place as before: {reference}")
            return reference
        words = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in self._name).upper()
        variable = f"{words}_{what}{f'_{number}' if number else ''}"
        self.note(by, "secret", f"set the environment variable {variable}, or write ${{file:PATH}}")
        return f"${{env:{variable}}}"

    def done(self) -> Imported:
        """The profile, URL and credentials first."""
        urls = [opened(url) for url in dict.fromkeys(self.urls)]
        self._check(urls[0].partition(":")[0])
        profile: dict[str, Any] = {"url": urls[0] if len(urls) == 1 else urls}
        if self._user is not None:
            profile["user"] = self._user
        if self._password is not None:
            profile["password"] = self._password[1]
        return Imported(self.client, profile | self._options, self.notes)

    def _check(self, scheme: str) -> None:
        """Leave out options that the backend, if installed, would refuse; note what else it requires."""
        if missing_backend(scheme) is not None:
            return
        struct = registry.load(scheme).options
        values = {}
        for option in [name for name in self._options if name not in Options.__struct_fields__]:
            value = self._options[option]
            try:
                if option not in struct.__struct_fields__:
                    raise ValueError(f"{scheme} has no such option")
                values[option] = value if _refers(value) else convert_option(struct, option, value)
            except ValueError as error:
                del self._options[option]
                self.drop(self._by[option], f"{option} cannot have this value: {error}")
        try:
            struct(**values)
        except ValueError as error:
            self.note(" and ".join(self._by[option] for option in values), "assumed", str(error))


def _refers(value: Any) -> bool:
    """Whether the value is known only when the program runs."""
    return isinstance(value, str) and has_reference(value)
