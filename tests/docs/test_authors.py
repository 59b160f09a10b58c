"""The page for authors of backends: its code parses, and its statements about promises, verbs and members are true."""

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


def test_its_python_blocks_parse() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 3
    for block in blocks:
        compile(block, "backend-authors.md", "exec")


def test_its_number_of_promises_is_right() -> None:
    said = re.search(r"fifteen verbs that you implement, eight calls that you make,\s+(\w+) promises", PAGE)
    assert said is not None
    assert NUMBERS[said[1]] == len(promises())


def test_it_quotes_promises_literally() -> None:
    quoted = dict(re.findall(r"^promise (\d+) of jmsbridge.spi.backend: (.*)$", PAGE, re.MULTILINE))
    assert quoted
    assert {int(number): text for number, text in quoted.items()}.items() <= promises().items()


def test_it_lists_the_members_of_a_harness() -> None:
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
