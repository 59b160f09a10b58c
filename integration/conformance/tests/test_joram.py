"""Joram's JMS tests, an independent suite, one by one."""

import pytest

from integration.conformance.backends import BACKENDS
from integration.conformance.harness import END, JORAM, JavaTest


@pytest.mark.timeout(900)  # the first test of a backend runs all of them
@pytest.mark.parametrize("test", [*JORAM.tests, END], ids=lambda test: ".".join(test.split(".")[-2:]))
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("suite", [JORAM.name])
def test_joram(suite: str, backend: str, test: str, java_test: JavaTest) -> None:
    java_test(JORAM, backend, test)
    assert suite == JORAM.name
