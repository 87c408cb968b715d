"""``kgprobe.kept_results``: all results of a machine, and the page that leads to theirs."""

import json
from pathlib import Path

import pytest

import kgprobe
from tests.chromium import chromium, looking_at
from tests.judge.judged_files import judged, write_judged_graph
from tests.stored import store_measurement

FACTS = {f"f{n:03}": n % 2 == 0 for n in range(40)}
EVIL = "<b onclick=alert(1)>bold</b> \u202eback"


@pytest.fixture
def results(home: Path) -> Path:
    one = kgprobe.open_measurement(store_measurement(home / "probes" / "one", FACTS))
    two = kgprobe.open_measurement(store_measurement(home / "probes" / "two", FACTS, model="two"))
    kgprobe.compare([one, two]).page()
    kgprobe.check(one, two).page()
    write_judged_graph(home / "judged" / "everything", [judged(f"f{n}", 0, [1]) for n in range(30)], shards=2)
    told = {"name": "my-run", "headline": f"It knows {EVIL}", "more": [1, 2]}
    folder = home / "runs" / "my-run-0123abcd"
    folder.mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(told))
    (folder / "finding.html").write_text("<title>the page of the run</title>")
    # Begun by another program, and left there.
    (home / "probes" / "not-ours").mkdir()
    (home / "probes" / "damaged").mkdir()
    (home / "probes" / "damaged" / "config.json").write_text("{}")
    (home / "probes" / "damaged" / "results.json").write_text("{")
    return home


def test_everything_is_listed_the_last_first(results: Path) -> None:
    kept = kgprobe.kept_results()
    listed = {(one.kind, one.name) for one in kept.results}
    assert {("measurement", "one"), ("measurement", "two"), ("run", "my-run"), ("judged graph", "everything")} <= listed
    assert [one.kind for one in kept.results].count("comparison") == 2
    assert len(listed) == len(kept.results) == 6
    changed = [one.changed for one in kept.results]
    assert changed == sorted(changed, reverse=True)
    (note,) = kept.notes
    assert "damaged cannot be read" in note
    rows = {row["name"]: row for row in kept.rows()}
    assert rows["my-run"]["headline"] == f"It knows {EVIL}"
    assert rows["my-run"]["page"] == str(results / "runs" / "my-run-0123abcd" / "finding.html")
    assert rows["one"]["page"] is None
    assert "30 facts" in rows["everything"]["headline"]
    assert len(kept.to_frame()) == 6


def test_nothing_is_kept_yet(home: Path) -> None:
    kept = kgprobe.kept_results()
    assert kept.rows() == kept.tables() == []
    assert "no result" in kept.summary()
    assert "kgprobe demo" in kept.page().read_text(encoding="utf-8")
    assert kept.page().parent == home


def test_page_is_searched_and_leads_to_the_others(results: Path) -> None:
    path = kgprobe.kept_results().page()
    assert path == results / "index.html"
    with chromium() as browser, looking_at(browser, path) as seen:
        page = seen.page
        rows = page.locator("#index-table tbody tr:visible")
        assert rows.count() == 6
        assert page.locator("td b").count() == 0
        page.fill("#index-search", "knows bold")
        assert page.locator("#index-count").inner_text() == "1 of 6"
        assert "my-run" in rows.first.inner_text()
        page.fill("#index-search", "")
        page.select_option("#index-kind", "measurement")
        assert page.locator("#index-count").inner_text() == "2 of 6"
        assert "kgprobe report one" in page.locator("#index-table").inner_text()
        page.select_option("#index-kind", "run")
        page.click("#index-table a:visible")
        assert page.title() == "the page of the run"
        assert seen.complaints == []
