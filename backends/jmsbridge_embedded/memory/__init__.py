"""The embedded broker in memory: one per name, with its links, channels and subscriptions.

Start reading at ``broker`` and ``destinations``. In the package ``queues``, ``queue`` and ``dispatch`` decide which
consumer gets which message, ``backlog`` keeps the order, and ``steps`` has the changes that survive an interrupt.
"""

from jmsbridge_embedded.memory.registry import abandon_all, after_fork, before_fork, cut, discard, named

__all__ = ["abandon_all", "after_fork", "before_fork", "cut", "discard", "named"]
