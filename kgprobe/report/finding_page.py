"""A finding as one self-contained HTML page: no script, nothing loaded from elsewhere."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from kgprobe.analysis.belief_words import BeliefWord
from kgprobe.analysis.finding import Finding, ShownFact
from kgprobe.beliefs.draw import CREDIBILITY
from kgprobe.estimates import CONFIDENCE, Share
from kgprobe.files import make_folder, replacing
from kgprobe.report.cells import is_number, numeric_columns, share_columns, shown
from kgprobe.report.finding_summary import believed_title
from kgprobe.report.page import render_page


def write_finding_page(finding: Finding, path: Path) -> None:
    """Write the page of a finding. Labels are data: whatever they hold shows as text.

    Raises:
        KgprobeError: the file cannot be written.
    """
    page = render_page(
        "finding.html",
        {"percent": str, "shown": shown},
        finding=finding,
        about=finding.about,
        is_share=lambda value: isinstance(value, Share),
        is_number=is_number,
        numeric_columns=numeric_columns,
        share_columns=share_columns,
        believed=[(word, [fact for fact in listed if fact.belief is word]) for word, listed in _lists(finding)],
        believed_title=believed_title,
        confidence=CONFIDENCE,
        credibility=CREDIBILITY,
        as_of=_date(finding.about.as_of),
        config=msgspec.json.encode(finding.about.described, order="sorted").decode(),
        versions=msgspec.json.encode(finding.about.versions, order="sorted").decode(),
    )
    make_folder(path.parent)
    with replacing(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")


def _lists(finding: Finding) -> Iterator[tuple[BeliefWord, Sequence[ShownFact]]]:
    """The surest first; those that lean where there is room for some."""
    for surely, leans, listed in (
        (BeliefWord.SURELY_UNKNOWN, BeliefWord.LEANS_UNKNOWN, finding.unknown),
        (BeliefWord.SURELY_KNOWN, BeliefWord.LEANS_KNOWN, finding.known),
    ):
        yield surely, listed
        if any(fact.belief is leans for fact in listed):
            yield leans, listed


def _date(day: int) -> str:
    return f"{day // 10000:04}-{day // 100 % 100:02}-{day % 100:02}"
