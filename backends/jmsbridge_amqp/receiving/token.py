"""What the facade gets for a received message, and passes to ``settle``."""

from jmsbridge_amqp.receiving.receiver import Receiver

__all__ = ["Token"]


class Token:
    """One delivery: its receiver and number, its bytes, and how often it was delivered, as the broker counts."""

    __slots__ = ("count", "data", "number", "receiver")

    def __init__(self, receiver: Receiver, number: int, data: bytes, count: int) -> None:
        self.receiver = receiver
        self.number = number
        self.data = data
        self.count = count

    @property
    def is_held(self) -> bool:
        """Whether it can still be settled; I/O thread."""
        return self.number in self.receiver.unsettled

    def accept_in(self, txn: bytes) -> None:
        """Accept it in a transaction; I/O thread."""
        self.receiver.accept_in(self.number, txn)
