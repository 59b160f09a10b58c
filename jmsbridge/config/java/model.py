"""What an import gives, and the draft that becomes it."""

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
    """What the reader of an imported profile has to know about one setting; never its value, which may be a secret.

    ``dropped`` has no equivalent, ``changed`` means something a little different here, ``secret`` has to be put
    somewhere by hand, ``assumed`` was read in one of several possible ways, ``unknown`` is no setting of that client.
    """

    name: str
    kind: Kind
    reason: str


class Imported(msgspec.Struct, frozen=True):
    """A profile as ``jmsbridge.toml`` holds it, and what is to be said about it."""

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
        self._password: tuple[str, str] | None = None  # as it was given, and the reference that stands for it
        self._options: dict[str, Any] = {}
        self._by: dict[str, str] = {}  # which setting gave an option

    def note(self, name: str, kind: Kind, reason: str) -> None:
        """Say something about a setting, once."""
        note = Note(opened(name), kind, opened(reason))
        if note not in self.notes:
            self.notes.append(note)

    def drop(self, name: str, reason: str) -> None:
        """Leave a setting out."""
        self.note(name, "dropped", reason)

    def get(self, option: str) -> Any:
        """The value that an option has so far, or None."""
        return self._options.get(option)

    def set(self, option: str, value: Any, by: str) -> bool:
        """Set one of our options, unless another setting came first; what is no value of it is left out.

        Whether it has this value now.
        """
        if isinstance(value, str):
            value = opened(value)
        if option in self._options:
            if self._options[option] != value:
                self.drop(by, f"{self._by[option]} says what {option} is")
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
        """Connect as this user, unless another one came first."""
        value = opened(value)
        if value and self._user not in (None, value):
            self.drop(by, "another user came first: a profile has one for all its brokers")
        self._user = self._user or value or None

    def password(self, value: str, by: str) -> None:
        """Refer to the password; the value itself goes nowhere."""
        if not value:
            return
        if self._password is None:
            self._password = value, self.secret(value, by)
        elif self._password[0] != value:
            self.drop(by, "another password came first: a profile has one for all its brokers")

    def secret(self, value: str, by: str, number: int = 0) -> str:
        """A reference that stands for a secret: the file's own placeholder, or a name to be set."""
        if unresolved(value):
            reference = opened(value)
            self.note(by, "secret", f"taken from the same place as before: {reference}")
            return reference
        words = "".join(letter if letter.isalnum() and letter.isascii() else "_" for letter in self._name).upper()
        variable = f"{words}_PASSWORD{f'_{number}' if number else ''}"
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
        """Leave out what the backend, where it is here, would refuse; say what it asks for beside."""
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
    """Whether only the running program knows the value."""
    return isinstance(value, str) and has_reference(value)
