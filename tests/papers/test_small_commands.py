"""The small command of each table and figure, after its `load` in an empty home, on small models.

The quantities of the paper come out as the table's state says.
Numbers are computed again from the raw answers, by plain loops over the papers' definitions.
"""

import csv
import json
import math
import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, TypeAlias

import pyarrow.parquet as pq
import pytest

from kgprobe.papers.tables import all_tables, filled, table_named
from tests.cli.inprocess import run, succeed
from tests.papers.speakers import save_speaker

pytestmark = pytest.mark.slow

SCORES = [("Q17", "Q1490"), ("Q142", "Q90"), ("Q183", "Q64"), ("Q38", "Q220"), ("Q29", "Q2807"), ("Q96", "Q1489")]
SENTENCES = [
    ("Q17", "Q1490", "Japan", "Tokyo", "capital of Japan is Tokyo", "sub_deter", "The capital of Japan is Tokyo"),
    (
        "Q142",
        "Q90",
        "France",
        "Paris",
        "The capital of France are Paris",
        "wrong_conjug",
        "The capital of France is Paris",
    ),
    ("Q183", "Q64", "Germany", "Berlin", "The capital of Germany is Berlin", "-", ""),
    ("Q38", "Q220", "Italy", "Rome", "La capitale of Italy is Rome", "wrong_language", "The capital of Italy is Rome"),
]
BLUNDERS = {"out_of_subject", "wrong_language"}

WITH_COMMANDS = {(entry.paper, entry.table): entry for entry in all_tables() if entry.command and entry.has_results}


@dataclass
class Home:
    """An empty home with two models in which commands run, each once."""

    folder: Path
    models: tuple[str, str, str]
    environment: Mapping[str, str]
    # Text and new folders of results, by command.
    done: dict[str, tuple[str, list[Path]]] = field(default_factory=dict)

    def repeat(self, paper: str, table: str) -> "Repeated":
        """Run the commands of a table."""
        steps = []
        first, other, third = self.models
        # The third size of a line.
        command = table_named(paper, table).command.replace("hf:EleutherAI/pythia-160m", third)
        for step in filled(command, first, other).split(" && "):
            if step not in self.done:
                before = set(self._results())
                text = succeed(*shlex.split(step)[1:], **self.environment).stdout
                self.done[step] = text, [result for result in self._results() if result not in before]
            steps.append(step)
        return Repeated(self, steps)

    def _results(self) -> Iterator[Path]:
        for kind in ("probes", "runs", "studies", "comparisons", "judged", "judges", "datasets"):
            yield from sorted((self.folder / kind).glob("*"))


@dataclass
class Repeated:
    """The commands of a table, which ran."""

    home: Home
    steps: Sequence[str]

    @property
    def text(self) -> str:
        return "\n".join(self.home.done[step][0] for step in self.steps)

    def study(self) -> dict[str, Any]:
        """Return the content of the last study, or comparison."""
        (path,) = (path for folder in self.made(self.steps[-1]) for path in folder.glob("*.json") if path.stem in FILES)
        return read(path)

    def cells(self, step: int = -1) -> list[dict[str, str]]:
        """Return the rates by group that a command prints."""
        (folder,) = self.made(self.steps[step])
        return list(csv.DictReader((folder / "cells.csv").open()))

    def made(self, step: str) -> list[Path]:
        return [folder for folder in self.home.done[step][1] if folder.is_dir() and folder.suffix != ".js"]

    def answers(self, place: int) -> list[dict[str, Any]]:
        """Return the outcomes that one of the commands stored."""
        (folder,) = (folder for folder in self.made(self.steps[place]) if (folder / "outcomes.jsonl").exists())
        return outcomes(folder)


