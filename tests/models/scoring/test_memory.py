"""What was scored is not scored again, and comes out the same."""

import numpy as np
import pytest
import torch

from kgprobe.models.scoring.batching import Memory
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TokenizedPrompt
from tests.models.exactness import assert_exact, reference_scores, score_tolerance
from tests.models.tiny import byte_level, random_model

PROMPTS = ["The capital of Japan is", "York"]
NAMES = [["Tokyo", "Kyoto", "New York", "Tokyo"], ["City", "is a city", "🙂"]]


@pytest.fixture
def model():
    return random_model("gpt2", len(byte_level(bos=True)))


def counted(model):
    """Return how many tokens have gone through the model so far, as a list that grows."""
    tokens = []
    model.base_model.register_forward_pre_hook(
        lambda _, positional, named: tokens.append((*positional, named.get("input_ids"))[0].numel()), with_kwargs=True
    )
    return tokens


def test_what_is_known_is_not_computed(model):
    fresh = Scorer(model, byte_level(bos=True), name="fresh")
    scorer = Scorer(model, byte_level(bos=True), name="model", remembered=100)
    first = scorer.score(PROMPTS, NAMES, eos=True)
    tokens = counted(model)
    done = []
    again = scorer.score(PROMPTS[::-1], [["is a city", "City"], ["New York"]], eos=True, progress=done.append)
    assert (tokens, sum(done)) == ([], 3)
    assert [its.values.tolist() for its in again] == [first[1].values[[1, 0]].tolist(), [first[0].values[2]]]
    # Without the end, after another prompt, or one more name: that is something else.
    mixed = scorer.score(PROMPTS, [["Tokyo", "Osaka"], ["Tokyo"]], eos=True)
    assert tokens
    assert mixed[0].values[0] == first[0].values[0]
    allowed = score_tolerance(model)
    for found, wanted in zip(mixed, fresh.score(PROMPTS, [["Tokyo", "Osaka"], ["Tokyo"]], eos=True), strict=True):
        np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=allowed)
    open_ended = scorer.score(PROMPTS, NAMES)
    for found, wanted in zip(open_ended, fresh.score(PROMPTS, NAMES), strict=True):
        np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=allowed)


def test_what_is_asked_counts_and_not_the_text_alone():
    memory = Memory(10)
    # The same tokens in a row, of which one or two are asked for, behind less or more.
    prompt = TokenizedPrompt((1, 2, 3), (3, 2), ((4,), (3, 4)))
    memory.keep(prompt, np.array([-1.0, -5.0]))
    assert memory.recall(prompt).tolist() == [-1.0, -5.0]
    assert np.isnan(memory.recall(TokenizedPrompt((1, 2), (1,), ((2, 3, 4),)))).all()
    # As many other tokens before.
    assert np.isnan(memory.recall(TokenizedPrompt((9, 8, 3), (3, 2), ((4,), (3, 4))))).all()


def test_oldest_are_forgotten(model):
    scorer = Scorer(model, byte_level(bos=True), name="model", remembered=3)
    scorer.score(PROMPTS[:1], [["Tokyo", "Kyoto"]])
    scorer.score(PROMPTS[:1], [["Osaka", "Nara"]])
    tokens = counted(model)
    scorer.score(PROMPTS[:1], [["Kyoto", "Osaka", "Nara"]])
    assert not tokens
    scorer.score(PROMPTS[:1], [["Tokyo"]])
    assert tokens


def test_names_of_the_oldest_context_are_forgotten_first():
    memory = Memory(3)
    first, second, third = (TokenizedPrompt((token,), (1, 1), ((7,), (8,))) for token in (1, 2, 3))
    memory.keep(first, np.array([-1.0, -2.0]))
    memory.keep(second, np.array([-3.0, -4.0]))
    assert np.isnan(memory.recall(first)).tolist() == [True, False]
    assert memory.recall(second).tolist() == [-3.0, -4.0]
    # The first one is used again, so the second one makes room.
    memory.keep(first.part([1]), np.array([-2.0]))
    memory.keep(third, np.array([-5.0, -6.0]))
    known = [np.flatnonzero(~np.isnan(memory.recall(prompt))).tolist() for prompt in (first, second, third)]
    assert known == [[1], [], [0, 1]]


def test_nothing_is_kept_unless_asked(model):
    scorer = Scorer(model, byte_level(bos=True), name="model")
    scorer.score(PROMPTS, NAMES)
    tokens = counted(model)
    scorer.score(PROMPTS, NAMES)
    assert tokens


def test_what_other_weights_said_is_forgotten(model):
    scorer = Scorer(model, byte_level(bos=True), name="model", remembered=100)
    first, described = scorer.score(PROMPTS, NAMES), scorer.describe()
    assert not scorer.refresh()
    tokens = counted(model)
    scorer.score(PROMPTS, NAMES)
    assert not tokens
    with torch.no_grad():
        model.transformer.ln_f.weight.mul_(1.01)
    assert scorer.refresh()
    again = scorer.score(PROMPTS, NAMES)
    assert tokens
    fresh = Scorer(model, byte_level(bos=True), name="fresh")
    allowed = score_tolerance(model)
    for found, wanted, before in zip(again, fresh.score(PROMPTS, NAMES), first, strict=True):
        np.testing.assert_allclose(found.values, wanted.values, rtol=0, atol=allowed)
        assert np.abs(found.values - before.values).max() > 2 * allowed
    assert scorer.describe() == {**described, "weights": fresh.weights} != described


@pytest.mark.parametrize("name", ["llama", "bloom"])
def test_identity_counts_replaced_tensors(name):
    tokenizer = byte_level(bos=True)
    model = random_model(name, len(tokenizer))
    scorer = Scorer(model, tokenizer, name="model", remembered=100)
    scorer.score(PROMPTS, NAMES)
    layer = model.get_output_embeddings()
    layer.weight = torch.nn.Parameter(layer.weight.detach() * 1.5)
    assert scorer.refresh()
    found = [scored.values for scored in scorer.score(PROMPTS, NAMES)]
    assert_exact(found, reference_scores(model, tokenizer, [0], PROMPTS, NAMES))
    model.to(torch.bfloat16)
    assert scorer.refresh()
    assert scorer.describe()["dtype"] == "bfloat16"
    assert scorer.score(PROMPTS, NAMES)[0].values[0] < 0
