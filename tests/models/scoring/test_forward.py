"""A cache reaches a model's body by the name that the body takes."""

import warnings

import numpy as np
import pytest
import torch
from transformers import LlamaModel

from kgprobe.models.scoring.forward import extend, packed_states
from kgprobe.models.scoring.masks import Spans
from tests.models.tiny import random_model

TOKENS = np.array([3, 5, 7, 11, 13])


class OwnCode(LlamaModel):
    """A body whose code came with its weights, written for transformers before 5.24."""

    def forward(self, input_ids=None, past_key_values=None, **others):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return super().forward(input_ids, past_key_values=past_key_values, **others)


@pytest.mark.parametrize("body", [LlamaModel, OwnCode])
def test_extend_either_cache_name_gives_plain_states(body):
    model = random_model("llama", 64)
    model.base_model.__class__ = body
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("error")
        chain = Spans(np.array([[0, 1]], dtype=np.int32), np.array([[2, 2]], dtype=np.int32))
        prefix = extend(model, "packed", None, TOKENS[:3], at_once=2)
        behind = packed_states(model, TOKENS[None, 3:], np.array([[3, 4]]), chain, prefix)
        plain = model.base_model(input_ids=torch.from_numpy(TOKENS[None]), use_cache=False).last_hidden_state
    torch.testing.assert_close(behind, plain[:, 3:])
