"""Names per second that the host prepares for a device that takes no time, and the time in which a device waits.

The tokenizer and the kinds of masks are the demo model's. Layers and the projection to the vocabulary return zeros, and
all operations of the device are on torch's device ``meta``, which computes nothing. What is left is the work of the
host: tokenization, tries, batches, arrays, sums. With ``--device cpu``, the masks are made, too, as a CPU has to. With
``--names-per-second``, the device sleeps as long as one of this speed computes.

Cases, from the example graph, the first two as in ``benchmarks.scoring``:

- ``distractors``: 50 facts with 200 distractors, all names of each scored with EOS;
- ``examples``: 20 questions with 100 options each, after a common prompt of 50 examples;
- ``probe``: a measurement of the probe ``distractors``, with ten distractors for each of ``--facts`` facts: queries,
  sentences, scoring, evidence and files;
- ``rounds``: the same probe, in rounds of 64 facts;
- ``label``: a label table of ``--facts`` facts, asked three times each by distractors and by examples;
- ``judge``: ``judge predict`` on a synthetic graph of ``--facts`` facts, each with a negative, with a random judge.

In the case ``judge``, a name of ``--names-per-second`` is a statement.

``first`` is a call with names that were not seen before, ``again`` the fastest of several with the same names and
prompts. The rate per second of the process's time on all cores, ``per core``, depends less on what else the machine
does. ``device waited`` is the share of the time of asking in which the device does not compute.
"""

import cProfile
import math
import os
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import click
import numpy as np
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.modeling_outputs import BaseModelOutputWithPast

from benchmarks.judged_graph import AS_OF, random_judge
from benchmarks.judging import AFTER, BEFORE
from benchmarks.report import Report, Row, show, versions_of
from benchmarks.scoring.cases import Case, distractors_case, examples_case, read_example
from benchmarks.synthetic import SyntheticSource
from kgprobe.api.judging import judge_graph
from kgprobe.api.labelling import label_facts
from kgprobe.api.measuring import measure
from kgprobe.api.rounds import run_rounds
from kgprobe.cli.options import json_option, seed_option
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.servers.signals import ending_in_order
from kgprobe.judge.prompts import StatePrompt
from kgprobe.models.computing import ALL_ASKING, DeviceTime
from kgprobe.models.demo import demo_model_folder
from kgprobe.models.model import REMEMBERED, Model
from kgprobe.models.scoring.contract import Floats
from kgprobe.models.scoring.forward import AnyPrefix
from kgprobe.models.scoring.projection import VocabularyProjection
from kgprobe.models.scoring.scorer import PreparedBatch, Scorer
from kgprobe.models.scoring.trie import Integers
from kgprobe.models.states.reader import StateReader, state_size
from kgprobe.sources.contract import open_source

CASES = {"distractors": distractors_case, "examples": examples_case}
REPEATS = 5
# One layer of each kind: masks are made for each.
_LAYERS = ("sliding_attention", "full_attention")


@dataclass(frozen=True, slots=True)
class ZeroProjection(VocabularyProjection):
    """A projection that takes no time: every probability is 1."""

    def log_probabilities(self, hidden: torch.Tensor, sources: Any, targets: Any, at_once: int) -> torch.Tensor:
        """Return zeros, shape (edges, 2)."""
        del hidden, sources, at_once
        return torch.zeros((len(targets), 2))


class ZeroLayers(torch.nn.Module):
    """A model's body whose states are zeros, of width 1; its layers are not used."""

    def __init__(self) -> None:
        """Make layers to be counted."""
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Identity() for _ in _LAYERS)

    def forward(
        self, input_ids: torch.Tensor, cache: Any = None, use_cache: bool = False, **_: Any
    ) -> BaseModelOutputWithPast:
        """Return the states, after a cache grew by keys and values of width 1."""
        zero = torch.zeros(1, device=input_ids.device)
        if use_cache:
            keys = zero.expand(1, 1, input_ids.shape[1], 1)
            cache.update(keys, keys, 0)
        return BaseModelOutputWithPast(last_hidden_state=zero.expand(*input_ids.shape, 1))


