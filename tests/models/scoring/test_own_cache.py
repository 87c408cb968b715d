"""Copies of a model's own cache: each node once, the prefix unchanged, states counted as memory."""

import numpy as np
import pytest
import torch

from kgprobe.models.scoring.batching import Prefixes
from kgprobe.models.scoring.body import body_of, last_states
from kgprobe.models.scoring.forward import extend, length_of, run_method, size_of
from kgprobe.models.scoring.own_cache import measure_row
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.scoring.tokens import TokenizedPrompt
from kgprobe.models.scoring.trie import Tree, build_tree, merge
from kgprobe.models.states.reader import StateReader
from tests.models.architectures import MODERN
from tests.models.scoring.test_growing import counting
from tests.models.tiny import byte_level, random_model

VOCABULARY = 380
ARCHITECTURES = {one.model: one for one in MODERN}
CONTEXT = tuple(range(20, 44))
TAILS = ((1, 2, 3), (1, 2, 4), (5, 6, 7, 8, 9, 10, 11), (5, 6, 12), (13,))


@pytest.fixture(scope="module")
def hybrids():
    return {name: ARCHITECTURES[name].build(VOCABULARY) for name in ("Lfm2ForCausalLM", "NemotronHForCausalLM")}


def tree_of(number: int, context: tuple[int, ...], tails: tuple[tuple[int, ...], ...] = TAILS) -> Tree:
    return build_tree(number, TokenizedPrompt(context, (len(context),) * len(tails), tails), range(len(tails)))


def plain(model: torch.nn.Module, tree: Tree) -> torch.Tensor:
    """Return the last hidden state of each edge's source."""
    rows = [tree.tokens[tree.path(int(source))] for source in tree.sources]
    return torch.stack([last_states(model, row[None], None)[0, -1] for row in rows])


@pytest.mark.parametrize(("name", "method"), [("Lfm2ForCausalLM", "steps"), ("NemotronHForCausalLM", "copies")])
@torch.inference_mode()
def test_run_method_after_prefix_equals_plain_passes(name, method, hybrids):
    model = hybrids[name]
    # Contexts of different lengths: the rows of one branch while those of the other do not yet.
    trees = [tree_of(0, CONTEXT), tree_of(1, (*CONTEXT[:20], 3, 4, 5, 6, 7, 8, 9)), tree_of(2, CONTEXT, ((7,),))]
    forests = [merge([tree], 20) for tree in trees]
    prefix = extend(model, method, extend(model, method, None, np.array(CONTEXT[:9]), 5), np.array(CONTEXT[9:20]), 64)
    assert length_of(prefix) == 20
    for _ in range(2):
        states, sources = run_method(model, method, forests, prefix)
        wanted = torch.cat([plain(model, tree) for tree in trees])
        torch.testing.assert_close(states[sources], wanted, rtol=0, atol=1e-4)


@torch.inference_mode()
def test_steps_compute_each_node_once(hybrids):
    model = hybrids["Lfm2ForCausalLM"]
    forest = merge([tree_of(0, CONTEXT, TAILS[:2] + TAILS[3:])], 0)
    with counting(model) as seen:
        run_method(model, "steps", [forest], None)
    assert seen["tokens"] == len(forest.tokens)


def test_prefixes_count_states_and_keys(hybrids):
    model = hybrids["NemotronHForCausalLM"]
    with torch.inference_mode():
        prefixes = Prefixes(model.device)
        prefix = prefixes.get(np.array(CONTEXT), lambda: extend(model, "copies", None, np.array(CONTEXT), 64))
        row = measure_row(model)
    # The keys and values of one attention layer: two heads of width 8, in float32.
    assert row.each == 2 * 2 * 8 * 4
    # The states of two recurrent layers: eight heads of 8 x 8, and more for their convolutions.
    assert row.fixed > 2 * 8 * 8 * 8 * 4
    assert prefixes.taken == size_of(prefix) == row.of(len(CONTEXT))


def test_search_keeps_the_beginning_of_all_prompts(hybrids):
    model = hybrids["Lfm2ForCausalLM"]
    scorer = Scorer(model, byte_level(), name="lfm2")
    growing = scorer.growing()
    trees = [tree_of(0, (*CONTEXT, 1)), tree_of(1, (*CONTEXT, 2))]
    wanted = dict(
        enumerate(values for _, values in sorted(scorer.edge_log_probabilities(trees), key=lambda e: e[0].prompt))
    )
    list(growing.edge_log_probabilities(trees))
    with counting(model) as seen:
        for tree, values, exact in growing.edge_bounds(trees):
            assert exact
            np.testing.assert_allclose(values, wanted[tree.prompt], rtol=0, atol=1e-4)
    # The padding of the last turn aside, nothing before the last token of the contexts.
    assert seen["tokens"] <= 2 * sum(len(tree.tokens) - len(CONTEXT) for tree in trees)


def test_body_of_llama4_is_its_decoder():
    model = ARCHITECTURES["Llama4ForCausalLM"].build(VOCABULARY)
    assert model.base_model is model
    assert body_of(model) is model.model
    usual = random_model("llama", VOCABULARY)
    assert body_of(usual) is usual.base_model


@pytest.mark.parametrize("name", ["Lfm2ForCausalLM", "NemotronHForCausalLM", "Llama4ForCausalLM"])
def test_hidden_states_equal_plain_passes(name):
    model = ARCHITECTURES[name].build(VOCABULARY)
    scorer = Scorer(model, byte_level(), name=name)
    texts = ["Kyoto is", "Kyoto is the capital", "Kyoto was the capital of Japan", "York"]
    beginning = "The capital of Japan is Tokyo. "
    states = StateReader(scorer, [1, 2]).read(texts, beginning=beginning)
    for text, values in zip(texts, states.values, strict=True):
        ids = torch.tensor([scorer.tokenizer(beginning + text).input_ids])
        with torch.inference_mode():
            hidden = body_of(model)(input_ids=ids, output_hidden_states=True).hidden_states
        wanted = torch.stack([hidden[1][0, -1], hidden[2][0, -1]]).numpy()
        np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-3)
