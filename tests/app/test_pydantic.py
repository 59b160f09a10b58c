"""Models of pydantic as messages, where it is installed."""

from typing import Annotated, Any

import msgspec
import pytest

import jmsbridge
from jmsbridge import TextMessage
from jmsbridge.app import App
from jmsbridge.app.converters import ConversionException, JsonConverter
from jmsbridge.errors import ConfigurationError
from jmsbridge.spi import DEAD_LETTER_REASON
from jmsbridge.testing.broker import JMSBroker
from tests.app.support import Heard

pydantic = pytest.importorskip("pydantic")


class Customer(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    first_name: str = pydantic.Field(alias="firstName")


CONVERTER = JsonConverter({"Customer": Customer})


@pytest.mark.parametrize("type_of_list", [False, True])
def test_models_have_the_names_that_java_has(type_of_list: bool) -> None:
    with jmsbridge.context("embedded:?broker=pydantic") as context:
        ada = Customer(firstName="Ada")
        message = CONVERTER.to_message(context, [ada] if type_of_list else ada)
        assert isinstance(message, TextMessage)
        assert "firstName" in (message.text or "")
        if type_of_list:
            assert CONVERTER.from_message(message, list[Customer]) == [ada]
        else:
            assert message.get_string_property("_type") == "Customer"
            assert CONVERTER.from_message(message) == ada


@pytest.mark.parametrize("wanted", [Customer, list[Customer]])
def test_errors_do_not_quote_values(wanted: Any) -> None:
    text = '{"firstName":{"secret":1}}'
    _is_refused(
        CONVERTER, text if wanted is Customer else f"[{text}]", wanted, "firstName: Input should be a valid string"
    )


def _is_refused(converter: JsonConverter, text: str, wanted: Any, words: str) -> None:
    """By an error with these words, which does not quote the text's values."""
    with jmsbridge.context("embedded:?broker=pydantic") as context:
        message = context.create_text_message(text)
    with pytest.raises(ConversionException, match=words) as caught:
        converter.from_message(message, wanted)
    assert "secret" not in str(caught.value)


def test_deep_json_is_refused() -> None:
    with jmsbridge.context("embedded:?broker=pydantic") as context:
        message = context.create_text_message("[" * 101 + "]" * 101)
    with pytest.raises(ConversionException, match="nested deeper than max_depth, 100"):
        CONVERTER.from_message(message, Customer)


class Checked(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    number: str
    counts: dict[int, int]

    @pydantic.field_validator("number")  # type: ignore[untyped-decorator]
    @classmethod
    def check(cls, value: str) -> str:
        raise ValueError(f"bad {value}")


@pytest.mark.parametrize("wanted", [Checked, list[Checked]])
def test_the_text_of_a_check_and_wrong_keys_are_not_shown(wanted: Any) -> None:
    text = '{"number": "secret", "counts": {"secret": 1}}'
    text = text if wanted is Checked else f"[{text}]"
    _is_refused(JsonConverter(), text, wanted, "number: a check of the type refuses it")


@pydantic.dataclasses.dataclass
class Parcel:
    weight: Annotated[int, pydantic.Field(gt=0, alias="inGrams")]
    to: Customer | None = None


def test_a_dataclass_of_pydantic_is_checked_and_has_the_names_that_java_has() -> None:
    converter = JsonConverter({"Parcel": Parcel})
    with jmsbridge.context("embedded:?broker=pydantic") as context:
        parcel = Parcel(inGrams=5, to=Customer(firstName="Ada"))  # type: ignore[call-arg]
        message = converter.to_message(context, parcel)
        assert isinstance(message, TextMessage)
        assert message.text == '{"inGrams":5,"to":{"firstName":"Ada"}}'
        assert converter.from_message(message) == parcel
        assert converter.from_message(message, Parcel | None) == parcel
    _is_refused(converter, '{"inGrams":-1}', Parcel, "inGrams: Input should be greater than 0")


@pytest.mark.parametrize(
    ("kind", "good", "bad", "found"),
    [
        (Annotated[int, pydantic.Field(gt=0)], "5", "-5", 5),
        (Annotated[int | None, pydantic.Field(gt=0)], "null", "-5", None),
        (pydantic.PositiveInt, "5", "-5", 5),
        (Annotated[str, pydantic.StringConstraints(max_length=3, to_upper=True)], "abc", "secret", "ABC"),
        (Annotated[int, msgspec.Meta(gt=0), pydantic.Field(lt=9)], "5", "9", 5),
        (Annotated[int, msgspec.Meta(gt=0), pydantic.Field(lt=9)], "5", "0", 5),
        (Annotated[str, pydantic.AfterValidator(lambda text: str(int(text)))], "5", "secret", "5"),
        (Annotated[str, pydantic.AfterValidator(lambda text: {"5": "5"}[text])], "5", "secret", "5"),
    ],
)
def test_constraints_of_a_body_are_checked(jms_broker: JMSBroker, kind: Any, good: str, bad: str, found: Any) -> None:
    app, heard = App(), Heard()

    def listener(body: Any) -> None:
        heard.append(body)

    listener.__annotations__["body"] = kind
    app.listener("orders")(listener)
    with app:
        jms_broker.send("orders", bad, good)
        assert heard.wait(1) == [found]
    (letter,) = jms_broker.messages("DLQ")
    assert letter.get_body(str) == bad
    reason = letter.get_string_property(DEAD_LETTER_REASON) or ""
    assert "not converted: the body of message ID:" in reason
    assert "secret" not in reason


def test_a_constraint_that_cannot_be_checked_is_refused() -> None:
    class Box(msgspec.Struct):
        size: int

    def listener(box: Any) -> None: ...

    listener.__annotations__["box"] = Annotated[Box, pydantic.Field(gt=0)]
    with pytest.raises(ConfigurationError, match=r"parameter 'box' of listener .*cannot be checked by pydantic"):
        App().listener("orders")(listener)
