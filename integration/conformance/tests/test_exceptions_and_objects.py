"""Exceptions and objects that are passed between Python and Java."""

import json
from pathlib import Path
from typing import Any

import pytest

from integration.conformance.harness import execute, java_or_skip

pytestmark = pytest.mark.timeout(900)

CLASSES = {
    "linked": "jakarta.jms.JMSException",
    "in doubt": "jakarta.jms.JMSException",
    "refused": "jakarta.jms.JMSException",
    "configuration": "jakarta.jms.JMSException",
    "unchecked": "jakarta.jms.IllegalStateRuntimeException",
    "twin": "jakarta.jms.InvalidSelectorRuntimeException",
    "number": "java.lang.NumberFormatException",
    "null": "java.lang.NullPointerException",
    "form": "java.lang.UnsupportedOperationException",
    "index": "java.lang.IndexOutOfBoundsException",
    "argument": "java.lang.IllegalArgumentException",
    "odd text": "jakarta.jms.JMSException",
    "key": "java.lang.RuntimeException",
    "encoding": "java.lang.RuntimeException",
}


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Any:
    java_or_skip()
    folder: Path = tmp_path_factory.mktemp("raised")
    execute(["integration.conformance.tests.raised_in_java", str(folder / "found")], folder / "log")
    assert (folder / "found").exists(), (folder / "log").read_text(encoding="utf-8")
    found = json.loads((folder / "found").read_text(encoding="utf-8"))
    found["log"] = (folder / "log").read_text(encoding="utf-8")
    return found


@pytest.mark.parametrize("case", CLASSES)
def test_each_error_has_its_class(seen: Any, case: str) -> None:
    assert seen[case]["class"] == CLASSES[case]


def test_attributes_of_an_error_are_converted_too(seen: Any) -> None:
    linked, cause = seen["linked"]["linked"], seen["linked"]["cause"]
    assert seen["linked"]["code"] == "CODE"
    assert (linked["class"], linked["message"]) == ("java.lang.IllegalArgumentException", "linked")
    assert (cause["class"], cause["message"]) == ("jakarta.jms.MessageFormatException", "middle")
    assert (cause["cause"]["class"], cause["cause"]["message"]) == ("java.lang.RuntimeException", "OSError('deep')")
    assert (seen["unchecked"]["message"], seen["unchecked"]["code"]) == ("closed", "U")
    assert seen["twin"]["cause"]["class"] == "jakarta.jms.InvalidSelectorException"
    assert seen["null"]["message"] == "nothing"
    assert seen["odd text"]["message"] == "😀 \\ud800"


def test_an_exception_listener_gets_a_jms_exception(seen: Any) -> None:
    linked, unchecked, argument = (seen["listened"][name] for name in ("linked", "unchecked", "argument"))
    assert linked == seen["linked"]
    assert (unchecked["class"], unchecked["message"]) == ("jakarta.jms.JMSException", seen["unchecked"]["message"])
    assert unchecked["cause"]["class"] == "jakarta.jms.IllegalStateRuntimeException"
    assert (argument["class"], argument["message"]) == ("jakarta.jms.JMSException", "bad")
    assert argument["cause"]["class"] == "java.lang.IllegalArgumentException"


def test_a_completion_listener_gets_the_exception_of_the_send(seen: Any) -> None:
    assert all(error == seen[name] for name, error in seen["completed"].items())
    assert len(seen["completed"]) == 3


def test_unexpected_errors_are_kept_and_logged_with_their_traceback(seen: Any) -> None:
    key, encoding, thread = seen["unexpected"]
    assert "KeyError: 'mine'" in key
    assert "raise self.error" in key
    assert "UnicodeDecodeError" in encoding
    assert "KeyError: 'thread'" in thread
    assert "KeyError: 'mine'" in seen["key"]["message"]
    assert "unexpected Python error below a Java call" in seen["log"]


def test_objects_keep_their_identity_and_equality(seen: Any) -> None:
    assert seen["same"] == [True] * 5
