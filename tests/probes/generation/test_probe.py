"""Generation against its definition: a plain greedy search of transformers, and names looked for in scripted texts."""

from typing import Any

import msgspec
import pytest
import torch

from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.generating.generator import Answer, Unanswered
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.model import Model, Models
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.distractors.evidence import NamedEntity
from kgprobe.probes.examples import PROBE as EXAMPLES
from kgprobe.probes.generation import PROBE
from kgprobe.probes.generation.evidence import GenerationEvidence
from kgprobe.probes.outcome import Outcome, Probe, Verdict
from kgprobe.probes.register import ProbeContext
from kgprobe.sampling.keys import FactKey
from tests.models.tiny import byte_level, random_model
from tests.probes.questions.answering import Answering
from tests.written_source import WrittenSource

AS_OF = 20200101
ENTITIES = [
    *(Entity(name.lower(), name) for name in ("Japan", "Germany", "Chile", "Peru", "Spain", "Bolivia", "Mali")),
    Entity("tokyo", "Tokyo", ("Edo",)),
    Entity("kyoto", "Kyoto"),
    *(Entity(name.lower(), name) for name in ("Berlin", "Bonn", "Santiago", "Lima", "Madrid", "Sucre")),
    Entity("paz", "La Paz"),
    Entity("york", "York"),
    Entity("new", "New York"),
    Entity("dots", "…"),
]
FACTS = [
    Fact("japan", "japan", "capital", "tokyo"),
    Fact("japan before", "japan", "capital", "kyoto", end="1868"),
    Fact("germany", "germany", "capital", "berlin"),
    Fact("chile", "chile", "capital", "santiago"),
    Fact("peru", "peru", "capital", "lima"),
    Fact("spain", "spain", "capital", "madrid"),
    Fact("bolivia", "bolivia", "capital", "sucre"),
    Fact("bolivia too", "bolivia", "capital", "paz"),
    Fact("mali", "mali", "capital", "new"),
    Fact("york", "spain", "capital", "york", end="1900"),
    Fact("dots", "mali", "capital", "dots"),
]
KEYS = {fact.id: FactKey(fact.subject, fact.id) for fact in FACTS}
CAPITAL = Relation(
    "capital", "capital", clozes=("The capital of [X] is [Y]",), mined_clozes=("[X] , whose capital was [Y]",)
)


@pytest.fixture
def loaded(graph: Graph) -> Graph:
    load(graph, WrittenSource(ENTITIES, FACTS, [CAPITAL]))
    return graph


def tiny(name: str = "llama", *, chat: bool = False, positions: int = 2048) -> Scorer:
    tokenizer = byte_level(bos=True)
    if chat:
        tokenizer.chat_template = "{% for message in messages %}<s>{{ message.content }}!{% endfor %}"
    return Scorer(random_model(name, len(tokenizer), max_position_embeddings=positions), tokenizer, name=name)


def probe_of(graph: Graph, model: Model, **options: Any) -> Probe:
    return PROBE.make(ProbeContext(graph, model, Models(), AS_OF), PROBE.options_from(options))


def evidence_of(outcome: Outcome) -> GenerationEvidence:
    assert isinstance(outcome.evidence, GenerationEvidence), outcome.reason
    return outcome.evidence


def read(graph: Graph, fact: str, said: str | Answer | Unanswered, **options: Any) -> Outcome:
    """Return what a text comes to that a model goes on with after a fact's sentence."""
    scripted = Model("scripted", generator=Answering(lambda _: said))
    (outcome,) = probe_of(graph, scripted, prompt="sentences", **options).ask([KEYS[fact]], [3])
    return outcome


