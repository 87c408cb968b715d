"""Readers and parsers under input that nobody means well: messages, all records counted, no terminal steered.

What comes out of them is a value, a record with the reason why it is rejected, or a KgprobeError.
"""

import bz2
import gzip
import itertools
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kgprobe.base.arguments import folder_name, whole_number
from kgprobe.base.dates import as_of_day
from kgprobe.base.errors import KgprobeError
from kgprobe.base.options import make_options, option
from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.parameters import parse_parameters
from kgprobe.graph.queries import find_query
from kgprobe.models.api.address import find_address
from kgprobe.models.api.requests import Asker
from kgprobe.models.spec import load_scorer
from kgprobe.papers.baselines.human_data import read_human_scores
from kgprobe.sampling.selection import Selection, list_facts
from kgprobe.sources.contract import Source, open_source
from kgprobe.sources.lines import open_input
from kgprobe.verbalize.corrections import pair_up, read_verbalizations
from kgprobe.verbalize.templates.file import read_relations
from kgprobe.verbalize.templates.patterns import FILE, read_patterns
from tests.cases import slow_except

pytestmark = pytest.mark.usefixtures("module_home")

QUICK = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

DEEP = 10_000
CORRECTION = "\"('Q1', 'P1', 'Q2')\",\"(A, has, B, start=None, end=None)\",present,A have B,x,A has B"
DBPEDIA = "http://dbpedia.org/"
# Lines that a reader understands.
OWN_LINES = {
    "table": ["subject\trelation\tobject", "Q1\tP1\tQ2"],
    "named table": ["subject,relation,object,human_score", "Q1,P1,Q2,0.5"],
    "entities": ['{"id": "Q1", "label": "one", "aliases": ["1"], "types": ["T"], "popularity": 1.5}'],
    "relations": ['{"id": "P1", "clozes": ["[X] is [Y]"], "statements": ["[X] is [Y]."]}'],
    "wikidata": [
        '{"id": "Q1", "type": "item", "labels": {"en": {"language": "en", "value": "[/x]"}}, "claims": {"P1": ['
        '{"id": "Q1$a", "rank": "normal", "type": "statement", "mainsnak": {"snaktype": "value", "property": "P1",'
        ' "datavalue": {"type": "wikibase-entityid", "value": {"entity-type": "item", "id": "Q2"}}}}]}}',
    ],
    "verbalizations": ["triples_raw,triples,context,verbalization,errors,correction", CORRECTION],
    "ids": ["Q1"],
    "patterns": [
        '{"relation": "P1", "template": "[X] is [Y] ."}',
        '{"triple": {"subject": {"id": "Q1", "label": "one"}, "relation": {"id": "P1", "label": "is"}}, "error": null,'
        ' "verbalizations": [{"ends_with_object": true, "fill_in_the_blank": "one is ____"}]}',
    ],
    "scores": [
        '{"subject": "Q1", "relation": "P1", "object": "Q2", "human_score": 0.5}',
        '{"subject": {"id": "Q1"}, "fact": "Q1 P1 Q2"}',
    ],
    "bear metadata": [
        '{"P1": {"templates": ["[X] is [Y]."], "answer_space_ids": ["Q2"], "answer_space_labels": ["two"]}}',
    ],
    "bear facts": [
        '{"sub_id": "Q1", "sub_label": "one", "sub_aliases": ["1"], "obj_id": "Q2", "obj_label": "two",'
        ' "answer_idx": 0}',
    ],
    "trex": [
        '{"sub_uri": "Q1", "sub_label": "one", "obj_uri": "Q2", "obj_label": "two", "predicate_id": "P1"}',
        '{"docid": "Q1", "title": "one", "triples": [{"subject": {"uri": "Q1", "surfaceform": "1", "annotator": "a"},'
        ' "predicate": {"uri": "P1"}, "object": {"uri": "Q2"}}]}',
        '[{"docid": "Q1", "triples": [{"subject": {"uri": "Q1"}, "predicate": {"uri": "P1"}, "object": {"uri": "Q2"}},',
    ],
    "dbpedia": [
        f"<{DBPEDIA}resource/A> <{DBPEDIA}ontology/capital> <{DBPEDIA}resource/B> .",
        f'<{DBPEDIA}resource/A__T__1> <{DBPEDIA}ontology/startYear> "1950"^^<http://www.w3.org/2001/XMLSchema#gYear> .',
        f"<{DBPEDIA}resource/A> <{DBPEDIA}ontology/wikiPageRedirects> <{DBPEDIA}resource/B> .",
        f'@prefix a: <{DBPEDIA}resource/> . a:A <{DBPEDIA}property/name> "x" ,',
    ],
    "rdf": [
        "_:a <http://a/p> _:b .",
        "<http://a/a> <http://www.w3.org/2002/07/owl#sameAs> <http://a/b> .",
        "<< <http://a/a> <http://a/p> <http://a/b> >> <http://schema.org/startDate> '2001' .",
        '{"@context": "https://schema.org/", "@id": "http://a/a", "name": "x"}',
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><a xmlns="http://a/" rdf:about="b"/>',
        "a\tp\tb",
    ],
}
LINES = list(itertools.chain(*OWN_LINES.values()))
NASTY = [
    *("\0", "\x1b[2J\x9b31m\x07", "\u202eevil", "[bold]", "[/x]", "\u2028", '"', "\r", "\\ud800", "=1+1", "\ufeff"),
    *("9" * 400, "-" + "9" * 5000, "1e999", "NaN", "0x" + "f" * 5000, "[" * DEEP, '{"a":' * DEEP, "(" * DEEP),
    *("x" * 200_000, '{"id": ' + "[" * DEEP, '{"subject": ' + "[" * DEEP, '{"id": "P1", "bear_templates": 5}'),
    '{"sub_uri": "Q1", "sub_label": "\\ud800", "obj_uri": "1^^x#\\ud800", "predicate_id": "P1"}',
    '{"sub_uri": "Q1", "obj_uri": "9999-99-99^^x#date", "predicate_id": "P1"}',
    *('{"id": "\\ud800", "bear_templates": ["[X] is [Y]"]}', '{"pattern": "[X] \\u001b is [Y]"}'),
    '"(0x' + "f" * 5000 + ", 'P1', 'Q2')\",\"(A, has, B, start=None, end=None)\",present,A have B,x,A has B",
    CORRECTION.replace("start=None", "start=\x1b"),
]

