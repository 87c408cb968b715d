"""Members of a zip file that are compressed by Zstandard, which Python's ``zipfile`` reads from 3.14 on only.

Inspect's ``.eval`` files are such zip files.
"""

import lzma
import struct
import zipfile
import zlib
from pathlib import Path

import pyarrow as pa

from kgprobe.base.errors import KgprobeError

_ZSTANDARD = 93
# Maximum size of a member's content: a small file may unpack to terabytes.
_MOST_BYTES = 2**30
# RuntimeError: the member is encrypted; EOFError: its last bytes are missing.
_FAULTS = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, pa.ArrowException),
    *(OSError, EOFError, struct.error, ValueError, NotImplementedError, RuntimeError),
)
# Fixed part of a member's local header; its last two numbers are the sizes of the name and of the extra field.
_HEADER = struct.Struct("<4s5H3I2H")


class ZipMembers:
    """The members of a zip file by name; a context manager."""

    def __init__(self, path: Path) -> None:
        """Open a zip file.

        Raises:
            KgprobeError: it cannot be read, or is not a zip file.
        """
        self._path = path
        try:
            self._file = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise KgprobeError(f"{path} is not a complete zip file; the evaluation was ended while writing.") from error
        except (OSError, ValueError, NotImplementedError) as error:
            raise KgprobeError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
        self.names = self._file.namelist()

    def __enter__(self) -> "ZipMembers":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def read(self, name: str) -> bytes:
        """Return the content of a member.

        Raises:
            KgprobeError: the member is damaged, encrypted or too large.
        """
        info = self._file.getinfo(name)
        if info.file_size > _MOST_BYTES:
            raise KgprobeError(
                f"{self._path} cannot be read: {name} in it has {info.file_size / 2**30:.1f} GiB; at most 1 is read."
            )
        try:
            if info.compress_type != _ZSTANDARD:
                return self._file.read(info)
            content = self._decompress(info)
        except _FAULTS as error:
            raise KgprobeError(f"{self._path} is damaged: {name} cannot be read ({error}).") from error
        if zlib.crc32(content) != info.CRC:
            raise KgprobeError(f"{self._path} is damaged: {name} has another checksum.")
        return content

    def _decompress(self, info: zipfile.ZipInfo) -> bytes:
        with self._path.open("rb") as file:
            file.seek(info.header_offset)
            *_, name, extra = _HEADER.unpack(file.read(_HEADER.size))
            file.seek(name + extra, 1)
            packed = pa.BufferReader(file.read(info.compress_size))
        # A member may consist of several frames, which this reads, unlike pyarrow.decompress.
        content: bytes = pa.CompressedInputStream(packed, "zstd").read(info.file_size + 1)
        return content
