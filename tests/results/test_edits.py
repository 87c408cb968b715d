"""Comparison of answers about edits: shares, unchanged answers, conditions, cases and verdicts."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from kgprobe.edits.asking import EditEvidence, read_answer
from kgprobe.edits.questions import OLD, EditQuestion, NamedAnswer
from kgprobe.errors import ArgumentError
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.results.edit_questions import EditAnswers
from kgprobe.results.edits import EditComparison, EditKind, compare_edit_answers
from kgprobe.sampling.keys import FactKey
from tests.edits.asked import OSLO, PARIS, QUESTIONS, ROME, TOKYO, question


def answers(
    name: str,
    texts: Mapping[str, str],
    questions: Sequence[EditQuestion] = QUESTIONS,
    scores: Mapping[str, tuple[float, ...]] | None = None,
) -> EditAnswers:
    """Return answers as a model would have given them: texts by question, empty if not given."""
    outcomes = {}
    for item in questions:
        text = texts.get(item.id, "")
        values = (scores or {}).get(item.id, ())
        evidence = EditEvidence(item.prompt, "", text, *read_answer(item, text), values)
        verdict = Verdict.RIGHT if evidence.is_named else Verdict.WRONG
        outcomes[item.id] = Outcome(FactKey(item.edit, item.id), verdict, item.kind, evidence=evidence)
    return EditAnswers(
        folder=Path("/nowhere") / name,
        config={"described": {"model": f"hf:{name}", "way": "both"}},
        questions={item.id: item for item in questions},
        outcomes=outcomes,
    )


def kind(compared: EditComparison, group: str, name: str = "all") -> EditKind:
    (row,) = [row for row in compared.kinds if (row.group, row.kind) == (group, name)]
    return row


def test_compare_shares_count_questions_of_each_group() -> None:
    base = answers("base", {"e1/1": "Paris", "e1/7": "Tokyo", "e2/1": "Paris", "e2/2": "Rio"})
    tuned = answers("tuned", {"e1/1": "Rome", "e1/2": "Roma", "e1/4": "No", "e1/7": "Tokyo", "e2/2": "Bern"})
    compared = compare_edit_answers(base, tuned, None, None)
    efficacy = kind(compared, "efficacy")
    assert (efficacy.edits, efficacy.questions) == (2, 2)
    assert efficacy.base_generated is not None
    assert efficacy.tuned_generated is not None
    assert (efficacy.base_generated.value, efficacy.tuned_generated.value) == (0, 0.5)
    assert efficacy.tuned_scored is None
    assert [row.kind for row in compared.kinds if row.group == "portability"] == ["all", "negation", "two hops"]
    locality = kind(compared, "locality")
    # The same name, and two texts without item that differ.
    assert locality.same_generated is not None
    assert locality.same_generated.value == 0.5
    assert [case.edit for case in compared.failed] == ["e2"]
    assert compared.verdict is None


def test_compare_scores_against_all_and_against_the_old_object() -> None:
    scores = {"e1/1": (-1.0, -2.0, -0.5), "e2/1": (-1.0, -2.0), "e1/7": (-1.0, -2.0, -3.0)}
    changed = scores | {"e1/7": (-3.0, -2.0, -1.0)}
    base, tuned = answers("base", {}, scores=scores), answers("tuned", {}, scores=changed)
    compared = compare_edit_answers(base, tuned, None, None)
    efficacy, locality = kind(compared, "efficacy"), kind(compared, "locality")
    assert efficacy.tuned_scored is not None
    assert efficacy.before_old is not None
    # Oslo is the most plausible answer to the first question, but not the old object.
    assert (efficacy.tuned_scored.value, efficacy.before_old.value) == (0.5, 1)
    assert locality.same_scored is not None
    assert locality.same_scored.value == 0
    assert [case.question for case in compared.lost] == ["The capital of Japan is"]


def test_compare_conditions_select_what_the_base_knows() -> None:
    knows, not_ = (answers(name, {"e1/5": text}) for name, text in (("a", "Tokyo"), ("b", "Oslo")))
    tuned = answers("tuned", {"e1/6": "Tokyo"})
    for base, met in ((knows, 1), (not_, 0)):
        (row,) = compare_edit_answers(base, tuned, None, None).conditions
        assert (row.kind, row.questions, row.met) == ("two hops", 1, met)
        assert (row.tuned is not None) == bool(met)
    # A condition is not a question about the edit.
    assert "condition" not in {row.group for row in compare_edit_answers(knows, tuned, None, None).kinds}


@pytest.mark.parametrize(("every", "expected"), [(True, 0.0), (False, 1.0)])
def test_compare_case_counts_as_one_question(every: bool, expected: float) -> None:
    items = [
        question(f"e1/{number}", "portability", "logical", "It is", case="c", all_of_case=every) for number in (1, 2)
    ]
    base, tuned = answers("base", {}, items), answers("tuned", {"e1/1": "Rome"}, items)
    row = kind(compare_edit_answers(base, tuned, None, None), "portability")
    assert row.questions == 1
    assert row.tuned_generated is not None
    assert row.tuned_generated.value == expected


def kept(count: int) -> list[EditQuestion]:
    return [
        question(f"e{number}/1", "locality", "same subject", "It is", expected=(TOKYO,), wrong=(OSLO,))
        for number in range(count)
    ]


@pytest.mark.parametrize(("lost", "verdict"), [(0, "kept"), (60, "lost"), (8, "undecided")])
def test_compare_retention_is_tested_against_the_margin(lost: int, verdict: str) -> None:
    items = kept(200)
    right = {item.id: "Tokyo" for item in items}
    base = answers("base", right, items)
    tuned = answers("tuned", right | {item.id: "Oslo" for item in items[:lost]}, items)
    compared = compare_edit_answers(base, tuned, 0.05, None)
    (row,) = compared.verdicts
    assert (row.verdict, row.way) == (verdict, "generation")
    assert compared.verdict is not None
    assert compared.verdict.value == verdict
    assert len(compared.lost) == lost
    assert f"Facts to keep, by text: {verdict}" in compared.summary()


def unlearned(count: int) -> list[EditQuestion]:
    old = NamedAnswer(ROME.names, OLD)
    items = [question(f"e{n}/1", "forgetting", "efficacy", "It is", wrong=(PARIS, OSLO)) for n in range(count)]
    kept = {"expected": (TOKYO,), "wrong": (old,)}
    return items + [question(f"e{n}/2", "locality", "same relation", "It is", **kept) for n in range(count)]


@pytest.mark.parametrize(
    ("right", "habit", "verdict"),
    [(0, 0, "forgotten"), (100, 0, "remembered"), (8, 0, "undecided"), (30, 100, "forgotten")],
)
def test_compare_forgetting_is_tested_against_chance(right: int, habit: int, verdict: str) -> None:
    # ``habit``: other subjects for which the model names the object, too.
    items = unlearned(100)
    texts = {f"e{n}/1": "Rome" for n in range(100)} | {f"e{n}/2": "Tokyo" for n in range(100)}
    now = {f"e{n}/1": "Rome" for n in range(right)} | {f"e{n}/2": "Rome" for n in range(habit)}
    base, tuned = answers("base", texts, items), answers("tuned", now, items)
    compared = compare_edit_answers(base, tuned, None, 0.05)
    (row,) = compared.verdicts
    assert (row.verdict, row.chance) == (verdict, habit / 100)
    assert len(compared.failed) == right


def test_compare_forgetting_by_scores_has_the_chance_of_a_guess() -> None:
    items = unlearned(2)
    scores = {f"e{n}/1": (-1.0, -2.0, -3.0) for n in range(2)}
    base, tuned = (answers(name, {}, items, scores) for name in ("base", "tuned"))
    by_scores = compare_edit_answers(base, tuned, None, 0.05).verdicts[1]
    assert by_scores.chance == pytest.approx(1 / 3)


def test_compare_answers_that_do_not_fit_are_refused() -> None:
    base = answers("base", {})
    with pytest.raises(ArgumentError, match="has the same answers"):
        compare_edit_answers(base, base, None, None)
    with pytest.raises(ArgumentError, match="these questions have none"):
        compare_edit_answers(base, answers("tuned", {}), None, 0.05)
    items = [item for item in QUESTIONS if item.group != "locality"]
    with pytest.raises(ArgumentError, match="is for facts to keep"):
        compare_edit_answers(answers("base", {}, items), answers("tuned", {}, items), 0.05, None)
