"""One way between the languages: a broker, Java's client for it, and our scheme."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import pytest

from integration.interop.program import Program, Running
from integration.interop.rows import ROWS, Row
from integration.lab.broker import Broker
from integration.lab.external import External

__all__ = ["PATIENCE", "Way", "ways"]

PATIENCE = 60.0
"""Seconds for a message from a Java program, whose machine may start late on a busy computer."""


@dataclass(frozen=True)
class Way:
    """A row on its broker."""

    row: Row
    broker: Broker | External
    program: Program

    def url(self, **options: Any) -> str:
        """Of our connection; the options are beside those of the row."""
        return self._address(self.row.python, {**self.row.options, **self._rest, **options})

    def java(self, command: str, **arguments: Any) -> list[Any]:
        """What a command of the Java program prints."""
        with self.start(command, **arguments) as running:
            return running.rest()

    def start(self, command: str, **arguments: Any) -> Running:
        """The same while it runs."""
        address = self._address(self.row.java, self._rest)
        return self.program.start(self.row.client.factory, address, command, json.dumps(arguments))

    @property
    def _rest(self) -> dict[str, str]:
        return {"admin_url": self.broker.url("http")} if self.row.has_rest else {}

    def _address(self, scheme: str, options: dict[str, Any]) -> str:
        url = self.broker.url(scheme)
        return f"{url}?{urlencode(options)}" if options else url


def ways(wanted: Callable[[Row], bool] = lambda row: True) -> list[object]:
    """Parameters of the fixture ``way``: these rows, with their clients in each flavour."""
    return [
        pytest.param((row, flavour), id=f"{row.name}-{flavour}", marks=pytest.mark.broker(row.broker))
        for row in ROWS
        if wanted(row)
        for flavour in row.client.flavours
    ]
