"""Which answers a fact is compared with, in which sentences, and why some facts are not asked."""

from typing import Any

import numpy as np
import pytest

from kgprobe.base.errors import UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.choices import ChoiceOptions
from kgprobe.probes.choices.evidence import ChoiceEvidence
from kgprobe.probes.choices.probe import ChoiceProbe
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.keys import FactKey
from tests.models.exactness import score_tolerance
from tests.models.tiny import tiny_scorer
from tests.probes.choices.closed import tell_relation
from tests.written_source import WrittenSource

AS_OF = 20200101
ENTITIES = [
    *(Entity(f"c{n}", f"Country {n}") for n in range(5)),
    *(Entity(f"t{n}", name) for n, name in enumerate(["Łódź", "apple", "New York", "Łódź", "Paris"])),
    Entity("blank", " "),
]
CLOZES = ("[X] is ruled from the [Y]", "[X] has an [Y]")
FACTS = [
    Fact("f0", "c0", "capital", "t0"),
    Fact("f1", "c1", "capital", "t1"),
    # Two are right of it.
    Fact("f2", "c2", "capital", "t2"),
    Fact("f3", "c2", "capital", "t4"),
    # Before, others were.
    Fact("ended", "c1", "capital", "t3", end="1999"),
    Fact("ended before", "c1", "capital", "t4", end="1990"),
    Fact("nameless", "c3", "capital", "blank"),
    Fact("future", "c4", "capital", "t1", start="2030"),
]
KEYS = {fact.id: FactKey(fact.subject, fact.id) for fact in FACTS}


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return tiny_scorer(bos=False)


@pytest.fixture
def filled(graph: Graph) -> Graph:
    load(graph, WrittenSource(ENTITIES, FACTS, [Relation("capital", "capital", clozes=CLOZES), Relation("P0")]))
    return graph


def asked(graph: Graph, scorer: Scorer, **options: Any) -> dict[str, Outcome]:
    probe = ChoiceProbe(graph, scorer, ChoiceOptions(**options), as_of=AS_OF)
    return {outcome.fact.fact: outcome for outcome in probe.ask(list(KEYS.values()), [1])}


def evidence_of(outcome: Outcome) -> ChoiceEvidence:
    assert isinstance(outcome.evidence, ChoiceEvidence), outcome.reason
    return outcome.evidence


def test_answers_without_a_data_set_are_objects_after_cloze(filled: Graph, scorer: Scorer) -> None:
    outcomes = asked(filled, scorer, template=None)
    evidence = evidence_of(outcomes["f1"])
    numbers = [row["id"] for row in filled.read("sample/object_labels", id="capital", limit=100)]
    assert [choice.id for choice in evidence.choices] == [one for one in numbers if one != "blank"]
    assert {choice.id for choice in evidence.choices} == {"t0", "t1", "t2", "t3", "t4"}
    assert [sentence.text for sentence in evidence.sentences] == ["Country 1 is ruled from the …", "Country 1 has …"]
    allowed = score_tolerance(scorer.model)
    # Names are put as in other sentences, the article with them.
    prompts = ["Country 1 is ruled from the", "Country 1 has"]
    # Of others, the space in front is a token of its own, which stands before the answer and does not count.
    names = [["New York", "Paris"], ["a New York", "a Paris"]]
    places = [[choice.id for choice in evidence.choices].index(f"t{n}") for n in (2, 4)]
    conditional = evidence_of(asked(filled, scorer, template=None, conditional=True, always_bos=False)["f1"])
    for scored, sentence in zip(scorer.score(prompts, names), conditional.sentences, strict=True):
        assert sentence.scores[places] == pytest.approx(scored.values, abs=allowed)


def test_right_or_equally_named_objects_are_not_compared(filled: Graph, scorer: Scorer) -> None:
    outcomes = asked(filled, scorer)
    apart = {
        name: {evidence_of(outcomes[name]).choices[place].id for place in evidence_of(outcomes[name]).apart}
        for name in ("f0", "f1", "f2", "f3")
    }
    # t3 is called as t0 is; what was right before is wrong now.
    assert apart == {"f0": {"t3"}, "f1": set(), "f2": {"t4"}, "f3": {"t2"}}
    for name, beside in apart.items():
        evidence = evidence_of(outcomes[name])
        assert evidence.chance == 1 / (5 - len(beside))
        confidences = evidence.confidences(0)
        assert confidences.sum() == pytest.approx(1)
        assert set(np.flatnonzero(confidences == 0)) == set(evidence.apart)
        assert evidence.confidence == confidences.max() >= evidence.chance
        assert evidence.probability == confidences[evidence.right]
        assert (
            (outcomes[name].verdict is Verdict.RIGHT)
            == (evidence.prediction is None)
            == (evidence.confidence == evidence.probability)
        )


