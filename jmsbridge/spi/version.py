"""The version of the interface between the facade and its backends, which is final.

A backend says for which version it was written, and works with every jmsbridge that has this version. What a version
has is neither changed nor removed, and no promise of a backend is made stricter. These additions do not change it,
since a backend without them goes on as before:

- an optional protocol, such as ``Retires``, ``Cancels`` or ``Admin``: the facade asks whether an object has it;
- a capability of ``Native``: without it the facade emulates or refuses. One that takes a part out of another capability
  is implied by that one;
- a field with a default at the end of a struct, if it is right to ignore it;
- an error class, which a backend may raise;
- a case of the suite about what is promised already.

Everything else makes another version: a verb, parameter or attribute that a backend must have, one that is gone, or
another meaning. A backend of another version is refused.
"""

from typing import Any, Final

__all__ = ["SPI_VERSION", "OtherVersion", "check_version"]

SPI_VERSION: Final = 1
"""The version of this jmsbridge."""


class OtherVersion(ImportError):
    """A backend was written for another version; the text says what to update."""


def check_version(name: str, backend: Any) -> None:
    """OtherVersion unless this backend, which is registered under this name, is written for ``SPI_VERSION``."""
    version = getattr(backend, "spi_version", None)
    if version == SPI_VERSION and isinstance(version, int):
        return
    if not isinstance(version, int):
        said, remedy = "does not say for which version of the SPI it was written", "update the backend's package"
    else:
        remedy = "update the backend's package" if version < SPI_VERSION else "update jmsbridge"
        said = f"was written for version {version} of the SPI"
    raise OtherVersion(f"the backend for {name!r} {said}; this jmsbridge has version {SPI_VERSION}: {remedy}")
