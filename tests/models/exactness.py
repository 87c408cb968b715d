"""Allowed differences of float32 results, measured on the processor that runs the test.

Float32 results depend on the processor: its matrix products add up in an order of their own. A fixed tolerance passes
on one processor and fails on the next. Here the unit is the rounding error of plain float32 forward passes, compared
with the same model in float64. A result may be off by a stated multiple of it. Mistakes cost far more: a position that
is off by one changes the scores of the small models by 0.02 and more, and their unit is about 0.00001.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import NamedTuple

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tests.models.tiny import naive_log_probabilities, naive_tokens

# Batches of other shapes round differently than single rows do, but not much worse.
MULTIPLE = 8
# For two results in float32, each of which may be off.
PAIR = 2 * MULTIPLE
EPSILON = float(np.finfo(np.float32).eps)


class Reference(NamedTuple):
    """The scores of a prompt's continuations by plain forward passes, each of shape (continuations,).

    Attributes:
        plain: in float32.
        exact: of the same model in float64.
        rounding: the greatest error of float32 that any token could have shown: of each position the greatest error
            of a log-probability, summed over positions.
    """

    plain: np.ndarray
    exact: np.ndarray
    rounding: np.ndarray


def double_copy(model: torch.nn.Module) -> torch.nn.Module:
    """Return a copy in float64, without the forward methods that a test has replaced."""
    double = deepcopy(model)
    for module in double.modules():
        vars(module).pop("forward", None)
    return double.double()


def reference_scores(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    leading: Sequence[int],
    prompts: Sequence[str],
    continuations: Sequence[Sequence[str]],
    eos: bool = False,
    *,
    joined: Sequence[Sequence[str]] | None = None,
    double: torch.nn.Module | None = None,
) -> list[Reference]:
    """Score continuations by one plain forward pass each, in float32 and in float64.

    Args:
        joined: the whole texts, where they are not prompt, space, continuation.
        double: the model in float64; a copy of the model by default.
    """
    double = double_copy(model) if double is None else double
    references = []
    for number, (prompt, texts) in enumerate(zip(prompts, continuations, strict=True)):
        rows = []
        for place, text in enumerate(texts):
            whole = None if joined is None else joined[number][place]
            tokens, first = naive_tokens(tokenizer, leading, prompt, text, eos, whole)
            rows.append(_score(model, double, tokens, first))
        references.append(Reference(*np.array(rows).reshape(-1, 3).T))
    return references


def _score(model: torch.nn.Module, double: torch.nn.Module, tokens: list[int], first: int) -> tuple[float, ...]:
    plain, exact = (naive_log_probabilities(each, tokens, first) for each in (model, double))
    places, targets = torch.arange(len(tokens) - first), torch.tensor(tokens[first:])
    rounding = (plain - exact).abs().amax(-1).sum()
    return float(plain[places, targets].sum()), float(exact[places, targets].sum()), float(rounding)


def allowed_difference(references: Sequence[Reference], multiple: float = MULTIPLE) -> float:
    """Return the greatest difference from the exact scores that rounding explains."""
    unit = max((float(one.rounding.max()) for one in references if len(one.rounding)), default=0.0)
    largest = max((float(np.abs(one.exact).max()) for one in references if len(one.exact)), default=0.0)
    return multiple * max(unit, EPSILON * largest)


def assert_exact(found: Sequence[np.ndarray], references: Sequence[Reference], multiple: float = MULTIPLE) -> None:
    """Raise an AssertionError unless all scores are exact up to rounding."""
    allowed = allowed_difference(references, multiple)
    for values, reference in zip(found, references, strict=True):
        np.testing.assert_allclose(values, reference.exact, rtol=0, atol=allowed)


def assert_as_exact(found: np.ndarray, plain: np.ndarray, exact: np.ndarray, multiple: float = MULTIPLE) -> None:
    """Raise an AssertionError unless values are as near the exact ones as plain values are, up to a multiple.

    For many values at once: the greatest error of the plain ones is the unit.
    """
    allowed = multiple * max(float(np.abs(plain - exact).max()), EPSILON * float(np.abs(exact).max()))
    np.testing.assert_allclose(found, exact, rtol=0, atol=allowed)


def score_tolerance(model: PreTrainedModel, tokens: int = 8, multiple: float = PAIR) -> float:
    """Return the allowed difference between two scores of the same text in float32, of up to so many tokens.

    It is measured on random texts, for comparisons whose own texts are not at hand.
    """
    double = double_copy(model)
    random = np.random.default_rng(0)
    vocabulary = model.get_input_embeddings().weight.shape[0]
    unit = 0.0
    for row in random.integers(0, vocabulary, (4, 24)).tolist():
        plain, exact = (naive_log_probabilities(each, row, 1) for each in (model, double))
        rounding = float((plain - exact).abs().amax(-1).mean())
        unit = max(unit, rounding, EPSILON * float(exact.abs().max()))
    return multiple * tokens * unit


def assert_same_states(found: np.ndarray, plain: np.ndarray, exact: np.ndarray, multiple: float = MULTIPLE) -> None:
    """Raise an AssertionError unless hidden states are exact up to rounding, relative to their lengths.

    Args:
        found, plain: in float32, shape (…, hidden size).
        exact: those of plain forward passes of the same model in float64.
    """
    allowed = multiple * max(relative_error(plain, exact), EPSILON)
    assert relative_error(found, exact) <= allowed, f"{relative_error(found, exact):.1e}, {allowed:.1e} allowed"


def relative_error(found: np.ndarray, wanted: np.ndarray) -> float:
    """Return the greatest length of a difference, relative to that of the wanted vector."""
    return float((np.linalg.norm(found - wanted, axis=-1) / np.linalg.norm(wanted, axis=-1)).max())
