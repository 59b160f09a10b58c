"""The command line: ``jmsbridge send | receive | browse | backends | doctor``.

``lines`` and ``parsing`` are the JSON form of messages, ``running`` how commands end, the rest one module per command.
"""

from jmsbridge.cli.app import app, main

__all__ = ["app", "main"]