pieces = st.one_of(
    st.sampled_from(LINES),
    st.sampled_from(NASTY),
    st.text(max_size=20),
    st.binary(max_size=20),
)


def _bytes_of(piece: str | bytes) -> bytes:
    return piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogatepass")


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """Return a file: lines that mean something, among and around others; packed, cut short, or of another encoding."""
    lines = draw(st.lists(st.lists(pieces, max_size=2), max_size=5))
    first = draw(st.sampled_from([*LINES, ""]))
    text = b"\n".join([_bytes_of(first), *(b"".join(map(_bytes_of, line)) for line in lines)])
    packed: bytes = draw(
        st.sampled_from(
            [
                *([text] * 4),
                gzip.compress(text, mtime=0),
                gzip.compress(text, mtime=0)[:-9],
                bz2.compress(text),
                text.decode("utf-8", "replace").encode("utf-16"),
                text.decode("utf-8", "replace").encode("utf-16-le"),
            ]
        )
    )
    return packed


def is_harmless(text: str) -> bool:
    """Return whether a terminal only shows it; a line break stays one in messages."""
    return not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text.replace("\n", ""))


def refused(work: Callable[[], Any]) -> str | None:
    """Return the message of a work that fails as it may, with a harmless message; None where it does not."""
    try:
        work()
    except KgprobeError as error:
        message = str(error)
        assert message.strip()
        assert is_harmless(message), message
        message.encode()
        return message
    return None


def rejections(records: list[Placed]) -> Iterator[str]:
    return (place.record.reason for place in records if isinstance(place.record, Rejected))


def data_lines(path: Path, blank: bytes = b" \t\r\n\x0b\x0c") -> int:
    """Return how many lines a file has that are not blank, up to where it breaks off, and that place as one."""
    return sum(isinstance(line, Rejected) or bool(line.strip(blank)) for _, line in open_input(path).lines())


def check_table(path: Path) -> None:
    source = open_source("table", facts=path)
    facts = list(source.facts())
    lines = [place.line for place in facts]
    assert lines == sorted(set(lines))
    assert all(isinstance(place.record, (Fact, Rejected)) for place in facts)


def check_named(path: Path) -> None:
    source = open_source("table", table=path)
    named = {place.record.id for place in source.entities() if isinstance(place.record, Entity)}
    facts = list(source.facts())
    lines = [place.line for place in facts]
    assert lines == sorted(set(lines))
    assert {
        end for place in facts if isinstance(place.record, Fact) for end in (place.record.subject, place.record.object)
    } == named


