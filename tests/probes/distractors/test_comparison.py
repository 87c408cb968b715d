"""What the model cannot take of a comparison is left out of it, and told."""

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.distractors.comparison import DistractorProbe
from kgprobe.probes.distractors.evidence import DistractorEvidence
from kgprobe.probes.outcome import Verdict
from kgprobe.sampling.facts import FactKey
from tests.models.tiny import tiny_scorer
from tests.written_source import WrittenSource

ENTITIES = [
    Entity("c", "Japan", types=("country",)),
    *(Entity(f"e{n}", name, types=("city",)) for n, name in enumerate(["Tokyo", "Paris", "Kyoto"])),
    Entity("long", "York", ("A" * 2_000,), types=("city",)),
    Entity("town", "Bath", types=("town",)),
    Entity("endless", "A" * 2_000, types=("town",)),
]
RELATION = Relation("P36", "capital", clozes=("The capital of [X] is [Y]", "[X] has its capital in [Y]"))


def test_distractor_that_cannot_be_taken_is_left_out_and_told(graph: Graph) -> None:
    scorer = tiny_scorer()
    facts = [Fact("f", "c", "P36", "e0"), Fact("h", "c", "P36", "endless")]
    load(graph, WrittenSource(ENTITIES, facts, [RELATION]))
    probe = DistractorProbe(graph, scorer, DistractorOptions(distractors=9, sentences=None), as_of=20250101)
    found, endless = probe.ask([FactKey("c", fact.id) for fact in facts], [0])
    assert isinstance(found.evidence, DistractorEvidence)
    for sentence in found.evidence.sentences:
        (left_out,) = sentence.left_out
        assert left_out.id == "long"
        assert "more than the 256" in left_out.reason
        assert len(sentence.rivals) == 2
        assert len(sentence.log_plausibilities) == 3
    assert {rival.id for rival in found.evidence.rivals} == {"e1", "e2"}
    # Where it is the object, there is nothing to compare.
    assert endless.verdict is Verdict.UNASKABLE
    assert "more than the 256" in str(endless.reason)


def test_fact_whose_distractors_cannot_be_taken_is_unaskable(graph: Graph) -> None:
    scorer = tiny_scorer()
    load(graph, WrittenSource(ENTITIES, [Fact("g", "c", "P36", "town")], [RELATION]))
    probe = DistractorProbe(graph, scorer, DistractorOptions(distractors=9, sentences=None), as_of=20250101)
    (found,) = probe.ask([FactKey("c", "g")], [0])
    assert found.verdict is Verdict.UNASKABLE
    assert str(found.reason).startswith("the model cannot score any of its distractors: ")
    assert "more than the 256" in str(found.reason)
