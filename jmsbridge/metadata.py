"""Connection metadata (Jakarta Messaging 3.1 section 6.1.7)."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import ClassVar

from jmsbridge.strict import Strict

__all__ = ["ConnectionMetaData", "__version__"]


try:
    __version__ = version("jmsbridge")
except PackageNotFoundError:  # run from a source tree without installation
    __version__ = "0.0"


class ConnectionMetaData(Strict):
    """Versions and supported JMSX properties."""

    __slots__ = ("broker", "provider_version")
    _advice: ClassVar[dict[str, str]] = {
        "getJMSVersion": "write jms_version",
        "getJMSMajorVersion": "write jms_major_version",
        "getJMSMinorVersion": "write jms_minor_version",
        "getJMSProviderName": "write jms_provider_name",
        "getProviderVersion": "write provider_version",
    }

    jms_version = "3.1"
    jms_major_version = 3
    jms_minor_version = 1
    jms_provider_name = "jmsbridge"

    def __init__(self, broker: str) -> None:
        self.broker = broker
        """Product and version of the broker behind this connection."""
        self.provider_version = __version__

    @property
    def provider_major_version(self) -> int:
        """The first number of ``provider_version``."""
        return int(self.provider_version.split(".")[0])

    @property
    def provider_minor_version(self) -> int:
        """The second number of ``provider_version``."""
        return int(self.provider_version.split(".")[1])

    @property
    def jmsx_property_names(self) -> Iterator[str]:
        """The JMSX properties that are supported (rule JX-3)."""
        return iter(("JMSXGroupID", "JMSXGroupSeq", "JMSXDeliveryCount"))

    def __repr__(self) -> str:
        return f"<ConnectionMetaData jmsbridge {self.provider_version} on {self.broker}>"
