"""Speed of the DBpedia reader: triples per second on one core, for the parser and for all streams of a load.

The input is synthetic, with the shares and sizes of DBpedia's dumps: facts between resources, values, labels, types and
redirects, in separate files. The parser's peer is a regular expression for lines, without checks of escapes and IRIs.
Seconds are processor time; each figure is the best of several runs.
"""

import bz2
import gc
import gzip
import io
import random
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from benchmarks.report import Report, Row, show, versions_of
from benchmarks.wikidata import exhaust, seconds_of
from kgprobe.base.records import Rejected
from kgprobe.cli.options import json_option, seed_option
from kgprobe.loaders.rdf.triples import read_triples  # type: ignore[import-not-found]
from kgprobe.sources.contract import Source, open_source
from kgprobe.sources.lines import open_input

PACK: Mapping[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
OPEN: Mapping[str, Callable[[Path], Any]] = {
    "plain": lambda path: path.open("rb"),
    "gz": gzip.open,
    "bz2": bz2.open,
    "zst": lambda path: io.BufferedReader(pa.CompressedInputStream(str(path), "zstd")),
}
STREAMS = ("relations", "entities", "facts")

_RESOURCE, _ONTOLOGY = "http://dbpedia.org/resource/", "http://dbpedia.org/ontology/"
_RDFS, _RDF = "http://www.w3.org/2000/01/rdf-schema#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_SYLLABLES = ("ber", "lin", "ham", "burg", "to", "kyo", "san", "ta", "ma", "ria", "new", "port", "ro", "me", "ga", "no")
_LINE = re.compile(
    rb'<([^>]*)> <([^>]*)> (?:<([^>]*)>|"([^"\\\n]*(?:\\.[^"\\\n]*)*)"(?:@([A-Za-z-]+)|\^\^<([^>]*)>)?) \.\n'
)


def usual_files(folder: Path, count: int, seed: int, kind: str) -> list[Path]:
    """Write files of ``count`` triples: 40% facts, 20% values, 20% labels, 10% types, 10% redirects."""
    choices = random.Random(seed)
    names = [_name(number, choices) for number in range(max(2, count // 5))]
    texts = {
        "objects": _facts(names, count * 4 // 10, choices),
        "literals": _values(names, count * 2 // 10, choices),
        "labels": (
            f'<{_RESOURCE}{name}> <{_RDFS}label> "{name.replace("_", " ")}"@en .\n' for name in names[: count * 2 // 10]
        ),
        "types": (
            f"<{_RESOURCE}{name}> <{_RDF}type> <{_ONTOLOGY}Class{number % 300}> .\n"
            for number, name in enumerate(names[: count // 10])
        ),
        "redirects": (
            f"<{_RESOURCE}{_name(number, choices)}_r> <{_ONTOLOGY}wikiPageRedirects> <{_RESOURCE}{target}> .\n"
            for number, target in enumerate(choices.choices(names, k=count // 10))
        ),
    }
    paths = []
    for name, lines in texts.items():
        path = folder / f"{name}.ttl.{kind}"
        path.write_bytes(PACK[kind]("".join(lines).encode()))
        paths.append(path)
    return paths


def _name(number: int, choices: random.Random) -> str:
    return f"{''.join(choices.choices(_SYLLABLES, k=4)).title()}_{''.join(choices.choices(_SYLLABLES, k=2))}_{number}"


def _facts(names: list[str], count: int, choices: random.Random) -> Iterator[str]:
    """Yield facts sorted by subject, as in dumps, with few frequent and many rare objects."""
    for number in range(count):
        subject = names[number * len(names) // count]
        object_ = names[int(len(names) * choices.random() ** 3)]
        yield f"<{_RESOURCE}{subject}> <{_ONTOLOGY}relation{choices.randrange(200)}> <{_RESOURCE}{object_}> .\n"


def _values(names: list[str], count: int, choices: random.Random) -> Iterator[str]:
    xsd = "http://www.w3.org/2001/XMLSchema#"
    for number in range(count):
        day = f"{choices.randrange(1700, 2020)}-{choices.randrange(1, 13):02}-{choices.randrange(1, 29):02}"
        value = choices.choice(
            [
                f'"{day}"^^<{xsd}date>',
                f'"{day[:4]}"^^<{xsd}gYear>',
                f'"{choices.randrange(10**6)}"^^<{xsd}nonNegativeInteger>',
                f'"{_name(number, choices)}"@en',
            ]
        )
        subject = names[number * len(names) // count]
        yield f"<{_RESOURCE}{subject}> <{_ONTOLOGY}value{choices.randrange(50)}> {value} .\n"


def parse(paths: Collection[Path]) -> None:
    """Read all triples with their terms as texts."""
    for path in paths:
        for _, quad in read_triples(open_input(path)):
            if not isinstance(quad, Rejected):
                _ = (quad.subject.value, quad.predicate.value, quad.object.value)


def match(paths: Collection[Path], kind: str) -> None:
    """Parse all lines by the regular expression."""
    for path in paths:
        with OPEN[kind](path) as lines:
            for line in lines:
                matched = _LINE.match(line)
                if matched is not None:
                    matched.groups()


def measure(folder: Path, count: int, repeats: int, seed: int, kinds: Collection[str]) -> list[Row]:
    """Return, for each compression, the rates of the parser, of each stream, and of all streams."""
    rows = []
    for kind in kinds:
        paths = usual_files(folder, count, seed, kind)
        triples = sum(1 for path in paths for _ in open_input(path).lines())
        ours = seconds_of(lambda: parse(paths), repeats)  # noqa: B023
        theirs = seconds_of(lambda: match(paths, kind), repeats)  # noqa: B023
        rows.append(Row(f"{kind}, parser", "rate", triples / ours, "triples/s", "regular expression", triples / theirs))
        runs = [_streams(open_source("dbpedia", files=paths)) for _ in range(repeats)]
        best = {stream: min(run[stream] for run in runs) for stream in STREAMS}
        best["all three"] = min(sum(run.values()) for run in runs)
        rows += [Row(f"{kind}, {part}", "rate", triples / seconds, "triples/s") for part, seconds in best.items()]
    return rows


def _streams(source: Source) -> dict[str, float]:
    """Return the processor seconds of each stream; the first one reads all files."""
    return {stream: seconds_of(lambda: exhaust(getattr(source, stream)()), 1) for stream in STREAMS}  # noqa: B023


@click.command()
@click.option(
    "--triples", "count", default=300_000, show_default=True, type=click.IntRange(10), help="Triples in the files."
)
@click.option("--repeats", default=3, show_default=True, type=click.IntRange(1), help="Runs; the best counts.")
@click.option(
    "--kind", "kinds", multiple=True, type=click.Choice(list(PACK)), help="Compression; repeatable.  [default: all]"
)
@seed_option
@json_option
def main(count: int, repeats: int, kinds: tuple[str, ...], seed: int, as_json: bool) -> None:
    """Measure the DBpedia reader on one core: its parser, and the streams of a load."""
    # As in a load: many records, no reference cycles.
    gc.set_threshold(100_000)
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), count, repeats, seed, kinds or list(PACK))
    show(Report("dbpedia", rows, seed, versions_of("duckdb", "pyoxigraph", "pyarrow")), as_json=as_json)


if __name__ == "__main__":
    main()
