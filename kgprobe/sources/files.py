"""Sources that read files."""

from collections.abc import Mapping
from dataclasses import dataclass

from kgprobe.sources.lines import InputFile


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
