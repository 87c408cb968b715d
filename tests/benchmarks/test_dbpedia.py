"""The benchmark of the DBpedia reader: its input is what it says, and all of it is read."""

from pathlib import Path

import pytest

from benchmarks import dbpedia
from kgprobe.base.records import Fact, Rejected
from kgprobe.loaders.rdf.triples import read_triples
from kgprobe.sources.contract import open_source
from kgprobe.sources.lines import open_input

pytestmark = pytest.mark.usefixtures("module_home")


def test_usual_files_are_readable_triples_and_seeded(tmp_path: Path) -> None:
    paths = dbpedia.usual_files(tmp_path, 1000, seed=0, kind="zst")
    read = [quad for path in paths for _, quad in read_triples(open_input(path))]
    assert len(read) == 1000
    source = open_source("dbpedia", files=paths)
    records = [one.record for stream in (source.relations(), source.entities(), source.facts()) for one in stream]
    assert not [record for record in records if isinstance(record, Rejected)]
    # Those that are stated twice are given once.
    assert 580 < sum(isinstance(record, Fact) for record in records) <= 600
    before = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in dbpedia.usual_files(tmp_path, 1000, seed=0, kind="zst")] == before
    assert [path.read_bytes() for path in dbpedia.usual_files(tmp_path, 1000, seed=1, kind="zst")] != before


def test_every_compression_is_measured(tmp_path: Path) -> None:
    rows = dbpedia.measure(tmp_path, 200, repeats=1, seed=0, kinds=["plain", "zst", "bz2"])
    assert [row.case for row in rows if row.peer] == ["plain, parser", "zst, parser", "bz2, parser"]
    assert all(row.value > 0 for row in rows)
    assert len(rows) == 15
