"""Curves of the measure against their definition, written naively."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.base.errors import KgprobeError
from kgprobe.probes.distractors import curves
from kgprobe.probes.distractors.curves import mean_at, mean_curve, shown_numbers
from kgprobe.probes.distractors.evidence import DistractorEvidence, common_facts, curve_tables, measured, values_of
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.proportions import share
from tests.probes.distractors.written import distractor_evidence

COUNT = 5

# Where there is no probability at all it is -inf; few values, so that ties come up.
values = some.just(-math.inf) | some.integers(-4, 0).map(float)


@some.composite
def outcomes(draw: some.DrawFn) -> list[Outcome]:
    drawn: list[Outcome] = []
    for number in range(draw(some.integers(0, 4))):
        key = FactKey("s", f"f{number}")
        if draw(some.booleans()):
            drawn.append(unaskable(key, "P1", draw(some.sampled_from(["no name", "no cloze"]))))
            continue
        sentences = draw(some.lists(some.lists(values, min_size=2, max_size=COUNT + 2), min_size=1, max_size=3))
        drawn.append(Outcome(key, Verdict.WRONG, "P1", evidence=distractor_evidence(sentences)))
    return drawn


def sentences_of(outcome: Outcome) -> list[list[float]]:
    assert isinstance(outcome.evidence, DistractorEvidence)
    return [sentence.log_plausibilities.tolist() for sentence in outcome.evidence.sentences]


@given(outcomes())
def test_measure_of_outcomes_is_its_definition(drawn: list[Outcome]) -> None:
    found = measured(drawn, {"distractors": COUNT})
    asked = [outcome for outcome in drawn if outcome.verdict is not Verdict.UNASKABLE]
    assert found.facts == tuple(outcome.fact.fact for outcome in asked)
    assert sum(found.unaskable.values()) == len(drawn) - len(asked)
    for row, outcome in enumerate(asked):
        sentences = sentences_of(outcome)
        assert found.present[row] == min(min(len(sentence) - 1, COUNT) for sentence in sentences)
        for n in range(1, COUNT + 1):
            beaten = [[truth > rival for rival in rivals[:n]] for truth, *rivals in sentences]
            assert found.min_at_n[row, n - 1] == pytest.approx(np.mean([all(its) for its in beaten]))
            assert found.avg_at_n[row, n - 1] == pytest.approx(np.mean([np.mean(its) for its in beaten]))


@given(outcomes())
def test_evidence_speaks_for_itself(drawn: list[Outcome]) -> None:
    for outcome in drawn:
        if outcome.verdict is Verdict.UNASKABLE:
            continue
        evidence = outcome.evidence
        assert isinstance(evidence, DistractorEvidence)
        truth, *rivals = sentences_of(outcome)[evidence.shown]
        beaten = truth > max(rivals)
        strongest = f"rival {max(range(len(rivals)), key=lambda place: rivals[place])}"
        assert evidence.prediction == (None if beaten else strongest)
        assert evidence.probability == pytest.approx(math.exp(truth))
        assert (evidence.question, evidence.right_answer) == (f"prompt {evidence.shown} …", "Tokyo")
        longest = max(len(sentence) - 1 for sentence in sentences_of(outcome))
        assert bool(evidence.min_at_n(longest)[evidence.shown, -1]) == beaten


def test_what_is_proved_and_what_was_right_before_is_counted() -> None:
    evidence = distractor_evidence([[-1.0, -2.0, -3.0], [-1.0, -2.0, -3.0]])
    replaced = [
        DistractorEvidence(
            evidence.subject,
            evidence.object,
            tuple(type(rival)(rival.id, rival.label, rival.why, former=True) for rival in evidence.rivals),
            tuple(type(one)(one.prompt, one.rivals, one.log_plausibilities, certified) for one in evidence.sentences),
            0,
            0.1,
        )
        for certified in (2, 1)
    ]
    asked = [Outcome(FactKey("s", f"f{n}"), Verdict.RIGHT, "P1", evidence=one) for n, one in enumerate(replaced)]
    found = measured(asked, {"distractors": 2})
    assert found.former.tolist() == [2, 2]
    assert found.certified == (2 + 2 + 1 + 1) / 8
    # Of the first distractor alone, all is proved.
    assert measured(asked, {"distractors": 1}).certified == 1
    unproved = [Outcome(FactKey("s", "f"), Verdict.RIGHT, "P1", evidence=evidence)]
    assert measured(unproved, {"distractors": 2}).certified is None


@pytest.mark.parametrize("requested", [None, 2, 3])
def test_facts_with_few_sentences_are_counted_in_a_note(requested: int | None) -> None:
    counts = (1, 2, 1, 3)
    asked = []
    for number, count in enumerate(counts):
        evidence = distractor_evidence([[0.0, -1.0]] * count)
        asked.append(Outcome(FactKey("s", f"f{number}"), Verdict.RIGHT, "P1", evidence=evidence))
    # A fact that was asked twice is one fact.
    [table] = curve_tables([*asked, *asked[:2]], {"distractors": 1, "sentences": requested})
    few = sum(count < (requested or 0) for count in counts)
    note = f"{few} facts have fewer than {requested} cloze sentences; they count with those they have."
    assert list(table.notes) == ([note] if few else [])


def test_measurements_are_compared_on_the_facts_they_share() -> None:
    first, second, third = (
        measured(
            [
                Outcome(FactKey("s", fact), Verdict.RIGHT, "P1", evidence=distractor_evidence([[-1.0, value]]))
                for fact, value in its.items()
            ],
            {"distractors": 1},
        )
        for its in ({"a": -2.0, "b": 0.0}, {"b": -2.0, "a": 0.0, "c": 0.0}, {"d": 0.0})
    )
    assert common_facts([first, second]) == ["a", "b"]
    assert values_of(second, ["a", "b"], "min").tolist() == [[0.0], [1.0]]
    assert values_of(first, ["a", "b"], "avg").tolist() == [[1.0], [0.0]]
    with pytest.raises(KgprobeError, match="No fact could be asked in all"):
        common_facts([first, third])


def test_curve_is_the_mean_with_a_band_around_it() -> None:
    generator = np.random.default_rng(3)
    known = (generator.random((400, 3)) < [0.8, 0.5, 0.1]).astype(float)
    curve = mean_curve(known, seed=1)
    assert curve.mean == pytest.approx(known.mean(axis=0))
    # Of a share p of 400, the bootstrap's 95% band is about 1.96 standard errors wide on either side.
    width = 2 * 1.96 * np.sqrt(curve.mean * (1 - curve.mean) / 400)
    assert curve.high - curve.low == pytest.approx(width, rel=0.15)
    assert (curve.low < curve.mean).all()
    assert (curve.mean < curve.high).all()
    again = mean_curve(known, seed=1)
    assert (again.low == curve.low).all()
    assert (mean_curve(known, seed=2).low != curve.low).any()
    assert [mean_at(curve, n).value for n in (1, 2, 3)] == curve.mean.tolist()


def test_one_fact_has_no_band_and_equal_facts_are_no_certainty() -> None:
    alone = mean_curve(np.ones((1, 2)))
    assert np.isnan([alone.low, alone.high]).all()
    assert (mean_at(alone, 1).value, mean_at(alone, 1).low, mean_at(alone, 1).high) == (1, None, None)
    assert str(mean_at(alone, 1)) == "1.000"
    for facts in (2, 5, 50):
        known, unknown = mean_curve(np.ones((facts, 1))), mean_curve(np.zeros((facts, 1)))
        # Wilson's interval, as of every other share.
        assert (known.low[0], known.high[0]) == pytest.approx((share(facts, facts).low, 1))
        assert (unknown.low[0], unknown.high[0]) == pytest.approx((0, share(0, facts).high))
        same = mean_curve(np.zeros((facts, 1)), least=-1)
        assert (same.low[0], same.high[0]) == pytest.approx((-share(0, facts).high, share(0, facts).high))
    nearly = mean_curve(np.array([[1.0], [1.0], [0.99]]))
    assert nearly.low[0] < 0.5


def test_table_shows_some_of_a_curve_and_chance_beside_it() -> None:
    few = [Outcome(FactKey("s", "f"), Verdict.RIGHT, "P1", evidence=distractor_evidence([[-1.0, -2.0, -0.5]]))]
    (table,) = curve_tables(few, {"distractors": 30})
    assert [row["n"] for row in table.rows] == shown_numbers(30) == [1, 2, 5, 10, 20, 30]
    assert table.title == "By the number of distractors: one fact"
    assert str(table.rows[0]["Min@n"]) == "1.000"
    assert table.to_dict()["rows"][0]["Min@n_low"] is None
    assert [row["Min@n"].value for row in table.rows][:3] == [1, 0, 0]
    assert [row["Avg@n"].value for row in table.rows][:3] == [1, 0.5, 0.5]
    # There are two distractors, however many are asked for.
    assert [row["by chance"] for row in table.rows][:3] == [1 / 2, 1 / 3, 1 / 3]
    assert table.notes == ["1 facts have fewer than 30 distractors; they count with those they have."]
    assert curve_tables(few, {"distractors": 2})[0].notes == []
    assert curve_tables([unaskable(FactKey("s", "f"), "P1", "no name")], {"distractors": 2}) == []


def test_fact_that_was_asked_several_times_counts_once() -> None:
    log_plausibilities = {"often": [[-1.0, -2.0]], "once": [[-2.0, -1.0]]}
    asked = [
        Outcome(FactKey("s", fact), Verdict.RIGHT, "P1", evidence=distractor_evidence(log_plausibilities[fact]))
        for fact in ("often", "once", "often", "often")
    ]
    (table,) = curve_tables(asked, {"distractors": 2})
    assert table.title == "By the number of distractors: means over 2 facts, with 95% bands"
    assert table.rows[0]["Min@n"].value == 0.5
    assert table.notes == ["2 facts have fewer than 2 distractors; they count with those they have."]


def test_band_of_many_facts_equals_the_bootstrap(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).beta(2, 1, (4_000, 3))
    resampled = mean_curve(values)
    monkeypatch.setattr(curves, "_MOST_RESAMPLED", 1_000)
    normal = mean_curve(values)
    assert normal.low == pytest.approx(resampled.low, abs=0.0015)
    assert normal.high == pytest.approx(resampled.high, abs=0.0015)
    assert (normal.mean == resampled.mean).all()
