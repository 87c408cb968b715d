"""Files line by line or piece by piece, whatever they are compressed with, up to where they break.

Compression is told by content (gzip, bzip2, zstd), not by name; a file within a .zip is one of its own. Lines are
bytes: what they mean, and whether they are UTF-8, is for the format to say.
"""

import bz2
import hashlib
import io
import json
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kgprobe.errors import KgprobeError
from kgprobe.records import Rejected

try:
    # Unpacks three times as fast as zlib; made for the common processors only.
    from isal import isal_zlib as inflate
except ImportError:
    import zlib as inflate  # type: ignore[no-redef]

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# Wikidata's largest entities have a few MB. The limit keeps a file without line breaks from filling the memory.
LINE_LIMIT = 64 * 2**20

# What a file that breaks off raises: too short, unreadable or of a wrong checksum, or damaged.
BREAKS: tuple[type[Exception], ...] = (EOFError, OSError, inflate.error)  # type: ignore[assignment]

# What a damaged or encrypted .zip raises beside these; it is unpacked by the standard library's zlib.
_ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, KeyError)

_BUFFER = 2**20
_HEAD = 2**16
_LINES_BETWEEN_LOOKS = 128
_ZSTD = b"\x28\xb5\x2f\xfd"
_MARK = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UNREADABLE = {
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ\x00": "xz",
    b"7z\xbc\xaf\x27\x1c": "7z",
}


@dataclass(slots=True)
class InputFile:
    """A file to be read any number of times.

    Attributes:
        path: where it is.
        size: its bytes as they lie on the disk.
        position: how many of them the latest reading has consumed.
        member: which file of the .zip that ``path`` is; empty where that is the file itself.
        offset: where its bytes begin in ``path``.
    """

    path: Path
    size: int
    position: int = 0
    member: str = ""
    offset: int = 0

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"{self.path.name}/{self.member}" if self.member else self.path.name

    def pieces(self) -> Iterator[bytes | Rejected]:
        """Start anew, and give the bytes as they come, at most 1 MiB at a time, without a mark of their order.

        As the last stands :class:`Rejected` where the file breaks off.

        Raises:
            KgprobeError: the file cannot be opened any more.
        """
        self.position = 0
        first = True
        with _open(self.path) as raw, _unpacked(raw, self.member) as stream:
            while True:
                try:
                    # Not `read`, which gathers pieces and loses them where one fails.
                    piece = stream.read1(_BUFFER)
                except BREAKS as error:
                    yield Rejected(f"the file breaks off: {_why(error)}; what follows is lost", broken_off=True)
                    break
                if not piece:
                    break
                self.position = self._consumed(raw)
                yield piece.removeprefix(_MARK) if first else piece
                first = False
        self.position = self.size

    def _consumed(self, raw: io.BufferedReader) -> int:
        return min(self.size, max(0, raw.tell() - self.offset))

    def lines(self) -> Iterator[tuple[int, bytes | Rejected]]:
        """Start anew, and give each line's number and its bytes without the line break.

        In place of the bytes stands :class:`Rejected` for a line beyond ``LINE_LIMIT``, and, as the last, where the
        file breaks off: the lines before were whole, what follows is lost.

        Raises:
            KgprobeError: the file cannot be opened any more.
        """
        self.position = 0
        number = 0
        with _open(self.path) as raw, _unpacked(raw, self.member) as stream:
            while True:
                try:
                    line = stream.readline(LINE_LIMIT)
                    whole = len(line) < LINE_LIMIT or line.endswith(b"\n") or _skip_rest_of_line(stream)
                except BREAKS as error:
                    reason = f"the file breaks off: {_why(error)}; this line and all after it are lost"
                    yield number + 1, Rejected(reason, broken_off=True)
                    break
                if not line:
                    break
                number += 1
                if number % _LINES_BETWEEN_LOOKS == 1:
                    self.position = self._consumed(raw)
                if not whole:
                    yield number, Rejected(f"longer than {LINE_LIMIT // 2**20} MiB, which no record is")
                    continue
                if number == 1:
                    line = line.removeprefix(_MARK)
                yield number, line.rstrip(b"\r\n")
        self.position = self.size


def open_input(path: Path) -> InputFile:
    """Look at a file, and refuse early what no reading could make sense of.

    Raises:
        KgprobeError: it is missing, a folder, not ours to read, empty, or compressed in a way we cannot undo.
    """
    with _open(path) as raw:
        head = raw.read(6)
        for mark, kind in _UNREADABLE.items():
            if head.startswith(mark):
                raise KgprobeError(f"{path} is a {kind} file; plain, .gz, .bz2 and .zst can be read. Unpack it first.")
        if head.startswith(_UTF16):
            raise KgprobeError(f"{path} is UTF-16; UTF-8 is expected. Save it as UTF-8 (in Excel: CSV UTF-8).")
        raw.seek(0)
        try:
            with _decompress(raw) as stream:
                empty = not stream.read(1)
        except BREAKS as error:
            raise KgprobeError(f"{path} cannot be unpacked: {_why(error)}.") from error
    if empty:
        raise KgprobeError(f"{path} is empty; did its download or export fail?")
    return InputFile(path, path.stat().st_size)


def open_members(path: Path, suffixes: Sequence[str]) -> list[InputFile]:
    """The files of a .zip that end in one of the suffixes, by name.

    Raises:
        KgprobeError: it cannot be read, or has none.
    """
    with _open(path) as raw:
        try:
            members = zipfile.ZipFile(raw).infolist()
        except (OSError, ValueError, *_ZIP_FAULTS) as error:
            raise KgprobeError(f"{path} cannot be unpacked: {_why(error)}.") from error
    found = [
        InputFile(path, member.compress_size, member=member.filename, offset=member.header_offset)
        for member in sorted(members, key=lambda member: member.filename)
        # Those of macOS are notes on the others.
        if member.filename.endswith(tuple(suffixes)) and not member.filename.startswith("__MACOSX/")
    ]
    if not found:
        raise KgprobeError(f"{path} has no file that ends in {' or '.join(suffixes)}.")
    return found


