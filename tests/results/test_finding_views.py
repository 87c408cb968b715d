"""The finding as a person sees it: on a terminal and on a page."""

import base64
import hashlib
import io
import json
import re
from contextlib import redirect_stdout
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.base.intervals import Mean, Share
from kgprobe.base.tables import Table
from kgprobe.beliefs.graph_rates import GroupRate
from kgprobe.beliefs.group_rates import Grouping, GroupRates
from kgprobe.beliefs.summary import BeliefWord
from kgprobe.cli.rendering import show_finding
from kgprobe.results.about import About
from kgprobe.results.finding import ASK_COLUMNS, FACT_COLUMNS, Finding, ShownFact
from kgprobe.results.finding_page import finding_lead, write_finding, write_finding_page
from kgprobe.results.graph_rates import GraphRates
from kgprobe.stats.proportions import share

EVIL = "<script>alert('x')</script> & \"quotes\" [bold]markup[/bold] \x1b[31mred\x1b[0m \u202eright to left\u202c"


def shown_fact(name: str, prediction: str | None, belief: BeliefWord) -> ShownFact:
    question = f"The capital of {name} is"
    known = Share(0.4, 0.1, 0.75)
    return ShownFact(f"fact {name}", "subject", question, name, prediction, "capital", 1, 2, known, belief)


def facts_frame(answers: dict[str, tuple[int, int]]) -> pd.DataFrame:
    """Asked facts with their right and wrong answers."""
    rows = [
        dict.fromkeys(FACT_COLUMNS[:7], fact)
        | {"right": right, "wrong": wrong, "refused": 0, "off_format": 0, "guessed": 0.1}
        | {"known": (1 + right) / (2 + right + wrong), "known_low": 0.1, "known_high": 0.8}
        | {"theta": (1 + wrong) / (2 + right + wrong), "belief": "leans known", "popularity": None, "year": None}
        | dict.fromkeys(ASK_COLUMNS)
        | {"question": "", "answer": "", "names": (), "prompt": ""}
        for fact, (right, wrong) in answers.items()
    ]
    return pd.DataFrame(rows, columns=[*FACT_COLUMNS, *ASK_COLUMNS])


ABOUT = About(
    name="run",
    model="hf:org/model",
    probe="distractors",
    as_of=20250131,
    seed=3,
    described={"model": "</pre><script>"},
    versions={"kgprobe": "1.2.3"},
    rounds=4,
    sampling="thompson",
)


@pytest.fixture
def finding() -> Finding:
    group = GroupRates("all", 50, share(20, 50), share(10, 50), 0.25, 40, share(20, 40))
    relations = [
        GroupRates(EVIL, 30, share(30, 30), share(0, 30), 0.5, 30, share(30, 30)),
        GroupRates("empty", 20, share(0, 20), share(20, 20), 0.0, 0, None),
    ]
    kinds = [{"kind": "yes/no", "answers": 1060, "right": share(30, 60), "refused": 4, "by guessing": 0.5}]
    errors = [
        {"class": "factual", "share": 0.8, "question": EVIL, "what it said": EVIL, "right": EVIL},
        {"class": "factual", "share": 0.8, "question": "y" * 300, "what it said": None, "right": "no"},
        {"class": "refused", "share": 0.2, "question": EVIL, "what it said": EVIL, "right": EVIL},
    ]
    return Finding(
        about=ABOUT,
        mean_known=0.45,
        chance=0.09,
        asked=64,
        overall=group,
        groupings=[Grouping("relation", relations, 0), Grouping("year", relations[:1], 3)],
        probe_tables=[
            Table("kinds", "By kind of question", kinds, ["45 of 60 questions are in the writer's words."]),
            Table("errors", f"Errors {EVIL}", errors, [EVIL], groups_by="class"),
            Table("curves", "By n", [{"n": 1, "Min@n": Mean(0.5, 0.25, 0.75)}]),
        ],
        unknown=[
            shown_fact(EVIL, EVIL, BeliefWord.SURELY_UNKNOWN),
            shown_fact("שלום 🇯🇵", None, BeliefWord.LEANS_UNKNOWN),
        ],
        known=[shown_fact("x" * 300, None, BeliefWord.LEANS_KNOWN)],
        believed=dict(zip(BeliefWord, (0, 20, 1234, 1), strict=True)),
        facts=facts_frame({f"fact {number}": (1, 0) for number in range(20)} | {"=1+1": (0, 2)}),
        unaskable={EVIL: 7},
        unanswered={"the server hung up": 1234},
    )


