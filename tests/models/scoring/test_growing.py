"""Trees that grow turn by turn have the values of whole trees, and every node goes through the model once."""

import functools
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
import torch

from kgprobe.models.scoring.batching import BatchLimits
from kgprobe.models.scoring.incremental_trees import GrowingTrees
from kgprobe.models.scoring.projection import find_likely_part, find_projection
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import Tree, build_tree
from tests.cases import slow_except
from tests.models.exactness import score_tolerance
from tests.models.tiny import ARCHITECTURES, byte_level, random_model

VOCABULARY = 380
# As large as one has to be for a part of it to save anything.
LARGE = 1 << 13
PACKED = sorted(set(ARCHITECTURES) - {"bloom", "opt", "mamba"})


def turns(vocabulary: int, seed: int = 0, count: int = 6) -> list[list[Tree]]:
    """Return what three searches ask for turn by turn: the same trees, ever deeper; two of them begin alike."""
    random = np.random.default_rng(seed)
    shared = tuple(random.integers(0, vocabulary, 9).tolist())
    contexts = [shared, (*shared[:5], 3, 4), tuple(random.integers(0, vocabulary, 14).tolist())]
    tails = [random.integers(0, vocabulary, (40, count + 1)) for _ in contexts]
    for tail in tails:
        # So that branches part late.
        tail[:, 0] = tail[:, 0] % 3
        tail[:, 1] = tail[:, 1] % 5
    return [
        [
            build_tree(number, TokenizedPrompt(context, (len(context),) * len(its), its), range(len(its)))
            for number, (context, tail) in enumerate(zip(contexts, tails, strict=True))
            if (its := tuple(tuple(row[: turn + 1].tolist()) for row in tail[: 10 + 5 * turn]))
        ]
        for turn in range(count)
    ]


@contextmanager
def counting(model: torch.nn.Module) -> Iterator[Counter[str]]:
    """Provide how many tokens go through a model."""
    seen: Counter[str] = Counter()
    hook = model.get_input_embeddings().register_forward_hook(lambda _, given, __: seen.update(tokens=given[0].numel()))
    try:
        yield seen
    finally:
        hook.remove()


def by_prompt(told: Sequence[tuple]) -> dict[int, np.ndarray]:
    return {tree.prompt: values for tree, values, *_ in told}


@pytest.mark.parametrize("name", slow_except(PACKED, ("gpt2", "gemma3, narrow window", "gemma2, soft caps")))
def test_values_are_those_of_plain_forward_passes(name: str) -> None:
    model, tokenizer = random_model(name, VOCABULARY), byte_level()
    plain = Scorer(model, tokenizer, name="plain", methods=("plain",))
    growing = Scorer(model, tokenizer, name="packed", methods=("packed",)).growing()
    assert isinstance(growing, GrowingTrees)
    allowed = score_tolerance(model, tokens=1)
    for trees in turns(VOCABULARY, count=4):
        found, wanted = (by_prompt(list(one.edge_log_probabilities(trees))) for one in (growing, plain))
        for number, values in wanted.items():
            np.testing.assert_allclose(found[number], values, rtol=0, atol=allowed)


def test_every_node_goes_through_the_model_once() -> None:
    model = random_model("qwen3", VOCABULARY)
    growing = Scorer(model, byte_level(), name="packed").growing()
    last = turns(VOCABULARY)[-1]
    # Of the two prompts that begin alike both are new in the first turn.
    nodes = sum(len(tree.tokens) for tree in last)
    with counting(model) as seen:
        for trees in turns(VOCABULARY):
            list(growing.edge_log_probabilities(trees))
        # Rows are padded to the longest.
        assert nodes <= seen["tokens"] < 1.6 * nodes
        before = seen["tokens"]
        list(growing.edge_log_probabilities(last))
        assert seen["tokens"] == before


def test_prompt_that_begins_like_another_goes_on_from_there() -> None:
    model = random_model("llama", VOCABULARY)
    growing = Scorer(model, byte_level(), name="packed").growing()
    first, second, _ = turns(VOCABULARY)[0]
    list(growing.edge_log_probabilities([first]))
    with counting(model) as seen:
        list(growing.edge_log_probabilities([second]))
    assert seen["tokens"] == len(second.tokens) - 5


def test_what_stands_behind_something_new_is_new() -> None:
    model, tokenizer = random_model("llama", VOCABULARY), byte_level()
    plain = Scorer(model, tokenizer, name="plain", methods=("plain",))
    growing = Scorer(model, tokenizer, name="packed").growing()
    allowed = score_tolerance(model, tokens=1)
    for context in ((5, 6, 7), (9, 5, 6, 7)):
        tree = build_tree(0, TokenizedPrompt(context, (len(context),) * 2, ((1, 2), (3, 4))), range(2))
        found, wanted = (by_prompt(list(one.edge_log_probabilities([tree]))) for one in (growing, plain))
        np.testing.assert_allclose(found[0], wanted[0], rtol=0, atol=allowed)


