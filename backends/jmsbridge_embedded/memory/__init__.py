"""The embedded broker in memory: one for each name, with its links, channels and subscriptions.

Start reading at ``broker`` and ``destinations``. The package ``queues`` holds what is stored: ``queue`` and
``dispatch`` say which consumer gets which message, ``backlog`` keeps the order, ``steps`` what an interrupt leaves.
"""

from jmsbridge_embedded.memory.registry import abandon_all, after_fork, before_fork, cut, discard, named

__all__ = ["abandon_all", "after_fork", "before_fork", "cut", "discard", "named"]
