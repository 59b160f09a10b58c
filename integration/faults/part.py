"""The part that one process plays in a fault run."""

import msgspec

__all__ = ["Settings"]


class Settings(msgspec.Struct, frozen=True):
    """What a process of the run is to do."""

    name: str
    role: str
    url: str
    queue: str
    ledger: str
    count: int = 0
