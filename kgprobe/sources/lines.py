"""Read plain or compressed files by lines or pieces, up to the place where they are damaged.

The content (gzip, bzip2, zstd), not the name, determines the compression. Files in a .zip are separate inputs. Lines
are bytes in UTF-8; the loader decodes them, for example as JSON. UTF-16 and UTF-32 are converted.
"""

import bz2
import codecs
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

import msgspec

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Placed, Rejected, Relation

try:
    # Three times as fast as zlib; available only for common processors.
    from isal import isal_zlib as inflate
except ImportError:
    import zlib as inflate  # type: ignore[no-redef]

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

# Wikidata's largest entities have a few MB. The limit keeps a file without line breaks from filling the memory.
LINE_LIMIT = 64 * 2**20

# Errors of an incomplete or damaged file.
BREAKS: tuple[type[Exception], ...] = (EOFError, OSError, inflate.error)  # type: ignore[assignment]

# Additional errors of a damaged or encrypted .zip, which is read with the standard library's zlib.
_ZIP_FAULTS = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, KeyError)

_BUFFER = 2**20
_HEAD = 2**16
_LINES_BETWEEN_LOOKS = 128
_ZSTD = b"\x28\xb5\x2f\xfd"
_MARK = b"\xef\xbb\xbf"
# Beginnings of other encodings: byte order marks, UTF-32 first, as its mark begins with that of UTF-16.
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_UNREADABLE = {
    b"PK\x03\x04": "zip",
    b"\xfd7zXZ\x00": "xz",
    b"7z\xbc\xaf\x27\x1c": "7z",
}


