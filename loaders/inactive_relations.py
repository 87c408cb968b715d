"""The relations that topical graphs show, but do not ask: a list for people to look through and to replace."""

from pathlib import Path

from kgprobe.errors import KgprobeError
from kgprobe.sources.lines import open_input

from .wikidata_model import PROPERTY_ID

OWN_LIST = Path(__file__).with_suffix(".txt")


def read_inactive_relations(path: Path = OWN_LIST) -> dict[str, str]:
    """Return the reasons of inactive relations, by id.

    Each line has an id and a reason; blank lines and lines that begin with ``#`` are ignored.

    Raises:
        KgprobeError: a line has no relation id, a relation is repeated, or the file cannot be read.
    """
    reasons: dict[str, str] = {}
    for number, line in open_input(path).lines():
        place = f"{path.name}, line {number:,}"
        if not isinstance(line, bytes):
            raise KgprobeError(f"{place}: {line.reason}.")
        text = line.decode("utf-8", errors="replace").strip()
        if not text or text.startswith("#"):
            continue
        identifier, _, why = text.partition(" ") if "\t" not in text else text.partition("\t")
        if not PROPERTY_ID.fullmatch(identifier):
            raise KgprobeError(f"{place}: {identifier[:80]!r} is not a relation id such as P17.")
        if identifier in reasons:
            raise KgprobeError(f"{place}: {identifier} is repeated.")
        reasons[identifier] = why.strip()
    return reasons