def check_entities(path: Path) -> None:
    records = list(open_source("table", entities=path).entities())
    assert len(records) == data_lines(path)


def check_relations(path: Path) -> None:
    records = list(read_relations(open_input(path)))
    # In front of a relation stand those of its templates that cannot be used; lines of triples share a relation.
    assert len({place.line for place in records}) == data_lines(path) or b'"triple"' in path.read_bytes()
    for place in records:
        if isinstance(place.record, Relation):
            repr(place.record)


def check_wikidata(path: Path) -> None:
    source = open_source("wikidata", dump=path)
    for stream in (source.relations, source.entities, source.facts):
        assert all(reason for reason in rejections(list(stream())))


def check_verbalizations(path: Path) -> None:
    verbalizations, damaged = read_verbalizations(path)
    assert all(isinstance(place.record, Rejected) for place in damaged)
    pairs, unpaired = pair_up(verbalizations)
    assert len(pairs) + len(unpaired) == len(verbalizations)


def check_streams(source: Source) -> None:
    """The ends of all facts are among the entities, and everything can be sent to a graph."""
    assert all(isinstance(place.record, (Relation, Rejected)) for place in source.relations())
    entities = [place.record for place in source.entities()]
    ids = [entity.id for entity in entities if isinstance(entity, Entity)]
    assert len(set(ids)) == len(ids) == len(entities)
    facts = [place.record for place in source.facts()]
    for fact in facts:
        if isinstance(fact, Fact):
            assert {fact.subject, fact.object} <= set(ids)
            fact.id.encode()


def check_trex(path: Path) -> None:
    check_streams(open_source("trex", path=path))


def check_dbpedia(path: Path) -> None:
    check_streams(open_source("dbpedia", files=[path]))
    check_streams(open_source("dbpedia", files=[path], popularity=path))


def check_bear(path: Path, name: str, other: str, content: str) -> Source:
    """Return a folder with a file of this name, and another one of which it is known what it holds."""
    if not os.path.isfile(path):
        return open_source("bear", folder=path)
    folder = path.parent / "bear"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(path.read_bytes())
    (folder / other).write_text(content)
    source = open_source("bear", folder=folder)
    check_streams(source)
    return source


def check_rdf(path: Path) -> None:
    check_streams(open_source("rdf", files=[path], collapse_blank_nodes=True, merge_same_as=True))
    check_streams(open_source("rdf", files=[path], triples=True, labels=[path]))


def check_bear_metadata(path: Path) -> None:
    check_bear(path, FILE, "P1.jsonl", '{"sub_id": "Q1", "obj_id": "Q2"}\n')


def check_bear_facts(path: Path) -> None:
    source = check_bear(path, "P1.jsonl", FILE, '{"P1": {"templates": ["[X] is [Y]."]}}')
    assert len(list(source.facts())) == data_lines(path)


def check_ids(path: Path) -> None:
    open_source("wikidata", dump=path, ids=path)


def check_patterns(path: Path) -> None:
    read = read_patterns([path])
    for relation in read.relations:
        # They are written to a file of templates.
        json.dumps([relation.id, *relation.clozes, *relation.statements], ensure_ascii=False).encode()


READERS: dict[str, Callable[[Path], object]] = {
    "table": check_table,
    "named table": check_named,
    "entities": check_entities,
    "relations": check_relations,
    "wikidata": check_wikidata,
    "verbalizations": check_verbalizations,
    "ids": check_ids,
    "patterns": check_patterns,
    "scores": read_human_scores,
    "trex": check_trex,
    "dbpedia": check_dbpedia,
    "rdf": check_rdf,
    "bear metadata": check_bear_metadata,
    "bear facts": check_bear_facts,
}


@pytest.mark.parametrize("reader", slow_except(READERS, READERS.keys() - {"dbpedia"}))
@given(content=contents())
@QUICK
@pytest.mark.representatives(4)
def test_reader_gives_records_and_reasons_whatever_it_reads(tmp_path: Path, reader: str, content: bytes) -> None:
    path = tmp_path / "input"
    path.write_bytes(content)
    refused(lambda: READERS[reader](path))


