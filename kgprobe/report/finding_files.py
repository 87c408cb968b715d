"""A finding on disk: the whole as JSON, facts and groups as CSV."""

from dataclasses import asdict
from pathlib import Path

import msgspec
import pandas as pd

from kgprobe.analysis.finding import Finding
from kgprobe.files import make_folder, read_json, replacing
from kgprobe.report.section_rows import group_row
from kgprobe.sanitize import spreadsheet_cell
from kgprobe.stats.proportions import CONFIDENCE

RESULTS = "results.json"
FACTS = "facts.csv"
GROUPS = "groups.csv"


def write_finding_files(finding: Finding, folder: Path) -> list[Path]:
    """Write a finding's files into a folder, which is made; what stands there is replaced.

    Returns:
        their paths: everything as JSON, all asked facts as CSV, all groups as CSV.

    Raises:
        KgprobeError: a file cannot be written.
    """
    make_folder(folder)
    groups = [
        {"by": grouping.by, **group_row(group)}
        for grouping in finding.groupings
        for group in ((finding.overall, *grouping.groups) if grouping is finding.groupings[0] else grouping.groups)
    ]
    about = asdict(finding.about)
    whole = {
        **{("config" if name == "described" else name): value for name, value in about.items()},
        **finding.as_json(),
        "theta": finding.theta,
        "questions": finding.asked,
        "confidence_of_rates": CONFIDENCE,
        "groups": groups,
        "unaskable": finding.unaskable,
        "unanswered": finding.unanswered,
        "facts": finding.facts.to_dict("records"),
    }
    with replacing(folder / RESULTS) as unfinished:
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=1))
    for name, frame in ((FACTS, finding.facts), (GROUPS, pd.DataFrame(groups))):
        with replacing(folder / name) as unfinished:
            frame.map(spreadsheet_cell).to_csv(unfinished, index=False)
    return [folder / name for name in (RESULTS, FACTS, GROUPS)]


class _NamedFact(msgspec.Struct):
    relation: str
    relation_label: str


class _Written(msgspec.Struct):
    facts: list[_NamedFact]


def read_relation_names(folder: Path) -> dict[str, str]:
    """What relations are called, by id, in a finding that was written into a folder; nothing where there is none.

    Raises:
        KgprobeError: its file is damaged.
    """
    try:
        written = read_json(folder / RESULTS, _Written, "Delete it; it is written again with the next page.")
    except FileNotFoundError:
        return {}
    return {fact.relation: fact.relation_label for fact in written.facts}
