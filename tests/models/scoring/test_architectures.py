"""Each of today's architectures gets its method, exact; a slower one after an update of transformers fails here."""

import re
from pathlib import Path

import numpy as np
import pytest

import kgprobe
from kgprobe.models.scoring import plan as plan_module
from kgprobe.models.scoring.scorer import Scorer
from tests.models.architectures import MODERN, Architecture
from tests.models.tiny import ARCHITECTURES, byte_level, naive_score

EXAMPLES = "Tokyo is the capital of Japan, and Paris of France. " * 2
PROMPTS = [EXAMPLES + "The capital of Switzerland is", EXAMPLES + "York is", "Kyoto"]
CONTINUATIONS = [["Paris", "New York", "New Zealand", "São Paulo"], ["a city", "York"], ["was the capital of Japan"]]
DOCUMENT = Path(kgprobe.__file__).parents[1] / "docs" / "methods" / "scoring.md"
TOLERANCE = 1e-4


def parameters(architectures: list[Architecture]) -> list:
    return [pytest.param(one, id=one.model, marks=pytest.mark.slow if one.slow else ()) for one in architectures]


@pytest.fixture(scope="module")
def tokenizer():
    return byte_level(bos=True)


def plain_scores(model, tokenizer, leading) -> list[list[float]]:
    return [
        [naive_score(model, tokenizer, leading, prompt, text, eos=True) for text in texts]
        for prompt, texts in zip(PROMPTS, CONTINUATIONS, strict=True)
    ]


@pytest.mark.parametrize("architecture", parameters(MODERN))
@pytest.mark.representatives(4)
def test_architecture_gets_its_method_and_plain_scores(architecture, tokenizer, monkeypatch):
    # Prefixes pay for short prompts, too.
    monkeypatch.setattr(plan_module, "_PASS", 4)
    model = architecture.build(len(tokenizer))
    scorer = Scorer(model, tokenizer, name=architecture.model)
    assert scorer.describe()["method"] == architecture.method, scorer.explain()
    wanted = plain_scores(model, tokenizer, [0])
    assert np.ptp(np.concatenate(wanted)) > 1
    # The second call starts from the prefix that the first has kept.
    for prompts in (PROMPTS, PROMPTS[:1]):
        found = scorer.score(prompts, CONTINUATIONS[: len(prompts)], eos=True, beginnings=[EXAMPLES] * len(prompts))
        for one, values in zip(found, wanted, strict=False):
            np.testing.assert_allclose(one.values, values, rtol=0, atol=TOLERANCE)


def test_table_of_methods_agrees_with_the_tests():
    documented = dict(re.findall(r"`(\w+ForCausalLM|\w+LMHeadModel)`.*\| `(\w+)` \|", DOCUMENT.read_text("utf-8")))
    older = {"BloomForCausalLM": "branches", "MambaForCausalLM": "rows"}
    tested = {model.__name__: older.get(model.__name__, "packed") for model, _, _ in ARCHITECTURES.values()}
    assert documented == tested | {one.model: one.method for one in MODERN}