@pytest.mark.parametrize("most", [0, 20_000, 60_000], ids=["nothing", "a turn", "some turns"])
def test_where_little_can_be_kept_values_are_the_same(most: int) -> None:
    model = random_model("gemma3, narrow window", VOCABULARY)
    scorer = Scorer(model, byte_level(), name="packed")
    growing = GrowingTrees(
        model, find_projection(model), None, BatchLimits(model.device), scorer.edge_log_probabilities, most
    )
    allowed = score_tolerance(model, tokens=1)
    for trees in turns(VOCABULARY):
        found, wanted = (by_prompt(list(one.edge_log_probabilities(trees))) for one in (growing, scorer))
        for number, values in wanted.items():
            np.testing.assert_allclose(found[number], values, rtol=0, atol=allowed)


def test_short_memory_costs_what_is_kept_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model("gpt2", VOCABULARY)
    scorer = Scorer(model, byte_level(), name="packed")
    growing = scorer.growing()
    allowed = score_tolerance(model, tokens=1)
    calls = Counter()
    forward = type(model.base_model).forward

    # With the signature of the original, by which the scorer names the cache.
    @functools.wraps(forward)
    def sometimes_short(self, *args, **options):
        calls["all"] += 1
        if calls["all"] == 3:
            raise torch.OutOfMemoryError
        return forward(self, *args, **options)

    wanted = [by_prompt(scorer.edge_log_probabilities(trees)) for trees in turns(VOCABULARY)]
    monkeypatch.setattr(type(model.base_model), "forward", sometimes_short)
    for trees, its in zip(turns(VOCABULARY), wanted, strict=True):
        found = by_prompt(list(growing.edge_log_probabilities(trees)))
        for number, values in its.items():
            np.testing.assert_allclose(found[number], values, rtol=0, atol=allowed)
    assert calls["all"] > 3


@pytest.mark.parametrize("name", ["gpt2", "gemma2, soft caps", "cohere, scaled logits"])
def test_bounds_are_bounds_and_near_where_a_model_is_sure(name: str) -> None:
    model, tokenizer = random_model(name, LARGE), byte_level()
    with torch.no_grad():
        # A model that says few of all tokens at all.
        model.get_output_embeddings().weight[LARGE // 20 :] *= 0.1
    scorer = Scorer(model, tokenizer, name="packed", methods=("packed",))
    growing = scorer.growing()
    allowed = score_tolerance(model, tokens=1)
    exactly = []
    for trees in turns(LARGE):
        wanted = by_prompt(scorer.edge_log_probabilities(trees))
        told = list(growing.edge_bounds(trees))
        exactly += [exact for *_, exact in told]
        for number, values in by_prompt(told).items():
            assert (values >= wanted[number] - allowed).all()
            assert (values <= 0).all()
            if told[0][2]:
                np.testing.assert_allclose(values, wanted[number], rtol=0, atol=allowed)
        asked = by_prompt(list(growing.edge_log_probabilities(trees)))
        for number, values in wanted.items():
            np.testing.assert_allclose(asked[number], values, rtol=0, atol=allowed)
    # First it is learnt what is likely.
    assert exactly[0]
    assert not exactly[-1]


def test_bounds_are_of_the_weights_as_they_are() -> None:
    model = random_model("gpt2", LARGE)
    scorer = Scorer(model, byte_level(), name="tuned")
    for trees in turns(LARGE):
        list(scorer.growing().edge_bounds(trees))
    with torch.no_grad():
        model.get_output_embeddings().weight.mul_(0.1)
    assert scorer.refresh()
    allowed = score_tolerance(model, tokens=1)
    for trees in turns(LARGE):
        wanted = by_prompt(scorer.edge_log_probabilities(trees))
        told = list(scorer.growing().edge_bounds(trees))
        assert all((values >= wanted[number] - allowed).all() for number, values in by_prompt(told).items())
    assert not told[0][2]


def test_likely_part_is_what_is_most_probable() -> None:
    model = random_model("gpt2", LARGE)
    projection = find_projection(model)
    likely = find_likely_part(model, projection)
    hidden = torch.randn(200, 32, generator=torch.Generator().manual_seed(1))
    likely.learn(hidden[:100], 1 << 16)
    assert likely.part is None
    likely.learn(hidden[100:], 1 << 16)
    probabilities = (hidden[:128] @ projection.weight.T).softmax(-1).mean(0)
    best = probabilities.topk(LARGE // 16).indices.sort().values
    assert torch.equal(likely.part.weight, projection.weight[best])


@pytest.mark.parametrize(
    ("vocabulary", "options", "dtype"),
    [
        (VOCABULARY, {}, torch.float32),
        (LARGE, {"n_embd": 256, "n_layer": 12}, torch.float32),
        (LARGE, {}, torch.bfloat16),
    ],
    ids=["small vocabulary", "large body", "half precision"],
)
def test_bounds_are_absent_for_useless_parts_or_rough_sums(vocabulary, options, dtype) -> None:
    model = random_model("gpt2", vocabulary, **options).to(dtype)
    assert find_likely_part(model, find_projection(model)) is None


def test_models_that_are_not_packed_are_asked_anew_every_turn() -> None:
    model = random_model("bloom", VOCABULARY)
    scorer = Scorer(model, byte_level(), name="bloom")
    growing = scorer.growing()
    trees = turns(VOCABULARY)[2]
    allowed = score_tolerance(model, tokens=1)
    wanted = by_prompt(scorer.edge_log_probabilities(trees))
    for tree, values, exact in growing.edge_bounds(trees):
        assert exact
        np.testing.assert_allclose(values, wanted[tree.prompt], rtol=0, atol=allowed)
