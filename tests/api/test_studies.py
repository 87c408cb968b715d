"""Studies as calls of the library, on the example graph: what is asked, kept and told."""

import csv
import io
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import kgprobe
from kgprobe.answers.callbacks import NO_CALLBACKS, Callbacks, Start
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model
from kgprobe.papers.baselines.human_data import find_scored, read_human_scores
from kgprobe.papers.baselines.items import baseline_items, continue_sentences
from kgprobe.papers.baselines.karr import measure_authors, measure_sentences
from kgprobe.papers.baselines.measures import open_measures
from kgprobe.papers.baselines.options import MeasuresOptions
from kgprobe.papers.baselines.precision import best_rank
from kgprobe.papers.baselines.register import BySentence, Tools
from kgprobe.papers.studies.study import Study
from kgprobe.probes.clozes import ClozeItem, ClozeItems
from tests.models.api.fault_proxy import FaultProxy
from tests.models.tiny import byte_level, random_model
from tests.results.rendering.page_numbers import assert_study_agrees

FEW = {"relations": ["P36"], "limit": 6, "distractors": 3, "as_of": 20251231}
AS_OF = {"as_of": 20251231}
TABLE = """\
,triples_raw,triples,popularity,context,verbalization,errors,correction
0,"('Q17', 'P36', 'Q1490')","(Japan, capital, Tokyo, start=None, end=None)",1,present,capital of Japan is Tokyo,sub_deter,The capital of Japan is Tokyo
1,"('Q142', 'P36', 'Q90')","(France, capital, Paris, start=None, end=None)",1,present,France has capital Paris,obj_deter,France has its capital in Paris
2,"('Q183', 'P36', 'Q64')","(Germany, capital, Berlin, start=None, end=None)",1,present,Germany is rule from Berlin,wrong_conjug,Germany is ruled from Berlin
3,"('Q38', 'P36', 'Q220')","(Italy, capital, Rome, start=None, end=None)",1,present,The capital of Italy is Rome,-,
4,"('Q38', 'P36', 'Q90')","(Italy, capital, Paris, start=None, end=None)",1,present,capital of Italy is Paris,-,The capital of Italy is Paris
"""  # noqa: E501
CAPITALS = [("Q17", "Q1490"), ("Q142", "Q90"), ("Q183", "Q64"), ("Q38", "Q220"), ("Q29", "Q2807"), ("Q96", "Q1489")]
SCORES = [
    {"subject": subject, "relation": "P36", "object": object_, "human_score": number / 10}
    for number, (subject, object_) in enumerate(CAPITALS)
]
Measure = Callable[[Tools, Sequence[ClozeItem]], BySentence]
SMALL = {"strategies": ["random"], "distractors": 5, "beams": [2]}


def listening(starts: list[Start], *answers: bool) -> Callbacks:
    """Return a watch that keeps what begins, and asks to stop as the answers say."""
    following = iter(answers)
    return Callbacks(on_start=starts.append, should_stop=lambda: next(following, False))


def test_strategies_are_compared_and_kept(example_graph: Graph, tiny: Model, home: Path) -> None:
    starts: list[Start] = []
    names = ["random", "temporal-semantic", "random"]

    def studied() -> Study:
        return kgprobe.study_strategies(example_graph, tiny, strategies=names, callbacks=listening(starts), **FEW)

    result = studied()
    assert [(start.title, start.done, start.total) for start in starts] == [
        ("random", 0, 6),
        ("temporal-semantic", 0, 6),
    ]
    frame = result.to_frame()
    assert frame[["strategy", "n"]].values.tolist() == [[name, n] for name in names[:2] for n in (1, 2, 3)]
    assert result.data_file.read_text().startswith("strategy,n,mean,mean_low,mean_high,former\nrandom,1,")
    assert result.folder.parent == home / "studies"
    assert result.folder.name.startswith("strategies-")
    page = result.page()
    assert (page.parent, page.read_text().count('<script src="../plotly-')) == (result.folder, 1)
    assert len(list((home / "studies").glob("plotly-*"))) == 1
    assert (result.title, result.summary()) == ("Mean Min@n by strategy · tiny · 6 facts", result.verdict)
    assert [set(row) for row in result.tables()[0].rows] == [{"n", "random", "temporal-semantic"}] * 3
    # Nothing is asked again, and the same study has the same folder.
    again = studied()
    assert [start.done for start in starts[2:]] == [6, 6]
    assert (again.folder, again) == (result.folder, result)
    measured = kgprobe.measure(example_graph, tiny, strategy="random", **FEW)
    assert str(measured.folder) in result.config["measurements"].values()


