"""One worker process: imports the application and serves it until it is asked to stop. Started by ``supervisor``."""

import atexit
import importlib
import logging
import os
import signal
import sys
import threading
import time
import warnings
from typing import Any

import msgspec

from jmsbridge.app import App
from jmsbridge.cli.running import ERROR, OK, USAGE
from jmsbridge.cli.serve.loglines import log_early, log_to_stderr
from jmsbridge.cli.serve.order import ENDED_ITSELF, VARIABLE, Order, Report, module_and_attribute
from jmsbridge.core.runtime.threads import start_thread
from jmsbridge.errors import ConfigurationError

__all__ = ["load", "main", "serve"]

log = logging.getLogger("jmsbridge.run")

_EVERY = 1.0  # seconds between reports
_AT_EXIT = 5.0  # seconds for what is registered with atexit


def load(text: str) -> App:
    """The application that ``shop.listeners:app`` names; ConfigurationError says why there is none."""
    module, attribute = module_and_attribute(text)
    if not all(part.isidentifier() for part in module.split(".")):
        raise ConfigurationError(f"{module!r} is no name of a module: write MODULE:APP, such as shop.listeners:app")
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise ConfigurationError(f"{module} cannot be imported: {error}") from error
        raise ConfigurationError(
            f"there is no module {error.name!r} in {os.getcwd()} or where Python looks: write MODULE:APP, "
            "such as shop.listeners:app"
        ) from error
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{module} cannot be imported: {type(error).__name__}: {error}") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ConfigurationError(f"{module} has no {attribute!r}: write MODULE:APP, such as shop.listeners:app")
        found = getattr(found, part)
    if not isinstance(found, App):
        raise ConfigurationError(f"{text} is not an App but {type(found).__name__}: make one by jmsbridge.app.App(…)")
    return found


def _report(app: App, order: Order) -> None:
    """Report how it is doing, on a thread of its own; ends the application when nobody reads that any more."""
    rest = threading.Event()
    while True:
        line = msgspec.json.encode(Report(status=app.status(), grace=app.stop_timeout + app.close_timeout)) + b"\n"
        try:
            while line:
                line = line[os.write(order.pipe, line) :]
        except OSError:
            log.error("the process that started this one is gone")
            app.request_stop()
            return
        rest.wait(_EVERY)


def _ask_depths(app: App, order: Order) -> None:
    """Ask the broker, which may take long, for the depths that the reports then show; on a thread of its own."""
    while os.read(order.asking, 100):
        try:
            app.status(depths=True)
        except Exception:
            log.exception("the depths are not known")


def serve(order: Order) -> int:
    """Serve the application; returns the exit code."""
    try:
        app = load(order.app)
        log_to_stderr(order.json_lines)
        if order.stop_timeout is not None:
            app.stop_timeout = order.stop_timeout
        start_thread("jmsbridge-run-report", lambda: _report(app, order))
        start_thread("jmsbridge-run-depths", lambda: _ask_depths(app, order))
        code = app.run(order.target, **order.given)
        return ENDED_ITSELF if code == OK and app.has_asked_to_stop else code
    except ConfigurationError as error:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it ends, and the exit code tells why
        log_to_stderr(order.json_lines)
        log.error("%s", error, exc_info=error.__cause__ if os.environ.get("JMSBRIDGE_DEBUG") else None)
        return USAGE
    except Exception:
        log_to_stderr(order.json_lines)
        log.exception("the application cannot be served")
        return ERROR


def main() -> None:
    """The whole process."""
    logging.captureWarnings(True)
    warnings.simplefilter("default")
    order = msgspec.json.decode(os.environ.pop(VARIABLE), type=Order)
    log_early(order.json_lines)
    sys.path.insert(0, os.getcwd())
    _end(serve(order))


def _end(code: int) -> None:
    """End the process, after what is registered with atexit, such as sending the last spans.

    Without the rest of Python's end: a listener that never returns, and its threads, must not keep the process.
    """

    def end_late() -> None:
        time.sleep(_AT_EXIT)  # sleep: the limit of what runs meanwhile
        os._exit(code)

    start_thread("jmsbridge-run-exit", end_late)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
