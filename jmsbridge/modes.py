"""Session modes as applications name them: the constants on Session and JMSContext, and the forms of the calls."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from jmsbridge.core import modes
from jmsbridge.errors import InvalidArgumentException, InvalidCall

__all__ = ["MISSING", "SessionModes", "chosen_mode", "split_login"]


class _Missing:
    def __repr__(self) -> str:
        return "not given"


MISSING: Final[Any] = _Missing()
"""Marks an argument that was not given, where None is a value."""


class SessionModes:
    """The session modes as class attributes, as in Java."""

    __slots__ = ()
    _advice: ClassVar[dict[str, str]] = {
        **dict.fromkeys(("send", "sendMessage"), "a producer sends: create_producer(destination).send(message)"),
        **dict.fromkeys(("receive", "onMessage"), "a consumer receives: create_consumer(destination).receive()"),
    }

    SESSION_TRANSACTED: Final = modes.SESSION_TRANSACTED
    AUTO_ACKNOWLEDGE: Final = modes.AUTO_ACKNOWLEDGE
    CLIENT_ACKNOWLEDGE: Final = modes.CLIENT_ACKNOWLEDGE
    DUPS_OK_ACKNOWLEDGE: Final = modes.DUPS_OK_ACKNOWLEDGE
    PRE_ACKNOWLEDGE: Final = modes.PRE_ACKNOWLEDGE
    INDIVIDUAL_ACKNOWLEDGE: Final = modes.INDIVIDUAL_ACKNOWLEDGE
    NO_ACKNOWLEDGE: Final = modes.NO_ACKNOWLEDGE


def chosen_mode(
    call: str,
    given: Sequence[Any],
    transacted: Any = MISSING,
    acknowledge_mode: Any = MISSING,
    session_mode: Any = MISSING,
) -> int:
    """The session mode that a call like ``create_session`` asks for; ``given`` are its positional arguments.

    JMS 2.0: ``call(mode)``. JMS 1.1: ``call(transacted, mode)``. InvalidCall for any other form, and InvalidArgument
    for a mode that does not exist.
    """
    if len(given) > 2:
        raise InvalidCall(f"write {call}(mode) or {call}(transacted, mode), and other arguments by name")
    if given:
        if isinstance(given[0], bool):
            transacted = _once(call, "transacted", given[0], transacted)
        else:
            session_mode = _once(call, "session_mode", given[0], session_mode)
    if len(given) == 2:
        acknowledge_mode = _once(call, "acknowledge_mode", given[1], acknowledge_mode)
    if session_mode is not MISSING:
        if transacted is MISSING and acknowledge_mode is MISSING:
            return modes.session_mode(session_mode)
        raise InvalidCall(
            f"{call} takes a session mode alone, or transacted (True or False) and an acknowledgement mode; "
            f"not {session_mode!r} beside another argument"
        )
    if transacted is not MISSING and not isinstance(transacted, bool):
        raise InvalidCall(f"transacted is True or False, not {transacted!r}; {call}(mode) takes a session mode")
    return _older_form(call, transacted, acknowledge_mode)


def _older_form(call: str, transacted: Any, acknowledge_mode: Any) -> int:
    if transacted is True:  # the acknowledgement mode is then ignored, even if it is invalid
        return modes.SESSION_TRANSACTED
    if acknowledge_mode is MISSING:
        return modes.AUTO_ACKNOWLEDGE
    mode = modes.session_mode(acknowledge_mode)
    if mode == modes.SESSION_TRANSACTED:
        raise InvalidArgumentException(
            f"SESSION_TRANSACTED is not an acknowledgement mode: write {call}(SESSION_TRANSACTED) "
            "for a transacted session"
        )
    return mode


def _once(call: str, name: str, given: Any, named: Any) -> Any:
    if named is not MISSING:
        raise InvalidCall(f"{call} got {name} twice, as {given!r} and as {named!r}")
    return given


def split_login(given: Sequence[Any], user_name: Any, password: Any, session_mode: Any) -> tuple[Any, Any, Any]:
    """User, password and mode of ``create_context()``, ``(mode)``, ``(user, password)`` or ``(user, password, mode)``.

    InvalidCall for every other order. A missing user or password is None, a missing mode is ``MISSING``.
    """
    call = "create_context"
    if len(given) == 1 and isinstance(given[0], int):
        session_mode = _once(call, "session_mode", given[0], session_mode)
    elif given:
        if len(given) > 3 or any(isinstance(value, int) for value in given[:2]):
            raise InvalidCall(f"write {call}(mode), {call}(user_name, password) or {call}(user_name, password, mode)")
        named = (user_name, password, session_mode)
        names = ("user_name", "password", "session_mode")
        pairs = [_once(call, *each) for each in zip(names, given, named, strict=False)]
        user_name, password, session_mode = (*pairs, *named[len(pairs) :])
    return (
        None if user_name is MISSING else user_name,
        None if password is MISSING else password,
        session_mode,
    )
