"""The report as one HTML page that needs no other file."""

from collections.abc import Iterable
from html import escape
from typing import Any

__all__ = ["html"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; color: #1b1b1b; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #888; }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere; }
.native { color: #17692b; } .emulated { color: #8a5a00; } .refused { color: #b3261e; font-weight: bold; }
"""


def html(document: dict[str, Any], title: str) -> str:
    """The page; everything from the project is escaped."""
    backend = document["backend"]
    parts = [
        f"<p>{document['files']} Java files, {sum(len(use['at']) for use in document['uses'])} uses of messaging.</p>",
        _section(
            "Features of a broker" + (f", on {backend}" if backend else ""),
            ["feature", *(["support", "price"] if backend else []), "where"],
            ([_text(f["text"]), *_outcome(f), _places(f["at"])] for f in document["features"]),
        ),
        _section(
            "Java and Python",
            ["Java", "Python", "where"],
            ([_code(use["java"]), _code(use["python"]), _places(use["at"])] for use in document["uses"]),
        ),
        _section(
            "Libraries",
            ["Java", "Python", "where"],
            ([_code(each["library"]), _text(each["python"]), _places(each["at"])] for each in document["libraries"]),
        ),
        _section(
            "Configuration",
            ["file", "profile", "command"],
            ([_code(c["file"]), _block(c), _code(c["command"])] for c in document["configuration"]),
        ),
        _section(
            "Not understood", ["where", "reason"], ([_code(p["at"]), _text(p["reason"])] for p in document["problems"])
        ),
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    body = f"<h1>{escape(title)}</h1>\n{''.join(parts)}"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>{body}</body></html>\n'


def _section(title: str, headings: list[str], rows: Iterable[list[str]]) -> str:
    lines = ["<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows]
    if not lines:
        return ""
    head = "".join(f"<th>{escape(each)}</th>" for each in headings)
    return f"<h2>{escape(title)}</h2>\n<table><tr>{head}</tr>\n" + "\n".join(lines) + "</table>\n"


def _outcome(feature: dict[str, Any]) -> list[str]:
    outcome = feature.get("outcome")
    return [] if outcome is None else [f'<span class="{outcome}">{outcome}</span>', _text(feature["price"])]


def _text(value: str) -> str:
    return escape(value)


def _code(value: str) -> str:
    return f"<code>{escape(value)}</code>"


def _block(configuration: dict[str, str]) -> str:
    profile = configuration.get("profile")
    return _text(configuration["problem"]) if profile is None else f"<pre>{escape(profile)}</pre>"


def _places(at: list[str]) -> str:
    return "<br>".join(map(_code, at))
