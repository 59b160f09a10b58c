"""Objects as messages and messages as objects, as Spring's and Quarkus' converters read and write them."""

import math
import pickle
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, Literal, NewType, TypedDict, TypeVar

import msgspec
import pytest

import jmsbridge
from jmsbridge import BytesMessage, JMSContext, MapMessage, Message, Queue, TextMessage
from jmsbridge.app import App
from jmsbridge.app.converters import ConversionException, Converter, JsonConverter
from jmsbridge.errors import ConfigurationError
from jmsbridge.testing.broker import JMSBroker
from tests.app.support import eventually

T = TypeVar("T")


@dataclass
class Line:
    article: str
    count: int = 1


@dataclass
class Order:
    number: int
    lines: list[Line] = field(default_factory=list)


@dataclass
class Rush(Order):
    hours: int = 2


class Bill(msgspec.Struct):
    total: float


class Receipt(msgspec.Struct):
    paid: float


class Address(TypedDict):
    street: str


class Box(msgspec.Struct, Generic[T]):
    what: T


class Orders(Box[Order]):
    pass


class Page(TypedDict, Generic[T]):
    rows: list[T]


TYPES = {"com.shop.Order": Order, "Rush": Rush, "Bill": Bill, "Address": Address}


@pytest.fixture
def context() -> Iterator[JMSContext]:
    with jmsbridge.context("embedded:?broker=converters") as made:
        yield made


@pytest.fixture
def converter() -> JsonConverter:
    return JsonConverter(TYPES)


def through(context: JMSContext, message: Message) -> Message:
    """The message as its receiver gets it."""
    queue = Queue("through")
    context.create_producer().send(queue, message)
    with context.create_context(jmsbridge.AUTO_ACKNOWLEDGE) as other:
        received = other.create_consumer(queue).receive(timeout=5)
    assert received is not None
    return received


def text_of(context: JMSContext, text: str, **properties: str) -> Message:
    message = context.create_text_message(text)
    for name, value in properties.items():
        message.set_string_property(name, value)
    return through(context, message)


@pytest.mark.parametrize("value", ["text", b"bytes", {"n": 1, "s": "x"}, None], ids=repr)
def test_plain_bodies_are_as_they_are(context: JMSContext, converter: Converter, value: object) -> None:
    message = through(context, converter.to_message(context, value))
    assert converter.from_message(message) == value
    assert not message.property_exists("_type")


@pytest.mark.parametrize(
    "value",
    [Order(7, [Line("pen", 3)]), Rush(1, [], 5), Bill(9.5)],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("as_bytes", [False, True])
def test_objects_have_their_name_in_the_property(context: JMSContext, value: object, as_bytes: bool) -> None:
    converter = JsonConverter(TYPES, as_bytes=as_bytes)
    message = through(context, converter.to_message(context, value))
    assert isinstance(message, BytesMessage if as_bytes else TextMessage)
    name = message.get_string_property("_type")
    assert name is not None
    assert TYPES[name] is type(value)
    assert converter.from_message(message) == value
    assert converter.from_message(message, type(value)) == value


def test_what_spring_writes_is_read(context: JMSContext, converter: JsonConverter) -> None:
    message = text_of(context, '{"number":7,"lines":[{"article":"pen","count":2}]}', _type="com.shop.Order")
    assert converter.from_message(message) == Order(7, [Line("pen", 2)])


def test_what_quarkus_writes_is_read_and_the_other_way(context: JMSContext) -> None:
    converter = JsonConverter(TYPES, type_property="_classname")
    message = through(context, converter.to_message(context, Order(1)))
    assert message.get_string_property("_classname") == "com.shop.Order"
    assert JsonConverter(TYPES).from_message(message) == Order(1)


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [("5", "java.lang.Integer", 5), ("2.5", "java.lang.Double", 2.5), ("true", "java.lang.Boolean", True)],
)
def test_single_values_of_quarkus(context: JMSContext, text: str, name: str, value: object) -> None:
    assert JsonConverter().from_message(text_of(context, text, _classname=name)) == value


def test_texts_of_quarkus_have_no_quotes_and_those_of_spring_have(context: JMSContext) -> None:
    name = "java.lang.String"
    for wanted in (None, str, str | None):
        assert JsonConverter().from_message(text_of(context, "hello", _classname=name), wanted) == "hello"
        assert JsonConverter().from_message(text_of(context, '"hello"', _type=name), wanted) == "hello"
    assert JsonConverter().from_message(text_of(context, '"hello"', _type="Other"), str) == '"hello"'


def test_a_property_of_another_name(context: JMSContext) -> None:
    converter = JsonConverter(TYPES, type_property="JavaType")
    message = through(context, converter.to_message(context, Bill(1.0)))
    assert message.get_string_property("JavaType") == "Bill"
    assert converter.from_message(message) == Bill(1.0)


