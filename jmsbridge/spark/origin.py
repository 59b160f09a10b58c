"""Which brokers a log was begun with: another address may be a new name of the same one, so it is no error."""

import logging
from pathlib import Path

import msgspec

from jmsbridge.config import resolve
from jmsbridge.spark.files import write_whole

__all__ = ["note_brokers"]

log = logging.getLogger("jmsbridge.spark")


def note_brokers(folder: Path, url: str) -> None:
    """Note beside a log where its broker is; a warning if none of the addresses is one that it had before."""
    path = folder / "brokers"
    addresses = {str(msgspec.structs.replace(each, user=None, password=None)) for each in resolve(url).endpoints}
    before = _noted(path)
    if before and before.isdisjoint(addresses):
        log.warning(
            "the log in %s was of %s, and goes on with %s. If that is another broker: the ids that the log keeps are "
            "of messages of the first one, so messages with the same ids are dropped as delivered again, and what the "
            "first one still has is not read",
            folder,
            ", ".join(sorted(before)),
            ", ".join(sorted(addresses)),
        )
    if before != addresses:
        write_whole(path, msgspec.json.encode(sorted(addresses)))


def _noted(path: Path) -> set[str]:
    try:
        return set(msgspec.json.decode(path.read_bytes(), type=list[str]))
    except (FileNotFoundError, msgspec.MsgspecError):  # a log of an earlier version, or a damaged note
        return set()
