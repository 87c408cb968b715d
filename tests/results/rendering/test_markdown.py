"""Summaries in Markdown: order, limits, and labels that try to be markup."""

import html

import pytest

from kgprobe.base.intervals import Points
from kgprobe.base.tables import Table
from kgprobe.results.rendering.checks import Check
from kgprobe.results.rendering.markdown import escaped, markdown_summary


def cells(line: str) -> list[str]:
    """Return the cells of a row, as a browser shows them."""
    return [html.unescape(cell).strip() for cell in line.strip("|").split("|")]


def test_markdown_begins_with_the_verdict_and_lost_checks() -> None:
    checks = [Check("a", "kept", "x"), Check("b", "lost", "y"), Check("c", "undecided", "z")]
    lines = markdown_summary("Title", "Lost: 3 points. More words.", checks, []).splitlines()
    assert lines[:3] == ["### Title", "", "**Lost: 3 points.** More words."]
    assert [cells(line)[0] for line in lines if line.startswith("| ")] == ["check", "---", "b", "c", "a"]


def test_markdown_table_shows_ten_rows_and_its_notes() -> None:
    rows = [{"relation": f"r{n}", "loss": Points(0.01 * n)} for n in range(30)]
    text = markdown_summary("Title", "Kept.", [], [Table("t", "Losses", rows, ["10 of 30."])])
    assert "<details><summary>Losses</summary>" in text
    assert "| relation | loss |\n| --- | ---: |\n| r0 | +0.0 |" in text
    assert "| r9 |" in text
    assert "| r10 |" not in text
    assert text.endswith("10 of 30.\n\n</details>\n")


def test_markdown_many_checks_fit_into_a_comment() -> None:
    checks = [Check(f"{'|' * 300}{n}", "kept", "@x " * 300) for n in range(500)]
    rows = [{f"column {n}": "|" * 400 for n in range(12)}] * 20
    tables = [Table("t", f"Table {n}", rows) for n in range(3)]
    text = markdown_summary("Title", "Kept.", checks, tables)
    assert "Table 2: too long to be shown here." in text
    assert "50 of 500 checks, lost ones first." in text
    assert len(text) < 65_536


@pytest.mark.parametrize(
    "label",
    [
        "a | b",
        "line\nbreak | x",
        "<img src=x onerror=alert(1)>",
        "</details>",
        "[text](https://example.org)",
        "![image](https://example.org/x.png)",
        "`code` **bold** _it_ ~~no~~ $x$",
        "back\\slash \\| pipe",
        "&lt;b&gt;",
    ],
)
def test_markdown_labels_are_shown_and_not_read(label: str) -> None:
    text = escaped(label)
    assert not set(text) & set("|<>[]()`*_~\\!$\n")
    assert html.unescape(text).replace("\u200b", "") == " ".join(label.split())


@pytest.mark.parametrize("label", ["@someone", "see #12", "https://example.org", "www.example.org", "GH-12"])
def test_markdown_mentions_and_links_are_broken(label: str) -> None:
    shown = html.unescape(escaped(label))
    assert shown != label
    assert shown.replace("\u200b", "") == label


def test_markdown_controls_are_visible() -> None:
    assert escaped("a\x1b[0m\u202eb") == "a&#92;x1b&#91;0m&#92;u202eb"
