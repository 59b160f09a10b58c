"""From a URL's scheme to its backend, or to an error that says what to install."""

from jmsbridge.config.suggest import nearest
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi import registry
from jmsbridge.spi.backend import Backend

__all__ = ["EXTRAS", "backend_for", "install_hint"]

EXTRAS = {
    "amqp": "amqp",
    "amqps": "amqp",
    "rabbitmq": "rabbitmq",
    "rabbitmqs": "rabbitmq",
    "stomp": "stomp",
    "stomp+ssl": "stomp",
    "pulsar": "pulsar",
    "pulsar+ssl": "pulsar",
}
"""The extra of the wheel that brings a scheme's client library."""


def install_hint(scheme: str) -> str:
    """The command that brings what a known scheme needs."""
    return (
        f"pip install 'jmsbridge[{EXTRAS[scheme]}]'" if scheme in EXTRAS else "pip install --force-reinstall jmsbridge"
    )


def backend_for(scheme: str) -> Backend:
    """The backend of a scheme; ConfigurationError with the nearest scheme, or with how to install this one."""
    try:
        return registry.load(scheme)
    except KeyError:
        pass  # Said below, where the text can name what there is.
    except ImportError as error:
        raise ConfigurationError(
            f"the backend for {scheme!r} lacks its client library ({error}): {install_hint(scheme)}"
        ) from error
    if scheme in EXTRAS:
        raise ConfigurationError(
            f"no backend for {scheme!r} is installed: this version of jmsbridge has none; one that has it comes with "
            f"{install_hint(scheme)}"
        )
    hint = nearest(scheme, [*registry.names(), *EXTRAS], "schemes")
    raise ConfigurationError(f"unknown scheme {scheme!r}: {hint}")