def test_without_names_all_strategies_are_compared(example_graph: Graph, tiny: Model) -> None:
    result = kgprobe.study_strategies(example_graph, tiny, **FEW | {"limit": 2, "distractors": 2})
    assert set(result.to_frame()["strategy"]) == {
        *("random", "semantic", "temporal-semantic"),
        *("approximate-optimal", "exact-optimal"),
    }


def test_list_is_read_once_and_what_is_missing_is_told(example_graph: Graph, tiny: Model) -> None:
    lines = [json.dumps({"subject": s, "relation": "P36", "object": o}) for s, o in [*CAPITALS[:3], ("Q17", "Q90")]]
    listed = io.StringIO("\n".join(lines))
    result = kgprobe.study_strategies(
        example_graph, tiny, strategies=["random", "semantic"], facts=listed, distractors=3, **AS_OF
    )
    assert "3 facts were asked with every strategy" in result.notes[0]
    assert [message.partition(": ")[2] for message in result.missing] == ["the graph has no fact Q17 P36 Q90."]
    one = kgprobe.study_distractor_count(
        example_graph, tiny, facts=io.StringIO("\n".join(lines)), distractors=3, **AS_OF
    )
    assert len(one.missing) == 1


def test_numbers_of_distractors_and_of_sentences(example_graph: Graph, tiny: Model) -> None:
    distractors = kgprobe.study_distractor_count(example_graph, tiny, **FEW)
    assert distractors.to_frame()["n"].tolist() == [1, 2, 3]
    sentences = kgprobe.study_sentences(example_graph, tiny, **FEW)
    assert sentences.to_frame()["sentences"].tolist()[0] == 1
    assert "Min@3 and Avg@3" in sentences.title
    # Both are of one measurement: with all sentences, 3 distractors.
    assert distractors.config == sentences.config


def test_study_that_was_stopped_goes_on(example_graph: Graph, tiny: Model) -> None:
    many = FEW | {"limit": 20, "sentences": 1}
    with pytest.raises(kgprobe.KgprobeError, match="Stopped after 16 of 20 facts; repeat the call to resume"):
        kgprobe.study_distractor_count(example_graph, tiny, callbacks=listening([], True), **many)
    starts: list[Start] = []
    kgprobe.study_distractor_count(example_graph, tiny, callbacks=listening(starts), **many)
    assert [(start.done, start.total) for start in starts] == [(16, 20)]


def test_sizes_are_of_different_models_one_at_a_time(example_graph: Graph, tiny: Model) -> None:
    tokenizer = byte_level(bos=True)
    larger = kgprobe.wrap_model(random_model("gpt2", len(tokenizer), n_embd=64), tokenizer, name="larger")
    opened: list[str] = []

    def open_model(spec: str) -> Model:
        opened.append(spec)
        return larger

    result = kgprobe.study_scaling(example_graph, [tiny, "larger", "larger"], open_model=open_model, **FEW)
    assert opened == ["larger"]
    table = result.to_frame()
    assert table["model"].tolist() == ["tiny", "larger"]
    assert table["parameters"].tolist() == [
        sum(weight.numel() for weight in one.scorer().model.parameters()) for one in (tiny, larger)
    ]
    with pytest.raises(kgprobe.ArgumentError, match="`models` has 1; expected at least two"):
        kgprobe.study_scaling(example_graph, [tiny, tiny], **FEW)


