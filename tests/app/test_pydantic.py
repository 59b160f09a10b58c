"""Models of pydantic as messages, where it is installed."""

from typing import Any

import pytest

import jmsbridge
from jmsbridge import TextMessage
from jmsbridge.app.converters import ConversionException, JsonConverter

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
