"""``python -m benchmarks.gpu``: everything that a GPU has to show, in one command of a few minutes.

Random weights in the shapes of Qwen3-0.6B and of a model of two billion parameters, made on the device, so neither
files nor a network are needed:

- ``exactness``: log-probabilities in float32 and bfloat16, compared with plain float32 passes of one continuation each;
- ``names``: facts with 200 distractors, all names of each scored with EOS;
- ``items``: prompts of 300 random tokens that share nothing, each with two answers of a token;
- ``statements``: hidden states of statements, each after an instruction, at 60% of the depth of the 2B shape.

Rates are those of the fastest of three runs, after one run that finds the batch size. The share of the peak is relative
to the time of the same matrix products alone on this device, see :mod:`benchmarks.scoring`.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from benchmarks.judging import BEFORE, DEPTH, statements
from benchmarks.report import Report, Row, describe_machine, show, versions_of
from benchmarks.scoring.cases import Example, distractors_case, read_example
from benchmarks.scoring.limit import Work, time_products, work_of
from benchmarks.scoring.shapes import random_scorer
from kgprobe.cli.options import json_option, seed_option
from kgprobe.models.scoring.tokens import TokenizedPrompt, encode
from kgprobe.models.states.reader import StateReader, layer_count

if TYPE_CHECKING:
    import torch

    from kgprobe.models.scoring.scorer import Scorer

REPEATS = 3
# Aims on an H100; for statements on an H200.
SHARE, ITEMS, STATEMENTS, ERROR = 60.0, 2200.0, 10_000.0, 1e-4


@dataclass(frozen=True, slots=True)
class Sizes:
    """Amounts of work.

    Attributes:
        shapes: of the small and of the large model, see :mod:`benchmarks.scoring.shapes`.
        compared: number of facts for exactness, and of distractors of each.
        facts: number of facts with all their distractors' names.
        items, tokens: number of items, and tokens of each.
        statements: number of statements.
    """

    shapes: tuple[str, str] = ("0.6b", "2b")
    compared: tuple[int, int] = (8, 20)
    facts: int = 50
    items: int = 4096
    tokens: int = 300
    statements: int = 8192


TINY = Sizes(("smallest", "smallest"), compared=(2, 3), facts=1, items=4, tokens=20, statements=32)


def exactness(example: Example, device: str, seed: int, sizes: Sizes) -> list[Row]:
    """Return the differences of log-probabilities from plain float32 passes, in float32 and in bfloat16."""
    case = distractors_case(example, seed).part(*sizes.compared)
    expected, rows = np.empty(0), []
    for dtype in ("float32", "bfloat16"):
        scorer = random_scorer(sizes.shapes[0], example, device, "float32", seed)
        if dtype == "float32":
            plain = type(scorer)(scorer.model, scorer.tokenizer, name="plain", bos=True, methods=("plain",))
            expected = _values(plain, case.prompts, case.continuations)
        else:
            # The same weights, rounded.
            scorer = type(scorer)(scorer.model.bfloat16(), scorer.tokenizer, name="bfloat16", bos=True)
        difference = np.abs(_values(scorer, case.prompts, case.continuations) - expected)
        rows += [
            Row(
                "exactness",
                f"{dtype} ({scorer.choice.method}), largest of {len(expected)}",
                float(difference.max()),
                "nats",
            ),
            Row("exactness", f"{dtype}, mean", float(difference.mean()), "nats"),
        ]
        del scorer
        _free(device)
    rows[0] = _with_aim(rows[0], ERROR, less=True)
    return rows


def names(scorer: "Scorer", example: Example, seed: int, sizes: Sizes) -> list[Row]:
    """Return the rate of scoring all names of distractors."""
    case = distractors_case(example, seed).part(sizes.facts)
    tokenized = scorer.tokenize(case.prompts, case.continuations, eos=True)
    return _rates(
        scorer, "names", case.size, lambda: scorer.score_tokenized(tokenized), work_of(scorer.model, tokenized)
    )


def items(scorer: "Scorer", seed: int, sizes: Sizes) -> list[Row]:
    """Return the rate of scoring two answers of one token after random prompts."""
    random = np.random.default_rng(seed)
    embeddings: Any = scorer.model.get_input_embeddings()
    vocabulary = embeddings.weight.shape[0]
    prompts = [
        TokenizedPrompt(tuple(tokens[2:]), (sizes.tokens,) * 2, ((tokens[0],), (tokens[1],)))
        for tokens in random.integers(0, vocabulary, (sizes.items, sizes.tokens + 2)).tolist()
    ]
    return _rates(
        scorer,
        f"items of {sizes.tokens} tokens",
        sizes.items,
        lambda: scorer.score_tokenized(prompts),
        work_of(scorer.model, prompts),
        aim=ITEMS,
    )


def read_statements(scorer: "Scorer", example: Example, seed: int, sizes: Sizes) -> list[Row]:
    """Return the rate of reading hidden states of statements."""
    texts = list(islice(statements(example, seed), sizes.statements))
    layer = round(DEPTH * layer_count(scorer.model))
    reader = StateReader(scorer, [layer])
    leading = scorer.leading
    chains = [
        TokenizedPrompt((*leading, *ids), (len(leading) + len(ids),), ((0,),))
        for ids in encode(scorer.tokenizer, [BEFORE + text for text in texts])
    ]
    work, share = work_of(scorer.model, chains), layer / layer_count(scorer.model)
    # Neither the vocabulary nor the layers above.
    part = Work(round(work.nodes * share), 0, work.attention * share)
    return _rates(scorer, "statements", len(texts), lambda: reader.read(texts, beginning=BEFORE), part, aim=STATEMENTS)


def _rates(
    scorer: "Scorer", case: str, amount: int, compute: Callable[[], object], work: Work, aim: float | None = None
) -> list[Row]:
    """Time a computation and its necessary products; return their rows."""
    # Batch sizes grow in the first run.
    compute()
    _synchronize(scorer.model.device)
    seconds = np.inf
    for _ in range(REPEATS):
        scorer.forget()
        clock = time.perf_counter()
        compute()
        _synchronize(scorer.model.device)
        seconds = min(seconds, time.perf_counter() - clock)
    products = time_products(scorer.model, REPEATS)
    share = 100 * products.seconds(work) / seconds
    rate = Row(case, f"{case} a second", amount / seconds, "/s")
    return [
        Row(case, case, amount, ""),
        Row(case, "time", seconds, "s"),
        rate if aim is None else _with_aim(rate, aim),
        Row(case, "rate of the linear layers' products", products.rate / 1e12, "TFLOP/s"),
        _with_aim(Row(case, "share of the peak that these products reach", share, "%"), SHARE),
        Row(case, "tokens at once", scorer.limits.tokens, ""),
    ]


def _with_aim(row: Row, aim: float, *, less: bool = False) -> Row:
    return Row(row.case, row.measure, row.value, row.unit, peer="aim", peer_value=aim, less_is_better=less)


def _values(
    scorer: "Scorer", prompts: Sequence[str], continuations: Sequence[Sequence[str]]
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    return np.concatenate([scored.values for scored in scorer.score(prompts, continuations, eos=True)])


def _synchronize(device: "torch.device") -> None:
    import torch

    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _free(device: str) -> None:
    import gc

    import torch

    gc.collect()
    if torch.device(device).type == "cuda":
        torch.cuda.empty_cache()


def _describe(device: str) -> Mapping[str, str | int | float]:
    import torch

    if torch.device(device).type != "cuda":
        return describe_machine()
    properties = torch.cuda.get_device_properties(device)
    memory = round(properties.total_memory / 2**30, 1)
    return {
        **describe_machine(),
        "gpu": str(properties.name),
        "gpu_memory_gib": memory,
        "cuda": str(torch.version.cuda),
    }


def measure(device: str, seed: int, sizes: Sizes) -> list[Row]:
    """Return the rows of all parts."""
    example, clock = read_example(), time.perf_counter()

    def note(part: str) -> None:
        print(f"{time.perf_counter() - clock:.0f} s: {part}", file=sys.stderr)

    note("exactness")
    rows = exactness(example, device, seed, sizes)
    scorer = random_scorer(sizes.shapes[0], example, device, "bfloat16", seed)
    for heading, text in scorer.explain():
        print(f"{heading}: {text}", file=sys.stderr)
    note("names")
    rows += names(scorer, example, seed, sizes)
    note("items")
    rows += items(scorer, seed, sizes)
    del scorer
    _free(device)
    note("statements")
    rows += read_statements(random_scorer(sizes.shapes[1], example, device, "bfloat16", seed), example, seed, sizes)
    return [*rows, Row("all", "time", time.perf_counter() - clock, "s")]


@click.command(context_settings={"max_content_width": 100})
@click.option("--device", default="cuda", show_default=True, help="Torch device.")
@click.option("--tiny", is_flag=True, help="Run all parts with a tiny model and little work, to try the command.")
@seed_option
@json_option
def main(device: str, tiny: bool, seed: int, as_json: bool) -> None:
    """Measure exactness, rates and the share of a GPU's peak."""
    from kgprobe.models.devices import find_device

    find_device(device)
    rows = measure(device, seed, TINY if tiny else Sizes())
    show(Report("gpu", rows, seed, versions_of("torch", "transformers"), _describe(device)), as_json=as_json)


if __name__ == "__main__":
    main()
