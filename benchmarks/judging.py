"""``python -m benchmarks.judging``: cost of reading the hidden states of statements, with a negative for each fact.

Compared with the necessary matrix products for these tokens; with the hidden states of `transformers`, in batches of
whole prompts sorted by length; and with answers in words, which a judge replaces.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import click
import numpy as np

from benchmarks.report import Report, Row, describe_machine, show, versions_of
from benchmarks.scoring.cases import Example, read_example
from benchmarks.scoring.limit import Products, time_products, work_of
from benchmarks.scoring.shapes import SHAPES, random_scorer
from kgprobe.cli.options import json_option, seed_option
from kgprobe.models.scoring.tokens import TokenizedPrompt, encode
from kgprobe.models.states.reader import StateReader, layer_count
from kgprobe.probes.true_false import INSTRUCTION, STATEMENT

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

REPEATS = 3
BEFORE, AFTER = INSTRUCTION.split(STATEMENT)
# Share of the model's depth at which answers are usually readable.
DEPTH = 0.6
# Number of statements for a peer.
THEIRS, SPOKEN = 256, 64
BATCH = 32


def statements(example: Example, seed: int) -> Iterator[str]:
    """Return the example's facts in the order of their subjects, each as a statement and with another object."""
    random = np.random.default_rng(seed)
    objects: dict[str, list[str]] = {}
    for fact in example.facts:
        objects.setdefault(fact.relation, []).append(fact.object)
    for fact in sorted(example.facts, key=lambda fact: fact.subject):
        relation = example.relations[fact.relation]
        templates = relation.statements or tuple(f"{cloze}." for cloze in relation.clozes)
        if templates:
            template = templates[int(random.integers(len(templates)))]
            other = objects[fact.relation][int(random.integers(len(objects[fact.relation])))]
            for object_ in (fact.object, other):
                text = template.replace("[X]", example.label(fact.subject)).replace("[Y]", example.label(object_))
                yield f"{text}{AFTER}"


def measure(scorer: "Scorer", texts: Sequence[str], layer: int, peers: bool) -> list[Row]:
    """Return the rows of reading one layer of all texts, with the limit and the peers."""
    reader = StateReader(scorer, [layer])
    reader.read(texts[:64], beginning=BEFORE)
    before = time_products(scorer.model, REPEATS)
    clock = time.perf_counter()
    states = reader.read(texts, beginning=BEFORE).values
    ours = time.perf_counter() - clock
    clock = time.perf_counter()
    tokens = encode(scorer.tokenizer, [BEFORE + text for text in texts])
    tokenizing = time.perf_counter() - clock
    after = time_products(scorer.model, REPEATS)
    products = Products(
        min(before.node, after.node), min(before.position, after.position), max(before.rate, after.rate)
    )
    leading = scorer.leading
    chains = [
        TokenizedPrompt((*leading, *tokens_of_text), (len(leading) + len(tokens_of_text),), ((0,),))
        for tokens_of_text in tokens
    ]
    work = work_of(scorer.model, chains)
    # Neither the vocabulary nor the layers above.
    limit = (work.nodes * products.node + work.attention / products.rate) * layer / layer_count(scorer.model)
    case = f"layer {layer} of {layer_count(scorer.model)}"
    rows = [
        Row(case, "statements", len(texts), ""),
        Row(case, "tokens of prompts", sum(map(len, tokens)) + len(leading) * len(texts), ""),
        Row(case, "tokens of the trie", work.nodes, ""),
        Row(case, "rate of the linear layers' products", products.rate / 1e9, "GFLOP/s"),
        Row(case, "arithmetic limit", limit, "s"),
        Row(case, "share of the arithmetic limit", 100 * limit / ours, "%"),
        Row(case, "time", ours, "s"),
        Row(case, "of it tokenization", tokenizing, "s"),
        Row(case, "statements a second", len(texts) / ours, "/s"),
        Row(case, "facts a second, each with a negative", len(texts) / ours / 2, "/s"),
    ]
    if peers:
        rows += [_hidden_states(scorer, texts, states, layer, case, ours), _words(scorer, texts, case, ours)]
    return rows


