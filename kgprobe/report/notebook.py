"""Results in notebooks."""

from collections.abc import Sequence

from kgprobe.report.page import render_page
from kgprobe.tables import Table


def tables_html(summary: str, tables: Sequence[Table]) -> str:
    """Return a summary with tables as HTML; labels are escaped."""
    return render_page("notebook.html", summary=summary, tables=tables)
