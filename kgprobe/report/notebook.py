"""What a notebook shows of a result."""

from collections.abc import Sequence

from kgprobe.report.page import render_page
from kgprobe.tables import Table


def tables_html(summary: str, tables: Sequence[Table]) -> str:
    """A summary with tables, as a piece of HTML; labels show as text."""
    return render_page("notebook.html", summary=summary, tables=tables)
