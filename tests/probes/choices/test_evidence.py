"""Scores by their reductions, and what is told of many outcomes, counted naively."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from kgprobe.models.scoring.sentences import Passage, ScoredPassages
from kgprobe.probes.choices.evidence import AnswerChoice, ChoiceEvidence, ChoiceSentence
from kgprobe.probes.choices.probe import reduced
from kgprobe.probes.confidence import ALL
from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.proportions import share

SCORES = some.lists(some.floats(-30, 0), min_size=3, max_size=3)
FACTS = some.lists(some.tuples(some.sampled_from(["P1", "P2"]), some.integers(0, 2), SCORES, SCORES), max_size=8)


def outcome_of(relation: str, right: int, *scores: list[float]) -> Outcome:
    evidence = ChoiceEvidence(
        choices=tuple(AnswerChoice(f"Q{n}", f"name {n}") for n in range(3)),
        right=right,
        apart=(),
        sentences=tuple(ChoiceSentence(n, "…", np.array(its)) for n, its in enumerate(scores, start=1)),
    )
    verdict = Verdict.RIGHT if evidence.prediction is None else Verdict.WRONG
    return Outcome(FactKey("s", "f"), verdict, relation, "…", evidence=evidence)


@settings(max_examples=30)
@given(FACTS)
def test_tables_count_what_there_is(facts: list[tuple[str, int, list[float], list[float]]]) -> None:
    outcomes = [outcome_of(relation, right, *scores) for relation, right, *scores in facts]
    outcomes.append(unaskable(FactKey("s", "g"), "P1", "no sentence"))
    tables = {table.key: list(table.rows) for table in ChoiceEvidence.results(outcomes, {}).tables}
    if not facts:
        assert tables == {}
        return
    best = [[int(np.argmax(its)) for its in scores] for _, _, *scores in facts]
    sure = [np.exp(scores[0]) / np.exp(scores[0]).sum() for _, _, *scores in facts]
    relations = {relation for relation, *_ in facts}
    assert {row["relation"] for row in tables["relations"]} == relations | ({ALL} if len(relations) > 1 else set())
    for row in tables["relations"]:
        its = [n for n, fact in enumerate(facts) if row["relation"] in (fact[0], ALL)]
        assert row["facts"] == len(its)
        assert row["accuracy"] == share(sum(best[n][0] == facts[n][1] for n in its), len(its))
        assert row["confidence in the best"] == pytest.approx(np.mean([max(sure[n]) for n in its]))
        assert row["in the right one"] == pytest.approx(np.mean([sure[n][facts[n][1]] for n in its]))
        assert row["most choices"] == 3
        assert row["by guessing"] == pytest.approx(1 / 3)
    for place, row in enumerate(tables["sentences"]):
        assert row["accuracy"] == share(
            sum(its[place] == fact[1] for its, fact in zip(best, facts, strict=True)), len(facts)
        )
    assert len(tables["confidence"]) == 9
    assert tables["confidence"][2]["facts"] == len(facts)
    assert sum(row["facts"] for row in tables["confidence"]) >= 3 * len(facts)


def test_one_sentence_a_fact_needs_no_table_of_sentences() -> None:
    tables = ChoiceEvidence.results([outcome_of("P1", 0, [0.0, -1.0, -2.0])], {}).tables
    assert [table.key for table in tables] == ["relations", "confidence"]


@pytest.mark.parametrize(
    ("reduction", "conditional", "lengths"),
    [
        ("sum", True, [1, 1]),
        ("mean", False, [4, 2]),
        ("characters", True, [5, 5]),
        ("bytes", True, [8, 5]),
        ("characters", False, [8, 8]),
        ("bytes", False, [11, 8]),
    ],
)
def test_reductions_are_their_definitions(reduction: str, conditional: bool, lengths: list[int]) -> None:
    passages = [Passage("Is Łódź.", 3, 7), Passage("Is Paris", 3, 8)]
    scored = ScoredPassages(np.array([-6.0, -3.0]), np.array([4, 2]))
    scores = reduced(scored, passages, reduction, conditional=conditional)
    assert scores.tolist() == [-6.0 / lengths[0], -3.0 / lengths[1]]
