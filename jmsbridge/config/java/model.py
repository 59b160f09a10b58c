"""What an import gives, and the draft that becomes it."""

from typing import Any, Literal

import msgspec

from jmsbridge.config.java.text import opened, unresolved
from jmsbridge.config.options import Options, convert_option
from jmsbridge.config.secrets import has_reference

__all__ = ["CLIENTS", "Client", "Draft", "Imported", "Note"]

Client = Literal["qpid", "classic", "artemis", "rabbitmq", "pulsar"]
CLIENTS: dict[str, str] = {
    "qpid": "Qpid JMS",
    "classic": "ActiveMQ Classic's client",
    "artemis": "Artemis' client",
    "rabbitmq": "RabbitMQ's JMS client",
    "pulsar": "Starlight for JMS (Pulsar)",
}
"""The Java clients whose configuration can be imported, with their names."""


class Note(msgspec.Struct, frozen=True):
    """What the reader of an imported profile has to know about one setting; never its value, which may be a secret.

    ``dropped`` has no equivalent, ``changed`` means something a little different here, ``secret`` has to be put
    somewhere by hand, ``assumed`` was read in one of several possible ways.
    """

    name: str
    kind: Literal["dropped", "changed", "secret", "assumed"]
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
        self._password: str | None = None
        self._options: dict[str, Any] = {}

    def note(self, name: str, kind: Literal["dropped", "changed", "secret", "assumed"], reason: str) -> None:
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

    def set(self, option: str, value: Any, by: str) -> None:
        """Set one of our options; what is no value of it is left out. Options of backends are checked when used."""
        if isinstance(value, str):
            value = opened(value)
        if option in Options.__struct_fields__ and not (isinstance(value, str) and has_reference(value)):
            try:
                convert_option(Options, option, value)
            except ValueError as error:
                self.drop(by, f"{option} cannot have this value: {error}")
                return
        self._options[option] = value

    def user(self, value: str) -> None:
        """Connect as this user, unless another one came first."""
        if value and self._user is None:
            self._user = opened(value)

    def password(self, value: str, by: str) -> None:
        """Refer to the password; the value itself goes nowhere."""
        if value and self._password is None:
            self._password = self.secret(value, by)

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
        profile: dict[str, Any] = {"url": urls[0] if len(urls) == 1 else urls}
        if self._user is not None:
            profile["user"] = self._user
        if self._password is not None:
            profile["password"] = self._password
        return Imported(self.client, profile | self._options, self.notes)