@dataclass(slots=True)
class InputFile:
    """A file that can be read any number of times.

    Attributes:
        size: size on the disk in bytes, compressed.
        position: number of these bytes that the latest reading has consumed.
        member: name of the file within a .zip; empty for other files.
        offset: position of its bytes in ``path``.
    """

    path: Path
    size: int
    position: int = 0
    member: str = ""
    offset: int = 0

    @property
    def name(self) -> str:
        """Name for messages."""
        return f"{self.path.name}/{self.member}" if self.member else self.path.name

    def pieces(self) -> Iterator[bytes | Rejected]:
        """Yield the content from the beginning in pieces of at most 1 MiB, without byte order mark.

        If the file is damaged, the last item is :class:`Rejected`.
        """
        self.position = 0
        first = True
        with _open(self.path) as raw, _unpacked(raw, self.member) as stream:
            while True:
                try:
                    # Not `read`, which collects pieces and loses them at an error.
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
        """Yield number and bytes of each line from the beginning, without line breaks.

        A line beyond ``LINE_LIMIT`` is replaced by :class:`Rejected`. If the file is damaged, the last item is
        :class:`Rejected`: the lines before it are complete, the rest is lost.
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
                    yield number, Rejected(f"longer than {LINE_LIMIT // 2**20} MiB, the limit for a line")
                    continue
                if number == 1:
                    line = line.removeprefix(_MARK)
                yield number, line.rstrip(b"\r\n")
        self.position = self.size


def open_input(path: Path) -> InputFile:
    """Return an input file after checking its first bytes."""
    with _open(path) as raw:
        head = raw.read(6)
        for mark, kind in _UNREADABLE.items():
            if head.startswith(mark):
                raise KgprobeError(f"{path} is a {kind} file; plain, .gz, .bz2 and .zst can be read. Unpack it first.")
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
    """Return the files of a .zip with one of the suffixes, sorted by name."""
    with _open(path) as raw:
        try:
            members = zipfile.ZipFile(raw).infolist()
        except (OSError, ValueError, *_ZIP_FAULTS) as error:
            raise KgprobeError(f"{path} cannot be unpacked: {_why(error)}.") from error
    inputs = []
    for member in sorted(members, key=lambda member: member.filename):
        name = member.filename
        # macOS adds files of metadata.
        if name.endswith(tuple(suffixes)) and not name.startswith("__MACOSX/"):
            inputs.append(InputFile(path, member.compress_size, member=name, offset=member.header_offset))
    if not inputs:
        raise KgprobeError(f"{path} has no file that ends in {' or '.join(suffixes)}.")
    return inputs


def fingerprint(files: Sequence[InputFile], options: Mapping[str, object]) -> str:
    """Return a short text that changes when one of the files or options changes.

    It depends on the name, size, time of change and first 64 KiB of each file, so that 100 GB need not be read twice.

    Args:
        options: JSON values; sort sets before.
    """
    states = []
    for file in files:
        with _open(file.path) as raw:
            head = hashlib.blake2b(raw.read(_HEAD)).hexdigest()
        status = file.path.stat()
        states.append([file.name, status.st_size, status.st_mtime_ns, head])
    return hashlib.blake2b(json.dumps([states, options], sort_keys=True).encode(), digest_size=16).hexdigest()


def _open(path: Path) -> io.BufferedReader:
    try:
        if path.is_dir():
            raise KgprobeError(f"{path} is a folder; a file is expected.")
        if path.exists() and not path.is_file():
            raise KgprobeError(f"{path} is not a regular file; it is read more than once, so it cannot be a pipe.")
        return io.BufferedReader(path.open("rb", buffering=0), _BUFFER)
    except FileNotFoundError as error:
        raise KgprobeError(f"{path} does not exist.") from error
    except PermissionError as error:
        raise KgprobeError(f"{path} cannot be read: permission denied.") from error
    except (OSError, ValueError) as error:
        raise KgprobeError(f"{path} cannot be opened: {_why(error)}.") from error


def _unpacked(raw: io.BufferedReader, member: str) -> io.BufferedReader:
    """Return the decompressed content of a file, or of one file in a .zip."""
    stream = io.BufferedReader(_Pieces(_unpack_zip(raw, member)), _BUFFER) if member else _decompress(raw)
    return io.BufferedReader(_Pieces(_as_utf8(stream)), _BUFFER)


def _as_utf8(stream: io.BufferedIOBase) -> Iterator[bytes]:
    """Yield a content in pieces, converted to UTF-8 if it is UTF-16 or UTF-32.

    Lone surrogates are converted to bytes that are not UTF-8, so that they are errors of their lines.

    Raises:
        OSError: the content ends within a character.
    """
    piece = stream.read1(_BUFFER)
    encoding = _encoding(piece[:4])
    if encoding is None:
        while piece:
            yield piece
            piece = stream.read1(_BUFFER)
        return
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    try:
        while piece:
            # An empty piece would be the end.
            if text := decoder.decode(piece):
                yield text.encode("utf-8", "surrogatepass")
            piece = stream.read1(_BUFFER)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise OSError(f"its {encoding} is damaged ({error.reason})") from error


def _encoding(head: bytes) -> str | None:
    """Return UTF-16 or UTF-32 by the first four bytes; None for UTF-8 and everything else.

    Without a byte order mark, a text that begins with two ASCII characters is recognized by their zeros.
    """
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    if len(head) == 4 and head[1] == head[3] == 0 < min(head[0], head[2]):
        return "utf-16-le"
    if len(head) == 4 and head[0] == head[2] == 0 < min(head[1], head[3]):
        return "utf-16-be"
    return None


def _unpack_zip(raw: io.BufferedReader, member: str) -> Iterator[bytes]:
    """Yield the content of a file in a .zip.

    Raises:
        OSError: the file is damaged, encrypted, or in an unsupported compression.
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
        return io.BufferedReader(_Pieces(_unpack_zstd(raw)), _BUFFER)
    if head.startswith(b"BZh"):
        # A few bytes may decompress to a block of 900 kB.
        return io.BufferedReader(_Pieces(_unpack(raw, bz2.BZ2Decompressor, size=2**12)), _BUFFER)
    return raw


def _unpack_zstd(raw: io.BufferedReader) -> Iterator[bytes]:
    """Yield the content of a file compressed by zstd.

    Raises:
        EOFError: the file ends within a frame.
        OSError: the file is damaged.
    """
    # Imported here because it is slow to import.
    import pyarrow as pa

    packed = pa.CompressedInputStream(pa.PythonFile(_LeftOpen(raw), mode="r"), "zstd")
    while True:
        try:
            # Small pieces, because a piece with an error is lost.
            piece = packed.read(2**12)
        except OSError as error:
            if "Truncated" in str(error):
                raise EOFError from error
            raise
        if not piece:
            return
        yield piece


