"""Files of roles are read as they were written, and faults are named with their line."""

from pathlib import Path

import pytest

from kgprobe.base.errors import ArgumentError
from kgprobe.labelling.roles import FAR, TAUGHT, FactRole, read_roles, write_roles

ROLES = [FactRole("Q142", "f1", TAUGHT), FactRole("Q657", "f2", FAR, of="f1")]


def test_roles_written_and_read_are_equal(tmp_path: Path) -> None:
    write_roles(tmp_path / "roles.jsonl", ROLES)
    assert list(read_roles(tmp_path / "roles.jsonl")) == ROLES


@pytest.mark.parametrize("line", ['{"subject": "Q1"}', "France", '{"subject": "Q1", "fact": "f", "role": "close"}'])
def test_wrong_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "roles.jsonl").write_text('{"subject": "Q142", "fact": "f1", "role": "taught"}\n' + line)
    with pytest.raises(ArgumentError, match="line 2"):
        list(read_roles(tmp_path / "roles.jsonl"))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="cannot be read"):
        list(read_roles(tmp_path / "none.jsonl"))