class Page(HTMLParser):
    """A page as a browser parses it: its elements, their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_page_shows_labels_as_text_and_needs_nothing_else(finding: Finding, tmp_path: Path) -> None:
    path = tmp_path / "runs" / "finding.html"
    write_finding_page(path, finding)
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    names = [tag for tag, _ in page.tags]
    assert names.count("script") == 2, "the facts, and what shows them"
    assert "b" in names, "the parser sees tags at all"
    policy = next(its["content"] for tag, its in page.tags if its.get("http-equiv") == "Content-Security-Policy")
    script = text[text.rindex("<script>") + len("<script>") : text.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy is not None
    assert policy.startswith(f"default-src 'none'; script-src 'sha256-{digest}'; "), "only this script may run"
    assert page.text.count("<script>alert('x')</script> & \"quotes\" [bold]markup[/bold]") >= 8
    for tag, attributes in page.tags:
        assert not {name for name in attributes if name.startswith("on") or name == "src"}, (tag, attributes)
        assert (attributes.get("href") or "#").startswith("#"), (tag, attributes)
    assert not re.search(r"https?:|url\(|@import", text.replace("http://www.w3.org/2000/svg", ""))
    # Neither a terminal's nor a text's direction can be steered by data.
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "שלום 🇯🇵" in page.text
    assert "2025-01-31" in page.text
    assert "45 of 60 questions are in the writer's words" in page.text
    assert '{"model":"</pre><script>"}' in page.text
    assert '{"kgprobe":"1.2.3"}' in page.text
    assert "1,234: the server hung up" in page.text
    assert [item.name for item in path.parent.iterdir()] == ["finding.html"]


def test_printed_page_has_colours(finding: Finding, tmp_path: Path) -> None:
    path = tmp_path / "finding.html"
    write_finding_page(path, finding)
    page = path.read_text(encoding="utf-8")
    printed = page.partition("@media print {")[2].partition("</style>")[0]
    assert "print-color-adjust: exact" in printed
    # Dark colours are of screens alone.
    assert re.findall(r"@media ([^{]*)\(prefers-color-scheme: dark\)", page) == ["screen and "]


def test_facts_are_listed_by_how_sure_one_is_of_them(finding: Finding, tmp_path: Path) -> None:
    page = page_of(finding, tmp_path)
    titles = [
        "Surely unknown: 1 of 50 facts",
        "Leans unknown: 1,234 of 50 facts",
        "Leans known: 20 of 50 facts",
    ]
    places = [page.index(title) for title in titles]
    # What is unknown stands first.
    assert page.index("Map of ignorance") < places[0] < page.index("How much it knows", places[0])
    assert places == sorted(places)
    # Of those that are surely known there is none, and the page has no list of them.
    assert "Surely known" not in page
    assert page[places[1] : places[2]].count("שלום 🇯🇵") == 2
    assert "x" * 300 in page[places[2] :]
    shown = printed(finding, 200)
    assert [title for title in titles if title in shown] == titles
    surely = replace(finding, unknown=finding.unknown[:1])
    assert titles[1] not in page_of(surely, tmp_path)
    assert finding.to_dict()["believed"] == {
        "surely known": 0,
        "leans known": 20,
        "leans unknown": 1234,
        "surely unknown": 1,
    }


def test_intervals_of_a_page_are_where_they_say(finding: Finding, tmp_path: Path) -> None:
    write_finding_page(tmp_path / "finding.html", finding)
    page = Page((tmp_path / "finding.html").read_text(encoding="utf-8"))
    drawings = [index for index, (tag, its) in enumerate(page.tags) if tag == "svg" and its.get("class") == "interval"]
    # The first rate of four groups; a share of the probe's tables, three facts.
    assert len(drawings) == 4 + 1 + 3
    last = page.tags[drawings[-1] :]
    assert last[0][1]["aria-label"] == "0.40, from 0.10 to 0.75"
    band = next(attributes for tag, attributes in last if tag == "rect")
    assert (band["x"], band["width"]) == ("10.00", "65.00")


def rows_of(page: str, title: str) -> list[list[str]]:
    """Return the cells of a table, its headers first."""
    table = page[page.rindex(f"<h2>{title}</h2>") :]
    rows = re.findall(r"<tr>(.*?)</tr>", table[: table.index("</table>")], re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def test_tables_of_any_probe_are_drawn_with_their_intervals(finding: Finding, tmp_path: Path) -> None:
    rows = [
        {"what": "first", "rate": None, "n": None},
        {"what": "second", "rate": share(1, 4), "n": 3},
        {"what": "third", "rate": share(3, 4)},
    ]
    table = Table("own", "Something of its own", rows)
    write_finding_page(tmp_path / "finding.html", replace(finding, probe_tables=[table]))
    page = (tmp_path / "finding.html").read_text(encoding="utf-8")
    header, first, second, third = rows_of(page, "Something of its own")
    # A column of shares has one beside it in which they are drawn, in every row.
    assert header == ["What", "Rate", "", "N"]
    assert first == ["first", "—", "", "—"]
    assert (second[0], second[1], second[3]) == ("second", "25% [5, 70]", "3")
    assert 'aria-label="0.25, from 0.05 to 0.70"' in second[2]
    assert (third[1], third[3]) == ("75% [30, 95]", "—")


def test_measurement_is_told_without_rounds(finding: Finding, tmp_path: Path) -> None:
    assert "probably fails on" in page_of(finding, tmp_path)
    assert "64 questions about 50 facts, in 4 rounds" in " ".join(page_of(finding, tmp_path).split())
    measured = replace(finding, about=replace(ABOUT, rounds=None, sampling=None), chance=None)
    page = " ".join(page_of(measured, tmp_path).split())
    assert "64 questions about 50 facts by the probe “distractors”; facts as of 2025-01-31" in page
    assert "sampling" not in page
    assert "probably fails on" not in page
    assert "guess" not in page.replace("By guessing", "")
    assert "those on facts around it" not in page
    out = printed(measured)
    assert "64 questions about 50 facts\n" in out
    assert "Guessing" not in out


def test_lead_has_no_zero_caused_by_numbers_of_askings(finding: Finding) -> None:
    believed = dict(zip(BeliefWord, (0, 30, 20, 0), strict=True))
    run = replace(finding, believed=believed)
    once = replace(run, about=replace(ABOUT, rounds=None, sampling=None))
    none_sure = "20 of 50 facts asked were not answered right more often than wrong; none is surely unknown yet."
    assert finding_lead(finding)[-1] == "1 of 50 facts asked is surely unknown."
    assert finding_lead(run)[-1] == none_sure
    assert finding_lead(once)[-1] == "20 of 50 facts were answered wrong, asked once each."


def rated(name: str, right: int, total: int = 20) -> GroupRates:
    return GroupRates(name, total, share(right, total), share(0, total), 0.1, total, share(right, total))


@pytest.mark.parametrize(
    ("groups", "left_out", "least", "best"),
    [
        # Equal rates, up to luck.
        ([rated(str(number), right) for number, right in enumerate((11, 12, 14, 15, 17))], 0, "", ""),
        (
            [rated("bad", 2), rated("middle", 12), rated("good", 20), rated("great", 20)],
            0,
            "Least known of 4 relations: bad 10% of 20",
            "Best known of 4 relations: great 100% of 20, good 100% of 20",
        ),
        # Relations of fewer than five facts are not ranked; with most of the facts, they leave nothing to say.
        (
            [rated("bad", 1), rated("good", 20), rated("few", 0, 4)],
            2,
            "Least known of 2 of 5 relations: bad 5% of 20",
            "Best known of 2 of 5 relations: good 100% of 20",
        ),
        ([rated("bad", 1), *(rated(f"few {number}", 4, 4) for number in range(6))], 0, "", ""),
        ([rated("only", 9)], 0, "", ""),
        # Whole relations that are unknown are not best, nor known ones least.
        ([rated("one", 0), rated("two", 0)], 0, "", ""),
        ([rated("one", 20), rated("two", 20)], 0, "", ""),
    ],
)
def test_ranked_relations_differ_from_the_whole(
    finding: Finding, groups: list[GroupRates], left_out: int, least: str, best: str
) -> None:
    facts = sum(group.facts for group in groups)
    overall = rated("all", round(sum(group.facts * group.win_rate.value for group in groups)), facts)
    ranked = replace(finding, overall=overall, groupings=[Grouping("relation", groups, left_out)]).ranked_relations
    assert (ranked.least_text, ranked.best_text) == (least, best)


def test_relation_is_ranked_by_its_rate_over_the_graph(finding: Finding) -> None:
    def group(name: str, value: float, reach: float, facts: int = 300) -> GroupRate:
        right = Share(value, value - reach, value + reach)
        return GroupRate("relation", name, name, facts, 60, right, value, 0.05, 60.0)

    def over_graph(*relations: GroupRate) -> Finding:
        rates = GraphRates(
            run={},
            predictors=(),
            facts=900,
            answers=64,
            drawn=64,
            overall=group("all facts", 0.6, 0.05, 900),
            groupings=[Grouping("relation", relations, 13)],
        )
        return replace(finding, over_graph=rates)

    # Among the facts asked, the order is the other way round.
    found = over_graph(group("well", 0.8, 0.1), group("badly", 0.3, 0.1), group("who knows", 0.5, 0.3))
    ranked = found.ranked_relations
    assert ranked.least_text == "Least known of 2 of 16 relations: badly 30% [20, 40]"
    assert ranked.best_text == "Best known of 2 of 16 relations: well 80% [70, 90]"
    assert [group.name for group in ranked.least] == ["badly"]
    assert found.headline == "org/model knows 60% [55, 65] of the graph's 900 facts that can be asked; guessing 9%"
    shown = printed(found)
    assert shown.index("By relation, estimated over the graph") < shown.index("By relation, of the facts asked")
    # One number for one thing: not the prediction, nor the rate of the asked facts.
    assert "expected" not in shown
    assert "40% [28, 54]" not in shown
    # A minority of the facts says nothing about the others.
    minority = over_graph(group("well", 0.8, 0.1, 220), group("badly", 0.3, 0.1, 220)).ranked_relations
    assert (minority.least_text, minority.best_text) == ("", "")


def test_terminal_shows_all_groups_of_a_kind(finding: Finding) -> None:
    years = [GroupRates(str(1990 + n), 1, share(1, 1), share(0, 1), 0.1, 1, share(1, 1)) for n in range(12)]
    shown = printed(replace(finding, groupings=[finding.groupings[0], Grouping("year", years, 0)]))
    assert [year for year in range(1990, 2002) if str(year) in shown] == list(range(1990, 2002))


def page_of(finding: Finding, folder: Path) -> str:
    write_finding_page(folder / "finding.html", finding)
    return Page((folder / "finding.html").read_text(encoding="utf-8")).text


def printed(finding: Finding, width: int | None = 80, full: bool = True) -> str:
    """Return what the command line prints, but for the page's address; without a width into a pipe."""
    out = io.StringIO()
    with redirect_stdout(out), pytest.MonkeyPatch.context() as environment:
        if width is None:
            environment.delenv("COLUMNS", raising=False)
        else:
            environment.setenv("COLUMNS", str(width))
        show_finding(finding, Path("/page.html"), full)
    text, _, address = out.getvalue().rstrip("\n").rpartition("\n")
    assert address == "Page: file:///page.html"
    return text