def test_ended_fact_is_asked_in_the_past(filled: Graph, scorer: Scorer) -> None:
    evidence = evidence_of(asked(filled, scorer)["ended"])
    assert evidence.question == "Country 1 was ruled from the …"
    # Of then, the other objects that the subject has had are right as well; so is the namesake.
    assert {evidence.choices[place].id for place in evidence.apart} == {"t0", "t1", "t4"}


def test_data_sets_answers_and_sentences_are_taken_as_they_are(filled: Graph, scorer: Scorer) -> None:
    tell_relation(filled, "capital", sentences=["[Y] rules [X].", "[X]: the [Y]"], answers=["t4", "t1", "t0"])
    outcomes = asked(filled, scorer)
    evidence = evidence_of(outcomes["f1"])
    assert [choice.id for choice in evidence.choices] == ["t4", "t1", "t0"]
    assert (evidence.question, evidence.right_answer, evidence.right) == ("… rules Country 1.", "apple", 1)
    assert outcomes["f2"].reason == "its object New York (t2) is not among the 3 answers of capital"
    # Answers alone, or sentences alone, go with what the graph has of the other.
    tell_relation(filled, "capital", answers=["t1", "t0"])
    assert evidence_of(asked(filled, scorer)["f1"]).question == "Country 1 is ruled from the …"
    tell_relation(filled, "capital", sentences=["[Y] rules [X]."])
    assert len(evidence_of(asked(filled, scorer)["f1"]).choices) == 5


def test_one_sentence_by_its_place_or_all(filled: Graph, scorer: Scorer) -> None:
    texts = ["[X] is ruled from [Y].", "[Y] rules [X].", "Without."]
    tell_relation(filled, "capital", sentences=texts)
    every = asked(filled, scorer, template=None)["f1"]
    allowed = score_tolerance(scorer.model)
    assert [sentence.template for sentence in evidence_of(every).sentences] == [1, 2]
    for place in (1, 2):
        (sentence,) = evidence_of(asked(filled, scorer, template=place)["f1"]).sentences
        assert sentence.template == place
        assert sentence.scores == pytest.approx(evidence_of(every).sentences[place - 1].scores, abs=allowed)
    # The first decides.
    assert every.verdict is asked(filled, scorer, template=1)["f1"].verdict
    assert every.prompt == "Country 1 is ruled from …."
    reasons = [asked(filled, scorer, template=place)["f1"].reason for place in (3, 4)]
    assert reasons == [
        "sentence 3 of the relation capital has no place for the answer, [Y]",
        "the relation capital has 3 sentences for it, and no number 4 (`template`)",
    ]


def test_what_stops_a_fact(filled: Graph, scorer: Scorer) -> None:
    outcomes = asked(filled, scorer)
    assert "is not among the 5 answers of capital" in (outcomes["nameless"].reason or "")
    assert outcomes["future"].reason == "it begins in 2030, after 20200101"
    few = asked(filled, scorer, max_choices=4)["f1"].reason
    assert few == "the relation capital has more than 4 objects; `max_choices` allows 4"
    tell_relation(filled, "capital", answers=["t1", "nothing", "blank", "t0"])
    assert asked(filled, scorer)["f1"].reason == (
        "of the 4 answers of capital, the graph has no name of 2: nothing, blank"
    )
    assert asked(filled, scorer, max_choices=3)["f1"].reason == (
        "the relation capital has 4 answers; `max_choices` allows 3"
    )
    tell_relation(filled, "capital", answers=["t0", "t3"])
    assert asked(filled, scorer)["f0"].reason == "none of the 2 answers of capital is wrong for it"
    short = tiny_scorer(name="short", bos=False, n_positions=8)
    tell_relation(filled, "capital", answers=["t0", "t1"])
    assert "more than the 8 that the model accepts" in (asked(filled, short)["f0"].reason or "")


def test_relations_with_data_set_sentences_only_are_asked(filled: Graph, scorer: Scorer) -> None:
    def relations(*named: str) -> list[str]:
        return list(ChoiceProbe(filled, scorer, ChoiceOptions(), as_of=AS_OF, relations=named).relations)

    assert relations() == ["capital"]
    with pytest.raises(UnknownNameError, match="P0"):
        relations("P0")
    tell_relation(filled, "P0", sentences=["[X] says [Y]."])
    assert relations() == ["P0", "capital"]


def test_answers_are_read_once_a_relation(filled: Graph, scorer: Scorer, monkeypatch: pytest.MonkeyPatch) -> None:
    read, queries = filled.read, []

    def counted(query: str, **parameters: Any) -> Any:
        queries.append(query)
        return read(query, **parameters)

    monkeypatch.setattr(filled, "read", counted)
    probe = ChoiceProbe(filled, scorer, ChoiceOptions(), as_of=AS_OF)
    for _ in range(3):
        probe.ask(list(KEYS.values()), [1])
    assert queries.count("sample/object_labels") == 1
    assert queries.count("sample/closed_relations") == 1
