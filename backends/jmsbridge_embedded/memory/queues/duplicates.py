"""The duplicate ids that one destination remembers."""

from collections import OrderedDict

__all__ = ["Window"]


class Window:
    """The last duplicate ids sent to one destination, as many as the sender's ``duplicate_window`` says."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, duplicate_id: str) -> bool:
        return duplicate_id in self._ids

    def remember(self, duplicate_id: str, bound: int) -> None:
        """Remember an id; beyond ``bound`` ids, forget the oldest."""
        ids = self._ids
        ids[duplicate_id] = None
        while len(ids) > bound:
            ids.popitem(last=False)