@pytest.mark.parametrize("prompt", ["examples", "sentences", "both"])
@pytest.mark.parametrize("chat", [False, True])
@pytest.mark.representatives(2)
def test_text_is_that_of_a_plain_greedy_search(loaded: Graph, prompt: str, chat: bool) -> None:
    scorer = tiny(chat=chat)
    options = {"prompt": prompt, "examples": 3, "new_tokens": 12, "separator": ": ", "between": "\\n"}
    keys = [KEYS[fact] for fact in ("japan", "chile", "peru")]
    asked = dict(options)
    del asked["new_tokens"]
    setting = ProbeContext(loaded, Model("tiny", scorer=scorer), Models(), AS_OF)
    chosen = EXAMPLES.make(setting, EXAMPLES.options_from(asked)).ask(keys, [3])
    wrote = probe_of(loaded, Model("tiny", scorer=scorer, generator=LocalGenerator(scorer)), **options).ask(keys, [3])
    model: Any = scorer.model
    for one, other in zip(wrote, chosen, strict=True):
        # The very prompt of in-context estimation, and the separator but for white space at its end.
        assert one.prompt == other.prompt + ("" if prompt == "sentences" else ":")
        tokens = [0, *scorer.tokenizer(one.prompt, add_special_tokens=False).input_ids]
        with torch.no_grad():
            plain = model.generate(
                torch.tensor([tokens]), attention_mask=torch.ones(1, len(tokens)), max_new_tokens=12, do_sample=False
            )
        text = scorer.tokenizer.decode(plain[0, len(tokens) :], skip_special_tokens=True)
        assert evidence_of(one).text == text.strip()


@pytest.mark.parametrize(
    ("fact", "text", "verdict", "names"),
    [
        ("japan", "Tokyo.", Verdict.RIGHT, ["Tokyo"]),
        ("japan", "the old city of EDO, now Tokyo", Verdict.RIGHT, ["Edo", "Tokyo"]),
        ("japan", "Kyoto.\nBerlin", Verdict.WRONG, []),
        ("japan", "Tokyoites", Verdict.WRONG, []),
        ("japan", "", Verdict.OFF_FORMAT, []),
        ("japan", " …", Verdict.OFF_FORMAT, []),
        ("bolivia", "La Paz", Verdict.WRONG, []),
        # A longer name of the relation holds a shorter one, whichever is right.
        ("york", "New York", Verdict.WRONG, []),
        ("mali", "New York", Verdict.RIGHT, ["New York"]),
    ],
)
def test_fact_is_known_if_a_name_stands_in_the_text(
    loaded: Graph, fact: str, text: str, verdict: Verdict, names: list[str]
) -> None:
    outcome = read(loaded, fact, text)
    evidence = evidence_of(outcome)
    assert outcome.verdict is verdict
    assert [one.name for one in evidence.named] == names
    assert evidence.text == text
    for one in evidence.named:
        assert text[one.start : one.end].casefold() == one.name.casefold()
        assert one.words == len([word for word in text[: one.start].split() if word != "the"])
    assert (evidence.probability, evidence.chance) == (None, None)


def test_others_and_former_objects_are_told(loaded: Graph) -> None:
    behind = evidence_of(read(loaded, "japan", "Kyoto, then Tokyo"))
    assert behind.other is not None
    assert (behind.other.name, behind.is_first, behind.is_behind) == ("Kyoto", False, True)
    assert [one.name for one in behind.former] == ["Kyoto"]
    before = evidence_of(read(loaded, "japan", "Tokyo, not Berlin"))
    assert before.other is not None
    assert (before.other.name, before.is_first, before.is_behind, before.former) == ("Berlin", True, False, ())
    # What is right beside it is no other, nor is the subject, nor a name within the right one.
    both = evidence_of(read(loaded, "bolivia", "La Paz and Sucre in Bolivia"))
    assert (both.other, both.is_first, [one.name for one in both.beside]) == (None, True, ["La Paz"])
    assert evidence_of(read(loaded, "mali", "New York")).other is None
    assert behind.values == {"named_first": 0.0, "former_named": 1.0}
    wrong = read(loaded, "germany", "Bonn or Lima")
    # Bonn is no object of the relation.
    assert (wrong.verdict, evidence_of(wrong).prediction) == (Verdict.WRONG, "Lima")
    assert evidence_of(read(loaded, "germany", "Bonn\n or Mainz")).prediction == "Bonn or Mainz"


def test_until_its_line_ends(loaded: Graph) -> None:
    text = "\n Kyoto\nTokyo"
    assert read(loaded, "japan", text).verdict is Verdict.RIGHT
    outcome = read(loaded, "japan", text, until="line")
    evidence = evidence_of(outcome)
    assert outcome.verdict is Verdict.WRONG
    assert (evidence.text, evidence.text[: evidence.counted]) == (text, "\n Kyoto")
    assert read(loaded, "japan", "\n Tokyo\nKyoto", until="line").verdict is Verdict.RIGHT


