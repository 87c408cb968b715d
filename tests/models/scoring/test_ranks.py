"""Ranks against a sorted vocabulary."""

import pytest
import torch

from kgprobe.base.errors import KgprobeError
from kgprobe.models.scoring import ranks as module
from kgprobe.models.scoring.ranks import next_token_ranks
from tests.models.tiny import random_model

CONTEXTS = [(0, 5, 9), (0, 7), (0, 5, 9), (3, 4, 5, 6, 7, 8), (0, 8)]
TOKENS = [[1, 2, 3], [0], [4], [], [10, 11]]


@pytest.mark.parametrize("name", ["gpt2", "gemma2, soft caps", "bloom", "mamba"])
def test_rank_is_the_place_among_all_tokens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(name, 50)
    found = next_token_ranks(model, CONTEXTS, TOKENS)
    assert [len(its) for its in found] == [len(its) for its in TOKENS]
    for context, tokens, its in zip(CONTEXTS, TOKENS, found, strict=True):
        with torch.no_grad():
            logits = model(torch.tensor([context])).logits[0, -1].tolist()
        order = sorted(range(50), key=lambda token: -logits[token])
        assert its.tolist() == [order.index(token) + 1 for token in tokens]

    last_logits = module._last_logits

    def logits_in_little_memory(model, contexts):
        if len(contexts) > 1:
            raise torch.OutOfMemoryError("out of memory")
        return last_logits(model, contexts)

    monkeypatch.setattr(module, "_last_logits", logits_in_little_memory)
    for one, other in zip(next_token_ranks(model, CONTEXTS, TOKENS), found, strict=True):
        assert one.tolist() == other.tolist()


def test_tie_counts_against_the_token() -> None:
    model = random_model("llama", 50)
    with torch.no_grad():
        model.lm_head.weight[7] = model.lm_head.weight[6]
    (found,) = next_token_ranks(model, [(0, 5)], [[6, 7]])
    assert found[0] == found[1]
    with torch.no_grad():
        logits = model(torch.tensor([[0, 5]])).logits[0, -1]
    assert found[0] == sum(logits >= logits[6])
    with torch.no_grad():
        model.lm_head.weight[:] = 0
    assert next_token_ranks(model, [(0, 5)], [[6]])[0].tolist() == [50]


def test_broken_weights_have_no_ranks() -> None:
    model = random_model("llama", 50)
    with torch.no_grad():
        model.lm_head.weight[3] = torch.nan
    with pytest.raises(KgprobeError, match="not numbers"):
        next_token_ranks(model, [(0, 5)], [[6]])
