"""The law of vocabulary: comments, docstrings, messages and pages use the words of ``docs/glossary.md``."""

import io
import re
import tokenize
from collections.abc import Iterator

from tools.laws.source import Source, Violation

__all__ = ["RETIRED", "check"]

_FOLDERS = (
    "jmsbridge",
    "backends",
    "docs",
    "bench",
    "examples",
    "integration",
    "tests",
    "tools",
    "README.md",
    "CHANGELOG.md",
)
_EXEMPT = ("docs/glossary.md", "tools/laws/vocabulary.py", "tests/project/test_laws.py")
_GENERATED = ("docs/capabilities.md", "docs/rules.md", "docs/commands")  # generated from texts in the sources

_BETWEEN = r"\s+(?:(?!out\b)[\w'’]+\s+){0,3}?"

RETIRED = {
    rf"(?:hand(?:s|ed|ing)?|giv(?:e|es|en|ing)|gave){_BETWEEN}back": "release (unmarked), requeue (counted), return",
    r"(?:hand|give)-back": "release (unmarked), requeue (counted), return",
    r"bur(?:y|ies|ied|ying)": "dead-letter",
    r"(?:un)?park(?:s|ed|ing)?": "buffer (messages), wait (threads)",
    r"lanes?": "executor, thread",
    r"hubs?": "connection core",
    r"(?<!container )(?<!expression )(?<!proton's )engines?": "session core",
    r"for texts": "for error messages",
    r"(?:withdr[ae]w(?:s|n|ing)?|disown(?:s|ed|ing)?|reclaim(?:s|ed|ing)?)": "cancel (a send), release (a message)",
    r"seeds? 0\d\d": "a page of this repository",
    r"(?:the )?design,? section \d+|section \d+ of the design": "a page of this repository",
    r"\w[\w-]*\.md section \d+": "a page of this repository",
    r"somebody|whoever": "the noun: no consumer, another link, the caller",
    r"whence": "origin",
    r"fates?": "outcome, answer",
    r"doom(?:s|ed|ing)?": "make rollback only, expire",
    r"(?:put|puts|putting) aside": "dead-letter, move to the expiry queue",
    r"letters of letters": "dead letters that are rejected again",
    r"findings": "a page of this repository, or result",
}
"""Retired words as regular expressions, each with its replacement."""

_PATTERNS = [(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), instead) for pattern, instead in RETIRED.items()]
_IN_SOME = {"lane": ("spark", "positions"), "lanes": ("spark", "positions")}
"""Words of some folders and pages: a part of Spark's log, or of a destination, that has an order of its own."""
_CODE = re.compile(r"(`+)[^`]+\1")
_HIDDEN = "\0"


def check(source: Source) -> Iterator[Violation]:
    """One word for one thing: a retired word is a violation; names in code are not checked."""
    if not source.within(*_FOLDERS) or source.within(*_EXEMPT, *_GENERATED) or source.path.suffix not in {".py", ".md"}:
        return
    prose = _python(source.text) if source.path.suffix == ".py" else _released(source)
    prose = _CODE.sub(lambda span: re.sub(r"[^\n]", _HIDDEN, span[0]), prose)
    for pattern, instead in _PATTERNS:
        for match in pattern.finditer(prose):
            if any(part in str(source.path) for part in _IN_SOME.get(match[0].lower(), ())):
                continue
            line = prose.count("\n", 0, match.start()) + 1
            yield source.broken(line, f"{' '.join(match[0].split())!r} is retired: {instead}")


def _python(text: str) -> str:
    """The file with everything blanked except comments and strings."""
    lines = [re.sub(r"[^\n]", _HIDDEN, line) for line in text.splitlines(keepends=True)]
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    shown = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            (first, start), (last, end) = token.start, token.end
            for number in range(first, last + 1):
                line = shown[number - 1]
                low, high = start if number == first else 0, end if number == last else len(line)
                lines[number - 1] = lines[number - 1][:low] + line[low:high] + lines[number - 1][high:]
    alone = re.compile(r"(\s*)#")  # so that a sentence may continue on the next line of a comment
    heads = (alone.match(line) for line in shown)
    return "".join(
        line if head is None else " " * head.end() + line[head.end() :] for line, head in zip(lines, heads, strict=True)
    )


def _released(source: Source) -> str:
    """The page; of the changelog only the unreleased section, because released ones do not change."""
    if source.path.name != "CHANGELOG.md":
        return source.text
    head, heading, rest = source.text.partition("## [Unreleased]")
    return head + heading + re.split(r"^## \[", rest, maxsplit=1, flags=re.MULTILINE)[0]
