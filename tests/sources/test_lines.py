"""Files line by line: plain, .gz, .bz2, and all the ways in which they are not what they should be."""

import bz2
import gzip
import os
import zipfile
import zlib
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Rejected
from kgprobe.sources import lines as reading
from kgprobe.sources.lines import InputFile, fingerprint, open_input, open_members


def zst(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return packed


PACK = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "zst": zst}
TEXT = b"".join(b"line %d, %s\n" % (number, os.urandom(40).hex().encode()) for number in range(1, 5001))


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def texts(file: InputFile) -> list[bytes]:
    return [line for _, line in file.lines() if isinstance(line, bytes)]


@pytest.mark.usefixtures("unpacker")
@pytest.mark.parametrize("kind", PACK)
def test_lines_are_the_same_in_every_compression_and_each_time(tmp_path: Path, kind: str) -> None:
    file = open_input(written(tmp_path / "any.name", PACK[kind](TEXT)))
    assert list(file.lines()) == list(enumerate(TEXT.splitlines(), start=1))
    assert texts(file) == TEXT.splitlines()
    assert file.position == file.size


@pytest.mark.parametrize("kind", PACK)
def test_last_line_without_a_break_is_read(tmp_path: Path, kind: str) -> None:
    file = open_input(written(tmp_path / "any.name", PACK[kind](b"one line")))
    assert texts(file) == [b"one line"]
    assert list(file.pieces()) == [b"one line"]


def test_zip_with_damaged_data_breaks_off(tmp_path: Path) -> None:
    path = tmp_path / "damaged.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("facts.tsv", TEXT)
    packed = bytearray(path.read_bytes())
    # The first bytes of the packed data, behind the member's header and name.
    packed[39:59] = b"\xff" * 20
    (file,) = open_members(written(path, bytes(packed)), [".tsv"])
    ((_, problem),) = file.lines()
    assert isinstance(problem, Rejected)
    assert "the file breaks off: error -3 while decompressing data" in problem.reason


@pytest.mark.parametrize("kind", ["gz", "bz2", "zst"])
def test_parts_packed_one_after_the_other_are_one_file(tmp_path: Path, kind: str) -> None:
    file = open_input(written(tmp_path / "parts", PACK[kind](b"a\nb\n") + PACK[kind](b"c\n")))
    assert texts(file) == [b"a", b"b", b"c"]