def test_years_before_ours_stand_in_four_digits(finding: Finding, tmp_path: Path) -> None:
    assert "facts as of 0044-03-15" in page_of(replace(finding, about=replace(ABOUT, as_of=440315)), tmp_path)


def test_page_that_cannot_be_written_is_named(finding: Finding, tmp_path: Path) -> None:
    (tmp_path / "finding.html").mkdir()
    (tmp_path / "file").touch()
    for path, said in (
        (tmp_path / "finding.html", "finding.html cannot be written: "),
        (tmp_path / "file" / "finding.html", "file cannot be created: "),
    ):
        with pytest.raises(KgprobeError, match=re.escape(str(tmp_path)) + f".*{said}"):
            write_finding_page(path, finding)


def test_terminal_shows_everything_within_its_width(finding: Finding) -> None:
    text = printed(finding)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text
    assert "40% [28, 54]" in text
    assert "40% [10, 75]" in text
    assert "org/model · distractors · run: 64 questions about 50 facts in 4 rounds" in " ".join(text.split())
    assert "Not askable: 7: " in text
    assert "No answer came: 1,234: the server hung up" in text
    assert "[bold]" in text
    assert "3 more have fewer facts" in " ".join(text.split())
    assert "50% [40, 65]" not in text
    assert "50% [35, 65]" in text, "the win rate of what was heard"
    assert "45 of 60 questions are in the writer's words." in text
    assert re.search(r"yes/no\s+1,060\s+50% \[38, 62\]", text)
    assert "0.500 [0.250, 0.750]" in text
    assert "x" * 300 in re.sub(r"\s", "", text).replace("…", "")


