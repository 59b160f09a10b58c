"""Certificates for one started broker: its own authority, a server certificate, one for a client."""

from dataclasses import dataclass
from pathlib import Path

import trustme

from integration.brokers.table import HOST, USER

__all__ = ["Certificates", "make_certificates"]


@dataclass(frozen=True)
class Certificates:
    """Where the PEM files are."""

    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path

    @classmethod
    def of(cls, folder: Path) -> "Certificates":
        """The files of a folder, made or not."""
        names = ("ca.pem", "server.pem", "server.key", "client.pem", "client.key")
        return cls(*(folder / name for name in names))


def make_certificates(folder: Path) -> Certificates:
    """Make them, unless they are there: the server's for localhost, the client's for the user that all brokers have."""
    files = Certificates.of(folder)
    if files.client_key.exists():
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
    return files
