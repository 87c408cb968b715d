"""Steps that probes share: reasons not to ask a fact, and outcomes in the order of the facts."""

from dataclasses import replace

import pytest

from kgprobe.probes.asking import in_order, nameless, not_begun
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.facts import AskedFact
from kgprobe.sampling.keys import FactKey

FACT = AskedFact(FactKey("s", "f"), "P1", "subject", (), "o", "object", (), "2020-05", None)


def test_in_order_unasked_fact_keeps_its_place() -> None:
    facts = [replace(FACT, key=FactKey("s", str(number))) for number in range(3)]
    asked = [Outcome(fact.key, Verdict.RIGHT, "P1") for fact in (facts[0], facts[2])]
    outcomes = in_order(facts, [None, "no name", None], asked)
    assert [outcome.fact for outcome in outcomes] == [fact.key for fact in facts]
    assert (outcomes[1].verdict, outcomes[1].reason) == (Verdict.UNASKABLE, "no name")
    assert [outcomes[0], outcomes[2]] == asked


def test_nameless_end_is_named() -> None:
    assert nameless(FACT) is None
    assert nameless(replace(FACT, subject_label=" ")) == "its subject's label is white space"
    assert nameless(replace(FACT, object_label="\t")) == "its object's label is white space"


@pytest.mark.parametrize(("as_of", "reason"), [(20200501, None), (20200430, "it begins in 2020-05, after 20200430")])
def test_not_begun_compares_the_first_day(as_of: int, reason: str | None) -> None:
    assert not_begun(FACT, as_of) == reason
    assert not_begun(replace(FACT, start=None), as_of) is None
