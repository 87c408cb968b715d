"""The tries of a graph are made once, kept, and made anew when the graph has changed."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kgprobe.base.errors import KgprobeError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.probes.search.label_tries import LabelTrie, LabelTries, NameSet
from kgprobe.verbalize.sentences import Cloze
from tests.models.tiny import byte_level, unigram
from tests.written_source import WrittenSource

pytestmark = pytest.mark.usefixtures("home")

CITIES = NameSet("members", "city")
CAPITALS = NameSet("objects", "P36")
PLAIN = Cloze("The capital of [X] is [Y]", "Japan")
SOURCE = WrittenSource(
    [
        Entity("c", "Japan", types=("country",)),
        Entity("t", "Tokyo", ("Edo", "Tōkyō"), types=("city", "capital")),
        Entity("k", "Kyoto", types=("city",)),
        Entity("n", "", ("nobody",), types=("city",)),
        Entity("u", "York"),
    ],
    [Fact("f", "c", "P36", "t"), Fact("g", "c", "P36", "u"), Fact("h", "c", "P1", "k")],
    [Relation("P36"), Relation("P1")],
)
# They are numbered as they come.
TOKYO, KYOTO, YORK = 1, 2, 4


def names(trie: LabelTrie) -> dict[int, list[str]]:
    """Return each entity's names, read from their tokens."""
    tokenizer = byte_level()
    which, labels = trie.labels_of(np.arange(len(trie.entities)))
    return {
        int(number): sorted(tokenizer.decode(trie.sequence(label)).strip() for label in labels[which == place])
        for place, number in enumerate(trie.entities)
    }


def opened(graph: Graph) -> LabelTries:
    tries = LabelTries(graph, byte_level())
    tries.refresh()
    return tries


def test_trie_has_the_names_of_its_pool(graph: Graph) -> None:
    load(graph, SOURCE)
    tries = opened(graph)
    assert names(tries.open(CITIES, PLAIN)) == {TOKYO: ["Edo", "Tokyo", "Tōkyō"], KYOTO: ["Kyoto"]}
    assert names(tries.open(CAPITALS, PLAIN)) == {TOKYO: ["Edo", "Tokyo", "Tōkyō"], YORK: ["York"]}
    assert names(tries.open(NameSet("members", "nothing"), PLAIN)) == {}
    articles = tries.open(CITIES, Cloze("The capital of [X] is a [Y]", "Japan"))
    assert names(articles) == {TOKYO: ["a Tokyo", "a Tōkyō", "an Edo"], KYOTO: ["a Kyoto"]}
    # Templates that put names in the same way have the same trie.
    assert tries.open(CITIES, Cloze("[X] is ruled from [Y]", "Japan")) is tries.open(CITIES, PLAIN)


def test_trie_is_rebuilt_only_after_a_load(graph: Graph, home: Path) -> None:
    load(graph, SOURCE)
    tries = opened(graph)
    first = tries.open(CITIES, PLAIN)
    [path] = home.glob("tries/*.trie")
    made = path.stat()
    tries.refresh()
    assert tries.open(CITIES, PLAIN) is first
    opened(graph).open(CITIES, PLAIN)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (made.st_ino, made.st_mtime_ns)

    more = [Entity("o", "Osaka", types=("city",))]
    load(graph, replace(SOURCE, entity_records=more, fact_records=(), name="more", fingerprint="more-1"))
    # What is open stays what it was until it is asked whether it is stale.
    assert tries.open(CITIES, PLAIN) is first
    tries.refresh()
    assert "Osaka" in [name for its in names(tries.open(CITIES, PLAIN)).values() for name in its]
    assert "Osaka" in [name for its in names(opened(graph).open(CITIES, PLAIN)).values() for name in its]
    assert list(home.glob("tries/*.trie")) == [path], "the stale one is replaced"
    # A trie that is still mapped into memory is not changed under its reader.
    assert names(first) == {TOKYO: ["Edo", "Tokyo", "Tōkyō"], KYOTO: ["Kyoto"]}


def test_another_tokenizer_has_tries_of_its_own(graph: Graph, home: Path) -> None:
    load(graph, SOURCE)
    opened(graph).open(CITIES, PLAIN)
    other = LabelTries(graph, unigram())
    other.refresh()
    other.open(CITIES, PLAIN)
    assert len(list(home.glob("tries/*.trie"))) == 2


def test_damaged_trie_is_made_anew(graph: Graph, home: Path) -> None:
    load(graph, SOURCE)
    opened(graph).open(CITIES, PLAIN)
    [path] = home.glob("tries/*.trie")
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole.replace(b'"tokens"', b'"tokenz"'), whole.replace(b'"<i4"', b'"<i9"'), None):
        if damaged is None:
            path.unlink()
            path.mkdir()
        else:
            path.write_bytes(damaged)
        assert KYOTO in names(opened(graph).open(CITIES, PLAIN))
        assert path.read_bytes() == whole
    assert not list(home.glob("tries/*.part"))


def test_place_that_cannot_be_written_to_is_told(graph: Graph, home: Path) -> None:
    load(graph, SOURCE)
    home.mkdir()
    (home / "tries").write_text("a file")
    with pytest.raises(KgprobeError, match="Set KGPROBE_HOME to use another folder"):
        opened(graph).open(CITIES, PLAIN)