def test_the_type_asked_for_is_read_where_no_name_is(context: JMSContext, converter: JsonConverter) -> None:
    message = text_of(context, '{"street":"Main"}')
    assert converter.from_message(message, Address) == {"street": "Main"}
    assert converter.from_message(message, dict[str, Any]) == {"street": "Main"}
    assert converter.from_message(message, str) == '{"street":"Main"}'
    assert converter.from_message(message) == '{"street":"Main"}'
    assert converter.from_message(message, Message) is message
    assert converter.from_message(text_of(context, "[1,2]"), list[int]) == [1, 2]


def test_a_typed_dict_is_json_where_its_type_is_said(context: JMSContext, converter: JsonConverter) -> None:
    message = converter.to_message(context, {"street": "Main"}, Address)
    assert isinstance(message, TextMessage)
    assert message.get_string_property("_type") == "Address"
    assert isinstance(converter.to_message(context, {"street": "Main"}), MapMessage)


def test_a_type_that_allows_none(context: JMSContext, converter: JsonConverter) -> None:
    empty = through(context, context.create_message())
    assert converter.from_message(empty, Order | None) is None
    assert converter.from_message(text_of(context, '{"number":1}'), Order | None) == Order(1)
    assert converter.from_message(text_of(context, "x"), str | None) == "x"


def test_a_name_for_a_subclass_or_a_member_of_a_union_fits(context: JMSContext, converter: JsonConverter) -> None:
    message = text_of(context, '{"number":1,"hours":9}', _type="Rush")
    assert converter.from_message(message, Order) == Rush(1, [], 9)
    assert converter.from_message(message, Bill | Rush) == Rush(1, [], 9)


def test_a_union_whose_types_only_names_tell_apart(context: JMSContext, converter: JsonConverter) -> None:
    app = App(converter=converter)

    @app.listener("orders")
    def listener(order: Order | Address | None) -> None: ...

    read = app.listeners[0].call.positional[0]
    session: Any = None
    assert read(text_of(context, '{"number":1}', _type="com.shop.Order"), session) == Order(1)
    assert read(text_of(context, '{"street":"Main"}', _type="Address"), session) == {"street": "Main"}
    assert read(through(context, context.create_message()), session) is None
    with pytest.raises(ConversionException, match=r"_type' that says which type of Order \| Address it is"):
        read(text_of(context, '{"number":1}'), session)
    with pytest.raises(ConfigurationError, match="cannot be read from JSON"):
        converter.prepare(Order | threading.Event)


# ---- what is refused


@pytest.mark.parametrize("name", ["os.system", "com.shop.Other", "tests.app.test_converters.Line"])
@pytest.mark.parametrize("wanted", [None, Order])
def test_a_name_that_is_not_allowed_is_refused_in_words(
    context: JMSContext, converter: JsonConverter, name: str, wanted: object
) -> None:
    with pytest.raises(ConversionException) as caught:
        converter.from_message(text_of(context, '{"number":1}', _type=name), wanted)
    assert f"property '_type' names the type {name!r}, which is not allowed" in str(caught.value)
    assert "add it to the converter's types" in str(caught.value)


def test_without_an_allow_list_names_are_not_looked_at(context: JMSContext) -> None:
    message = text_of(context, '{"number":1}', _type="os.system")
    assert JsonConverter().from_message(message) == '{"number":1}'
    assert JsonConverter().from_message(message, Order) == Order(1)


def test_a_name_for_something_else_than_asked_for(context: JMSContext, converter: JsonConverter) -> None:
    with pytest.raises(ConversionException, match=r"'_type' names the type 'Bill', Bill, but Order is asked for"):
        converter.from_message(text_of(context, '{"total":1}', _type="Bill"), Order)


def test_an_object_whose_type_is_not_in_the_list(context: JMSContext, converter: JsonConverter) -> None:
    with pytest.raises(ConversionException, match=r"Line has no name for the property '_type': add it to the conver"):
        converter.to_message(context, Line("pen"))
    message = JsonConverter().to_message(context, Line("pen"))
    assert isinstance(message, TextMessage)
    assert (message.text, message.property_exists("_type")) == ('{"article":"pen","count":1}', False)
    assert JsonConverter(TYPES).to_message(context, [1, 2]).get_body(str) == "[1,2]"


@pytest.mark.parametrize(
    "value", [object(), {"nested": {"a": 1}}, lambda: 1, {1: 2}], ids=["object", "nested", "function", "number"]
)
def test_what_is_no_message(context: JMSContext, value: object) -> None:
    with pytest.raises(ConversionException):
        JsonConverter().to_message(context, value)


