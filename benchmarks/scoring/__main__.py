"""``python -m benchmarks.scoring``: measurements and their table."""

import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import numpy as np

from benchmarks.report import Report, Row, describe_machine, show, versions_of
from benchmarks.scoring.cases import Case, distractors_case, examples_case, options_case, read_example
from benchmarks.scoring.hybrid import hybrid_rows
from benchmarks.scoring.limit import Products, time_products, work_of
from benchmarks.scoring.peers import PARTS, PEERS, WITHOUT_EOS
from benchmarks.scoring.profile import profile
from benchmarks.scoring.shapes import SHAPES, random_scorer
from kgprobe.cli.options import json_option, seed_option

if TYPE_CHECKING:
    from kgprobe.models.scoring.scorer import Scorer

REPEATS = 3


def measure(scorer: "Scorer", case: Case, peers: Sequence[str], questions: int | None) -> list[Row]:
    """Return the rows of a case: ours, the arithmetic limit, and the peers."""
    tokenized = scorer.tokenize(case.prompts, case.continuations, eos=case.eos)
    work = work_of(scorer.model, tokenized)
    # Warm up memory and caches.
    warm = case.part(2, 20)
    scorer.score(warm.prompts, warm.continuations, eos=case.eos)
    before = time_products(scorer.model, REPEATS)
    clock = time.perf_counter()
    scorer.score(case.prompts, case.continuations, eos=case.eos)
    ours = time.perf_counter() - clock
    clock = time.perf_counter()
    scorer.tokenize(case.prompts, case.continuations, eos=case.eos)
    tokenizing = time.perf_counter() - clock
    after = time_products(scorer.model, REPEATS)
    products = Products(
        min(before.node, after.node), min(before.position, after.position), max(before.rate, after.rate)
    )
    limit = products.seconds(work)
    rows = [
        Row(case.name, "continuations", case.size, ""),
        Row(case.name, "tokens of the tries", work.nodes, ""),
        Row(case.name, "positions through the vocabulary", work.positions, ""),
        Row(case.name, "rate of the linear layers' products", products.rate / 1e9, "GFLOP/s"),
        Row(case.name, "arithmetic limit", limit, "s"),
        Row(case.name, "share of the arithmetic limit", 100 * limit / ours, "%"),
        Row(case.name, "time", ours, "s"),
        Row(case.name, "of it tokenization", tokenizing, "s"),
        Row(case.name, "questions", len(case.prompts) / ours, "/s"),
    ]
    part = case.part(questions) if questions else case.part(*PARTS[case.name])
    for name in peers:
        print(f"{case.name}: {name} on {part.size} of {case.size} continuations", file=sys.stderr)
        clock = time.perf_counter()
        theirs = PEERS[name](scorer, part)
        seconds = time.perf_counter() - clock
        scores = scorer.score(part.prompts, part.continuations, eos=part.eos and name not in WITHOUT_EOS)
        own = np.concatenate([scored.values for scored in scores])
        rows.append(
            Row(
                case.name,
                f"time, the peer's scaled from {part.size} continuations",
                ours,
                "s",
                peer=name,
                peer_value=seconds * case.size / part.size,
                less_is_better=True,
                max_difference=float(np.abs(own - theirs).max()),
            )
        )
    return rows


@click.command(context_settings={"max_content_width": 100})
@click.option(
    "--case",
    "cases",
    type=click.Choice((*PARTS, "hybrid")),
    multiple=True,
    default=tuple(PARTS),
    show_default=True,
    help="Case to measure; repeatable.",
)
@click.option(
    "--questions",
    type=click.IntRange(min=1),
    help="Complete questions of a case for a peer.  [default: 6, a part of one, a part of one]",
)
@click.option(
    "--peer",
    "peers",
    type=click.Choice((*PEERS, "none")),
    multiple=True,
    default=tuple(PEERS),
    show_default=True,
    help="Peer to compare with; repeatable.",
)
@click.option("--profile", "profiled", is_flag=True, help="Also report time by kind of operation.")
@click.option("--shape", type=click.Choice(tuple(SHAPES)), help="Use random weights of this shape, without peers.")
@click.option("--device", default="cpu", show_default=True, help="Torch device.")
@click.option("--dtype", default="float32", show_default=True, help="Precision: float32, bfloat16 or float16.")
@seed_option
@json_option
def main(
    cases: tuple[str, ...],
    questions: int | None,
    peers: tuple[str, ...],
    profiled: bool,
    shape: str | None,
    device: str,
    dtype: str,
    seed: int,
    as_json: bool,
) -> None:
    """Measure scoring, compared with peers and with the necessary matrix products."""
    from kgprobe.models.spec import load_scorer

    example = read_example()
    machine = {**describe_machine(), "load": round(os.getloadavg()[0], 2)}
    rows: list[Row] = []
    if "hybrid" in cases:
        rows += hybrid_rows(example, device, dtype, seed)
    others = [name for name in cases if name != "hybrid"]
    if not others:
        show(Report("scoring", rows, seed, versions_of("torch", "transformers"), machine), as_json=as_json)
        return
    if shape is None:
        scorer = load_scorer("demo", device=device, dtype=dtype)
    else:
        scorer, peers = random_scorer(shape, example, device, dtype, seed), ()
    for name, text in scorer.explain():
        print(f"{name}: {text}", file=sys.stderr)

    def tokens(name: str) -> int:
        return len(scorer.tokenizer(f" {name}", add_special_tokens=False)["input_ids"])

    chosen_cases = {
        "options": lambda: options_case(example, tokens, seed),
        "examples": lambda: examples_case(example, seed),
        "distractors": lambda: distractors_case(example, seed),
    }
    for name in others:
        case = chosen_cases[name]()
        rows += measure(scorer, case, [peer for peer in peers if peer != "none"], questions)
        rows += profile(scorer, case) if profiled else []
    versions = versions_of("torch", "transformers", *(["lm-eval", "lm-pub-quiz"] if peers else []))
    show(Report("scoring", rows, seed, versions, machine), as_json=as_json)


if __name__ == "__main__":
    main()
