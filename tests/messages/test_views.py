"""The mappings behind ``properties`` and a map message's ``body``."""

from jmsbridge.message import MapMessage


def test_views_of_a_message_in_flight_show_no_fields() -> None:
    """During an asynchronous send the fields are inaccessible, but ``repr``, as debuggers call it, does not fail."""
    message = MapMessage()
    message.set_string("name", "value")
    message.set_string_property("colour", "red")
    body, properties = message.body, message.properties
    assert "name" in repr(body)
    assert "red" in repr(properties)
    message._gate = object()
    assert "name" not in repr(body)
    assert "red" not in repr(properties)
