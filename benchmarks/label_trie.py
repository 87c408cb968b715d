"""Cost of a trie of a million labels: build, size, open.

Labels combine names of the example graph: the first word of one and another whole name, as in "Lake Victoria"; all are
distinct, and an entity has one to three. They are tokenized with the demo model's tokenizer. Memory is the peak of a
process that only builds. Processor time on all cores is reported too; it is more reliable on a busy machine.
"""

import multiprocessing
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import psutil

from benchmarks.report import Report, Row, show, versions_of
from kgprobe.base.records import Entity
from kgprobe.cli.options import json_option, seed_option
from kgprobe.models.demo import demo_model_folder
from kgprobe.probes.search.label_tries import LabelTrie, build_label_trie
from kgprobe.sources.contract import open_source

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MOST_NAMES = 3


def labels(count: int, seed: int) -> Iterator[tuple[int, list[str]]]:
    """Return entities by number with their labels: ``count`` distinct labels in total.

    Raises:
        ValueError: the example graph has too few names.
    """
    known: dict[str, None] = {}
    for placed in open_source("example").entities():
        if isinstance(placed.record, Entity):
            known |= dict.fromkeys(name for name in (placed.record.label, *placed.record.aliases) if name.strip())
    names = list(known)
    words = list(dict.fromkeys(name.split()[0] for name in names))
    generator = np.random.default_rng(seed)
    # A label splits into word and name in one way only, so distinct pairs are distinct labels.
    pairs = generator.choice(len(words) * len(names), count, replace=False)
    begin = number = 0
    while begin < count:
        several = int(generator.integers(1, MOST_NAMES + 1))
        some = pairs[begin : begin + several].tolist()
        yield number, [f"{words[pair // len(names)]} {names[pair % len(names)]}" for pair in some]
        begin, number = begin + several, number + 1


def _tokenizer() -> "PreTrainedTokenizerBase":
    from transformers import AutoTokenizer

    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(demo_model_folder())
    return tokenizer


def build(path: Path, count: int, seed: int) -> tuple[float, float, float]:
    """Build a trie in a separate process.

    Returns:
        seconds; processor seconds; peak memory in MiB beyond the start of the process.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_build, (path, count, seed))


def _build(path: Path, count: int, seed: int) -> tuple[float, float, float]:
    tokenizer = _tokenizer()
    # Warm up the tokenizer and the imports.
    build_label_trie(path, "", tokenizer, labels(1_000, seed))
    # Subtract the cost of making the labels.
    clock, processor = time.perf_counter(), time.process_time()
    for _ in labels(count, seed):
        pass
    clock, processor = 2 * time.perf_counter() - clock, 2 * time.process_time() - processor
    before = psutil.Process().memory_info().rss / 2**20
    build_label_trie(path, "", tokenizer, labels(count, seed))
    return time.perf_counter() - clock, time.process_time() - processor, _peak() - before


def _peak() -> float:
    # Linux counts in KiB, macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def follow(trie: LabelTrie, depth: int, width: int, seed: int) -> float:
    """Return the seconds to follow ``width`` random prefixes of ``depth`` tokens from the root."""
    generator = np.random.default_rng(seed)
    low, high = np.zeros(1, dtype=np.int64), np.array([len(trie)])
    seconds = 0.0
    for level in range(depth + 1):
        clock = time.perf_counter()
        after = trie.follow(low, high, np.full(len(low), level))
        seconds = time.perf_counter() - clock
        chosen = generator.choice(len(after.low), min(width, len(after.low)), replace=False)
        low, high = after.low[chosen], after.high[chosen]
    return seconds


@click.command(context_settings={"max_content_width": 100})
@click.option("--labels", "count", default=1_000_000, show_default=True, help="Labels in the trie.")
@click.option("--repeat", default=3, show_default=True, help="Number of builds; medians are shown.")
@seed_option
@json_option
def main(count: int, repeat: int, seed: int, as_json: bool) -> None:
    """Measure a trie of many labels: build, size, open."""
    # Load the model first, since it may need conversion.
    demo_model_folder()
    case = f"{count:,} labels"
    with tempfile.TemporaryDirectory(prefix="kgprobe-") as temporary:
        path = Path(temporary) / "one.trie"
        built = []
        for turn in range(1, repeat + 1):
            print(f"build {turn} of {repeat}", file=sys.stderr)
            built.append(build(path, count, seed))
        seconds, processor, memory = (statistics.median(values) for values in zip(*built, strict=True))
        opening = []
        for _ in range(20):
            clock = time.perf_counter()
            trie = LabelTrie(path)
            opening.append(1000 * (time.perf_counter() - clock))
        rows = [
            Row(case, "made, tokenization included", count / seconds, "labels/s"),
            Row(
                case,
                "made, tokenization included",
                1e6 * processor / count,
                "µs of processor a label",
                less_is_better=True,
            ),
            Row(case, "size", path.stat().st_size / count, "bytes a label", less_is_better=True),
            Row(case, "peak memory of making it", memory, "MiB", less_is_better=True),
            Row(case, "opened", statistics.median(opening), "ms", less_is_better=True),
            Row(case, "tokens", float(trie.lengths.mean()), "a label"),
            Row(case, "followed, first time", 1000 * follow(trie, 0, 1, seed), "ms for the empty prefix"),
            Row(case, "followed", 1000 * follow(trie, 2, 100, seed), "ms for 100 prefixes of 2 tokens"),
        ]
        del trie
    show(Report("label_trie", rows, seed, versions_of("numpy", "tokenizers", "transformers")), as_json=as_json)


if __name__ == "__main__":
    main()