def fingerprint(files: Sequence[InputFile], options: Mapping[str, object]) -> str:
    """A short text that changes when one of the files changes, or an option does.

    Of a file count its name, size, time of change and first 64 KiB, so that 100 GB need not be read twice.

    Args:
        options: JSON values; sets have to be sorted by the caller.
    """
    looks = []
    for file in files:
        with _open(file.path) as raw:
            head = hashlib.blake2b(raw.read(_HEAD)).hexdigest()
        status = file.path.stat()
        looks.append([file.name, status.st_size, status.st_mtime_ns, head])
    return hashlib.blake2b(json.dumps([looks, options], sort_keys=True).encode(), digest_size=16).hexdigest()


def _open(path: Path) -> io.BufferedReader:
    try:
        if path.is_dir():
            raise KgprobeError(f"{path} is a folder; a file is expected.")
        if path.exists() and not path.is_file():
            raise KgprobeError(f"{path} is no regular file; it is read more than once, so a pipe will not do.")
        return io.BufferedReader(path.open("rb", buffering=0), _BUFFER)
    except FileNotFoundError as error:
        raise KgprobeError(f"{path} does not exist.") from error
    except PermissionError as error:
        raise KgprobeError(f"{path} may not be read by this user; its permissions forbid it.") from error
    except (OSError, ValueError) as error:
        raise KgprobeError(f"{path} cannot be opened: {_why(error)}.") from error


def _unpacked(raw: io.BufferedReader, member: str) -> io.BufferedReader:
    """What a file holds; of a .zip, what one of its files does."""
    return io.BufferedReader(_Pieces(_of_zip(raw, member)), _BUFFER) if member else _decompress(raw)


def _of_zip(raw: io.BufferedReader, member: str) -> Iterator[bytes]:
    """What a file of a .zip holds, piece by piece.

    Raises:
        OSError: it is damaged, encrypted, or packed in a way that Python cannot undo.
    """
    try:
        with zipfile.ZipFile(raw) as archive, archive.open(member) as packed:
            while piece := packed.read(_BUFFER):
                yield piece
    except _ZIP_FAULTS as error:
        raise OSError(str(error)) from error


def _decompress(raw: io.BufferedReader) -> io.BufferedReader:
    head = raw.read(4)
    raw.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return io.BufferedReader(_Pieces(_unpack(raw, lambda: inflate.decompressobj(wbits=31), size=2**15)), _BUFFER)
    if head == _ZSTD:
        return io.BufferedReader(_Pieces(_of_zstd(raw)), _BUFFER)
    if head.startswith(b"BZh"):
        # A few bytes may hold a block of 900 kB.
        return io.BufferedReader(_Pieces(_unpack(raw, bz2.BZ2Decompressor, size=2**12)), _BUFFER)
    return raw


def _of_zstd(raw: io.BufferedReader) -> Iterator[bytes]:
    """What a file packed by zstd holds, piece by piece.

    Raises:
        EOFError: it ends within a part.
        OSError: it is damaged.
    """
    # Here, so that only those wait for it who have such a file.
    import pyarrow as pa

    packed = pa.CompressedInputStream(pa.PythonFile(_LeftOpen(raw), mode="r"), "zstd")
    while True:
        try:
            # What is read with a failure is lost, so it is little.
            piece = packed.read(2**12)
        except OSError as error:
            if "Truncated" in str(error):
                raise EOFError from error
            raise
        if not piece:
            return
        yield piece


class _LeftOpen:
    """A file that pyarrow reads: pyarrow closes its files, and the opener of this one still needs it."""

    closed = False

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw = raw

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        return self._raw.read(size)

    def close(self) -> None:
        """Leave the file open."""


class _Part(Protocol):
    """What unpacks one of the parts that a packed file may have one after the other."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _unpack(raw: io.BufferedReader, begin: Callable[[], _Part], size: int) -> Iterator[bytes]:
    """What a packed file holds, piece by piece; zeros after its last part are nothing.

    Args:
        size: of the packed data that is unpacked in one go; what it unpacks to has to fit into memory.

    Raises:
        EOFError: it ends within a part.
    """
    packed = raw.read(size)
    while packed:
        part = begin()
        while not part.eof:
            if not packed:
                raise EOFError
            yield part.decompress(packed)
            packed = part.unused_data if part.eof else raw.read(size)
        while not packed.strip(b"\0") and (more := raw.read(size)):
            packed = more
        packed = packed.lstrip(b"\0")


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file. The readers of ``gzip`` and ``bz2`` gather pieces, and lose them where one fails."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Yes; asked by the buffer around it."""
        return True

    def readinto(self, target: "WriteableBuffer") -> int:
        """Hand on what is left of a piece, or the next one; 0 after the last."""
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        view = memoryview(target).cast("B")
        size = min(len(view), len(self._left))
        view[:size] = self._left[:size]
        self._left = self._left[size:]
        return size


def _skip_rest_of_line(stream: io.BufferedReader) -> bool:
    while True:
        part = stream.readline(_BUFFER)
        if not part or part.endswith(b"\n"):
            return False


def _why(error: Exception) -> str:
    if isinstance(error, EOFError):
        return "its compressed data ends too early (a download that was cut short?)"
    return str(getattr(error, "strerror", None) or error).rstrip(".").lower()