def test_caveat_stands_with_every_table(finding: Finding, tmp_path: Path) -> None:
    caveat = ABOUT.caveat
    assert caveat is not None
    assert replace(ABOUT, sampling="sequential").caveat is None
    write_finding_page(tmp_path / "page.html", finding)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    # Beside the worst relations, the rates of all, each grouping, and relations at entities.
    assert page.count(caveat) == 3 + len(finding.groupings)
    assert sum(caveat in table.notes for table in finding.tables()) == len(finding.groupings)
    assert caveat in finding.summary()
    assert finding.to_dict()["caveat"] == caveat


@pytest.mark.parametrize("width", [80, 200])
def test_summary_ends_with_what_is_known(finding: Finding, width: int) -> None:
    text = printed(finding, width, full=False)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert lines[-1] == "org/model knows 40% [28, 54] of the 50 facts asked; guessing 25%"
    assert "\x1b" not in text
    assert "1,234 got no answer (the server hung up)" in " ".join(text.split())
    named = [line for line in lines if line.startswith(("Surely", "Leans"))]
    assert [line.split(":")[0] for line in named] == ["Surely unknown", "Leans unknown", "Leans known"]
    assert "→ שלום 🇯🇵" in named[1]
    # In place of a question that is longer than a line, there is its subject.
    assert named[2].startswith("Leans known: subject — capital →")