def test_robustness_is_told_of_every_measure(example_graph: Graph, tiny: Model, tmp_path: Path) -> None:
    table = tmp_path / "errors.csv"
    table.write_text(TABLE)
    starts: list[Start] = []
    result = kgprobe.study_robustness(
        example_graph, tiny, table, grader="tiny", callbacks=listening(starts), **AS_OF, **SMALL
    )
    rows = {row.measure: row for row in result.table}
    assert rows.keys() == {
        "distractors:random",
        "probability",
        "precision@n",
        "rouge-l",
        "grader",
        "karr",
    }
    assert {start.title for start in starts} == rows.keys()
    assert all(row.pairs + row.left_out == 3 for row in rows.values())
    # Each sentence has its subject in it, so another can take its place.
    assert rows["karr"].pairs == 3
    notes = "\n".join(result.notes)
    # Italy's first sentence has no errors: it is its own correction.
    assert {row.sentences - row.pairs for row in rows.values() if row.pairs == 3} == {1}
    assert rows["probability"].tau_of_all >= rows["probability"].tau.value
    assert "1: the graph has no such fact" in notes
    table.write_text(TABLE.replace("1,present,capital of Japan", "1,past,capital of Japan"))
    few = {"measures": ["probability"], **AS_OF}
    for context, count, left_out in (("present", 2, 1), ("past", 1, 4)):
        of_context = kgprobe.study_robustness(example_graph, tiny, table, context=context, **few)
        assert [row.pairs + row.left_out for row in of_context.table] == [count]
        assert f"{left_out}: its context is not {context}" in "\n".join(of_context.notes)
    with pytest.raises(kgprobe.ArgumentError, match="`context` is 'future'"):
        kgprobe.study_robustness(example_graph, tiny, table, context="future", **few)
    table.write_text("\n".join(TABLE.splitlines()[::5]))
    with pytest.raises(kgprobe.KgprobeError, match="None of the 1 pairs"):
        kgprobe.study_robustness(example_graph, tiny, table, **AS_OF, **SMALL)
    table.write_text("\n".join(TABLE.splitlines()[::4]))
    with pytest.raises(kgprobe.KgprobeError, match=r"None of the 1 sentences of .* has a correction"):
        kgprobe.study_robustness(example_graph, tiny, table, **AS_OF, **SMALL)


