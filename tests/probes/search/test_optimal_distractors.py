"""Optimal distractors against brute force: every entity of Ω(f), enumerated and scored name by name."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from tokenizers import Tokenizer, models, normalizers
from transformers import PreTrainedTokenizerFast

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.distractors import DistractorOptions
from kgprobe.probes.distractors.comparison import DistractorProbe
from kgprobe.probes.distractors.evidence import DistractorEvidence
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.search.most_plausible import TOLERANCE
from kgprobe.probes.search.optimal_distractors import OptimalDistractors
from kgprobe.sampling.facts import AskedFact, describe_facts
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.language import language_of
from kgprobe.verbalize.sentences import Cloze
from tests.models.exactness import score_tolerance
from tests.models.tiny import byte_level, naive_score, random_model, tiny_scorer
from tests.sampling import enumerable
from tests.written_source import WrittenSource

pytestmark = pytest.mark.usefixtures("home")

AS_OF = 20250101
TEMPLATE = "[X] has to do with [Y]"
# Twice: each of two values that are compared may be off by as much.
EQUAL = 2 * TOLERANCE


Asked = tuple[AskedFact, Cloze]


@pytest.fixture(scope="module")
def tiny() -> Scorer:
    """A model that is sure of itself, so that there is something to be left out."""
    tokenizer = byte_level(bos=True)
    model = random_model("gpt2", len(tokenizer))
    with torch.no_grad():
        model.transformer.ln_f.weight.mul_(3)
    return Scorer(model, tokenizer, name="tiny")


@pytest.fixture(scope="module")
def equal(tiny: Scorer) -> float:
    """The allowed difference of the tiny model's log-plausibilities."""
    return EQUAL + score_tolerance(tiny.model, tokens=4)


class Definition:
    """Ω(f) and plausibility as they are defined, from the records that were loaded."""

    def __init__(self, entities: Iterable[Entity], facts: Iterable[Fact]) -> None:
        self.entities = {entity.id: entity for entity in entities}
        self.facts = {fact.id: fact for fact in facts}
        self.objects: dict[tuple[str, str], list[Fact]] = {}
        for fact in self.facts.values():
            self.objects.setdefault((fact.subject, fact.relation), []).append(fact)

    def distractors(self, asked: Fact) -> list[str]:
        truth = self.entities[asked.object]
        names = {truth.label, *truth.aliases}
        known = {fact.object for fact in self.objects[asked.subject, asked.relation]}
        of_the_kind = {fact.object for fact in self.facts.values() if fact.relation == asked.relation}
        return [
            rival.id
            for rival in self.entities.values()
            if rival.label
            and rival.id != truth.id
            and rival.id not in known
            and not names & {rival.label, *rival.aliases}
            and (set(rival.types) & set(truth.types) if truth.types else rival.id in of_the_kind)
        ]

    def brute_force(self, scorer: Scorer, asked: Sequence[Asked]) -> list[dict[str, float]]:
        """Log Pl of every distractor, after every sentence."""
        pools = [self.distractors(self.facts[fact.key.fact]) for fact, _ in asked]
        names, owners = [], []
        for pool, (_, cloze) in zip(pools, asked, strict=True):
            its = {id_: self.entities[id_] for id_ in pool}
            texts = {id_: cloze.continuations([one.label, *one.aliases]) for id_, one in its.items()}
            names.append([text for some in texts.values() for text in some])
            owners.append(np.array([id_ for id_, some in texts.items() for _ in some]))
        scores = scorer.score([cloze.prompt for _, cloze in asked], names, eos=True)
        return [
            {id_: float(logsumexp(scored.values[own == id_])) for id_ in pool}
            for pool, own, scored in zip(pools, owners, scores, strict=True)
        ]


def test_distractors_are_those_of_the_definition(graph: Graph, tiny: Scorer, equal: float) -> None:
    """Aliases are merged, nothing is right, facts ended, objects have several types or none."""
    people, facts = enumerable.enumerable(5, entities=40, facts=40)
    load(graph, WrittenSource(people, facts))
    labels = {entity.id: entity.label for entity in people}
    asked = [
        (fact, Cloze(TEMPLATE, fact.subject_label))
        for fact in describe_facts(graph, [FactKey(fact.subject, fact.id) for fact in facts])
        if fact.subject_label and labels[fact.object]
    ]
    by_id = {fact.id: fact for fact in facts}
    types = {entity.id: len(entity.types) for entity in people}
    assert {types[fact.object] for fact, _ in asked} == {0, 1, 2}
    assert any(by_id[fact.key.fact].end == "2010" for fact, _ in asked)
    for exact in (True, False):
        strategy = OptimalDistractors(graph, tiny, exact=exact)
        everyone = strategy.retrieve(asked, len(people))
        few = strategy.retrieve(asked, 3)
        for (fact, _), all_, first in zip(asked, everyone, few, strict=True):
            expected = enumerable.distractors(people, facts, by_id[fact.key.fact])
            ids = [rival.id for rival in all_.distractors]
            assert len(ids) == len(set(ids))
            assert set(ids) == expected, fact
            assert (all_.certified, all_.bound) == (len(ids), -math.inf) if expected else (None, None)
            assert all_.reason == (None if expected else "there is no distractor in the graph")
            if exact:
                assert first.log_plausibilities == pytest.approx(all_.log_plausibilities[:3], abs=equal)


