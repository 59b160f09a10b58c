"""How a connection proves who it is, and makes sure whom it talks to."""

import logging
import ssl
from pathlib import Path
from urllib.parse import unquote

import pika
from pika import credentials

from jmsbridge.spi import ConnectFailed, Endpoint
from jmsbridge_rabbitmq.connection.options import RabbitOptions

__all__ = ["parameters", "virtual_host"]

log = logging.getLogger("jmsbridge.rabbitmq")

_PORT, _TLS_PORT = 5672, 5671


def parameters(endpoint: Endpoint, options: RabbitOptions) -> pika.ConnectionParameters:
    """Everything that pika wants to know; ConnectFailed where certificates cannot be read."""
    tls = endpoint.scheme == "rabbitmqs"
    host = endpoint.host or "localhost"
    return pika.ConnectionParameters(
        host=host,
        port=endpoint.port or (_TLS_PORT if tls else _PORT),
        virtual_host=virtual_host(endpoint.path),
        credentials=_credentials(endpoint, options),
        ssl_options=pika.SSLOptions(_context(endpoint, options), options.server_name or host) if tls else None,
        heartbeat=options.heartbeat,
        socket_timeout=endpoint.connect_timeout,
        stack_timeout=endpoint.connect_timeout,
        connection_attempts=1,
        client_properties={"connection_name": f"jmsbridge {endpoint.client_id}" if endpoint.client_id else "jmsbridge"},
    )


def virtual_host(path: str) -> str:
    """The virtual host in a URL's path: none given is ``/``, and so is an empty one; ``/a%2Fb`` is ``a/b``."""
    return unquote(path.removeprefix("/")) or "/"


def _credentials(
    endpoint: Endpoint, options: RabbitOptions
) -> credentials.PlainCredentials | credentials.ExternalCredentials:
    if options.login == "external":
        return credentials.ExternalCredentials()
    # pika keeps the password for its own log at no level; the parameters' text shows the user only
    return credentials.PlainCredentials(endpoint.user or "guest", endpoint.password or "guest")


def _context(endpoint: Endpoint, options: RabbitOptions) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=options.ca_file)
        if options.certificate is not None:
            context.load_cert_chain(options.certificate, options.key, options.key_password or _no_password)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(file for file in (options.ca_file, options.certificate, options.key) if file)
        raise ConnectFailed(
            f"{endpoint}: the certificate files ({files}) cannot be used: {_why(error, options)}"
        ) from error
    if not options.verify:
        log.warning(
            "%s: certificate and host name are not checked (verify=false): anyone in between can read", endpoint
        )
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _why(error: OSError, options: RabbitOptions) -> str:
    """What is wrong with the files, where the TLS library only says that it cannot read one of them."""
    if not isinstance(error, ssl.SSLError) or error.reason is not None or options.certificate is None:
        return str(error)
    key = Path(options.key or options.certificate)
    if b"BEGIN CERTIFICATE" not in Path(options.certificate).read_bytes():
        return f"{options.certificate} has no certificate (PEM) in it"
    if b"PRIVATE KEY" not in key.read_bytes():
        return f"{key} has no private key (PEM) in it: option 'key' names the file that has"
    if b"ENCRYPTED" in key.read_bytes():
        what = "wrong" if options.key_password else "missing"
        return f"the key in {key} is encrypted, and option 'key_password' is {what}"
    return str(error)


def _no_password() -> str:
    """Instead of asking on the terminal."""
    return ""
