"""``python -m benchmarks.judged_graph``: judge a whole synthetic graph with kills, and compare the results.

A tiny model and a judge with random weights: everything but the model is measured. `kgprobe judge predict` runs in a
separate process.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
import psutil
import pyarrow.parquet as pq

from benchmarks.report import Report, Row, describe_machine, show, versions_of
from benchmarks.synthetic import SyntheticSource
from kgprobe.cli.options import json_option, seed_option
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.graph.servers.opening import open_graph
from kgprobe.graph.state import graph_state
from kgprobe.judge.classifiers import LinearProbe
from kgprobe.judge.files import Judge, save_judge
from kgprobe.judge.prompts import StatePrompt
from kgprobe.models.states.reader import StateReader

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

AS_OF = 20260101
_SECONDS = 0.2


def random_judge(graph: Graph, scorer: "Scorer", relations: list[str], prompt: StatePrompt, as_of: int) -> Judge:
    """Return a judge with random weights that gives all three answers about equally often."""
    random = np.random.default_rng(1)
    texts = [f"{prompt.before}Entity {number} is related to entity {number + 1}.{prompt.after}" for number in range(20)]
    states = StateReader(scorer, [1]).read(texts).values[:, 0]
    scale = states.std(axis=0) + 1e-6
    weights = random.normal(size=(3, states.shape[1])).astype(np.float32) * 8
    return Judge(
        LinearProbe(states.mean(axis=0), scale.astype(np.float32), weights, np.zeros(3, dtype=np.float32)),
        1,
        prompt,
        scorer.describe(),
        {
            "graph": graph_state(graph),
            "relations": relations,
            "as_of": as_of,
            "options": {"replace": "object", "any_type": False},
            "described": {"model": scorer.describe()["name"]},
        },
        {"labels": "made-up", "options": {"test_size": 0.3}, "seed": 0},
    )


def write_tiny_model(folder: Path) -> str:
    """Write a Llama of two layers with random weights and a tokenizer for synthetic graphs; return its spec."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000,
        special_tokens=["<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(
        (f"Entity number {n} is related to entity number {n * 7}." for n in range(999)), trainer
    )
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=2000, bos_token_id=0, eos_token_id=1, num_hidden_layers=2, **sizes))
    model.save_pretrained(folder)
    ends = {"bos_token": "<s>", "eos_token": "</s>"}
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, **ends)  # type: ignore[no-untyped-call]
    wrapped.save_pretrained(folder)
    return f"hf:{folder}"


@dataclass
class Peak:
    """Peak memory of a process, in bytes.

    Attributes:
        own: private memory.
        whole: including the resident part of mapped files.
    """

    own: int = 0
    whole: int = 0

    def look(self, process: psutil.Process) -> None:
        """Update the peaks."""
        with suppress(psutil.Error):
            memory = process.memory_info()
            self.own = max(self.own, memory.rss - memory.shared)
            self.whole = max(self.whole, memory.rss)


def run_judging(place: Path, name: str, kill_at: float | None, peak: Peak) -> float:
    """Judge the graph in a separate process and return seconds; kill it after that share of the shards."""
    command = [sys.executable, "-m", "kgprobe", "judge", "predict", str(place / "judge"), "--name", name]
    began = time.monotonic()
    process = subprocess.Popen([*command, "--graph", str(place / "graph")], stdout=subprocess.DEVNULL)
    shards = place / "home" / "judged" / name / "shards"
    threshold = None
    while process.poll() is None:
        time.sleep(_SECONDS)
        peak.look(psutil.Process(process.pid))
        if kill_at is None or not shards.exists():
            continue
        if threshold is None:
            config = shards.parent / "config.json"
            threshold = kill_at * json.loads(config.read_text())["shards"] if config.exists() else None
        if threshold is not None and sum(1 for _ in shards.glob("*.parquet")) >= threshold:
            process.send_signal(signal.SIGKILL)
    if kill_at is None and process.wait():
        raise click.ClickException("Judging failed.")
    return time.monotonic() - began


def digest_of(shards: Path) -> str:
    """Return a digest of the rows."""
    digest = hashlib.sha256()
    for path in sorted(shards.glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches():
            digest.update(str(batch.to_pylist()).encode())
    return digest.hexdigest()[:16]


def measure(place: Path, facts: int, degree: int, kills: int, seed: int) -> list[Row]:
    """Load, judge, kill, and compare."""
    from kgprobe.models.model import Models

    case, rows = f"{facts:,} facts", []
    began = time.monotonic()
    with open_graph(place / "graph", memory=4096) as graph:
        source = SyntheticSource(facts, degree, seed)
        load(graph, source)
        rows.append(Row(case, "load", facts / (time.monotonic() - began), "facts/s"))
        scorer = Models().open(write_tiny_model(place / "model")).local_scorer()
        relations = [f"P{number}" for number in range(5)]
        judge = random_judge(graph, scorer, relations, StatePrompt("Is this true? ", "\nAnswer:"), AS_OF)
        (place / "judge").mkdir()
        save_judge(judge, place / "judge")
        peak = Peak()
        for number in range(kills):
            run_judging(place, "killed", (number + 1) / (kills + 1), peak)
        run_judging(place, "killed", None, peak)
        # The columns exist by now.
        seconds = run_judging(place, "whole", None, peak)
    folder = place / "home" / "judged"
    same = digest_of(folder / "killed" / "shards") == digest_of(folder / "whole" / "shards")
    size = sum(path.stat().st_size for path in (folder / "whole" / "shards").iterdir())
    columns = sum(path.stat().st_size for path in (place / "home" / "columns").rglob("*") if path.is_file())
    rows += [
        Row(case, "facts judged, a negative each", facts / seconds, "facts/s"),
        Row(case, f"the same after {kills} kills", float(same), "1 is yes"),
        Row(case, "peak memory, its own", peak.own / 2**20, "MiB", less_is_better=True),
        Row(case, "peak memory, with mapped files", peak.whole / 2**20, "MiB", less_is_better=True),
        Row(case, "shards on disk", size / 2**20, "MiB", less_is_better=True),
        Row(case, "columns on disk", columns / 2**20, "MiB", less_is_better=True),
    ]
    return rows


@click.command(context_settings={"max_content_width": 100})
@click.option("--facts", "sizes", type=int, multiple=True, default=(2_000_000,), show_default=True, help="Facts.")
@click.option("--degree", default=8, show_default=True, help="Facts at an entity, on average.")
@click.option("--kills", default=2, show_default=True, help="Number of kills.")
@seed_option
@json_option
def main(sizes: tuple[int, ...], degree: int, kills: int, seed: int, as_json: bool) -> None:
    """Measure judging a whole graph without the model, and compare results after kills."""
    rows: list[Row] = []
    for facts in sizes:
        print(f"{facts:,} facts", file=sys.stderr)
        with tempfile.TemporaryDirectory(prefix="kgprobe-") as temporary:
            os.environ["KGPROBE_HOME"] = str(Path(temporary) / "home")
            rows += measure(Path(temporary), facts, degree, kills, seed)
    show(
        Report("judged_graph", rows, seed, versions_of("neo4j", "pyarrow", "torch"), describe_machine()),
        as_json=as_json,
    )


if __name__ == "__main__":
    main()