FILES = ("study", "comparison")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def outcomes(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "outcomes.jsonl").read_text(encoding="utf-8").splitlines()
    return list(map(json.loads, lines))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    folder = tmp_path_factory.mktemp("empty")
    layers = {"num_hidden_layers": 6, "max_position_embeddings": 4096, "tie_word_embeddings": False}
    kinds = {"one": "llama", "two": "gpt_neox", "three": "qwen2"}
    models = [save_speaker(folder / name, kind, seed, **layers) for seed, (name, kind) in enumerate(kinds.items(), 1)]
    environment = {"KGPROBE_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1", "COLUMNS": "300"}
    used = Home(folder / "home", (models[0], models[1], models[2]), environment)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        write_files(folder)
        for entry in WITH_COMMANDS.values():
            first = run("paper", entry.paper, entry.table, **environment).stderr.splitlines()[:1]
            assert first == [f"There is no graph for the small commands yet. First: `{entry.load}`."] * bool(entry.load)
        # These read no graph.
        for entry in WITH_COMMANDS.values():
            if not entry.load:
                used.repeat(entry.paper, entry.table)
        for load in {entry.load for entry in WITH_COMMANDS.values() if entry.load}:
            succeed(*shlex.split(load)[1:], **environment)
        succeed("graph", "start", **environment)
        yield used
        succeed("graph", "stop", **environment)


