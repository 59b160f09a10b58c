"""The implementation behind the JMS objects, one idea per module.

Locks are taken in the order Connection, Session, Consumer, Inbox (``runtime.locks``). Code decides under a lock and
acts after releasing it.
"""

__all__: list[str] = []
