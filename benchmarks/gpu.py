"""``python -m benchmarks.gpu``: everything that a GPU has to show, in one command of at most 8 minutes.

Random weights in the shapes of Qwen3-0.6B and of a model of two billion parameters, made on the device, so neither
files nor a network are needed:

- ``exactness``: log-probabilities in float32 and bfloat16, compared with plain float32 passes of one continuation each;
- ``names``: facts with 200 distractors, all names of each scored with EOS;
- ``items``: prompts of 300 random tokens that share nothing, each with two answers of a token;
- ``generation``: the most probable tokens after statements, a batch of them at once;
- ``probe``: a measurement of the probe ``distractors`` on the example graph, with the time in which the device waits;
- ``label``: a label table of facts of the example graph, asked six times each, with the same;
- ``statements``: hidden states of statements, each after an instruction, at 60% of the depth of the 2B shape.

Rates are those of the fastest of three runs, after one run that finds the batch size; a label table and a measurement
are made once. The share of the peak is relative to the time of the same matrix products alone on this device, see
:mod:`benchmarks.scoring`. The cases share the time limit. A small part of a case's work runs first, and the work is
halved until it fits into the case's share of the time that is left. A case that fails has a row with its error; the
others are measured, and the command exits with 1.
"""

import math
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from unittest import mock

import click
import numpy as np

from benchmarks.judging import BEFORE, DEPTH, statements
from benchmarks.report import Report, Row, describe_machine, show, versions_of, write_table
from benchmarks.scoring.cases import Case, Example, distractors_case, read_example
from benchmarks.scoring.limit import Work, time_products, work_of
from benchmarks.scoring.shapes import random_scorer
from kgprobe.api.labelling import label_facts
from kgprobe.api.measuring import measure as measure_facts
from kgprobe.base.errors import KgprobeError, first_line
from kgprobe.cli.options import json_option, seed_option
from kgprobe.graph.ingest import load
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.servers.signals import ending_in_order
from kgprobe.models.computing import timing_the_device
from kgprobe.models.generating.generator import Answer, Request
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.model import REMEMBERED, Model
from kgprobe.models.scoring.tokens import TokenizedPrompt, encode
from kgprobe.models.states.reader import StateReader, layer_count
from kgprobe.sources.contract import open_source

if TYPE_CHECKING:
    from kgprobe.graph.client import Graph
    from kgprobe.models.scoring.scorer import Scorer

REPEATS = 3
# Aims on an H100; for statements on an H200.
SHARE, ITEMS, STATEMENTS, ERROR, WAITED = 60.0, 2200.0, 10_000.0, 1e-4, 10.0
# Share of a case's work that is tried first, as a divisor.
TRIED = 16
# Share of the time limit to plan with: the rest is for the program's start and for cases that take longer than a try.
PLANNED = 0.85


@dataclass(frozen=True, slots=True)
class Sizes:
    """Amounts of work.

    Attributes:
        shapes: of the small and of the large model, see :mod:`benchmarks.scoring.shapes`.
        compared: number of facts for exactness, and of distractors of each.
        facts: number of facts with all their distractors' names.
        items, tokens: number of items, and tokens of each.
        prompts, new_tokens: number of prompts to continue, and tokens of each continuation.
        asked, labelled: number of facts of a measurement and of a label table.
        statements: number of statements.
    """

    shapes: tuple[str, str] = ("0.6b", "2b")
    compared: tuple[int, int] = (8, 20)
    facts: int = 50
    items: int = 4096
    tokens: int = 300
    prompts: int = 512
    new_tokens: int = 64
    asked: int = 2000
    labelled: int = 512
    statements: int = 8192


TINY = Sizes(
    ("smallest", "smallest"),
    compared=(2, 3),
    facts=1,
    items=4,
    tokens=20,
    prompts=4,
    new_tokens=3,
    asked=16,
    labelled=16,
    statements=32,
)


@dataclass(slots=True)
class Setup:
    """Input of the cases, and the model in memory.

    Attributes:
        example: records of the example graph.
        device: torch device.
        sizes: amounts of work.
    """

    example: Example
    device: str
    seed: int
    sizes: Sizes
    _scorer: "Scorer | None" = None

    def scorer(self, shape: str) -> "Scorer":
        """Return a model in bfloat16; only the latest stays in memory."""
        if self._scorer is None or self._scorer.name != shape:
            self.release()
            self._scorer = random_scorer(shape, self.example, self.device, "bfloat16", self.seed)
        return self._scorer

    def release(self) -> None:
        """Free the model's memory."""
        import gc

        import torch

        self._scorer = None
        gc.collect()
        if torch.device(self.device).type == "cuda":
            torch.cuda.empty_cache()

    def synchronize(self) -> None:
        """Wait for the device."""
        import torch

        if torch.device(self.device).type == "cuda":
            torch.cuda.synchronize(self.device)


