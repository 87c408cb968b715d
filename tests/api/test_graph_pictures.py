"""Pictures of the graph: what is drawn, in which colours, and in a real browser."""

from pathlib import Path
from typing import Any

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from tests.api.test_painting import begin, believe
from tests.chromium import WAIT, chromium
from tests.written_source import WrittenSource

pytest.importorskip("neo4j_viz", reason="needs the extra explore")

HOSTILE = (
    "</script><script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\">\u202e" + "x" * 29_000
)
FACTS = [
    Fact("f0", "e0", "likes", "e1"),
    Fact("f1", "e1", "likes", "e2"),
    Fact("f2", "e1", "likes", "e1"),
    Fact("f3", "e3", "likes", "e1"),
    Fact("f4", "e3", "likes", "e2"),
]


@pytest.fixture
def drawn(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Graph:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path))
    people = [Entity("e0", "Ada"), Entity("e1", HOSTILE), Entity("e2", "Ben"), Entity("e3")]
    load(graph, WrittenSource(people, FACTS, [Relation("likes", f"likes {HOSTILE[:7_000]}")]))
    return graph


def colours(visualization: Any) -> dict[str, tuple[int, ...]]:
    return {one.properties["fact"]: one.color.as_rgb_tuple() for one in visualization.relationships}


def test_colours_of_known_have_one_scale_in_all_pictures(drawn: Graph) -> None:
    begin(drawn, "run", "2026-01-01T00:00:00+00:00")
    believe(drawn, "run", {"f0": 0.25, "f1": 0.5, "f2": 0.75})
    picture = kgprobe.draw_graph(drawn, "e1")
    assert (picture.run, picture.around) == ("run", "e1")
    seen = colours(picture.visualization())
    # From blue (0, 114, 178) by (184, 196, 204) to orange (213, 94, 0); grey where nothing is believed.
    assert seen["f1"] == (184, 196, 204)
    assert all(abs(one - other) <= 1 for one, other in zip(seen["f0"], (92, 155, 191), strict=True))
    assert all(abs(one - other) <= 1 for one, other in zip(seen["f2"], (198.5, 145, 102), strict=True))
    assert seen["f3"] == (154, 154, 154)
    # A picture with fewer facts has the same colours.
    fewer = kgprobe.draw_graph(drawn, "e0", run="run")
    assert colours(fewer.visualization()) == {"f0": seen["f0"]}
    assert str(fewer) == "Ada: 1 fact, 2 entities; run run has beliefs about 1 of them."
    widths = {one.properties["fact"]: one.width for one in picture.visualization().relationships}
    assert widths == {"f0": 4.0, "f1": 2.0, "f2": 4.0, "f3": 1.0}


def test_picture_begins_where_most_is_surely_unknown(drawn: Graph) -> None:
    with pytest.raises(UnknownNameError, match="name an `entity`"):
        kgprobe.draw_graph(drawn)
    assert kgprobe.draw_graph(drawn, "Ada").run is None
    begin(drawn, "run", "2026-01-01T00:00:00+00:00")
    with pytest.raises(UnknownNameError, match="No run of this graph has answers yet"):
        kgprobe.draw_graph(drawn)
    believe(drawn, "run", {"f0": 0.1, "f2": 0.1, "f1": 0.9, "f4": 0.9})
    assert kgprobe.draw_graph(drawn).around == "e2"
    with pytest.raises(ArgumentError, match=r"`limit` is 2001; expected at most 2,000"):
        kgprobe.draw_graph(drawn, limit=2001)


def test_picture_draws_hostile_names_as_text(drawn: Graph, tmp_path: Path) -> None:
    if "neo4j" in drawn.server.lower() and "arcadedb" not in drawn.server.lower():
        pytest.skip("the page is the same whatever the engine; the other one draws it")
    begin(drawn, "run", "2026-01-01T00:00:00+00:00")
    believe(drawn, "run", {"f0": 0.1, "f2": 0.9})
    page = kgprobe.draw_graph(drawn, steps=2).page(tmp_path / "picture.html")
    with chromium() as browser:
        shown = browser.new_page()
        shown.set_default_timeout(WAIT)
        asked, complaints = [], []
        shown.on("request", lambda request: asked.append(request.url))
        shown.on("console", lambda message: complaints.append(message.text))
        shown.on("pageerror", lambda error: complaints.append(str(error)))
        shown.goto(page.as_uri())
        shown.wait_for_selector("canvas")
        assert shown.evaluate("document.querySelectorAll('canvas').length") >= 1
        shown.get_by_text("Known, grey: not asked").first.wait_for()
        assert shown.title() != "ran"
        assert shown.locator("img[src=x]").count() == 0
    assert (asked, complaints) == ([page.as_uri()], [])
    assert page.stat().st_size < 6_000_000