@pytest.mark.parametrize("text", ['{"number":"secret"}', '{"number":', "", '{"lines":[]}', "[]", '{"number":\ud800}'])
def test_json_that_does_not_fit_says_message_type_and_property(
    context: JMSContext, converter: JsonConverter, text: str
) -> None:
    message = context.create_text_message(text)
    message.set_string_property("_type", "com.shop.Order")
    with pytest.raises(
        ConversionException, match=r"is no Order, which property '_type' names 'com.shop.Order'"
    ) as caught:
        converter.from_message(message)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("wanted", [Order, list[Any], None])
@pytest.mark.parametrize("depth", [101, 5_000, 1_000_000])
def test_json_bombs_of_depth_are_refused(
    context: JMSContext, converter: JsonConverter, wanted: Any, depth: int
) -> None:
    text = '{"number":1,"x":' + '[{"a":' * (depth // 2) + "1" + "}]" * (depth // 2) + "}"
    message = context.create_text_message(text)
    if wanted is None:
        message.set_string_property("_type", "Bill")
    with pytest.raises(ConversionException, match="nested deeper than max_depth, 100"):
        converter.from_message(message, wanted)


def test_brackets_that_never_close_are_refused(context: JMSContext, converter: JsonConverter) -> None:
    with pytest.raises(ConversionException, match="is no list"):
        converter.from_message(context.create_text_message("[" * 1_000_000), list[Any])


def test_brackets_in_texts_and_wide_json_are_not_deep(context: JMSContext, converter: JsonConverter) -> None:
    wide = '[{"article":"' + "[" * 200 + '\\"{"},' + ",".join(['{"article":"x"}'] * 500) + "]"
    assert len(converter.from_message(context.create_text_message(wide), list[Line])) == 501
    deep = "[" * 100 + "]" * 100
    assert converter.from_message(context.create_text_message(deep), list[Any]) is not None


def test_json_bombs_of_size_are_refused(context: JMSContext) -> None:
    converter = JsonConverter(max_size=1000)
    with pytest.raises(ConversionException, match="1002 bytes; max_size is 1000"):
        converter.from_message(context.create_text_message('"' + "x" * 1000 + '"'), int)
    with pytest.raises(ConversionException, match="max_size is 1000"):
        converter.to_message(context, Line("x" * 1000))


def test_objects_that_contain_themselves(context: JMSContext) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ConversionException, match="cannot be written as JSON"):
        JsonConverter().to_message(context, endless)


def test_kinds_of_messages_that_have_no_such_object(context: JMSContext, converter: JsonConverter) -> None:
    fields = converter.to_message(context, {"a": 1})
    with pytest.raises(ConversionException, match="has a MapMessage, and Order is read from JSON"):
        converter.from_message(fields, Order)
    with pytest.raises(ConversionException, match="is a TextMessage, which has no bytes"):
        converter.from_message(text_of(context, "x"), bytes)
    with pytest.raises(ConversionException, match="is a TextMessage, not a MapMessage"):
        converter.from_message(text_of(context, "x"), MapMessage)
    with pytest.raises(ConversionException, match="StreamMessage"):
        converter.from_message(context.create_stream_message())


def test_a_type_that_json_cannot_have_is_refused_at_once() -> None:
    class Strange:
        def __init__(self, callback: Any) -> None:
            self.callback = callback

    with pytest.raises(ConfigurationError, match="cannot be read from JSON"):
        JsonConverter({"broken": Strange})
    with pytest.raises(ConfigurationError, match="cannot be read from JSON"):
        JsonConverter({"broken": Bill | Receipt})
    assert "Order" in repr(JsonConverter(TYPES))


def test_errors_are_picklable() -> None:
    again = pickle.loads(pickle.dumps(ConversionException("why")))
    assert isinstance(again, ConversionException)
    assert again.reason == "why"


class _Plain(TypedDict):
    number: int


def test_a_typed_dict_is_asked_for_and_another_type_is_named() -> None:
    converter = JsonConverter({"Plain": _Plain, "Order": Order})
    with jmsbridge.context("embedded:?broker=typed") as context:
        message = context.create_text_message('{"number":1}')
        message.set_string_property("_type", "Order")
        with pytest.raises(ConversionException, match="names the type 'Order'"):
            converter.from_message(message, _Plain)


@pytest.mark.parametrize("types", [{"Box": Box}, {"Box": Box[Order]}, {"Box": Box[Order], "Bill": Bill}])
@pytest.mark.parametrize("asked", [Box[Order], Bill | Box[Order]])
def test_an_object_of_a_generic_class(context: JMSContext, types: dict[str, Any], asked: Any) -> None:
    converter = JsonConverter(types)
    message = through(context, converter.to_message(context, Box(Order(7))))
    assert message.get_string_property("_type") == "Box"
    assert converter.from_message(message, asked) == Box(Order(7))
    assert isinstance(converter.from_message(message, Box), Box)
    if "Bill" in types:
        with pytest.raises(ConversionException, match=r"names the type 'Box', Box\[Order\], but Box\[int\] is asked"):
            converter.from_message(message, Box[int])


