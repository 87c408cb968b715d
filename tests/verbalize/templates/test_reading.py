"""The second reading of templates: which sentences are compared or asked about, and what follows."""

import numpy as np
import pytest

from kgprobe.base.records import Relation
from kgprobe.models.generating.generator import Answer, Unanswered
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TextError
from kgprobe.verbalize.templates.reading import (
    ReadingVerdict,
    TemplateReading,
    asking_reader,
    reading_prompts,
    scoring_reader,
    verdict_of,
)
from tests.models.tiny import byte_level, naive_score, random_model

CAPITAL = Relation("P36", "capital", ("seat",), "city of the government")
FACTS = [("France", "Paris"), ("Japan", "Tokyo")]
OTHERS = [Relation("P1", "river"), Relation("P2", "SEAT"), Relation("P3"), Relation("P4", "king"), CAPITAL]


class Answering:
    """Generator that gives fixed answers, in turn."""

    name = "answering"

    def __init__(self, *answers: Answer | Unanswered) -> None:
        self._answers = list(answers)

    def describe(self) -> dict[str, object]:
        return {}

    def answer(self, requests: list, progress: object = None) -> list[Answer | Unanswered]:
        assert len(requests) == len(self._answers)
        assert progress is None
        return self._answers


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    tokenizer = byte_level(bos=True)
    model = random_model("gpt2", len(tokenizer), n_positions=2048)
    return Scorer(model, tokenizer, name="gpt2")


def test_questions_show_the_fact_and_what_to_check() -> None:
    reading = TemplateReading("wh_question", "What is the capital of [X]?", CAPITAL, FACTS)
    assert reading_prompts(reading)[1] == (
        "Subject: Japan\nRelation: capital (city of the government)\nObject: Tokyo\n"
        "Question: What is the capital of Japan?\n\n"
        "Is this question good English, and does it ask for the object of this fact, without giving it away?"
        " Answer yes or no."
    )
    cloze = TemplateReading("cloze", "The capital of [X] is [Y]", CAPITAL, FACTS)
    assert "Sentence: The capital of France is Paris.\n" in reading_prompts(cloze)[0]


def test_share_of_yes_counts() -> None:
    readings = [
        TemplateReading("cloze", "[X] has [Y]", CAPITAL, FACTS),
        TemplateReading("cloze", "[X] is [Y]", CAPITAL, FACTS[:1]),
    ]
    answers = [Answer("Yes."), Answer("I would say it depends."), Answer("No, it is not.")]
    assert asking_reader(Answering(*answers))(readings) == [0.75, 0.0]
    assert asking_reader(Answering(Answer("", refused=True)))(readings[1:]) == [0.5]
    with pytest.raises(TextError, match="the second reading got no answer: HTTP 500"):
        asking_reader(Answering(Unanswered("HTTP 500")))(readings[1:])


@pytest.mark.parametrize(
    ("share", "verdict"),
    [(1, "passed"), (2 / 3, "passed"), (0.5, "uncertain"), (0.34, "uncertain"), (1 / 3, "failed"), (0, "failed")],
)
def test_verdicts(share: float, verdict: str) -> None:
    assert verdict_of(share) is ReadingVerdict(verdict)


def test_scores_are_compared_by_their_definition(scorer: Scorer) -> None:
    """The lowest share of won comparisons: with other relations, with exchanged names, with other orders of words."""
    readings = [
        TemplateReading("cloze", "The capital of [X] is [Y]", CAPITAL, FACTS),
        TemplateReading("wh_question", "What is the capital of [X]?", CAPITAL, FACTS),
        TemplateReading("cloze", "[X] borders [Y]", CAPITAL, FACTS, is_symmetric=True),
    ]
    asked: list[tuple[str, str]] = []
    score = scorer.score

    class Recording:
        def score(self, prompts: list[str], texts: list[list[str]], beginnings: list[str]) -> list:
            asked.extend((prompt, text) for prompt, (text,) in zip(prompts, texts, strict=True))
            return score(prompts, texts, beginnings=beginnings)

    shares = scoring_reader(Recording(), OTHERS, 0)(readings)  # type: ignore[arg-type]
    values = [naive_score(scorer.model, scorer.tokenizer, [0], prompt, text) for prompt, text in asked]
    # Own sentence, three relations, exchanged names, three orders; the latter four without names to exchange.
    sizes = [8, 8, 7, 7, 7, 7]
    groups, begin = [], 0
    for size in sizes:
        groups.append(range(begin, begin + size))
        begin += size
    assert begin == len(asked)
    for number, share in enumerate(shares):
        pairs: dict[str, list[bool]] = {}
        for group in groups[2 * number : 2 * number + 2]:
            own = group[0]
            for place in group[1:]:
                (prompt, text), (own_prompt, own_text) = asked[place], asked[own]
                if prompt != own_prompt:
                    name = "relation"
                else:
                    name = "order" if sorted(text) == sorted(own_text) and len(group) - place + own <= 3 else "names"
                pairs.setdefault(name, []).append(values[own] > values[place])
        assert share == pytest.approx(min(map(np.mean, pairs.values())))
    labels = {prompt.rpartition("Relation: ")[2].splitlines()[0] for prompt, _ in asked}
    # Relations of the graph first; not those that share a name, or have none.
    assert {"capital", "river", "king"} < labels
    assert labels.isdisjoint({"SEAT", ""})
    assert ("The capital of Paris is France.") in [text for _, text in asked]


@pytest.mark.slow
def test_small_real_model_finds_wrong_templates(demo_scorer: Scorer) -> None:
    names = ("river", "official language", "author", "highest point")
    others = [Relation(f"P{place}", name) for place, name in enumerate(names)]
    templates = {
        "The capital of [X] is [Y]": ReadingVerdict.PASSED,
        "The capital of [Y] is [X]": ReadingVerdict.FAILED,
        "capital the [X] [Y] of is": ReadingVerdict.FAILED,
        "The official language of [X] is [Y]": ReadingVerdict.FAILED,
    }
    facts = [*FACTS, ("Poland", "Warsaw")]
    readings = [TemplateReading("cloze", template, CAPITAL, facts) for template in templates]
    shares = scoring_reader(demo_scorer, others, 0)(readings)
    assert [verdict_of(share) for share in shares] == list(templates.values())