JSON_LINES = [
    (reader, line)
    for reader, lines in OWN_LINES.items()
    for line in lines
    if line.startswith("{") and line.endswith("}")
]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(("reader", "line"), JSON_LINES, ids=[reader for reader, _ in JSON_LINES])
@given(value=JSON_VALUES, path=st.lists(st.integers(0, 9), min_size=1, max_size=9))
@QUICK
@pytest.mark.representatives(3)
def test_reader_gets_over_any_json_in_any_place(
    tmp_path: Path, reader: str, line: str, value: Any, path: list[int]
) -> None:
    changed = json.loads(line)
    place = changed
    for step in path:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[step % len(keys)]
        if not (isinstance(place[key], dict | list) and place[key]) or step == path[-1]:
            place[key] = value
            break
        place = place[key]
    (tmp_path / "input").write_text(json.dumps(changed) + "\n")
    refused(lambda: READERS[reader](tmp_path / "input"))


@pytest.mark.parametrize("reader", slow_except(READERS, READERS.keys() - {"dbpedia"}))
@pytest.mark.representatives(3)
def test_reader_gets_over_each_nasty_line(tmp_path: Path, reader: str) -> None:
    path = tmp_path / "input"
    own = itertools.product(OWN_LINES[reader], NASTY)
    foreign = zip(itertools.cycle(LINES), NASTY, strict=False)
    for header, nasty in itertools.chain(own, foreign):
        path.write_bytes("\n".join([header, nasty, header]).encode("utf-8", "surrogatepass"))
        refused(lambda: READERS[reader](path))


@pytest.mark.parametrize("reader", [*READERS, "facts"])
def test_reader_says_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str) -> None:
    monkeypatch.chdir(tmp_path)
    read = READERS.get(reader, lambda path: list_facts(listing_of_nothing(), path, 20200101))
    for name in ("\0", "x" * 5000, "\udcff\x1b[2J", "~nobody-of-that-name/x", "."):
        assert refused(lambda: read(Path(name)))  # noqa: B023


@given(content=contents())
@QUICK
def test_every_line_of_a_list_of_facts_is_found_or_told(fact_list: Path, listing: Graph, content: bytes) -> None:
    check_facts(fact_list, listing, content)


def test_list_of_facts_gets_over_each_nasty_line(fact_list: Path, listing: Graph) -> None:
    for nasty in NASTY:
        lines = ["Q1\tP1\tQ2", nasty, f"Q1\t{nasty}\tQ3", '{"subject": "Q1", "fact": "Q1 P1 Q2"}']
        check_facts(fact_list, listing, "\n".join(lines).encode("utf-8", "surrogatepass"))


def check_facts(path: Path, graph: Graph, content: bytes) -> None:
    path.write_bytes(content)
    listed: list[Selection] = []

    def read() -> None:
        listed.append(list_facts(graph, path, 20200101))

    if refused(read) is None:
        (selection,) = listed
        text = path.read_text(encoding="utf-8")
        lines = sum(bool(line.strip()) for line in text.split("\n"))
        assert len(selection.keys) + len(selection.missing) <= lines
        assert all(is_harmless(message) for message in selection.missing)


@pytest.fixture
def fact_list(tmp_path: Path) -> Path:
    return tmp_path / "facts"


@dataclass
class _Nothing:
    """A graph in which nothing is, for what does not depend on it."""

    is_embedded = True
    language = None
    is_plain = True

    def in_language(self, ask_in: str | None) -> "_Nothing":  # noqa: ARG002
        return self

    def read(self, query: str, **parameters: Any) -> list[dict[str, Any]]:  # noqa: ARG002
        json.dumps(parameters, ensure_ascii=False).encode()
        return []


def listing_of_nothing() -> Any:
    return _Nothing()


@pytest.fixture
def listing() -> Any:
    return _Nothing()


WORDS = st.one_of(
    st.sampled_from(NASTY), st.text(st.characters(), max_size=30), st.from_regex(r"[a-z]+:.*", fullmatch=True)
)
SPECS = st.one_of(
    st.builds("{}{}".format, st.sampled_from(["hf:./", "hf:/", "hf:~", "openai:", "demo", "", "hf:"]), WORDS),
    st.builds("openai:{}@{}://{}".format, WORDS, st.sampled_from(["http", "https", "ftp"]), WORDS),
    st.builds("openai:m@http://localhost{}".format, WORDS),
    st.builds("openai:m@http://{}.example/v1".format, WORDS),
)


