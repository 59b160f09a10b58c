"""The embedded broker in memory: one for each name, with its links, channels and subscriptions.

Start reading at ``broker`` and ``destinations``; the package ``queues`` holds what is stored: ``queue`` and
``dispatch`` say who gets which message, ``backlog`` keeps the order, ``steps`` says what survives an interrupt.
"""

from jmsbridge_embedded.memory.registry import abandon_all, after_fork, before_fork, cut, discard, named

__all__ = ["abandon_all", "after_fork", "before_fork", "cut", "discard", "named"]
