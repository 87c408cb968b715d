"""Lines by key on the disk: whole, in order, and in the same parts in every process."""

from pathlib import Path

import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.loaders.dbpedia import partitions as module
from kgprobe.loaders.dbpedia.partitions import Partitions


def test_lines_of_a_key_are_grouped_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_WAITING", 7)
    parts = Partitions(tmp_path / "parts", 3)
    lines = [(f"dbr:{number % 10}", f"dbr:{number % 10}\t{number}\u2028é") for number in range(100)]
    for key, line in lines:
        parts.add(key, f"{line}\n")
    parts.write()
    read = list(parts)
    assert sorted(line for part in read for line in part) == sorted(line for _, line in lines)
    keys = [{line.partition("\t")[0] for line in part} for part in read]
    assert sum(map(len, keys)) == 10
    # These do not change from one process to another, as Python's own hashes of texts do.
    assert keys == [{"dbr:0", "dbr:4", "dbr:7", "dbr:8"}, {"dbr:2", "dbr:6", "dbr:9"}, {"dbr:1", "dbr:3", "dbr:5"}]
    assert [[line for line in part if line.startswith("dbr:4")] for part in read if "dbr:4\t4\u2028é" in part] == [
        [line for key, line in lines if key == "dbr:4"]
    ]
    assert list(parts) == read
    assert parts.given == 1


def test_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    parts = Partitions(tmp_path / "parts", 1)
    (tmp_path / "parts").rmdir()
    parts.add("dbr:A", "dbr:A\n")
    with pytest.raises(KgprobeError, match=r"parts.* cannot be written: No such file .* KGPROBE_HOME"):
        parts.write()