def test_what_cannot_be_asked_or_gets_no_text(loaded: Graph) -> None:
    dots = read(loaded, "dots", "…")
    assert dots.verdict is Verdict.UNASKABLE
    assert "letter, a digit or a symbol" in (dots.reason or "")
    assert read(loaded, "japan", Unanswered("it rains")).reason == "it rains"
    assert read(loaded, "japan", Answer("I will not", refused=True)).verdict is Verdict.REFUSED
    # A sentence can be put in the past, examples cannot.
    assert read(loaded, "japan before", "Kyoto").verdict is Verdict.RIGHT
    scripted = Model("scripted", generator=Answering(lambda _: "Kyoto"))
    (ended,) = probe_of(loaded, scripted, prompt="examples").ask([KEYS["japan before"]], [3])
    assert ended.verdict is Verdict.UNASKABLE


@pytest.mark.parametrize(
    ("fact", "text", "verdict", "unplaced"),
    [
        ("japan", "not known to me", Verdict.REFUSED, 0),
        ("japan", Answer("My lips", refused=True), Verdict.REFUSED, 0),
        # A former, a right and another object before the refusal.
        ("japan", "Kyoto, as I am not sure that it moved", Verdict.WRONG, 0),
        ("bolivia", "La Paz, as I am not sure", Verdict.WRONG, 0),
        ("japan", "Berlin, as I am not sure", Verdict.WRONG, 0),
        ("japan", "a town on the sea", Verdict.WRONG, 1),
    ],
)
def test_refusal_counts_before_names(
    loaded: Graph, fact: str, text: str | Answer, verdict: Verdict, unplaced: int
) -> None:
    outcome = read(loaded, fact, text)
    evidence = evidence_of(outcome)
    assert (outcome.verdict, evidence.counts["unplaced"]) == (verdict, unplaced)
    # Any value places a text about a year.
    of_year = msgspec.structs.replace(evidence, object=NamedEntity("y", "1931"), other=None, former=(), beside=())
    assert of_year.counts["unplaced"] == int(verdict is not Verdict.REFUSED)
    assert msgspec.structs.replace(of_year, text="in 1850", counted=7).counts["unplaced"] == 0


def test_examples_leave_room_for_what_is_written(loaded: Graph) -> None:
    scorer = tiny(positions=96)
    model = Model("tiny", scorer=scorer, generator=LocalGenerator(scorer))
    (short,) = probe_of(loaded, model, new_tokens=4).ask([KEYS["japan"]], [3])
    (long,) = probe_of(loaded, model, new_tokens=60).ask([KEYS["japan"]], [3])
    assert evidence_of(short).examples > evidence_of(long).examples > 0
    assert {short.verdict.counts, long.verdict.counts} == {True}


def test_tables_tell_who_came_first_and_how_soon(loaded: Graph) -> None:
    said = {"Japan": "Kyoto, then Tokyo", "Germany": "Berlin", "Chile": "maybe\nit is Santiago", "Peru": "Madrid"}
    scripted = Model("scripted", generator=Answering(lambda text: said[text.split()[3]]))
    probe = probe_of(loaded, scripted, prompt="sentences")
    outcomes = probe.ask([KEYS[fact] for fact in ("japan", "germany", "chile", "peru")], [3])
    relations, lengths = PROBE.results(outcomes, probe.describe()).tables
    (row,) = relations.rows
    told = {name: getattr(value, "value", value) for name, value in row.items()}
    assert told == {
        "relation": "capital",
        "facts": 4,
        "accuracy": 0.75,
        "named before all others": 0.5,
        "another object before it": 0.25,
        "another object alone": 0.25,
        "a former object": 0.25,
    }
    by_length = {str(one["the text as far as"]): one["accuracy"].value for one in lengths.rows}
    assert by_length == {
        "1 word": 0.25,
        "2 words": 0.25,
        "5 words": 0.75,
        "10 words": 0.75,
        "20 words": 0.75,
        "its first line": 0.5,
        "it counts": 0.75,
    }


def test_mined_sentences_stand_in_place_of_those_by_hand(loaded: Graph) -> None:
    for prompt, by_hand, mined in (
        ("sentences", "The capital of Japan is", "Japan, whose capital was"),
        ("both", "The capital of Japan is", "Japan, whose capital was"),
    ):
        for templates, wanted in (("hand", by_hand), ("mined", mined)):
            scripted = Model("scripted", generator=Answering(lambda _: "Tokyo"))
            (outcome,) = probe_of(loaded, scripted, prompt=prompt, templates=templates).ask([KEYS["japan"]], [3])
            assert outcome.prompt.endswith(wanted.replace(",", " ,") if templates == "mined" else wanted)