def test_nothing_is_cut_in_a_pipe(finding: Finding) -> None:
    text = printed(finding, None, full=True)
    assert f"Leans known: The capital of {'x' * 300} is → {'x' * 200}…" in text.splitlines()
    assert any(line.count("x" * 300) == 2 for line in text.splitlines()), "a row of a table"


def test_finding_is_kept_for_programs_and_spreadsheets(finding: Finding, tmp_path: Path) -> None:
    write_finding(finding, finding.to_dict(), tmp_path / "run")
    whole, facts, groups = (tmp_path / "run" / name for name in ("results.json", "facts.csv", "groups.csv"))
    found = json.loads(whole.read_text(encoding="utf-8"))
    assert found == json.loads(json.dumps(finding.to_dict()))
    assert (found["model"], found["config"], found["win_rate"]) == ("hf:org/model", {"model": "</pre><script>"}, 0.4)
    assert found["headline"] == finding.headline
    assert [group["name"] for group in found["groups"]] == ["all", EVIL, "empty", EVIL]
    rows = pd.read_csv(facts)
    assert rows.columns.tolist() == list(FACT_COLUMNS)
    assert rows["known"].tolist() == pytest.approx((1 - rows["theta"]).tolist())
    assert rows["theta"].tolist() == pytest.approx(finding.facts["theta"].tolist())
    assert rows["fact"].iloc[-1] == "'=1+1"
    assert pd.read_csv(groups)["win_rate_low"].iloc[0] == pytest.approx(finding.overall.win_rate.low)
