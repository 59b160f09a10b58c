"""The mutations that ``python -m tools.mutations`` tries still fit today's code."""

from tools.definitions import find
from tools.laws.source import ROOT
from tools.mutations import load


def test_each_mutation_changes_exactly_one_place() -> None:
    mutations = load()
    stale = [f"{each.rule}: {each.mistake}" for each in mutations if find(each.at, ROOT).count(each.old) != 1]
    idle = [f"{each.rule}: {each.mistake}" for each in mutations if each.old == each.new]
    assert mutations
    assert stale == []
    assert idle == []
