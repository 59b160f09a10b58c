"""Suppresses pika's log records about connections of this backend."""

import logging
import threading

__all__ = ["quiet_pika"]


class _Ours(logging.Filter):
    """Drops records of our I/O threads: pika logs refusals and lost connections, which callers get as exceptions."""

    def filter(self, record: logging.LogRecord) -> bool:
        name = threading.current_thread().name
        if not (name.startswith("jmsbridge-rabbitmq") and name.endswith("-io")):
            return True
        log = logging.getLogger("jmsbridge.rabbitmq.pika")
        if log.isEnabledFor(logging.DEBUG):
            log.debug("%s", record.getMessage())
        return False


_LOGGERS = (
    "pika.adapters.base_connection",
    "pika.adapters.select_connection",
    "pika.adapters.utils.connection_workflow",
    "pika.adapters.utils.io_services_utils",
    "pika.adapters.utils.selector_ioloop_adapter",
    "pika.callback",
    "pika.channel",
    "pika.connection",
    "pika.heartbeat",
)


def quiet_pika() -> None:
    """Suppress pika's records from threads of this backend; other users of pika are not affected."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(each, _Ours) for each in logger.filters):
            logger.addFilter(_Ours())
