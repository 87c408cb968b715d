"""A judge goes through a whole graph: every statement as it would be judged by itself, once, whatever happens."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import kgprobe
from kgprobe.answers.callbacks import Callbacks, Stop
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.judge.classifiers import PublishedNetwork
from kgprobe.judge.files import Judge, load_judge
from kgprobe.judge.judged_facts import SCHEMA
from kgprobe.models.generating.generator import Request
from kgprobe.models.generating.local import LocalGenerator
from kgprobe.models.model import Models
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.models.states.reader import StateReader
from tests.api.judged_world import (
    AFTER,
    AS_OF,
    BEFORE,
    judge_world,
    parts,
    rows_of,
    small_shards,
    world,
    write_judge,
    write_model,
)
from tests.models.exactness import assert_as_exact, double_copy
from tests.sampling.naive_negatives import Naive


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    with small_shards():
        yield


@pytest.fixture
def judge(graph: Graph, tmp_path: Path) -> Judge:
    load(graph, world())
    spec = write_model(tmp_path / "model")
    return write_judge(graph, spec, tmp_path / "judge")


@pytest.mark.parametrize("replaced", ["object", pytest.param("any", marks=pytest.mark.slow)])
def test_every_fact_is_judged_as_it_would_be_by_itself(graph: Graph, judge: Judge, replaced: str) -> None:
    folder, shards = judge_world(graph, judge, negatives=2, replace=replaced)
    table = rows_of(folder)
    assert table.schema.equals(SCHEMA)
    entities, loaded, _ = parts()
    facts = {fact.id: fact for fact in loaded if fact.relation != "r2" and fact.end is None}
    rows = {row["fact"]: row for row in table.to_pylist()}
    assert shards.complete
    assert shards.facts == len(table) == len(rows)
    assert set(rows) == set(facts)
    naive = Naive(entities, loaded)
    by_id = {entity.id: entity for entity in entities}
    scorer = Models().open(judge.answers_of).local_scorer()

    double = double_copy(scorer.model)

    def told(model: Any, text: str) -> np.ndarray:
        ids = scorer.tokenizer(f"{BEFORE}{text}{AFTER}", add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            hidden = model.base_model(
                input_ids=torch.tensor([[*scorer.leading, *ids]]), output_hidden_states=True
            ).hidden_states[judge.layer]
        return judge.classifier.probabilities(hidden[0, -1:].numpy())[0]

    templates = {"r0": ("[X] loves [Y].", "[Y] is loved by [X]."), "r1": ("[X] hates [Y].",), "r3": ("[X] saw [Y].",)}

    def wordings(subject: str, relation: str, object_: str) -> set[str]:
        names = by_id[subject].label, by_id[object_].label
        return {each.replace("[X]", names[0]).replace("[Y]", names[1]) for each in templates[relation]}

    judged = 0
    found, texts = [], []
    for id_, row in rows.items():
        fact = facts[id_]
        assert (row["subject"], row["relation"], row["object"]) == (fact.subject, fact.relation, fact.object)
        assert row["subject_types"] == sorted(by_id[fact.subject].types)
        assert row["subject_degree"] == naive.degrees[fact.subject]
        assert row["subject_popularity"] == by_id[fact.subject].popularity
        assert row["object_popularity"] is None
        if id_ in ("white", "too long") or (id_ == "only" and replaced == "object"):
            assert row["judgement"] == -1
            assert row["reason"]
            assert row["correct"] is None
            continue
        judged += 1
        assert row["reason"] is None
        assert row["text"] in wordings(fact.subject, fact.relation, fact.object)
        found.append(row["probabilities"])
        texts.append(row["text"])
        assert row["judgement"] == int(np.argmax(row["probabilities"]))
        triples = set()
        for negative in row["negatives"]:
            triple = (negative["subject"], negative["relation"], negative["object"])
            triples.add(triple)
            assert triple in naive.negatives(fact, negative["replaced"], any_type=False)
            if by_id[negative["object"]].label.startswith("Long"):
                assert negative["judgement"] == -1
                continue
            assert negative["text"] in wordings(*triple)
            found.append(negative["probabilities"])
            texts.append(negative["text"])
            assert negative["judgement"] == int(np.argmax(negative["probabilities"]))
            if negative["relation"] == fact.relation and fact.relation == "r0":
                # In the fact's own words.
                assert ("is loved by" in negative["text"]) == ("is loved by" in row["text"])
        assert len(triples) == len(row["negatives"]) <= 2
        others = [negative["judgement"] for negative in row["negatives"] if negative["judgement"] >= 0]
        if others:
            own = row["judgement"]
            assert row["correct"] == pytest.approx((own == 0) * (1 - np.mean([one != 1 for one in others])))
            assert row["truthful"] == pytest.approx((own != 1) * (1 - np.mean([one == 0 for one in others])))
            assert row["informative"] == pytest.approx((own != 2) * (1 - np.mean([one == 2 for one in others])))
    plain, exact = (np.array([told(model, text) for text in texts]) for model in (scorer.model, double))
    assert_as_exact(np.array(found), plain, exact)
    assert judged > 80
    assert len({row["judgement"] for row in rows.values()}) == 4


def test_judge_graph_published_network_knows_truths(graph: Graph, judge: Judge) -> None:
    size = judge.classifier.size
    zeros = {name: np.zeros(shape, np.float32) for name, shape in _published_shapes(size).items()}
    always_right = PublishedNetwork(**zeros | {"decoder_bias": np.array([9, 0, 0], np.float32)})
    done = kgprobe.judge_graph(graph, replace(judge, classifier=always_right), negatives=2)
    table = rows_of(done.folder).to_pandas()
    measured = table[table.correct.notna()]
    assert len(measured) > 80
    assert (measured.judgement == 0).all()
    assert {negative["judgement"] for negatives in measured.negatives for negative in negatives} <= {1, -1}
    assert (measured.correct == 1).all()


def test_compare_speed_times_both_on_the_same_statements(
    graph: Graph, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = {"instruction": "Is it so? {statement}\nAnswer:", "answer_tokens": 2, "temperature": 1.0}
    labels = {**judge.labels, "described": judge.labels["described"] | described}
    answering = replace(judge, labels=labels)
    plain = kgprobe.judge_graph(graph, answering, name="timed")
    assert (plain.judged is not None, plain.judged and plain.judged.speeds) == (True, [])
    said, read = [], []
    answer, read_states = LocalGenerator.answer, StateReader.read

    def note_answer(self: LocalGenerator, requests: list[Request], *rest: Any) -> Any:
        said.append([request.prompt for request in requests])
        return answer(self, requests, *rest)

    def note_read(self: StateReader, texts: list[str], **how: Any) -> Any:
        read.append(texts)
        return read_states(self, texts, **how)

    monkeypatch.setattr(LocalGenerator, "answer", note_answer)
    monkeypatch.setattr(StateReader, "read", note_read)
    done = kgprobe.judge_graph(graph, answering, name="timed", compare_speed=20)
    statements = []
    for row in rows_of(done.folder).to_pylist():
        if row["text"] is not None:
            statements += [row["text"], *(negative["text"] for negative in row["negatives"])]
    first = list(dict.fromkeys(statements))[:20]
    # The first few are answered before the clock starts.
    assert said == [[f"Is it so? {text}\nAnswer:" for text in texts] for texts in (first[:8], first)]
    assert read == [[f"{text}{AFTER}" for text in texts] for texts in (first[:8], first)]
    assert done.judged is not None
    for speed, by in zip(done.judged.speeds, ("judge", "text generation"), strict=True):
        assert (speed.by, speed.statements, speed.device) == (by, 20, "cpu")
        assert speed.per_second == pytest.approx(20 / speed.seconds)
    opened = kgprobe.open("timed")
    assert opened.speeds == done.judged.speeds
    (table,) = (table for table in opened.tables() if table.key == "speed")
    assert [row["by"] for row in table.rows] == ["judge", "text generation"]
    behind_api = replace(judge, labels={**labels, "described": described | {"model": "openai:large"}})
    with pytest.raises(ArgumentError, match="openai:large is behind an API"):
        kgprobe.judge_graph(graph, behind_api, model=judge.answers_of, compare_speed=1)


def _published_shapes(size: int) -> dict[str, tuple[int, ...]]:
    own = dict.fromkeys(("dense_bias", "norm_weight", "norm_bias"), (size,))
    return {**own, "dense_weight": (size, size), "decoders": (2, size, 3), "decoder_bias": (3,)}


def test_judge_graph_figures_are_stored_in_the_graph(graph: Graph, judge: Judge) -> None:
    done = kgprobe.judge_graph(graph, judge, name="told")
    assert done.judged is not None
    frame = rows_of(done.folder).to_pandas()
    told = done.judged.to_frame().set_index(["by", "group", "metric"]).raw
    assert told["all", "all", "correct"] == pytest.approx(frame.correct.mean())
    assert {row["name"] for row in done.judged.rows() if row["by"] == "relation"} == {"loves", "hates"}
    kept = {row["relation"]: row for row in graph.query("explore/judged", judged_graph="told")}
    assert kept.keys() == {"r0", "r1"}
    for relation, facts in frame.groupby("relation"):
        row = kept[relation]
        assert (row["relation_label"], row["model"]) == (done.judged.names[relation], judge.answers_of)
        assert (row["facts"], row["correct_low"]) == (len(facts), None)
        for metric in ("correct", "truthful", "informative"):
            assert row[metric] == pytest.approx(facts[metric].mean())
    # Told again, it is the same one.
    kgprobe.judge_graph(graph, judge, name="told")
    assert len(graph.query("explore/judged")) == 2


@pytest.mark.parametrize("endpoint", ["arcadedb"], indirect=True)
def test_what_was_stopped_goes_on(graph: Graph, judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = judge_world(graph, judge, name="whole")
    # As with a GPU, the next shard is drawn ahead.
    monkeypatch.setattr(Scorer, "on_host", False)
    started: list[Any] = []
    done: list[int] = []

    def once() -> Callbacks:
        return Callbacks(
            on_start=started.append, on_batch=lambda batch: done.append(batch.done), should_stop=lambda: True
        )

    folder, shards = judge_world(graph, judge, name="parts", callbacks=once())
    assert (shards.stopped, shards.done, shards.shards_done) == (Stop.ASKED_TO, 16, 1)
    # Two others, each with its share.
    for shard in ("1/2", "2/2"):
        kgprobe.judge_graph(graph, judge, name="parts", shard=shard, callbacks=once())
    kept = {path: path.stat().st_mtime_ns for path in (folder / "shards").iterdir()}
    assert len(kept) == 3
    assert started[1].done == 16
    assert started[1].total + started[2].total == shards.facts
    _, shards = judge_world(graph, judge, name="parts")
    assert shards.complete
    assert shards.stopped is Stop.DONE
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert rows_of(folder).equals(rows_of(whole))
    # Nothing is left to do, and nothing is done.
    assert judge_world(graph, judge, name="parts", callbacks=Callbacks(on_batch=lambda _: pytest.fail("asked")))[
        1
    ].complete


@pytest.mark.parametrize("endpoint", ["arcadedb"], indirect=True)
def test_mistakes_are_told(graph: Graph, judge: Judge, tmp_path: Path) -> None:
    for shard in ("0/2", "3/2", "2", "a/b"):
        with pytest.raises(ArgumentError, match="I/N is expected"):
            kgprobe.judge_graph(graph, judge, shard=shard)
    with pytest.raises(UnknownNameError, match="r2"):
        kgprobe.judge_graph(graph, judge, relations=["r2"])
    with pytest.raises(KgprobeError, match="no facts to judge"):
        kgprobe.judge_graph(graph, judge, relations=["saw"])
    with pytest.raises(KgprobeError, match="holds no judge"):
        kgprobe.judge_graph(graph, tmp_path / "nowhere")
    other = write_model(tmp_path / "other", positions=512)
    with pytest.raises(KgprobeError, match="train a judge for this model"):
        kgprobe.judge_graph(graph, judge, model=other)
    kgprobe.judge_graph(graph, judge, name="mine")
    with pytest.raises(KgprobeError, match=r"a judged graph made with other settings.*seed"):
        kgprobe.judge_graph(graph, judge, name="mine", seed=1)
    assert load_judge(tmp_path / "judge").digest() == judge.digest()
    assert judge.labels["as_of"] == AS_OF
