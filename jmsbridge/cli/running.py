"""How every command ends: exit codes, errors as one line, Ctrl-C, a reader that went away."""

import logging
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec

import typer
from rich.text import Text

from jmsbridge.cli.printing import screen, shown
from jmsbridge.errors import ConfigurationError, EmulationWarning, InvalidSelector, JMSError
from jmsbridge.selectors import SelectorError
from jmsbridge.spi.errors import BackendError, SelectorRefused

__all__ = [
    "EMPTY",
    "ERROR",
    "INTERRUPTED",
    "OK",
    "PIPE_CLOSED",
    "USAGE",
    "Interrupted",
    "complain",
    "guarded",
    "note",
    "reporting",
]

_P = ParamSpec("_P")

OK = 0
ERROR = 1  # the broker, the network or the input said no
USAGE = 2  # the command line or the configuration is wrong
EMPTY = 3  # nothing was received, with --fail-if-empty
INTERRUPTED = 130  # Ctrl-C, as shells report it
PIPE_CLOSED = 141  # the reader of the output went away, as shells report it


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, of which the user has been told how far the command came."""


def note(text: str) -> None:
    """Tell the user something beside the output."""
    screen().print(Text(shown(text, lines=True)))


@contextmanager
def reporting(report: Callable[[bool], None], *, always: bool = True) -> Iterator[None]:
    """However the work ends, report how far it came; with ``always`` off, only when Ctrl-C ends it.

    ``report`` is told whether the work ended by itself: otherwise a step of it may be half done.
    """
    try:
        yield
    except Interrupted:
        raise
    except KeyboardInterrupt:
        note("interrupted")
        report(False)
        raise Interrupted from None
    except BaseException:
        if always:
            report(False)
        raise
    if always:
        report(True)


class _Library(logging.Handler):
    """What the library logs, as warnings among the command's own words.

    An error waits for the end: mostly it is the one with which the command ends, and that is told once.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._waiting: list[str] = []
        self._told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """One line of the log."""
        errors = [each for each in record.args or () if isinstance(each, Exception)]
        if record.levelno >= logging.ERROR and errors and not record.exc_info:
            self._waiting.append(str(errors[0]))
        else:
            note(f"warning: {self.format(record)}")

    def told(self, text: str) -> None:
        """The user knows this."""
        self._told.append(text)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Listen while a command runs."""
        self._waiting, self._told = [], []
        logger = logging.getLogger("jmsbridge")
        logger.addHandler(self)
        try:
            yield
        finally:
            logger.removeHandler(self)
            for text in dict.fromkeys(self._waiting):
                if not any(text in told for told in self._told):
                    note(f"warning: {text}")


_library = _Library()


def complain(text: str) -> None:
    """Tell the user what went wrong."""
    _library.told(text)
    screen().print(Text.assemble(("error:", "bold red"), " ", shown(text, lines=True)))


def guarded(command: Callable[_P, int | None]) -> Callable[_P, None]:
    """The command, ending with an exit code whatever happens; no traceback unless ``JMSBRIDGE_DEBUG`` is set."""

    @wraps(command)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> None:
        with _library.heard(), warnings.catch_warnings():
            warnings.showwarning = _Warnings().show
            warnings.simplefilter("always", EmulationWarning)
            code = _exit_code(lambda: command(*args, **kwargs))
        raise typer.Exit(code)

    return run


def _exit_code(command: Callable[[], int | None]) -> int:
    try:
        code = command()
        sys.stdout.flush()
        return OK if code is None else code
    except KeyboardInterrupt as ending:
        if not isinstance(ending, Interrupted):
            note("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # Python flushes stdout once more at exit; that must not fail a second time.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except (ConfigurationError, InvalidSelector, SelectorError, SelectorRefused) as error:
        return _failed(error, USAGE)
    except RecursionError:
        return _failed(ValueError("the input is nested too deeply"), ERROR)
    except (JMSError, BackendError, OSError, ValueError) as error:
        return _failed(error, ERROR)


def _failed(error: Exception, code: int) -> int:
    if os.environ.get("JMSBRIDGE_DEBUG"):
        raise error
    complain(str(error) or type(error).__name__)
    return code


class _Warnings:
    """Warnings in a line each, told once: what is emulated, without the price, for which there is ``doctor``."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def show(self, message: Warning | str, *where: object, **more: object) -> None:
        """One warning."""
        text = str(message)
        if isinstance(message, EmulationWarning) and not os.environ.get("JMSBRIDGE_DEBUG"):
            text = f"{text.partition(';')[0]}: emulated, at a price that `jmsbridge doctor` names"
        if text not in self._told:
            self._told.add(text)
            note(f"warning: {text}")
