"""Ids of messages that are in the log, while the broker may deliver them again.

An id is kept from when its segment is on disk until the broker has confirmed the acknowledgement. If a crash came
between, until the message came again and was acknowledged. If the broker confirms nothing, for the retention.
"""

import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from jmsbridge.spark.files import write_whole

__all__ = ["Group", "KeptIds", "ids_in"]

_MOST = 1_000_000
"""Ids kept at most; beyond them the oldest are forgotten, and the progress shows how long ids are kept then."""
_CONFIRMED = "confirmed"


class _File(msgspec.Struct):
    told: float | None
    ids: list[str]


class Group:
    """The ids of one segment. ``base`` is its path without suffix, ``told`` when an unconfirmed acknowledgement was."""

    def __init__(self, base: Path, told: float | None = None) -> None:
        self.base = base
        self.told = told
        self.born = time.time()
        self._since = time.monotonic()  # the clock may be set
        self.ids: set[str] = set()

    @classmethod
    def of_segment(cls, path: Path) -> "Group | None":
        """The group of a segment on disk; None if its acknowledgement is confirmed."""
        try:
            mark = path.with_suffix(".acked").read_text(encoding="ascii")
            return None if mark == _CONFIRMED else cls(path.with_suffix(""), float(mark))
        except (FileNotFoundError, ValueError):  # no mark, or one that a loss of power has emptied
            return cls(path.with_suffix(""))

    @property
    def age(self) -> float:
        """Seconds since the broker was told, in this process: before it was born nothing came again."""
        return time.monotonic() - self._since

    def mark(self, *, confirmed: bool) -> None:
        """Note beside the segment, if it is still there, that the broker was told."""
        self.told = None if confirmed else time.time()
        self._since = time.monotonic()
        if self.base.with_suffix(".arrow").exists():
            mark = self.base.with_suffix(".acked")
            if confirmed:
                mark.write_text(_CONFIRMED, encoding="ascii")  # a mark that is lost or emptied keeps the ids longer
            else:
                write_whole(mark, str(self.told).encode("ascii"))


def ids_in(path: Path) -> Sequence[str]:
    """The ids in a file that ``KeptIds.save`` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=_File).ids


class KeptIds:
    """The ids of all groups. Thread-safe; a lookup takes no lock."""

    def __init__(self, retention: float) -> None:
        self._retention = retention
        self.reach = retention
        """For how many seconds each id has been kept at least: less than the retention once there were too many."""
        self._lock = threading.Lock()  # guards what follows
        self._groups: dict[Path, Group] = {}
        self._owners: dict[str, Group] = {}

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._owners

    def __len__(self) -> int:
        return len(self._owners)

    @property
    def since(self) -> float | None:
        """When the oldest group that is still kept began, in seconds since the epoch; None if there is none."""
        with self._lock:
            return min((group.told or group.born for group in self._groups.values()), default=None)

    def are_new(self, ids: Sequence[str | None]) -> list[bool]:
        """Of each message whether it has no id, or one that is not kept and that none before it has."""
        own: set[str] = set()
        found = []
        for each in ids:
            is_new = each is None or not (each in own or each in self._owners)
            if each is not None:
                own.add(each)
            found.append(is_new)
        return found

    def add(self, group: Group, ids: Iterable[str]) -> None:
        """Keep the ids of a group, if it has any."""
        with self._lock:
            group.ids.update(ids)
            if group.ids:
                self._groups[group.base] = group
                self._owners.update(dict.fromkeys(group.ids, group))

    def load(self, path: Path) -> None:
        """Keep the ids of a file that ``save`` wrote; it is deleted with them."""
        file = msgspec.json.decode(path.read_bytes(), type=_File)
        self.add(Group(path.with_suffix(""), file.told), file.ids)

    def save(self, base: Path) -> None:
        """The segment is about to be deleted: write the ids that are still kept to a file."""
        with self._lock:
            group = self._groups.get(base)
            data = None if group is None else msgspec.json.encode(_File(group.told, sorted(group.ids)))
        if data is not None:
            write_whole(base.with_suffix(".ids"), data)  # nothing else has them once the segment is deleted

    def acknowledged(self, group: Group | None, again: Sequence[str], *, confirmed: bool) -> None:
        """The broker was told of a group, and of messages of other groups that had come again."""
        done = self._seen_again(again) if confirmed else []
        if group is not None:
            done.append(group)
        for each in done:
            each.mark(confirmed=confirmed)
            if confirmed:
                self.forget(each)
        self.expire()

    def _seen_again(self, again: Sequence[str]) -> list[Group]:
        with self._lock:
            groups = {owner for each in again if (owner := self._owners.pop(each, None)) is not None}
            for group in groups:
                group.ids.difference_update(again)
            return [group for group in groups if not group.ids]

    def expire(self) -> None:
        """Forget what is older than the retention, or more than can be kept."""
        old = []
        with self._lock:
            left = len(self._owners)
            for group in self._groups.values():  # the oldest first
                age = group.age
                if left > _MOST:
                    self.reach = min(self.reach, age)
                elif age <= self._retention:
                    break
                elif group.told is None:  # its messages come again, whenever that is
                    continue
                left -= len(group.ids)
                old.append(group)
        for group in old:
            self.forget(group)

    def forget(self, group: Group) -> None:
        """Drop a group and its file."""
        with self._lock:
            self._groups.pop(group.base, None)
            for each in group.ids:
                if self._owners.get(each) is group:
                    del self._owners[each]
        group.base.with_suffix(".ids").unlink(missing_ok=True)