def fit(most: int, limit: float, runs: int, run: Callable[[int], float]) -> int:
    """Return an amount of work, halved from ``most`` until so many runs of it fit into the limit in seconds.

    A part of it runs first, twice if there is time, because kernels are loaded in the first run.

    Args:
        run: does an amount of work, and returns the seconds that it took.
    """
    end = time.perf_counter() + limit
    part = max(1, most // TRIED)
    seconds = run(part)
    if seconds < limit / 4:
        seconds = run(part)
    while most > part and runs * seconds * most / part > end - time.perf_counter():
        most = max(most // 2, part)
    return most


def exactness(setup: Setup, limit: float) -> list[Row]:
    """Return the differences of log-probabilities from plain float32 passes, in float32 and in bfloat16."""
    facts, distractors = setup.sizes.compared
    case = distractors_case(setup.example, setup.seed).part(facts, distractors)
    setup.release()
    scorer = random_scorer(setup.sizes.shapes[0], setup.example, setup.device, "float32", setup.seed)
    like_it: Any = {"name": "compared", "bos": True}
    plain = type(scorer)(scorer.model, scorer.tokenizer, methods=("plain",), **like_it)

    def timed(amount: int) -> float:
        clock = time.perf_counter()
        _values(plain, case.part(amount))
        return time.perf_counter() - clock

    case = case.part(fit(facts, limit / 2, 1, timed))
    expected, rows = _values(plain, case), []
    for dtype in ("float32", "bfloat16"):
        if dtype == "bfloat16":
            scorer = type(scorer)(_rounded(scorer.model), scorer.tokenizer, **like_it)
        difference = np.abs(_values(scorer, case) - expected)
        largest = f"{dtype} ({scorer.choice.method}), largest of {len(expected)}"
        rows.append(Row("exactness", largest, float(difference.max()), "nats"))
        rows.append(Row("exactness", f"{dtype}, mean", float(difference.mean()), "nats"))
    rows[0] = _with_aim(rows[0], ERROR, less=True)
    return rows


def _rounded(model: Any) -> Any:
    """Return a model after its weights are rounded to bfloat16; the frequencies of positions stay, as in loading."""
    buffers = [(module, *named) for module in model.modules() for named in module.named_buffers(recurse=False)]
    model.bfloat16()
    for module, name, buffer in buffers:
        setattr(module, name, buffer)
    return model


def names(setup: Setup, limit: float) -> list[Row]:
    """Return the rate of scoring all names of distractors."""
    scorer, case = setup.scorer(setup.sizes.shapes[0]), distractors_case(setup.example, setup.seed)
    tokenized = scorer.tokenize(case.prompts, case.continuations, eos=True)

    def compute(facts: int) -> int:
        scorer.score_tokenized(tokenized[:facts])
        return case.part(facts).size

    facts, amount, seconds = _fastest(setup, scorer, setup.sizes.facts, limit, compute)
    return _rates("names", amount, seconds, scorer, work_of(scorer.model, tokenized[:facts]))


def items(setup: Setup, limit: float) -> list[Row]:
    """Return the rate of scoring two answers of one token after random prompts."""
    sizes, scorer, random = setup.sizes, setup.scorer(setup.sizes.shapes[0]), np.random.default_rng(setup.seed)
    embeddings: Any = scorer.model.get_input_embeddings()
    vocabulary = embeddings.weight.shape[0]
    prompts = [
        TokenizedPrompt(tuple(tokens[2:]), (sizes.tokens,) * 2, ((tokens[0],), (tokens[1],)))
        for tokens in random.integers(0, vocabulary, (sizes.items, sizes.tokens + 2)).tolist()
    ]

    def compute(count: int) -> int:
        return len(scorer.score_tokenized(prompts[:count]))

    count, amount, seconds = _fastest(setup, scorer, sizes.items, limit, compute)
    work = work_of(scorer.model, prompts[:count])
    return _rates(f"items of {sizes.tokens} tokens", amount, seconds, scorer, work, aim=ITEMS)


def read_statements(setup: Setup, limit: float) -> list[Row]:
    """Return the rate of reading hidden states of statements."""
    scorer = setup.scorer(setup.sizes.shapes[1])
    texts = list(islice(statements(setup.example, setup.seed), setup.sizes.statements))
    layer = round(DEPTH * layer_count(scorer.model))
    reader = StateReader(scorer, [layer])

    def compute(count: int) -> int:
        return len(reader.read(texts[:count], beginning=BEFORE).values)

    count, amount, seconds = _fastest(setup, scorer, len(texts), limit, compute)
    leading = scorer.leading
    chains = [
        TokenizedPrompt((*leading, *ids), (len(leading) + len(ids),), ((0,),))
        for ids in encode(scorer.tokenizer, [BEFORE + text for text in texts[:count]])
    ]
    work, share = work_of(scorer.model, chains), layer / layer_count(scorer.model)
    # Neither the vocabulary nor the layers above.
    part = Work(round(work.nodes * share), 0, work.attention * share)
    return _rates("statements", amount, seconds, scorer, part, aim=STATEMENTS)


def generation(setup: Setup, limit: float) -> list[Row]:
    """Return the rate of generating the most probable tokens."""
    scorer, new_tokens = setup.scorer(setup.sizes.shapes[0]), setup.sizes.new_tokens
    texts = dict.fromkeys(statements(setup.example, setup.seed))
    requests = [Request(text, new_tokens, continuation=True) for text in islice(texts, setup.sizes.prompts)]
    generator = LocalGenerator(scorer)

    def compute(count: int) -> int:
        answers = generator.answer(requests[:count])
        return sum(answer.completion_tokens for answer in answers if isinstance(answer, Answer))

    count, amount, seconds = _fastest(setup, scorer, len(requests), limit, compute)
    return [
        Row("generation", "prompts", count, ""),
        Row("generation", "new tokens", amount, ""),
        Row("generation", "time", seconds, "s"),
        Row("generation", "new tokens a second", amount / seconds, "/s"),
    ]


def probe(setup: Setup, limit: float) -> list[Row]:
    """Return the rate of a measurement of distractors with all names."""

    def ask(graph: "Graph", model: Model, facts: int, seed: int) -> int:
        return measure_facts(graph, model, "distractors", limit=facts, seed=seed, distractors=100).progress.facts

    return _asking(setup, limit, "probe", setup.sizes.asked, ask)


def label(setup: Setup, limit: float) -> list[Row]:
    """Return the rate of labelling facts by distractors and generated names."""

    def ask(graph: "Graph", model: Model, facts: int, seed: int) -> int:
        return label_facts(graph, model, ways="distractors,generation", limit=facts, seed=seed).asked_facts

    return _asking(setup, limit, "label", setup.sizes.labelled, ask)


def _asking(
    setup: Setup, limit: float, case: str, most: int, ask: Callable[["Graph", Model, int, int], int]
) -> list[Row]:
    """Return the rows of asking facts of the example graph, in a home of its own."""
    scorer = setup.scorer(setup.sizes.shapes[0])
    model = Model(
        scorer.name, scorer=type(scorer)(scorer.model, scorer.tokenizer, name="asked", bos=True, remembered=REMEMBERED)
    )
    end = time.perf_counter() + limit
    with ExitStack() as stack:
        home = stack.enter_context(TemporaryDirectory(prefix="kgprobe-"))
        stack.enter_context(mock.patch.dict(os.environ, KGPROBE_HOME=home))
        stack.enter_context(ending_in_order())
        graph = stack.enter_context(open_graph(Path(home) / "graph"))
        load(graph, open_source("example"))
        seed = setup.seed

        def timed(facts: int) -> float:
            nonlocal seed
            # Answers of an earlier run with this seed would be found.
            seed += 1
            clock = time.perf_counter()
            ask(graph, model, facts, seed)
            return time.perf_counter() - clock

        facts = fit(most, end - time.perf_counter(), 1, timed)
        with timing_the_device() as timed_asking:
            asked = ask(graph, model, facts, setup.seed)
    seconds = timed_asking.seconds
    waited = math.nan if timed_asking.waited is None else 100 * timed_asking.waited
    return [
        Row(case, "facts", asked, ""),
        Row(case, "time", seconds, "s"),
        Row(case, "facts a second", asked / seconds, "/s"),
        _with_aim(Row(case, "device waited", waited, "%"), WAITED, less=True),
    ]


def _fastest(
    setup: Setup, scorer: "Scorer", most: int, limit: float, compute: Callable[[int], int]
) -> tuple[int, int, float]:
    """Return an amount of work that fits into a limit in seconds, its computation's result, and its fastest time."""
    result = 0

    def timed(amount: int) -> float:
        nonlocal result
        scorer.forget()
        clock = time.perf_counter()
        result = compute(amount)
        setup.synchronize()
        return time.perf_counter() - clock

    amount = fit(most, limit, REPEATS + 1, timed)
    # Batch sizes grow in the first run.
    timed(amount)
    return amount, result, min(timed(amount) for _ in range(REPEATS))


def _rates(case: str, amount: int, seconds: float, scorer: "Scorer", work: Work, aim: float | None = None) -> list[Row]:
    """Return the rows of a computation and its necessary products."""
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


def _values(scorer: "Scorer", case: Case) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    scored = scorer.score(case.prompts, case.continuations, eos=True)
    return np.concatenate([each.values for each in scored])


# The small model's cases follow each other: it is made once.
CASES: Mapping[str, Callable[[Setup, float], list[Row]]] = {
    "exactness": exactness,
    "names": names,
    "items": items,
    "generation": generation,
    "probe": probe,
    "label": label,
    "statements": read_statements,
}


@contextmanager
def _peak_memory(device: str) -> Iterator[list[int]]:
    """Yield a list that gets the most bytes of tensors on a GPU at the end; it stays empty for a CPU."""
    import torch

    peaks: list[int] = []
    if torch.device(device).type != "cuda":
        yield peaks
        return
    reset, most = torch.cuda.reset_peak_memory_stats, 0

    def note(gpu: Any = None) -> None:
        nonlocal most
        most = max(most, torch.cuda.max_memory_allocated(device))
        reset(gpu)

    reset(device)
    # The scorer resets the peak before each batch.
    with mock.patch.object(torch.cuda, "reset_peak_memory_stats", note):
        yield peaks
    peaks.append(max(most, torch.cuda.max_memory_allocated(device)))


def measure_case(setup: Setup, case: str, limit: float) -> list[Row]:
    """Return a case's rows, with its memory and time; a row with the error if it fails, whose value is not a number."""
    clock = time.perf_counter()
    with _peak_memory(setup.device) as peaks:
        try:
            rows = CASES[case](setup, limit)
        except Exception as error:
            traceback.print_exc()
            rows = [Row(case, f"failed: {type(error).__name__}: {first_line(error)}", math.nan, "")]
            failed = True
        else:
            failed = False
    if failed:
        # Here the error and the memory that it references are gone.
        setup.release()
    name = rows[0].case
    memory = [Row(name, "peak memory of the device", peak / 2**30, "GiB") for peak in peaks]
    return [*rows, *memory, Row(name, "time of the whole case", time.perf_counter() - clock, "s")]


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


def measure(
    setup: Setup, cases: Sequence[str], seconds: float, on_rows: Callable[[Sequence[Row]], None] = lambda rows: None
) -> list[Row]:
    """Return the rows of cases that share a time limit in seconds; call ``on_rows`` with all rows after each case."""
    begun, rows = time.perf_counter(), []
    for place, case in enumerate(cases):
        used = time.perf_counter() - begun
        print(f"{used:.0f} s: {case}", file=sys.stderr)
        rows += measure_case(setup, case, max(0.0, PLANNED * seconds - used) / (len(cases) - place))
        on_rows(rows)
    rows.append(Row("all", "time", time.perf_counter() - begun, "s"))
    on_rows(rows)
    return rows


@click.command(context_settings={"max_content_width": 100})
@click.option("--device", default="cuda", show_default=True, help="Torch device.")
@click.option("--tiny", is_flag=True, help="Run all parts with a tiny model and little work, to try the command.")
@click.option(
    "--case",
    "cases",
    type=click.Choice(tuple(CASES)),
    multiple=True,
    default=tuple(CASES),
    show_default="all",
    help="Case to measure; repeatable.",
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=8.0,
    show_default=True,
    help="Time limit; less work is done where time is short.",
)
@click.option(
    "--table", type=click.Path(dir_okay=False, path_type=Path), help="Write a Markdown table after each case."
)
@seed_option
@json_option
def main(
    device: str, tiny: bool, cases: tuple[str, ...], minutes: float, table: Path | None, seed: int, as_json: bool
) -> None:
    """Measure exactness, rates, memory, the share of a GPU's peak, and the time in which it waits."""
    from kgprobe.models.devices import find_device

    versions = versions_of("torch", "transformers")

    def write(rows: Sequence[Row]) -> None:
        if table is not None:
            write_table(Report("gpu", rows, seed, versions, _describe(device)), table)

    try:
        find_device(device)
        write([])
    except KgprobeError as error:
        raise click.ClickException(str(error)) from error
    setup = Setup(read_example(), device, seed, TINY if tiny else Sizes())
    rows = measure(setup, cases, 60 * minutes, write)
    show(Report("gpu", rows, seed, versions, _describe(device)), as_json=as_json)
    if any(math.isnan(row.value) for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
