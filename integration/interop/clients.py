"""The brokers' own Java clients, one row each: the program that uses it, and the flavours of the API that it has."""

from dataclasses import dataclass

__all__ = ["CLIENTS", "Client"]


@dataclass(frozen=True)
class Client:
    """A folder here with a ``pom.xml`` and a program."""

    folder: str
    program: str
    flavours: tuple[str, ...] = ("jakarta", "javax")


CLIENTS = (Client("rabbitmq", "Interop"),)
