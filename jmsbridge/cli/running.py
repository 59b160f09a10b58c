"""Exit codes and error messages of every command, also for Ctrl-C and a closed pipe."""

import logging
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import ParamSpec

import typer
from rich.text import Text

from jmsbridge.cli.printing import screen, shown
from jmsbridge.cli.streams import discard_output, flush_output
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
ERROR = 1  # an error of the broker, the network or the input
USAGE = 2  # the command line or the configuration is wrong
EMPTY = 3  # nothing was received, with --fail-if-empty
INTERRUPTED = 130  # Ctrl-C, as shells report it
PIPE_CLOSED = 141  # the reader of the output closed it, as shells report it


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after the command has reported its progress."""


def note(text: str) -> None:
    """Print a note to standard error."""
    screen().print(Text(shown(text, lines=True)))


@contextmanager
def reporting(report: Callable[[bool], None], *, always: bool = True) -> Iterator[None]:
    """Report progress at the end of the work, however it ends; if ``always`` is False, only after Ctrl-C.

    ``report`` is called with False if the work was interrupted: a step may then be half done.
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
    """Prints the library's log as warnings.

    An error is held back until the end: usually the command fails with it, and then it is printed once.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._waiting: list[str] = []
        self._told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Handle one record of the log."""
        errors = [each for each in record.args or () if isinstance(each, Exception)]
        if record.levelno >= logging.ERROR and errors and not record.exc_info:
            self._waiting.append(str(errors[0]))
        else:
            note(f"warning: {self.format(record)}")

    def told(self, text: str) -> None:
        """Note that this text was printed."""
        self._told.append(text)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Handle log records while a command runs."""
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
    """Print an error to standard error."""
    _library.told(text)
    screen().print(Text.assemble(("error:", "bold red"), " ", shown(text, lines=True)))


def guarded(command: Callable[_P, int | None]) -> Callable[_P, None]:
    """Make the command end with an exit code whatever happens; a traceback only if ``JMSBRIDGE_DEBUG`` is set."""

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
        flush_output()
        return OK if code is None else code
    except KeyboardInterrupt as ending:
        if not isinstance(ending, Interrupted):
            note("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        discard_output()
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
    with suppress(OSError):
        flush_output()
    return code


class _Warnings:
    """Prints each warning once, in one line; emulated features without their price, which ``doctor`` shows."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def show(self, message: Warning | str, *where: object, **more: object) -> None:
        """One warning."""
        text = str(message)
        if isinstance(message, EmulationWarning) and not os.environ.get("JMSBRIDGE_DEBUG"):
            text = f"{text.partition(';')[0]}: emulated; `jmsbridge doctor` shows the price"
        if text not in self._told:
            self._told.add(text)
            note(f"warning: {text}")
