"""``kgprobe load table``: what is read, and what is said of what cannot be."""

import csv
import gzip
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.sources.contract import Source, folded_by, open_source
from tests.loaders.streams import messages, records

SHARED = Path(__file__).parents[2] / ".." / "shared" / "data" / "wikidata"
HEADER = "subject\trelation\tobject\tstart\tend\n"


def opened(tmp_path: Path, **contents: str | bytes) -> Source:
    """Return a table source of files with these contents, by stream."""
    paths: dict[str, Path] = {}
    for stream, content in contents.items():
        path = tmp_path / {"entities": "entities.jsonl", "facts": "facts.tsv", "relations": "relations.jsonl"}[stream]
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths[stream] = path
    return open_source("table", **paths)


def test_entities(tmp_path: Path) -> None:
    line = {
        "id": "Q142",
        "label": " France ",
        "aliases": ["French Republic", "France", "FR\n", "FR"],
        "description": "country\tin Europe",
        "types": ["Q6256", "Q6256", "Q3624078"],
        "popularity": 300,
        "more": {"is": "ignored"},
    }
    source = opened(tmp_path, entities=json.dumps(line) + '\n\n{"id": "Q2", "label": null, "aliases": null}\n')
    assert list(source.entities()) == [
        Placed(
            1,
            Entity("Q142", "France", ("French Republic", "FR"), "country in Europe", ("Q6256", "Q3624078"), 300.0),
            "entities.jsonl",
        ),
        Placed(3, Entity("Q2"), "entities.jsonl"),
    ]
    assert list(source.facts()) == list(source.relations()) == []


def test_literals(tmp_path: Path) -> None:
    source = opened(
        tmp_path,
        entities='{"id": "1066", "label": "1066", "value": "1066", "datatype": "year"}\n{"id": "x", "value": "1"}\n',
    )
    literal, problem = records(source.entities())
    assert literal == Entity("1066", "1066", value="1066", datatype="year")
    assert problem == Rejected("x: a literal has a value and a datatype; one of them is missing")


def test_facts(tmp_path: Path) -> None:
    source = opened(
        tmp_path,
        facts="object\tsubject\trelation\tnotes\tend\tstart\tid\trank\r\n"
        "Q90\tQ142\tP36\tany\t\t\t\t\r\n"
        "Q329\tQ142\tP35\t\t2012-05-15\t2007-05-16\t\tpreferred\r\n"
        "\r\n"
        "Q1\tQ2\tP3\t\t\t\tmy-id\tnormal\r\n"
        "Q1\tQ2\tP3\t\t\t\t\tdeprecated\r\n",
    )
    assert [(placed.line, placed.record) for placed in source.facts()] == [
        (2, Fact("Q142 P36 Q90", "Q142", "P36", "Q90")),
        (3, Fact("Q142 P35 Q329 @2007-05-16", "Q142", "P35", "Q329", "preferred", "2007-05-16", "2012-05-15")),
        (5, Fact("my-id", "Q2", "P3", "Q1")),
    ]


def test_relations_take_own_and_public_templates(tmp_path: Path) -> None:
    line = {
        "id": "P36",
        "label": "capital",
        "aliases": ["seat"],
        "active": False,
        "clozes": ["The capital of [X] is [Y].", "[X]'s capital is [Y]"],
        "past_clozes": ["[X]'s capital  was [Y]."],
        "statements": ["[Y] is the capital of [X]"],
        "yes_no_questions": ["Is [Y] the capital of [X]?"],
        "wh_questions": ["What is  the capital of [X]?"],
        "bear_templates": ["The capital of [X] is [Y].", "[Y] is the capital of [X]."],
        "pararel_patterns": ["[X],  whose capital is [Y] .", "The capital of [X] is [Y]"],
        "facts": 3,
    }
    source = opened(tmp_path, relations=json.dumps(line))
    assert records(source.relations()) == [
        Relation(
            "P36",
            "capital",
            ("seat",),
            active=False,
            clozes=("The capital of [X] is [Y]", "[X]'s capital is [Y]", "[X], whose capital is [Y]"),
            past_clozes=("[X]'s capital was [Y]",),
            statements=("[Y] is the capital of [X].", "The capital of [X] is [Y].", "[X], whose capital is [Y]."),
            yes_no_questions=("Is [Y] the capital of [X]?",),
            wh_questions=("What is the capital of [X]?",),
        )
    ]


