"""What the properties of a kind of nodes or relationships are like, by a sample: which may be a name, an id, a date."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .values import bound_of

# Nodes or relationships of a kind that are looked at.
SAMPLE = 10_000

_LONGEST_NAME = 200
_MOSTLY = 0.9
_YEARS = range(1000, 2101)

_NAMES = ["name", "title", "label", "fullname", "displayname", "preflabel", "heading", "term"]
_IDS = ["id", "uuid", "identifier", "qid", "key", "code", "slug", "iri", "uri", "isbn"]
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
        there: of how many it is a property.
        texts, dates: how many of its values are single texts, and years, dates or points in time.
        numbers, keys: how many are numbers that are not negative, and texts or whole numbers.
        short: how many of its texts may be names by their lengths.
        values: digests of its values.
    """

    name: str
    there: int = 0
    texts: int = 0
    dates: int = 0
    numbers: int = 0
    keys: int = 0
    short: int = 0
    values: set[int] = field(default_factory=set)

    def add(self, value: Any) -> None:
        """Count one more value."""
        self.there += 1
        self.values.add(hash(repr(value)))
        if isinstance(value, str):
            self.texts += 1
            self.short += len(value) <= _LONGEST_NAME
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        self.numbers += number and value >= 0
        self.keys += isinstance(value, str) or (number and isinstance(value, int))
        # What a number is besides a year, nobody knows.
        self.dates += _is_date(value) and (not number or value in _YEARS)

    @property
    def distinct(self) -> float:
        """The share of different ones among its values."""
        return len(self.values) / self.there


@dataclass(frozen=True, slots=True)
class Properties:
    """All properties of a sample, by name.

    Attributes:
        size: how many nodes or relationships were looked at.
        whole: whether these are all of their kind.
    """

    size: int
    whole: bool
    of: Mapping[str, Property]

    def name(self, label: str) -> str | None:
        """What nodes are called by: a text that most have, hardly ever the same."""
        own = _bare(label)
        wanted = [*_NAMES, f"{own}name", f"{own}title", f"{own}label"]

        def fits(one: Property) -> bool:
            listed = _bare(one.name) in wanted
            alike = _bare(one.name).endswith(("name", "title")) and one.distinct >= _MOSTLY
            return (
                2 * one.short >= one.texts > 0
                and one.texts >= _MOSTLY * one.there
                and one.there >= self.size / 2
                and (one.distinct >= 0.5 or self.size < 3)
                and (listed or alike)
            )

        return self._first([one for one in self.of.values() if fits(one)], wanted)

    def id(self, label: str, name: str) -> str | None:
        """What tells nodes apart: all have it, and no two the same."""
        own = _bare(label)
        wanted = [*_IDS, *(f"{own}{each}" for each in _IDS), _bare(name)]
        fitting = [
            one
            for one in self.of.values()
            if one.there == one.keys == self.size and len(one.values) == self.size and _bare(one.name) in wanted
        ]
        return self._first(fitting, wanted)

    def aliases(self) -> list[str]:
        """Other names."""
        return [name for name in sorted(self.of) if _bare(name) in _ALIASES]

    def description(self) -> str | None:
        """What says more of a node."""
        return self._first([one for one in self.of.values() if one.texts == one.there], _DESCRIPTIONS, only=True)

    def popularity(self) -> str | None:
        """How much a node is read or linked."""
        return self._first([one for one in self.of.values() if one.numbers == one.there], _POPULARITIES, only=True)

    def interval(self, label: str = "") -> tuple[str | None, str | None]:
        """When something began and when it ended."""
        dates = [one for one in self.of.values() if one.dates >= _MOSTLY * one.there]
        own = _bare(label)
        points = [*_POINTS, *(f"{own}{each}" for each in _POINTS)]
        start = self._first(dates, [*_STARTS, *points], only=True)
        return start, self._first([one for one in dates if one.name != start], _ENDS, only=True)

    def dated(self) -> list[str]:
        """Properties that are years or dates, in the order of their names."""
        return sorted(one.name for one in self.of.values() if one.dates >= _MOSTLY * one.there)

    def _first(self, fitting: Sequence[Property], wanted: Sequence[str], only: bool = False) -> str | None:
        """The name of the one that stands first among those wanted, then of the most frequent and distinct one."""
        place = {name: number for number, name in reversed(list(enumerate(wanted)))}
        if only:
            fitting = [one for one in fitting if _bare(one.name) in place]
        best = sorted(
            fitting,
            key=lambda one: (place.get(_bare(one.name), len(wanted)), -one.there, -len(one.values), one.name),
        )
        return best[0].name if best else None


def properties_of(rows: Iterable[Mapping[str, Any]], count: int) -> Properties:
    """The properties of a sample.

    Args:
        rows: the properties of one node or relationship each.
        count: how many there are of the kind.
    """
    of: dict[str, Property] = {}
    size = 0
    for row in rows:
        size += 1
        for name, value in row.items():
            of.setdefault(name, Property(name)).add(value)
    return Properties(size, size >= count, of)


def _bare(name: str) -> str:
    return re.sub(r"[\W_]", "", name.lower())


def _is_date(value: Any) -> bool:
    try:
        return bound_of(value, "") is not None
    except ValueError:
        return False
