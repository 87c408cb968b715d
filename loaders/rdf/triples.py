"""RDF statement by statement with the line of each, read by pyoxigraph (the extra ``rdf``); and tables of triples.

The content decides the format, not the name. Files of lines (N-Triples, N-Quads, DBpedia's dumps) are parsed in chunks
of some hundred lines; a chunk with an error is parsed line by line, so that a bad line does not affect others. Files
with prefixes are read as TriG, which contains Turtle; a bad statement may invalidate the rest of its line. RDF/XML and
JSON-LD end at their first error of syntax. The context of schema.org is known; other remote contexts are not fetched.

N-Quads: https://www.w3.org/TR/n-quads/. TriG: https://www.w3.org/TR/trig/. Quoted statements are those of RDF 1.2,
https://www.w3.org/TR/rdf12-turtle/, also in lines, as YAGO writes them.
"""

import io
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO, cast
from urllib.parse import quote
from xml.parsers import expat

from pyoxigraph import Quad, RdfFormat, parse

from kgprobe.base.records import Rejected
from kgprobe.sources.lines import InputFile

# Lines that are parsed at once: more make no difference to the speed.
_BLOCK = 500

# Among so many lines of Turtle the first prefix is looked for; comments may go before it.
_HEAD = 200
_DIRECTIVE = re.compile(rb"\s*(?:@prefix|@base|@version|prefix|base|version)\s", re.IGNORECASE)
_XML = re.compile(rb"\s*<(?:\?xml|!--|!DOCTYPE|rdf:RDF)")
_JSON = re.compile(rb"\s*[\[{]")
_TURTLE_NAMES = (".ttl", ".turtle", ".n3")
# In one line with the key, or alone in a line of a list.
_CONTEXT = re.compile(
    rb'((?:"@context"\s*:\s*\[?|^)\s*)"https?://(?:www\.)?schema\.org/?(?:docs/jsonldcontext\.json(?:ld)?)?"(?=\s*[],}]|\s*$)'
)
_DATES = ("startDate", "endDate", "birthDate", "deathDate", "datePublished", "foundingDate", "dissolutionDate")
_SCHEMA = b'{"@vocab": "http://schema.org/", %s}' % b", ".join(
    b'"%s": {"@type": "Date"}' % name.encode() for name in _DATES
)
_ENTITY = re.compile("&([^#;&]+);")
_ENTITY_LIMIT = 10_000
_MESSAGE = re.compile(r"Parser error (.*?): (.*?)(?: \(line \d+\))?", re.DOTALL)
_COLUMN = re.compile(r"columns? (\d+)")


def read_triples(file: InputFile) -> Iterator[tuple[int, Quad | Rejected]]:
    """Yield the statements of a file with their lines, and rejected lines.

    The line is that of the object's end; in RDF/XML and JSON-LD, the last line read. Lines that are not UTF-8 are
    rejected. Cost: about 1 µs per triple; memory for some hundred lines, JSON-LD excepted.
    """
    format_ = _format(file)
    if format_ is RdfFormat.N_QUADS:
        return itertools.chain.from_iterable(_n_quads(file))
    return _document(file, format_)


def _format(file: InputFile) -> RdfFormat:
    head = [line for _, line in itertools.islice(InputFile(file.path, file.size).lines(), _HEAD)]
    lines = [line for line in head if isinstance(line, bytes) and line.strip() and not line.lstrip().startswith(b"#")]
    first = lines[0] if lines else b""
    suffixes = {suffix.lower() for suffix in file.path.suffixes}
    if _XML.match(first):
        return RdfFormat.RDF_XML
    if ".trig" in suffixes or any(map(_DIRECTIVE.match, lines)):
        return RdfFormat.TRIG
    is_turtle = not suffixes.isdisjoint(_TURTLE_NAMES)
    if _JSON.match(first) and not (is_turtle and first.lstrip().startswith(b"[")):
        return RdfFormat.JSON_LD
    # Without prefixes, Turtle is read by lines if its statements are lines.
    if is_turtle and (not first.rstrip().endswith(b".") or any(map(_is_turtle_alone, lines))):
        return RdfFormat.TRIG
    return RdfFormat.N_QUADS


def _is_turtle_alone(line: bytes) -> bool:
    """Return True for a statement of Turtle that is none of N-Quads, such as one with several objects."""
    return not _is_valid(line, RdfFormat.N_QUADS) and _is_valid(line, RdfFormat.TURTLE)


def _is_valid(line: bytes, format_: RdfFormat) -> bool:
    try:
        return bool(list(parse(line, format=format_)))
    except SyntaxError:
        return False


def _n_quads(file: InputFile) -> Iterator[Iterable[tuple[int, Quad | Rejected]]]:
    lines = file.lines()
    while block := list(itertools.islice(lines, _BLOCK)):
        # Only the last line can be broken off, and one that is too long is rare: each ends a part.
        part: list[tuple[int, bytes]] = []
        for number, line in block:
            if isinstance(line, bytes):
                part.append((number, line))
                continue
            yield _parsed(part)
            yield [(number, line)]
            part = []
        yield _parsed(part)


