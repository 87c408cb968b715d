"""A finding as one self-contained HTML page: no script, nothing loaded from elsewhere."""

import os
from pathlib import Path

from kgprobe.analysis.finding import Finding
from kgprobe.analysis.rates import CONFIDENCE
from kgprobe.beliefs.draw import CREDIBILITY
from kgprobe.errors import KgprobeError
from kgprobe.report.answer_tables import percent
from kgprobe.report.page import render_page


def write_finding_page(finding: Finding, path: Path) -> None:
    """Write the page of a finding. Labels are data: whatever they hold shows as text.

    Raises:
        KgprobeError: the file cannot be written.
    """
    page = render_page(
        "finding.html",
        {"percent": percent},
        finding=finding,
        confidence=CONFIDENCE,
        credibility=CREDIBILITY,
        as_of=_date(finding.as_of),
    )
    unfinished = path.with_suffix(".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(page, encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        raise KgprobeError(f"The page {path} cannot be written: {error.strerror}.") from error


def _date(day: int) -> str:
    return f"{day // 10000:04}-{day // 100 % 100:02}-{day % 100:02}"
