"""``kgprobe.make_report`` on what models were really asked: its figures from the audit trail, its page in a browser."""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
import torch
from scipy import stats

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from kgprobe.models.model import Model
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.results.measurement import Measurement, Run
from kgprobe.results.report import Report
from kgprobe.results.shelf import latest_result
from tests.chromium import chromium, looking_at
from tests.judge.judged_files import judged, write_judged_graph
from tests.models.tiny import byte_level, random_model
from tests.probes.questions.answering import Answering
from tests.results.rendering.page_numbers import apart, page_numbers
from tests.written_source import WrittenSource

if TYPE_CHECKING:
    from playwright.sync_api import Browser

AS_OF = 20240101
# Markup, a script, a terminal's escape, a change of direction, and a long one.
EVIL = "<img src=x onerror=\"document.title='taken'\"></script><script>document.title='taken'</script>"
BIDI = "abc \u202egnp.exe\u202c \x1b[31mred"
LONG = "Long" + "o" * 29_000
PLACES = ["Łódź", "東京", EVIL, BIDI, LONG, *(f"Place {n}" for n in range(10))]
COUNTRIES = [f"Country {n}" for n in range(15)]
WORDS = {
    "clozes": ("The capital of [X] is [Y]", "[X] is ruled from [Y]"),
    "yes_no_questions": ("Is [Y] the capital of [X]?",),
    "wh_questions": ("What is the capital of [X]?",),
}
WORLD = WrittenSource(
    [
        *(Entity(f"c{n}", name, types=("country",), popularity=10 * n) for n, name in enumerate(COUNTRIES)),
        *(Entity(f"t{n}", name, types=("city",)) for n, name in enumerate(PLACES)),
    ],
    [
        *(Fact(f"capital {n}", f"c{n}", "capital", f"t{n}", start=f"{1900 + n}") for n in range(15)),
        *(Fact(f"largest {n}", f"c{n}", "largest", f"t{(n + 1) % 15}") for n in range(0, 15, 2)),
        *(Fact(f"before {n}", f"c{n}", "capital", f"t{(n + 3) % 15}", start="1800", end="1899") for n in range(15)),
    ],
    [Relation("capital", "capital", **WORDS), Relation("largest", f"largest {EVIL}", **WORDS)],
)


class Asked(NamedTuple):
    """A small world, and what was asked of it."""

    graph: Graph
    chosen: Measurement
    said: Measurement
    other: Measurement
    run: Run


class SameWeights(Answering):
    """A generator that says which weights it has, as those of real models do."""

    weights: Any = None

    def describe(self) -> dict[str, object]:
        return {**super().describe(), "weights": self.weights}


def model(scale: float, name: str) -> Model:
    """Return a random model that answers with a place, or the wrong one."""
    tokenizer = byte_level(bos=True)
    net = random_model("gpt2", len(tokenizer), n_positions=1024)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(scale)
    scorer = Scorer(net, tokenizer, name=name)
    places = ("Yes.", "No.", "Łódź", EVIL, "I don't know.")
    generator = SameWeights(lambda question: places[sum(map(ord, question)) % len(places)], name=name)
    generator.weights = scorer.describe()["weights"]
    return Model(name, open_scorer=lambda: scorer, generator=generator)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def asked(folder: Path, add_graph: Callable[[], Endpoint]) -> Iterator[Asked]:
    with pytest.MonkeyPatch.context() as patch, Graph(add_graph()) as graph:
        patch.setenv("KGPROBE_HOME", str(folder))
        load(graph, WORLD)
        one, another = model(1.0, "one"), model(0.4, "another")
        how: dict[str, Any] = {"as_of": AS_OF}
        yield Asked(
            graph,
            kgprobe.measure(graph, one, distractors=4, sentences=1, strategy="temporal-semantic", name="chosen", **how),
            kgprobe.measure(graph, one, "questions", name="said", **how),
            kgprobe.measure(graph, another, distractors=4, name="other", **how),
            kgprobe.run_rounds(graph, one, rounds=2, facts_per_round=6, distractors=4, name="run", **how),
        )


@pytest.fixture(scope="module")
def report(asked: Asked) -> Report:
    return kgprobe.make_report([asked.chosen])


@pytest.fixture(scope="module")
def together(asked: Asked) -> Report:
    return kgprobe.make_report([asked.chosen, asked.said, asked.other, asked.run])


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as started:
        yield started


