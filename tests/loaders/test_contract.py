"""What holds for every loader there is, ours or somebody else's.

Each is given a small input, the same input with something changed, and one with a bad record in it. A loader without an
input here fails: whoever adds one adds a line to ``INPUTS``.
"""

import dataclasses
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import kgprobe.loaders.example as example_loader
from kgprobe.api.loading import load
from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.options import Option, options_of
from kgprobe.base.records import Entity, Fact, Placed, Rejected, Relation
from kgprobe.cli.commands import flag_of
from kgprobe.cli.load import load as load_command
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.sources.contract import LOADERS, Source, open_source
from tests.cli.inprocess import printed
from tests.cli.inprocess import run as kgprobe
from tests.graph.servers.servers import clean_environment
from tests.graph.servers.shared import environment_of, wipe
from tests.installed import install
from tests.loaders.entities import dump, entity, item, statement, terms
from tests.loaders.sparql_server import oxigraph, proxy
from tests.loaders.wikidata_rdf import to_rdf

STREAMS: tuple[Callable[[Source], Iterator[Placed]], ...] = (
    lambda source: source.relations(),
    lambda source: source.entities(),
    lambda source: source.facts(),
)
# The arguments of kgprobe.api.loading.load itself, and what the command has beside a loader's options.
TAKEN = {"graph", "loader", "strict", "on_problem", "on_progress", "rejected", "as_json", "debug", "given", "propose"}


@dataclass(frozen=True)
class Input:
    """A small input of a loader.

    Attributes:
        options: that open it.
        change: makes another one of it, as good.
        spoil: puts a bad record in it, after which the others are still read.
    """

    options: dict[str, Any]
    change: Callable[[], object]
    spoil: Callable[[], object]


@dataclass(frozen=True)
class Place:
    """A place for an input: a folder, a SPARQL endpoint with ``WORLD`` behind it, what is patched, a server."""

    folder: Path
    endpoint: str
    patched: pytest.MonkeyPatch
    start_server: Callable[[str], Endpoint]


def table(place: Place) -> Input:
    entities, facts, relations = (place.folder / name for name in ("entities.jsonl", "facts.tsv", "relations.jsonl"))
    entities.write_text('{"id": "Q1", "label": "one"}\n{"id": "Q2", "label": "two"}\n')
    facts.write_text("subject\trelation\tobject\nQ1\tP1\tQ2\n")
    relations.write_text('{"id": "P1", "clozes": ["[X] comes before [Y]"]}\n')
    return Input(
        {"entities": entities, "facts": facts, "relations": relations},
        lambda: append(facts, "Q2\tP1\tQ1\n"),
        lambda: append(facts, "Q2\tP1\n"),
    )


WORLD = [
    entity("Q1", labels=terms(en="one"), claims={"P47": [statement("P47", item(2), "Q1$a")]}),
    entity("Q2", labels=terms(en="two"), claims={"P47": [statement("P47", item(1), "Q2$a")]}),
]


def wikidata(place: Place) -> Input:
    path = place.folder / "dump.json"
    path.write_text(dump(*WORLD))
    return Input(
        {"dump": path},
        lambda: path.write_text(dump(*WORLD, entity("Q3", labels=terms(en="three")))),
        lambda: path.write_text(dump(*WORLD).replace("[\n", "[\n{,\n", 1)),
    )


