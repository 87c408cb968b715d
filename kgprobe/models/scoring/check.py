"""Which way through a model is exact, found out on the model itself.

A wrong probability is worse than a crash, and names of architectures are no proof: whether a model respects masks and
positions from outside depends on its code and its configuration. So a few small trees go through each way, the
fastest first, and through plain forward passes, and the first way that agrees is taken. Hidden states are compared
too, since a model that is sure of nothing gives nearly the same probabilities whatever it attends to.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from kgprobe.errors import KgprobeError
from kgprobe.models.scoring.forward import LONGEST_ROW, Way, extend, plain_log_probabilities, run_way
from kgprobe.models.scoring.node_cache import KeptNodes, NewNodes, take_in
from kgprobe.models.scoring.projection import VocabularyProjection, find_projection
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import Integers, Nodes, Tree, build_tree, merge

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WAYS: tuple[Way, ...] = ("packed", "branches", "rows", "plain")
WAY_MEANINGS: dict[Way, str] = {
    "packed": "all continuations of a prompt, and of similar prompts, in one row",
    "branches": "every continuation a row, behind what prompts begin with in common",
    "rows": "every continuation a row, with its whole prompt",
    "plain": "one continuation at a time",
}
# Greatest error of a log-probability, and of a hidden state relative to its length. What is lost by rounding alone
# stays below this, also for the improbable tokens that are checked, whose logits are large; wrong positions cost
# Gemma 3 in bfloat16 ten times as much.
_TOLERANCE = {torch.float32: (1e-3, 1e-4), torch.bfloat16: (1.0, 0.1), torch.float16: (0.2, 0.03)}
_CHECKED_WINDOW = 3
_LOGITS_AT_ONCE = 1 << 20
# Nodes of a branch in a row that is checked at full length.
_WIDE_BRANCH = 8
# Kinds of rotary positions that are others for all tokens as soon as a sequence is longer than those of training.
_CHANGING = ("longrope", "dynamic")


@dataclass(frozen=True, slots=True)
class Choice:
    """The way to go through a model.

    Attributes:
        way: the one that was taken.
        projection: to go with it; None for ``plain``, which needs none.
        findings: for each way that was tried, in order, what came of it.
    """

    way: Way
    projection: VocabularyProjection | None
    findings: tuple[tuple[Way, str], ...]


# Gives hidden states, and where the state of each edge's source is.
_Arrangement: TypeAlias = "Callable[[], tuple[torch.Tensor, Integers]]"


def choose_way(model: "PreTrainedModel", ways: tuple[Way, ...] = WAYS) -> Choice:
    """The first of these ways that gives the same numbers as plain forward passes.

    Args:
        model: a causal language model.
        ways: the candidates, fastest first.

    Raises:
        KgprobeError: not even ``plain`` is among the ways and none of the others agrees.
    """
    projection = find_projection(model)
    findings: list[tuple[Way, str]] = []
    for way in ways:
        if way == "plain":
            return Choice(way, None, (*findings, (way, "needs no check: the model's own forward passes and logits")))
        if projection is None:
            findings.append((way, "not tried: the model's output layer is no linear one"))
            continue
        agrees, finding = _try(model, projection, way)
        findings.append((way, finding))
        if agrees:
            return Choice(way, projection, tuple(findings))
    reasons = "; ".join(f"{way}: {finding}" for way, finding in findings)
    raise KgprobeError(f"None of the given ways agrees with this model's plain forward passes. {reasons}.")


def _try(model: "PreTrainedModel", projection: VocabularyProjection, way: Way) -> tuple[bool, str]:
    """Whether a way is exact for a model, and how one knows."""
    trees = _trees(model)
    errors = np.zeros(2)
    try:
        with _narrow_window(model) as narrowed:
            if narrowed:
                errors = np.maximum(errors, _errors(model, projection, _arrangements(model, way, trees), trees))
        usual = chain(_arrangements(model, way, trees), _wide_arrangement(model, way, trees))
        errors = np.maximum(errors, _errors(model, projection, usual, trees))
    # Whatever a model's code does with arguments it was not made for: this is not a way to go.
    except (RuntimeError, ValueError, TypeError, KeyError, IndexError, AttributeError, NotImplementedError) as error:
        text = (str(error).strip() or "no message").splitlines()[0]
        return False, f"the model's code fails: {type(error).__name__}: {text}"
    allowed = _TOLERANCE[model.dtype]
    # A comparison with "not a number" is false, as it should be here.
    agrees = bool((errors <= allowed).all())
    return agrees, (
        f"{'agrees with' if agrees else 'differs from'} plain forward passes: log-probabilities by up to"
        f" {errors[0]:.1e} ({allowed[0]:.0e} allowed), hidden states by up to {errors[1]:.1e} of their length"
        f" ({allowed[1]:.0e} allowed)"
    )


def _errors(
    model: "PreTrainedModel",
    projection: VocabularyProjection,
    arrangements: Iterable[_Arrangement],
    trees: Sequence[Tree],
) -> tuple[float, float]:
    """The greatest error of a log-probability, and of a hidden state relative to its length.

    Args:
        model, projection: what is checked.
        arrangements: their last edges are those of the trees.
        trees: what is compared with plain forward passes.
    """
    targets = np.concatenate([tree.targets for tree in trees])
    expected_states = torch.cat([_plain_states(model, tree)[tree.sources] for tree in trees])
    expected = torch.cat([plain_log_probabilities(model, tree) for tree in trees])
    error = state_error = 0.0
    for arrangement in arrangements:
        states, sources = arrangement()
        own = states[torch.from_numpy(sources[-len(targets) :]).to(states.device)]
        found = projection.log_probabilities(own, np.arange(len(targets)), targets, _LOGITS_AT_ONCE)
        difference = (own - expected_states).float().norm(dim=1) / expected_states.float().norm(dim=1)
        # Unlike Python's own, torch's maximum is "not a number" where there is one.
        error = float(np.fmax(error, np.nan_to_num((found - expected).abs().max().item(), nan=np.inf)))
        state_error = float(np.fmax(state_error, np.nan_to_num(difference.max().item(), nan=np.inf)))
    return error, state_error


def _arrangements(model: "PreTrainedModel", way: Way, trees: Sequence[Tree]) -> Iterator[_Arrangement]:
    """The trees each by itself, in one row, behind their own beginnings, and behind a prefix made in pieces."""
    yield partial(run_way, model, way, [merge([tree], 0) for tree in trees], None)
    if way == "packed":
        yield partial(run_way, model, way, [merge(trees, 0)], None)
        yield partial(_grown, model, trees)
    if way != "rows":
        shared = trees[0].chain - 1
        first = extend(model, None, trees[0].tokens[:2], at_once=2)
        prefix = extend(model, first, trees[0].tokens[2:shared], at_once=2)
        yield partial(run_way, model, way, [merge([tree], shared) for tree in trees], prefix)


def _grown(model: "PreTrainedModel", trees: Sequence[Tree]) -> tuple[torch.Tensor, Integers]:
    """The trees in two turns, of different sizes in each, beside each other and then in one row."""
    kept = KeptNodes()
    stumps = [
        Nodes(*(of[: tree.chain + n] for of in (tree.tokens, tree.parents, tree.depths)))
        for n, tree in enumerate(trees)
    ]
    take_in(model, kept, [[NewNodes(stump, kept.find(stump))] for stump in stumps])
    places = take_in(model, kept, [[NewNodes(tree, kept.find(tree)) for tree in trees]])
    return kept.states(np.arange(kept.places)), np.concatenate(
        [own[tree.sources] for tree, own in zip(trees, places, strict=True)]
    )


def _wide_arrangement(model: "PreTrainedModel", way: Way, trees: Sequence[Tree]) -> Iterator[_Arrangement]:
    """The trees at the end of a row of full length, begun far in front, and before that what has nothing in common.

    A model may take the places in a row for those in a text in spite of all masks and positions: where a text begins,
    or how far back it looks, which may be so far that small trees don't show it.
    """
    if way == "packed":
        random = np.random.default_rng(1)
        shape = (LONGEST_ROW // _WIDE_BRANCH, _WIDE_BRANCH + 1)
        tails = tuple(tuple(tail) for tail in random.integers(0, _vocabulary(model), shape).tolist())
        context = tuple(trees[0].tokens[: trees[0].chain].tolist())
        apart, between = (
            build_tree(len(trees), TokenizedPrompt(before, (len(before),) * len(its), its), range(len(its)))
            for before, its in ((context[::-1], tails[:1]), (context, tails))
        )
        yield partial(run_way, model, way, [merge([apart, between, *trees], 0)], None)


def longest_text(model: "PreTrainedModel") -> int | None:
    """How many tokens a model can take in at once, always with the same positions; None where there is no limit.

    Some models have other rotary positions for all tokens as soon as a text is longer than those they were first
    trained on. Then what it gives to a text would depend on what stands behind it, or beside it in a batch.
    """
    config = model.config.get_text_config()
    most = getattr(config, "max_position_embeddings", None)
    rotary = getattr(config, "rope_parameters", None) or {}
    # Some models have them for each kind of layer.
    kinds = [kind for kind in (rotary, *rotary.values()) if isinstance(kind, dict)]
    changing = [kind for kind in kinds if str(kind.get("rope_type", "")).startswith(_CHANGING)]
    named = "original_max_position_embeddings"
    bounds = [kind.get(named) or getattr(config, named, None) for kind in changing]
    return min((int(bound) for bound in (most, *bounds) if bound is not None), default=None)


def _vocabulary(model: "PreTrainedModel") -> int:
    embeddings: Any = model.get_input_embeddings()
    return int(embeddings.weight.shape[0])


def _plain_states(model: "PreTrainedModel", tree: Tree) -> torch.Tensor:
    """The last hidden states of a tree's nodes by plain forward passes, shape (nodes, hidden size)."""
    found: dict[int, torch.Tensor] = {}
    for leaf in tree.leaves():
        nodes = tree.path(leaf)
        tokens = torch.from_numpy(tree.tokens[nodes][None]).to(model.device)
        found.update(zip(nodes, model.base_model(input_ids=tokens, use_cache=False).last_hidden_state[0], strict=True))
    return torch.stack([found[node] for node in range(len(tree.tokens))])