@pytest.fixture(params=["isal", "zlib"])
def unpacker(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The fast unpacker of gzip, and the one that takes its place where it does not exist."""
    if request.param == "isal":
        pytest.importorskip("isal")
    else:
        monkeypatch.setattr(reading, "inflate", zlib)
        monkeypatch.setattr(reading, "BREAKS", (EOFError, OSError, zlib.error))
    name: str = request.param
    return name


@pytest.mark.usefixtures("unpacker")
@pytest.mark.parametrize("share", [0.3, 0.7, 0.9999])
@pytest.mark.parametrize("kind", ["gz", "bz2", "zst"])
@pytest.mark.representatives(5)
def test_damaged_pack_keeps_its_whole_part_and_names_the_break(tmp_path: Path, kind: str, share: float) -> None:
    # bzip2 packs blocks of 900 kB, so less than one of them would leave nothing to keep.
    text = TEXT * 10
    packed = PACK[kind](text)
    *kept, (line, problem) = open_input(written(tmp_path / f"cut.{kind}", packed[: int(len(packed) * share)])).lines()
    assert len(kept) > 1000
    assert kept == list(enumerate(text.splitlines(), start=1))[: len(kept)]
    assert line == len(kept) + 1
    assert isinstance(problem, Rejected)
    assert problem.reason.startswith("the file breaks off: its compressed data ends too early")
    if kind == "gz":
        readable = zlib.decompressobj(31).decompress(packed[: int(len(packed) * share)])
        assert len(kept) == readable.count(b"\n")


@pytest.mark.usefixtures("unpacker")
def test_damage_within_packed_data_is_named_too(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(TEXT * 10))
    packed[-8] ^= 1
    *kept, (_, problem) = open_input(written(tmp_path / "damaged.gz", bytes(packed))).lines()
    assert len(kept) > 1000
    assert isinstance(problem, Rejected)
    assert "the file breaks off" in problem.reason
    assert "lines before may be damaged, too" in problem.reason


@pytest.mark.usefixtures("unpacker")
def test_trailing_bytes_are_damage_unless_zeros(tmp_path: Path) -> None:
    packed = gzip.compress(b"a\nb\n")
    assert texts(open_input(written(tmp_path / "padded.gz", packed + bytes(100_000)))) == [b"a", b"b"]
    *_, (_, problem) = open_input(written(tmp_path / "followed.gz", packed + b"more")).lines()
    assert isinstance(problem, Rejected)


def test_position_moves_with_the_reading(tmp_path: Path) -> None:
    # Large enough that reading ahead does not reach the end at once.
    file = open_input(written(tmp_path / "long", TEXT * 20))
    positions = [file.position for _ in file.lines()]
    assert 0 < positions[len(positions) // 2] < file.size
    assert positions == sorted(positions)


def test_carriage_returns_and_the_byte_order_mark_are_no_text(tmp_path: Path) -> None:
    assert texts(open_input(written(tmp_path / "dos.txt", b"\xef\xbb\xbfa\r\nb\r\nc"))) == [b"a", b"b", b"c"]


def test_line_beyond_limit_is_skipped_next_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINE_LIMIT", 1 << 20)
    path = written(tmp_path / "wide", b"a\n" + b"x" * (3 << 20) + b"\nb\n")
    first, (number, problem), last = open_input(path).lines()
    assert (first, last) == ((1, b"a"), (3, b"b"))
    assert number == 2
    assert problem == Rejected("longer than 1 MiB, the limit for a line")


def test_line_of_exactly_the_limit_is_no_longer_than_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LINE_LIMIT", 8)
    assert texts(open_input(written(tmp_path / "wide", b"1234567\n1234567"))) == [b"1234567", b"1234567"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (bz2.compress(b""), "is empty"),
        (b"PK\x03\x04....", "is a zip file"),
        (b"\x28\xb5\x2f\xfd....", "cannot be unpacked"),
        (b"\x1f\x8b\x08", "cannot be unpacked"),
        (b"BZh9 but nothing after it", "cannot be unpacked"),
    ],
)
def test_unreadable_files_are_refused_at_once(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(KgprobeError, match=message):
        open_input(written(tmp_path / "input", content))


def test_missing_file_a_folder_and_a_pipe_are_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(KgprobeError, match=r"absent\.tsv does not exist"):
        open_input(tmp_path / "absent.tsv")
    with pytest.raises(KgprobeError, match="is a folder; a file is expected"):
        open_input(tmp_path)
    with pytest.raises(KgprobeError, match=r"cannot be opened|does not exist"):
        open_input(Path("a\0b"))
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(KgprobeError, match="not a regular file"):
            open_input(tmp_path / "pipe")


def test_file_that_may_not_be_read_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "secret", b"a\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        # The administrator reads everything: what the system would say to anybody else is said for it.
        def refuse(self: Path, *_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied", str(self))

        monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(KgprobeError, match="cannot be read: permission denied"):
        open_input(path)


def test_fingerprint_follows_content_options_and_time(tmp_path: Path) -> None:
    path = written(tmp_path / "a", b"one\n")
    os.utime(path, ns=(1, 1))
    before = fingerprint([open_input(path)], {"truthy": False})
    assert fingerprint([open_input(path)], {"truthy": False}) == before
    assert fingerprint([open_input(path)], {"truthy": True}) != before
    os.utime(path, ns=(1, 2))
    assert fingerprint([open_input(path)], {"truthy": False}) != before
    written(path, b"two\n")
    os.utime(path, ns=(1, 1))
    assert fingerprint([open_input(path)], {"truthy": False}) != before


@given(content=st.binary(min_size=1, max_size=300))
def test_any_bytes_are_lines_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = written(tmp_path_factory.getbasetemp() / "any-bytes", content)
    try:
        file = open_input(path)
    except KgprobeError:
        return
    assert [number for number, _ in file.lines()] == list(range(1, len(list(file.lines())) + 1))


@given(content=st.binary(max_size=200), at=st.integers(0, 400), kind=st.sampled_from(["gz", "bz2"]))
def test_any_damage_to_packed_bytes_is_refused_or_named(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, at: int, kind: str
) -> None:
    packed = bytearray(PACK[kind](content + b"\n"))
    packed[at % len(packed)] ^= 0xFF
    path = written(tmp_path_factory.getbasetemp() / "damaged", bytes(packed))
    try:
        lines = [line for _, line in open_input(path).lines()]
    except KgprobeError:
        return
    # What is left: damage where nothing is told (a time in the header), or to the mark that says how it is packed.
    harmless = lines == [line.rstrip(b"\r") for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    assert isinstance(lines[-1], Rejected) or harmless or at % len(packed) < 3
