"""``kgprobe graph browser``, and what it gives to Neo4j Browser, in a real web browser."""

import html
import math
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from operator import mul
from pathlib import Path

import kgprobe
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.beliefs.painting import PAINTS
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from kgprobe.graph.queries import get_query, query_names
from kgprobe.graph.servers.folder import folder_of
from kgprobe.graph.servers.leases import stop
from kgprobe.results.rendering.browser_files import STYLE, browser_files, browser_queries
from tests.api.test_painting import begin, believe
from tests.chromium import WAIT, chromium
from tests.cli.inprocess import run as typed
from tests.cli.inprocess import succeed
from tests.conftest import require_engine
from tests.neo4j_browser import connect, drawn, run
from tests.written_source import WrittenSource

HOSTILE = ("<img src=x onerror=alert(1)>", "evil \u202eesrever", "long " * 200, "</script><script>alert(2)</script>")
COLOURS = {
    "KNOWN": "#0072b2",
    "LEANS_KNOWN": "#5a9bc9",
    "LEANS_UNKNOWN": "#e59a5c",
    "UNKNOWN": "#d55e00",
    "EXPECTED": "#7a828d",
    "LEARNED": "#007a5a",
    "FORGOT": "#a3467c",
}
PLAIN_FACT = "#d3d8de"
# An unasked fact, of the run in view.
EXPECTATION = """
MATCH (run:Run {id: 'new'}) SET run.inView = true
WITH run MATCH (:Entity)-[fact:FACT {id: 'f6'}]->(:Entity)
SET fact.alpha = 3.0, fact.beta = 1.0, fact.theta = 0.75, fact.low = 0.2, fact.high = 0.9, fact.right = 0,
    fact.wrong = 0, fact.belief = 'not asked'
"""


@contextmanager
def served(graph: Path, home: Path) -> Iterator[dict[str, str]]:
    """Provide the command at work: what it tells, by name; ended as Ctrl-C does."""
    command = [sys.executable, "-m", "kgprobe", "graph", "browser", "--no-open", "--graph", str(graph)]
    environment = {**os.environ, "KGPROBE_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        told: dict[str, str] = {}
        for line in process.stdout:
            if found := re.fullmatch(r"(\w+)  +(.*)\n", line):
                told[found[1]] = found[2]
            if "favourites" in told:
                break
        try:
            yield told
        except BaseException:
            process.kill()
            raise
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=300)[1]
        assert (process.returncode, said.strip()) == (0, "Ctrl-C stops serving; the graph server keeps running.")


def test_neo4j_browser_draws_what_is_believed(tmp_path: Path) -> None:
    require_engine("neo4j")
    # Neo4j is downloaded once, into the home that the tests share.
    home, folder = Path(os.environ.get("KGPROBE_HOME", tmp_path)), tmp_path / "graph"
    people = [Entity(f"e{n}", label, types=("h",)) for n, label in enumerate([*HOSTILE, "Eve", "Fay", "Gus"])]
    people.append(Entity("h", "tall human"))
    facts = [Fact(f"f{n}", f"e{n % 7}", "r", f"e{(n + 1) % 7}") for n in range(7)]
    with chromium() as browser, kgprobe.open_graph(folder, engine="neo4j", memory=1024) as graph:
        load(graph, WrittenSource(people, facts, [Relation("r", "likes & <b>fears</b>")]))
        begin(graph, "old", "2026-01-01T00:00:00+00:00")
        begin(graph, "new", "2026-01-02T00:00:00+00:00")
        believe(graph, "old", {"f0": 0.9, "f1": 0.1})
        believe(graph, "new", {"f0": 0.1, "f1": 0.9, "f2": 0.1, "f3": 0.1, "f4": 0.9, "f5": 0.5})
        graph.query("MATCH (b:Belief {fact: 'f7'}) DELETE b")
        graph.query(EXPECTATION)
        graph.query("MATCH (b:Belief {run: 'new'}) SET b.round = 1 WITH b MATCH (r:Run {id: 'new'}) SET r.round = 1")
        kgprobe.paint_beliefs(graph, "new", against="old")
        assert [row.name for row in kgprobe.add_types(graph)] == ["TallHuman"]
        try:
            with served(folder, home) as told:
                page = browser.new_page(viewport={"width": 1400, "height": 1000})
                page.set_default_timeout(WAIT)
                said: list[str] = []
                page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
                connect(page, told["browser"], Path(told["connect"].partition("password in ")[2]))
                page.get_by_text("What does a model know?").wait_for()
                run(page, told["colours"])
                guide = run(page, told["queries"])
                guide.get_by_text("What does a model know?").wait_for()
                picture = run(page, "MATCH path = (:Entity)-[:FACT]->(:Entity) RETURN path")
                # Browser draws, beside what is asked for, whatever is between the same nodes.
                counts = {type_: drawn(picture, colour) for type_, colour in COLOURS.items()}
                assert counts == dict.fromkeys(COLOURS, 1) | {"KNOWN": 2, "LEANS_KNOWN": 0}
                assert drawn(picture, PLAIN_FACT) == 7
                # Only painted relationships have captions; those of short ones end in an ellipsis.
                captions = [text for text in picture.locator("g.relationship text").all_text_contents() if text]
                assert len(captions) == 7
                whole = [f"{sign} likes & <b>fears</b>" for sign in PAINTS.values()]
                starts = [caption.removesuffix("…") for caption in captions]
                assert all(any(text.startswith(start) for text in whole) for start in starts)
                nodes = " ".join(" ".join(picture.locator("g.node text").all_text_contents()).split())
                assert "onerr" in nodes.replace(" ", "")
                # Colours of the shares of unknown facts have precedence over that of the type.
                fills = picture.locator("g.node circle.b-outline").evaluate_all(
                    "all => all.map(c => c.getAttribute('fill'))"
                )
                assert Counter(fills) == {"#0b4f77": 2, "#6a4c85": 3, "#a34700": 2}
                # Queries of the guide, with parameters.
                run(page, ":params {limit: 5}")
                assert drawn(run(page, get_query("guide/unknown").text), COLOURS["UNKNOWN"]) == 1
                run(page, f":params {{one: 'Eve', other: '{HOSTILE[3]}'}}")
                assert drawn(run(page, get_query("guide/paths").text), COLOURS["KNOWN"]) == 1
                # Two neighbours, the relation and the type; no belief is drawn.
                around = run(page, "MATCH (e:Entity {id: 'e0'})-[r]-(o) RETURN e, r, o")
                assert drawn(around, PLAIN_FACT) == 2
                assert around.locator("g.node").count() == 5
                assert said == []
        finally:
            stop(folder_of(folder), force=True)


