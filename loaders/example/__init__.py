"""``kgprobe load example``: a small graph of our own, of countries and what surrounds them.

The world's countries with their capitals, currencies, languages, neighbours, memberships, highest points, heads of
state and of government with their terms; cities, rivers, organizations. Ids are Wikidata's, and ``entities.json`` has
the form of its dumps, so that the graph can be joined with one.

The facts were written from general knowledge and stand as of late 2025; a fact without an end held then. The list of a
country's neighbours on land, of its official languages, and of its memberships in those organizations that the graph
has members of, is meant to be complete where there is one; heads of state and of government are a choice.

``relations.jsonl`` holds the sentences and questions in which the facts are asked.

Both have names and templates in English, German, French, Spanish, and Chinese (simplified). The German, French, Spanish
and Chinese names of cities are those of Natural Earth (populated places, public domain), those of countries, languages
and currencies those of the Unicode Common Locale Data Repository (Unicode licence); they were corrected where two
entities had one name, or a name was out of date or in traditional Chinese. The other names, and the templates, were
written from general knowledge. No template has an article before a name: names that need one get it by rules.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from kgprobe.sources.contract import Loader

from ..wikidata import Dump, DumpSelection, open_dump

FOLDER = Path(__file__).parent
LANGUAGES = ("en", "de", "fr", "es", "zh")


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """None: there is one example graph."""


def open_example() -> Dump:
    """Open the example graph as a source."""
    return replace(
        open_dump(
            FOLDER / "entities.json", templates=FOLDER / "relations.jsonl", selection=DumpSelection(named=LANGUAGES)
        ),
        name="example",
        partial=False,
    )


loader = Loader(
    summary="""Load the example graph: countries and what surrounds them, 2,900 facts.

    \b
    kgprobe load example
    kgprobe load example --graph ./countries
    """,
    options=SampleOptions,
    open=lambda options: open_example(),
)
