"""TLS for networked backends: options, and an SSL context made from them."""

import logging
import ssl
from pathlib import Path

import msgspec

from jmsbridge.spi import ConnectFailed

__all__ = ["TlsOptions", "client_context", "refuse_tls_options"]

log = logging.getLogger("jmsbridge.transport")


class TlsOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The TLS options; the options of a backend extend them."""

    ca_file: str | None = None
    """PEM file of the authorities that may sign the broker's certificate; the default is the system's."""
    certificate: str | None = None
    """PEM file of the client certificate."""
    key: str | None = None
    """PEM file of its private key, if it is not in the certificate's file."""
    key_password: str | None = None
    """The password of that key."""
    verify: bool = True
    """Check the certificate and host name of the broker. If false, anyone in between can read and change messages."""
    server_name: str | None = None
    """The host name that the broker's certificate must have, if it is not the host of the URL."""

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        shown["key_password"] = "***" if self.key_password else None
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def refuse_tls_options(options: TlsOptions, scheme: str, with_tls: str) -> None:
    """Raise ValueError if TLS options were set for a scheme without TLS."""
    for field in msgspec.structs.fields(TlsOptions):
        if getattr(options, field.name) != field.default:
            raise ValueError(f"option {field.name!r} needs TLS: {with_tls}:// instead of {scheme}://")


def client_context(options: TlsOptions, where: object) -> ssl.SSLContext:
    """The SSL context to connect to ``where``; ConnectFailed if certificate files cannot be used."""
    try:
        context = ssl.create_default_context(cafile=options.ca_file)
        if options.certificate is not None:
            context.load_cert_chain(options.certificate, options.key, options.key_password or _no_password)
    except OSError as error:  # ssl.SSLError is one
        files = ", ".join(file for file in (options.ca_file, options.certificate, options.key) if file)
        raise ConnectFailed(
            f"{where}: the certificate files ({files}) cannot be used: {_reason(error, options)}"
        ) from error
    context.options |= ssl.OP_NO_RENEGOTIATION  # during one, a write would have to wait for a read
    if not options.verify:
        log.warning("%s: certificate and host name are not checked (verify=false): anyone in between can read", where)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _reason(error: OSError, options: TlsOptions) -> str:
    """Find out what is wrong with the files where the TLS library only reports that it cannot read one of them."""
    if not isinstance(error, ssl.SSLError) or error.reason is not None or options.certificate is None:
        return str(error)
    key = Path(options.key or options.certificate)
    if b"BEGIN CERTIFICATE" not in Path(options.certificate).read_bytes():
        return f"{options.certificate} has no certificate (PEM) in it"
    if b"PRIVATE KEY" not in key.read_bytes():
        return f"{key} has no private key (PEM) in it: set option 'key' to the file that has"
    if b"ENCRYPTED" in key.read_bytes():
        what = "wrong" if options.key_password else "missing"
        return f"the key in {key} is encrypted, and option 'key_password' is {what}"
    return str(error)


def _no_password() -> str:
    """Keeps OpenSSL from asking for the password on the terminal."""
    return ""
