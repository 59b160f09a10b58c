"""The groups of commands: mistakes on the command line are reported like other errors, with passwords masked."""

import _thread
import inspect
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from jmsbridge.cli.printing import keep_secret
from jmsbridge.cli.running import ERROR, INTERRUPTED, PIPE_CLOSED, complain, note
from jmsbridge.cli.streams import discard_output, flush_output, replace_closed_streams

__all__ = ["help_of", "new_app", "run_app"]

# Some versions of Typer depend on Click, others contain a copy: use the one from which Typer's own errors derive.
_Wrong: type[Exception] = typer.BadParameter.__mro__[2]


class _CommandLine(TyperGroup):
    """The group of all commands. Typer's own error messages would repeat the command line, passwords included."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run one command line and end the process with its exit code."""
        keep_secret(sys.argv[1:] if args is None else args)
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        try:
            code = super().main(args, prog_name, complete_var, False, windows_expand_args, **extra)
        except _Wrong as error:
            _end(error)
        except typer.Abort:
            sys.exit(INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)


def _end(error: Any) -> NoReturn:
    context = getattr(error, "ctx", None)
    if type(error).__name__ != "NoArgsIsHelpError":  # whose help is already printed
        complain(_in_words(error.format_message()))
        if context is not None:
            note(f"see `{context.command_path} --help`")
    sys.exit(error.exit_code)


def _in_words(text: str) -> str:
    """An error of Typer without the words of the library that has checked the value."""
    return text.replace("Value error, ", "").replace("Input should be", "it must be").partition(", unable to parse")[0]


def new_app(name: str) -> typer.Typer:
    """A group of commands. Pretty tracebacks are off: they print local variables, which may be passwords."""
    return typer.Typer(
        name=name,
        cls=_CommandLine,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def run_app(app: typer.Typer, arguments: list[str] | None = None) -> None:
    """Run a command line, by default that of the process, and end the process."""
    replace_closed_streams()
    sys.unraisablehook = _unraisable
    try:
        try:
            app(args=arguments)
        finally:
            flush_output()
    except KeyboardInterrupt:  # while Typer makes the commands
        raise SystemExit(INTERRUPTED) from None
    except BrokenPipeError:
        discard_output()
        raise SystemExit(PIPE_CLOSED) from None
    except OSError as error:  # from output outside the commands, such as --help
        complain(str(error))
        raise SystemExit(ERROR) from None


def _unraisable(failed: "sys.UnraisableHookArgs") -> None:
    """Report what Python cannot raise; Ctrl-C comes again, because the command would go on to its end."""
    if isinstance(failed.exc_value, KeyboardInterrupt):  # in a weak reference's callback of an import, for instance
        # soon: when the main thread is out of the place where Python cannot raise it
        again = threading.Timer(0.01, _interrupt)
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(failed)


def _interrupt() -> None:
    if hasattr(signal, "pthread_kill"):  # it ends the main thread's wait, too
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        _thread.interrupt_main()


def help_of(command: Callable[..., Any]) -> str:
    """The text of ``--help``: the command's docstring, with each paragraph in one line, which Typer wraps."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(
        part if part.startswith(" ") else " ".join(line.strip() for line in part.splitlines()) for part in paragraphs
    )
