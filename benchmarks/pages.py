"""Report on many facts: time to read answers and to write, size, and time to open and search in Chromium.

Facts and names come from a loaded graph; the answers are synthetic, each with ten rivals of the same relation, as from
the distractor probe. Needs Chromium and playwright.
"""

import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import numpy as np

import kgprobe
from benchmarks.report import Report, Row, show, versions_of
from kgprobe.answers.settings import CONFIG, versions
from kgprobe.answers.store import FILE, encode_line
from kgprobe.answers.table import read_answers
from kgprobe.cli.options import json_option, seed_option
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state
from kgprobe.probes.distractors.evidence import DistractorEvidence, NamedEntity, Rival, Sentence
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.sampling.keys import FactKey

RIVALS = 10
AS_OF = 20240101
# Words in many rows, in some, in few, and in none.
WORDS = ("a", "france", "born in paris", "xyzzy")
_FACTS = """
MATCH (s:Entity)-[f:FACT]->(o:Entity) WHERE s.label <> '' AND o.label <> ''
MATCH (r:Relation {id: f.relation})
RETURN s.id AS subject, s.label AS subject_label, f.id AS fact, f.relation AS relation, r.label AS relation_label,
       o.id AS object, o.label AS object_label
ORDER BY fact LIMIT toInteger($limit)
"""


def outcomes(graph: Graph, facts: int, seed: int) -> Iterator[Outcome]:
    """Return synthetic answers to at most this many facts of a graph."""
    generator = np.random.default_rng(seed)
    rows = list(graph.run_text(_FACTS, {"limit": facts})[1])
    by_relation: dict[str, list[Any]] = {}
    for row in rows:
        by_relation.setdefault(row["relation"], []).append(row)
    for row in rows:
        pool = by_relation[row["relation"]]
        rivals = [pool[place] for place in generator.integers(len(pool), size=RIVALS)]
        logs = np.sort(generator.normal(-12, 5, size=RIVALS + 1))[::-1]
        # For every second fact, the right answer is the most plausible one.
        mine = 0 if generator.random() < 0.5 else int(generator.integers(RIVALS + 1))
        logs = np.concatenate([logs[mine : mine + 1], np.delete(logs, mine)])
        prompt = f"{row['subject_label']} has as its {row['relation_label']}"
        sentence = Sentence(prompt, tuple(range(RIVALS)), logs)
        evidence = DistractorEvidence(
            row["subject_label"],
            NamedEntity(row["object"], row["object_label"]),
            tuple(Rival(rival["object"], rival["object_label"], "same relation") for rival in rivals),
            (sentence,),
            0,
            1 / (RIVALS + 1),
        )
        verdict = Verdict.RIGHT if mine == 0 else Verdict.WRONG
        yield Outcome(FactKey(row["subject"], row["fact"]), verdict, row["relation"], prompt, evidence=evidence)


def write(graph: Graph, folder: Path, facts: int, seed: int) -> None:
    """Write a measurement of synthetic answers."""
    config = {
        "probe": "distractors",
        "options": {"distractors": RIVALS},
        "described": {"model": "made up", "distractors": RIVALS},
        "relations": [],
        "facts": "made up",
        "seed": seed,
        "as_of": AS_OF,
        "graph": graph_state(graph),
        "reversed": False,
        "reversed_of": None,
        "versions": versions(),
    }
    (folder / CONFIG).write_bytes(msgspec.json.encode(config))
    with (folder / FILE).open("wb") as file:
        for place, outcome in enumerate(outcomes(graph, facts, seed)):
            file.write(encode_line(place, outcome))


def in_browser(path: Path) -> Iterator[Row]:
    """Return the times to open a page and to answer searches."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"), args=["--no-sandbox"]
        )
        page = browser.new_page()
        begun = time.perf_counter()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]", state="attached", timeout=120_000)
        yield Row("in Chromium", "opens", time.perf_counter() - begun, "s", less_is_better=True)
        page.wait_for_timeout(2_000)
        for word in WORDS:
            took = page.evaluate(
                """async (word) => {
                    const search = document.getElementById('asked-search');
                    const count = document.getElementById('asked-count');
                    search.value = word;
                    const begun = performance.now();
                    const changed = new Promise((done) => new MutationObserver(done).observe(count, {childList: true}));
                    search.dispatchEvent(new Event('input', {bubbles: true}));
                    await changed;
                    return performance.now() - begun;
                }""",
                word,
            )
            count = page.locator("#asked-count").inner_text()
            yield Row(f"search “{word}”: {count}", "answers", took / 1000, "s", less_is_better=True)
        browser.close()


def measure(graph: Graph, facts: int, seed: int) -> Iterator[Row]:
    """Return all rows for one graph."""
    with tempfile.TemporaryDirectory() as folder:
        write(graph, Path(folder), facts, seed)
        begun = time.perf_counter()
        result = kgprobe.open(folder, graph, kind="measurement")
        yield Row(f"{facts:,} facts", "table of answers made", time.perf_counter() - begun, "s", less_is_better=True)
        begun = time.perf_counter()
        read_answers(Path(folder), result.kind, result.about.described).by_fact()
        yield Row(f"{facts:,} facts", "table of answers opened", time.perf_counter() - begun, "s", less_is_better=True)
        begun = time.perf_counter()
        report = kgprobe.make_report([result], seed=seed)
        page = report.page(Path(folder) / "report.html")
        case = f"{len(report.facts_frame()):,} facts"
        yield Row(case, "written", time.perf_counter() - begun, "s", less_is_better=True)
        yield Row(case, "size", page.stat().st_size / 1e6, "MB", less_is_better=True)
        yield from in_browser(page)


@click.command()
@click.option("--facts", default=100_000, show_default=True, help="Number of asked facts.")
@click.option("--graph", required=True, help="A loaded graph: its folder or its address.")
@seed_option
@json_option
def main(facts: int, graph: str, seed: int, as_json: bool) -> None:
    """Measure and print."""
    with kgprobe.open_graph(graph) as connection:
        rows = list(measure(connection, facts, seed))
    show(Report("pages", rows, seed, versions_of("playwright")), as_json=as_json)


if __name__ == "__main__":
    main()