class IdleScorer(Scorer):
    """A scorer whose device has nothing to do.

    Attributes:
        names_per_second: speed of the device that the scorer imitates by sleeping; infinite for none.
    """

    names_per_second = math.inf

    def idle(self, width: int, device: str, batch_tokens: int) -> None:
        """Replace layers and projection.

        Args:
            width: width of the layers in the plan, which weighs attention against products; and of states.
            device: ``meta``, where operations take no time, or ``cpu``.
            batch_tokens: padded tokens per forward pass.
        """
        setattr(self.model, self.model.base_model_prefix, ZeroLayers())
        self.model.to(torch.device(device))  # type: ignore[arg-type]
        self.model.config.hidden_size = width
        weight = torch.zeros((1, 1)).expand(self.model.config.vocab_size, width)
        self.choice = replace(self.choice, projection=ZeroProjection(weight, None, 1.0, None))
        self.limits.tokens = batch_tokens

    def refresh(self) -> bool:
        """Return False: there are no weights."""
        return False

    def _compute(
        self, projection: VocabularyProjection, batch: PreparedBatch, prefix: AnyPrefix | None, tokens: int
    ) -> Floats:
        """Return zeros, after as long as the device takes."""
        names = sum(len(tree.members) for forest in batch.forests for tree in forest.trees)
        time.sleep(names / self.names_per_second)
        return super()._compute(projection, batch, prefix, tokens)


def idle_states(self: StateReader, places: Integers, run: Callable[[], torch.Tensor]) -> torch.Tensor:
    """Return zeros as the states of texts, after as long as the device takes; replaces a method of readers."""
    run()
    time.sleep(len(places) / self._scorer.names_per_second)  # type: ignore[attr-defined]
    return torch.zeros((len(places), len(self.layers), state_size(self._model)))


def idle_scorer(device: str, batch_tokens: int, remembered: int) -> IdleScorer:
    """Return a scorer with the demo model's tokenizer and masks, whose layers and projection return zeros.

    Args:
        device, batch_tokens: see :meth:`IdleScorer.idle`.
        remembered: number of continuations whose log-probabilities are cached.
    """
    folder = demo_model_folder()
    config = AutoConfig.from_pretrained(folder)
    width = config.hidden_size
    config.num_hidden_layers = len(_LAYERS)
    config.layer_types = list(_LAYERS)
    for name in ("hidden_size", "intermediate_size", "head_dim", "num_attention_heads", "num_key_value_heads"):
        setattr(config, name, 2)
    make: Any = AutoModelForCausalLM
    model = make.from_config(config)
    scorer = IdleScorer(model, AutoTokenizer.from_pretrained(folder), name="idle", remembered=remembered)
    if scorer.choice.method != "packed":
        raise RuntimeError(f"the demo model is scored by the method {scorer.choice.method}, not packed")
    scorer.idle(width, device, batch_tokens)
    # The tokenizer is examined once for each process.
    scorer.tokenize(["The first"], [["call"]])
    return scorer


def rates(scorer: Scorer, case: Case, profiler: cProfile.Profile | None) -> list[Row]:
    """Return the rows of a case of names."""
    seconds, on_cores, tokenizing = [], [], []
    for _ in range(REPEATS):
        clock, own = time.perf_counter(), time.process_time()
        scored = scorer.score(case.prompts, case.continuations, eos=case.eos)
        seconds.append(time.perf_counter() - clock)
        on_cores.append(time.process_time() - own)
        if any(np.any(each.values) for each in scored):
            raise RuntimeError("a device that returns zeros has log-probabilities of zero")
    for _ in range(REPEATS):
        clock = time.perf_counter()
        scorer.tokenize(case.prompts, case.continuations, eos=case.eos)
        tokenizing.append(time.perf_counter() - clock)
    if profiler is not None:
        profiler.runcall(scorer.score, case.prompts, case.continuations, eos=case.eos)
    return [
        Row(case.name, "names", case.size, ""),
        Row(case.name, "first", case.size / seconds[0], "names/s"),
        Row(case.name, "first, per core", case.size / on_cores[0], "names/s"),
        Row(case.name, "again", case.size / min(seconds[1:]), "names/s"),
        Row(case.name, "again, per core", case.size / min(on_cores[1:]), "names/s"),
        Row(case.name, "of it tokenization", 100 * min(tokenizing) / min(seconds[1:]), "%"),
    ]


