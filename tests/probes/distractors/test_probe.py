"""The distractor measure against its definition, on real models."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some
from hypothesis.extra import numpy as arrays

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.distractors.comparison import NAMELESS, DistractorProbe
from kgprobe.probes.distractors.evidence import DistractorEvidence, LeftOut, Sentence, avg_at_n, curve_tables, min_at_n
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.keys import FactKey
from kgprobe.sources.contract import open_source
from tests.models.tiny import byte_level, naive_score, random_model, tiny_scorer
from tests.probes.distractors.written import distractor_evidence
from tests.written_source import WrittenSource

AS_OF = 20250101

# Few values, so that ties come up.
plausibilities = some.integers(-4, 0).map(float) | some.just(-math.inf)


@given(some.data())
def test_min_and_avg_at_n_are_their_definitions(data: some.DataObject) -> None:
    facts, n = data.draw(some.integers(1, 5)), data.draw(some.integers(1, 6))
    truth = data.draw(arrays.arrays(float, facts, elements=plausibilities))
    rivals = data.draw(arrays.arrays(float, (facts, n), elements=plausibilities))
    present = data.draw(arrays.arrays(int, facts, elements=some.integers(0, n)))
    for fact in range(facts):
        rivals[fact, present[fact] :] = np.nan
    mins, avgs = min_at_n(truth, rivals), avg_at_n(truth, rivals)
    for fact in range(facts):
        for first in range(1, n + 1):
            known = [rival for rival in rivals[fact, :first] if not math.isnan(rival)]
            beaten = [truth[fact] > rival for rival in known]
            assert mins[fact, first - 1] == all(beaten)
            expected = sum(beaten) / len(beaten) if beaten else math.nan
            assert avgs[fact, first - 1] == pytest.approx(expected, nan_ok=True)


def test_plausibility_that_is_no_number_never_wins() -> None:
    assert not min_at_n(np.array([np.nan]), np.array([[-1.0, -2.0]])).any()


@pytest.mark.parametrize("pool", [None, 40])
@pytest.mark.parametrize("present", [1, 3, 7])
def test_by_chance_counts_the_distractors_that_there_are(present: int, pool: int | None) -> None:
    values = np.zeros(1 + present)
    sentence = Sentence("prompt", tuple(range(present)), values, pool=pool)
    # Of the most plausible of a pool, whoever beats the first beats all of it.
    expected = [1 / (pool or min(n, present) + 1) for n in range(1, 6)]
    assert sentence.chance_at_n(5).tolist() == pytest.approx(expected)


def test_by_chance_in_a_table_is_the_mean_over_the_facts() -> None:
    evidence = [distractor_evidence([[0.0, *[-1.0] * few], [0.0, *[-1.0] * 9]]) for few in (1, 4)]
    outcomes = [Outcome(FactKey("s", f"f{n}"), Verdict.RIGHT, "r", "p", evidence=one) for n, one in enumerate(evidence)]
    [table] = curve_tables(outcomes, {"distractors": 10})
    chances = {row["n"]: row["by chance"] for row in table.rows}
    assert chances[1] == 0.5
    assert chances[2] == pytest.approx(((1 / 2 + 1 / 3) / 2 + (1 / 3 + 1 / 3) / 2) / 2)
    assert chances[10] == pytest.approx(((1 / 2 + 1 / 10) / 2 + (1 / 5 + 1 / 10) / 2) / 2)


CITIES = ["Tokyo", "Paris", "Kyoto", "York", "Zürich", "New York", "Warsaw", "London"]
ENTITIES = [
    Entity("c", "Japan", types=("country",)),
    *(Entity(f"e{n}", name, (name + " City", name[:3]), types=("city",)) for n, name in enumerate(CITIES)),
    Entity("lonely", "Atlantis", types=("myth",)),
    Entity("endless", "A" * 2_000, types=("town",)),
    Entity("town", "Bath", types=("town",)),
]
RELATION = Relation(
    "P36", "capital", clozes=("The capital of [X] is [Y]", "[X] has its capital in [Y]", "[X] is ruled from [Y]")
)


def source(*facts: Fact) -> WrittenSource:
    return WrittenSource(ENTITIES, facts, [RELATION, Relation("P1", clozes=("[X] is [Y]",), active=False)])


@pytest.fixture(scope="module")
def tiny() -> Scorer:
    return tiny_scorer()


def probe_of(graph: Graph, scorer: Scorer, *, relations: Sequence[str] = (), **options: Any) -> DistractorProbe:
    return DistractorProbe(
        graph, scorer, DistractorOptions(**{"sentences": 1} | options), as_of=AS_OF, relations=relations
    )


def evidence_of(outcome: Outcome) -> DistractorEvidence:
    assert isinstance(outcome.evidence, DistractorEvidence)
    return outcome.evidence


@pytest.mark.parametrize("strategy", ["random", "exact-optimal"])
def test_blank_without_articles_has_names_as_they_are(graph: Graph, tiny: Scorer, strategy: str) -> None:
    countries = ("Netherlands", "United Kingdom", "Bahamas")
    entities = [Entity("a", "Ann"), *(Entity(name, name, types=("country",)) for name in countries)]
    lives = Relation("P551", "residence", clozes=("[X] lives in [Y]",))
    load(graph, WrittenSource(entities, [Fact("f", "a", "P551", "Netherlands")], [lives]))
    for articles in (True, False):
        probe = probe_of(graph, tiny, strategy=strategy, distractors=2, articles=articles)
        (outcome,) = probe.ask([FactKey("a", "f")], [0])
        (sentence,) = evidence_of(outcome).sentences
        rivals = [evidence_of(outcome).rivals[place].label for place in sentence.rivals]
        assert {*rivals} == {*countries[1:]}
        names = [name if not articles else f"the {name}" for name in ("Netherlands", *rivals)]
        naive = [naive_score(tiny.model, tiny.tokenizer, [0], "Ann lives in", name, eos=True) for name in names]
        assert sentence.log_plausibilities.tolist() == pytest.approx(naive, abs=1e-4)
        assert sentence.certified == (2 if strategy == "exact-optimal" else None)
        assert probe.describe().get("articles", True) == articles


@pytest.mark.parametrize("sentences", [1, 2, None])
def test_outcome_is_the_definition(graph: Graph, tiny: Scorer, sentences: int | None) -> None:
    model, tokenizer = random_model("gpt2", len(byte_level(bos=True))), byte_level(bos=True)
    facts = [Fact(f"f{n}", "c", "P36", f"e{n}") for n in range(2)]
    load(graph, WrittenSource(ENTITIES, facts, [RELATION]))
    probe = probe_of(graph, tiny, distractors=4, sentences=sentences)
    names = {entity.id: [entity.label, *entity.aliases] for entity in ENTITIES}

    @cache
    def log_plausibility(prompt: str, entity: str) -> float:
        scores = [naive_score(model, tokenizer, [0], prompt, name, eos=True) for name in names[entity]]
        return math.log(sum(math.exp(score) for score in scores))

    verdicts = set()
    for seed in range(6):
        keys = [FactKey("c", fact.id) for fact in facts]
        for fact, outcome in zip(facts, probe.ask(keys, [seed]), strict=True):
            evidence = evidence_of(outcome)
            assert (outcome.fact, outcome.relation) == (FactKey("c", fact.id), "P36")
            assert (evidence.subject, evidence.object.id) == ("Japan", fact.object)
            assert len(evidence.rivals) == 4
            assert not {rival.id for rival in evidence.rivals} & {"e0", "e1"}
            prompts = [sentence.prompt for sentence in evidence.sentences]
            expected = ["The capital of Japan is", "Japan has its capital in", "Japan is ruled from"]
            assert len(prompts) == (sentences or 3)
            assert prompts == [prompt for prompt in expected if prompt in prompts]
            wins, shares = [], []
            for sentence in evidence.sentences:
                rivals = [evidence.rivals[place] for place in sentence.rivals]
                entities = (fact.object, *(rival.id for rival in rivals))
                naive = [log_plausibility(sentence.prompt, entity) for entity in entities]
                assert sentence.log_plausibilities.tolist() == pytest.approx(naive, abs=1e-3)
                wins.append(naive[0] > max(naive[1:]))
                shares.append([naive[0] > rival for rival in naive[1:]])
            assert evidence.min_at_n(4)[:, -1].tolist() == wins
            assert evidence.avg_at_n(4)[:, -1].tolist() == pytest.approx([np.mean(its) for its in shares])
            # One of one, both of two, or two or three of three sentences, at one in five each.
            chances = {1: 0.2, 2: 0.2**2, None: 3 * 0.2**2 * 0.8 + 0.2**3}
            assert evidence.chance == pytest.approx(chances[sentences])
            assert (outcome.verdict is Verdict.RIGHT) == (np.mean(wins) > 0.5)
            # The sentence that is shown went as the verdict says, and a prediction is one of that sentence.
            shown = prompts.index(outcome.prompt)
            assert evidence.question == f"{outcome.prompt} …"
            assert wins[shown] == (outcome.verdict is Verdict.RIGHT)
            scores = {
                rival.label: log_plausibility(outcome.prompt, rival.id)
                for rival in (evidence.rivals[place] for place in evidence.sentences[shown].rivals)
            }
            assert evidence.prediction == (None if wins[shown] else max(scores, key=lambda label: scores[label]))
            assert evidence.probability == pytest.approx(math.exp(log_plausibility(outcome.prompt, fact.object)), 1e-3)
            verdicts.add(outcome.verdict)
    assert verdicts == {Verdict.RIGHT, Verdict.WRONG}, "both verdicts are to be seen, or the test says little"


def test_unaskable_fact_has_a_reason_others_are_asked(graph: Graph, tiny: Scorer) -> None:
    facts = [Fact("lonely", "c", "P36", "lonely"), Fact("good", "c", "P36", "e0"), Fact("long", "c", "P36", "endless")]
    load(graph, source(*facts))
    probe = probe_of(graph, tiny, distractors=3)
    lonely, good, long = probe.ask([FactKey("c", fact.id) for fact in facts], [0])
    assert (lonely.verdict, lonely.reason) == (Verdict.UNASKABLE, "there is no distractor in the graph")
    assert good.verdict in (Verdict.RIGHT, Verdict.WRONG)
    assert long.verdict is Verdict.UNASKABLE
    assert "256" in str(long.reason)


def test_distractor_unscorable_is_left_out_and_reported(graph: Graph, tiny: Scorer) -> None:
    spa = Relation("P9", "spa", clozes=("The spa of [X] is [Y]",))
    facts = [Fact("f", "c", "P36", "town"), Fact("g", "c", "P9", "spring")]
    springs = [Entity("spring", "Aachen", types=("spring",)), Entity("deep", "B" * 2_000, types=("spring",))]
    others = [Entity("other", "Cork", types=("town",)), *springs]
    load(graph, WrittenSource([*ENTITIES, *others], facts, [RELATION, spa]))
    left, none = probe_of(graph, tiny, sentences=None).ask([FactKey("c", fact.id) for fact in facts], [0])
    evidence = evidence_of(left)
    assert [rival.id for rival in evidence.rivals] == ["other"]
    for sentence in evidence.sentences:
        ((without, reason),) = [(one.id, one.reason) for one in sentence.left_out]
        assert (without, "256" in reason) == ("endless", True)
        assert len(sentence.log_plausibilities) == 2
        assert np.isfinite(sentence.log_plausibilities).all()
    assert evidence.chance == pytest.approx(1 / 2)
    assert none.verdict is Verdict.UNASKABLE
    assert str(none.reason).startswith("the model cannot score any of its distractors: ")


def test_names_of_white_space_are_no_names(graph: Graph, tiny: Scorer) -> None:
    facts = [
        Fact("good", "c", "P36", "e0"),
        Fact("object", "c", "P36", "blank"),
        Fact("subject", "blank", "P36", "e1"),
        Fact("alone", "c", "P36", "river"),
    ]
    blank = [Entity("blank", " ", types=("city",)), Entity("dry", "\u2003", ("\n",), types=("river",))]
    blank += [Entity("bare", "\t", (" ",), types=("city",))]
    rivers = [Entity("river", "Rhine", types=("river",))]
    load(graph, WrittenSource([*ENTITIES, *blank, *rivers], facts, [RELATION]))
    probe = probe_of(graph, tiny, distractors=20)
    good, of_object, of_subject, alone = probe.ask([FactKey(fact.subject, fact.id) for fact in facts], [0])
    assert good.verdict in (Verdict.RIGHT, Verdict.WRONG)
    assert {rival.id for rival in evidence_of(good).rivals} == {f"e{n}" for n in range(1, len(CITIES))}
    assert [sentence.left_out for sentence in evidence_of(good).sentences] == [(LeftOut("bare", NAMELESS),)]
    assert (of_object.verdict, of_object.reason) == (Verdict.UNASKABLE, "all names of its object are white space")
    assert (of_subject.verdict, of_subject.reason) == (Verdict.UNASKABLE, "its subject's label is white space")
    assert (alone.verdict, alone.reason) == (Verdict.UNASKABLE, "there is no distractor in the graph")


def test_what_has_ended_is_asked_in_the_past(graph: Graph, tiny: Scorer) -> None:
    facts = [Fact("former", "c", "P36", "e0", end="1868"), Fact("now", "c", "P36", "e1", start="1868")]
    facts += [Fact("before", "c", "P36", "e3", end="1700")]
    facts += [Fact("owned", "c", "P127", "e2", end="1900"), Fact("other", "c", "P9", "e2")]
    relations = [
        Relation("P36", clozes=("The capital of [X] is [Y]",), past_clozes=("[X] was once ruled from [Y]",)),
        Relation("P127", clozes=("[X] xyzzies [Y]",)),
    ]
    load(graph, WrittenSource(ENTITIES, facts, relations))
    probe = probe_of(graph, tiny, distractors=20, sentences=None)
    former, now, _, owned, other = probe.ask([FactKey("c", fact.id) for fact in facts], [0])
    assert [sentence.prompt for sentence in evidence_of(former).sentences] == ["Japan was once ruled from"]
    assert [sentence.prompt for sentence in evidence_of(now).sentences] == ["The capital of Japan is"]
    assert (owned.verdict, "in the past tense" in str(owned.reason)) == (Verdict.UNASKABLE, True)
    assert (other.verdict, "relation is not asked" in str(other.reason)) == (Verdict.UNASKABLE, True)
    # Nothing that is or was right is a distractor of what was right before: the sentence does not say when.
    assert not {"e1", "e3"} & {rival.id for rival in evidence_of(former).rivals}
    # Former objects are distractors of what is right now, because its sentence is in the present tense.
    assert {"e0", "e3"} <= {rival.id for rival in evidence_of(now).rivals if rival.former}
    [never] = probe_of(graph, tiny, distractors=20, sentences=None, former="never").ask([FactKey("c", "now")], [0])
    assert not {"e0", "e3"} & {rival.id for rival in evidence_of(never).rivals}


def test_former_object_is_a_negative_of_a_present_sentence(graph: Graph, tiny: Scorer) -> None:
    facts = [
        Fact("now", "c", "P36", "e1", start="1868"),
        Fact("before", "c", "P36", "e0", end="1868"),
        Fact("once", "c", "P36", "e3", start="1500", end="unknown"),
        Fact("to come", "c", "P36", "e4", start="2090"),
        # It ended once, and then again nobody knows when.
        Fact("first", "c", "P36", "e3", end="1400"),
    ]
    clozes = ("The capital of [X] is [Y]", "[X] has been ruled from [Y]", "[X] was ruled from [Y]")
    load(graph, WrittenSource(ENTITIES, facts, [Relation("P36", clozes=clozes)]))
    probe = probe_of(graph, tiny, strategy="temporal-semantic", distractors=20, sentences=None)
    now, _, _, to_come, _ = probe.ask([FactKey("c", fact.id) for fact in facts], [0])
    evidence = evidence_of(now)
    rivals = [{evidence.rivals[place].id for place in sentence.rivals} for sentence in evidence.sentences]
    today, perfect, past = rivals
    assert today - perfect == {"e0"}
    assert perfect == past
    assert {rival.id for rival in evidence.rivals if rival.former} == {"e0"}
    # Nobody knows whether who was right until some day or will be right is wrong.
    assert not {"e1", "e3", "e4"} & today
    assert (to_come.verdict, str(to_come.reason)) == (Verdict.UNASKABLE, "it begins in 2090, after 20250101")


@pytest.mark.parametrize("strategy", ["random", "approximate-optimal", "exact-optimal"])
def test_model_without_an_end_token_can_be_asked_nothing(graph: Graph, strategy: str) -> None:
    load(graph, source(Fact("f", "c", "P36", "e0"), Fact("g", "c", "P9", "e0")))
    endless = tiny_scorer(name="endless", eos=False)
    probe = probe_of(graph, endless, strategy=strategy)
    asked, other = probe.ask([FactKey("c", "f"), FactKey("c", "g")], [0])
    assert (asked.verdict, "endless has no EOS token" in str(asked.reason)) == (Verdict.UNASKABLE, True)
    assert (other.verdict, "relation is not asked" in str(other.reason)) == (Verdict.UNASKABLE, True)


def test_broken_model_is_no_fault_of_the_facts(graph: Graph) -> None:
    load(graph, source(Fact("f", "c", "P36", "e0"), Fact("g", "c", "P36", "e1")))
    tokenizer = byte_level(bos=True)
    model = random_model("gpt2", len(tokenizer))
    probe = probe_of(graph, Scorer(model, tokenizer, name="broken"), distractors=3)
    with torch.no_grad():
        model.transformer.ln_f.weight.fill_(math.nan)
    with pytest.raises(KgprobeError, match="its weights are broken"):
        probe.ask([FactKey("c", "f"), FactKey("c", "g")], [0])


def test_without_clozes_the_way_out_is_told(graph: Graph, tiny: Scorer) -> None:
    load(graph, WrittenSource(ENTITIES, (), [Relation("P36")]))
    with pytest.raises(KgprobeError, match="kgprobe load example"):
        probe_of(graph, tiny)


@pytest.mark.slow
def test_demo_model_knows_the_capital_of_japan(graph: Graph, demo_scorer: Scorer) -> None:
    load(graph, open_source("example"))
    text = (
        "MATCH (s:Entity {id: 'Q17'})-[f:FACT]->(o:Entity {id: 'Q1490'}) WHERE f.relation = 'P36' RETURN f.id AS fact"
    )
    fact = next(graph.run_text(text, {})[1])["fact"]
    probe = probe_of(graph, demo_scorer, distractors=10, sentences=None, relations=["P36"])
    (outcome,) = probe.ask([FactKey("Q17", fact)], [0])
    sentences = {s.prompt: s.log_plausibilities.tolist() for s in evidence_of(outcome).sentences}
    tokyo, *rivals = sentences["The capital of Japan is"]
    assert len(rivals) == 10
    assert tokyo > max(rivals)
    assert outcome.verdict is Verdict.RIGHT