def test_a_subclass_of_a_generic_class(context: JMSContext) -> None:
    converter = JsonConverter({"Orders": Orders})
    message = through(context, converter.to_message(context, Orders(Order(7))))
    assert converter.from_message(message, Box[Order]) == Orders(Order(7))
    with pytest.raises(ConversionException, match="asked for"):
        converter.from_message(message, Box[int])


def test_an_object_that_two_names_fit_is_refused(context: JMSContext) -> None:
    converter = JsonConverter({"numbers": Box[int], "texts": Box[str], "lines": list[Line]})
    with pytest.raises(ConversionException, match=r"may be any of numbers, texts .* a class of its own"):
        converter.to_message(context, Box(7))
    assert not converter.to_message(context, [7]).property_exists("_type")


def test_a_generic_typed_dict_is_returned(jms_broker: JMSBroker) -> None:
    app = App(converter=JsonConverter({"Page": Page[int]}))

    @app.listener("asked", send_to="pages")
    def listener(text: str) -> Page[int]:
        return {"rows": [int(text)]}

    with app:
        jms_broker.send("asked", "7")
        [page] = eventually(lambda: jms_broker.messages("pages"))
    assert isinstance(page, TextMessage)
    assert (page.text, page.get_string_property("_type")) == ('{"rows":[7]}', "Page")


@pytest.mark.parametrize("name", [None, "Bill"])
@pytest.mark.parametrize("kind", [Bill | None, Bill | Order | None, list[Bill] | None])
def test_null_where_none_is_allowed(context: JMSContext, kind: Any, name: str | None) -> None:
    converter = JsonConverter(TYPES)
    converter.prepare(kind)
    message = text_of(context, " null\n", **({} if name is None else {"_type": name}))
    if name is not None and kind == list[Bill] | None:
        with pytest.raises(ConversionException, match="asked for"):
            converter.from_message(message, kind)
    else:
        assert converter.from_message(message, kind) is None
    with pytest.raises(ConversionException):
        converter.from_message(message, Bill)
    assert converter.from_message(text_of(context, "null"), str | None) == "null"  # a text, which is no JSON


class Colour(StrEnum):
    RED = "red"
    FIVE = "5"


Name = NewType("Name", str)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (Colour.RED, Colour),
        (Colour.FIVE, Colour),
        (Colour.RED, Colour | None),
        ("a", Literal["a", "b"]),
        (Name("Ann"), Name),
        ("some text", int | str),
        ("{", Order | str),
        (5, int | str),
    ],
    ids=repr,
)
def test_a_text_alone_is_what_a_type_makes_of_it(context: JMSContext, value: object, kind: Any) -> None:
    found = JsonConverter().from_message(JsonConverter().to_message(context, value), kind)
    assert (found, found.__class__) == (value, value.__class__)


@pytest.mark.parametrize(
    ("text", "kind"), [("blue", Colour), ("green", Literal["red", "blue"]), ("hello", int), ("", Order)]
)
def test_a_text_alone_that_is_no_value_of_the_type(context: JMSContext, text: str, kind: Any) -> None:
    with pytest.raises(ConversionException, match=r"the body of message .* is no .*: (JSON is|Input data)") as raised:
        JsonConverter().from_message(context.create_text_message(text), kind)
    assert not text or text not in str(raised.value)


def test_text_in_bytes_and_with_a_name_is_json(context: JMSContext, converter: JsonConverter) -> None:
    message = context.create_bytes_message()
    message.write_bytes(b"red")
    with pytest.raises(ConversionException, match="is no Colour"):
        converter.from_message(message, Colour)
    named = context.create_text_message("red")
    named.set_string_property("_type", "colour")
    with pytest.raises(ConversionException, match="is no Colour"):
        JsonConverter({"colour": Colour}).from_message(named, Colour)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_float_that_json_does_not_have_is_refused(context: JMSContext, number: float) -> None:
    for value in (number, [1.0, number], Bill(number), Box({"a": (None, number)})):
        with pytest.raises(ConversionException, match="a float that is NaN or infinite, which would become null"):
            JsonConverter().to_message(context, value)


def test_values_of_maps_and_properties_are_written_as_json(context: JMSContext) -> None:
    message = context.create_map_message()
    message.set_object("total", 1.5)
    message.set_short("count", 3)
    message.set_char("size", "L")
    found: dict[str, Any] = message.get_body(dict) or {}
    assert isinstance(found["total"], jmsbridge.Double)
    written = JsonConverter().to_message(context, Box([Bill(found["total"]), *found.values(), None]))
    assert isinstance(written, TextMessage)
    assert written.text == '{"what":[{"total":1.5},1.5,3,"L",null]}'