def test_files_can_be_written(home: dict[str, str], tmp_path: Path) -> None:
    succeed("graph", "browser", "--output", str(tmp_path / "for" / "browser"), **home)
    written = tmp_path / "for" / "browser"
    assert "relationship.UNKNOWN" in (written / "kgprobe.grass").read_text()
    assert 'caption: "";' in (written / "kgprobe-painted.grass").read_text()
    guide = (written / "guide.html").read_text()
    assert [f"{chapter}. " in guide for chapter in range(1, 8)] == [True] * 6 + [False]
    for query in map(get_query, filter(lambda name: name.startswith("guide/"), query_names())):
        lines = [line for line in query.text.splitlines() if not line.startswith("//")]
        assert len(lines) <= 12
        assert html.escape(lines[-1]) in guide
    with zipfile.ZipFile(written / "kgprobe-queries.zip") as archive:
        favourites = archive.namelist()
        assert archive.read("kgprobe/known_path.cypher").startswith(b"// known path\n// First run :params {one:")
    assert len(favourites) >= 12
    assert {"kgprobe/blind_spots.cypher", "kgprobe/ignorance.cypher", "kgprobe/suspects.cypher"} <= set(favourites)


def test_queries_of_browser_can_be_drawn() -> None:
    drawn_ones = [query for query in browser_queries() if re.search(r"\bpath\s*$|, path\n", query.text, re.MULTILINE)]
    assert len(drawn_ones) >= 12
    assert all(query.parameters.startswith(":params {") for query in browser_queries())
    assert not any(line.startswith("//") for query in browser_queries() for line in query.text.splitlines())


def _linear(colour: str) -> list[float]:
    """Return the red, green and blue light of a colour of sRGB (IEC 61966-2-1), each in [0, 1]."""
    values = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]


def _lab(colour: str) -> list[float]:
    """Return L*, a*, b* of CIE 1976 for the white D65."""
    rows = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
    light = _linear(colour)
    parts = []
    for row, white in zip(rows, (0.95047, 1.0, 1.08883), strict=True):
        part = sum(map(mul, row, light)) / white
        parts.append(part ** (1 / 3) if part > 216 / 24389 else (24389 / 27 * part + 16) / 116)
    x, y, z = parts
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


def _luminance(colour: str) -> float:
    return sum(map(mul, (0.2126, 0.7152, 0.0722), _linear(colour)))


def test_colours_of_types_never_look_like_beliefs() -> None:
    labels = [f"Label{number}" for number in range(20)]
    style = browser_files("", labels)[STYLE].decode()
    rules = re.findall(r"(?:node|relationship)\.(\w+) \{([^}]*)\}", style)
    colours = {name: re.findall(r"(?:^|\s)(?:color|text-color-internal): (#\w+)", rule) for name, rule in rules}
    types = {colours[label][0] for label in labels}
    assert len(types) == 10
    beliefs = [colours[name][0] for name in (*PAINTS, "MostlyKnown", "HalfKnown", "MostlyUnknown")]
    for type_ in types:
        assert min(math.dist(_lab(type_), _lab(belief)) for belief in beliefs) >= 25
        assert min(math.dist(_lab(type_), _lab(other)) for other in types - {type_}) >= 25
    # Captions can be read (WCAG 2.1, level AA).
    for label in (*labels, "MostlyKnown", "HalfKnown", "MostlyUnknown"):
        dark, light = sorted(map(_luminance, colours[label]))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_graph_that_has_no_browser_is_refused(home: dict[str, str], tmp_path: Path, example_endpoint: Endpoint) -> None:
    home = home | {"KGPROBE_GRAPH": str(example_endpoint.folder)}
    done = typed("graph", "browser", "--no-open", **home)
    assert (done.returncode, done.stdout) == (1, "")
    assert "kgprobe graph copy" in done.stderr
    empty = typed("graph", "browser", "--no-open", "--graph", str(tmp_path / "nothing"), **home)
    assert (empty.returncode, empty.stdout) == (1, "")
    assert "has no graph. Make one with" in empty.stderr
    assert not (tmp_path / "nothing").exists()