def asking_rates(case: str, scorer: IdleScorer, facts: int, seed: int, profiler: cProfile.Profile | None) -> list[Row]:
    """Return the rows of asking this many facts of the example graph, or of judging a graph of as many."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="kgprobe-")))
        os.environ["KGPROBE_HOME"] = str(folder)
        stack.enter_context(ending_in_order())
        graph = stack.enter_context(open_graph(folder / "graph"))
        load(graph, SyntheticSource(facts, degree=8) if case == "judge" else open_source("example"))
        model = Model(scorer.name, scorer=scorer)
        # The engine's compiler warms up.
        measure(graph, model, "distractors", limit=facts // 4, seed=seed + 1, distractors=100)
        clock, own, before = time.perf_counter(), time.process_time(), replace(ALL_ASKING)
        with profiler or nullcontext():
            ASKING[case](graph, model, facts, seed)
        seconds, on_cores = time.perf_counter() - clock, time.process_time() - own
        asking = DeviceTime(ALL_ASKING.seconds - before.seconds, ALL_ASKING.computed - before.computed)
    return [
        Row(case, "facts", facts, ""),
        Row(case, "rate", facts / seconds, "facts/s"),
        Row(case, "rate, per core of the process, without the graph's server", facts / on_cores, "facts/s"),
        Row(case, "device waited", 100 * (asking.waited or 0.0), "%"),
    ]


def _measure(graph: Graph, model: Model, facts: int, seed: int) -> None:
    measure(graph, model, "distractors", limit=facts, seed=seed, distractors=100)


def _run_rounds(graph: Graph, model: Model, facts: int, seed: int) -> None:
    rounds, size = math.ceil(facts / 64), min(facts, 64)
    run_rounds(graph, model, "distractors", seed=seed, rounds=rounds, facts_per_round=size, distractors=100)


def _label(graph: Graph, model: Model, facts: int, seed: int) -> None:
    label_facts(graph, model, ways="distractors,examples", limit=facts, seed=seed)


def _judge(graph: Graph, model: Model, facts: int, seed: int) -> None:
    del facts
    with mock.patch.object(StateReader, "_states_at", idle_states):
        relations = [f"P{number}" for number in range(5)]
        judge = random_judge(graph, model.local_scorer(), relations, StatePrompt(BEFORE, AFTER), AS_OF)
        judge_graph(graph, judge, model=model, seed=seed)


ASKING = {"probe": _measure, "rounds": _run_rounds, "label": _label, "judge": _judge}


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--case",
    "cases",
    type=click.Choice((*CASES, *ASKING)),
    multiple=True,
    default=tuple(CASES),
    show_default=True,
    help="Case to measure; repeatable.",
)
@click.option(
    "--device",
    type=click.Choice(("meta", "cpu")),
    default="meta",
    show_default=True,
    help="Device of the masks; meta takes no time.",
)
@click.option("--batch-tokens", default=8192, show_default=True, help="Padded tokens per forward pass.")
@click.option(
    "--facts", type=click.IntRange(min=4), default=1000, show_default=True, help="Facts of the cases that ask."
)
@click.option("--names-per-second", type=click.FloatRange(min=1), help="Speed of the device.  [default: takes no time]")
@click.option("--profile", type=click.Path(dir_okay=False), help="Files for profiles: PROFILE-CASE.")
@seed_option
@json_option
def main(
    cases: tuple[str, ...],
    device: str,
    batch_tokens: int,
    facts: int,
    names_per_second: float | None,
    profile: str | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure the names per second that the host prepares, and the time in which a device waits."""
    example = read_example()
    rows: list[Row] = []
    for name in cases:
        profiler = None if profile is None else cProfile.Profile()
        scorer = idle_scorer(device, batch_tokens, REMEMBERED if name in ASKING else 0)
        scorer.names_per_second = names_per_second or math.inf
        if name in ASKING:
            rows += asking_rates(name, scorer, facts, seed, profiler)
        else:
            rows += rates(scorer, CASES[name](example, seed), profiler)
        if profiler is not None:
            profiler.dump_stats(f"{profile}-{name}")
    show(Report("host", rows, seed, versions_of("torch", "transformers", "tokenizers")), as_json=as_json)


if __name__ == "__main__":
    main()