def _trees(model: "PreTrainedModel") -> list[Tree]:
    """Two trees of different sizes that share their first tokens, with branches at several depths."""
    random = np.random.default_rng(0)
    tokens = [int(token) for token in random.integers(0, _vocabulary(model), 24)]
    context = tuple(tokens[:6])
    first = tuple(tuple(tokens[index] for index in tail) for tail in ((6, 7, 8, 9), (6, 7, 10), (11, 12, 13, 14, 15)))
    second = tuple(tuple(tokens[index] for index in tail) for tail in ((16, 17), (18, 19, 20)))
    prompts = (
        TokenizedPrompt(context, (6,) * len(first), first),
        TokenizedPrompt((*context, tokens[21], tokens[22]), (8,) * len(second), second),
    )
    return [build_tree(number, prompt, range(len(prompt.tails))) for number, prompt in enumerate(prompts)]


@contextmanager
def _narrow_window(model: "PreTrainedModel") -> Iterator[bool]:
    """Gives a model with a sliding window one that small trees reach beyond; yields whether it has any."""
    config = model.config.get_text_config()
    window = getattr(config, "sliding_window", None)
    if window is None:
        yield False
        return
    config.sliding_window = _CHECKED_WINDOW
    try:
        yield True
    finally:
        config.sliding_window = window