def test_robustness_uses_best_configurations_of_calibration(example_graph: Graph, tiny: Model, tmp_path: Path) -> None:
    table = tmp_path / "errors.csv"
    table.write_text(TABLE)
    with pytest.raises(kgprobe.ArgumentError, match="`calibration` is missing: run `kgprobe study calibration"):
        kgprobe.study_robustness(example_graph, tiny, table, calibration="latest")
    few = {"measures": ["distractors:random", "rouge-l"], "distractors": 10, "beams": [1, 3], **AS_OF}
    calibrated = kgprobe.study_calibration(example_graph, tiny, SCORES, **few)
    stored = json.loads((calibrated.folder / "study.json").read_text())
    best = stored["configurations"]
    assert [(row["measure"], row["fold"]) for row in best] == [
        (name, fold) for name in dict.fromkeys(row["measure"] for row in best) for fold in (1, 2, 3)
    ]
    given = {"calibration": calibrated.folder, **few}
    result = kgprobe.study_robustness(example_graph, tiny, table, **given)
    rows = {row.measure: row for row in result.table}
    assert rows.keys() == set(few["measures"])
    assert result.config["calibration"] == str(calibrated.folder)
    by_options = {(row.measure, row.options): row.tau for row in result.data}
    for name, row in rows.items():
        taus = []
        for own in (each for each in best if each["measure"] == name):
            options = [f"{key} = {own[key]}" for key in ("aggregation", "n", "beams") if own[key] is not None]
            taus.append(by_options[name, ", ".join(options)])
        known = [tau.value for tau in taus if tau is not None]
        assert (row.tau and row.tau.value) == (pytest.approx(np.mean(known)) if known else None)
    # Without options, those of the calibration; wrong ones are refused before anything is measured.
    alone = {"calibration": "latest", "measures": few["measures"], **AS_OF}
    # The latest one of all is of another model, the one before of another graph.
    for place, (setting, value) in enumerate((("graph", '{"uid": "other"}'), ("scorer", {"name": "other"})), start=1):
        (other := calibrated.folder.parent / f"calibration-{place}").mkdir()
        config = {**stored["config"], setting: value}
        (other / "study.json").write_text(json.dumps({**stored, "config": config}))
        later = (calibrated.folder / "study.json").stat().st_mtime + place
        os.utime(other / "study.json", (later, later))
    again = kgprobe.study_robustness(example_graph, tiny, table, **alone)
    assert (again.table, again.config["calibration"]) == (result.table, str(calibrated.folder))
    with pytest.raises(kgprobe.ArgumentError, match="`calibration` is of the model other; expected one of tiny"):
        kgprobe.study_robustness(example_graph, tiny, table, **alone | {"calibration": other})
    used = {row["beams"] for row in best if row["measure"] == "rouge-l"}
    assert (again.config["beams"], again.config["counts"][-1]) == (tuple(sorted(used)), 10)
    starts: list[Start] = []
    for wrong, said in (
        ({"beams": [7]}, r"`beams` is \(7,\), but the calibration needs"),
        ({"distractors": 20}, "`distractors` is 20, but the calibration needs 10"),
        ({"articles": False}, "`articles` is False, but the calibration needs True"),
        ({"karr": "authors"}, "`karr` is authors, but the calibration needs sentences: leave it out"),
        (
            {"measures": ["rouge-l", "probability", "grader"], "grader": "tiny"},
            r"does not have probability, grader: calibrate with them, or choose others \(`measures`\): rouge-l",
        ),
    ):
        with pytest.raises(kgprobe.ArgumentError, match=said):
            kgprobe.study_robustness(example_graph, tiny, table, callbacks=listening(starts), **alone | wrong)
    assert starts == []
    with pytest.raises(kgprobe.ArgumentError, match="`calibration` cannot be read"):
        kgprobe.study_robustness(example_graph, tiny, table, **given | {"calibration": tmp_path / "nothing"})
    del stored["config"]["karr"]
    (tmp_path / "old.json").write_text(json.dumps(stored))
    with pytest.raises(kgprobe.ArgumentError, match=r"older version.* make it again by `kgprobe study calibration"):
        kgprobe.study_robustness(example_graph, tiny, table, **given | {"calibration": tmp_path / "old.json"})
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(kgprobe.ArgumentError, match="`calibration` is not a calibration study"):
        kgprobe.study_robustness(example_graph, tiny, table, **given | {"calibration": tmp_path / "other.json"})


def test_grader_behind_an_api_judges_continuations(example_graph: Graph, tiny: Model) -> None:
    def judge(prompt: str) -> str:
        """Accept completions with an even number of letters."""
        completion = prompt.splitlines()[-2].removeprefix("Completion: ")
        return "Correct." if len(completion) % 2 == 0 else "**Incorrect**: correct is another."

    with FaultProxy(upstream=judge) as server:
        spec = f"openai:judge@{server.url}"
        options = MeasuresOptions(measures=("grader", "rouge-l"), beams=(1, 3), grader_beams=(1,), grader=spec)
        with kgprobe.Models() as models:
            measures = open_measures(example_graph, tiny, options, 0, 20251231, models, NO_CALLBACKS)
            keys = find_scored(example_graph, read_human_scores(SCORES)).keys
            items = ClozeItems(example_graph, 20251231).of(keys, [0])
            measured = measures.measure(items)
            scores = measured["grader"]
            requests = models.spending.usage[spec].requests
    expected = []
    for item in items:
        continued = continue_sentences(tiny.local_scorer(), baseline_items([item]), 1)
        verdicts = [bool(line) and len(line) % 2 == 0 for (line,) in continued.lines]
        expected.append(np.mean(verdicts))
    assert scores.values[:, 0].tolist() == pytest.approx(expected)
    assert scores.by_sentences[-1].tolist() == scores.values.tolist()
    assert 0 < np.mean(expected) < 1
    assert [list(measured[name].configurations) for name in ("grader", "rouge-l")] == [
        [{"beams": 1}],
        [{"beams": 1}, {"beams": 3}],
    ]
    assert requests > 0


