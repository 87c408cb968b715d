"""Log-probabilities by chunks of the vocabulary against a whole log-softmax in double precision."""

import numpy as np
import pytest
import torch

from kgprobe.models.scoring.projection import VocabularyProjection
from tests.models.exactness import assert_as_exact


@pytest.mark.parametrize("spread", [0.1, 3.0, 40.0])
@pytest.mark.parametrize(("scale", "soft_cap", "biased"), [(1.0, None, False), (0.3, None, True), (1.0, 5.0, True)])
def test_chunks_add_up_to_the_whole_vocabulary(spread, scale, soft_cap, biased):
    generator = torch.Generator().manual_seed(3)
    # Rising along the vocabulary, so that the highest logit so far is outdone by most chunks.
    weight = torch.randn(4501, 16, generator=generator) * spread / 4 * torch.linspace(0.1, 1, 4501)[:, None]
    bias = torch.randn(4501, generator=generator) if biased else None
    hidden = torch.randn(7, 16, generator=generator)
    rng = np.random.default_rng(4)
    sources, targets = rng.integers(0, 7, 60), rng.integers(0, 4501, 60)

    def by_definition(hidden, weight, bias):
        logits = (hidden @ weight.T + (0 if bias is None else bias)) * scale
        if soft_cap is not None:
            logits = soft_cap * torch.tanh(logits / soft_cap)
        values = logits.log_softmax(-1)
        return torch.stack([values[sources, targets], values.amax(1)[sources]], dim=1).numpy()

    plain = by_definition(hidden, weight, bias)
    wanted = by_definition(hidden.double(), weight.double(), None if bias is None else bias.double())
    found = VocabularyProjection(weight, bias, scale, soft_cap).log_probabilities(hidden, sources, targets, at_once=1)
    assert found.dtype == torch.float32
    assert_as_exact(found.numpy(), plain, wanted)


def test_what_is_most_probable_is_so_to_the_last_bit():
    generator = torch.Generator().manual_seed(3)
    weight, hidden = torch.randn(4501, 16, generator=generator), torch.randn(200, 16, generator=generator)
    best = (hidden @ weight.T).argmax(1).numpy()
    projection = VocabularyProjection(weight, None, 1.0, None)
    own, highest = projection.log_probabilities(hidden, np.arange(200), best, at_once=1).T
    assert (own == highest).all()
    own, highest = projection.log_probabilities(hidden, np.arange(200), (best + 1) % 4501, at_once=1).T
    assert (own < highest).all()
