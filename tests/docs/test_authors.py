"""The page for authors of backends: its code is Python, and what it says of promises, verbs and members is true."""

import inspect
import re

import pytest

from jmsbridge.spi import backend
from jmsbridge.testing import Harness
from jmsbridge.testing.plugin import REFUSABLE
from jmsbridge.testing.promises import promises
from tests.docs.pages import page

PAGE = page("backend-authors.md")
NUMBERS = {"eleven": 11, "twelve": 12, "thirteen": 13}


def test_its_python_is_python() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 3
    for block in blocks:
        compile(block, "backend-authors.md", "exec")


def test_it_counts_the_promises() -> None:
    said = re.search(r"fifteen verbs that you implement, eight calls that you make,\s+(\w+) promises", PAGE)
    assert said is not None
    assert NUMBERS[said[1]] == len(promises())


def test_it_quotes_promises_as_they_are() -> None:
    quoted = dict(re.findall(r"^promise (\d+) of jmsbridge.spi.backend: (.*)$", PAGE, re.MULTILINE))
    assert quoted
    assert {int(number): text for number, text in quoted.items()}.items() <= promises().items()


def test_it_lists_what_a_harness_may_say() -> None:
    listed = set(re.findall(r"^\| `(\w+)(?:\(\w*\))?` \|", PAGE.split("two members")[-1], re.MULTILINE))
    own = {"url", "cut", "freeze", "aside", "stored", "dead_letters", "emulation", "facade_options", "closing"}
    assert own <= listed
    assert own <= set(dir(Harness)) | set(inspect.get_annotations(Harness))


@pytest.mark.parametrize("verb", ["grant", "drain", "retire", "settle"])
def test_it_explains_the_verbs(verb: str) -> None:
    assert f"`{verb}(" in PAGE
    assert f"def {verb}(" in inspect.getsource(backend)


def test_it_says_which_unclaimed_capabilities_are_noticed() -> None:
    said = PAGE.split("which a\nverb requests: without")[1].split("the verb must")[0]
    assert set(re.findall(r"`([A-Z_]+)`", said)) == {flag.name for flag in REFUSABLE}