def test_whole_templates_and_answers_keep_their_order(tmp_path: Path) -> None:
    sentences = ["[Y] is where [X] lies.", "[X]  lies in [Y] ", "[X] is in [Y]!"]
    line = {"id": "P30", "sentences": sentences, "answers": ["Q46", "Q15", "Q46"]}
    bad = {"id": "P31", "answers": ["Q46", ""]}
    source = opened(tmp_path, relations=f"{json.dumps(line)}\n{json.dumps(bad)}\n")
    assert records(source.relations()) == [
        Relation(
            "P30",
            sentences=("[Y] is where [X] lies.", "[X] lies in [Y]", "[X] is in [Y]!"),
            answers=("Q46", "Q15"),
        ),
        Rejected("P31: the id of an answer is empty"),
    ]


@pytest.mark.parametrize(
    ("kind", "template", "problem"),
    [
        ("sentences", "[X] is large.", "has [Y] 0 times where 1 is expected"),
        ("clozes", "[Y] is the capital of [X]", "does not end in [Y]"),
        ("past_clozes", "[Y] was the capital of [X]", "does not end in [Y]"),
        ("statements", "[X] is large.", "has [Y] 0 times where 1 is expected"),
        ("wh_questions", "Is [Y] of [X]?", "has [Y] 1 times where 0 is expected"),
        ("yes_no_questions", "Is it [Y]", "has [X] 0 times where 1 is expected, does not end in a question mark"),
        ("bear_templates", "[X] is large.", "has [Y] 0 times where 1 is expected"),
    ],
)
def test_unfillable_template_is_reported_relation_kept(tmp_path: Path, kind: str, template: str, problem: str) -> None:
    source = opened(tmp_path, relations="\n" + json.dumps({"id": "P36", kind: [template], "label": "capital"}))
    problem_found, relation = list(source.relations())
    named = "statements" if kind == "bear_templates" else kind
    assert messages(iter([problem_found])) == [
        f"relations.jsonl, line 2: P36: {template!r} of its {named} {problem}; the relation goes without it"
    ]
    assert relation == Placed(2, Relation("P36", "capital"), "relations.jsonl")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Q1\tP1\tQ2", "3 columns where 5 are expected (subject, relation, object, start, end)"),
        ("one", "1 column where 5 are expected (subject, relation, object, start, end)"),
        ("Q1\tP1\tQ2\t\t\t", "6 columns where 5 are expected (subject, relation, object, start, end)"),
        ("\tP1\tQ2\t\t", "the id of the subject is empty"),
        ("Q1\t \tQ2\t\t", "the id of the relation is empty"),
        ("Q1\tP1\tQ2\t1990\t1989", "the end 1989 lies before the start 1990"),
        (b"Q1\tP1\tQ\xff\t\t", "not UTF-8: invalid bytes in column 3; save the table as UTF-8"),
    ],
)
def test_facts_that_cannot_be_read(tmp_path: Path, row: str | bytes, message: str) -> None:
    row = row if isinstance(row, bytes) else row.encode()
    source = opened(tmp_path, facts=HEADER.encode() + b"Q1\tP1\tQ2\t\t\n" + row + b"\nQ1\tP1\tQ3\t\t\n")
    assert messages(source.facts()) == [f"facts.tsv, line 3: {message}"]
    assert len(list(source.facts())) == 3


def test_rank_that_is_none(tmp_path: Path) -> None:
    source = opened(tmp_path, facts="subject\trelation\tobject\trank\nQ1\tP1\tQ2\tbest\n")
    assert messages(source.facts()) == ["facts.tsv, line 2: the rank 'best' is none of preferred, normal, deprecated"]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("Q1\tP1\tQ2\n", "facts.tsv, line 1: no header; the first line names the columns, separated by tabs: subject,"),
        ("subject,relation,object\nQ1,P1,Q2\n", "Missing: subject, relation, object"),
        ("subject\trelation\n", "Missing: object"),
        ("subject\trelation\tobject\tobject\n", "two columns are called object"),
        (b"\x00\xff\xfe\x01", "facts.tsv, line 1: not UTF-8"),
    ],
)
def test_missing_header_is_refused_at_once(tmp_path: Path, facts: str | bytes, message: str) -> None:
    with pytest.raises(KgprobeError, match=message.replace(".", r"\.")):
        opened(tmp_path, facts=facts)


