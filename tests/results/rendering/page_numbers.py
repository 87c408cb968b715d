"""The numbers of a page of results by their meaning, for a test that each has one value."""

import base64
import html
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import msgspec

from kgprobe.papers.studies.study import Study
from kgprobe.results.rendering.tables import shown

_SHARE = r"(< 1%|\d+%)"
# The headings of the columns with the share that is known.
_KNOWN = ("Right", "Win rate")
# What sentences of comparisons say.
_IN_COMPARISONS = {
    "facts": r"(?:the|on) ([\d,]+) facts",
    "points": r"([\d.]+) points(?: gained| lost| \()",
    "forgotten": r"([\d,]+) facts? forgotten",
    "gained": r"([\d,]+) gained",
}
# Columns that name the groups of a judged graph which have each fact once.
_PARTITIONS = ("Relation", "Head type", "Tail type", "Head and tail type", "Third")


def apart(numbers: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return the numbers with several values, by meaning."""
    return {meaning: texts for meaning, texts in numbers.items() if len(set(texts)) > 1}


def page_numbers(page: str, label: str = "") -> dict[str, list[str]]:
    """Return the texts of each number, by its meaning, in their order."""
    numbers: defaultdict[str, list[str]] = defaultdict(list)
    title = _text(re.findall(r"<h1>(.*?)</h1>", page, re.DOTALL)[0])
    if label:
        title = next(text for text in map(_text, re.findall(r"<p>(.*?)</p>", page)) if text.startswith(f"{label}: "))
        page = re.sub(
            r'<div class="whole">\s*<p class="of">(?!' + re.escape(label) + r"<).*?</ul>", "", page, flags=re.DOTALL
        )
    for known, facts in re.findall(rf"{_SHARE} \[[\d, ]+\] of the (?:graph's )?([\d,]+) facts", title):
        numbers["known"].append(known)
        numbers["facts"].append(facts)
    numbers["guessing"] += re.findall(rf"guessing {_SHARE}", title)
    for section in re.findall(r"<section.*?</section>", page, re.DOTALL):
        heading = _text("".join(re.findall(r"<h2>(.*?)</h2>", section, re.DOTALL)))
        if label and heading and not heading.startswith(f"{label}: "):
            continue
        heading = heading.removeprefix(f"{label}: ")
        for meaning, text in (*_of_section(heading, section), *_of_tables(heading, section)):
            numbers[meaning].append(text)
    for meaning, text in () if label else _of_data(page):
        numbers[meaning].append(text)
    return dict(numbers)


def _text(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split())


def _of_section(heading: str, section: str) -> Iterator[tuple[str, str]]:
    """Yield numbers of the bar, the least known relations, the cards, the lists of facts, and the years."""
    bar = re.findall(r'flex-grow: ([\d.]+)"(?: class="asked")?><b class="(?:\w+)-(\w+)"', section)
    if bar:
        yield "known", f"{sum(float(part) for part, word in bar if word == 'known'):.0%}"
        counts = re.findall(r"</span>(\w+) (known|unknown): ([\d,]+) \(", section)
        for how, word, count in counts:
            yield f"{how} {word}", count
        yield "facts", f"{sum(int(count.replace(',', '')) for *_, count in counts):,}"
    for name, known, facts in re.findall(rf'<b>(.*?)</b> <span class="rate">{_SHARE} \[.*?\] of ([\d,]+)', section):
        yield f"known by relation: {_text(name)}", known
        yield f"facts by relation: {_text(name)}", facts
    for figure, says in re.findall(r'<div class="card"><b>(.*?)</b><span>(.*?)</span>', section):
        if says.startswith(("win rate", "of the whole graph")):
            yield "known", html.unescape(figure)
        if says == "by guessing":
            yield "guessing", html.unescape(figure)
    for word, count in re.findall(r"^(\w+ (?:un)?known): ([\d,]+) of", heading):
        yield word.lower(), count
    for name, known, facts in re.findall(rf"<title>([^<]*): {_SHARE} \[.*?\] of (\d+) facts</title>", section):
        yield f"known by year: {name}", known
        yield f"facts by year: {name}", facts


def _of_tables(heading: str, section: str) -> Iterator[tuple[str, str]]:
    """Yield numbers of the rates by group, and of the types of the map."""
    kind = re.match(r"By (\w+)|All facts", heading)
    for table in re.findall(r"<table.*?</table>", section, re.DOTALL):
        rows = list(map(_cells, re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL)))
        head, *body = rows or [[]]
        cells = [dict(zip(head, row, strict=True)) for row in body]
        if kind is not None and "Facts" in head:
            for row in cells:
                yield from _of_group(kind[1] or "relation", row)
        if head[:3] == ["Subject type", "Relation", "Object type"]:
            links: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
            for row in cells:
                links[row["Relation"]].append(row)
            for name, own in links.items():
                if len(own) == 1:
                    yield f"known by relation: {name}", own[0]["Known"].split(" of ")[0]
            yield "facts", f"{sum(int(row['Facts'].replace(',', '')) for row in cells):,}"


def _cells(row: str) -> list[str]:
    return list(map(_text, re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)))


def _of_group(by: str, row: dict[str, str]) -> Iterator[tuple[str, str]]:
    known = next(row[name] for name in _KNOWN if name in row)
    name = next(iter(row.values()))
    which = "" if name in ("all", "all facts") else f" by {by}: {name}"
    yield f"known{which}", known.split(" [")[0]
    yield f"facts{which}", row["Facts"]
    if "By guessing" in row and not which:
        yield "guessing", row["By guessing"]


def _of_data(page: str) -> Iterator[tuple[str, str]]:
    """Yield numbers that the page's script shows: those of the map, and the number of asked facts."""
    packed = re.findall(r'id="asked-facts">(.*?)</script>', page)[0]
    data: dict[str, Any] = msgspec.json.decode(zlib.decompress(base64.b64decode(packed)))
    yield "asked facts", f"{data['rows']:,}"
    links: defaultdict[str, list[int]] = defaultdict(list)
    for _, _, relation, _, _, _, known, _ in data["links"]:
        links[data["strings"][relation]].append(known)
    for name, shares in links.items():
        if len(shares) == 1:
            yield f"known by relation: {name}", "not asked" if shares[0] < 0 else f"{shares[0] / 1000:.0%}"
    yield "asked facts", re.findall(r"questions? about ([\d,]+) fact", page)[0]


def comparison_numbers(page: str, models: Sequence[str]) -> dict[str, list[str]]:
    """Return the numbers of a page that compares models on the same facts, by meaning."""
    numbers: defaultdict[str, list[str]] = defaultdict(list)
    texts = list(map(_text, re.findall(r"<h1>.*?</h1>|<p[^>]*>.*?</p>", page, re.DOTALL)))
    for meaning, pattern in _IN_COMPARISONS.items():
        for text in texts:
            numbers[meaning] += re.findall(pattern, text)
    for name, bar in re.findall(r'<p class="of">(.*?)</p>(.*?)</ul>', page, re.DOTALL):
        shares = re.findall(r"(?:surely|leans) known: [\d,]+ \((\d+)%\)", bar)
        numbers[f"right: {_text(name)}"].append(f"{sum(map(int, shares))}%")
    for row in _table_rows(page):
        if "Relation" in row and row["Relation"] != "all":
            continue
        numbers["facts"] += [row[head] for head in ("Facts", "Shared") if head in row]
        numbers["forgotten"] += [row[head] for head in ("Forgotten", "First alone") if head in row]
        numbers["gained"] += [row[head] for head in ("Gained", "Second alone") if head in row]
        for head in ("Loss", "Second - first"):
            numbers["points"] += re.findall(r"^[+-]([\d.]+)", row.get(head, ""))
        for model in models:
            heads = [model.capitalize(), *(("Win rate", "Mean accuracy") if row.get("Model") == model else ())]
            if "Subsumption" not in row["heading"]:
                numbers[f"right: {model}"] += [row[head].split(" [")[0] for head in heads if head in row]
    return dict(numbers)


def label_numbers(page: str) -> dict[str, list[str]]:
    """Return the numbers of the page of a label table, by meaning."""
    numbers: defaultdict[str, list[str]] = defaultdict(list)
    lead = page[: page.index("<table")]
    for scheme, classes in re.findall(r"(profile|belief|slick): ([^<]*)", lead):
        for name, share in re.findall(r"([a-z][\w ,]*?) (< 1%|\d+%) \[", html.unescape(classes)):
            numbers[f"{scheme}: {name}"].append(share)
    for row in _table_rows(page):
        kind, _, scheme = row["heading"].partition(": ")
        if kind == "Classes":
            numbers[f"{scheme}: {row['Class']}"].append(row["Share"].split(" [")[0])
        if kind == "Right answers by way of asking":
            numbers["asked facts"].append(row["Asked"])
    numbers["asked facts"] += re.findall(r"([\d,]+) asked facts", lead)
    for scheme in ("profile", "belief", "slick"):
        asked = [int(row["Asked facts"]) for row in _table_rows(page) if row["heading"] == f"By relation: {scheme}"]
        numbers["asked facts"] += [f"{sum(asked):,}"] if asked else []
    return dict(numbers)


def _table_rows(page: str) -> Iterator[dict[str, str]]:
    """Yield the rows of all tables, by the names of their columns, with the heading above."""
    for section in re.findall(r"<section.*?</section>", page, re.DOTALL):
        heading = _text("".join(re.findall(r"<(?:h2|summary)[^>]*>(.*?)</(?:h2|summary)>", section, re.DOTALL)[:1]))
        for table in re.findall(r"<table.*?</table>", section, re.DOTALL):
            head, *body = map(_cells, re.findall(r"<tr>(.*?)</tr>", table, re.DOTALL))
            for cells in body:
                yield {"heading": heading} | dict(zip(head, cells, strict=True))


def judged_numbers(page: str) -> dict[str, list[str]]:
    """Return the numbers of a page of one judged graph, by meaning; its facts are all measured."""
    numbers: defaultdict[str, list[str]] = defaultdict(list)
    for text in map(_text, re.findall(r"<p[^>]*>.*?</p>", page, re.DOTALL)):
        numbers["facts"] += re.findall(r"judged on ([\d,]+) facts", text)
        for metric, corrected, raw in re.findall(r"(\w+) ([\d.]+ \[[^]]*\]) \(by the judge alone ([\d.]+)\)", text):
            numbers[f"corrected {metric}"].append(corrected)
            numbers[f"judge {metric}"].append(raw)
        for used, labels in re.findall(r"(\d+) of (\d+) facts of \w+ are used", text):
            numbers["corrected facts"].append(used)
            numbers["labels"].append(labels)
    parts: defaultdict[str, int] = defaultdict(int)
    for row in _table_rows(page):
        (kind, name), heading = list(row.items())[1], row["heading"].partition(": ")[2]
        if "By" in row:
            of = "" if name == "all" else f" of {kind} {name}"
            for column in ("Facts", "Correct", "Truthful", "Informative"):
                numbers[f"{row['By']} {column.lower()}{of}"].append(row[column])
            parts[kind] += int(row["Facts"]) if row["By"] == "judge" else 0
        elif heading == "Types of the relations":
            numbers[f"judge facts of Relation {name}"].append(row["Facts"])
        elif heading == "Correlations":
            for other in list(row)[2:]:
                numbers[" and ".join(sorted([name, other.lower()]))].append(row[other])
        elif name == "facts":
            numbers["judge correct"].append(row["True"])
            numbers["judge facts"].append(row["Judged"])
        elif name == "labelled facts":
            parts["left out"] += int(row["Number"])
    numbers["judge facts"] += [*numbers.pop("facts"), *(str(parts[kind]) for kind in _PARTITIONS)]
    numbers["labels"].append(str(int(numbers["corrected facts"][0]) + parts["left out"]))
    return dict(numbers)


def gap_numbers(page: str) -> dict[str, list[str]]:
    """Return the numbers of a page of the gap between two probes, by meaning."""
    numbers: defaultdict[str, list[str]] = defaultdict(list)
    for text in map(_text, re.findall(r"<p[^>]*>.*?</p>", page, re.DOTALL)):
        numbers["known"] += re.findall(r"knows ([\d,]+) facts", text)
        numbers["missed of all"] += re.findall(r"misses (\d+%) ", text)
        numbers["facts"] += re.findall(r"the ([\d,]+) facts", text)
        numbers["missed"] += re.findall(r"^\d+ of ([\d,]+)\.$", text)
    facts = 0
    for row in _table_rows(page):
        if "Facts" in row:
            name = row["Relation"]
            for column in [column for column in row if column.startswith("Known by ") and "[" in row[column]]:
                numbers[f"{column} of {name}"].append(row[column].split(" [")[0])
            numbers[f"missed of {name}"].append(row["Of the first, missed"].split(" [")[0])
            facts += 0 if name == "all" else int(row["Facts"])
            numbers["facts"] += [row["Facts"]] if name == "all" else []
    for traces in _plots(page):
        for relation, shares in zip(traces[0]["y"], traces[0]["z"], strict=True):
            for probe, share in zip(traces[0]["x"], shares, strict=True):
                numbers[f"Known by {probe} of {relation}"].append(f"{share:.0%}")
    numbers["facts"].append(str(facts))
    numbers["missed of all"].append(f"{int(numbers['missed'][0]) / int(numbers['known'][0]):.0%}")
    return dict(numbers)


def assert_study_agrees(study: Study, *plots: tuple[str, str], verdict: str = "(?!)") -> None:
    """Assert that the numbers of a study's page are the same in plots, tables and verdict, and that others are noticed.

    Args:
        plots: for each plot, the columns of its table that name a point, with a comma between them, and the column of
            the values; empty if each line has its own.
        verdict: pattern of the numbers in the verdict: the column, if each line has its own, the point, and the value.
    """
    page = study.page().read_text(encoding="utf-8")
    numbers = _study_numbers(page, plots, verdict)
    assert apart(numbers) == {}, apart(numbers)
    *_, repeated = (texts[0] for texts in numbers.values() if len(texts) > 1)
    changed = re.sub(rf">{re.escape(repeated)}(?=<| \[)", ">0.0123", page)
    assert apart(_study_numbers(changed, plots, verdict)), f"a page with another number than {repeated}"


def _study_numbers(page: str, plots: Sequence[tuple[str, str]], verdict: str) -> dict[str, list[str]]:
    numbers: defaultdict[str, list[str]] = defaultdict(list)
    tables = [list(rows) for _, rows in groupby(_table_rows(page), key=lambda row: [row["heading"], *row])]
    used: list[Any] = []
    for (names, column), traces in zip(plots, _plots(page), strict=True):
        keys = names.split(", ")
        for rows in tables:
            head = [*rows[0]][1:]
            if (rows, column) not in used and ({*keys, column} <= {*head} if column else keys == head[:1]):
                break
        used.append((rows, column))
        for row in rows:
            point = " ".join(row[key] for key in keys).strip()
            for name in [column] if column else row:
                numbers[f"{len(used)}: {name.lower()} at {point}"].append(row[name].split(" [")[0])
        in_percent = "%" in rows[0][column or keys[0]]
        # With a column, the first line has its values, unless the table names the lines.
        for trace in traces[:1] if column and len(keys) == 1 else traces:
            if "z" in trace:
                for row, own in zip(trace["y"], trace["z"], strict=True):
                    for other, value in zip(trace["x"], own, strict=True):
                        numbers[f"{len(used)}: {column.lower()} at {row} {other}"].append(f"{value:.0%}")
                continue
            line = re.sub("^mean | of| with the last$", "", trace.get("name", ""))
            x, y = trace["x"], trace["y"]
            by_category = isinstance(y[0], str)
            for place, value in zip(y, x, strict=True) if by_category else zip(x, y, strict=True):
                point = re.sub("[()]", "", place) if by_category else f"{place:,.0f}"
                if not by_category and len(keys) > 1:
                    point = f"{line} {point}"
                numbers[f"{len(used)}: {(column or line).lower()} at {point}"].append(
                    f"{value:.0%}" if in_percent else shown(value)
                )
    (lead,) = map(_text, re.findall(r'<p class="lead">.*?</p>', page, re.DOTALL))
    for *series, point, value in re.findall(verdict, lead):
        numbers[f"1: {(series or [plots[0][1]])[0].lower()} at {point}"].append(value)
    return dict(numbers)


def _plots(page: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the traces of each plot, without bands."""
    for place in re.finditer(r'Plotly\.newPlot\(\s*"plot-\d+",\s*', page):
        traces, _ = json.JSONDecoder().raw_decode(page, place.end())
        yield [trace for trace in traces if "fill" not in trace]
