"""The mappings behind ``properties`` and a map message's ``body``."""

from jmsbridge.message import MapMessage


def test_views_of_a_message_that_is_being_sent_tell_nothing_of_it() -> None:
    """An asynchronous send has it: its fields may not be looked at, and a debugger's ``repr`` must not fail."""
    message = MapMessage()
    message.set_string("name", "value")
    message.set_string_property("colour", "red")
    body, properties = message.body, message.properties
    assert "name" in repr(body)
    assert "red" in repr(properties)
    message._gate = object()
    assert "name" not in repr(body)
    assert "red" not in repr(properties)
