"""Java methods that need more than a plain call: functions of the faces, the Python object and the arguments."""

from typing import Any

from integration.conformance import threads
from jmsbridge.core.runtime.closing import State
from jmsbridge.errors import MessageFormatException, NullValueError

__all__ = ["close_connection", "object_body", "object_fits", "read_bytes"]


def close_connection(faces: Any, target: Any) -> None:
    """Close a connection or a context, and wait for the threads that ran its listeners."""
    target.close()
    core = getattr(target, "_connection", target)._core
    # The connection of a context stays open while other contexts use it, and so do their threads.
    threads.wait_ended(core.name if core.life.state is State.CLOSED else target._session._core.name)


def read_bytes(faces: Any, target: Any, array: Any, length: int | None = None) -> int:
    """Read into a Java array: only the bytes that were read are changed."""
    if array is None:
        raise NullValueError("a buffer is needed, not null")
    buffer = bytearray(len(array))
    count: int = target.read_bytes(buffer) if length is None else target.read_bytes(buffer, length)
    if count > 0:
        array[:count] = bytes(buffer[:count])
    return count


def object_body(faces: Any, target: Any, kind: Any) -> Any:
    """The body of an object message; Java checks the type, because it knows more classes than Python."""
    value = faces.values.serializable_to_java(target.java_stream)
    if value is not None and not kind.java.isInstance(value):
        raise MessageFormatException(f"the body is a {value.getClass().getName()}, not a {kind.__name__}")
    return value


def object_fits(faces: Any, target: Any, kind: Any) -> bool:
    """Whether ``object_body`` would return the body."""
    try:
        object_body(faces, target, kind)
    except MessageFormatException:
        return False
    return True
