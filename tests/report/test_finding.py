"""The finding as a person sees it: on a terminal and on a page."""

import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from rich.console import Console

from kgprobe.analysis.answers import Agreement, Answers, ErrorCount, KindOfQuestion, Writing, WrongAnswer
from kgprobe.analysis.finding import Finding, Judged
from kgprobe.analysis.rates import Group, Grouping, share
from kgprobe.errors import KgprobeError
from kgprobe.report.finding_page import write_finding_page
from kgprobe.report.finding_table import print_finding, print_side_by_side

EVIL = "<script>alert('x')</script> & \"quotes\" [bold]markup[/bold] \x1b[31mred\x1b[0m \u202eright to left\u202c"


def judged(name: str, winner: str | None) -> Judged:
    return Judged(f"fact {name}", "capital", "subject", name, 1, 2, 0.6, 0.25, 0.9, f"The capital of {name} is", winner)


@pytest.fixture
def finding() -> Finding:
    group = Group("all", 50, share(20, 50), share(10, 50), 40, share(20, 40))
    relations = [
        Group(EVIL, 30, share(30, 30), share(0, 30), 30, share(30, 30)),
        Group("empty", 20, share(0, 20), share(20, 20), 0, None),
    ]
    errors = [WrongAnswer(EVIL, EVIL, EVIL), WrongAnswer("y" * 300, "", "no")]
    return Finding(
        run="run",
        model="hf:org/model",
        probe="distractors",
        as_of=20250131,
        seed=3,
        rounds=4,
        sampling="thompson",
        theta=0.55,
        config='{"model": "</pre><script>"}',
        versions="{}",
        chance=0.09,
        asked=64,
        overall=group,
        groupings=[Grouping("relation", relations, 0), Grouping("year", relations[:1], 3)],
        answers=Answers(
            [KindOfQuestion("yes/no", 60, share(30, 60), 4, 6, 0.5)],
            [ErrorCount("factual", 20, 0.8, errors), ErrorCount("refused", 5, 0.2, errors[:1])],
            Agreement(10, 8),
            Writing(60, 45, {"says a right answer": 15}),
        ),
        unknown=[judged(EVIL, EVIL), judged("שלום 🇯🇵", None)],
        known=[judged("x" * 300, None)],
        unaskable={EVIL: 7},
    )


class Page(HTMLParser):
    """What a browser would make of a page: its elements, their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_page_shows_labels_as_text_and_needs_nothing_else(finding: Finding, tmp_path: Path) -> None:
    path = tmp_path / "runs" / "finding.html"
    write_finding_page(finding, path)
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    names = [tag for tag, _ in page.tags]
    assert "script" not in names
    assert "b" in names, "the parser sees tags at all"
    assert page.text.count("<script>alert('x')</script> & \"quotes\" [bold]markup[/bold]") >= 8
    for tag, attributes in page.tags:
        assert not {name for name in attributes if name.startswith("on") or name in ("src", "href")}, (tag, attributes)
    assert not re.search(r"https?:|url\(|@import", text)
    # Neither a terminal's nor a text's direction can be steered by data.
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "שלום 🇯🇵" in page.text
    assert "2025-01-31" in page.text
    assert "45 of 60 questions are in the writer's words" in page.text
    assert [item.name for item in path.parent.iterdir()] == ["finding.html"]


def test_the_intervals_of_a_page_are_where_they_say(finding: Finding, tmp_path: Path) -> None:
    write_finding_page(finding, tmp_path / "finding.html")
    page = Page((tmp_path / "finding.html").read_text(encoding="utf-8"))
    drawings = [index for index, (tag, _) in enumerate(page.tags) if tag == "svg"]
    assert len(drawings) == 2 * 4 + 1 + 3
    last = page.tags[drawings[-1] :]
    assert last[0][1]["aria-label"] == "0.60, from 0.25 to 0.90"
    band = next(attributes for tag, attributes in last if tag == "rect")
    assert (band["x"], band["width"]) == ("25.00", "65.00")


def test_a_page_that_cannot_be_written_is_named(finding: Finding, tmp_path: Path) -> None:
    (tmp_path / "finding.html").mkdir()
    (tmp_path / "file").touch()
    for path in (tmp_path / "finding.html", tmp_path / "file" / "finding.html"):
        with pytest.raises(KgprobeError, match=f"{re.escape(str(path))} cannot be written: "):
            write_finding_page(finding, path)


def test_a_terminal_shows_everything_within_its_width(finding: Finding) -> None:
    out = io.StringIO()
    print_finding(finding, Console(file=out, width=80, force_terminal=False))
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "E[theta]" in text
    assert "40% [28, 54]" in text
    assert "0.60 [0.25, 0.90]" in text
    assert "[bold]" in text
    assert "9.0% of the questions" in text
    assert "3 more have fewer facts" in text
    assert "50% [40, 65]" not in text
    assert "50% [35, 65]" in text, "the win rate of what was heard"
    assert "Judge and names say the same of 8 of 10" in text
    assert "says a right answer (15)" in " ".join(text.split())
    assert "self-contradiction" not in text
    assert re.search(r"factual\s+20", text)
    assert "x" * 300 in re.sub(r"\s", "", text).replace("…", "")


def test_runs_stand_side_by_side_the_best_first(finding: Finding) -> None:
    out = io.StringIO()
    better = replace(finding, model="better", overall=replace(finding.overall, win_rate=share(40, 50)))
    print_side_by_side([finding, better], Console(file=out, width=80, force_terminal=False))
    lines = [line for line in out.getvalue().splitlines() if "%" in line]
    assert [line.split()[0] for line in lines] == ["better", "hf:org/model"]
    assert "80% [67, 89]" in lines[0]
