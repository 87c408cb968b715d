"""Damaged and stray results on disk: each is named, and left out of lists."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import kgprobe
from kgprobe.answers.settings import CONFIG
from kgprobe.answers.store import FILE
from kgprobe.base.errors import KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.state import graph_state
from kgprobe.judge.judged_facts import NAMES
from kgprobe.results.answers import RESULTS
from kgprobe.results.shelf import latest_result
from kgprobe.sampling.columns.graph_columns import kept_columns, kept_said, open_columns, said_of
from kgprobe.sampling.semantic import open_features
from tests.judge.judged_files import judged, write_judged_graph
from tests.stored import store_measurement

FACTS = {f"f{n}": n % 2 == 0 for n in range(4)}


def write(name: str, content: bytes) -> Callable[[Path], None]:
    """Return a function that writes a file of a folder."""

    def damage(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return damage


def replace_by_folder(name: str) -> Callable[[Path], None]:
    """Return a function that puts a folder in place of a file."""

    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).mkdir()

    return damage


DAMAGES = [
    write(CONFIG, b"{}"),
    write(CONFIG, b"[]"),
    write(CONFIG, b'{"probe": "\xff"}'),
    write(CONFIG, b'{"probe": 1, "graph": 2}'),
    write(CONFIG, b'{"a":' * 100_000),
    replace_by_folder(CONFIG),
    write(FILE, b"\xff\xfe\n"),
    write(FILE, b'{"place": 0}\n'),
    replace_by_folder(FILE),
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_open_damaged_measurement_names_the_file(home: Path, damage: Callable[[Path], None]) -> None:
    folder = store_measurement(home / "probes" / "broken", FACTS)
    damage(folder)
    for name in ("broken", folder):
        with pytest.raises(KgprobeError, match="probes/broken"):
            kgprobe.open(name)


@pytest.mark.parametrize("damage", DAMAGES)
def test_latest_result_damaged_measurement_is_left_out(
    example_graph: Graph, home: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], None]
) -> None:
    state = graph_state(example_graph)
    store_measurement(home / "probes" / "whole", FACTS, graph=state)
    damage(store_measurement(home / "probes" / "broken", FACTS, graph=state))
    (home / "probes" / "stray").write_text("a file")
    assert latest_result(example_graph).folder.name == "whole"
    assert "broken is skipped" in capsys.readouterr().err


@pytest.mark.parametrize(
    "damage",
    [write(RESULTS, b"{"), write(RESULTS, b"\xff"), write(RESULTS, b'{"headline": 1}'), replace_by_folder(RESULTS)],
)
def test_results_damaged_one_is_named_in_a_note(home: Path, damage: Callable[[Path], None]) -> None:
    store_measurement(home / "probes" / "whole", FACTS)
    damage(store_measurement(home / "probes" / "broken", FACTS))
    kept = kgprobe.list_results()
    assert [result.name for result in kept.results] == ["whole"]
    assert [RESULTS in note for note in kept.notes] == [True]


@pytest.mark.parametrize("content", [b"\xff", b"{}", b'{"facts": [{"relation": 1}]}'])
def test_compare_damaged_finding_is_named(home: Path, content: bytes) -> None:
    results = [kgprobe.open(store_measurement(home / "probes" / name, FACTS, model=name)) for name in ("a", "b")]
    (results[0].folder / RESULTS).write_bytes(content)
    with pytest.raises(KgprobeError, match="Delete it"):
        kgprobe.compare(results)


@pytest.mark.parametrize(
    "damage",
    [
        write(CONFIG, b"{}"),
        write(CONFIG, b"\xff"),
        replace_by_folder(CONFIG),
        write(NAMES, b"[]"),
        replace_by_folder(NAMES),
        replace_by_folder("shards/00000.parquet"),
        write("shards/00000.parquet", b"PAR1"),
    ],
)
def test_open_damaged_judged_graph_names_the_file(home: Path, damage: Callable[[Path], None]) -> None:
    folder = write_judged_graph(home / "judged" / "whole-graph", [judged(f"f{n}", 0, [1]) for n in range(3)])
    damage(folder)
    with pytest.raises(KgprobeError, match=r"judged/whole-graph.*(Delete|delete)"):
        kgprobe.open("whole-graph")


def truncate(path: Path) -> None:
    """Put the first half of a file in its place; the file itself may be mapped into memory."""
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: len(content) // 2])


def empty(path: Path) -> None:
    """Put an empty file in place of one."""
    path.unlink()
    path.touch()


@pytest.mark.parametrize("damage", [Path.unlink, truncate, empty])
@pytest.mark.representatives(2)
def test_columns_damaged_file_is_made_again(
    example_graph: Graph, capsys: pytest.CaptureFixture[str], damage: Callable[[Path], object]
) -> None:
    folder = kept_columns(example_graph)
    before = open_columns(example_graph)
    for name in ("codes.json", "labels.arrow", "subjects.npy"):
        damage(folder / name)
        after = open_columns(example_graph)
        np.testing.assert_array_equal(before.subjects, after.subjects)
        assert before.labels.equals(after.labels)
        assert "it is made again" in capsys.readouterr().err


def test_columns_exchanged_files_are_made_again(example_graph: Graph, capsys: pytest.CaptureFixture[str]) -> None:
    folder = kept_columns(example_graph)
    subjects, objects = (folder / f"{name}.npy" for name in ("subjects", "objects"))
    before = subjects.read_bytes()
    for exchanged in (objects.read_bytes(), bytes(len(before))):
        subjects.unlink()
        subjects.write_bytes(exchanged)
        open_columns(example_graph)
        assert "(files differ from those written); it is made again" in capsys.readouterr().err
        assert subjects.read_bytes() == before


def test_columns_stray_file_in_their_place_is_replaced(example_graph: Graph) -> None:
    folder = kept_columns(example_graph)
    shutil.rmtree(folder)
    folder.write_text("no folder")
    assert len(open_columns(example_graph).subjects)


def test_kept_said_damaged_file_is_made_again(example_graph: Graph) -> None:
    before = said_of(kept_said(example_graph))
    truncate(kept_said(example_graph) / "said_of_subjects.npy")
    np.testing.assert_array_equal(before.of_subjects, said_of(kept_said(example_graph)).of_subjects)


def test_features_damaged_file_is_made_again(example_graph: Graph, home: Path) -> None:
    before = open_features(example_graph, "bm25")
    (folder,) = (home / "features").glob("*-bm25-*")
    (folder / "names.json").write_text("{}")
    np.testing.assert_array_equal(before.weights, open_features(example_graph, "bm25").weights)