class _LeftOpen:
    """A file for pyarrow that stays open when pyarrow closes it."""

    closed = False

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw = raw

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        return self._raw.read(size)

    def close(self) -> None:
        """Leave the file open."""


class _Part(Protocol):
    """Decompressor of one of the consecutive parts of a compressed file."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def _unpack(raw: io.BufferedReader, begin: Callable[[], _Part], size: int) -> Iterator[bytes]:
    """Yield the content of a compressed file; zeros after its last part are ignored.

    Args:
        size: size of the compressed pieces; their decompressed content must fit into memory.

    Raises:
        EOFError: the file ends within a part.
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
    """A file of pieces of bytes. Unlike the readers of ``gzip`` and ``bz2``, it loses no pieces before an error."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        """Return True, for the buffer around it."""
        return True

    def readinto(self, target: "WriteableBuffer") -> int:
        """Copy the rest of a piece, or the next piece; return 0 after the last."""
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
    reason = str(getattr(error, "strerror", None) or error).rstrip(".").lower()
    # Sums of all data are verified at its end.
    return f"{reason} (lines before may be damaged, too)" if "check" in reason or "crc" in reason else reason


# Errors of decoding: bad JSON, bad UTF-8 and wrong values are ValueErrors.
DECODING_ERRORS = (ValueError, RecursionError)
# In the message of a DecodeError; msgspec before 0.23 raises UnicodeDecodeError.
_INVALID_UTF_8 = "Invalid UTF-8"


class _Identity(msgspec.Struct):
    id: str


_decode_identity = msgspec.json.Decoder(_Identity).decode


def decoded_lines(
    file: InputFile, decode: Callable[[bytes], Iterator[Entity | Relation | Rejected]]
) -> Iterator[Placed]:
    """Yield the records of JSON lines, skip blank lines, and reject lines that cannot be decoded.

    Args:
        decode: returns the records of a line, or raises one of ``DECODING_ERRORS``.
    """
    for number, line in file.lines():
        if isinstance(line, Rejected):
            yield Placed(number, line, file.name)
        elif line.strip():
            try:
                for record in decode(line):
                    yield Placed(number, record, file.name)
            except DECODING_ERRORS as error:
                yield Placed(number, Rejected(explain(error, line)), file.name)


def _fault_of_bytes(record: bytes) -> str:
    """Return the reason why a record is not UTF-8."""
    try:
        record.decode()
    except UnicodeDecodeError as error:
        return error.reason
    return "invalid bytes"


def explain(error: Exception, record: bytes) -> str:
    """Return the reason why a record cannot be read, after its id if that can be read."""
    try:
        name = f"{_decode_identity(record).id[:40]}: "
    except DECODING_ERRORS:
        name = ""
    if isinstance(error, UnicodeDecodeError) or _INVALID_UTF_8 in str(error):
        return f"{name}not UTF-8: {_fault_of_bytes(record)} in a text"
    if isinstance(error, msgspec.ValidationError):
        return name + validation_message(error)
    if isinstance(error, msgspec.DecodeError):
        return f"not JSON: {error}"
    return f"{name}nested too deeply" if isinstance(error, RecursionError) else f"{name}{error}"


def validation_message(error: Exception) -> str:
    """Return the message of a wrong value, with its path; tolerated empty arrays are not mentioned."""
    message = str(error).replace("Expected `array` of length <= 0", "Expected `object`, got `array`")
    return message.replace("`object | array`", "`object`")


@dataclass(slots=True, kw_only=True)
class FileSource:
    """Base of sources (:class:`kgprobe.sources.contract.Source`) that read files, with their progress.

    Attributes:
        readings: files by the stream that is read from them; each stream has a position of its own.
    """

    name: str
    fingerprint: str
    readings: Mapping[str, InputFile]
    partial: bool = False

    @property
    def total(self) -> int:
        """Bytes of all readings, on disk."""
        return sum(reading.size for reading in self.readings.values())

    @property
    def done(self) -> int:
        """Bytes of ``total`` read so far."""
        return sum(reading.position for reading in self.readings.values())