def write_files(folder: Path) -> None:
    """Write what the authors publish: human scores, and annotated sentences."""
    scores = [
        {"subject": subject, "relation": "P36", "object": object_, "human_score": number / 10}
        for number, (subject, object_) in enumerate(SCORES)
    ]
    (folder / "human_scores.json").write_text(json.dumps(scores))
    with (folder / "verbalization_errors.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["triples_raw", "triples", "context", "verbalization", "errors", "correction"])
        for subject, object_, name, capital, sentence, errors, correction in SENTENCES:
            named = f"({name}, capital, {capital}, start=None, end=None)"
            writer.writerow([f"('{subject}', 'P36', '{object_}')", named, "present", sentence, errors, correction])


# Columns and rows that a table has in the paper, as they are printed.
_RATES = ("Win rate by", "Zero-sense rate by")
_PEOPLE = ("rouge-l", "karr", "probability", "distractors:random", "distractors:approximate-optimal", "grader")
_RELATIONS = ("Mean accuracy over relations", "deviation")
_BY_RELATION = ("Accuracy by relation",)
QUANTITIES: dict[tuple[str, str], tuple[str, ...]] = {
    ("distractors", "table-3"): ("mean τ", "deviation", *_PEOPLE),
    ("distractors", "table-4"): ("τ", "rouge-l", "probability", "distractors:approximate-optimal", "grader"),
    ("distractors", "table-5"): ("share", "sub_deter", "wrong_conjug", "free of errors"),
    ("distractors", "table-6"): ("Categories of sentences", "only minor errors", "with a blunder"),
    ("distractors", "table-9"): ("Best configuration of each fold", "beams", "aggregation", *_PEOPLE),
    ("distractors", "figure-1"): ("Mean Min@n by strategy", "random", "temporal-semantic", "approximate-optimal"),
    ("distractors", "figure-2"): ("Mean Min@n by strategy", "semantic", "temporal-semantic"),
    ("distractors", "figure-3"): ("By the number of distractors: Kendall's τ", "distractors:approximate-optimal"),
    ("distractors", "figure-4"): ("By the number of cloze sentences: Kendall's τ", *_PEOPLE),
    ("distractors", "figure-5"): ("parameters", "Avg@3"),
    ("distractors", "figure-6"): ("Gain by cloze sentences", *_PEOPLE),
    ("distractors", "figure-7"): ("Share of former objects (temporal distractors) by position",),
    ("distractors", "figure-8"): ("parameters", "Avg@3", "line"),
    ("kglens", "table-1"): ("entities", "active relations", "active facts", "density"),
    ("kglens", "table-2"): ("Win rate by model", "EASY", "HARD", "average"),
    ("kglens", "table-3"): ("Zero-sense rate by model", "EASY", "HARD", "average"),
    ("kglens", "figure-3"): ("requests", "MSE", "thompson", "uniform", "sequential", "hardest found"),
    ("kglens", "figure-4"): _RATES,
    ("kglens", "table-4"): ("questions: sheet.csv", "agreement"),
    ("kglens", "figure-5"): ("Zero-sense rate by relation", "Europe", "United Nations"),
    ("kglens", "figure-6"): _RATES,
    ("kglens", "figure-7"): _RATES,
    ("kglens", "figure-8"): _RATES,
    ("kglens", "figure-9"): _RATES,
    ("kglens", "figure-10"): _RATES,
    ("latent-knowledge", "table-1"): ("Subsumption over relations", "Mean accuracy over relations"),
    ("latent-knowledge", "table-3"): ("relation", "facts", "objects"),
    ("latent-knowledge", "table-7"): _RELATIONS,
    ("latent-knowledge", "table-8"): _BY_RELATION,
    ("latent-knowledge", "table-9"): ("Best and worst relations of each model",),
    ("latent-knowledge", "table-10"): ("Subsumption over relations", "Mean accuracy over relations"),
    ("latent-knowledge", "figure-1"): ("examples", "accuracy"),
    ("latent-knowledge", "figure-2"): ("unknown, spread", "incorrect, spread", "change"),
    ("latent-knowledge", "figure-3"): ("Methods over relations", "packed", "hand-written sentences", "deviation"),
    ("latent-knowledge", "figure-4"): ("Methods over relations", "examples in hand-written sentences", "deviation"),
    ("latent-knowledge", "figure-5"): _BY_RELATION,
    ("latent-knowledge", "figure-6"): ("Pearson correlation", "family"),
    ("latent-knowledge", "figure-7"): _RELATIONS,
    ("latent-knowledge", "figure-8"): ("Accuracy where the model is confident (accuracy@K)", "confidence"),
    ("latent-knowledge", "figure-9"): ("unknown, spread", "incorrect, spread", "change"),
    ("latent-knowledge", "figure-10"): ("unknown, spread", "incorrect, spread", "change"),
    ("latent-knowledge", "figure-11"): ("unknown, spread", "incorrect, spread", "change"),
    ("latent-knowledge", "figure-12"): ("Methods by relation", "packed", "hand-written sentences", "deviation"),
    ("latent-knowledge", "figure-13"): _BY_RELATION,
    ("latent-knowledge", "figure-14"): ("Pearson correlation of accuracies over relations",),
    ("latent-knowledge", "figure-15"): _BY_RELATION,
    ("latent-knowledge", "figure-16"): ("Accuracy by relation",),
    ("grapheval", "table-1"): ("entities", "active relations", "active facts"),
    ("grapheval", "table-2"): ("correct", "truthful", "informative", "Judgements of statements", "true", "unknown"),
    ("grapheval", "table-3"): ("states of", "precision", "recall", "F1"),
    ("grapheval", "table-4"): ("Speed", "statements/s", "judge", "text generation"),
    ("grapheval", "table-5"): ("statement", "facts"),
    ("grapheval", "figure-3"): ("By the relation's type of subject", "By the relation's type of object"),
    ("grapheval", "figure-4"): ("prompt encoder", "words", "precision", "recall", "F1"),
    ("grapheval", "figure-5"): ("Correlations", "degree", "popularity"),
}


def test_quantities_are_listed_of_all_tables_with_commands() -> None:
    assert QUANTITIES.keys() == WITH_COMMANDS.keys()


@pytest.mark.parametrize(("paper", "table"), QUANTITIES)
def test_small_command_prints_the_quantities_of_its_state(home: Home, paper: str, table: str) -> None:
    # Titles may be broken.
    text = " ".join(home.repeat(paper, table).text.split())
    missing = [quantity for quantity in QUANTITIES[paper, table] if quantity not in text]
    assert table_named(paper, table).state == ("partly" if missing else "runs"), missing
    assert missing != list(QUANTITIES[paper, table])
    # Each setting of the paper is known of the stored results.
    shown = json.loads(run("paper", paper, table, "--json", **home.environment).stdout)
    assert [row for row in shown["differences"] if row["here"] in ("not stored", "deleted or damaged")] == []


Naive: TypeAlias = Callable[[Repeated], None]
NUMBERS: dict[tuple[str, str], Naive] = {}


def recomputes(paper: str, *tables: str) -> Callable[[Naive], Naive]:
    """Return a decorator of a function that computes a number of these tables again."""

    def add(naive: Naive) -> Naive:
        for table in tables:
            NUMBERS[paper, table] = naive
        return naive

    return add


def close(value: float | None, naive: float) -> None:
    assert value == pytest.approx(naive, abs=1e-6)


def named(repeated: Repeated, place: int) -> Path:
    """Return the folder of a measurement or run that a step names."""
    words = shlex.split(repeated.steps[place])
    name = words[words.index("--name") + 1]
    probes = repeated.home.folder / "probes" / name
    return probes if probes.exists() else next((repeated.home.folder / "runs").glob(f"{name}-*"))


# Distractors


def annotated() -> list[set[str]]:
    return [set(errors.split(",")) - {"-"} for *_, errors, _ in SENTENCES]


@recomputes("distractors", "table-5")
def errors_by_kind(repeated: Repeated) -> None:
    for row in repeated.study()["data"]:
        kinds = annotated()
        having = 0
        for kind in kinds:
            having += row["error"] in kind or (row["error"] == "free of errors" and not kind)
        close(row["share"], having / len(kinds))


@recomputes("distractors", "table-6")
def errors_by_category(repeated: Repeated) -> None:
    shares = {row["category"]: row["share"] for row in repeated.study()["categories"]}
    blunders = minor = 0
    for kinds in annotated():
        blunders += bool(kinds & BLUNDERS)
        minor += bool(kinds) and not kinds & BLUNDERS
    close(shares["with a blunder"], blunders / len(SENTENCES))
    close(shares["only minor errors"], minor / len(SENTENCES))


def plausibilities(outcome: Mapping[str, Any]) -> tuple[float, list[tuple[float, bool]]]:
    """Return the plausibility of the object, and those of its distractors with whether they are former objects."""
    (sentence,) = outcome["evidence"]["sentences"]
    own, *others = sentence["log_plausibilities"]
    rivals = [outcome["evidence"]["rivals"][place] for place in sentence["rivals"]]
    return own, [(other, rival["former"]) for other, rival in zip(others, rivals, strict=True)]


def by_strategy(study: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the outcomes of the facts that every measurement of a study asked, by its title and the fact."""
    asked = {}
    for title, folder in study["config"]["measurements"].items():
        asked[title] = {each["fact"]: each for each in outcomes(Path(folder)) if each["evidence"] is not None}
    common = set.intersection(*map(set, asked.values()))
    return {title: {fact: own[fact] for fact in common} for title, own in asked.items()}


@recomputes("distractors", "figure-1", "figure-2")
def mean_min_at_n(repeated: Repeated) -> None:
    study = repeated.study()
    asked = by_strategy(study)
    for row in study["data"]:
        beaten = []
        for outcome in asked[row["strategy"]].values():
            own, rivals = plausibilities(outcome)
            beaten.append(all(own > other for other, _ in rivals[: row["n"]]))
        close(row["mean"], fmean(beaten))


@recomputes("distractors", "figure-7")
def former_by_position(repeated: Repeated) -> None:
    study = repeated.study()
    asked = by_strategy(study)
    for row in study["data"]:
        former = []
        for outcome in asked[row["strategy"]].values():
            _, rivals = plausibilities(outcome)
            if len(rivals) >= row["n"]:
                former.append(rivals[row["n"] - 1][1])
        close(row["former"], fmean(former))


@recomputes("distractors", "figure-5")
def mean_avg_at_n(repeated: Repeated) -> None:
    study = repeated.study()
    asked = by_strategy(study)
    for row in study["data"]:
        shares = []
        for outcome in asked[row["model"]].values():
            own, rivals = plausibilities(outcome)
            shares.append(fmean([own > other for other, _ in rivals]))
        close(row["avg_at_n"], fmean(shares))


@recomputes("distractors", "figure-8")
def parameters_of_a_level(repeated: Repeated) -> None:
    data = repeated.study()["data"]
    points = [(math.log10(row["parameters"]), row["avg_at_n"]) for row in data]
    x, y = fmean([size for size, _ in points]), fmean([value for _, value in points])
    slope = sum((size - x) * (value - y) for size, value in points) / sum((size - x) ** 2 for size, _ in points)
    for row, (size, _) in zip(data, points, strict=True):
        close(row["line"], y + slope * (size - x))
    reached = re.search(r"at 10\^([\d.]+) parameters", " ".join(repeated.study()["notes"]))
    assert reached is not None or slope <= 0
    if reached is not None:
        assert float(reached[1]) == pytest.approx(x + (0.9 - y) / slope, abs=0.06)


# KGLens


def size(repeated: Repeated, name: str) -> float:
    found = re.search(rf"^ {name} +([\d.,]+)", repeated.text, re.MULTILINE)
    assert found is not None
    return float(found[1].replace(",", ""))


@recomputes("kglens", "table-1")
def size_and_density(repeated: Repeated) -> None:
    rows = query(repeated.home, "MATCH (s)-[f:FACT]->(o) RETURN s.id AS s, f.relation AS r, o.id AS o")
    entities = {row["s"] for row in rows} | {row["o"] for row in rows}
    assert size(repeated, "active facts") == len(rows)
    assert size(repeated, "active relations") == len({row["r"] for row in rows})
    assert size(repeated, "with facts") == len(entities)
    assert size(repeated, "mean degree") == pytest.approx(2 * len(rows) / len(entities), abs=0.001)


@recomputes("grapheval", "table-1")
def size_of_graph(repeated: Repeated) -> None:
    assert size(repeated, "active facts") == len(query(repeated.home, "MATCH ()-[f:FACT]->() RETURN f.id AS f"))


def query(home: Home, cypher: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(succeed("graph", "query", cypher, "--json", **home.environment).stdout)
    return rows


def rates(folder: Path, groups: Callable[[Mapping[str, Any]], Sequence[str]]) -> dict[str, tuple[float, float]]:
    """Return the win rate and the zero-sense rate of groups of facts, from their graded answers."""
    answers = defaultdict(list)
    about = {}
    for outcome in outcomes(folder):
        if outcome["verdict"] not in ("unanswered", "unaskable"):
            answers[outcome["fact"]].append(outcome["verdict"] == "right")
    for row in csv.DictReader((folder / "facts.csv").open(encoding="utf-8")):
        about[row["fact"]] = groups(row)
    wins, nothing = defaultdict(list), defaultdict(list)
    for fact, right in answers.items():
        for group in about[fact]:
            wins[group].append(sum(right) > len(right) - sum(right))
            nothing[group].append(not any(right))
    return {group: (fmean(wins[group]), fmean(nothing[group])) for group in wins}


@recomputes("kglens", "table-2", "table-3")
def rates_of_model(repeated: Repeated) -> None:
    cells = {cell["result"]: cell for cell in repeated.cells()}
    for place in (0, 1):
        folder = named(repeated, place)
        ((win, nothing),) = rates(folder, lambda _: ["all"]).values()
        cell = next(cell for name, cell in cells.items() if folder.name.startswith(name))
        close(float(cell["win_rate"]), win)
        close(float(cell["zero_sense_rate"]), nothing)


def check_groups(repeated: Repeated, groups: Callable[[Mapping[str, Any]], Sequence[str]]) -> None:
    naive = rates(named(repeated, 0), groups)
    for cell in repeated.cells():
        close(float(cell["win_rate"]), naive[cell["name"]][0])
        close(float(cell["zero_sense_rate"]), naive[cell["name"]][1])


@recomputes("kglens", "figure-4", "figure-8")
def rates_by_year(repeated: Repeated) -> None:
    check_groups(repeated, lambda row: [str(int(float(row["year"])))] if row["year"] else [])


@recomputes("kglens", "figure-6", "figure-7", "figure-9", "figure-10")
def rates_by_entity(repeated: Repeated) -> None:
    check_groups(repeated, lambda row: [row["subject_label"], row["object_label"]])


@recomputes("kglens", "figure-5")
def rates_by_center_and_relation(repeated: Repeated) -> None:
    pairs = rates(
        named(repeated, 0),
        lambda row: [f"{row['relation_label']} {row[end]}" for end in ("subject_label", "object_label")],
    )
    cells = [cell for cell in repeated.cells() if cell["facts"] != "0"]
    assert len(cells) > 1
    for cell in cells:
        close(float(cell["zero_sense_rate"]), pairs[f"{cell['name']} {cell['column']}"][1])


# Latent knowledge


def right_choices(folder: Path) -> dict[str, dict[str, bool]]:
    """Return whether the right object is the most probable one, by relation and fact."""
    known: dict[str, dict[str, bool]] = defaultdict(dict)
    for outcome in outcomes(folder):
        own, *others = outcome["evidence"]["log_probabilities"]
        known[outcome["relation"]][outcome["fact"]] = all(own > other for other in others)
    return known


def accuracies(folder: Path) -> dict[str, float]:
    return {relation: fmean(facts.values()) for relation, facts in right_choices(folder).items()}


def compared(repeated: Repeated) -> dict[str, Path]:
    """Return the folders of a comparison by their names."""
    return {Path(folder).name: Path(folder) for folder in repeated.study()["config"]["compared"]}


@recomputes("latent-knowledge", "table-1", "table-10")
def subsumption(repeated: Repeated) -> None:
    study, folders = repeated.study(), compared(repeated)
    first, second = (right_choices(folders[label]) for label in study["labels"])
    for own, other, printed in (
        (first, second, study["over_relations"]["subsumption"][0][1]),
        (second, first, study["over_relations"]["subsumption"][1][0]),
    ):
        shares = []
        for relation, facts in own.items():
            known = [fact for fact, right in facts.items() if right]
            if known:
                shares.append(fmean([other[relation][fact] for fact in known]))
        close(printed, fmean(shares))


@recomputes("latent-knowledge", "table-7", "figure-7")
def mean_over_relations(repeated: Repeated) -> None:
    folders = compared(repeated)
    for row in repeated.study()["over_relations"]["models"]:
        values = accuracies(folders[row["label"]]).values()
        close(row["mean"], fmean(values))
        close(row["deviation"], stdev(values))


@recomputes("latent-knowledge", "table-8", "figure-5", "figure-13", "figure-15")
def accuracy_by_relation(repeated: Repeated) -> None:
    study, folders = repeated.study(), compared(repeated)
    by_model = [accuracies(folders[label]) for label in study["labels"]]
    for row in study["relations"]:
        values = [own[row["relation"]] for own in by_model]
        assert row["accuracy"] == pytest.approx(values)
        close(row["mean"], fmean(values))


@recomputes("latent-knowledge", "table-9")
def best_and_worst(repeated: Repeated) -> None:
    for label, folder in compared(repeated).items():
        ranked = [row for row in repeated.study()["over_relations"]["ranked"] if row["label"] == label]
        own = accuracies(folder)
        assert [row["accuracy"] for row in ranked] == pytest.approx(sorted(own.values(), reverse=True))
        for row in ranked:
            close(row["accuracy"], own[row["relation"]])


@recomputes("latent-knowledge", "figure-6", "figure-14")
def correlation_of_models(repeated: Repeated) -> None:
    study, folders = repeated.study(), compared(repeated)
    first, second = (accuracies(folders[label]) for label in study["labels"])
    pairs = [(first[relation], second[relation]) for relation in first]
    naive = pearson(pairs)
    close(study["correlation"][0][1], naive)
    # One model of each family: the mean over pairs is that of one.
    close(study["over_relations"]["family_correlation"][0][1], naive)


def pearson(pairs: Sequence[tuple[float, float]]) -> float:
    x, y = fmean([first for first, _ in pairs]), fmean([second for _, second in pairs])
    product = left = right = 0.0
    for first, second in pairs:
        product += (first - x) * (second - y)
        left += (first - x) ** 2
        right += (second - y) ** 2
    return product / math.sqrt(left * right)


def by_method(study: Mapping[str, Any]) -> dict[str, list[dict[str, float]]]:
    """Return the accuracies by relation of each sentence of a method."""
    methods = defaultdict(list)
    for title, folder in study["config"]["measurements"].items():
        methods[re.sub(r"sentence \d+", "sentences", title)].append(accuracies(Path(folder)))
    return methods


@recomputes("latent-knowledge", "figure-3", "figure-4")
def mean_of_methods(repeated: Repeated) -> None:
    study = repeated.study()
    methods = by_method(study)
    for row in study["methods"]:
        sentences = methods[row["method"]]
        close(row["mean"], fmean([fmean([own[relation] for own in sentences]) for relation in sentences[0]]))
        every = [accuracy for own in sentences for accuracy in own.values()]
        assert (row["sentences"], row["deviation"]) == (
            len(sentences),
            None if len(every) < 2 else pytest.approx(stdev(every)),
        )


@recomputes("latent-knowledge", "figure-12")
def methods_by_relation(repeated: Repeated) -> None:
    study = repeated.study()
    methods = by_method(study)
    names = query(repeated.home, "MATCH (r:Relation) RETURN r.id AS id, r.label AS label")
    ids = {row["label"]: row["id"] for row in names}
    for row in study["relations"]:
        values = [own[ids[row["relation"]]] for own in methods[row["method"]]]
        close(row["mean"], fmean(values))


@recomputes("latent-knowledge", "figure-8")
def accuracy_at_confidence(repeated: Repeated) -> None:
    folder = named(repeated, 0)
    rows = read(folder / "results.json")["tables"]["confidence"]["rows"]
    for row in rows:
        right = []
        for outcome in outcomes(folder):
            own, *others = outcome["evidence"]["log_probabilities"]
            best = max(own, *others)
            confidence = 1 / sum(math.exp(value - best) for value in (own, *others))
            if confidence >= float(row["confidence"].split()[0]):
                right.append(own > max(others))
        assert row["facts"] == len(right)
        close(row["accuracy"], fmean(right))


@recomputes("latent-knowledge", "figure-1")
def accuracy_by_examples(repeated: Repeated) -> None:
    study = repeated.study()
    for row in study["table"]:
        means = []
        for title, folder in study["config"]["measurements"].items():
            if int(title.split()[0]) == row["examples"]:
                known = right_choices(Path(folder)).values()
                means.append(fmean([right for facts in known for right in facts.values()]))
        close(row["accuracy"], fmean(means))


@recomputes("latent-knowledge", "figure-16")
def named_in_generation(repeated: Repeated) -> None:
    (folder,) = repeated.made(repeated.steps[0])
    by_relation = defaultdict(list)
    for outcome in outcomes(folder):
        evidence = outcome["evidence"]
        by_relation[outcome["relation"]].append(evidence["object"]["label"] in evidence["text"])
    for row in read(folder / "results.json")["tables"]["relations"]["rows"]:
        if row["relation"] in by_relation:
            close(row["accuracy"], fmean(by_relation[row["relation"]]))


@recomputes("latent-knowledge", "table-3")
def facts_and_objects_of_relations(repeated: Repeated) -> None:
    (folder,) = repeated.made(repeated.steps[0])
    for split in ("train", "test"):
        rows = pq.read_table(folder / "data" / f"{split}.parquet").to_pylist()
        counts: dict[str, int] = defaultdict(int)
        for row in rows:
            counts[row["relation"]] += 1
        printed = re.findall(r"^ (P\d+) ", repeated.text.partition("Left out")[0], re.MULTILINE)
        assert counts == dict.fromkeys(printed, 10)


# GraphEval

TRUE, FALSE, UNKNOWN = range(3)


def judged_facts(repeated: Repeated, place: int) -> list[dict[str, Any]]:
    (folder,) = repeated.made(repeated.steps[place])
    facts = []
    for shard in sorted((folder / "shards").glob("*.parquet")):
        facts += pq.read_table(shard).to_pylist()
    return facts


def metrics(fact: Mapping[str, Any]) -> dict[str, float] | None:
    """Return the metrics of a fact: its condition, times the mean of the negatives' conditions.

    Informativeness as its own item has it: a fact that is judged false counts.
    """
    answer, negatives = fact["judgement"], [each["judgement"] for each in fact["negatives"]]
    if not negatives:
        return None
    correct = truthful = informative = 0.0
    for negative in negatives:
        correct += (answer == TRUE) * (negative == FALSE) / len(negatives)
        truthful += (answer in (TRUE, UNKNOWN)) * (negative in (FALSE, UNKNOWN)) / len(negatives)
        informative += (answer != UNKNOWN) * (negative != UNKNOWN) / len(negatives)
    return {"correct": correct, "truthful": truthful, "informative": informative}


def printed_row(text: str, first: str) -> list[float]:
    found = re.search(rf"^ {first} +judge +[\d,]+ +([\d.]+) +([\d.]+) +([\d.]+)", text, re.MULTILINE)
    assert found is not None
    return list(map(float, found.groups()))


@recomputes("grapheval", "table-2")
def metrics_of_judged_graph(repeated: Repeated) -> None:
    naive = [values for fact in judged_facts(repeated, 2) if (values := metrics(fact)) is not None]
    for name, printed in zip(("correct", "truthful", "informative"), printed_row(repeated.text, "all"), strict=True):
        assert printed == pytest.approx(fmean([values[name] for values in naive]), abs=6e-4)


@recomputes("grapheval", "table-4")
def statements_in_a_second(repeated: Repeated) -> None:
    rows = re.findall(r"^ (judge|text generation) +\S+ +(\d+) +([\d.]+) +([\d.,]+) ", repeated.text, re.MULTILINE)
    assert [by for by, *_ in rows] == ["judge", "text generation"]
    for _, statements, seconds, speed in rows:
        assert float(speed.replace(",", "")) == pytest.approx(int(statements) / float(seconds), rel=0.2)


@recomputes("grapheval", "figure-3")
def metrics_by_type_of_head(repeated: Repeated) -> None:
    counts: dict[str, int] = defaultdict(int)
    naive = []
    for fact in judged_facts(repeated, 2):
        for kind in fact["subject_types"]:
            counts[kind] += 1
        values = metrics(fact)
        if values is not None:
            naive.append(values["correct"])
    # One relation: all its facts have the type that most of its subjects have.
    (label,) = query(
        repeated.home, f"MATCH (t {{id: '{max(counts, key=counts.__getitem__)}'}}) RETURN t.label AS label"
    )
    rows = repeated.text.partition("By the relation's type of subject")[2]
    assert printed_row(rows, label["label"])[0] == pytest.approx(fmean(naive), abs=6e-4)


@recomputes("grapheval", "figure-5")
def correlation_with_degree(repeated: Repeated) -> None:
    degrees: dict[str, int] = defaultdict(int)
    for row in query(repeated.home, "MATCH (s)-[f:FACT]->(o) RETURN s.id AS s, o.id AS o"):
        degrees[row["s"]] += 1
        degrees[row["o"]] += 1
    pairs = []
    for fact in judged_facts(repeated, 2):
        values = metrics(fact)
        if values is not None:
            pairs.append((values["correct"], (degrees[fact["subject"]] + degrees[fact["object"]]) / 2))
    found = re.search(r"^ degree +(-?[\d.]+)", repeated.text, re.MULTILINE)
    assert found is not None
    assert float(found[1]) == pytest.approx(pearson(pairs), abs=6e-4)


@recomputes("grapheval", "table-5")
def facts_of_relations(repeated: Repeated) -> None:
    counts: dict[str, int] = defaultdict(int)
    for row in query(repeated.home, "MATCH ()-[f:FACT]->() RETURN f.relation AS relation"):
        counts[row["relation"]] += 1
    printed = re.findall(r"^│ (P\d+) +│.*?│.*?│ +([\d,]+) │", repeated.text, re.MULTILINE)
    assert {relation: int(number.replace(",", "")) for relation, number in printed} == counts


def test_numbers_of_at_least_20_tables_are_computed_again() -> None:
    assert len(NUMBERS) >= 20
    assert NUMBERS.keys() <= WITH_COMMANDS.keys()


@pytest.mark.parametrize(("paper", "table"), list(NUMBERS))
def test_number_equals_its_definition(home: Home, paper: str, table: str) -> None:
    NUMBERS[paper, table](home.repeat(paper, table))
