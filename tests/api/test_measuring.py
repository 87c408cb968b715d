"""``kgprobe.measure`` as a user calls it."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

import kgprobe
from kgprobe.answers.callbacks import Callbacks, Stop
from kgprobe.answers.store import FILE
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.state import last_changes
from kgprobe.models.model import Model
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.distractors.comparison import DistractorProbe
from kgprobe.probes.outcome import Outcome
from kgprobe.sampling.columns.graph_columns import open_columns
from kgprobe.sampling.keys import FactKey
from tests.models.tiny import byte_level, random_model

OPTIONS = {"limit": 9, "distractors": 3, "sentences": 2, "as_of": "2024"}


def test_what_was_measured_is_a_table_a_text_and_a_page(example_graph: Graph, tiny: Model, home: Path) -> None:
    result = kgprobe.measure(example_graph, tiny, **OPTIONS)
    assert (result.progress.facts, result.progress.done, result.progress.stopped, result.complete) == (
        9,
        9,
        Stop.DONE,
        True,
    )
    frame = result.to_frame()
    assert len(frame) == 9
    askable = frame[frame["verdict"] != "unaskable"]
    assert askable["probability"].between(0, 1).all()
    assert askable[["question", "right_answer", "chance"]].notna().all(axis=None)
    assert askable["prediction"].isna().equals(askable["verdict"] == "right")
    assert f"{len(frame):,} asked" in result.summary() == repr(result)
    (curves,) = result.tables()
    assert [row["n"] for row in curves.to_frame().to_dict("records")] == [1, 2, 3]
    page = result.page().read_text(encoding="utf-8")
    assert "By relation" in page
    assert "Min@n" in page
    assert result.folder.parent == home / "probes"


def test_measure_of_20_facts_asks_four_queries_for_them(
    example_graph: Graph, tiny: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_columns(example_graph)
    queries: Counter[str] = Counter()

    def counted(method: Callable[..., Any], query: str, **parameters: Any) -> Any:
        queries[query] += 1
        return method(query, **parameters)

    for name in ("read", "stream"):
        monkeypatch.setattr(example_graph, name, partial(counted, getattr(example_graph, name)))
    result = kgprobe.measure(example_graph, tiny, "distractors", limit=20, as_of="2024")
    assert len(result.to_frame()) == 20
    # The templates, and the facts of each of two batches.
    assert [queries.pop(name) for name in ("sample/relations", "sample/facts")] == [1, 2]
    # Distractors: the members of the types and the entities, once each, and the right objects of each batch.
    assert queries.pop("sample/members") <= 2
    assert queries.pop("sample/entities") <= 4
    assert queries.pop("sample/last_ends") == 2
    assert queries == {
        "reverse/origin": 1,
        "load/state": 2,
        "sample/fact_count": 1,
        "sample/still_askable": 1,
        "sample/last_changes": 1,
    }


def test_same_call_goes_on_and_another_is_another(example_graph: Graph, tiny: Model) -> None:
    stop = Callbacks(should_stop=lambda: True)
    first = kgprobe.measure(example_graph, tiny, **OPTIONS, batch_size=4, callbacks=stop)
    assert (first.progress.done, first.progress.stopped, first.complete) == (4, Stop.ASKED_TO, False)
    assert "repeat the call to resume" in first.summary()
    starts: list[int] = []
    second = kgprobe.measure(
        example_graph,
        tiny,
        **OPTIONS,
        batch_size=2,
        callbacks=Callbacks(on_start=lambda start: starts.append(start.done)),
    )
    assert (second.folder, starts, second.complete) == (first.folder, [4], True)
    others = [{"seed": 1}, {"distractors": 2}, {"strategy": "semantic"}, {"limit": 8}, {"as_of": 20230101}]
    begin = {"batch_size": 1, "callbacks": stop}
    folders = {kgprobe.measure(example_graph, tiny, **OPTIONS | other, **begin).folder for other in others}
    assert len(folders | {first.folder}) == 1 + len(others)
    kgprobe.measure(example_graph, tiny, **OPTIONS, name="mine")
    with pytest.raises(KgprobeError, match=r"other settings \(.*seed was 0, is 1"):
        kgprobe.measure(example_graph, tiny, **OPTIONS, name="mine", seed=1)


def test_last_changes_differ_where_current_facts_do(example_graph: Graph) -> None:
    days = [0, 20231231, 20240101, 20240102, *range(20240929, 20241003), 20241020, 20241021, 20991231]
    _, rows = example_graph.run_text("MATCH ()-[f:FACT]->() RETURN f.id AS id, f.from AS begun, f.until AS ended", {})
    facts = list(rows)
    current = [
        {fact["id"] for fact in facts if (fact["begun"] or 0) <= day <= (fact["ended"] or 10**8)} for day in days
    ]
    changes = [last_changes(example_graph, day) for day in days]
    assert [one == two for one, two in pairwise(changes)] == [one == two for one, two in pairwise(current)]
    assert changes[0]["begun"] is None
    assert len(set(map(frozenset, current))) > 4


# In the example graph, facts end on 2024-09-30 and 2024-10-01.
@pytest.mark.parametrize(
    ("first", "later", "continues"),
    [
        (20240831, 20240901, True),
        (20240901, 20240831, True),
        (20240930, 20241001, False),
        (20241001, 20241002, False),
    ],
)
@pytest.mark.representatives(2)
def test_measure_continues_while_the_same_facts_hold(
    example_graph: Graph, tiny: Model, monkeypatch: pytest.MonkeyPatch, first: int, later: int, continues: bool
) -> None:
    options = {"limit": 6, "distractors": 2, "sentences": 1}
    monkeypatch.setattr("kgprobe.base.dates.today", lambda: first)
    stop = Callbacks(should_stop=lambda: True)
    begun = kgprobe.measure(example_graph, tiny, **options, batch_size=2, callbacks=stop)
    monkeypatch.setattr("kgprobe.base.dates.today", lambda: later)
    starts: list[int] = []
    callbacks = Callbacks(on_start=lambda start: starts.append(start.done))
    ended = kgprobe.measure(example_graph, tiny, **options, callbacks=callbacks)
    assert (ended.folder == begun.folder, starts) == (continues, [2 if continues else 0])
    assert ended.about.as_of == (first if continues else later)
    assert any("the same facts are current" in note for note in ended.notes) == continues
    fresh = kgprobe.measure(example_graph, tiny, **options, name="fresh")
    assert fresh.to_frame().equals(ended.to_frame())
    if not continues:
        with pytest.raises(KgprobeError, match=r"Facts have begun or ended since .*; to continue, set `as_of` to "):
            kgprobe.measure(example_graph, tiny, **options, as_of=first, name="fresh")


def test_measure_interrupted_has_asked_a_sample(example_graph: Graph, tiny: Model) -> None:
    interrupted = kgprobe.measure(
        example_graph, tiny, **OPTIONS, batch_size=4, callbacks=Callbacks(should_stop=lambda: True)
    )
    whole = kgprobe.measure(example_graph, tiny, "examples", limit=4, examples=1, choices=2, as_of="2024")
    assert interrupted.to_frame()["fact"].tolist() == whole.to_frame()["fact"].tolist()


def test_measure_balanced_asks_the_facts_of_such_a_sample(example_graph: Graph, tiny: Model) -> None:
    drawn = {"relations": ["P35"], "balance": "degree", "with_former": True, "as_of": "2024"}
    sample = kgprobe.sample_facts(example_graph, 5, **drawn)
    result = kgprobe.measure(example_graph, tiny, limit=5, distractors=3, sentences=1, **drawn)
    assert [outcome.fact for outcome in result.outcomes] == list(sample.keys)
    assert (result.config["facts"]["balance"], result.config["facts"]["with_former"]) == ("degree", True)
    plain = kgprobe.measure(example_graph, tiny, limit=5, distractors=3, sentences=1, relations=["P35"], as_of="2024")
    assert plain.folder != result.folder
    assert set(plain.config["facts"]) == {"limit", "order"}
    with pytest.raises(ArgumentError, match="`balance` is 'age'; expected one of popularity, degree"):
        kgprobe.measure(example_graph, tiny, balance="age")


def test_model_one_training_step_later_is_another_model(example_graph: Graph) -> None:
    tokenizer = byte_level(bos=True)
    net = random_model("gpt2", len(tokenizer))
    model = kgprobe.wrap_model(net, tokenizer, name="in training")
    net.train()
    before = kgprobe.measure(example_graph, model, **OPTIONS)
    assert net.training
    again = kgprobe.measure(example_graph, model, **OPTIONS)
    assert again.folder == before.folder
    with torch.no_grad():
        next(net.parameters()).add_(1e-3)
    after = kgprobe.measure(example_graph, model, **OPTIONS)
    assert after.folder != before.folder
    assert not after.to_frame()["probability"].equals(before.to_frame()["probability"])


def test_facts_can_be_listed_in_all_ways(example_graph: Graph, tiny: Model, tmp_path: Path) -> None:
    listed = tmp_path / "facts.tsv"
    listed.write_text("Q17\tP36\tQ1490\nQ17\tP36\tQ90\n")
    named = kgprobe.measure(example_graph, tiny, facts=["Japan | capital | Tokyo"], distractors=2, as_of="2024")
    read = kgprobe.measure(example_graph, tiny, facts=listed, distractors=2, as_of="2024")
    assert read.folder == named.folder
    assert [outcome.fact.subject for outcome in read.outcomes] == ["Q17"]
    assert read.missing == [f"{listed}, line 2: the graph has no fact Q17 P36 Q90."]


def test_measurement_is_opened_again_and_saved(example_graph: Graph, tiny: Model, tmp_path: Path) -> None:
    made = kgprobe.measure(example_graph, tiny, **OPTIONS)
    opened = kgprobe.open(made.folder.name, example_graph)
    assert opened.to_frame().equals(made.to_frame())
    assert (opened.model, opened.kind.name) == ("tiny", "distractors")
    folder = opened.save(tmp_path / "mine")
    assert {"outcomes.jsonl", "config.json", "facts.csv", "finding.html", "plausibilities.parquet"} <= {
        file.name for file in folder.iterdir()
    }
    assert len(pd.read_csv(folder / "facts.csv")) == 9
    assert json.loads((folder / "config.json").read_text())["as_of"] == 20241231
    with pytest.raises(KgprobeError, match="needs the graph"):
        kgprobe.open(made.folder).finding()
    with pytest.raises(KgprobeError, match="No result is named 'nothing'"):
        kgprobe.open("nothing")


def test_mistakes_name_arguments(example_graph: Graph, tiny: Model) -> None:
    with pytest.raises(UnknownNameError, match="distractor"):
        kgprobe.measure(example_graph, tiny, "distractor")
    with pytest.raises(
        ArgumentError, match=r"`distractor` is not an option of the probe distractors; .*did you mean distractors"
    ):
        kgprobe.measure(example_graph, tiny, distractor=3)
    with pytest.raises(ArgumentError, match="`distractors` is 0; a whole number from 1 is expected"):
        kgprobe.measure(example_graph, tiny, distractors=0)
    with pytest.raises(ArgumentError, match="`as_of` is not a date"):
        kgprobe.measure(example_graph, tiny, as_of="soon")
    with pytest.raises(ArgumentError, match="`facts` cannot be read"):
        kgprobe.measure(example_graph, tiny, facts="nowhere.jsonl")
    with pytest.raises(UnknownNameError, match="P999"):
        kgprobe.measure(example_graph, tiny, relations=["P999"])
    with pytest.raises(UnknownNameError, match="nonsense"):
        kgprobe.measure(example_graph, "nonsense")


def test_relations_go_by_their_names(example_graph: Graph, tiny: Model) -> None:
    few: dict[str, Any] = {"limit": 3, "distractors": 2, "as_of": "2024"}
    named = kgprobe.measure(example_graph, tiny, relations=["Capital", "P36"], **few)
    assert named.folder == kgprobe.measure(example_graph, tiny, relations=["P36"], **few).folder
    assert named.finding(year_relation="capital").overall.facts == 3
    assert kgprobe.list_templates(example_graph, ["capital"]).rows()[0]["relation"] == "P36"
    assert {fact.relation for fact in kgprobe.neighbourhood(example_graph, "France", relations=["capital"]).facts} == {
        "P36"
    }


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ("measure", {"relations": ["captial"]}),
        ("measure", {"facts": ["France | captial | Paris"]}),
        ("measure", {"facts": ["France | capital | Parris"]}),
        ("run_rounds", {"relations": ["captial"]}),
        ("run_rounds", {"year_relation": "captial"}),
        ("study_distractor_count", {"relations": ["captial"]}),
    ],
)
def test_wrong_name_is_refused_before_a_model_loads(example_graph: Graph, call: str, wrong: dict[str, Any]) -> None:
    def load() -> Scorer:
        raise AssertionError("it loads")

    model = Model("never", open_scorer=load)
    with pytest.raises(UnknownNameError, match=r"close to it: (capital|Paris)"):
        getattr(kgprobe, call)(example_graph, model, **wrong)


@pytest.mark.parametrize(
    ("probe", "options"),
    [
        ("distractors", {"distractors": 3}),
        ("distractors", {"distractors": 2, "strategy": "exact-optimal", "max_prefixes": 30}),
        pytest.param("true-false", {}, marks=pytest.mark.slow),
    ],
)
def test_answers_are_the_same_with_batches_ahead(
    example_graph: Graph, tiny: Model, monkeypatch: pytest.MonkeyPatch, probe: str, options: dict[str, Any]
) -> None:
    threads: list[str] = []
    read = example_graph.read

    def noted(*args: Any, **parameters: Any) -> Any:
        threads.append(threading.current_thread().name)
        return read(*args, **parameters)

    monkeypatch.setattr(example_graph, "read", noted)
    answers = []
    for on_host in (True, False):
        monkeypatch.setattr(Scorer, "on_host", on_host)
        tiny.local_scorer().forget()
        own = {"limit": 7, "batch_size": 2, "as_of": "2024", "relations": ["P36"], "name": f"on-host-{on_host}"}
        measured = kgprobe.measure(example_graph, tiny, probe, **own, **options)
        answers.append((measured.folder / FILE).read_bytes())
        assert ("kgprobe-ahead" in threads) is not on_host
    assert answers[0] == answers[1]
    assert answers[0].count(b"\n") == 7


def test_rounds_draw_batches_ahead_unless_on_host(
    example_graph: Graph, tiny: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdicts, batches = [], []
    ask = DistractorProbe.ask

    def noted(probe: DistractorProbe, facts: Sequence[FactKey], seed: Sequence[int]) -> list[Outcome]:
        batches.append((threading.current_thread().name, len(facts)))
        return ask(probe, facts, seed)

    monkeypatch.setattr(DistractorProbe, "ask", noted)
    for on_host in (True, False):
        monkeypatch.setattr(Scorer, "on_host", on_host)
        own = {"rounds": 1, "facts_per_round": 18, "distractors": 2, "relations": ["P36"]}
        run = kgprobe.run_rounds(example_graph, tiny, name=f"on-host-{on_host}", **own)
        verdicts.append(run.answers_frame()[["fact", "verdict"]].to_numpy().tolist())
    assert batches == [(threading.main_thread().name, 18), ("kgprobe-ahead", 16), ("kgprobe-ahead", 2)]
    assert verdicts[0] == verdicts[1]
    assert len(verdicts[0]) == 18
