"""Documents say what is there: links, commands, options, and Python that runs."""

import ast
import contextlib
import doctest
import functools
import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import click
import pytest

import kgprobe
from kgprobe.base.options import make_options
from kgprobe.base.records import Rejected
from kgprobe.cli.groups import DefaultGroup
from kgprobe.cli.main import kgprobe as command_line
from kgprobe.cli.sample import sample
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.papers.baselines.register import BASELINES
from kgprobe.probes.outcome import Verdict
from kgprobe.probes.register import PROBES
from kgprobe.probes.search.strategies import STRATEGIES
from kgprobe.sources.contract import LOADERS, open_source
from tests.cli.inprocess import succeed
from tests.doctests import runner
from tests.graph.servers.shared import environment_of
from tests.installed import install
from tests.models.tiny import byte_level, random_model

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "action" / "README.md", ROOT / "docker" / "README.md"]
)
# Where commands are shown as they are today; the changelog also has those that were.
SHOWING = [document for document in DOCUMENTS if document.name != "CHANGELOG.md"]
SESSION = ROOT / "docs" / "library.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
MOST = 100

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_SPAN = re.compile(r"`([^`]+)`")
_FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, the number of its first line, and its text."""

    language: str
    line: int
    text: str


def blocks_of(document: Path, *languages: str) -> list[Block]:
    """Return the fenced blocks of a document, of these languages or of all."""
    blocks: list[Block] = []
    fence: tuple[str, int] | None = None
    inside: list[str] = []
    for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), start=1):
        if line.startswith("```"):
            if fence is None:
                fence, inside = (line[3:].strip(), number + 1), []
            else:
                blocks.append(Block(*fence, "\n".join(inside) + "\n"))
                fence = None
        elif fence is not None:
            inside.append(line)
    assert fence is None, f"{document}: a block is not closed"
    return [block for block in blocks if not languages or block.language in languages]


def prose_of(document: Path) -> str:
    """Return a document without its fenced blocks, whose lines are left empty."""
    text = document.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)


def anchors_of(document: Path) -> list[str]:
    """Return what links to its headings end in, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose_of(document), re.MULTILINE)
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]


def named(document: Path) -> str:
    return str(document.relative_to(ROOT))


def test_lines_of_prose_are_short() -> None:
    for document in DOCUMENTS:
        lines = enumerate(prose_of(document).splitlines(), start=1)
        long = [number for number, line in lines if len(line) >= MOST and not line.startswith("|")]
        assert long == [], document


def test_links_lead_to_files_and_headings() -> None:
    lost = []
    for document in DOCUMENTS:
        for target in _LINK.findall(prose_of(document)):
            path, _, anchor = target.partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            file = (document.parent / path).resolve() if path else document
            if not file.exists() or (anchor and anchor not in anchors_of(file)):
                lost.append(f"{named(document)}: {target}")
    assert lost == []


def test_readme_is_one_page_whose_two_commands_ci_runs() -> None:
    readme = ROOT / "README.md"
    assert len(readme.read_text(encoding="utf-8").splitlines()) <= 120
    (block,) = blocks_of(readme, "bash")
    assert block.text.splitlines() == [
        'python -m pip install -e ".[demo]" && kgprobe demo',
        'python -m pip install -e ".[test]" && python -m pytest -n 2',
    ]


def test_every_document_is_in_the_table_of_contents() -> None:
    contents = ROOT / "docs" / "README.md"
    linked = {(contents.parent / target).resolve() for target in _LINK.findall(prose_of(contents))}
    assert {document for document in (ROOT / "docs").glob("**/*.md") if document != contents} <= linked


def test_files_that_are_named_are_there() -> None:
    spans = [span for document in SHOWING for span in _SPAN.findall(prose_of(document))]
    paths = [span for span in spans if re.fullmatch(r"(?:benchmarks|cypher|docs|kgprobe|loaders|tests)/[\w./-]*", span)]
    assert [path for path in paths if not (ROOT / path).exists()] == []


