"""Certificates for one started broker: its own authority, a server certificate, one for a client."""

import ssl
from dataclasses import dataclass
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

from integration.lab.table import HOST, PASSWORD, USER

__all__ = ["Certificates", "make_certificates"]


@dataclass(frozen=True)
class Certificates:
    """The paths of the PEM files."""

    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path
    server_pk8: Path
    """The server's key in the format that Pulsar reads."""
    server_p12: Path
    """The server's key and certificate as a Java key store; its password is the user's."""
    ca_p12: Path
    """The authority as a Java trust store with the same password."""

    @classmethod
    def of(cls, folder: Path) -> "Certificates":
        """The paths in a folder, whether the files exist or not."""
        pem = ("ca.pem", "server.pem", "server.key", "client.pem", "client.key")
        return cls(*(folder / name for name in (*pem, "server.pk8", "server.p12", "ca.p12")))

    def context(self, *, shown: bool = True) -> ssl.SSLContext:
        """The TLS context of a client that trusts the server; with `shown`, with the client's certificate."""
        made = ssl.create_default_context(cafile=self.ca)
        if shown:
            made.load_cert_chain(self.client, self.client_key)
        return made


def make_certificates(folder: Path) -> Certificates:
    """Create missing ones: the server's for localhost, the client's for the user that all brokers have."""
    files = Certificates.of(folder)
    if files.ca_p12.exists():
        return files
    folder.mkdir(mode=0o700, exist_ok=True)
    authority = trustme.CA(organization_name="jmsbridge tests")
    server = authority.issue_cert("localhost", HOST)
    client = authority.issue_cert(f"{USER}@localhost", common_name=USER)
    authority.cert_pem.write_to_path(str(files.ca))
    for leaf, certificate, key in ((server, files.server, files.server_key), (client, files.client, files.client_key)):
        certificate.write_bytes(b"".join(blob.bytes() for blob in leaf.cert_chain_pems))
        leaf.private_key_pem.write_to_path(str(key))
        key.chmod(0o600)
    _for_java(files, server)
    _for_java_to_trust(files)
    return files


def _for_java(files: Certificates, server: trustme.LeafCert) -> None:
    key = serialization.load_pem_private_key(server.private_key_pem.bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)  # the default of trustme
    plain = serialization.NoEncryption()
    pk8 = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    chain = [x509.load_pem_x509_certificate(blob.bytes()) for blob in server.cert_chain_pems]
    hidden = serialization.BestAvailableEncryption(PASSWORD.encode())
    p12 = pkcs12.serialize_key_and_certificates(b"server", key, chain[0], chain[1:], hidden)
    for path, content in ((files.server_pk8, pk8), (files.server_p12, p12)):
        path.touch(0o600)
        path.write_bytes(content)


def _for_java_to_trust(files: Certificates) -> None:
    trusted = pkcs12.PKCS12Certificate(x509.load_pem_x509_certificate(files.ca.read_bytes()), b"ca")
    hidden = serialization.BestAvailableEncryption(PASSWORD.encode())
    files.ca_p12.write_bytes(pkcs12.serialize_java_truststore([trusted], hidden))
