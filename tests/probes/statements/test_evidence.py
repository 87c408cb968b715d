"""What is told of many statements, counted by hand."""

import numpy as np
import pytest

from kgprobe.probes.outcome import Outcome, Verdict, unaskable
from kgprobe.probes.statements.evidence import JudgedStatement, NegativeStatement, StatementEvidence
from kgprobe.probes.statements.metrics import verdict_of
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.proportions import share

LOGS = {"t": (-1.0, -2.0, -3.0), "f": (-2.0, -1.0, -3.0), "u": (-3.0, -2.0, -1.0)}
REPLACED = {"s": "subject", "r": "relation", "o": "object"}


def outcome_of(relation: str, fact: str, *negatives: str, wanted: int = 2, key: str = "f") -> Outcome:
    """Return an outcome by letters: the judgements of the fact and its negatives, and the replaced ends."""
    evidence = StatementEvidence(
        JudgedStatement("…", np.array(LOGS[fact])),
        tuple(
            NegativeStatement("…", np.array(LOGS[judged]), REPLACED[replaced], "s", relation, "o")
            for judged, replaced in negatives
        ),
        ("True", "False", "Unknown"),
        wanted,
    )
    verdict = verdict_of(evidence.fact.judgement, [negative.judgement for negative in evidence.negatives])
    return Outcome(FactKey("s", key), verdict, relation, "…", evidence=evidence)


OUTCOMES = [
    outcome_of("P1", "t", "fo", "to"),
    outcome_of("P1", "t", "fs"),
    outcome_of("P2", "f", "to", "us"),
    outcome_of("P2", "u", "fo", "fr"),
    unaskable(FactKey("s", "g"), "P1", "no negative"),
]


def test_tables_count_what_there_is() -> None:
    tables = {table.key: table for table in StatementEvidence.results(OUTCOMES, {}).tables}
    by_relation = {row["relation"]: row for row in tables["relations"].rows}
    assert {name: (row["facts"], row["negatives"]) for name, row in by_relation.items()} == {
        "P1": (2, 3),
        "P2": (2, 4),
        "all": (4, 7),
    }
    metrics = ("correct", "truthful", "informative")
    assert {name: tuple(row[metric].value for metric in metrics) for name, row in by_relation.items()} == {
        "P1": (0.75, 0.75, 1),
        "P2": (0, 0.5, 0.25),
        "all": (0.375, 0.625, 0.625),
    }
    assert by_relation["P1"]["informative"].low == pytest.approx(share(2, 2).low)
    assert "1 of 4 facts have fewer than 2 negatives." in tables["relations"].notes

    confusion = {row["fact judged"]: list(row.values())[1:] for row in tables["confusion"].rows}
    assert confusion == {
        "true": [share(2, 4), 3, 1 / 3, 2 / 3, 0],
        "false": [share(1, 4), 2, 0.5, 0, 0.5],
        "unknown": [share(1, 4), 2, 0, 1, 0],
    }

    answers = {row["statements"]: list(row.values())[1:] for row in tables["answers"].rows}
    assert answers == {
        "facts": [4, share(2, 4), share(1, 4), share(1, 4)],
        "negatives with another subject": [2, share(0, 2), share(1, 2), share(1, 2)],
        "negatives with another relation": [1, share(0, 1), share(1, 1), share(0, 1)],
        "negatives with another object": [4, share(2, 4), share(2, 4), share(0, 4)],
        "all": [11, share(4, 11), share(5, 11), share(2, 11)],
    }
    # 4 of 11 are true, and 4 are judged so.
    assert tables["answers"].notes == ["36% of all statements are true, and 36% are judged true: a bias of +0 points."]


def test_headline_repeated_fact_counts_once_with_its_mean() -> None:
    asks = [outcome_of("P1", "t", "fo", "to"), outcome_of("P1", "t", "to"), outcome_of("P1", "t", "fo", key="g")]
    assert [one.verdict for one in asks] == [Verdict.WRONG, Verdict.WRONG, Verdict.RIGHT]
    headline = StatementEvidence.results(asks, {}).headline
    assert headline is not None
    assert (headline.facts, headline.rate.value, headline.guessed) == (2, (0.25 + 1) / 2, pytest.approx(1 / 9))
    # 3 of 7 statements are true, 5 are judged so.
    assert headline.details.endswith("bias +29 points")
    assert StatementEvidence.results(OUTCOMES[-1:], {}).headline is None


def test_one_relation_needs_no_sum_and_nothing_asked_no_table() -> None:
    (table, *_) = StatementEvidence.results(OUTCOMES[:2], {}).tables
    assert [row["relation"] for row in table.rows] == ["P1"]
    assert not StatementEvidence.results(OUTCOMES[-1:], {}).tables


def test_outcome_has_the_metrics_of_its_fact() -> None:
    found = [outcome.evidence.values for outcome in OUTCOMES[:2] if isinstance(outcome.evidence, StatementEvidence)]
    assert found == [
        {"correct": 0.5, "truthful": 0.5, "informative": 1, "bias": pytest.approx(1 / 3)},
        {"correct": 1, "truthful": 1, "informative": 1, "bias": 0},
    ]