CITIES = ["Tokyo", "Paris", "Kyoto", "Zürich", "New York", "Warsaw", "London"]
PEOPLE = [
    Entity("c", "Japan", types=("country",)),
    *(Entity(f"e{n}", name, (name + " City",), types=("city",)) for n, name in enumerate(CITIES)),
    Entity("lonely", "Atlantis", types=("myth",)),
    Entity("town", "Bath", types=("town",)),
    Entity("other", "Cork", types=("town",)),
    Entity("endless", "York", ("A" * 2_000,), types=("town",)),
]
RELATION = Relation("P36", "capital", clozes=("The capital of [X] is [Y]",))
FACTS = [Fact("f", "c", "P36", "e0"), Fact("alone", "c", "P36", "lonely"), Fact("t", "c", "P36", "town")]


def test_chinese_names_are_searched_without_a_space(graph: Graph, tiny: Scorer, equal: float) -> None:
    cities = ["北京", "巴黎", "东京", "大阪", "Łódź"]
    people = [
        Entity("c", "日本", types=("country",)),
        *(Entity(f"e{n}", name, (f"{name}市",), types=("city",)) for n, name in enumerate(cities)),
    ]
    facts = [Fact("f", "c", "P36", "e2")]
    load(graph, WrittenSource(people, facts))
    (fact,) = describe_facts(graph, [FactKey("c", "f")])
    cloze = Cloze("[X]的首都是[Y]", fact.subject_label, language=language_of("zh"))
    (retrieved,) = OptimalDistractors(graph, tiny, exact=True).retrieve([(fact, cloze)], 3)
    values = {}
    for entity in people[1:]:
        texts = [f"日本的首都是{name}" for name in (entity.label, *entity.aliases)]
        naive = [
            naive_score(tiny.model, tiny.tokenizer, [0], cloze.prompt, "", eos=True, joined=text) for text in texts
        ]
        values[entity.id] = logsumexp(naive)
    del values["e2"]
    best = sorted(values, key=values.__getitem__, reverse=True)[:3]
    assert [rival.id for rival in retrieved.distractors] == best
    assert retrieved.log_plausibilities == pytest.approx([values[id_] for id_ in best], abs=equal)
    assert retrieved.certified == 3


def ask(graph: Graph, scorer: Scorer, strategy: str, facts: Sequence[str], distractors: int = 3) -> list[Outcome]:
    options = DistractorOptions(distractors, strategy=strategy)
    probe = DistractorProbe(graph, scorer, options, as_of=AS_OF)
    return probe.ask([FactKey("c", fact) for fact in facts], [0])


def evidence_of(outcome: Outcome) -> DistractorEvidence:
    assert isinstance(outcome.evidence, DistractorEvidence)
    return outcome.evidence


def shown_in(outcome: Outcome) -> list[str]:
    """Return the distractors of its one sentence."""
    evidence = evidence_of(outcome)
    [sentence] = evidence.sentences
    return [evidence.rivals[place].id for place in sentence.rivals]


@pytest.mark.parametrize("strategy", ["approximate-optimal", "exact-optimal"])
def test_probe_tells_what_was_proved_and_left_out(graph: Graph, tiny: Scorer, equal: float, strategy: str) -> None:
    load(graph, WrittenSource(PEOPLE, FACTS, [RELATION]))
    found, alone, town = ask(graph, tiny, strategy, ["f", "alone", "t"])
    [sentence] = evidence_of(found).sentences
    definition = Definition(PEOPLE, FACTS)
    cloze = Cloze(RELATION.clozes[0], "Japan")
    key = FactKey("c", "f")
    [truth] = definition.brute_force(tiny, [(AskedFact(key, "P36", "Japan", (), "e0", "", (), None, None), cloze)])
    shown = shown_in(found)
    assert sentence.log_plausibilities[1:] == pytest.approx([truth[id_] for id_ in shown], abs=equal)
    own = logsumexp(tiny.score([cloze.prompt], [["Tokyo", "Tokyo City"]], eos=True)[0].values)
    assert sentence.log_plausibilities[0] == pytest.approx(own, abs=equal)
    if strategy == "exact-optimal":
        assert shown == sorted(truth, key=lambda id_: -truth[id_])[:3]
        assert sentence.certified == 3
        reason = evidence_of(found).rivals[0].why
        assert reason.startswith("city, like Tokyo; plausibility ")
        assert reason.endswith(", number 1 of its search, proved")
    assert (alone.verdict, alone.reason) == (Verdict.UNASKABLE, "there is no distractor in the graph")
    # One town has an alias that the model cannot take in.
    [sentence] = evidence_of(town).sentences
    assert shown_in(town) == ["other"]
    assert sentence.note == "1 of its candidates left out, as they have a name too long for the model"
    assert sentence.certified == 1