def test_precision_of_names_of_several_tokens_can_be_zero(example_graph: Graph, tiny: Model) -> None:
    options = MeasuresOptions(measures=("precision@n",), distractors=1_000, several_tokens="zero")
    with kgprobe.Models() as models:
        measures = open_measures(example_graph, tiny, options, 0, 20251231, models, NO_CALLBACKS)
        keys = find_scored(example_graph, read_human_scores(SCORES)).keys
        items = ClozeItems(example_graph, 20251231).of(keys, [0])
        scores = measures.measure(items)["precision@n"]
    for item, values in zip(items, scores.values.tolist(), strict=True):
        # NaN, without a name of one token, is not at most n.
        ranks = best_rank(tiny.local_scorer(), baseline_items([item])).values
        assert values == pytest.approx([np.mean(ranks <= options["n"]) for options in scores.configurations])
    assert scores.reasons == {}


@pytest.mark.parametrize(("form", "measure"), [("sentences", measure_sentences), ("authors", measure_authors)])
def test_karr_has_the_values_of_its_form(example_graph: Graph, tiny: Model, form: str, measure: Measure) -> None:
    options = MeasuresOptions(measures=("karr",), karr=form)
    with kgprobe.Models() as models:
        measures = open_measures(example_graph, tiny, options, 0, 20251231, models, NO_CALLBACKS)
        keys = find_scored(example_graph, read_human_scores(SCORES)).keys
        items = ClozeItems(example_graph, 20251231).of(keys[:2], [0])
        scores = measures.measure(items)["karr"]
        expected = measure(measures.tools, items[:1]).values[:, 0]
    assert measures.config["karr"] == form
    assert scores.values[0, 0] == pytest.approx(np.mean(expected))


def test_measures_of_facts_can_be_stopped(example_graph: Graph, tiny: Model) -> None:
    rows = example_graph.query(
        "MATCH (s:Entity)-[f:FACT]->(o:Entity) WHERE f.relation = $relation RETURN s.id AS subject, f.relation AS"
        " relation, o.id AS object, 0.5 AS human_score ORDER BY subject, object LIMIT 20",
        relation="P36",
    )
    callbacks = listening([], True)
    with pytest.raises(kgprobe.KgprobeError, match="Stopped after 16 of 20 facts of probability; nothing is stored"):
        kgprobe.study_calibration(
            example_graph, tiny, list(map(dict, rows)), measures=["probability"], callbacks=callbacks, **AS_OF
        )


def test_calibration_is_against_people(example_graph: Graph, tiny: Model, tmp_path: Path) -> None:
    result = kgprobe.study_calibration(example_graph, tiny, SCORES, **AS_OF, **SMALL)
    rows = {row.measure: row for row in result.table}
    # The small model's tokenizer has hardly a name that is one token.
    assert rows.keys() == {"distractors:random", "probability", "rouge-l", "karr"}
    assert "precision@n is left out" in " ".join(result.notes)
    assert rows["probability"].facts == 6
    best = [row for row in result.configurations if row["measure"] == "distractors:random"]
    assert [(row["fold"], row["aggregation"] in ("min", "avg"), 1 <= row["n"] <= 5) for row in best] == [
        (fold, True, True) for fold in (1, 2, 3)
    ]
    assert (result.folder / "configurations.csv").read_text().startswith("measure,fold,aggregation,n,beams,τ in")
    file = tmp_path / "scores.json"
    file.write_text(json.dumps(SCORES))
    again = kgprobe.study_calibration(example_graph, tiny, file, **AS_OF, **SMALL)
    assert again.table == result.table
    read = read_human_scores(file)
    for delimiter in ",\t;":
        rows = [list(SCORES[0]), *(map(str, score.values()) for score in SCORES)]
        file.write_text("\n".join(delimiter.join(row) for row in rows))
        assert read_human_scores(file) == read == read_human_scores(SCORES)


