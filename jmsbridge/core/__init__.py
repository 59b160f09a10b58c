"""The machinery behind the JMS objects, one idea per module.

Locks are taken in the order Connection, Session, Consumer, Inbox (``locks``); decide under the lock, act outside it.
"""

__all__: list[str] = []
