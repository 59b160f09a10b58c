"""Duplicate ids that one destination remembers."""

from collections import OrderedDict

__all__ = ["Window"]


class Window:
    """The last duplicate ids sent to one destination, as many as the sender's ``duplicate_window`` says."""

    __slots__ = ("_ids",)

    def __init__(self) -> None:
        self._ids: OrderedDict[str, None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ids)

    def seen(self, duplicate_id: str, bound: int) -> bool:
        """Whether the id was sent before; it has been from now on."""
        ids = self._ids
        if duplicate_id in ids:
            return True
        ids[duplicate_id] = None
        while len(ids) > bound:
            ids.popitem(last=False)
        return False
