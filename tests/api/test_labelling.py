"""Knowledge labels: equal to a recomputation from the stored answers, and refused where they would mislead."""

import csv
import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.special import logit
from scipy.stats import binom

import kgprobe
from kgprobe.answers.callbacks import Callbacks
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.graph.endpoint import Endpoint
from kgprobe.graph.ingest import load
from kgprobe.graph.state import graph_state
from kgprobe.labelling.judged import JudgedFacts
from kgprobe.labelling.table import write_label_table
from kgprobe.models.model import Model
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.sampling.columns.graph_columns import AskableFacts, open_columns
from kgprobe.sampling.keys import FactKey
from tests.api.judged_world import judge_world, small_shards, world, write_judge, write_model
from tests.api.labelled_world import AS_OF, well_read
from tests.labelling.test_table import CHAD, CONFIG, FRANCE
from tests.models.tiny import byte_level, random_model
from tests.sampling.real_facts import wikidata
from tests.written_source import WrittenSource

FEW = {"ways": "distractors", "limit": 8, "as_of": AS_OF}


class Asked:
    """The stored answers of one way to each fact: right and all, and chances; read from the lines themselves."""

    def __init__(self, folders: list[Path]) -> None:
        self.answers: defaultdict[str, list[bool]] = defaultdict(list)
        self.chances: defaultdict[str, list[float]] = defaultdict(list)
        for folder in folders:
            for line in (folder / "outcomes.jsonl").read_text(encoding="utf-8").splitlines():
                outcome = json.loads(line)
                if outcome["verdict"] not in ("unasked", "unaskable", "unanswered"):
                    self.answers[outcome["fact"]].append(outcome["verdict"] == "right")
                    self.chances[outcome["fact"]].append(self._chance(outcome["evidence"]))

    @staticmethod
    def _chance(evidence: dict[str, Any]) -> float:
        return float(evidence.get("chance") or 0.0)

    def most(self, fact: str) -> bool | None:
        """True if most of at least three answers are right; None for fewer answers."""
        answers = self.answers[fact]
        return None if len(answers) < 3 else 2 * sum(answers) > len(answers)

    def is_recognised(self, fact: str) -> bool | None:
        answers, chances = self.answers[fact], self.chances[fact]
        if len(answers) < 3:
            return None
        mean = sum(chances) / len(chances)
        luck = sum(binom.pmf(k, len(answers), mean) for k in range(sum(answers), len(answers) + 1))
        return bool(self.most(fact)) and luck < 0.05


def profile_by_definition(asked: dict[str, Asked], fact: str) -> str | None:
    recalled = asked["questions"].most(fact)
    if recalled is None:
        return None
    if recalled:
        return "recalled"
    if asked["thinking"].most(fact):
        return "recalled by thinking only"
    recognised = asked["distractors"].is_recognised(fact)
    return None if recognised is None else "encoded, not recalled" if recognised else "not encoded"


