"""Stored results of all kinds: listed, and the page that leads to theirs."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.files import folder_size
from kgprobe.datasets.folder import link_dataset
from kgprobe.datasets.results import Dataset
from kgprobe.graph.client import Graph
from kgprobe.judge.files import Judge, save_judge
from kgprobe.labelling.labels import Labels
from kgprobe.labelling.statistics import LabelStatistics
from kgprobe.labelling.table import write_label_table
from kgprobe.models.model import Model
from kgprobe.results.comparison import Comparison
from kgprobe.results.judged_graph import JudgedGraph
from kgprobe.results.kinds import KINDS
from kgprobe.results.measurement import Measurement, Run
from kgprobe.results.report import StoredReport
from tests.chromium import chromium, looking_at
from tests.cli.inprocess import run as cli
from tests.cli.inprocess import succeed
from tests.datasets.test_datasets import row
from tests.datasets.test_datasets import write as write_dataset
from tests.graph.servers.shared import environment_of
from tests.judge.judged_files import judged, write_judged_graph
from tests.judge.test_files import judge
from tests.labelling.test_table import CONFIG, FRANCE
from tests.papers.studies.made import MadeStudy
from tests.stored import store_measurement

FACTS = {f"f{n:03}": n % 2 == 0 for n in range(40)}
EVIL = "<b onclick=alert(1)>bold</b> \u202eback"


@pytest.fixture
def results(home: Path) -> Path:
    one = kgprobe.open(store_measurement(home / "probes" / "one", FACTS))
    two = kgprobe.open(store_measurement(home / "probes" / "two", FACTS, model="two"))
    kgprobe.compare([one, two]).page()
    kgprobe.check(one, two).page()
    write_judged_graph(home / "judged" / "everything", [judged(f"f{n}", 0, [1]) for n in range(30)], shards=2)
    told = {"name": "my-run", "headline": f"It knows {EVIL}", "rounds": 2, "questions": 128}
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


def test_results_are_listed_newest_first(results: Path) -> None:
    kept = kgprobe.list_results()
    listed = {(one.kind, one.name) for one in kept.results}
    assert {("measurement", "one"), ("measurement", "two"), ("run", "my-run"), ("judged graph", "everything")} <= listed
    assert [one.kind for one in kept.results].count("comparison") == 2
    assert len(listed) == len(kept.results) == 6
    changed = [one.changed for one in kept.results]
    assert changed == sorted(changed, reverse=True)
    (note,) = kept.notes
    assert "damaged cannot be read" in note
    rows = {row["name"]: row for row in kept.rows()}
    assert rows["my-run"]["headline"] == f"2 rounds, 128 asked; It knows {EVIL}"
    assert (rows["my-run"]["rounds"], rows["my-run"]["asked"]) == (2, 128)
    assert rows["my-run"]["page"] == str(results / "runs" / "my-run-0123abcd" / "finding.html")
    assert rows["one"]["page"] is None
    assert "30 facts" in rows["everything"]["headline"]
    assert len(kept.to_frame()) == 6


def test_results_without_any_name_the_demo(home: Path) -> None:
    kept = kgprobe.list_results()
    assert kept.rows() == kept.tables() == []
    assert "no result" in kept.summary()
    assert "kgprobe demo" in kept.page().read_text(encoding="utf-8")
    assert kept.page().parent == home


def test_results_page_is_searched_and_links_pages(results: Path) -> None:
    path = kgprobe.list_results().page()
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
        assert "kgprobe show one" in page.locator("#index-table").inner_text()
        page.select_option("#index-kind", "run")
        page.click("#index-table a:visible")
        assert page.title() == "the page of the run"
        assert seen.complaints == []


class World(NamedTuple):
    """A home folder, and a graph with a tiny model for the kinds that need them."""

    home: Path
    graph: Graph
    model: Model


def make_measurement(world: World) -> str:
    options = {"limit": 4, "distractors": 2, "sentences": 1, "as_of": 20240101}
    return kgprobe.measure(world.graph, world.model, name="a-measurement", **options).folder.name


def make_run(world: World) -> str:
    options = {"rounds": 1, "facts_per_round": 4, "distractors": 2, "as_of": 20240101}
    run = kgprobe.run_rounds(world.graph, world.model, name="a-run", **options)
    run.page()
    return run.name


def make_label_table(world: World) -> str:
    table = write_label_table(
        world.home / "labels" / "some-labels", CONFIG, [FRANCE], msgspec.json.encode(LabelStatistics())
    )
    return table.name


def make_judge(world: World) -> str:
    folder = world.home / "judges" / "a-judge"
    folder.mkdir(parents=True)
    save_judge(judge(), folder)
    return folder.name


def make_judged_graph(world: World) -> str:
    world.graph.write("judge/keep", id="a-graph", properties={"facts": 3}, rows=[])
    return write_judged_graph(world.home / "judged" / "a-graph", [judged(f"f{n}", 0, [1]) for n in range(3)]).name


def make_dataset(world: World) -> str:
    folder = write_dataset(world.home.parent / "some-facts", "jsonl", [row(8)])
    link_dataset(folder)
    return folder.name


def make_comparison(world: World) -> str:
    folders = [store_measurement(world.home / name, FACTS, model=name) for name in ("first", "second")]
    return kgprobe.compare([kgprobe.open(folder) for folder in folders]).page().parent.name


def make_study(world: World) -> str:
    assert world.home
    study = MadeStudy(title="A study", verdict="It is so.", data=[{"x": 1}, {"x": 2}]).save()
    study.page()
    return study.folder.name


def make_report(world: World) -> str:
    folder = write_judged_graph(world.home / "reported", [judged(f"f{n}", 0, [1]) for n in range(3)])
    return kgprobe.make_report([kgprobe.open(folder)]).page().parent.name


MADE: Mapping[str, tuple[Callable[[World], str], type[Any]]] = {
    "measurement": (make_measurement, Measurement),
    "run": (make_run, Run),
    "label table": (make_label_table, Labels),
    "judge": (make_judge, Judge),
    "judged graph": (make_judged_graph, JudgedGraph),
    "data set": (make_dataset, Dataset),
    "comparison": (make_comparison, Comparison),
    "study": (make_study, MadeStudy),
    "report": (make_report, StoredReport),
}


@pytest.mark.parametrize("kind", KINDS)
def test_stored_result_is_listed_opened_shown_and_deleted(
    kind: str, home: Path, example_graph: Graph, tiny: Model, tmp_path: Path
) -> None:
    make, opened_as = MADE[kind]
    name = make(World(home, example_graph, tiny))
    (listed,) = kgprobe.list_results(kinds=[kind]).results
    assert (listed.kind, listed.name) == (kind, name)
    assert listed.headline
    for given, of in ((name, None), (listed.folder, None), (name, kind), (None, kind)):
        assert type(kgprobe.open(given, example_graph, kind=of)) is opened_as
    with pytest.raises(UnknownNameError, match=f"No result is named '{name}x'; near: .*{kind} {name}"):
        kgprobe.open(f"{name}x", example_graph)
    where = {"KGPROBE_HOME": str(home), **environment_of(example_graph.endpoint)}
    shown = cli("show", name, **where)
    assert (shown.returncode, "Traceback" in shown.stderr) == (0, False), shown.stderr
    assert shown.stdout
    content = json.loads(cli("show", name, "--kind", kind.replace(" ", "-"), "--json", **where).stdout)
    assert content
    succeed("show", name, "--csv", str(tmp_path / "rows.csv"), **where)
    assert (tmp_path / "rows.csv").exists()
    refused = cli("delete", name, typed="n\n", **where)
    assert (refused.returncode, listed.folder.exists()) == (1, True)
    deleted = succeed("delete", name, "--yes", **where)
    assert deleted.stdout == f"Deleted the {kind} {name}.\n"
    assert not listed.folder.exists()
    assert kgprobe.list_results(example_graph, kinds=[kind]).results == []
    assert example_graph.query("MATCH (n:KgprobeJudgedGraph|Belief) RETURN n").rows == ()
    with pytest.raises(UnknownNameError):
        kgprobe.delete(name, example_graph)


def test_delete_label_table_takes_measurements_of_its_own(home: Path) -> None:
    for name in ("first", "second", "other"):
        store_measurement(home / "probes" / name, FACTS, model=f"hf:/models/{name}")
    write_label_table(home / "labels" / "films", CONFIG | {"measurements": {"recall": ["first", "second"]}}, [FRANCE])
    compared = kgprobe.compare([kgprobe.open("second"), kgprobe.open("other")]).page().parent.name
    listed = {row.name: row for row in kgprobe.list_results().results}
    assert set(listed) == {"films", "other", compared}
    assert set(listed["films"].parts) == {"first", "second"}
    assert listed["films"].bytes > folder_size(home / "labels" / "films")
    assert listed[compared].model == "second, other"
    assert len(kgprobe.list_results(kinds=["measurement"]).results) == 3
    refused = cli("delete", "other", typed="n\n", KGPROBE_HOME=str(home))
    assert f"Made from it: comparison {compared}. They stay" in refused.stderr
    done = succeed("delete", "films", "--yes", KGPROBE_HOME=str(home))
    assert done.stdout == "Deleted the label table films with its 1 measurement.\n"
    assert sorted(path.name for path in (home / "probes").iterdir()) == ["other", "second"]


def test_open_name_of_several_kinds_is_refused(home: Path) -> None:
    store_measurement(home / "probes" / "films", FACTS)
    write_label_table(home / "labels" / "films", CONFIG, [FRANCE])
    with pytest.raises(ArgumentError, match="`name` is 'films', which is a measurement and a label table; choose"):
        kgprobe.open("films")
    assert type(kgprobe.open("films", kind="measurement")) is Measurement
    with pytest.raises(UnknownNameError, match="films is a measurement and a label table; expected a judge"):
        kgprobe.open("films", kind="judge")
    done = cli("show", "films", KGPROBE_HOME=str(home))
    assert (done.returncode, "choose one by --kind" in " ".join(done.stderr.split())) == (2, True)


def test_open_unknown_name_lists_near_names_of_every_kind(home: Path) -> None:
    store_measurement(home / "probes" / "films-base", FACTS)
    (home / "runs" / "films-0123abcd").mkdir(parents=True)
    with pytest.raises(UnknownNameError, match="near: run films, measurement films-base"):
        kgprobe.open("filmss")
    with pytest.raises(UnknownNameError, match="No result is named 'aaaa"):
        kgprobe.open("a" * 400)
    with pytest.raises(UnknownNameError, match="No result is named 'zebra'; `kgprobe results` lists all"):
        kgprobe.open("zebra")
    with pytest.raises(UnknownNameError, match="nowhere holds no result"):
        kgprobe.open(home / "nowhere")
    with pytest.raises(ArgumentError, match="`kind` is 'picture'"):
        kgprobe.open("films", kind="picture")


def test_open_run_without_its_graph_names_the_argument(home: Path) -> None:
    (home / "runs" / "films-0123abcd").mkdir(parents=True)
    with pytest.raises(ArgumentError, match="`graph` is missing: the run 'films'"):
        kgprobe.open("films")
    with pytest.raises(ArgumentError, match="`graph` is missing"):
        kgprobe.delete("films")


def test_open_runs_of_one_name_in_two_graphs_lists_their_folders(home: Path) -> None:
    for number in ("0123abcd", "89abcdef"):
        (home / "runs" / f"films-{number}").mkdir(parents=True)
    with pytest.raises(ArgumentError, match=r"a run of several graphs; .*films-0123abcd, films-89abcdef"):
        kgprobe.open("films")


def test_delete_run_of_a_deleted_graph_removes_its_files(home: Path, example_graph: Graph) -> None:
    folder = home / "runs" / "gone-0123abcd"
    folder.mkdir(parents=True)
    kgprobe.delete("gone", example_graph)
    assert not folder.exists()


def test_delete_result_in_use_is_refused(home: Path) -> None:
    import filelock

    folder = store_measurement(home / "probes" / "busy", FACTS)
    with filelock.FileLock(folder / "lock"), pytest.raises(KgprobeError, match="Another process uses"):
        kgprobe.delete("busy")
    assert folder.exists()
