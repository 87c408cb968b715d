"""Triples with their lines: N-Triples and Turtle, what is wrong with them, and that the rest is read all the same."""

import bz2
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.records import Rejected
from kgprobe.loaders.rdf.triples import read_triples
from kgprobe.sources.lines import open_input


def triple(name: str, text: str = '"x"') -> str:
    return f"<http://a/{name}> <http://a/p> {text} ."


def read(path: Path, content: str | bytes) -> list[tuple[int, str]]:
    """Return the lines with the subjects' names, or why there are none."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return [
        (line, quad.reason if isinstance(quad, Rejected) else quad.subject.value.removeprefix("http://a/"))  # type: ignore[union-attr]
        for line, quad in read_triples(open_input(path))
    ]


def test_bad_line_costs_no_other(tmp_path: Path) -> None:
    bad = [
        (triple("b", r'"bad \q escape"'), r"no triple: unexpected escape character '\q', column 32"),
        (triple("b", r'"half \uD800"'), "no triple: the escape sequence '\\uD800' is encoding D800"),
        (triple("b", "<relative>"), "no triple: no scheme found in an absolute IRI, column 27"),
        (triple("b", "<http://a/with space>"), "no triple: invalid IRI code point ' ', column 27"),
        (triple("b", '"not ended'), "no triple: "),
        ("<http://a/b> <http://a/p> .", "no triple: "),
        ("<http://a/b> <http://a/p> <http://a/o>", "no triple: "),
        ("garbage", "no triple: "),
    ]
    for line, reason in bad:
        seen = read(tmp_path / "facts.ttl", "\n".join([triple("a"), line, triple("c"), triple("d")]) + "\n")
        assert [seen[0], *seen[2:]] == [(1, "a"), (3, "c"), (4, "d")], line
        assert seen[1][0] == 2
        assert seen[1][1].startswith(reason), seen[1][1]


@given(st.lists(st.sampled_from(["good", "bad", "comment", "bytes"]), max_size=40))
def test_every_line_is_told_apart_whatever_its_neighbours_are(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str]
) -> None:
    texts = {"good": triple("a").encode(), "bad": b'<http://a/b> "', "comment": b"# -", "bytes": b"\xff <\xfe>"}
    path = tmp_path_factory.getbasetemp() / "any.nt"
    content = b"\n".join([*(texts[kind] for kind in kinds), texts["good"]])
    told = [(line, "a" if name == "a" else "bad") for line, name in read(path, content)]
    expected = [*kinds, "good"]
    assert told == [
        (line, "a" if kind == "good" else "bad") for line, kind in enumerate(expected, start=1) if kind != "comment"
    ]


def test_what_is_not_utf8_is_named(tmp_path: Path) -> None:
    content = b'<http://a/b> <http://a/p> "M\xfcnchen" .\n' + triple("a").encode()
    assert read(tmp_path / "latin.nt", content) == [(1, "not UTF-8"), (2, "a")]
    turtle = b'@prefix a: <http://a/> .\na:b a:p "M\xfcnchen" .\na:a a:p "x" .\n'
    (line, reason), good = read(tmp_path / "latin.ttl", turtle)
    assert (line, good) == (2, (3, "a"))
    assert reason.startswith("not UTF-8")


def test_turtle_reads_prefixes_lists_and_long_statements(tmp_path: Path) -> None:
    content = '# a page\n@prefix a: <http://a/> .\na:a a:p a:b ,\n  a:c ;\n  a:q """two\nlines""" .\na:d a:p 1 .\n'
    assert read(tmp_path / "page.ttl", content) == [(3, "a"), (4, "a"), (6, "a"), (7, "d")]


def test_statement_that_breaks_off_with_its_file_is_told_once(tmp_path: Path) -> None:
    values = " ,\n".join(f'"{number * 7919 % 100_003}"' for number in range(50_000))
    packed = gzip.compress(f"@prefix a: <http://a/> .\na:a a:p {values} .\n".encode())
    path = tmp_path / "cut.ttl.gz"
    path.write_bytes(packed[: len(packed) // 2])
    rejected = [record for _, record in read_triples(open_input(path)) if isinstance(record, Rejected)]
    assert [record.broken_off for record in rejected] == [True]


def test_lines_of_turtle_may_be_long(tmp_path: Path) -> None:
    content = f'@prefix a: <http://a/> .\na:a a:p "{"x" * 100_000}" .\na:b a:p a:c .\n'
    assert read(tmp_path / "long.ttl", content) == [(2, "a"), (3, "b")]


def test_turtle_bad_statement_is_reported_once_next_is_read(tmp_path: Path) -> None:
    content = "PREFIX a: <http://a/>\na:a a:p a:b .\nno:prefix a:p a:b .\n<rel> <rel> <rel> .\na:d a:p a:e .\n"
    first, second, third, last = read(tmp_path / "page.ttl", content)
    assert (first, last) == ((2, "a"), (5, "d"))
    assert second == (3, "no triple: the prefix no: has not been declared, column 1")
    assert third == (4, "no triple: no scheme found in an absolute IRI, column 1")


@pytest.mark.parametrize("prefix", ["", "@prefix a: <http://a/> .\n"], ids=["lines", "turtle"])
def test_truncated_archive_is_reported_without_half_triples(tmp_path: Path, prefix: str) -> None:
    text = prefix + "".join(
        f"{triple(f'n{number}', chr(34) + 'x' * (number % 97) + chr(34))}\n" for number in range(60_000)
    )
    packed = bz2.compress(text.encode())
    path = tmp_path / "cut.ttl.bz2"
    path.write_bytes(packed[: len(packed) * 2 // 3])
    *whole, (line, last) = read_triples(open_input(path))
    assert isinstance(last, Rejected)
    assert last.broken_off
    assert len(whole) > 1000
    lines = text.splitlines()
    assert all(str(quad) + " ." == lines[number - 1] for number, quad in whole)
    assert line == whole[-1][0] + 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("trig.ttl", "@prefix a: <http://a/> .\na:g { a:a a:p a:b . }\n"),
        ("json.ttl", '{"@id": "http://a/a", "http://a/p": "x"}'),
        ("objects.ttl", "<http://a/a> <http://a/p> <http://a/b>, <http://a/c> .\n"),
        ("numbers.ttl", "# head\n<http://a/a> <http://a/p> 5 .\n"),
        ("lines.jsonld", triple("a")),
        ("mark.nt", f"\ufeff{triple('a')}"),
    ],
)
def test_content_decides_the_format(tmp_path: Path, name: str, content: str) -> None:
    assert {subject for _, subject in read(tmp_path / name, content)} == {"a"}


@pytest.mark.parametrize(
    "context", ['"https://schema.org"', '["https://schema.org/", {}]', '[\n"http://schema.org"\n]']
)
def test_schema_org_context_is_known_in_lists(tmp_path: Path, context: str) -> None:
    path = tmp_path / "page.jsonld"
    path.write_text(f'{{"@context": {context},\n"@id": "http://a/a", "name": "https://schema.org/"}}')
    ((_, quad),) = read_triples(open_input(path))
    assert str(quad) == '<http://a/a> <http://schema.org/name> "https://schema.org/"'


def test_entities_of_xml_are_expanded_within_limits(tmp_path: Path) -> None:
    document = (
        '<?xml version="1.0"?>\n<!DOCTYPE r [{}]>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns:p="http://p/">\n<rdf:Description rdf:about="&a;a"><p:p>&a;</p:p></rdf:Description></rdf:RDF>'
    )
    fine = document.format('<!ENTITY host "http://a"><!ENTITY a "&host;/">')
    assert read(tmp_path / "fine.rdf", fine) == [(4, "a")]
    steps = "".join(f'<!ENTITY {name}\n"{f"&{former};" * 10}">' for former, name in zip("wvu", "vua", strict=True))
    bomb = document.format(f'<!ENTITY w "{"x" * 50}">{steps}')
    ((line, reason),) = read(tmp_path / "bomb.rdf", bomb)
    assert (line, reason) == (1, "an entity of its DOCTYPE stands for more than 10,000 characters; write them out")
    # XML keeps the first declaration; the parser of RDF would expand the second in itself, and so on.
    ((line, reason),) = read(tmp_path / "twice.rdf", document.format('<!ENTITY a "x">' + '<!ENTITY a "&a;&a;">' * 60))
    assert (line, "declares an entity twice" in reason) == (1, True)
