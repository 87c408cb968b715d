"""Settings of a label table: ``config.json``, and what a list of results shows of them.

Importing this module is cheap: neither the table nor its statistics are read.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from kgprobe.answers.settings import CONFIG, WRITTEN, digest_of, read_config
from kgprobe.base.errors import KgprobeError
from kgprobe.base.files import home, read_json
from kgprobe.base.intervals import Share
from kgprobe.base.sanitize import counted
from kgprobe.graph.state import state_uid
from kgprobe.results.kind_names import LABEL_TABLE
from kgprobe.results.kinds import Description, texts_in

STATISTICS = "statistics.json"
REMEDY = "Restore it, or delete the folder and repeat the kgprobe label command that made it."


class Written(msgspec.Struct, frozen=True):
    """The table as it was written: number of facts, SHA-256 digests of files by name, and one of the settings."""

    rows: int
    sha256: dict[str, str]
    settings: str


class _Settings(msgspec.Struct):
    """Types of the settings that are used; a table of another program has at least those without a default."""

    model: str
    ways: list[str]
    by: str | None = None
    seed: int = 0
    repeats: int | None = None
    as_of: int | None = None
    last_changes: dict[str, int | None] | None = None
    graph: str | None = None
    written: Written | None = None


def read_label_config(folder: Path) -> tuple[dict[str, Any], Written | None]:
    """Return the settings of a label table, and the table as it was written; None for another program's."""
    config = read_config(folder, LABEL_TABLE)
    try:
        settings = msgspec.convert(config, _Settings)
        if settings.graph is not None:
            state_uid(settings.graph)
    except (msgspec.DecodeError, ValueError) as error:
        raise KgprobeError(f"{folder / CONFIG} is damaged: {error}. {REMEDY}") from error
    config.pop(WRITTEN, None)
    if settings.written is not None and settings.written.settings != digest_of(config):
        raise KgprobeError(f"{folder / CONFIG} is damaged: it has been changed since it was written. {REMEDY}")
    return config, settings.written


class _WayRate(msgspec.Struct):
    """Part of :class:`~kgprobe.labelling.statistics.WayRate`."""

    way: str
    facts: int
    right: Share | None


class _Statistics(msgspec.Struct):
    """Part of :class:`~kgprobe.labelling.statistics.LabelStatistics`."""

    ways: list[_WayRate] = []


def describe_labels(folder: Path) -> Description:
    """Return what the files of a label table say of it, for the list of results."""
    config, _ = read_label_config(folder)
    try:
        ways = read_json(folder / STATISTICS, _Statistics, REMEDY).ways
    except FileNotFoundError:
        ways = []
    rates = [f"{way.way.replace('_', ' ')} {way.right}" for way in ways if way.right is not None]
    facts = f"{counted(max(way.facts for way in ways), 'asked fact')}; " if ways else ""
    headline = f"{facts}right by {', '.join(rates)}" if rates else f"labelled by {', '.join(config['ways'])}"
    uses = [home() / "probes" / name for name in texts_in(config.get("measurements"))]
    judge = config.get("judge")
    if isinstance(judge, Mapping):
        uses += [home() / "judged" / name for name in texts_in(judge.get("folder"))]
    return Description(headline, (str(config["model"]),), (str(config.get("graph", "")),), uses)
