"""The address, login and TLS settings of a connection, as parameters of pika."""

from urllib.parse import unquote

import pika
from pika import credentials

from jmsbridge.spi import Endpoint
from jmsbridge.transport.network.tls import client_context
from jmsbridge_rabbitmq.connection.options import RabbitOptions

__all__ = ["PORT", "TLS_PORT", "parameters", "virtual_host"]

PORT, TLS_PORT = 5672, 5671
"""RabbitMQ's usual ports."""


def parameters(endpoint: Endpoint, options: RabbitOptions) -> pika.ConnectionParameters:
    """The parameters for pika; ConnectFailed if certificates cannot be read."""
    tls = endpoint.scheme == "rabbitmqs"
    host = endpoint.host or "localhost"
    return pika.ConnectionParameters(
        host=host,
        port=endpoint.port or (TLS_PORT if tls else PORT),
        virtual_host=virtual_host(endpoint.path),
        credentials=_credentials(endpoint, options),
        ssl_options=pika.SSLOptions(client_context(options, endpoint), options.server_name or host) if tls else None,
        heartbeat=options.heartbeat,
        socket_timeout=endpoint.connect_timeout,
        stack_timeout=endpoint.connect_timeout,
        connection_attempts=1,
        client_properties={"connection_name": f"jmsbridge {endpoint.client_id}" if endpoint.client_id else "jmsbridge"},
    )


def virtual_host(path: str) -> str:
    """The virtual host in a URL's path: ``/`` if there is none or an empty one; ``/a%2Fb`` is ``a/b``."""
    return unquote(path.removeprefix("/")) or "/"


def _credentials(
    endpoint: Endpoint, options: RabbitOptions
) -> credentials.PlainCredentials | credentials.ExternalCredentials:
    if options.login == "external":
        return credentials.ExternalCredentials()
    # pika does not log the password; the text of the parameters shows only the user
    return credentials.PlainCredentials(endpoint.user or "guest", endpoint.password or "guest")