def wilson(wins: int, total: int) -> tuple[float, float]:
    """Return the ends of Wilson's 95% interval, from its quadratic."""
    z, rate = float(stats.norm.ppf(0.975)), wins / total
    middle = (rate + z * z / (2 * total)) / (1 + z * z / total)
    half = z / (1 + z * z / total) * math.sqrt(rate * (1 - rate) / total + z * z / (4 * total * total))
    return max(0.0, middle - half), min(1.0, middle + half)


def trail(result: Measurement) -> list[dict[str, Any]]:
    """Return the audit trail as it lies on disk."""
    return [json.loads(line) for line in (result.folder / "outcomes.jsonl").read_text().splitlines()]


def section(report: Report, title: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = next(one["rows"] for one in report.to_dict()["sections"] if title in one["title"])
    return rows


def test_figures_can_be_recomputed_from_the_audit_trail(asked: Asked, report: Report) -> None:
    lines = [line for line in trail(asked.chosen) if line["verdict"] in ("right", "wrong")]
    right = Counter(line["verdict"] == "right" for line in lines)
    told = report.to_dict()["results"][0]
    # 1 and 2: how many facts, and how many questions.
    assert told["facts_asked"] == told["questions"] == len(lines) > 15
    # 3, 4 and 5: the win rate and its ends; a fact of a measurement is asked once.
    assert told["win_rate"] == right[True] / len(lines)
    assert (told["win_rate_low"], told["win_rate_high"]) == pytest.approx(wilson(right[True], len(lines)))
    # 6: the zero-sense rate.
    assert told["zero_sense_rate"] == right[False] / len(lines)
    # 7: how often guessing is right: one of those among which the model chose.
    chances = [1 / (1 + len(line["evidence"]["sentences"][0]["rivals"])) for line in lines]
    assert told["chance"] == pytest.approx(sum(chances) / len(chances))
    # 8: a relation's win rate, with its ends.
    capital = [line["verdict"] == "right" for line in lines if line["relation"] == "capital"]
    row = next(row for row in told["groups"] if (row["by"], row["name"]) == ("relation", "capital"))
    assert (row["facts"], row["win_rate"]) == (len(capital), sum(capital) / len(capital))
    assert (row["win_rate_low"], row["win_rate_high"]) == pytest.approx(wilson(sum(capital), len(capital)))
    # 9: how many facts stand at an entity, as subject or object.
    ends: Counter[str] = Counter()
    for line in lines:
        ends.update({line["subject"], line["evidence"]["object"]["id"]})
    assert (
        sorted((row["facts"] for row in section(report, "By entity")), reverse=True)
        == sorted((count for count in ends.values() if count > 1), reverse=True)[: len(section(report, "By entity"))]
    )
    # 10: what is believed: one answer makes Beta(2, 1) or Beta(1, 2), of which one leans, and no more.
    low = stats.beta(2, 1).ppf(0.05)
    word = "surely" if low > 0.5 else "leans"
    assert told["believed"][f"{word} unknown"] == right[False]
    # 11: how probable the right answer was among all, by the mean over sentences of the log-plausibilities given.
    facts = {row["fact"]: row for row in report.to_dict()["facts"]}
    for line in lines:
        fact = facts[line["fact"]]
        assert (fact["right"], fact["wrong"]) == ((1, 0) if line["verdict"] == "right" else (0, 1))
        assert fact["prompt"] == line["prompt"]
        assert fact["known"] == pytest.approx((1 + fact["right"]) / 3)
        assert len(fact["names"]) == len(line["evidence"]["sentences"][0]["rivals"])
        beside = [probability for _, probability in fact["names"]]
        assert beside == sorted(beside, reverse=True)
        assert (line["verdict"] == "right") == (fact["prediction"] is None)
    # 12: a dot of the map: the share of an entity's facts that are of a relation.
    of: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        for end in {line["subject"], line["evidence"]["object"]["id"]}:
            of[end][line["relation"]] += 1
    shares = sorted(counts["capital"] / counts.total() for counts in of.values() if counts["capital"])
    dots = sorted(row["share"] for row in section(report, "Relations at entities") if row["relation"] == "capital")
    assert all(any(share == pytest.approx(other) for other in shares) for share in dots)
    # 13: a third of popularity.
    thirds = section(report, "By popularity")
    assert sum(row["facts"] for row in thirds) == len(lines)
    # Each figure of the page's cards is one of these.
    page = report.page().read_text(encoding="utf-8")
    cards = re.findall(r'<div class="card"><b>(.*?)</b>', page)
    assert cards[0] == f"{right[True] / len(lines):.0%}"
    assert f"{right[False] / len(lines):.0%}" in cards


def test_number_of_each_result_has_one_value(report: Report, together: Report) -> None:
    assert apart(page_numbers(report.page().read_text(encoding="utf-8"))) == {}
    page = together.page().read_text(encoding="utf-8")
    for finding in together.findings:
        assert len(page_numbers(page, finding.label)["known"]) >= 3
        assert apart(page_numbers(page, finding.label)) == {}


def test_outdated_answers_have_their_age(asked: Asked, report: Report) -> None:
    before = [
        line
        for line in trail(asked.chosen)
        if line["verdict"] == "wrong"
        and any(
            rival["former"] and rival["label"] == fact["prediction"]
            for fact in report.to_dict()["facts"]
            if fact["fact"] == line["fact"]
            for rival in line["evidence"]["rivals"]
        )
    ]
    if not before:
        pytest.fail("no answer of this world is outdated; the test needs another seed")
    share, age = section(report, "Outdated answers")
    assert share["value"] == pytest.approx(len(before) / len(report.facts_frame()))
    # All of them ended with 1899.
    assert age["value"] == pytest.approx(124.0, abs=1.1)


def test_several_results_stand_side_by_side(together: Report) -> None:
    told = together.to_dict()
    labels = [result["label"] for result in told["results"]]
    assert labels == ["chosen", "said", "other", "run"]
    facts = defaultdict(dict[str, bool])
    for row in told["facts"]:
        facts[row["fact"]][row["result"]] = row["right"] > row["wrong"]
    shared = {fact: its for fact, its in facts.items() if len(its) == 4}
    apart = [fact for fact, its in shared.items() if len(set(its.values())) > 1]
    assert told["comparison"]["facts"] == len(shared)
    assert sorted(row["fact"] for row in told["disagreements"]) == sorted(apart)
    matrix = section(together, "Fact by fact")
    verdicts = {fact: set(its.values()) for fact, its in facts.items()}
    assert sum(row["facts"] for row in matrix) == len(facts)
    assert sum(row["disagree"] for row in matrix) == sum(len(its) > 1 for its in verdicts.values())
    # What the model has right when it chooses and not when it answers, of the measurement and of the run.
    gap = told["gaps"][0]["overall"]
    both = [its for its in facts.values() if {"chosen", "said"} <= its.keys()]
    known = [its for its in both if its["chosen"]]
    assert (gap["facts"], gap["known"]) == (len(both), len(known))
    assert gap["unsaid"] == pytest.approx(sum(not its["said"] for its in known) / len(known))
    assert len(told["gaps"]) == 2
    models = told["comparison"]["models"]
    assert together.title.startswith(f"{models[0]['label']} knows most of the {len(shared)} facts that all were asked")
    assert together.lead[0].startswith(f"Compared: {len(shared)} of {len(facts)} facts with answers. ")
    assert "that its rounds did not choose" in together.lead[0]
    assert len(together.lead) == 1 + 4 + 1 + 2


def test_judged_graph_can_be_reported_alone_and_beside(asked: Asked, tmp_path: Path) -> None:
    rows = [judged(f"f{n}", n % 3 % 2, [1], subject_types=[f"t{n % 7}"]) for n in range(90)]
    write_judged_graph(tmp_path / "sweep", rows, shards=3)
    sweep = kgprobe.open(tmp_path / "sweep")
    alone = kgprobe.make_report([sweep])
    assert len(alone.facts_frame()) == 0
    page = alone.page(tmp_path / "judged.html").read_text(encoding="utf-8")
    assert "By relation" in page
    assert "<script" not in page
    figures = json.loads(json.dumps(alone.to_dict()["judged"][0]["figures"]))
    assert figures == kgprobe.open(tmp_path / "sweep").rows()
    beside = kgprobe.make_report([asked.chosen, sweep])
    assert len(beside.lead) == len(kgprobe.make_report([asked.chosen]).lead) + 1
    assert beside.title == beside.findings[0].share_known


def test_latest_result_is_the_one_that_was_answered_last(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(asked.chosen.folder.parent.parent))
    assert latest_result(asked.graph).folder == asked.run.folder
    (asked.other.folder / "outcomes.jsonl").touch()
    assert latest_result(asked.graph).folder == asked.other.folder


def test_what_cannot_be_reported_says_why(asked: Asked, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="`results` is empty"):
        kgprobe.make_report([])
    with pytest.raises(ArgumentError, match="the same result twice"):
        kgprobe.make_report([asked.chosen, asked.chosen])
    with pytest.raises(ArgumentError, match="has the name 'asked'; open it first"):
        kgprobe.make_report(["asked"])  # type: ignore[list-item]
    with pytest.raises(ArgumentError, match="opened without its graph"):
        kgprobe.make_report([kgprobe.open(asked.chosen.folder)])
    (tmp_path / "taken").mkdir()
    with pytest.raises(KgprobeError, match="taken cannot be written"):
        kgprobe.make_report([asked.chosen]).page(tmp_path / "taken")


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (375, "dark")])
def test_page_works_in_a_browser(browser: "Browser", report: Report, tmp_path: Path, width: int, scheme: str) -> None:
    from playwright.sync_api import expect

    path = report.page(tmp_path / "report.html")
    with looking_at(browser, path, width, scheme) as seen:
        page = seen.page
        rows = page.locator("#asked-table tbody tr")
        everything = len(report.facts_frame())
        # A link of the table of contents opens a folded section.
        page.click(".rail a:has-text('Every asked fact')")
        expect(page.locator("#asked-count")).to_be_visible()
        assert page.locator("#asked-count").inner_text() == f"{everything} of {everything} facts"
        # What labels hold is text: no script of theirs ran, and no element is made of it.
        assert page.title() == report.title
        assert page.locator("img").count() == 0
        # Nothing is wider than the screen.
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        # The search.
        page.fill("#asked-search", "country 7 ")
        sought = report.facts_frame()
        names = ["question", "answer", "prediction", "subject_label", "object_label"]
        text = sought[names].fillna("").agg("\n".join, axis="columns").str.lower()
        found = sought[text.str.contains("country") & text.str.contains("7")]
        assert 0 < len(found) < everything
        expect(page.locator("#asked-count")).to_have_text(f"{len(found)} of {everything} facts")
        assert rows.count() == len(found)
        assert all("7" in text for text in rows.all_inner_texts())
        # A fact with all that was put to the model; by the keyboard.
        rows.first.locator("button").focus()
        page.keyboard.press("Enter")
        detail = page.locator(".detail").inner_text()
        assert "Prompt" in detail or "Alternatives" in detail
        page.click("#asked-form button[type=reset]")
        expect(page.locator("#asked-count")).to_have_text(f"{everything} of {everything} facts")
        # The filter.
        page.select_option("#asked-answer", "1")
        right = int((sought["right"] > sought["wrong"]).sum())
        expect(page.locator("#asked-count")).to_have_text(f"{right} of {everything} facts")
        # Sorting.
        page.click("#asked-table th button:has-text('Known')")
        known = [
            float(text.split()[0]) for text in page.locator("#asked-table tbody td:nth-child(7)").all_inner_texts()
        ]
        assert known == sorted(known, reverse=True)
        # The map: a link between types leads to an entity, each fact of it is a spoke, and a spoke leads on.
        links = page.locator("#map .link").evaluate_all("all => all.map(one => one.ariaLabel)")
        assert sorted(link.split(":")[0] for link in links)[0] == "country – capital → city"
        page.locator("#map .link").first.focus()
        page.keyboard.press("Enter")
        centre = page.locator("#map-entity").input_value()
        drawn = page.locator("#map .spoke").count()
        assert page.locator("#map-listed li").count() == drawn > 0
        page.locator("#map .spoke").first.focus()
        page.keyboard.press("Enter")
        assert page.locator("#map-entity").input_value() != centre
        page.click("#map-back")
        assert page.locator("#map-entity").input_value() == centre
        page.fill("#map-entity", "Nowhere")
        page.click("#map-form button[type=submit]")
        assert "The page has no fact about" in page.locator("#map-count").inner_text()
        assert seen.complaints == []
        assert seen.loaded == []
