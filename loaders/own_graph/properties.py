"""Statistics of properties in a sample of nodes or relationships: candidates for names, ids and dates."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .values import bound_of, given, language_of, listed

# Maximum sample size per kind.
SAMPLE = 10_000

_LONGEST_NAME = 200
_MOSTLY = 0.9
_YEARS = range(1000, 2101)

_NAMES = ["name", "title", "label", "fullname", "displayname", "preflabel", "heading", "term"]
_IDS = ["id", "uid", "uuid", "guid", "identifier", "qid", "key", "code", "slug", "iri", "uri", "isbn"]
# Endings of further names of ids, less preferred than a unique name: they may refer to other nodes.
_ID_ENDINGS = ("id", "key", "code", "iri", "uri")
_ALIASES = [
    "aliases",
    "alias",
    "aka",
    "alsoknownas",
    "alternativename",
    "alternativenames",
    "nickname",
    "nicknames",
    "synonym",
    "synonyms",
]
_DESCRIPTIONS = ["description", "summary", "abstract", "tagline", "bio", "biography", "comment"]
_POPULARITIES = ["popularity", "pageviews", "views", "viewcount", "sitelinks", "followers", "followercount", "pagerank"]
_STARTS = [
    "start",
    "startdate",
    "starttime",
    "startyear",
    "from",
    "since",
    "begin",
    "began",
    "validfrom",
    "fromdate",
    "fromyear",
]
_POINTS = ["date", "year", "on", "at", "when", "timestamp"]
_ENDS = [
    "end",
    "enddate",
    "endtime",
    "endyear",
    "until",
    "till",
    "to",
    "finish",
    "finished",
    "validto",
    "validuntil",
    "todate",
    "toyear",
]


@dataclass(slots=True)
class Property:
    """A property in a sample.

    Attributes:
        there: number of nodes or relationships with the property.
        texts, dates: numbers of texts, and of years, dates or points in time among its values.
        numbers, keys: numbers of non-negative numbers, and of texts or whole numbers.
        short: number of texts short enough for a name.
        values: digests of its values.
        tagged: number of texts with a language tag (*Berlin@de*).
        languages: numbers of texts by tag; all texts of a list count.
    """

    name: str
    there: int = 0
    texts: int = 0
    dates: int = 0
    numbers: int = 0
    keys: int = 0
    short: int = 0
    values: set[int] = field(default_factory=set)
    tagged: int = 0
    languages: Counter[str] = field(default_factory=Counter)

    def add(self, value: Any) -> None:
        """Count a value; of a list the first, as for a name. NaN is no value."""
        value = given(value)
        languages = [language_of(text) for text in listed(value) if isinstance(text, str)]
        self.languages.update(filter(None, languages))
        self.tagged += bool(languages) and languages[0] is not None
        is_list = isinstance(value, list)
        value = value[0] if is_list else value
        if value is None:
            return
        self.there += 1
        self.values.add(hash(repr(value)))
        if isinstance(value, str):
            self.texts += 1
            self.short += len(value) <= _LONGEST_NAME
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        self.numbers += number and value >= 0
        self.keys += not is_list and (isinstance(value, str) or (number and isinstance(value, int)))
        # Only years count as dates among numbers.
        self.dates += not is_list and _is_date(value) and (not number or value in _YEARS)

    @property
    def distinct(self) -> float:
        """Share of distinct values."""
        return len(self.values) / self.there

    @property
    def language(self) -> str | None:
        """The language to prefer if almost all texts have a language tag: English, or the most frequent one."""
        if not self.languages or self.tagged < _MOSTLY * self.texts:
            return None
        return "en" if self.languages["en"] else min(self.languages, key=lambda tag: (-self.languages[tag], tag))


@dataclass(frozen=True, slots=True)
class Properties:
    """All properties of a sample, by name.

    Attributes:
        whole: True if the sample is the whole kind.
    """

    size: int
    whole: bool
    of: Mapping[str, Property]

    def name(self, label: str, also: Sequence[str] = ()) -> str | None:
        """Return the property for names: a text that most nodes have, with mostly distinct values."""
        own = _bare(label)
        preferred = [*_NAMES, f"{own}name", f"{own}title", f"{own}label", *also]

        def fits(property_: Property) -> bool:
            listed = _bare(property_.name) in preferred
            alike = _bare(property_.name).endswith(("name", "title")) and property_.distinct >= _MOSTLY
            return (
                2 * property_.short >= property_.texts > 0
                and property_.texts >= _MOSTLY * property_.there
                and property_.there >= self.size / 2
                and (property_.distinct >= 0.5 or self.size < 3)
                and (listed or alike)
            )

        return self._first([property_ for property_ in self.of.values() if fits(property_)], preferred)

    def id(self, label: str, name: str) -> str | None:
        """Return the property for ids: present in all nodes and unique."""
        own = _bare(label)
        own_ids = [f"{own}{each}" for each in _IDS]
        others = sorted(bare for bare in map(_bare, self.unique()) if bare.endswith(_ID_ENDINGS))
        preferred = [*_IDS, *own_ids, _bare(name), *others]
        return self._first([self.of[each] for each in self.unique()], preferred, only=True)

    def unique(self) -> list[str]:
        """Return the properties that all nodes have, each with another value, sorted by name."""
        return sorted(
            each.name for each in self.of.values() if each.there == each.keys == len(each.values) == self.size
        )

    def aliases(self) -> list[str]:
        """Return the properties with other names."""
        return [name for name in sorted(self.of) if _bare(name) in _ALIASES]

    def description(self) -> str | None:
        """Return the property with a description."""
        texts = [property_ for property_ in self.of.values() if property_.texts == property_.there]
        return self._first(texts, _DESCRIPTIONS, only=True)

    def popularity(self) -> str | None:
        """Return the property with a popularity, such as page views."""
        numbers = [property_ for property_ in self.of.values() if property_.numbers == property_.there]
        return self._first(numbers, _POPULARITIES, only=True)

    def interval(self, label: str = "") -> tuple[str | None, str | None]:
        """Return the properties for start and end."""
        dates = {name: self.of[name] for name in self.dated()}
        own = _bare(label)
        own_points = [f"{own}{each}" for each in _POINTS]
        start = self._first(dates.values(), [*_STARTS, *_POINTS, *own_points], only=True)
        if start is not None:
            del dates[start]
        return start, self._first(dates.values(), _ENDS, only=True)

    def dated(self) -> list[str]:
        """Return the properties with years or dates, sorted by name."""
        return sorted(property_.name for property_ in self.of.values() if property_.dates >= _MOSTLY * property_.there)

    def _first(self, fitting: Iterable[Property], preferred: Sequence[str], only: bool = False) -> str | None:
        """Return the first property in the order of preferred names, then of frequency and distinct values."""
        ranked = []
        for property_ in fitting:
            bare = _bare(property_.name)
            place = preferred.index(bare) if bare in preferred else len(preferred)
            if place < len(preferred) or not only:
                ranked.append((place, -property_.there, -len(property_.values), property_.name))
        return min(ranked)[-1] if ranked else None


def properties_of(rows: Iterable[Mapping[str, Any]], count: int) -> Properties:
    """Return the properties of a sample."""
    of: dict[str, Property] = {}
    size = 0
    for row in rows:
        size += 1
        for name, value in row.items():
            of.setdefault(name, Property(name)).add(value)
    return Properties(size, size >= count, {name: each for name, each in of.items() if each.there})


def _bare(name: str) -> str:
    """Return a name in lower case, without signs and without a prefix of neosemantics: ``rdfs__label`` is *label*."""
    return re.sub(r"[\W_]", "", (name.rpartition("__")[2] or name).lower())


def _is_date(value: Any) -> bool:
    try:
        return bound_of(value, "") is not None
    except ValueError:
        return False
