"""Probes in another language: what the model reads, and how its answers are read."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy.special import logsumexp

import kgprobe
from kgprobe.base.errors import ArgumentError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.labelling.table import LabelledFact, write_label_table
from kgprobe.models.generating.generator import Answer, Request
from kgprobe.models.model import Model, Models
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.distractors.evidence import DistractorEvidence
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.questions.evidence import QuestionEvidence
from kgprobe.probes.register import PROBES, ProbeContext
from kgprobe.probes.statements.evidence import StatementEvidence
from kgprobe.sampling.keys import FactKey
from kgprobe.verbalize.language import language_of
from tests.models.exactness import score_tolerance
from tests.models.tiny import naive_score, tiny_scorer
from tests.written_source import WrittenSource

AS_OF = 20260101
CODES = ("de", "zh")
# Countries and capitals by language; the last has no Chinese names.
PAIRS = {
    "en": [
        ("France", "Paris"),
        ("Germany", "Berlin"),
        ("Japan", "Tokyo"),
        ("Chile", "Santiago"),
        ("Laos", "Vientiane"),
    ],
    "de": [
        ("Frankreich", "Paris"),
        ("Schweiz", "Bern"),
        ("Japan", "Tokio"),
        ("Chile", "Santiago"),
        ("Laos", "Vientiane"),
    ],
    "zh": [("法国", "巴黎"), ("德国", "柏林"), ("日本", "东京"), ("智利", "圣地亚哥")],
}


def _texts(number: int, end: int) -> dict[str, dict[str, str | tuple[str, ...]]]:
    return {code: {"label": pairs[number][end]} for code, pairs in PAIRS.items() if number < len(pairs)}


SOURCE = WrittenSource(
    [
        *(Entity(f"c{n}", pair[0], types=("country",), texts=_texts(n, 0)) for n, pair in enumerate(PAIRS["en"])),
        *(Entity(f"t{n}", pair[1], types=("city",), texts=_texts(n, 1)) for n, pair in enumerate(PAIRS["en"])),
    ],
    [Fact(f"f{n}", f"c{n}", "P36", f"t{n}") for n in range(len(PAIRS["en"]))],
    [Relation("P36", "capital", texts={"de": {"label": "Hauptstadt"}, "zh": {"label": "首都"}})],
    languages=("en", "de", "zh"),
)
KEYS = [FactKey(f"c{n}", f"f{n}") for n in range(4)]


@pytest.fixture
def loaded(graph: Graph) -> Graph:
    load(graph, SOURCE)
    return graph


class Saying:
    """A generator that answers each prompt by a rule and keeps it."""

    name = "saying"

    def __init__(self, rule: Callable[[str], str]) -> None:
        self.prompts: list[str] = []
        self._rule = rule

    def describe(self) -> dict[str, object]:
        return {}

    def check_thinking(self, _: object) -> dict[str, object]:
        return {}

    def answer(self, requests: Sequence[Request], progress: Callable[[int], None] | None = None) -> list[Answer]:
        if progress is not None:
            progress(len(requests))
        self.prompts += [request.prompt for request in requests]
        return [Answer(self._rule(request.prompt)) for request in requests]


def ask(graph: Graph, probe: str, model: Model, **options: Any) -> list[Outcome]:
    kind = PROBES.get(probe)
    made = kind.make(ProbeContext(graph, model, Models(), AS_OF), kind.options_from(options))
    return made.ask(KEYS, [3])


def knowing(code: str) -> Callable[[str], str]:
    """Return a rule that answers by the capital of the last country in the last line but one."""
    yes, no, true, false = {"de": ("Ja", "Nein", "Wahr", "Falsch"), "zh": ("是的", "不是", "正确", "错误")}[code]

    def rule(prompt: str) -> str:
        asked = prompt.rstrip().rsplit("\n", 1)[0].rsplit("\n", 1)[-1]
        if prompt.count("\n") == 0:
            asked = prompt
        country, capital = max(PAIRS[code], key=lambda pair: asked.rfind(pair[0]))
        named = [city for _, city in PAIRS[code] if city in asked and asked.rfind(city) != asked.rfind(country)]
        if asked.startswith(("Aussage:", "陈述：")):
            return true if capital in named else false
        if named:
            return f"{yes if capital in named else no}。" if code == "zh" else f"{yes if capital in named else no}."
        return f"答案是{capital}。" if code == "zh" else f"Die Hauptstadt heißt {capital}."

    return rule


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("probe", ["questions", "recall", "true-false", "generation"])
def test_model_that_knows_the_facts_is_right(loaded: Graph, probe: str, code: str) -> None:
    saying = Saying(knowing(code))
    options: dict[str, Any] = {
        "generation": {"prompt": "sentences"},
        "recall": {"prompts": 2, "samples": 0, "examples": 2},
    }
    outcomes = ask(loaded.in_language(code), probe, Model("saying", generator=saying), **options.get(probe, {}))
    assert [outcome.verdict for outcome in outcomes] == [Verdict.RIGHT] * 4
    words = language_of(code).prompts
    for prompt in saying.prompts:
        # Only the instruction of its own language, and no name or word of English.
        assert not re.search(r"\b(?:Question|Answer|Statement|capital|Germany|the)\b", prompt)
        assert probe == "generation" or prompt.endswith(words.recall.split("\n")[-1])


def test_refusals_and_other_names_are_read_in_german(loaded: Graph) -> None:
    german = loaded.in_language("de")
    said = {
        "Frankreich": "Das weiß ich nicht.",
        "Schweiz": "Zürich.",
        "Japan": "Japans Hauptstadt: Tokio",
        "Chile": "Ja",
    }
    model = Model(
        "saying", generator=Saying(lambda prompt: next(text for name, text in said.items() if name in prompt))
    )
    outcomes = ask(german, "questions", model, difficulty="open", follow_ups=0)
    assert [outcome.verdict for outcome in outcomes[:3]] == [Verdict.REFUSED, Verdict.WRONG, Verdict.RIGHT]
    evidence = outcomes[1].evidence
    assert isinstance(evidence, QuestionEvidence)
    assert evidence.text == "Was ist Hauptstadt von der Schweiz?"


@pytest.fixture(scope="module")
def tiny() -> Scorer:
    return tiny_scorer(n_positions=1024)


def test_chinese_distractors_have_the_scores_of_plain_passes(loaded: Graph, tiny: Scorer) -> None:
    model = Model("tiny", scorer=tiny)
    outcomes = ask(loaded.in_language("zh"), "distractors", model, strategy="random", distractors=2)
    for outcome, (country, capital) in zip(outcomes, PAIRS["zh"], strict=True):
        evidence = outcome.evidence
        assert isinstance(evidence, DistractorEvidence)
        (sentence,) = evidence.sentences
        assert sentence.prompt == f"{country}的首都是"
        names = [capital, *(evidence.rivals[place].label for place in sentence.rivals)]
        assert set(names) <= {city for _, city in PAIRS["zh"]}
        for name, value in zip(names, sentence.log_plausibilities, strict=True):
            joined = f"{country}的首都是{name}"
            naive = naive_score(tiny.model, tiny.tokenizer, [0], sentence.prompt, "", eos=True, joined=joined)
            assert value == pytest.approx(logsumexp([naive]), abs=score_tolerance(tiny.model))


def test_chinese_judgements_have_the_scores_of_plain_passes(loaded: Graph, tiny: Scorer) -> None:
    outcomes = ask(loaded.in_language("zh"), "statements", Model("tiny", scorer=tiny))
    evidence = outcomes[0].evidence
    assert isinstance(evidence, StatementEvidence)
    assert evidence.fact.text == "法国的首都是巴黎。"
    assert evidence.answers == ("正确", "错误", "未知")
    assert outcomes[0].prompt.endswith("\n\n陈述：法国的首都是巴黎。\n答案：")
    naive = [
        naive_score(tiny.model, tiny.tokenizer, [0], outcomes[0].prompt, "", joined=f"{outcomes[0].prompt}{answer}")
        for answer in evidence.answers
    ]
    assert evidence.fact.log_probabilities == pytest.approx(naive, abs=score_tolerance(tiny.model))


def test_exports_of_labels_are_in_their_language_or_refused(loaded: Graph, tmp_path: Path) -> None:
    ids = {"fact": "f1", "subject": "c1", "relation": "P36", "object": "t1"}
    names = {"subject_name": "Schweiz", "relation_name": "Hauptstadt", "object_name": "Bern"}
    numbers = {"known": 0.1, "known_low": 0.0, "known_high": 0.2}
    classes = {"belief": "surely unknown", "slick": None, "profile": None, "answers": {"distractors": (0, 1)}}
    row = LabelledFact(**ids, **names, basis="asked", **numbers, **classes)
    config = {"model": "tiny", "ways": ["distractors"], "ask_in": "de"}
    table = write_label_table(tmp_path / "labels", config, [row])
    assert [fact.text for fact in kgprobe.unknown_facts(loaded, table)] == ["Hauptstadt von der Schweiz ist Bern."]
    with pytest.raises(ArgumentError, match="`labels` are of names in de; training sets have English sentences"):
        kgprobe.export_sft(loaded, table, tmp_path / "sft", teach=["surely unknown"])