def _hidden_states(
    scorer: "Scorer",
    texts: Sequence[str],
    states: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]",
    layer: int,
    case: str,
    ours: float,
) -> Row:
    import torch

    places = np.random.default_rng(0).permutation(len(texts))[:THEIRS]
    tokens = [[*scorer.leading, *ids] for ids in encode(scorer.tokenizer, [BEFORE + texts[place] for place in places])]
    order = sorted(range(len(tokens)), key=lambda place: len(tokens[place]))
    read = np.empty((len(tokens), states.shape[2]), dtype=np.float32)
    device = scorer.model.device
    clock = time.perf_counter()
    with torch.inference_mode():
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            longest = len(tokens[batch[-1]])
            ids = torch.tensor([tokens[place] + [0] * (longest - len(tokens[place])) for place in batch])
            mask = torch.tensor([[1] * len(tokens[place]) + [0] * (longest - len(tokens[place])) for place in batch])
            output = scorer.model.base_model(
                input_ids=ids.to(device), attention_mask=mask.to(device), output_hidden_states=True, use_cache=False
            ).hidden_states[layer]
            ends = torch.tensor([len(tokens[place]) - 1 for place in batch], device=device)
            read[batch] = output[torch.arange(len(batch), device=device), ends].float().cpu().numpy()
    seconds = (time.perf_counter() - clock) * len(texts) / len(places)
    own = states[places, 0]
    difference = np.linalg.norm(own - read, axis=1) / np.linalg.norm(read, axis=1)
    return Row(
        case,
        f"time, the peer's scaled from {len(places)} statements; difference relative to a state's length",
        ours,
        "s",
        peer="transformers, output_hidden_states",
        peer_value=seconds,
        less_is_better=True,
        max_difference=float(difference.max()),
    )


def _words(scorer: "Scorer", texts: Sequence[str], case: str, ours: float) -> Row:
    from kgprobe.models.generating.generator import Request
    from kgprobe.models.generating.local import LocalGenerator

    places = np.random.default_rng(1).permutation(len(texts))[:SPOKEN]
    requests = [Request(BEFORE + texts[place], max_tokens=16, continuation=False) for place in places]
    clock = time.perf_counter()
    LocalGenerator(scorer).answer(requests)
    seconds = (time.perf_counter() - clock) * len(texts) / len(places)
    return Row(
        case,
        f"time, the peer's scaled from {len(places)} statements",
        ours,
        "s",
        peer="answers in words, each once",
        peer_value=seconds,
        less_is_better=True,
    )


@click.command(context_settings={"max_content_width": 100})
@click.option("--statements", "count", type=click.IntRange(min=256), default=2048, show_default=True)
@click.option("--layer", type=click.IntRange(min=1), help="Layer to read.  [default: at 60% of the depth]")
@click.option("--shape", type=click.Choice(tuple(SHAPES)), help="Use random weights of this shape.")
@click.option("--alone", is_flag=True, help="Without peers.")
@click.option("--device", default="cpu", show_default=True, help="Torch device.")
@click.option("--dtype", default="float32", show_default=True, help="Precision: float32, bfloat16 or float16.")
@seed_option
@json_option
def main(
    count: int, layer: int | None, shape: str | None, alone: bool, device: str, dtype: str, seed: int, as_json: bool
) -> None:
    """Measure reading the hidden states of statements."""
    from kgprobe.models.spec import load_scorer

    example = read_example()
    machine = {**describe_machine(), "load": round(os.getloadavg()[0], 2)}
    if shape is None:
        scorer = load_scorer("demo", device=device, dtype=dtype)
    else:
        scorer = random_scorer(shape, example, device, dtype, seed)
    for name, text in scorer.explain():
        print(f"{name}: {text}", file=sys.stderr)
    texts = list(islice(statements(example, seed), count))
    chosen = round(DEPTH * layer_count(scorer.model)) if layer is None else layer
    rows = measure(scorer, texts, chosen, peers=not alone)
    show(Report("judging", rows, seed, versions_of("torch", "transformers"), machine), as_json=as_json)


if __name__ == "__main__":
    main()