def example(place: Place) -> Input:
    copy = place.folder / "example"
    shutil.copytree(example_loader.FOLDER, copy, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    place.patched.setattr(example_loader, "FOLDER", copy)
    relations = copy / "relations.jsonl"
    return Input({}, lambda: append(relations, '{"id": "P1"}\n'), lambda: append(relations, "{\n"))


def sparql(place: Place) -> Input:
    templates = place.folder / "templates.jsonl"
    templates.write_text('{"id": "P47", "clozes": ["[X] borders [Y]"]}\n')
    options = {"centers": ["Q1"], "endpoint": place.endpoint, "pause": 0, "templates": templates}
    return Input(
        options,
        lambda: append(templates, '{"id": "P47", "clozes": ["[X] is beside [Y]"]}\n'),
        lambda: append(templates, "{\n"),
    )


def bear(place: Place) -> Input:
    metadata, facts = place.folder / "metadata_relations.json", place.folder / "P36.jsonl"
    answers = {"answer_space_ids": ["Q2", "Q3"], "answer_space_labels": ["two", "three"]}
    metadata.write_text(json.dumps({"P36": {"templates": ["[X] is before [Y]."], **answers}}))
    fact = '{{"sub_id": "Q1", "sub_label": "one", "obj_id": "{}"}}\n'
    facts.write_text(fact.format("Q2"))
    return Input(
        {"folder": place.folder},
        lambda: append(facts, fact.format("Q3")),
        lambda: append(facts, fact.format("Q4")),
    )


def trex(place: Place) -> Input:
    path = place.folder / "re-nlg.json"
    triple = {"subject": {"uri": "Q1"}, "predicate": {"uri": "P1"}, "object": {"uri": "Q2"}}
    document = json.dumps({"docid": "Q1", "title": "one", "triples": [triple]})
    path.write_text(f"[{document}]")
    more = document.replace('"Q2"', '"Q3"')
    return Input(
        {"path": path},
        lambda: path.write_text(f"[{document}, {more}]"),
        lambda: path.write_text(f'[{{"docid": "Q4", }}, {document}]'),
    )


def dbpedia(place: Place) -> Input:
    path = place.folder / "facts.ttl"
    resource, ontology = "http://dbpedia.org/resource/", "http://dbpedia.org/ontology/"
    fact = f"<{resource}One> <{ontology}capital> <{resource}{{}}> .\n"
    path.write_text(fact.format("Two"))
    return Input(
        {"files": [path]},
        lambda: append(path, fact.format("Three")),
        lambda: path.write_text(f"<{resource}One> <{ontology}capital> .\n" + fact.format("Two")),
    )


def rdf(place: Place) -> Input:
    path = place.folder / "facts.nt"
    fact = "<http://a/one> <http://a/before> <http://a/{}> .\n"
    path.write_text(fact.format("two"))
    return Input(
        {"files": [path]},
        lambda: append(path, fact.format("three")),
        lambda: path.write_text("<http://a/one> <http://a/before> .\n" + fact.format("two")),
    )


def own_graph(place: Place) -> Input:
    endpoint = place.start_server("arcadedb")
    for key, value in (("USER", endpoint.user), ("PASSWORD", endpoint.password), ("DATABASE", endpoint.database)):
        place.patched.setenv(f"KGPROBE_FROM_{key}", str(value))

    def create(what: str) -> None:
        with Graph(endpoint) as connection:
            list(connection.run_text(f"CREATE {what}", {})[1])

    with Graph(endpoint) as connection:
        wipe(connection)
    create("(:Town {name: 'one'})-[:BORDERS]->(:Town {name: 'two'})")
    mapping = place.folder / "mapping.toml"
    mapping.write_text('[[entities]]\nlabel = "Town"\nname = "name"\n[[relationship_facts]]\ntype = "BORDERS"\n')
    return Input(
        {"source": endpoint.address, "mapping": mapping},
        lambda: create("(:Town {name: 'three'})"),
        lambda: create("(:Town {mayor: 'nobody'})"),
    )


INPUTS: dict[str, Callable[[Place], Input]] = {
    "bear": bear,
    "dbpedia": dbpedia,
    "rdf": rdf,
    "example": example,
    "graph": own_graph,
    "sparql": sparql,
    "table": table,
    "trex": trex,
    "wikidata": wikidata,
}


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.fixture(scope="module")
def endpoint_of_wikidata(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    properties = [entity("P47", labels=terms(en="borders"))]
    with (
        oxigraph(to_rdf([*WORLD, *properties], ["P47"]), tmp_path_factory.mktemp("oxigraph")) as address,
        proxy(address) as made,
    ):
        yield made.address


@pytest.fixture(params=LOADERS.names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def given(
    name: str,
    tmp_path: Path,
    endpoint_of_wikidata: str,
    monkeypatch: pytest.MonkeyPatch,
    start_server: Callable[[str], Endpoint],
) -> Input:
    """The loader's input, in folders of the test's own."""
    assert name in INPUTS, f"add a small input for the loader {name} to INPUTS"
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    return INPUTS[name](Place(tmp_path, endpoint_of_wikidata, monkeypatch, start_server))


def everything(source: Source) -> list[list[Placed]]:
    return [list(stream(source)) for stream in STREAMS]


def good(source: Source) -> list[object]:
    return [
        placed.record for stream in everything(source) for placed in stream if not isinstance(placed.record, Rejected)
    ]


def options(name: str) -> list[Option]:
    return options_of(LOADERS.get(name).options)


def test_options_are_frozen_and_told_of(name: str) -> None:
    kind = LOADERS.get(name).options
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    assert [one.name for one in options(name)] == [field.name for field in dataclasses.fields(kind)]
    assert not TAKEN & {one.name for one in options(name)}
    for one in options(name):
        assert one.about.help.endswith("."), one.name
        assert one.required or one.problem(one.default) is None, one.name


def test_help_lists_options_with_their_defaults(name: str) -> None:
    result = CliRunner().invoke(load_command, [name, "--help-all"], terminal_width=1000)
    assert result.exit_code == 0
    text = " ".join(result.output.split())
    assert " ".join(LOADERS.get(name).summary.split("\b")[0].split()) in text
    for one in options(name):
        assert " ".join(one.about.help.split()) in text
        assert (one.name.upper() if one.about.positional else flag_of(one)) in text
        default = one.about.shown_default or one.default
        if not one.required and one.type is not bool and default not in (None, "", ()):
            shown = ", ".join(default) if isinstance(default, tuple) else str(default)
            assert f"default: {shown}" in text, one.name
    for show, shown_text in LOADERS.get(name).shows.items():
        result = CliRunner().invoke(load_command, [name, f"--show-{show}"])
        assert (result.exit_code, result.output) == (0, shown_text.read())


def test_loaders_need_no_click() -> None:
    program = (
        "import sys; sys.modules['click'] = None; sys.modules['cloup'] = None\n"
        "from kgprobe.sources.contract import LOADERS; print(*map(LOADERS.get, LOADERS.names()))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, env=clean_environment())


def test_same_input_gives_the_same_streams(name: str, given: Input) -> None:
    first, second = (open_source(name, **given.options) for _ in range(2))
    streams = everything(first)
    assert streams == everything(second)
    assert streams == everything(first), "a stream cannot be started anew"
    assert (first.name, first.fingerprint, first.partial) == (second.name, second.fingerprint, second.partial)
    assert first.name
    assert any(isinstance(placed.record, Entity) for placed in streams[1])
    assert any(isinstance(placed.record, Fact) for placed in streams[2])
    for kind, stream in zip((Relation, Entity, Fact), streams, strict=True):
        assert all(isinstance(placed.record, kind) for placed in stream)
    assert 0 < first.done <= first.total


def test_stream_that_was_left_is_started_anew(name: str, given: Input) -> None:
    source = open_source(name, **given.options)
    whole = everything(source)
    for stream, records in zip(STREAMS, whole, strict=True):
        next(stream(source), None)
        assert list(stream(source)) == records


def test_another_input_has_another_fingerprint(name: str, given: Input) -> None:
    before = open_source(name, **given.options)
    fingerprint = before.fingerprint
    given.change()
    after = open_source(name, **given.options)
    assert after.fingerprint != fingerprint
    assert not [placed for stream in everything(after) for placed in stream if isinstance(placed.record, Rejected)]


def test_bad_record_is_rejected_and_the_others_are_read(name: str, given: Input) -> None:
    before = good(open_source(name, **given.options))
    given.spoil()
    source = open_source(name, **given.options)
    rejected = [placed for stream in everything(source) for placed in stream if isinstance(placed.record, Rejected)]
    assert len(rejected) == 1
    assert rejected[0].line > 0
    assert not rejected[0].record.reason.endswith(".")
    assert good(source) == before


def test_wrong_options_are_named(name: str, given: Input) -> None:
    with pytest.raises(ArgumentError, match=rf"^`nonsense` is not an option of the loader {name}; ") as unknown:
        open_source(name, **given.options, nonsense=1)
    assert unknown.value.argument == "nonsense"
    for one in options(name):
        if one.required:
            with pytest.raises(
                ArgumentError, match=rf"^`{one.name}` is missing: the loader {name} needs it\."
            ) as missing:
                open_source(name, **{other: value for other, value in given.options.items() if other != one.name})
            assert missing.value.argument == one.name
        with pytest.raises(ArgumentError, match=rf"^`{one.name}` is ") as wrong:
            open_source(name, **given.options | {one.name: object()})
        assert wrong.value.argument == one.name


def test_unknown_loader() -> None:
    with pytest.raises(
        UnknownNameError, match=r"Unknown loader 'tabel'; expected one of .*table.* \(did you mean table\?\)"
    ):
        open_source("tabel")


NATIONS = '''
"""Nations, one a line."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kgprobe.base.options import option
from kgprobe.base.records import Entity, Placed
from kgprobe.sources.contract import Loader, ShownText
from kgprobe.sources.lines import InputFile, fingerprint, open_input


@dataclass(frozen=True)
class NationsOptions:
    list: Path = option(help="Names, one a line.", positional=True)
    prefix: str = option("nation:", "In front of the number that is a nation's id.")


@dataclass
class Nations:
    name: str
    fingerprint: str
    total: int
    file: InputFile
    prefix: str
    partial: bool = False

    @property
    def done(self) -> int:
        return self.file.position

    def relations(self) -> Iterator[Placed]:
        return iter(())

    def facts(self) -> Iterator[Placed]:
        return iter(())

    def entities(self) -> Iterator[Placed]:
        for number, line in self.file.lines():
            yield Placed(number, Entity(f"{self.prefix}{number}", line.decode()))


def _open(options: NationsOptions) -> Nations:
    file = open_input(options.list)
    return Nations(file.name, fingerprint([file], {"prefix": options.prefix}), file.size, file, options.prefix)


loader = Loader("Load nations.", NationsOptions, _open, {"names": ShownText("Print some names.", lambda: "Utopia\\n")})
'''


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's loader, installed, and a file for it."""
    entry_points = "[kgprobe.loaders]\nnations = nations:loader\n"
    install(tmp_path / "elsewhere", monkeypatch, {"nations": NATIONS}, entry_points)
    (tmp_path / "nations.txt").write_text("France\nKenya\n")


@pytest.mark.usefixtures("elsewhere")
def test_loader_of_somebody_else_is_called_by_its_name(tmp_path: Path, graph: Graph) -> None:
    assert "nations" in LOADERS.names()
    report = load(graph, "nations", list=str(tmp_path / "nations.txt"), prefix="n")
    assert str(report) == "nations.txt: 2 entities, 0 relations, 0 facts."
    rows = graph.run_text("MATCH (e:Entity) RETURN e.id AS id, e.label AS label ORDER BY id", {})[1]
    assert list(rows) == [{"id": "n1", "label": "France"}, {"id": "n2", "label": "Kenya"}]
    with pytest.raises(ArgumentError, match=r"`prefxi` is not an option of the loader nations; .*did you mean prefix"):
        load(graph, "nations", list="nations.txt", prefxi="n")


@pytest.mark.usefixtures("elsewhere")
def test_loader_of_somebody_else_is_a_command(tmp_path: Path, graph: Graph) -> None:
    place = environment_of(graph.endpoint)
    assert re.search(r"nations +Load nations\.", kgprobe("load", "--help").stdout)
    told = kgprobe("load", "nations", "--help").stdout
    assert "--prefix TEXT" in told
    assert "[default: nation:]" in told
    assert kgprobe("load", "nations", "--show-names").stdout == "Utopia\n"
    assert printed("load", "nations", str(tmp_path / "nations.txt"), "--json", **place)["entities"] == 2
    missing = kgprobe("load", "nations", **place)
    assert (missing.returncode, "Missing argument 'LIST'" in missing.stderr) == (2, True)