def test_columns_that_are_not_loaded_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened(tmp_path, facts="subject\trelation\tobject\tcomment\nQ1\tP1\tQ2\tso\n")
    said = "facts.tsv, line 1: not loaded: column comment; read are subject, relation, object, start, end, id, rank."
    assert capsys.readouterr().err == f"{said}\n"
    table = tmp_path / "films.csv"
    table.write_text("subject,relation,object,aliases,notes\nFrance,capital,Paris,Paname,none\n")
    open_source("table", table=table)
    said = capsys.readouterr().err
    assert said.startswith("films.csv, line 1: not loaded: columns aliases, notes; read are subject, relation, object,")
    assert "Aliases, descriptions and types are keys of `entities`" in said
    opened(tmp_path, facts=HEADER + "Q1\tP1\tQ2\t\t\n")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("not JSON", "not JSON: JSON is malformed: invalid character (byte"),
        ("{}", "Object missing required field `id`"),
        ('{"id": ""}', "the id is empty"),
        ('{"id": "Q1", "label": ["France"]}', "Q1: Expected `str | null`, got `array` - at `$.label`"),
        ('{"id": "Q1", "types": [""]}', "Q1: the id of a type is empty"),
        ('{"id": "Q1", "popularity": -1}', "Q1: Expected `float` >= 0.0 - at `$.popularity`"),
        (b'{"id": "Q1", "label": "\xff"}', "Q1: not UTF-8: invalid start byte in a text"),
        ('{"id": "Q1", "more": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_lines_that_are_no_entity(tmp_path: Path, line: str | bytes, message: str) -> None:
    line = line if isinstance(line, bytes) else line.encode()
    source = opened(tmp_path, entities=b'{"id": "Q8"}\n' + line + b'\n{"id": "Q9"}\n')
    assert [getattr(record, "id", None) for record in records(source.entities())] == ["Q8", None, "Q9"]
    (said,) = messages(source.entities())
    assert said.startswith("entities.jsonl, line 2: ")
    assert message in said


def test_nothing_named_is_an_error() -> None:
    with pytest.raises(
        ArgumentError, match="`facts` is not given, nor are `entities` and `relations`, nor a table of names"
    ):
        open_source("table")


def test_progress_ends_at_total_and_fingerprint_follows(tmp_path: Path) -> None:
    source = opened(tmp_path, entities='{"id": "Q1"}\n', facts=HEADER + "Q1\tP1\tQ1\t\t\n", relations='{"id": "P1"}')
    assert source.done == 0
    for stream in (source.relations(), source.entities(), source.facts(), source.facts()):
        list(stream)
    assert source.done == source.total > 0
    assert source.name == "relations.jsonl, entities.jsonl, facts.tsv"
    assert not source.partial
    assert opened(tmp_path, entities='{"id": "Q2"}\n', facts=HEADER).fingerprint != source.fingerprint


plain_texts = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20).map(str.strip)
ids = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=20)


@given(
    identifier=ids,
    label=plain_texts,
    aliases=st.lists(plain_texts.filter(bool), unique=True, max_size=4).map(tuple),
    description=plain_texts,
    types=st.lists(ids, unique=True, max_size=3).map(tuple),
    popularity=st.none() | st.floats(0, 1e12),
    escaped=st.booleans(),
)
def test_any_entity_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, identifier: str, label: str, escaped: bool, **rest: Any
) -> None:
    rest["aliases"] = tuple(alias for alias in rest["aliases"] if alias != label)
    line = json.dumps({"id": identifier, "label": label, **rest}, ensure_ascii=escaped)
    source = opened(tmp_path_factory.getbasetemp(), entities=line)
    assert records(source.entities()) == [Entity(identifier, label, **rest)]