def test_name_that_tokenizes_to_nothing_is_told(graph: Graph) -> None:
    tokenizer = byte_level(bos=True)
    # Without the space at its end, nothing is left of a text that ends in this character alone.
    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Replace("\x01", ""), normalizers.Strip(left=False)]
    )
    scorer = Scorer(random_model("gpt2", len(tokenizer)), tokenizer, name="deaf")
    towns = [("town", "York"), ("o", "Cork"), ("n", "Bath", ("\x01",))]
    people = [Entity("c", "Japan"), *(Entity(*town, types=("town",)) for town in towns)]
    load(graph, WrittenSource(people, [Fact("t", "c", "P36", "town")], [RELATION]))
    [town] = ask(graph, scorer, "exact-optimal", ["t"])
    [sentence] = evidence_of(town).sentences
    assert shown_in(town) == ["o"]
    assert "1 of its candidates left out, as they have a name that tokenizes to nothing" in str(sentence.note)


def test_names_with_other_tokens_after_prompt_prove_nothing(graph: Graph) -> None:
    # Without pre-tokenization a token may hold the end of a sentence and the beginning of a name.
    letters = sorted(set("".join([entity.label for entity in PEOPLE] + ["The capital of is City"])))
    vocabulary = {"<s>": 0, "</s>": 1} | {letter: number for number, letter in enumerate(letters, start=2)}
    vocabulary |= {" L": len(vocabulary), "s L": len(vocabulary) + 1}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.BPE(vocabulary, [(" ", "L"), ("s", " L")])),
        bos_token="<s>",
        eos_token="</s>",
        unk_token="a",
    )
    scorer = Scorer(random_model("gpt2", len(vocabulary)), tokenizer, name="crossing", bos=True)
    load(graph, WrittenSource(PEOPLE, FACTS, [RELATION]))
    [found] = ask(graph, scorer, "exact-optimal", ["f"], distractors=len(CITIES) - 1)
    [sentence] = evidence_of(found).sentences
    assert sentence.certified is None
    assert "nothing is proved" in str(sentence.note)
    equal = EQUAL + score_tolerance(scorer.model, tokens=24)
    # The plausibilities are those of the tokens that there are.
    names = {f"e{n}": [name, f"{name} City"] for n, name in enumerate(CITIES)}
    ids = shown_in(found)
    assert set(ids) == names.keys() - {"e0"}
    scores = scorer.score([sentence.prompt] * len(ids), [names[id_] for id_ in ids], eos=True)
    assert sentence.log_plausibilities[1:] == pytest.approx([logsumexp(scored.values) for scored in scores], abs=equal)
    assert (np.diff(sentence.log_plausibilities[1:]) <= 0).all()
    # Also where the name with other tokens is not among those that were found.
    [found] = ask(graph, scorer, "exact-optimal", ["f"], distractors=1)
    assert [rival.label for rival in evidence_of(found).rivals] != ["London"]
    assert evidence_of(found).sentences[0].certified is None


def test_model_without_an_end_cannot_search(graph: Graph) -> None:
    scorer = tiny_scorer(name="endless", eos=False)
    with pytest.raises(KgprobeError, match="endless has no EOS token"):
        OptimalDistractors(graph, scorer, exact=True).retrieve([], 1)


def test_sentence_that_leaves_no_room_is_told(graph: Graph, tiny: Scorer) -> None:
    load(graph, WrittenSource(PEOPLE, FACTS, [RELATION]))
    [fact] = describe_facts(graph, [FactKey("c", "f")])
    strategy = OptimalDistractors(graph, tiny, exact=False)
    long, short = strategy.retrieve([(fact, Cloze(TEMPLATE, "A" * 2_000)), (fact, Cloze(TEMPLATE, "Japan"))], 2)
    assert not long.distractors
    assert "leaves no room for a name" in str(long.reason)
    assert len(short.distractors) == 2