@pytest.mark.parametrize(("sentences", "asked"), [(2, 2), (3, 3), (5, 3), (None, 3)])
def test_calibration_notes_facts_with_fewer_sentences(
    example_graph: Graph, tiny: Model, sentences: int | None, asked: int
) -> None:
    result = kgprobe.study_calibration(
        example_graph, tiny, SCORES, sentences=sentences, measures=["probability"], **AS_OF
    )
    assert [row.m for row in result.sentences] == list(range(1, asked + 1))
    note = f"6 facts have fewer than {sentences} cloze sentences; they count with those they have."
    assert (note in result.notes) == (sentences == 5)
    with pytest.raises(kgprobe.ArgumentError, match="`sentences` is 0"):
        kgprobe.study_calibration(example_graph, tiny, SCORES, sentences=0)


def test_fact_with_several_scores_counts_once_with_their_mean(example_graph: Graph) -> None:
    doubled = read_human_scores([*SCORES, {**SCORES[0], "human_score": 1}, {**SCORES[0], "human_score": 0.5}])
    scored = find_scored(example_graph, doubled)
    assert (len(scored.keys), len(set(scored.keys)), scored.repeated) == (6, 6, 2)
    assert scored.scores.tolist() == pytest.approx([0.5, 0.1, 0.2, 0.3, 0.4, 0.5])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"measures": ["bertscore"]}, "`encoder` is missing: the baseline bertscore"),
        ({"measures": ["grader", "karr"]}, "`grader` is missing: the baseline grader"),
        ({"measures": ["bleu"]}, "expected one of distractors:approximate-optimal, .*rouge-l"),
        ({"strategies": ["hardest"]}, "`strategies` is 'hardest'"),
        ({"beams": []}, "`beams` is empty"),
        ({"judge": "tiny"}, "`judge` is not an option"),
    ],
)
def test_measures_that_cannot_be_had(example_graph: Graph, tiny: Model, options: dict[str, object], said: str) -> None:
    with pytest.raises(kgprobe.ArgumentError, match=said):
        kgprobe.study_calibration(example_graph, tiny, SCORES, **AS_OF, **options)


def test_scores_that_cannot_be_read(example_graph: Graph, tiny: Model, tmp_path: Path) -> None:
    def calibrated(scores: object) -> Study:
        return kgprobe.study_calibration(example_graph, tiny, scores)  # type: ignore[arg-type]

    file = tmp_path / "scores.json"
    for broken, said in (
        (json.dumps([{**SCORES[0], "human_score": 2}]), r"scores\.json: .*\$\[0\].human_score"),
        ("[", r"scores\.json is not valid JSON"),
        ("subject,relation\nQ1,P36", r"scores\.json: column object, human_score is missing; it needs subject, "),
        ("subject,relation,object,human_score\nQ1,P36,Q2,2", r"scores\.json, line 2: .*human_score"),
        ("subject,relation,object,human_score\nQ1,P36", r"scores\.json, line 2: .*object"),
    ):
        file.write_text(broken)
        with pytest.raises(kgprobe.KgprobeError, match=said):
            calibrated(file)
    with pytest.raises(kgprobe.KgprobeError, match=r"`scores`: .*relation.*\$\[0\]"):
        calibrated([{"subject": "Q1"}])
    with pytest.raises(kgprobe.ArgumentError, match="`scores` have no fact"):
        calibrated([{**SCORES[0], "object": "Q90"}])
    with pytest.raises(kgprobe.KgprobeError, match=r"nothing\.json cannot be read"):
        calibrated("nothing.json")