@given(rows=st.lists(st.tuples(ids, ids, ids), min_size=1, max_size=5))
def test_any_fact_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str, str]]
) -> None:
    text = io.StringIO()
    csv.writer(text, delimiter="\t").writerows([("subject", "relation", "object"), *rows])
    read = records(opened(tmp_path_factory.getbasetemp(), facts=text.getvalue()).facts())
    assert [(fact.subject, fact.relation, fact.object) for fact in read if isinstance(fact, Fact)] == rows


def test_public_data_reads_whole() -> None:
    if not SHARED.exists():
        pytest.skip(f"{SHARED} is not here")
    source = open_source(
        "table",
        entities=SHARED / "entities.jsonl.gz",
        facts=SHARED / "facts.tsv.gz",
        relations=SHARED / "relations.jsonl",
    )
    relations, entities, facts = (records(s) for s in (source.relations(), source.entities(), source.facts()))
    assert [len(relations), len(entities), len(facts)] == [313, 63_073, 116_314]
    assert not any(isinstance(record, Rejected) for record in (*relations, *entities, *facts))
    assert sum(1 for fact in facts if isinstance(fact, Fact) and (fact.start or fact.end)) == 2_910
    assert len({fact.id for fact in facts if isinstance(fact, Fact)}) == len(facts)


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_table_of_names_makes_entities_and_relations(tmp_path: Path, delimiter: str) -> None:
    rows = [["Object", "subject", "relation", "end"], ["R S", "A", "made by", ""], ["R S", "B", "made by", "2011"]]
    path = tmp_path / "films.csv"
    path.write_text("\n".join(map(delimiter.join, rows)) + "\n")
    source = open_source("table", table=path)
    assert records(source.entities()) == [Entity(name, name) for name in ("A", "R S", "B")]
    assert records(source.relations()) == [Relation("made by", "made by")]
    assert records(source.facts()) == [
        Fact("A | made by | R S |", "A", "made by", "R S"),
        Fact("B | made by | R S |", "B", "made by", "R S", end="2011"),
    ]


def test_names_that_print_alike_are_one_entity(tmp_path: Path) -> None:
    rows = [
        "Film,setting,Ame\u0301lie",
        "Book,se\u00adtting,Am\u00e9lie",
        "Play,setting,\u200eAm\u00e9lie",
        "Book,by,\u200e",
    ]
    table = tmp_path / "names.csv"
    table.write_text("\n".join(["subject,relation,object", *rows]), encoding="utf-8")
    source = open_source("table", table=table)
    assert [record.label for record in records(source.relations())] == ["setting"]
    assert [record.id for record in records(source.entities())] == ["Film", "Am\u00e9lie", "Book", "Play"]
    *facts, nameless = records(source.facts())
    assert [fact.object for fact in facts] == ["Am\u00e9lie"] * 3
    assert facts[0].id == "Film setting Am\u00e9lie"
    assert nameless.reason == "the name of the object is empty"
    # Two objects and a relation; the last cell is no name.
    assert folded_by(source) == 3


def test_ids_are_no_names(tmp_path: Path) -> None:
    """Ids as names would take the place of the labels, and of the sentences, that a graph has for them."""
    path = tmp_path / "facts.tsv"
    path.write_text("subject\trelation\tobject\nQ142\tP36\tQ90\nP38\tmade by\tQ Branch\n")
    source = open_source("table", table=path)
    assert records(source.entities()) == [Entity("P38", "P38"), Entity("Q Branch", "Q Branch")]
    assert records(source.relations()) == [Relation("made by", "made by")]
    assert messages(source.facts()) == [
        "facts.tsv, line 2: Q142 and P36 are ids, not names; a table of ids is one for `facts`"
    ]


TABLE = "subject,relation,object\n"
DOUBLE_THEM = "text follows a closing quote; double the quotes within a cell"
OTHER_BREAK = "an unquoted cell contains a line break unlike those of the file; quote the cell"