def _parsed(lines: Sequence[tuple[int, bytes]]) -> Iterable[tuple[int, Quad | Rejected]]:
    try:
        # Quoted subjects are Turtle, and lines of N-Triples are, too.
        format_ = RdfFormat.TURTLE if lines and lines[0][1].startswith(b"<<") else RdfFormat.N_QUADS
        quads = list(parse(b"\n".join([line for _, line in lines]), format=format_))
    except SyntaxError as error:
        if len(lines) == 1:
            return [(lines[0][0], Rejected(_reason(error)))]
    else:
        if len(quads) == len(lines):
            return zip([number for number, _ in lines], quads, strict=True)
        if len(lines) == 1:
            # A comment, an empty line, a quoted statement, or a line within which there is a carriage return.
            return [(lines[0][0], quad) for quad in quads]
    # An error, or not a triple: bisect the lines to find it.
    middle = len(lines) // 2
    return itertools.chain(_parsed(lines[:middle]), _parsed(lines[middle:]))


class _Lines:
    """A file of lines, one per call, so that the reader's position is the last line's number."""

    def __init__(self, file: InputFile, format_: RdfFormat) -> None:
        self._lines = file.lines()
        self._is_json = format_ is RdfFormat.JSON_LD
        self._line = io.BytesIO()
        self.number = 0
        self.rejected: list[tuple[int, Rejected]] = []
        self.broken_off = False
        self.last = b""

    def read(self, size: int) -> bytes:
        """Return the next line, or the next part of a line longer than this; empty at the end."""
        part = self._line.read(size)
        if not part:
            self._line = io.BytesIO(self._next())
            part = self._line.read(size)
        return part

    def _next(self) -> bytes:
        for number, line in self._lines:
            self.number = number
            if isinstance(line, Rejected):
                self.rejected.append((number, line))
                self.broken_off = self.broken_off or line.broken_off
                continue
            try:
                line.decode()
            except UnicodeDecodeError as error:
                self.rejected.append((number, Rejected(f"not UTF-8: {error.reason} at byte {error.start + 1}")))
                continue
            self.last = line.strip() or self.last
            return (_CONTEXT.sub(rb"\1" + _SCHEMA, line) if self._is_json else line) + b"\n"
        return b""


def _document(file: InputFile, format_: RdfFormat) -> Iterator[tuple[int, Quad | Rejected]]:
    lines = _Lines(file, format_)
    if format_ is RdfFormat.RDF_XML and (reason := _unsafe(file)):
        yield 1, Rejected(reason)
        return
    # Relative IRIs are usual in RDF/XML and JSON-LD.
    base = f"file:///{quote(file.path.name)}" if format_ in (RdfFormat.RDF_XML, RdfFormat.JSON_LD) else None
    quads = iter(parse(cast("BinaryIO", lines), format=format_, base_iri=base))
    last = 0
    while True:
        read: Quad | Rejected | None = None
        try:
            read = next(quads, None)
            ended = read is None
        except SyntaxError as error:
            ended = False
            # The rest of a broken statement is also invalid; a truncated file ends in one.
            if lines.number != last and not lines.broken_off:
                read = Rejected(_reason(error))
            last = lines.number
        yield from lines.rejected
        lines.rejected.clear()
        if read is not None:
            yield lines.number, read
        if ended:
            # The parser accepts XML without its last tags.
            if format_ is RdfFormat.RDF_XML and not lines.broken_off and b"RDF" not in lines.last[-20:]:
                yield lines.number, Rejected("the file ends before its last tag", broken_off=True)
            return


def _unsafe(file: InputFile) -> str:
    """Return why the entities that RDF/XML declares before its first element cannot be expanded; empty if they can."""
    sizes: dict[str, int] = {}
    head = b""
    end = 0

    def declare(name: str, _: bool, value: str | None, *__: str | None) -> None:
        sizes[name] = len(value or "") + sum(sizes.get(other, 0) for other in _ENTITY.findall(value or ""))

    parser = expat.ParserCreate("UTF-8")
    parser.EntityDeclHandler = declare

    def start(*_: object) -> None:
        nonlocal end
        end = end or parser.CurrentByteIndex

    parser.StartElementHandler = start
    try:
        for piece in replace(file).pieces():
            if isinstance(piece, Rejected) or end:
                break
            head += piece
            parser.Parse(piece)
    except expat.ExpatError:
        # Of the part that was read, all is known; the parser of RDF reports the error.
        pass
    # Expat skips these; the parser of RDF would expand the latest in itself.
    if head[: end or len(head)].count(b"<!ENTITY") > len(sizes):
        return "its DOCTYPE declares an entity twice, or within a comment; keep one declaration"
    if max(sizes.values(), default=0) <= _ENTITY_LIMIT:
        return ""
    return f"an entity of its DOCTYPE stands for more than {_ENTITY_LIMIT:,} characters; write them out"


def _reason(error: SyntaxError) -> str:
    message = str(error)
    if "nvalid UTF-8" in message:
        return "not UTF-8"
    if "LoadDocumentCallback" in message:
        return "the @context is a web address, which is not fetched; write the context itself in its place"
    matched = _MESSAGE.fullmatch(message)
    if matched is None:
        return f"no triple: {message}"
    column = _COLUMN.search(matched[1])
    return f"no triple: {matched[2][:1].lower()}{matched[2][1:]}{f', column {column[1]}' if column else ''}"
