"""From labels to a judge and its figures; the answers follow a rule, the states are a real model's."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.judge.labels import labelled_statements, set_aside
from kgprobe.models.model import Model, Models
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.true_false import INSTRUCTION
from kgprobe.results.judge import TrainedJudge
from kgprobe.results.measurement import Measurement
from tests.models.tiny import byte_level, random_model, tiny_scorer
from tests.probes.true_false.test_probe import Rule
from tests.written_source import WrittenSource

COUNT = 90
FEW_STEPS = {"units": 8, "epochs": 3, "learning_rate": 1e-3}

pytestmark = pytest.mark.parametrize("endpoint", ["arcadedb"], indirect=True)


def world() -> WrittenSource:
    entities = [
        *(Entity(f"c{n}", f"Country {n}", types=("country",)) for n in range(COUNT)),
        *(Entity(f"t{n}", f"Town {n}", types=("city",)) for n in range(COUNT)),
    ]
    relations = [
        Relation(f"r{n}", f"relation {n}", statements=(f"[X] {verb} [Y].",))
        for n, verb in enumerate(["loves", "hates", "sees", "leaves", "finds", "sells"])
    ]
    return WrittenSource(entities, [Fact(f"f{n}", f"c{n}", f"r{n % 6}", f"t{n}") for n in range(COUNT)], relations)


def told(statement: str, _: int) -> str:
    """Judge by the last figure of the town, right before the end."""
    return ("True", "False", "I don't know")[int(statement[-2]) % 3]


@pytest.fixture
def tiny() -> Model:
    return Model("tiny", scorer=tiny_scorer(n_positions=1024))


@pytest.fixture
def labels(graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measurement:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    load(graph, world())
    return kgprobe.measure(graph, Model("rule", generator=Rule(told)), "true-false", repeats=1, as_of=20200101)


def trained(labels: Measurement, model: Model, **options: object) -> TrainedJudge:
    return kgprobe.train_judge(labels, model=model, **{**FEW_STEPS, **options})  # type: ignore[arg-type]


def test_labels_are_what_was_said(labels: Measurement) -> None:
    statements = labelled_statements(labels.outcomes)
    assert len(statements.texts) == 2 * COUNT
    assert statements.unlabelled == 0
    for place, text in enumerate(statements.texts):
        assert statements.answers[place] == int(text[-2]) % 3
        assert text.startswith(f"Country {statements.heads[place][1:]} ")
        assert text.endswith(f"Town {statements.tails[place][1:]}.")


def test_judge_is_made_kept_and_as_good_as_is_said(labels: Measurement, tiny: Model) -> None:
    steps: list[Any] = []
    result = trained(labels, tiny, on_progress=steps.append)
    assert steps[-1].done == steps[-1].total
    scorer = tiny.local_scorer()
    layers = scorer.model.config.num_hidden_layers
    assert [row["layer"] for row in result.rows()[::3]] == list(range(1, layers + 1))
    # Its file, and nothing else, gives the same figures again.
    again = kgprobe.evaluate_judge(result.folder, labels, model=tiny)
    assert result.aside is not None
    assert again.apart == result.aside.apart
    assert again.every == result.aside.every

    judge = kgprobe.open(result.folder.name)
    statements = labelled_statements(labels.outcomes)
    aside = np.flatnonzero(set_aside(statements.facts, 0.3, 0))
    assert again.every.quality.count == len(aside)
    read = [now for now in steps if now.stage == "Reading hidden states"]
    assert (read[-1].done, read[-1].total) == (2 * COUNT - len(aside),) * 2
    before, after = INSTRUCTION.split("{statement}")
    right = 0
    for place in aside:
        tokens = scorer.tokenizer(f"{before}{statements.texts[place]}{after}", add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            hidden = scorer.model.base_model(
                input_ids=torch.tensor([[*scorer.leading, *tokens]]), output_hidden_states=True
            ).hidden_states[judge.layer]
        right += int(judge.classifier.probabilities(hidden[0, -1:].numpy()).argmax()) == statements.answers[place]
    assert again.every.quality.accuracy.value == pytest.approx(right / len(aside))
    # What leads is of statements neither of whose ends stands in a statement that was learned from.
    learned = {
        ends[place]
        for place in set(range(2 * COUNT)) - set(aside.tolist())
        for ends in (statements.heads, statements.tails)
    }
    apart = [place for place in aside if not learned & {statements.heads[place], statements.tails[place]}]
    assert 0 < len(apart) < len(aside)
    assert again.apart is not None
    assert again.quality == again.apart.quality
    assert (again.quality.count, again.apart.facts) == (len(apart), len({statements.facts[p] for p in apart}))
    lines = again.summary().splitlines()
    assert lines[: len(again.warnings)] == again.warnings
    about = f"(about {again.apart.facts} facts"
    assert lines[-2].startswith(f"Accuracy on {len(apart)} held-out statements with held-out entities {about}")
    assert result.folder.name in result.summary()
    for look in (result, again):
        assert look.tables()
        assert look.to_frame() is not None
        look.to_dict()


def test_what_a_judge_has_seen_is_not_what_it_is_told_by(labels: Measurement, tiny: Model) -> None:
    result = trained(labels, tiny)
    statements = labelled_statements(labels.outcomes)
    aside = set_aside(statements.facts, 0.3, 0)
    # A fact is set aside with its negatives.
    assert len({(fact, bool(out)) for fact, out in zip(statements.facts, aside, strict=True)}) == COUNT
    splits = result.learned.splits
    sizes = [len(part) for part in (splits.train, splits.other_entities, splits.other_relations, splits.between)]
    assert sum(sizes) == int((~aside).sum())
    everything = kgprobe.evaluate_judge(result.judge, labels, model=tiny, everything=True)
    assert everything.every.quality.count == 2 * COUNT


def test_one_layer_is_read_where_one_is_asked_for(labels: Measurement, tiny: Model) -> None:
    last = trained(labels, tiny, layers=(-1,), words="Yes/No/I")
    assert last.judge.layer == tiny.local_scorer().model.config.num_hidden_layers
    assert last.aside is not None
    # The baseline has the words of the training.
    assert kgprobe.evaluate_judge(last.judge, labels, model=tiny).every.baseline == last.aside.every.baseline
    result = trained(labels, tiny, layers=(1,), name="mine")
    assert result.judge.layer == 1
    assert result.aside is not None
    assert result.aside.every.baseline != last.aside.every.baseline
    assert result.folder.name == "mine"
    assert {row["layer"] for row in result.rows()} == {1}


def test_published_network_is_told_the_truth_of_statements(labels: Measurement, tiny: Model) -> None:
    result = trained(labels, tiny, layers=(1,), classifier="published")
    assert [row.judge for row in result.kinds][:: len(result.kinds) // 3] == ["linear", "network", "published"]
    statements = labelled_statements(labels.outcomes)
    facts = {outcome.evidence.fact.text for outcome in labels.outcomes}
    assert statements.truths.tolist() == [text in facts for text in statements.texts]
    right = [(answer == 0) == true for answer, true in zip(statements.answers, statements.truths, strict=True)]
    unknown = statements.answers == 2
    assert statements.correctness.tolist() == np.where(unknown, 2, np.where(right, 0, 1)).tolist()
    assert result.aside is not None
    assert "knows the truth of each statement" in result.aside.warnings[-1] + result.aside.warnings[0]
    assert kgprobe.evaluate_judge(result.folder, labels, model=tiny).every == result.aside.every


@pytest.mark.slow
def test_judge_reads_behind_virtual_tokens(labels: Measurement, tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = trained(labels, tiny)
    few = {"virtual_tokens": 4, "encoder_units": 8, "encoder_epochs": 2, "encoder_learning_rate": 1e-3}
    steps: list[Any] = []
    result = trained(labels, tiny, prompt_encoder=True, on_progress=steps.append, **few)
    learned = len(result.learned.splits.train)
    encoded = [now for now in steps if now.stage == "Learning virtual tokens"]
    assert (encoded[-1].done, encoded[-1].total) == (2 * learned, 2 * learned)
    assert result.judge.training["prompt_encoder"]["learned"] == learned
    assert result.folder != plain.folder
    assert "4 virtual tokens" in str(result.tables()[0].notes)
    judge = kgprobe.open(result.folder.name)
    assert judge.virtual is not None
    again = kgprobe.evaluate_judge(judge, labels, model=tiny)
    assert result.aside is not None
    assert again.quality == result.aside.quality
    # The words are asked for behind the instruction, whatever states are read behind.
    assert plain.aside is not None
    assert again.baseline == plain.aside.baseline
    scorer = tiny.local_scorer()
    statements = labelled_statements(labels.outcomes)
    aside = np.flatnonzero(set_aside(statements.facts, 0.3, 0))
    _, after = INSTRUCTION.split("{statement}")
    embed = scorer.model.get_input_embeddings()
    right = said = 0
    for place in aside:
        tokens = scorer.tokenizer(f"{statements.texts[place]}{after}", add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            leading = embed(torch.tensor(scorer.leading))
            rows = torch.cat([leading, torch.from_numpy(judge.virtual), embed(torch.tensor(tokens))])
            hidden = scorer.model.base_model(inputs_embeds=rows[None], output_hidden_states=True).hidden_states
        told = judge.classifier.probabilities(hidden[judge.layer][0, -1:].numpy())
        right += int(told.argmax()) == statements.answers[place]
        sums = []
        for word in ("True", "False", "Unknown"):
            answer = scorer.tokenizer(f" {word}", add_special_tokens=False)["input_ids"]
            with torch.inference_mode():
                rows = torch.cat([leading, torch.from_numpy(judge.virtual), embed(torch.tensor(tokens + answer))])
                logs = scorer.model(inputs_embeds=rows[None]).logits[0].log_softmax(-1)
            sums.append(sum(float(logs[place, id_]) for place, id_ in enumerate(answer, len(rows) - len(answer) - 1)))
        said += int(np.argmax(sums)) == statements.answers[place]
    assert again.every.quality.accuracy.value == pytest.approx(right / len(aside))
    assert again.every.encoded is not None
    assert again.every.encoded.accuracy.value == pytest.approx(said / len(aside))
    models = Models()
    monkeypatch.setattr(models, "open", lambda *_: tiny)
    rows = kgprobe.compare([plain.judge, judge], models=models).records()
    assert [(row.classifier == "words", row.encoder) for row in rows] == [
        *((False, False), (False, True)),
        *((True, False), (True, True)),
    ]
    assert (rows[3].f1, rows[3].weighted_f1) == (again.every.encoded.macro_f1, again.every.encoded.weighted_f1)
    # The weighted recall is the accuracy.
    assert rows[0].weighted_recall == pytest.approx(plain.aside.every.quality.accuracy.value)


def test_mistakes_are_told(labels: Measurement, tiny: Model, graph: Graph) -> None:
    result = trained(labels, tiny)
    tokenizer = byte_level(bos=True)
    torch.manual_seed(5)
    other = Model("other", scorer=Scorer(random_model("llama", len(tokenizer)), tokenizer, name="other"))
    with pytest.raises(KgprobeError, match="train a judge for this model"):
        kgprobe.evaluate_judge(result.judge, labels, model=other)
    with pytest.raises(ArgumentError, match="a share above 0 below 1"):
        trained(labels, tiny, test_size=1.0)
    with pytest.raises(ArgumentError, match="words for true, false and unknown"):
        trained(labels, tiny, words="yes/no")
    with pytest.raises(ArgumentError, match="expected numbers from 0 to"):
        trained(labels, tiny, layers=(99,))
    with pytest.raises(KgprobeError, match="No result is named 'nobody'"):
        kgprobe.open("nobody")
    silent = kgprobe.measure(
        graph, Model("mumbles", generator=Rule(lambda *_: "hm", "mumbles")), "true-false", repeats=1, limit=4
    )
    with pytest.raises(KgprobeError, match="no label"):
        trained(silent, tiny)
    scored = kgprobe.measure(graph, tiny, "statements", limit=4)
    with pytest.raises(ArgumentError, match="one of the probe true-false"):
        trained(scored, tiny)
    answers = kgprobe.measure(graph, Model("else", generator=Rule(told, "else")), "true-false", repeats=1, limit=4)
    with pytest.raises(KgprobeError, match="predicts answers of rule"):
        kgprobe.evaluate_judge(result.judge, answers, model=tiny)


@pytest.mark.slow
def test_unreadable_labels_become_unknown_by_option(
    graph: Graph, tiny: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KGPROBE_HOME", str(tmp_path / "home"))
    load(graph, world())

    def partly(statement: str, number: int) -> str:
        return "…" if statement[-2] == "7" else told(statement, number)

    made = kgprobe.measure(graph, Model("rule", generator=Rule(partly)), "true-false", repeats=1, as_of=20200101)
    skipped, kept = labelled_statements(made.outcomes), labelled_statements(made.outcomes, "unknown")
    assert 0 < skipped.unlabelled == len(kept.texts) - len(skipped.texts)
    assert kept.unlabelled == 0
    for text, answer in zip(kept.texts, kept.answers, strict=True):
        assert answer == (2 if text[-2] == "7" else int(text[-2]) % 3)
    options = {"layers": [1], "unlabelled": "unknown", "classifier": "network"}
    first = trained(made, tiny, name="first", **options)
    second = trained(made, tiny, name="second", layers=[1])
    assert first.judge.classifier.kind == "network"
    assert (first.judge.training["labelled"], second.judge.training["labelled"]) == (2 * COUNT, len(skipped.texts))
    models = Models()
    monkeypatch.setattr(models, "open", lambda *_: tiny)
    compared = kgprobe.compare(["first", second.judge], models=models)
    judges = [row for row in compared.records() if row.classifier != "words"]
    assert [row.classifier for row in judges] == ["network", second.judge.classifier.kind]
    for row, quality in zip(judges, (first.aside, second.aside), strict=True):
        assert quality is not None
        own = quality.every.quality
        assert row.count == own.count
        precisions = [answer.precision or 0 for answer in own.answers if answer.count]
        assert (row.precision, row.f1) == (pytest.approx(np.mean(precisions)), own.macro_f1)
    assert any(row.classifier == "words" for row in compared.records())
    opened = kgprobe.open(compared.page().parent)
    assert (type(opened), opened.to_dict()) == (type(compared), compared.to_dict())
