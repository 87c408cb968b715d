"""The page of results in a browser: first screen, matrix, map; on made-up findings of known shares."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from kgprobe.base.intervals import Share
from kgprobe.beliefs.graph_rates import GroupRate
from kgprobe.beliefs.group_rates import Grouping, group_of
from kgprobe.beliefs.summary import BeliefWord
from kgprobe.results.about import About
from kgprobe.results.believed_graph import EXPECTED_COLUMNS, BelievedGraph, TypeLink
from kgprobe.results.finding import ASK_COLUMNS, FACT_COLUMNS, Finding
from kgprobe.results.finding_page import (
    finding_sections,
    first_sections,
    map_sections,
    matrix_section,
    section_to_dict,
    write_finding_page,
    write_results_page,
)
from kgprobe.results.graph_rates import GraphRates
from tests.chromium import chromium, looking_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

EVIL = "<img src=x onerror=\"document.title='ran'\">"
RELATIONS = ("capital", "member of")
MEMBERS = 60
LISTED = 40


def ends(relation: str, place: int) -> dict[str, str]:
    """Return every second fact is a capital, the others are members of one union."""
    country = {"subject": f"c{place}", "subject_label": f"Country {place} {EVIL if place == 3 else ''}"}
    union = {"object": "un", "object_label": "Union"}
    city = {"object": f"t{place}", "object_label": f"Town of country number {place}"}
    return country | (city if relation == "capital" else union)


def asked_facts(right: Any) -> pd.DataFrame:
    """Facts that were asked once; ``right`` says which of them were answered right, by number."""
    rows = []
    for place in range(LISTED):
        for relation in RELATIONS:
            wins = bool(right(relation, place))
            known = 0.8 if wins else 0.1
            ask = {
                "question": f"{relation} of {place}",
                "answer": f"right {place}",
                "prediction": None if wins else f"wrong {place}",
                "probability": 7e-24,
                "names": [("other", 7e-24)],
                "text": None,
                "former": None,
                "prompt": "",
            }
            counts = {"right": int(wins), "wrong": int(not wins), "refused": 0, "off_format": 0, "guessed": 0.1}
            belief = {"known": known, "known_low": known - 0.1, "known_high": known + 0.1, "theta": 1 - known}
            word = {"belief": "surely known" if wins else "surely unknown", "popularity": None, "year": None}
            names = {"fact": f"{relation} {place}", "relation": relation, "relation_label": relation}
            rows.append(names | ends(relation, place) | counts | belief | word | ask)
    facts = pd.DataFrame(rows, columns=[*FACT_COLUMNS, *ASK_COLUMNS])
    columns = list(ASK_COLUMNS)
    facts[columns] = pd.DataFrame([[row[name] for name in columns] for row in rows], columns=columns, dtype=object)
    return facts


def whole_graph() -> BelievedGraph:
    """Facts that are expected: the members that were not asked."""
    rows = []
    for place in range(LISTED, MEMBERS):
        names = {"fact": f"expected {place}", "relation": "member of", "relation_label": "member of", "known": 0.35}
        rows.append(names | ends("member of", place))
    links = [
        TypeLink("country", "member of", "organization", 240, LISTED, 0.3, estimated=True),
        TypeLink("country", "capital", "city", LISTED, LISTED, 0.9, estimated=True),
    ]
    types = {f"c{place}": "country" for place in range(MEMBERS)} | {f"t{place}": "city" for place in range(LISTED)}
    types["un"] = "organization"
    return BelievedGraph(links, types, 200, 70.4, pd.DataFrame(rows, columns=list(EXPECTED_COLUMNS)))


def estimate() -> GraphRates:
    """Estimates over the whole graph: 30% of the members and 90% of the capitals are known."""
    groups = []
    for name, facts, known in (("member of", 240, 0.3), ("capital", LISTED, 0.9), ("all", 280, 0.39)):
        right = Share(known, known - 0.05, known + 0.05)
        groups.append(GroupRate("relation", name, name, facts, 40, right, known, 0.05, 40.0))
    by_relation = [Grouping("relation", groups[:2], 0)]
    return GraphRates(run={}, predictors=(), facts=280, answers=80, drawn=80, overall=groups[2], groupings=by_relation)


def made_up(label: str, right: Any, whole: BelievedGraph | None) -> Finding:
    facts = asked_facts(right)
    groups = [group_of(name, facts[facts["relation"] == name]) for name in RELATIONS]
    words = facts["belief"].tolist()
    return Finding(
        about=About(label, label, "distractors", 20240101, 0, {}, {}, rounds=2, sampling="uniform"),
        chance=0.1,
        asked=len(facts),
        mean_known=0.5,
        overall=group_of("all", facts),
        groupings=[Grouping("relation", groups, 0)],
        probe_tables=[],
        unknown=[],
        known=[],
        believed={word: words.count(word.value) for word in BeliefWord},
        facts=facts,
        over_graph=estimate() if whole else None,
        whole=whole,
        label=label,
    )


@pytest.fixture(scope="module")
def one() -> Finding:
    return made_up("one", lambda relation, place: relation == "capital" or place % 4 == 0, whole_graph())


@pytest.fixture(scope="module")
def both(one: Finding) -> list[Finding]:
    # They disagree on the capitals of every second country, and nowhere else.
    return [one, made_up("other", lambda relation, place: place % (2 if relation == "capital" else 4) == 0, None)]


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def page_of_both(both: list[Finding], tmp_path_factory: pytest.TempPathFactory) -> Path:
    matrix = matrix_section({finding.label: finding.facts for finding in both})
    sections = [*first_sections(both), matrix, *map_sections(both)]
    return write_results_page(tmp_path_factory.mktemp("page") / "both.html", "Both", [], sections, both)


def test_first_screen_counts_the_whole_graph(one: Finding, tmp_path: Path) -> None:
    bar, worst, links = (section_to_dict(section)["rows"] for section in finding_sections(one)[:3])
    assert {part["word"]: part["facts"] for part in bar} == {
        "surely known": 50,
        "expected known": 59,
        "expected unknown": 141,
        "surely unknown": 30,
    }
    assert sum(part["share"] for part in bar) == pytest.approx(1)
    assert [part["is_asked"] for part in bar] == [True, False, False, True]
    # The relation that is known whole is not among the worst.
    assert [(row["relation"], row["known"], row["facts"]) for row in worst] == [("member of", 0.3, 240)]
    assert (worst[0]["question"], worst[0]["prediction"]) == ("member of of 1", "wrong 1")
    assert [(link["relation"], link["known"]) for link in links] == [("member of", 0.3), ("capital", 0.9)]
    page = write_finding_page(tmp_path / "one.html", one).read_text(encoding="utf-8")
    assert re.search(
        r"<h1>one knows 39% \[34, 44\] of the graph&#39;s 280 facts that can be asked; guessing 10%</h1>", page
    )
    assert "expected known: 59 (21%)" in page


def test_measurement_expects_nothing(one: Finding) -> None:
    measurement = replace(one, whole=None, over_graph=None)
    assert {part["word"] for part in section_to_dict(first_sections([measurement])[0])["rows"]} == {
        "surely known",
        "surely unknown",
    }


def test_matrix_opens_filters_and_sorts_by_keyboard(browser: "Browser", page_of_both: Path) -> None:
    from playwright.sync_api import expect

    with looking_at(browser, page_of_both) as seen:
        page = seen.page
        bodies = page.locator("#matrix tbody")
        expect(page.locator("#matrix-count")).to_have_text("80 of 80 facts, in 2 relations; they disagree on 20")
        # A tick for each fact, the relation with disagreements first.
        ticks = "paths => paths.map(path => path.getAttribute('d').split('M').length - 1)"
        assert bodies.nth(0).locator("td").nth(0).locator("path").evaluate_all(ticks) == [40]
        assert bodies.nth(0).locator("td").nth(1).locator("path").evaluate_all(ticks) == [20, 20]
        assert bodies.nth(0).locator(".relation button").inner_text() == "capital"
        page.locator("#matrix .relation button").first.focus()
        page.keyboard.press("ArrowRight")
        rows = page.locator("#matrix .fact")
        assert rows.count() == 40
        cells = rows.first.locator("td")
        assert [" ".join(text.split()) for text in cells.all_inner_texts()] == [
            "✓ right: right 1",
            "✗ wrong: wrong 1",
        ]
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert page.locator("#matrix .detail dl").count() == 2
        assert "≈ 0" in page.locator("#matrix .detail").inner_text()
        assert "e-24" not in page.locator("body").inner_text()
        page.select_option("#matrix-state", "none")
        expect(page.locator("#matrix-count")).to_have_text("30 of 80 facts, in 1 relation; they disagree on 0")
        page.select_option("#matrix-state", "1 surely unknown")
        expect(page.locator("#matrix-count")).to_have_text("50 of 80 facts, in 2 relations; they disagree on 20")
        page.click("#matrix-form button[type=reset]")
        page.select_option("#matrix-order", "name")
        page.fill("#matrix-search", "country 7 ")
        expect(page.locator("#matrix-count")).to_contain_text("8 of 80 facts")
        assert rows.count() == 8
        assert seen.complaints == []
        assert seen.loaded == []


def overlaps(page: "Page") -> int:
    """Pairs of labels of the map of which one covers the other."""
    number: int = page.evaluate(
        """() => {
            const boxes = [...document.querySelectorAll("#map text")].map((one) => one.getBoundingClientRect());
            let count = 0;
            const wide = (one, other) => one.left < other.right && other.left < one.right;
            const high = (one, other) => one.top + 2 < other.bottom && other.top + 2 < one.bottom;
            boxes.forEach((one, place) => boxes.slice(place + 1).forEach((other) => {
                count += wide(one, other) && high(one, other);
            }));
            return count;
        }"""
    )
    return number


@pytest.mark.parametrize("width", [1200, 390])
def test_map_opens_zooms_and_keeps_labels_apart(browser: "Browser", page_of_both: Path, width: int) -> None:
    with looking_at(browser, page_of_both, width) as seen:
        page = seen.page
        links = page.locator("#map .link")
        assert [link.split(":")[0] for link in links.evaluate_all("all => all.map(one => one.ariaLabel)")] == [
            "country – member of → organization",
            "country – capital → city",
        ]
        widths = [
            float(style.split("stroke-width: ")[1].split(";")[0])
            for style in links.locator("path").evaluate_all("all => all.map(one => one.getAttribute('style'))")
        ]
        assert widths[0] > widths[1]
        assert overlaps(page) == 0
        page.fill("#map-entity", "Union")
        page.click("#map-form button[type=submit]")
        assert (
            "Union: 60 facts; 10 of 40 asked known, 35% of 20 expected to be known"
            in page.locator("#map-count").inner_text()
        )
        hub = page.locator("#map .hub")
        assert (
            hub.get_attribute("aria-label")
            == "+56 more of type country (← member of), 10 of 36 asked known, 35% of 20 expected to be known"
        )
        assert page.locator("#map .spoke").count() == 5
        hub.focus()
        page.keyboard.press("Enter")
        assert page.locator("#map .spoke").count() == 35
        assert overlaps(page) == 0
        # Asked facts are filled, expected ones hollow; the least known are farthest from the centre.
        page.keyboard.press("Enter")
        fills = page.locator("#map .expected circle").evaluate_all("all => all.map(one => getComputedStyle(one).fill)")
        assert fills
        assert set(fills).isdisjoint(
            page.locator("#map .spoke.asked circle").evaluate_all("all => all.map(one => getComputedStyle(one).fill)")
        )
        before = page.locator("#map text").count()
        page.locator("#map").scroll_into_view_if_needed()
        box = page.locator("#map").bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
        for _ in range(6):
            page.mouse.wheel(0, -100)
        page.wait_for_function("stage.view.scale > 2")
        assert overlaps(page) == 0
        assert before > 0
        page.click("#map-back")
        assert links.count() == 2
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("img").count() == 0
        assert seen.complaints == []


# Parts of a page that a reader cannot see whole, with all details open: tables that scroll, and texts of drawings.
CUT = """() => {
    for (const details of document.querySelectorAll("details")) details.open = true;
    const cut = [...document.querySelectorAll(".scroll")].filter((one) => one.scrollWidth > one.clientWidth + 1);
    for (const text of document.querySelectorAll("svg text")) {
        const [inner, outer] = [text, text.ownerSVGElement].map((one) => one.getBoundingClientRect());
        const sides = [outer.left - inner.left, inner.right - outer.right, outer.top - inner.top];
        if (Math.max(...sides) > 1) cut.push(text);
    }
    return cut.map((one) => one.ariaLabel || one.textContent);
}"""


def test_page_is_short_and_cuts_nothing(browser: "Browser", one: Finding, page_of_both: Path, tmp_path: Path) -> None:
    long = "Organisation for Economic Co-operation and Development in "
    columns = {name: [f"{long}{label}" for label in one.facts[name]] for name in ("object_label", "relation_label")}
    found = replace(one, facts=one.facts.assign(**columns))
    for path in (write_finding_page(tmp_path / "one.html", found), page_of_both):
        with looking_at(browser, path, 1300) as seen:
            assert seen.page.evaluate("document.documentElement.scrollHeight") <= 6_000
            assert seen.page.evaluate(CUT) == []
            names = seen.page.locator("svg.drawn text").all_text_contents()
            assert len(set(names)) == len(names)
            seen.page.click(".rail a >> nth=-2")
            assert seen.complaints == []


def test_printed_page_has_all_rows(browser: "Browser", page_of_both: Path) -> None:
    with looking_at(browser, page_of_both) as seen:
        seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert seen.page.locator("#matrix .fact").count() == 80
        seen.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
        assert seen.page.locator("#matrix .fact").count() == 0


def test_list_of_one_result_prints_all_pages(browser: "Browser", one: Finding, tmp_path: Path) -> None:
    with looking_at(browser, write_finding_page(tmp_path / "one.html", one)) as seen:
        rows = seen.page.locator("#asked-table tbody tr")
        assert rows.count() == 50
        seen.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        assert rows.count() == 80
        assert seen.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_the_page(browser: "Browser", page_of_both: Path, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright-python")
    with looking_at(browser, page_of_both, scheme=scheme) as seen:
        seen.page.locator("#matrix .relation button").first.click()
        seen.page.locator("#matrix .fact button").first.click()
        for details in seen.page.locator("summary").all():
            if details.is_visible():
                details.click()
        types = axe.Axe().run(seen.page)
        seen.page.locator("#map .link").first.focus()
        seen.page.keyboard.press("Enter")
        entity = axe.Axe().run(seen.page)
        for audit in (types, entity):
            assert audit.violations_count == 0, audit.generate_report()
