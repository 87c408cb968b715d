"""``kgprobe load table``: what is read, and what is said of what cannot be."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.errors import ArgumentError, KgprobeError
from kgprobe.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.sources.contract import Source, open_source
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
        (b"Q1\tP1\tQ\xff\t\t", "not UTF-8: invalid start byte at byte 8"),
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
        (b"\x00\xff\xfe\x01", "no header"),
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
    text = "subject\trelation\tobject\n" + "".join("\t".join(row) + "\n" for row in rows)
    read = records(opened(tmp_path_factory.getbasetemp(), facts=text).facts())
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
