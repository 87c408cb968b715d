"""JSON values one at a time: what a file holds, however it is cut into pieces, and what is left where it is broken."""

import gzip
import json
import random
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgprobe.base.records import Rejected
from kgprobe.sources import json_values as module
from kgprobe.sources.json_values import json_values
from kgprobe.sources.lines import InputFile, open_input, open_members

QUICK = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])

TEXTS = st.one_of(st.text(max_size=8), st.sampled_from(['"', "\\", '{"id": 1}, {"id"', "]", "[{", "é漢😀", "\n"]))
INNER = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)
RECORDS = st.lists(st.builds(lambda inner: {"id": 1, "inner": inner}, INNER), max_size=6)


def is_record(value: Any) -> bool:
    return isinstance(value, dict) and "inner" in value


def values(path: Path) -> list[Any]:
    return [value for _, value in json_values(open_input(path), is_record)]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows so small that most values are cut."""
    monkeypatch.setattr(module, "_LEAST", 3)
    monkeypatch.setattr(InputFile, "pieces", _bytes_alone)


def _bytes_alone(self: InputFile) -> Iterator[bytes]:
    content = self.path.read_bytes()
    return (content[at : at + 1] for at in range(len(content)))


@pytest.mark.usefixtures("small")
@given(records=RECORDS, indent=st.sampled_from([None, 1]), lines=st.booleans(), ascii_only=st.booleans())
@QUICK
def test_values_are_those_of_the_whole(
    tmp_path: Path, records: list[Any], indent: int | None, lines: bool, ascii_only: bool
) -> None:
    texts = [json.dumps(record, indent=indent, ensure_ascii=ascii_only) for record in records]
    path = tmp_path / "values.json"
    path.write_text(
        "\n".join(texts) + "\n" if lines else json.dumps(records, indent=indent, ensure_ascii=ascii_only) + "\n"
    )
    assert values(path) == records


@pytest.mark.usefixtures("small")
@given(
    before=RECORDS,
    after=RECORDS,
    broken=st.sampled_from(
        ['{"id": }', '{"id": 1, "inner": "a"b"}', "{,}", '{"id": 1 "inner": {"id": [{"id": 2}]}}', '{"id": "\t"}']
    ),
    lines=st.booleans(),
)
@QUICK
def test_what_is_broken_costs_itself_alone(
    tmp_path: Path, before: list[Any], after: list[Any], broken: str, lines: bool
) -> None:
    path = tmp_path / "values.json"
    texts = [*map(json.dumps, before), broken, *map(json.dumps, after)]
    path.write_text("\n".join(texts) + "\n" if lines else f"[{', '.join(texts)}]")
    found = values(path)
    (lost,) = (value for value in found if isinstance(value, Rejected))
    assert found == [*before, lost, *after]
    assert lost.reason.startswith("not JSON: ")
    assert not lost.broken_off


@pytest.mark.parametrize("array", [True, False])
def test_lines_are_counted(tmp_path: Path, array: bool) -> None:
    path = tmp_path / "values.json"
    text = '{"inner": 1}\n\n{"inner":\n2}\n{,}\n{"inner": "\\n"}'
    path.write_text(f"[\n{text}]" if array else f"\n{text}")
    assert [line for line, _ in json_values(open_input(path), is_record)] == [2, 4, 6, 7]


@pytest.mark.parametrize("array", [True, False])
def test_end_within_a_record_is_told(tmp_path: Path, array: bool) -> None:
    path = tmp_path / "values.json"
    whole = '{"inner": 1}\n{"inner": "two"}'
    path.write_text(("[" if array else "") + whole[:-4])
    first, last = values(path)
    assert first == {"inner": 1}
    assert last == Rejected("the file ends within a record (a download that was cut short?)", broken_off=True)
    path.write_text(f"[{whole}")
    assert values(path)[2:] == [
        Rejected("the file ends within its array (a download that was cut short?)", broken_off=True)
    ]
    path.write_bytes(gzip.compress(f"[{whole}]".encode())[:-12])
    assert values(path)[-1].reason.startswith("the file breaks off: its compressed data ends too early")


def test_what_stands_before_a_break_is_read(tmp_path: Path) -> None:
    path = tmp_path / "values.json.gz"
    noise = random.Random(0)
    records = [{"inner": noise.randbytes(400).hex()} for _ in range(1000)]
    packed = gzip.compress(json.dumps(records).encode())
    path.write_bytes(packed[: len(packed) // 2])
    *found, last = values(path)
    assert last.broken_off
    assert len(found) > 400
    assert found == records[: len(found)]


def test_what_no_record_can_be_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "values.json"
    monkeypatch.setattr(module, "VALUE_LIMIT", 1000)
    monkeypatch.setattr(module, "_LEAST", 100)
    monkeypatch.setattr(InputFile, "pieces", _bytes_alone)
    texts = ['{"inner": 1}', '{"inner": "' + "x" * 5000 + '"}', '{"inner": 2}']
    for text in ("\n".join(texts), f"[{','.join(texts)}]"):
        path.write_text(text)
        first, lost, last = values(path)
        assert (first, last) == ({"inner": 1}, {"inner": 2})
        assert lost == Rejected("longer than 1,000 characters, the limit for a record")
    path.write_text('{"inner": 1}\n' + '{"a":' * 5000 + "\n" + '{"inner": ' + "9" * 5000 + '}\n{"inner": 2}\n')
    monkeypatch.undo()
    first, deep, long, last = values(path)
    assert (first, last) == ({"inner": 1}, {"inner": 2})
    assert deep == Rejected("nested too deeply")
    assert long.reason.startswith("not JSON: Exceeds the limit")


def test_bytes_that_are_no_text_are_half_characters(tmp_path: Path) -> None:
    path = tmp_path / "values.json"
    path.write_bytes(b'\xef\xbb\xbf[{"inner": "\xff\xc3"}]')
    assert values(path) == [{"inner": "\udcff\udcc3"}]


def test_member_of_a_zip_is_read_like_a_file(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("b.json", '[{"inner": 2}]' + " " * 10_000)
        archive.writestr("a.json", "one\ntwo\n")
        archive.writestr("__MACOSX/a.json", "none")
    first, second = open_members(path, [".json"])
    assert (first.name, second.name) == ("all.zip/a.json", "all.zip/b.json")
    assert list(first.lines()) == [(1, b"one"), (2, b"two")]
    assert list(json_values(second, is_record)) == [(1, {"inner": 2})]
    assert 0 < second.position == second.size < 10_000
