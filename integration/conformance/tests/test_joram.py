"""Joram's JMS tests, which nobody here wrote, one by one."""

import pytest

from integration.conformance.harness import END, JORAM, JavaTest

BACKENDS = [
    "embedded",
    "embedded-file",
    pytest.param("rabbitmq", marks=pytest.mark.broker("rabbitmq")),
    pytest.param("rabbitmq3", marks=[pytest.mark.long, pytest.mark.broker("rabbitmq3")]),
]


@pytest.mark.timeout(900)  # the first one of a backend runs them all
@pytest.mark.parametrize("test", [*JORAM.tests, END], ids=lambda test: ".".join(test.split(".")[-2:]))
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("suite", [JORAM.name])
def test_joram(suite: str, backend: str, test: str, java_test: JavaTest) -> None:
    java_test(JORAM, backend, test)
    assert suite == JORAM.name
