"""The command line, ``jmsbridge``; ``app`` puts the commands together.

``lines`` and ``parsing`` are the JSON form of messages, ``running`` how commands end, ``target`` what most of them
take, the rest one module per command or group of commands.
"""

from jmsbridge.cli.app import app, main

__all__ = ["app", "main"]
