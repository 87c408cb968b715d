"""``kgprobe graph browser``, and what it gives to Neo4j Browser, in a real web browser."""

import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import kgprobe
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from kgprobe.records import Entity, Fact, Relation
from kgprobe.report.browser_files import browser_queries
from kgprobe.servers.leases import stop
from kgprobe.servers.opening import folder_of
from tests.api.test_painting import begin, believe
from tests.chromium import chromium
from tests.cli.inprocess import run as typed
from tests.conftest import require_engine
from tests.neo4j_browser import connect, drawn, run
from tests.written_source import WrittenSource

HOSTILE = ("<img src=x onerror=alert(1)>", "evil \u202eesrever", "long " * 200, "</script><script>alert(2)</script>")
BLUE, ORANGE, GREY, GREEN, PURPLE, FACT = "#0072b2", "#d55e00", "#7a828d", "#007a5a", "#a3467c", "#c3c9d1"


@contextmanager
def served(graph: Path, home: Path) -> Iterator[dict[str, str]]:
    """The command at work: what it tells, by name; ended as Ctrl-C does."""
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
        said = process.communicate(timeout=60)[1]
        assert (process.returncode, said.strip()) == (0, "Ctrl-C stops serving; the graph server keeps running.")


def test_neo4j_browser_draws_what_is_believed(tmp_path: Path) -> None:
    require_engine("neo4j")
    # Neo4j is downloaded once, into the home that the tests share.
    home, folder = Path(os.environ.get("KGPROBE_HOME", tmp_path)), tmp_path / "graph"
    people = [Entity(f"e{n}", label) for n, label in enumerate([*HOSTILE, "Eve", "Fay", "Gus"])]
    facts = [Fact(f"f{n}", f"e{n % 7}", "r", f"e{(n + 1) % 7}") for n in range(7)]
    with chromium() as browser, kgprobe.open_graph(folder, engine="neo4j", memory=1024) as graph:
        load(graph, WrittenSource(people, facts, [Relation("r", "likes & <b>fears</b>")]))
        begin(graph, "old", "2026-01-01T00:00:00+00:00")
        begin(graph, "new", "2026-01-02T00:00:00+00:00")
        believe(graph, "old", {"f0": 0.9, "f1": 0.1})
        believe(graph, "new", {"f0": 0.1, "f1": 0.9, "f2": 0.1, "f3": 0.1, "f4": 0.9, "f5": 0.5})
        graph.query("MATCH (b:Belief {fact: 'f7'}) DELETE b")
        kgprobe.paint_beliefs(graph, "new", against="old")
        try:
            with served(folder, home) as told:
                page = browser.new_page(viewport={"width": 1400, "height": 1000})
                said: list[str] = []
                page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
                connect(page, told["browser"], Path(told["connect"].partition("password in ")[2]))
                page.get_by_text("What does a model know?").wait_for()
                run(page, told["colours"])
                guide = run(page, told["queries"])
                guide.get_by_text("What does a model know?").wait_for()
                picture = run(page, "MATCH path = (:Entity)-[:FACT]->(:Entity) RETURN path")
                # Browser draws, beside what is asked for, whatever is between the same nodes.
                counts = {colour: drawn(picture, colour) for colour in (FACT, BLUE, ORANGE, GREY, GREEN, PURPLE)}
                assert counts == {FACT: 7, BLUE: 2, ORANGE: 1, GREY: 1, GREEN: 1, PURPLE: 1}
                captions = picture.locator("g.relationship text").all_text_contents()
                assert {caption[0] for caption in captions} == set("✓✗?+−l")
                whole = ("likes & <b>fears</b>", *(f"{sign} likes & <b>fears</b>" for sign in "✓✗?+−"))
                # The caption of a short relationship ends in an ellipsis.
                starts = [caption.removesuffix("…") for caption in captions]
                assert all(len(start) > 2 and any(text.startswith(start) for text in whole) for start in starts)
                nodes = " ".join(" ".join(picture.locator("g.node text").all_text_contents()).split())
                assert "onerror" in nodes.replace(" ", "")
                # A query of the guide, with its parameters, is typed into the editor by a click.
                (changed,) = [query for query in browser_queries() if query.name == "explore/changed"]
                run(page, changed.parameters)
                only = run(page, changed.text)
                assert {colour: drawn(only, colour) for colour in (GREEN, PURPLE)} == {GREEN: 1, PURPLE: 1}
                # Two neighbours and the relation; no belief is drawn.
                around = run(page, "MATCH (e:Entity {id: 'e0'})-[r]-(o) RETURN e, r, o")
                assert drawn(around, FACT) == 2
                assert around.locator("g.node").count() == 4
                assert said == []
        finally:
            stop(folder_of(folder), force=True)


def test_the_files_can_be_written(home: dict[str, str], tmp_path: Path) -> None:
    done = typed("graph", "browser", "--files", str(tmp_path / "for" / "browser"), **home)
    assert done.returncode == 0, done.stderr
    written = tmp_path / "for" / "browser"
    assert "relationship.UNKNOWN" in (written / "kgprobe.grass").read_text()
    assert "shortestPath" in (written / "guide.html").read_text()
    with zipfile.ZipFile(written / "kgprobe-queries.zip") as archive:
        favourites = archive.namelist()
        assert archive.read("kgprobe/known_path.cypher").startswith(b"// known path\n// First run :params {one:")
    assert len(favourites) >= 12
    assert {"kgprobe/blind_spots.cypher", "kgprobe/ignorance.cypher", "kgprobe/suspects.cypher"} <= set(favourites)


def test_the_queries_of_browser_can_be_drawn() -> None:
    drawn_ones = [query for query in browser_queries() if re.search(r"\bpath\s*$|, path\n", query.text, re.MULTILINE)]
    assert len(drawn_ones) >= 12
    assert all(query.parameters.startswith(":params {") for query in browser_queries())
    assert not any(line.startswith("//") for query in browser_queries() for line in query.text.splitlines())


def test_a_graph_that_has_no_browser_is_refused(
    home: dict[str, str], tmp_path: Path, example_endpoint: Endpoint
) -> None:
    home = home | {"KGPROBE_GRAPH": str(example_endpoint.folder)}
    done = typed("graph", "browser", "--no-open", **home)
    assert (done.returncode, done.stdout) == (1, "")
    assert "kgprobe graph copy" in done.stderr
    empty = typed("graph", "browser", "--no-open", "--graph", str(tmp_path / "nothing"), **home)
    assert (empty.returncode, empty.stdout) == (1, "")
    assert "has no graph. Make one with" in empty.stderr
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize("host", ["two words", "localhost/x", "", "a:80", '"><script>'])
def test_a_host_is_a_name(home: dict[str, str], host: str) -> None:
    done = typed("graph", "browser", "--no-open", "--graph", "bolt://localhost:7687", "--host", host, **home)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--host is" in done.stderr
