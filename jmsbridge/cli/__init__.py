"""The command line, ``jmsbridge``; ``app`` registers the commands.

``lines`` and ``parsing`` write and read messages as JSON, ``running`` has exit codes and errors, ``target`` the common
arguments; the other modules hold one command or group of commands each.
"""

from jmsbridge.cli.app import app, main

__all__ = ["app", "main"]
