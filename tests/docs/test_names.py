"""What the documentation names exists: files, modules, classes, methods."""

import builtins
import re
from pkgutil import resolve_name
from typing import Any

import pytest

from tests.docs.pages import DOCS, classes, functions, loggers, names
from tools.laws.source import ROOT

GUIDES = ["guide.md", "messages.md", "logging.md", "shutdown.md", "workers.md", "applications.md", "asyncio.md"]
PAGES = [
    "architecture.md",
    "backend-authors.md",
    *GUIDES,
    *(f"decisions/{path.name}" for path in DOCS.glob("decisions/*")),
]

_PATH = re.compile(r"(?:jmsbridge|backends|tests|tools|docs|bench|jmsbridge_embedded)(?:/[\w.*-]+)+/?")
_DOTTED = re.compile(r"(jmsbridge(?:_embedded)?(?:\.\w+)+)(?:\(\))?")
_MEMBER = re.compile(r"([A-Z]\w+)\.(\w+)(?:\(\))?")
_CALL = re.compile(r"(\w+)\(\)")
# Configuration file, entry-point group and loggers look like modules.
_NOT_PYTHON = re.compile(r"jmsbridge\.(?:toml|backends)")


def _exists(name: str) -> bool:
    if _PATH.fullmatch(name):
        return any(ROOT.glob(name.rstrip("/")))
    if _NOT_PYTHON.fullmatch(name) or name in loggers():
        return True
    if match := _DOTTED.fullmatch(name):
        return _resolves(match[1])
    if match := _MEMBER.fullmatch(name):
        return match[2] in classes().get(match[1], set()) or _foreign(match[1], match[2])
    if match := _CALL.fullmatch(name):
        return match[1] in functions() or hasattr(builtins, match[1])
    return True


def _resolves(dotted: str) -> bool:
    try:
        resolve_name(dotted)
    except (ImportError, AttributeError):
        return False
    return True


def _foreign(kind: str, member: str) -> bool:
    """Classes of Java and Python, some of which the pages name."""
    known: dict[str, Any] = {"Future": {"result", "cancel"}, "Float": {"toString"}, "Double": {"toString"}}
    return member in known.get(kind, set())


@pytest.mark.parametrize("name", sorted(PAGES))
def test_what_a_page_names_exists(name: str) -> None:
    assert [each for each in names(name) if not _exists(each)] == []


@pytest.mark.parametrize(
    "name",
    [
        "jmsbridge/core/nothing.py",
        "jmsbridge.core.plan.NOTHING",
        "Inbox.nothing",
        "Nothing_at_all.put",
        "no_such_function()",
    ],
)
def test_a_name_that_is_wrong_is_noticed(name: str) -> None:
    assert not _exists(name)


@pytest.mark.parametrize(
    "name", ["jmsbridge/core/plan.py", "jmsbridge.config.features.FEATURES", "Inbox.put", "settle_all()"]
)
def test_a_name_that_is_right_passes(name: str) -> None:
    assert _exists(name)
