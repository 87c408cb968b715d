"""Gated delta rule with shared states: the numbers of the model's own rule, without its copies."""

import numpy as np
import pytest
import torch
from transformers.models.qwen3_5 import modeling_qwen3_5

from kgprobe.models.scoring.body import last_states
from kgprobe.models.scoring.delta_rule import SharedStates, has_rule
from kgprobe.models.scoring.forward import extend, run_method
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import build_tree, merge
from tests.models.architectures import MODERN
from tests.models.tiny import random_model

RULE = "torch_recurrent_gated_delta_rule"
CONTEXT = tuple(range(20, 30))
TAILS = ((1, 2, 3), (1, 2, 4), (5, 6, 7, 8, 9, 10, 11), (5, 6, 12), (13,))


@pytest.fixture(scope="module")
def model():
    return next(one for one in MODERN if one.model == "Qwen3_5ForCausalLM").build(60)


def random_inputs(rows: int) -> dict:
    """Return a token's inputs: two key heads, four value heads."""
    return {
        "query": torch.randn(rows, 1, 2, 8),
        "key": torch.randn(rows, 1, 2, 8),
        "value": torch.randn(rows, 1, 4, 6),
        "g": -torch.rand(rows, 1, 4),
        "beta": torch.rand(rows, 1, 4),
        "use_qk_l2norm_in_kernel": True,
    }


def test_rule_equals_that_of_transformers_for_rows_that_branch():
    torch.manual_seed(0)
    first = torch.randn(1, 4, 8, 6)
    kept = first.clone()
    shared, states = SharedStates(), first.repeat(2, 1, 1, 1)
    for followed in (torch.tensor([0, 1]), torch.tensor([0, 0, 1]), torch.tensor([2, 1, 1, 0])):
        shared.follow(followed)
        inputs = random_inputs(len(followed))
        wanted, states = getattr(modeling_qwen3_5, RULE)(
            **inputs, initial_state=states[followed], output_final_state=True
        )
        found, unchanged = shared.rule(**inputs, initial_state=first)
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)
        assert unchanged is first
    torch.testing.assert_close(first, kept, rtol=0, atol=0)


@torch.inference_mode()
def test_steps_after_a_prefix_copy_no_states(model, monkeypatch):
    tree = build_tree(0, TokenizedPrompt(CONTEXT, (len(CONTEXT),) * len(TAILS), TAILS), range(len(TAILS)))
    before = len(CONTEXT) - 1
    prefix = extend(model, "steps", None, np.array(CONTEXT[:before]), 64)
    rows = [tree.tokens[tree.path(int(source))] for source in tree.sources]
    wanted = torch.stack([last_states(model, row[None], None)[0, -1] for row in rows])

    def fail(*_, **__):
        raise AssertionError("the model's own rule copies the states")

    monkeypatch.setattr(modeling_qwen3_5, RULE, fail)
    for _ in range(2):
        states, sources = run_method(model, "steps", [merge([tree], before)], prefix)
        torch.testing.assert_close(states[sources], wanted, rtol=0, atol=1e-4)


def test_rule_of_the_model_is_restored_after_an_error(model):
    own = getattr(modeling_qwen3_5, RULE)

    def stop():
        with SharedStates().used_by(model):
            assert getattr(modeling_qwen3_5, RULE) is not own
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        stop()
    assert getattr(modeling_qwen3_5, RULE) is own


def test_models_without_the_rule_keep_their_code(model):
    assert has_rule(model)
    assert not has_rule(random_model("llama", 60))
