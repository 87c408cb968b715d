"""The numbers of a page of results by their meaning, for a test that each has one value."""

import base64
import html
import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

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