@pytest.mark.slow
def test_sampling_is_replayed_on_the_demo_models_answers() -> None:
    few = {"requests": 256, "repeats": 2, "hardest": 20}
    starts: list[Start] = []
    result = kgprobe.study_sampling(seed=3, callbacks=listening(starts), **few)
    assert "the example graph, demo · 2,554 facts · 2 repetitions" in result.title
    assert "drawn from its posterior given 8 or 9 answers" in result.notes[0]
    assert [(start.facts, start.total) for start in starts] == [(2_554, 18)]
    key = "Strategy, Requests"
    columns = ("MSE", "MSE, hardest", "MSE, all facts", "Hardest found")
    assert_study_agrees(result, *((key, column) for column in columns))
    assert kgprobe.study_sampling(seed=3, **few) == result
    other = kgprobe.study_sampling(seed=4, **few)
    assert (other.folder != result.folder, other.table != result.table) == (True, True)
    with pytest.raises(kgprobe.KgprobeError, match="Stopped after 1 of 18 replays; nothing is stored"):
        kgprobe.study_sampling(callbacks=listening([], True), **few)
    for wrong in ({"repeats": 1}, {"hard": 1.0}):
        with pytest.raises(kgprobe.ArgumentError, match=f"`{next(iter(wrong))}`"):
            kgprobe.study_sampling(**wrong)


@pytest.mark.slow
def test_sampling_is_replayed_on_what_a_run_found(example_graph: Graph, tiny: Model) -> None:
    run = kgprobe.run_rounds(
        example_graph,
        tiny,
        name="truth",
        relations=["P36"],
        rounds=4,
        facts_per_round=20,
        distractors=3,
        sampling="sequential",
        learner="independent",
        **AS_OF,
    )
    try:
        asked = len({outcome.fact for outcome in run.outcomes if outcome.verdict.counts})
        result = kgprobe.study_sampling(example_graph, "truth", facts_per_round=5, hardest=3, repeats=2)
        assert f"truth, tiny · {asked} facts" in result.title
        assert "θ is the share of a fact's own answers in run truth that were wrong" in result.notes[0]
    finally:
        kgprobe.delete("truth", example_graph)
    with pytest.raises(kgprobe.UnknownNameError, match="Unknown run 'truth'"):
        kgprobe.study_sampling(example_graph, "truth")
    with pytest.raises(kgprobe.ArgumentError, match="`graph` is missing"):
        kgprobe.study_sampling(run="truth")


def test_files_of_a_study_have_no_number_that_json_has_not(example_graph: Graph, tiny: Model) -> None:
    # One distractor puts all facts of a side into one class: τ is undefined there.
    result = kgprobe.study_distractor_count(example_graph, tiny, **FEW | {"distractors": 1})
    json.loads((result.folder / "study.json").read_text(), parse_constant=lambda name: pytest.fail(name))
    assert np.isfinite(result.to_frame()["min_at_n"]).all()


def test_sampled_sentences_are_annotated_and_corrected(example_graph: Graph, tiny: Model, tmp_path: Path) -> None:
    sample = kgprobe.sample_sentences(example_graph, 6, relations=["P36"], as_of="2025-12-31", balance="degree")
    rows = sample.rows()
    assert len(rows) == 6
    for row in rows:
        subject, _, object_ = row["triples"].removeprefix("(").split(", start=")[0].split(", ")
        assert subject in row["verbalization"]
        assert row["verbalization"].endswith(object_)
    path = sample.write(tmp_path / "ann.csv")
    with pytest.raises(kgprobe.KgprobeError, match="ann: no sentence is annotated"):
        kgprobe.study_verbalizations([path])
    with path.open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    for row in table:
        row["errors"] = "-"
    table[0] |= {"errors": "better_verb", "correction": f"So {table[0]['verbalization']}"}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    result = kgprobe.study_verbalizations([path])
    assert next(row.count for row in result.data if row.error == "better_verb") == 1
    robust = kgprobe.study_robustness(example_graph, tiny, path, measures=["probability"], as_of=20251231)
    assert [(row.pairs, row.sentences) for row in robust.table] == [(1, 6)]
