"""What a notebook shows of a result: a piece of a page, in which everything is text."""

import re

from kgprobe.base.tables import Table
from kgprobe.results.rendering.page import tables_html
from kgprobe.stats.proportions import share
from tests.results.test_finding_views import Page

EVIL = "<script>alert('x')</script> & \x1b[31mred \u202e"


def test_result_is_its_summary_and_its_tables() -> None:
    tables = [
        Table("kinds", "By kind", [{"kind": "wh", "right": share(3, 4), "n": 1_000}, {"kind": None, "right": None}]),
        Table("none", "Nothing", []),
    ]
    page = tables_html("questions, demo: 4 asked\n75% right", tables)
    assert "<pre>questions, demo: 4 asked\n75% right</pre>" in page
    assert re.findall(r"<caption>(.*?)</caption>", page) == ["By kind", "Nothing"]
    assert re.findall(r"<th>(.*?)</th>", page) == ["kind", "right", "n"]
    assert re.findall(r"<td>(.*?)</td>", page) == ["wh", "75% [30, 95]", "1,000", "—", "—", "—"]


def test_whatever_is_in_it_is_text() -> None:
    html = tables_html(EVIL, [Table("key", EVIL, [{EVIL: EVIL}])])
    page = Page(html)
    assert {tag for tag, _ in page.tags} == {"div", "pre", "table", "caption", "thead", "tr", "th", "tbody", "td"}
    assert page.text.count(r"<script>alert('x')</script> & \x1b[31mred \u202e") == 4
    assert "\x1b" not in html
    assert "\u202e" not in html
