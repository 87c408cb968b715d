"""The study of generic against hand-written templates, against the answers that it is made of."""

import numpy as np
import pytest
from scipy import stats

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.model import Model
from kgprobe.probes.distractors.evidence import DistractorEvidence
from kgprobe.probes.outcome import Verdict
from kgprobe.probes.questions.evidence import QuestionEvidence
from tests.results.rendering.page_numbers import assert_study_agrees
from tests.written_source import WrittenSource

AS_OF = {"as_of": 20251231}


def test_templates_are_compared_on_equal_facts(example_graph: Graph, tiny: Model) -> None:
    result = kgprobe.study_templates(example_graph, tiny, relations=["P36", "P6"], limit=12, distractors=3, **AS_OF)
    stored = {}
    for title, folder in result.config["measurements"].items():
        outcomes = kgprobe.open(folder, example_graph).outcomes
        stored[title] = {outcome.fact.fact: outcome for outcome in outcomes if outcome.verdict.counts}
    assert list(stored) == [
        "cloze sentences, hand",
        "cloze sentences, generic",
        "questions, hand",
        "questions, generic",
    ]
    values: dict[str, dict[str, float]] = {}
    for fact, outcome in stored["cloze sentences, hand"].items():
        evidence = outcome.evidence
        assert isinstance(evidence, DistractorEvidence)
        generic = stored["cloze sentences, generic"][fact].evidence
        assert isinstance(generic, DistractorEvidence)
        assert {rival.id for rival in generic.rivals} == {rival.id for rival in evidence.rivals}
        assert len(generic.sentences) == 1
        assert len(evidence.sentences) == 3
        for place, sentence in enumerate((*evidence.sentences, *generic.sentences)):
            own, *others = sentence.log_plausibilities
            way = f"hand-written sentence {place + 1}" if place < 3 else "generic sentence"
            values.setdefault(way, {})[fact] = float(np.mean([own > other for other in others]))
    for origin in ("hand", "generic"):
        way = f"{origin} question"
        for fact, outcome in stored[f"questions, {origin}"].items():
            assert isinstance(outcome.evidence, QuestionEvidence)
            values.setdefault(way, {})[fact] = float(outcome.verdict is Verdict.RIGHT)
    assert [row.templates for row in result.table] == list(values)
    for row in result.table:
        of_way = values[row.templates]
        facts = sorted(of_way)
        first = values["hand-written sentence 1" if row.kind == "cloze sentences" else "hand question"]
        known, known_first = (np.array([each[fact] == 1 for fact in facts]) for each in (of_way, first))
        assert row.known.value == known.mean()
        assert row.value == pytest.approx(np.mean(list(of_way.values())))
        if of_way is not first:
            assert (row.lost, row.gained) == ((known_first & ~known).sum(), (known & ~known_first).sum())
            tau = stats.kendalltau([first[fact] for fact in facts], [of_way[fact] for fact in facts]).statistic
            assert row.tau == (pytest.approx(tau) if np.isfinite(tau) else None)
    frame = result.to_frame()
    assert {way: dict(zip(part["fact"], part["value"], strict=True)) for way, part in frame.groupby("templates")} == (
        values
    )
    verdict = r"(?:^|: |against it |\), )([^:]+?) (\d+%) \["
    assert_study_agrees(result, *[("Templates", "Known")] * 2, verdict=verdict)


def test_forced_generic_templates_are_marked_in_the_settings(example_graph: Graph, tiny: Model) -> None:
    clozes = kgprobe.measure(
        example_graph, tiny, "distractors", relations=["P36"], limit=2, templates="generic", distractors=2, **AS_OF
    )
    assert clozes.config["described"]["generic"] == ["P36"]
    for outcome in clozes.outcomes:
        assert outcome.evidence is not None
        assert outcome.evidence.question.startswith("The capital of ")
    questions = kgprobe.measure(example_graph, tiny, "questions", relations=["P6"], limit=2, wording="generic", **AS_OF)
    assert questions.config["described"]["generic"] == ["P6"]
    # The relation's own question has other words.
    assert questions.config["described"]["wh_questions"] == {"P6": ["Who is the head of government of [X]?"]}


def test_study_of_templates_needs_hand_written_ones(graph: Graph, tiny: Model) -> None:
    with pytest.raises(ArgumentError, match="`probes` is empty"):
        kgprobe.study_templates(graph, tiny, probes=[], **AS_OF)
    entities = [Entity("q1", "France"), Entity("q2", "Japan")]
    load(graph, WrittenSource(entities, [Fact("f", "q1", "R1", "q2")], [Relation("R1", "twin")]))
    with pytest.raises(KgprobeError, match="No relation has hand-written templates"):
        kgprobe.study_templates(graph, tiny, **AS_OF)


def test_questions_of_different_kinds_are_not_compared(graph: Graph, tiny: Model) -> None:
    people = [Entity(f"q{number}", f"Person {number}") for number in range(8)]
    facts = [Fact(f"f{number}", f"q{number}", "R1", f"q{(number + 3) % 8}") for number in range(8)]
    # The label gives a generic wh-question; by hand there is none, so that all hand-written questions are yes/no.
    mentor = Relation("R1", "mentor", yes_no_questions=("Is [Y] the mentor of [X]?",))
    load(graph, WrittenSource(people, facts, [mentor]))
    result = kgprobe.study_templates(graph, tiny, probes=["questions"], **AS_OF)
    kinds, unanswered = {}, set()
    for folder in result.config["measurements"].values():
        for outcome in kgprobe.open(folder, graph).outcomes:
            assert isinstance(outcome.evidence, QuestionEvidence)
            kinds.setdefault(outcome.fact.fact, set()).add((outcome.evidence.kind, outcome.evidence.negative))
            unanswered |= set() if outcome.verdict.counts else {outcome.fact.fact}
    different = {fact for fact, questions in kinds.items() if len(questions) > 1}
    assert 0 < len(different) < 8
    assert {row.fact for row in result.data} == set(kinds) - different - unanswered
