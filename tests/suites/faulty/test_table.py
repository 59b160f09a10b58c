"""The table of faulty variants is complete, and each case of the contract names what it tests."""

from types import FunctionType
from typing import Any

from jmsbridge.spi import Native
from jmsbridge.testing import suite
from jmsbridge.testing.promises import capabilities, promises
from tests.suites.faulty import answers, channels, flows, transactions
from tests.suites.faulty import capabilities as faulty_capabilities
from tests.suites.faulty.table import TABLE

CASES = {name: value for name, value in vars(suite).items() if name.startswith("test_contract_")}


def _marks(case: FunctionType, name: str) -> list[Any]:
    return [mark for mark in getattr(case, "pytestmark", ()) if mark.name == name]


def test_every_variant_is_in_the_table() -> None:
    made = {name for module in (answers, channels, flows, transactions, faulty_capabilities) for name in module.__all__}
    assert made == {row.name for row in TABLE}


def test_every_promise_has_a_variant() -> None:
    assert set(promises()) <= {row.broken for row in TABLE}


def test_every_capability_has_a_variant() -> None:
    assert set(Native) <= {row.broken for row in TABLE}


def test_every_named_case_exists() -> None:
    assert {case.split("[")[0] for row in TABLE for case in row.cases} <= CASES.keys()


def test_every_case_of_the_contract_names_what_it_tests() -> None:
    assert [name for name, case in CASES.items() if not _marks(case, "promise") + _marks(case, "requires")] == []


def test_every_promise_has_a_case_and_words() -> None:
    named = {one for case in CASES.values() for mark in _marks(case, "promise") for one in mark.args}
    assert set(promises()) <= named
    assert list(promises()) == list(range(1, len(promises()) + 1))
    assert all(promises().values())
    assert capabilities().keys() == set(Native)