def read_table(path: Path, content: str | bytes) -> list[str]:
    """Return the rows of a table as the loader reads them: its facts and what it says of the others."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    rows = []
    for place in open_source("table", table=path).facts():
        fact = place.record
        if isinstance(fact, Rejected):
            rows.append(f"{place.line}: {fact.reason}{' BROKEN OFF' if fact.broken_off else ''}")
        elif isinstance(fact, Fact):
            rows.append(f"{place.line}: {fact.subject}/{fact.relation}/{fact.object}")
    return rows


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (TABLE + '"A\nB",r,C\nD,r,"x,\n\ny,r,z\nlast"\nE,r,F\n', ["2: A B/r/C", "4: D/r/x, y,r,z last", "8: E/r/F"]),
        ((TABLE + '"A\nB",r,C\nD,r,E').replace("\n", "\r\n"), ["2: A B/r/C", "4: D/r/E"]),
        ((TABLE + '"A\nB",r,C\nD,r,E\n').replace("\n", "\r"), ["2: A B/r/C", "4: D/r/E"]),
        (TABLE + '"a ""b"" c",r,"""d"""\n7" disc,r,E\n', ['2: a "b" c/r/"d"', '3: 7" disc/r/E']),
        ("sep=;\nsubject;relation;object\nA;r;B,C\n", ["3: A/r/B,C"]),
        ('"SEP=|"\r\nsubject|relation|object\r\nA|r|B\r\n', ["3: A/r/B"]),
        ("\ufeffsep=\t\nsubject\trelation\tobject\nA\tr\tB\n", ["3: A/r/B"]),
        ('"subject","relation","object"\n\n,,\nA,r,B\n', ["4: A/r/B"]),
    ],
)
def test_table_is_read_as_spreadsheets_read_it(tmp_path: Path, content: str, rows: list[str]) -> None:
    assert read_table(tmp_path / "t.csv", content) == rows


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_table_in_another_unicode_encoding_is_read(tmp_path: Path, encoding: str, packed: Any) -> None:
    content = packed((TABLE + "Łódź,r,東京\n").encode(encoding))
    assert read_table(tmp_path / "t.csv", content) == ["2: Łódź/r/東京"]


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        # A stray quote costs its own row alone, unless later lines may be in the same cell.
        ('"A" b,r,C\nD,r,E\n', [f"2: not a row of the table: {DOUBLE_THEM}", "3: D/r/E"]),
        ('"7" disc",r,C\nD,r,E\n', [f"2: not a row of the table: {DOUBLE_THEM}", "3: D/r/E"]),
        (
            '"A" b,r,"C\nd,r,e\nf",r,g\nD,r,E\n',
            [f"2: not a row of the table (lines 2 to 4): {DOUBLE_THEM}", "5: D/r/E"],
        ),
        ("A\rB,r,C\nD,r,E\n", [f"2: not a row of the table: {OTHER_BREAK}", "3: D/r/E"]),
        (
            "A,r," + "b" * 200_000 + "\nD,r,E\n",
            ["2: not a row of the table: a cell is longer than 131,072 characters", "3: D/r/E"],
        ),
    ],
)
def test_bad_row_of_table_is_rejected_with_its_lines(tmp_path: Path, content: str, rows: list[str]) -> None:
    assert read_table(tmp_path / "t.csv", TABLE + content) == rows


@pytest.mark.parametrize("rest", ["X,r,Y\n", "X,r,Y\n" * 100_000])
def test_unclosed_quote_loses_the_rest_and_says_so(tmp_path: Path, rest: str) -> None:
    first, second = read_table(tmp_path / "t.csv", f'{TABLE}A,r,B\n"C,r,D\n{rest}')
    assert first == "2: A/r/B"
    assert second.startswith("3: a quoted cell of this row is not closed")
    assert second.endswith("all after it are lost BROKEN OFF")


def test_damaged_utf16_is_a_file_that_breaks_off(tmp_path: Path) -> None:
    (row,) = read_table(tmp_path / "t.csv", (TABLE + "A,r,B\n").encode("utf-16")[:-1])
    assert row.startswith("2: the file breaks off: its utf-16 is damaged")
    assert row.endswith("BROKEN OFF")


def test_memory_for_a_table_does_not_grow_with_it(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    with table.open("w") as file:
        file.write(TABLE)
        file.writelines(f'"{number}\n{"x" * 50_000}",r,B\n' for number in range(600))
    source = open_source("table", table=table)
    tracemalloc.start()
    assert sum(1 for _ in source.facts()) == 600
    assert tracemalloc.get_traced_memory()[1] < table.stat().st_size / 2
    tracemalloc.stop()