# Commands


def commands_in(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each `kgprobe …` of a shell line."""
    words = shlex.split(text.replace("…", ""), comments=True)
    for place, word in enumerate(words):
        before = words[place - 1] if place else ";"
        if word == "kgprobe" and ("=" in before or before in ("|", "||", "&&", ";", "exec")):
            rest = words[place + 1 :]
            ends = [number for number, one in enumerate(rest) if one in ("|", "||", "&&", ";", ">")]
            yield rest[: ends[0]] if ends else rest


def problems_of(arguments: Sequence[str]) -> list[str]:
    """Return what of a command line does not exist: the command, or options of it."""
    command: click.Command = command_line
    context = click.Context(command)
    rest = list(arguments)
    while isinstance(command, click.Group) and rest:
        if isinstance(command, DefaultGroup) and rest[0] not in command.commands:
            rest.insert(0, command.default)
        if rest[0].startswith("-"):
            break
        found = command.get_command(context, rest[0])
        if found is None:
            return [f"there is no command {' '.join(arguments)}"]
        command, context = found, click.Context(found, parent=context, info_name=rest.pop(0))
    known = flags_of(command)
    given = [word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)]
    return [f"{' '.join(arguments)}: there is no {flag}" for flag in given if flag not in known]


def flags_of(command: click.Command) -> set[str]:
    """Return the options of a command."""
    own = {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}
    return {*own, "--config", "--help", "--help-all", "--version"}


@functools.cache
def all_flags() -> frozenset[str]:
    """Return the options of all commands."""

    def of(command: click.Command, context: click.Context) -> Iterator[str]:
        yield from flags_of(command)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                yield from of(inner, click.Context(inner, parent=context, info_name=name))

    return frozenset(of(command_line, click.Context(command_line)))


def test_commands_that_are_shown_exist_with_their_options() -> None:
    for document in SHOWING:
        shown = [
            line.removeprefix("$ ")
            for block in blocks_of(document, "console", "bash")
            for line in block.text.splitlines()
            if line.startswith("$ ") or block.language == "bash"
        ]
        spans = [" ".join(span.split()) for span in _SPAN.findall(prose_of(document))]
        shown += [span for span in spans if re.match(r"kgprobe [a-z]", span)]
        problems = [problem for line in shown for one in commands_in(line) for problem in problems_of(one)]
        assert problems == [], document


def test_options_that_prose_names_are_those_of_a_command() -> None:
    spans = [(document, span) for document in SHOWING for span in _SPAN.findall(prose_of(document))]
    flags = {(named(document), flag) for document, span in spans if span[0] == "-" for flag in _FLAG.findall(span)}
    assert {(document, flag) for document, flag in flags if flag not in all_flags()} == set()


def test_command_or_an_option_that_is_not_there_is_found() -> None:
    lines = ["kgprobe graph sing", "kgprobe probe distractors --judge x", "FOO=1 kgprobe load example --strict | head"]
    assert [problem for line in lines for one in commands_in(line) for problem in problems_of(one)] == [
        "there is no command graph sing",
        "probe distractors --judge x: there is no --judge",
    ]


# Python


def test_names_of_the_library_that_are_shown_are_at_the_door() -> None:
    for document in SHOWING:
        sources = [block.text for block in blocks_of(document, "python", "py")]
        text = "\n".join([*sources, *_SPAN.findall(prose_of(document))])
        assert set(re.findall(r"\bkgprobe\.([a-z]\w+)\(", text)) <= set(kgprobe.__all__), document


@dataclass(frozen=True)
class Installed:
    """The examples of CONTRIBUTING, as an installed package.

    Attributes:
        folder: with the modules.
        entry_points: name by group.
    """

    folder: Path
    entry_points: Mapping[str, str]


@pytest.fixture
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    """The modules that CONTRIBUTING shows (their first line names the file), installed with their entry points."""
    folder = tmp_path / "installed"
    modules = {}
    for block in blocks_of(CONTRIBUTING, "python"):
        name = re.match(r"# (\w+)\.py\n", block.text)
        assert name is not None, f"CONTRIBUTING.md, line {block.line}: the first line names no file"
        modules[name[1]] = block.text
    entry_points = "".join(block.text for block in blocks_of(CONTRIBUTING, "toml"))
    ini = re.sub(r'\[project\.entry-points\."(.+)"\]', r"[\1]", entry_points).replace('"', "")
    install(folder, monkeypatch, modules, ini)
    return Installed(folder, dict(re.findall(r"\[(\S+)\]\n(\S+) =", ini)))


def lines_of(example: str) -> int:
    """Return the number of lines of an example of CONTRIBUTING that are not blank."""
    (block,) = [block for block in blocks_of(CONTRIBUTING, "python") if block.text.startswith(f"# {example}.py")]
    return len(list(filter(None, block.text.splitlines())))


def test_examples_of_what_can_be_added_are_registered(examples: Installed) -> None:
    registers = {register.group: register for register in (PROBES, STRATEGIES, BASELINES, LOADERS)}
    assert set(examples.entry_points) == set(registers)
    for group, name in examples.entry_points.items():
        # A loader has no name but that of its entry point.
        assert getattr(registers[group].get(name), "name", name) == name


def test_example_of_a_probe_is_a_command_with_its_options(examples: Installed) -> None:
    assert lines_of("kgprobe_pairs") <= 60
    name = examples.entry_points[PROBES.group]
    assert make_options(PROBES.get(name).options, {"others": 2}, name).others == 2
    assert problems_of(["probe", name, "--others", "2"]) == []


def test_example_of_a_loader_reads(examples: Installed) -> None:
    table = examples.folder / "nations.csv"
    table.write_text("France,Paris\nAtlantis\n")
    source = open_source(examples.entry_points[LOADERS.group], table=table)
    assert [placed.line for placed in source.facts() if isinstance(placed.record, Rejected)] == [2]
    assert [placed.record.label for placed in source.entities()] == ["France", "Paris", "Atlantis"]
    assert len(list(source.relations())) == 1
    assert source.done == source.total


@pytest.mark.usefixtures("examples")
def test_example_of_a_command_prints_its_result(home: Path, example_endpoint: Endpoint) -> None:
    assert lines_of("kgprobe_capitals") <= 20
    import_module("kgprobe_capitals")
    place = {"KGPROBE_HOME": str(home), **environment_of(example_endpoint)}
    try:
        done = succeed("sample", "capitals", "--limit", "3", "--json", **place)
    finally:
        del sample.commands["capitals"]
    assert [json.loads(line)["relation"] for line in done.stdout.splitlines()] == ["P36"] * 3


@pytest.mark.usefixtures("examples")
def test_example_of_a_study_is_a_command_and_is_opened(home: Path, example_endpoint: Endpoint) -> None:
    assert lines_of("kgprobe_length") <= 60
    example = import_module("kgprobe_length")
    place = {"KGPROBE_HOME": str(home), **environment_of(example_endpoint)}
    try:
        done = succeed("study", "length", "--model", "demo", "--limit", "6", "--json", **place)
    finally:
        del example.study.commands["length"]
    content = json.loads(done.stdout)
    assert sum(row["facts"] for row in content["data"]) == 6
    opened = kgprobe.open(Path(content["page"]).parent)
    assert type(opened) is example.LengthStudy
    assert opened.to_dict() == {key: content[key] for key in opened.to_dict()}
    assert opened.data[0].known.value == content["data"][0]["known"]


def test_example_of_a_result_has_two_tables(examples: Installed) -> None:
    example = import_module("kgprobe_longest")
    rows = [example.LongName("capital", "Antananarivo"), example.LongName("capital", "Ouagadougou")]
    result = example.Longest(least=10, names=rows)
    assert [(table.title, len(table.rows)) for table in result.tables()] == [("By relation", 1), ("Long names", 2)]
    page = result.page(examples.folder / "page")
    assert {path.name for path in page.parent.iterdir()} == {"result.html", "result.json", "counts.csv", "names.csv"}
    assert lines_of("kgprobe_longest") <= 25


def test_examples_asked_of_a_graph_give_results(
    examples: Installed, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(examples.folder / "home"))
    loader, probe, strategy, baseline = (
        examples.entry_points[register.group] for register in (LOADERS, PROBES, STRATEGIES, BASELINES)
    )
    capitals = {f"Nation {letter}": f"City {letter}" for letter in "ABCDEFGH"}
    table = examples.folder / "nations.csv"
    table.write_text("".join(f"{nation},{city}\n" for nation, city in capitals.items()))
    kgprobe.load(graph, loader, table=table)
    tokenizer = byte_level(bos=True)
    model = kgprobe.wrap_model(random_model("gpt2", len(tokenizer), n_positions=1024), tokenizer, name="tiny")

    asked = kgprobe.measure(graph, model, probe, others=3)
    assert {outcome.verdict for outcome in asked.outcomes} <= {Verdict.RIGHT, Verdict.WRONG}
    assert {outcome.evidence.chance for outcome in asked.outcomes} == {1 / 4}
    assert asked.page().exists()
    run = kgprobe.run_rounds(graph, model, probe, name="added", rounds=1, facts_per_round=3, others=3)
    assert (run.report.asked, f"{probe}" in run.page().read_text(encoding="utf-8")) == (3, True)
    assert kgprobe.resume_rounds(graph, "added", model, rounds=2).report.rounds == 2

    compared = kgprobe.measure(graph, model, "distractors", strategy=strategy, distractors=3)
    assert compared.config["described"]["strategy"] == {"strategy": strategy, "drawn": 10}
    for outcome in compared.outcomes:
        own = capitals[outcome.fact.subject]
        assert [rival.label for rival in outcome.evidence.rivals] == sorted({*capitals.values()} - {own})[:3]

    scores = [
        {"subject": nation, "relation": "capital", "object": city, "human_score": place / 10}
        for place, (nation, city) in enumerate(capitals.items())
    ]
    study = kgprobe.study_calibration(graph, model, scores, measures=[baseline])
    assert [(row.measure, row.facts) for row in study.table] == [(baseline, len(capitals))]


def test_python_of_documents_can_be_read() -> None:
    for document in SHOWING:
        for block in blocks_of(document, "python", "py"):
            if not block.text.startswith(">>>"):
                ast.parse(block.text, f"{named(document)}, line {block.line}")


@pytest.fixture
def home(tmp_path: Path, demo_models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's own folder with the demo model in it, where the session also writes its files."""
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "models").symlink_to(demo_models)
    monkeypatch.setenv("KGPROBE_HOME", str(folder))
    for variable in ("KGPROBE_GRAPH", "KGPROBE_GRAPH_DATABASE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.usefixtures("home", "examples")
def test_session_in_python_runs_as_it_is_written(request: pytest.FixtureRequest) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    session = runner(tiny="tiny" in request.node.callspec.id)
    told: list[str] = []
    with contextlib.closing(_Graphs(namespace)):
        for block in blocks_of(SESSION, "python"):
            place = f"{named(SESSION)}, line {block.line}"
            if block.text.startswith(">>>"):
                test = doctest.DocTestParser().get_doctest(block.text, namespace, place, named(SESSION), block.line - 1)
                session.run(test, out=told.append, clear_globs=False)
                # A test works on a copy of what it is given.
                namespace.update(test.globs)
                assert told == [], "".join(told)
            else:
                # Errors name the line of the document.
                exec(compile("\n" * (block.line - 1) + block.text, str(SESSION), "exec"), namespace)  # noqa: S102


class _Graphs:
    """Closes the session's graph, also where the session broke off."""

    def __init__(self, namespace: Mapping[str, object]) -> None:
        self._namespace = namespace

    def close(self) -> None:
        graph = self._namespace.get("graph")
        if graph is not None:
            graph.close()  # type: ignore[attr-defined]