@pytest.mark.parametrize("count", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_labels_of_real_facts_equal_their_definition(
    add_graph: Callable[[], Endpoint], shared_data: Path, home: Path, count: int
) -> None:
    entities, facts, relations = wikidata(shared_data)
    ways = "distractors,questions,thinking"
    with Graph(add_graph()) as graph:
        load(graph, WrittenSource(entities, facts, relations))
        labels = kgprobe.label_facts(graph, well_read(entities, facts), ways=ways, limit=count, as_of=AS_OF)
    folders = labels.table.config["measurements"]
    asked = {way: Asked([home / "probes" / name for name in names]) for way, names in folders.items()}
    names = {entity.id: entity.label for entity in entities} | {relation.id: relation.label for relation in relations}
    by_id = {fact.id: fact for fact in facts}
    profiles = set()
    for row in labels.table.rows():
        fact = by_id[row.fact]
        assert (row.subject, row.relation, row.object) == (fact.subject, fact.relation, fact.object)
        shown = (row.subject_name, row.relation_name, row.object_name)
        assert shown == (names[fact.subject], names[fact.relation], names[fact.object])
        counts = {way: (sum(own.answers[row.fact]), len(own.answers[row.fact])) for way, own in asked.items()}
        assert row.answers == {way: count for way, count in counts.items() if count[1]}
        # The basis is that of the way whose answers the probability is of.
        assert row.basis == ("asked" if counts["distractors"][1] else "predicted")
        assert row.profile == profile_by_definition(asked, row.fact)
        assert 0 <= row.known_low <= row.known <= row.known_high <= 1
        right, answers = counts["distractors"]
        if answers:
            assert ("unknown" not in row.belief) == (2 * right > answers)
        profiles.add(row.profile)
    assert len(labels.table) == count
    assert profiles >= {"recalled", "recalled by thinking only", "not encoded"}
    assert {row.label: row.facts for row in labels.classes if row.scheme == "profile"} == {
        label: sum(row.profile == label for row in labels.table.rows())
        for label in ("recalled", "recalled by thinking only", "encoded, not recalled", "not encoded")
    }


def test_fill_adds_all_facts_with_predictions(example_graph: Graph, tmp_path: Path) -> None:
    labels = kgprobe.label_facts(example_graph, well_read(), ways="distractors", limit=60, fill=True, as_of=AS_OF)
    rows = {row.fact: row for row in labels.table.rows()}
    relations = kgprobe.open(labels.table.config["measurements"]["distractors"][0]).config["relations"]
    askable = AskableFacts(open_columns(example_graph), relations, 20241231)
    assert set(rows) == {askable[place].fact for place in range(len(askable))}
    assert (labels.asked_facts, labels.predicted_facts) == (60, len(rows) - 60)
    for row in rows.values():
        assert (row.basis == "asked") == bool(row.answers)
        assert row.answers or row.belief.startswith("leans")
        assert row.slick is None
    assert labels.statistics.calibration is not None
    frame = labels.table.to_frame()
    assert labels.predicted_known == pytest.approx(frame.loc[frame["basis"] == "predicted", "known"].mean())
    assert sum(relation.facts for relation in labels.relations) == 60
    assert sum(relation.predicted for relation in labels.relations) == labels.predicted_facts
    labels.write_csv(tmp_path / "labels.csv")
    with open(tmp_path / "labels.csv", encoding="utf-8", newline="") as file:
        written = {line["fact"]: line for line in csv.DictReader(file)}
    assert set(written) == set(rows)
    for fact, row in rows.items():
        counts = tuple(map(str, row.answers.get("distractors", ("", ""))))
        assert (written[fact]["distractors_right"], written[fact]["distractors_answers"]) == counts
    page = labels.page().read_text(encoding="utf-8")
    assert f"<h1>Labels of {len(rows):,} facts by " in page
    assert all(f"{table.title}</h2>" in page for table in labels.tables())
    assert kgprobe.list_results(kinds=["label table"]).results[0].page == labels.folder / "labels.html"


@pytest.mark.slow
def test_fact_without_answers_by_probability_is_predicted(example_graph: Graph) -> None:
    # Questions with ten or more right answers are not asked, and distractors ask about such facts.
    labels = kgprobe.label_facts(
        example_graph, well_read(), ways="distractors,questions", by="questions", limit=40, as_of=AS_OF
    )
    rows = list(labels.table.rows())
    only_distractors = [row for row in rows if "questions" not in row.answers]
    assert only_distractors
    assert {row.basis for row in only_distractors} == {"predicted"}
    assert all(row.answers and row.belief.startswith("leans") for row in only_distractors)
    assert labels.asked_facts == len(rows) - len(only_distractors)
    beliefs = [row for row in labels.classes if row.scheme == "belief"]
    assert sum(row.facts for row in beliefs) == labels.asked_facts


def test_same_call_makes_the_same_table(example_graph: Graph) -> None:
    stop = Callbacks(should_stop=lambda: True)
    with pytest.raises(KgprobeError, match=r"Stopped after 5 of 12 facts of distractors 1 of 3"):
        kgprobe.label_facts(example_graph, well_read(), ways="distractors", limit=12, batch_size=5, callbacks=stop)
    first = kgprobe.label_facts(example_graph, well_read(), ways="distractors", limit=12)
    starts: list[int] = []
    callbacks = Callbacks(on_start=lambda start: starts.append(start.done))
    again = kgprobe.label_facts(example_graph, well_read(), ways="distractors", limit=12, callbacks=callbacks)
    assert starts == [12, 12, 12]
    assert (again.folder, list(again.table.rows())) == (first.folder, list(first.table.rows()))


@pytest.mark.slow
def test_table_continues_on_a_later_day(example_graph: Graph) -> None:
    how: dict[str, Any] = {"ways": "distractors,inverse", "relations": ["capital"], "limit": 4, "repeats": 1}
    first = kgprobe.label_facts(example_graph, well_read(), as_of=20240102, **how)
    starts: list[int] = []
    callbacks = Callbacks(on_start=lambda start: starts.append(start.done))
    again = kgprobe.label_facts(example_graph, well_read(), as_of=20240103, callbacks=callbacks, **how)
    assert (again.folder, starts) == (first.folder, [4, 4])
    assert list(again.table.rows()) == list(first.table.rows())
    assert [note for note in again.notes if "2024-01-02 and 2024-01-03" in note]
    assert kgprobe.label_facts(example_graph, well_read(), as_of=20240102, **how).notes == first.notes


@pytest.mark.slow
def test_inverse_asks_the_same_facts_backwards(example_graph: Graph) -> None:
    labels = kgprobe.label_facts(
        example_graph, well_read(), ways="distractors,inverse", limit=6, relations=["capital"], as_of=AS_OF
    )
    forwards, backwards = labels.statistics.ways
    assert (forwards.facts, backwards.facts) == (6, 6)
    stored = kgprobe.open(labels.table.config["measurements"]["inverse"][0])
    rows = {row.fact: row for row in labels.table.rows()}
    assert stored.reversed
    assert {outcome.fact for outcome in stored.outcomes} == {FactKey(row.object, row.fact) for row in rows.values()}


def test_listed_facts_are_labelled_and_unknown_ones_named(example_graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "facts.tsv"
    path.write_text("Q142\tP36\tQ90\nQ142\tP36\tQ99999999\nAtlantis | capital | Paris\n", encoding="utf-8")
    labels = kgprobe.label_facts(example_graph, well_read(), ways="distractors", facts=path, as_of=AS_OF, fill=True)
    assert labels.asked_facts == 1
    notes = "\n".join(labels.notes)
    assert "line 2: the graph has no fact Q142 P36 Q99999999" in notes
    assert "Atlantis" in notes
    assert "2 lines of the list could not be used" in notes
    assert "unless it is a random sample" in notes
    path.write_text("Q142\tP36\tQ99999999\n", encoding="utf-8")
    with pytest.raises(KgprobeError, match=r"names no fact of this graph.*Q99999999"):
        kgprobe.label_facts(example_graph, well_read(), ways="distractors", facts=path, as_of=AS_OF)


def test_name_of_other_settings_is_refused_before_asking(example_graph: Graph, home: Path) -> None:
    made = kgprobe.label_facts(example_graph, well_read(), name="mine", **FEW)
    assert made.folder == home / "labels" / "mine"
    assert (made.folder / "README.md").exists()
    before = set((home / "probes").iterdir())
    with pytest.raises(KgprobeError, match=r"made with other settings \(.*seed was 0, is 1.*Choose another `name`"):
        kgprobe.label_facts(example_graph, well_read(), name="mine", seed=1, **FEW)
    assert set((home / "probes").iterdir()) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ways": "distractors,guesses"}, "`ways` has 'guesses'; one or more of distractors"),
        ({"ways": "distractors", "by": "questions"}, "`by` is 'questions', which is not asked; expected one of dist"),
        ({"ways": "distractors", "repeats": 0}, "`repeats` is 0"),
        ({"ways": "distractors", "colour": "red"}, "`colour`"),
    ],
)
def test_wrong_options_are_refused(example_graph: Graph, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        kgprobe.label_facts(example_graph, well_read(), limit=4, **options)


def test_way_that_the_model_lacks_is_refused_with_others(example_graph: Graph, home: Path) -> None:
    tokenizer = byte_level(bos=True)
    model = Model("tiny", scorer=Scorer(random_model("gpt2", len(tokenizer)), tokenizer, name="tiny"))
    with pytest.raises(ArgumentError, match=r"has thinking, which tiny does not support.*Ways for it: distractors, ex"):
        kgprobe.label_facts(example_graph, model, ways="distractors,thinking", limit=4)
    assert not (home / "probes").exists()


def test_model_without_scores_is_asked_by_questions(example_graph: Graph) -> None:
    silent = Model("tiny", generator=well_read()._generator)
    labels = kgprobe.label_facts(example_graph, silent, limit=4, as_of=AS_OF)
    assert labels.table.ways == ("questions",)
    with pytest.raises(ArgumentError, match="has distractors, which tiny does not support"):
        kgprobe.label_facts(example_graph, silent, ways="distractors", limit=4)


@pytest.mark.slow
def test_tables_are_compared_on_equal_facts(example_graph: Graph) -> None:
    one = kgprobe.label_facts(example_graph, well_read(), name="one", **FEW)
    other = kgprobe.label_facts(example_graph, well_read(), name="other", **FEW | {"limit": 12, "seed": 0})
    compared = kgprobe.compare([one, "other"], scheme="belief")
    before, after = ({row.fact: row.belief for row in labels.table.rows()} for labels in (one, other))
    assert (len(before), len(after), compared.facts) == (8, 12, 8)
    assert {moved.fact for moved in compared.moved} == {fact for fact in before if before[fact] != after[fact]}


def moved_tables(folder: Path) -> tuple[Any, Any]:
    asked = replace(CHAD, basis="asked", belief="surely unknown", profile="not encoded")
    taught = replace(asked, profile="recalled", known=0.8)
    alone = replace(asked, fact="f9")
    one = write_label_table(folder / "one", CONFIG, [FRANCE, asked, alone, replace(CHAD, fact="f7")])
    other = write_label_table(
        folder / "other", {**CONFIG, "ways": ["distractors", "recall"]}, [taught, FRANCE, replace(CHAD, fact="f7")]
    )
    return one, other


def test_transitions_count_asked_facts_of_both(tmp_path: Path) -> None:
    compared = kgprobe.compare(moved_tables(tmp_path), scheme="profile")
    rows = {(row.before, row.after): (row.facts, row.share.value) for row in compared.transitions}
    assert rows == {("recalled", "recalled"): (1, 1.0), ("not encoded", "recalled"): (1, 1.0)}
    (moved,) = compared.moved
    assert (moved.fact, moved.subject_name, moved.known_before, moved.known_after) == ("f2", "Chad", 0.1, 0.8)
    assert compared.notes == ("They differ: ways is distractors, questions in one, distractors, recall in other.",)
    assert "1 of 2 facts moved" in compared.summary()
    alone = write_label_table(tmp_path / "alone", CONFIG, [replace(FRANCE, fact="f8")])
    with pytest.raises(
        KgprobeError, match="have no asked fact with a class of SliCK in both: 1 facts in one, 1 in alone"
    ):
        kgprobe.compare([tmp_path / "one", alone], scheme="slick")


def test_scheme_and_graph_are_checked(tmp_path: Path) -> None:
    one, other = moved_tables(tmp_path)
    with pytest.raises(ArgumentError, match="`scheme` is 'colour'; expected one of slick, profile, belief"):
        kgprobe.compare([one, other], scheme="colour")
    config = {**one.config, "graph": '{"uid": "a"}'}
    first = write_label_table(tmp_path / "a", config, one.rows())
    second = write_label_table(tmp_path / "b", {**config, "graph": '{"uid": "b"}'}, one.rows())
    with pytest.raises(ArgumentError, match="the graph is another one"):
        kgprobe.compare([first, second])


@pytest.fixture
def judged(graph: Graph, tmp_path: Path, home: Path) -> tuple[str, Path]:
    """The spec of a model, and the folder of a graph that a judge of its answers has judged."""
    load(graph, world())
    spec = write_model(tmp_path / "model")
    with small_shards():
        folder, _ = judge_world(graph, write_judge(graph, spec, tmp_path / "judge"))
    assert folder.parent == home / "judged"
    return spec, folder


def test_judged_graph_fills_the_table_in_its_order(graph: Graph, judged: tuple[str, Path]) -> None:
    spec, folder = judged
    labels = kgprobe.label_facts(graph, spec, ways="distractors", limit=30, judge=folder.name, as_of=20200101)
    shards = pa.concat_tables([pq.read_table(path) for path in sorted((folder / "shards").glob("*.parquet"))])
    rows = {row["fact"]: row for row in shards.to_pylist()}
    asked = {row.fact for row in labels.table.rows() if row.basis == "asked"}
    assert {row.fact for row in labels.table.rows()} == set(rows) | asked
    assert labels.table.config["filled"] == "judge"
    facts = AskableFacts(open_columns(graph), (), 20200101, sorted(rows))
    predictor = JudgedFacts.open(folder, graph_state(graph)).predictor(facts)
    triples = [rows[key.fact]["probabilities"] for key in facts.keys(np.arange(len(facts)))]
    log_odds = np.array(
        [np.nan if triple is None else -logit(np.clip(triple[0], 1e-6, 1 - 1e-6)) for triple in triples]
    )
    expected = (log_odds - np.nanmean(log_odds)) / np.nanstd(log_odds)
    assert np.isnan(log_odds).any()
    assert predictor == pytest.approx(np.nan_to_num(expected), abs=1e-4)


def test_judge_of_another_model_or_graph_is_refused(graph: Graph, judged: tuple[str, Path]) -> None:
    spec, folder = judged
    with pytest.raises(ArgumentError, match=f"`judge` predicts the answers of {spec}, not those of tiny"):
        kgprobe.label_facts(graph, well_read(), ways="distractors", limit=4, judge=folder.name)
    (folder / "shards" / "00001.parquet").unlink()
    with pytest.raises(ArgumentError, match="lacks 1 of"):
        kgprobe.label_facts(graph, spec, ways="distractors", limit=4, judge=folder.name)
    with pytest.raises(ArgumentError, match="does not fit this graph: the graph is another one"):
        JudgedFacts.open(judged[1], "another")
    with pytest.raises(KgprobeError, match="No judged graph is named"):
        kgprobe.label_facts(graph, spec, ways="distractors", limit=4, judge="nowhere")