@given(spec=SPECS)
@example(spec="hf:./" + "x" * 5000)
@example(spec="hf:~nobody-of-that-name/model")
@example(spec="hf:./\0")
@example(spec="openai:m@http://a b/v1")
@example(spec="openai:m@http://[::1/v1")
@example(spec="openai:m@http://\x1b/v1")
@example(spec="openai:m@http://" + "x" * 300)
@example(spec="openai:\udc80@http://localhost:8000/v1")
@example(spec="openai:m@http://xn--a.example/v1")
@QUICK
def test_spec_is_a_model_or_a_message(monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    # No hub is asked, and a key is at hand.
    monkeypatch.setattr("huggingface_hub.HfApi.model_info", _no_hub)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    refused(lambda: find_address(spec))
    if spec.startswith("openai:"):
        refused(lambda: Asker(find_address(spec)))
    elif spec != "demo" and (spec.startswith(("hf:.", "hf:/", "hf:~")) or not spec.startswith("hf:")):
        assert refused(lambda: load_scorer(spec))


def _no_hub(*_: object, **__: object) -> None:
    raise ConnectionError("no hub in tests")


@given(
    day=st.one_of(
        st.sampled_from(NASTY), st.text(max_size=12), st.from_regex(r"[+-]?[0-9]{1,14}(-[0-9]{2}){0,2}"), st.integers()
    )
)
@example(day=10**30 + 101)
@example(day="99999999999999999999")
@example(day="²0100630")
@QUICK
def test_day_is_one_that_engines_can_compare_or_a_message(day: str | int) -> None:
    read: list[int] = []
    if refused(lambda: read.append(as_of_day(day))) is None:
        assert -(2**63) <= read[0] < 2**63


@dataclass(frozen=True, slots=True)
class _Options:
    count: int = option(1, "A number.", minimum=1)
    share: float = option(0.5, "A share.", minimum=0, maximum=1)
    name: str = option("a", "A name.")
    path: Path = option(Path(), "A path.")
    choice: str = option("one", "A choice.", choices=("one", "two"))
    names: tuple[str, ...] = option((), "Names.")


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.just(-(10**400)),
    st.floats(),
    WORDS,
    st.binary(max_size=5),
    st.lists(WORDS, max_size=3),
    st.dictionaries(WORDS, st.integers(), max_size=2),
)


@given(name=st.one_of(st.sampled_from(["count", "share", "name", "path", "choice", "names"]), WORDS), value=VALUES)
@example(name="share", value=10**400)
@example(name="count", value=10**400)
@QUICK
def test_option_is_a_value_or_a_message(name: str, value: Any) -> None:
    refused(lambda: make_options(_Options, {name: value}, "a test"))
    refused(lambda: whole_number("number", value))
    refused(lambda: folder_name("name", value))


@given(text=WORDS, name=WORDS)
@example(text="[" * DEEP, name="x")
@example(text='{"a":' * DEEP, name="x")
@QUICK
def test_parameter_is_a_value_or_a_message(text: str, name: str) -> None:
    refused(lambda: parse_parameters([f"{name}={text}"]))
    refused(lambda: parse_parameters([text]))
    refused(lambda: find_query(text))


UNSENDABLE: list[Any] = [2**63, -(2**63) - 1, 2**64, 10**400, "\ud800", ["\udfff"], {"\ud800": 1}, [[2**70]]]
UNSENDABLE.append(eval("[" * 90 + "]" * 90))  # noqa: S307
for _ in range(DEEP):
    UNSENDABLE[-1] = [UNSENDABLE[-1]]


@pytest.mark.parametrize("value", range(len(UNSENDABLE)))
def test_unsendable_parameter_is_an_error_graph_stays_usable(graph: Graph, value: int) -> None:
    message = refused(lambda: graph.query("RETURN $value AS value", value=UNSENDABLE[value]))
    assert message is not None
    assert "parameter" in message
    if not isinstance(UNSENDABLE[value], dict):
        assert refused(lambda: graph.read("sample/labels", ids=[UNSENDABLE[value]]))
    assert graph.query("RETURN 1 AS one")[0]["one"] == 1


@pytest.mark.parametrize(
    "statement",
    [
        f"RETURN {'[' * DEEP}{']' * DEEP} AS x",
        f"RETURN {'(' * DEEP}1",
        f"RETURN {'[' * 150}{']' * 150} AS x",
        "RETURN '\ud800' AS x",
        "RETURN " + "9" * 400 + " AS x",
        "RETURN '\x1b[2J",
        "\0",
    ],
    ids=["brackets", "open", "some", "surrogate", "huge", "escape", "null"],
)
def test_hostile_statement_is_an_error_graph_stays_usable(graph: Graph, statement: str) -> None:
    refused(lambda: graph.query(statement))
    assert graph.query("RETURN 1 AS one")[0]["one"] == 1
