"""Calibration of stored results, recomputed from their lines."""

import json
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from aiohttp import web
from sklearn.metrics import brier_score_loss, roc_auc_score

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from tests.cli.inprocess import run as cli
from tests.graph.servers.shared import environment_of
from tests.models.api.application_thread import ApplicationThread
from tests.models.tiny import byte_level, random_model

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgprobe.models.model import Model
    from kgprobe.results.measurement import Measurement

AS_OF = 20240101


def lines_of(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "outcomes.jsonl").read_text(encoding="utf-8").splitlines()]


def test_confidences_are_those_of_the_stored_probabilities(example_graph: Graph, tiny: "Model", home: Path) -> None:
    made = kgprobe.measure(example_graph, tiny, "examples", limit=60, examples=3, choices=5, as_of=AS_OF, name="chosen")
    right, confidence = [], []
    for line in lines_of(made.folder):
        if line["verdict"] in ("right", "wrong"):
            logs = np.array(line["evidence"]["log_probabilities"])
            confidence.append(float(np.exp(logs).max() / np.exp(logs).sum()))
            right.append(line["verdict"] == "right")
    found = kgprobe.calibration([made])
    (row,) = found.figures
    assert row.answers == len(right)
    assert row.brier == pytest.approx(brier_score_loss(right, confidence))
    assert row.confidence == pytest.approx(np.mean(confidence))
    most = sorted(zip(confidence, right, strict=True), reverse=True)[: int(np.ceil(0.8 * len(right)))]
    assert row.at_coverage == pytest.approx(np.mean([own for _, own in most]))
    assert sum(each.answers for each in found.ranges) == len(right)
    assert found.page().read_text(encoding="utf-8").count("Reliability") >= 1
    assert kgprobe.open(str(found.folder)).figures == found.figures
    grouped = kgprobe.calibration([made], by="relation", graph=example_graph)
    by_relation = [each for each in grouped.figures if each.group != "all"]
    assert sum(each.answers for each in by_relation) == len(right)
    assert {each.group for each in by_relation} == {line["relation"] for line in lines_of(made.folder)}
    variables = {**environment_of(example_graph.endpoint), "KGPROBE_HOME": str(home)}
    told = cli("show", "chosen", "--by-confidence", **variables)
    assert told.returncode == 0
    assert f"accuracy {row.accuracy:.0%}, calibration error {row.error}" in told.stdout.replace("\n", " ")


def test_what_has_no_confidence_is_refused(example_graph: Graph, tiny: "Model") -> None:
    made = kgprobe.measure(example_graph, tiny, "generation", limit=4, as_of=AS_OF)
    with pytest.raises(KgprobeError, match="the probe generation compares no names"):
        kgprobe.calibration([made])
    two = kgprobe.measure(example_graph, tiny, limit=4, distractors=3, sentences=2, as_of=AS_OF)
    with pytest.raises(KgprobeError, match=r"fewer than 3 answers: \d.*--sentences 1"):
        kgprobe.calibration([two])
    greedy = kgprobe.measure(example_graph, tiny, "true-false", limit=4, temperature=0.0, answer_tokens=2, as_of=AS_OF)
    with pytest.raises(KgprobeError, match="at temperature 0, all answers agree: 8"):
        kgprobe.calibration([greedy])
    one = kgprobe.measure(example_graph, tiny, limit=4, distractors=3, sentences=1, as_of=AS_OF)
    with pytest.raises(ArgumentError, match="`graph` is needed"):
        kgprobe.calibration([one], by="relation")
    found = kgprobe.calibration([one])
    (row,) = found.figures
    assert (row.answers, row.error) == (4, None)
    # Plausibilities of names do not add up to 1.
    confidence = []
    for line in lines_of(one.folder):
        (sentence,) = line["evidence"]["sentences"]
        plausibilities = np.exp(sentence["log_plausibilities"])
        confidence.append(plausibilities.max() / plausibilities.sum())
    assert sum(each.answers * each.confidence for each in found.ranges) == pytest.approx(sum(confidence))


def test_probability_of_a_statement_is_that_among_two(example_graph: Graph, tiny: "Model") -> None:
    made = kgprobe.measure(example_graph, tiny, "statements", limit=30, negatives=2, as_of=AS_OF)
    right, confidence, unknown = [], [], 0
    for line in lines_of(made.folder):
        if not (evidence := line["evidence"]):
            continue
        for truth, statement in ((0, evidence["fact"]), *((1, negative) for negative in evidence["negatives"])):
            logs = statement["log_probabilities"]
            unknown += max(logs) == logs[2]
            if max(logs) > logs[2]:
                confidence.append(np.exp(max(logs)) / (np.exp(logs[0]) + np.exp(logs[1])))
                right.append(int(np.argmax(logs)) == truth)
    (row,) = (found := kgprobe.calibration([made])).figures
    assert (row.source, row.answers) == ("probability", len(right))
    assert row.brier == pytest.approx(brier_score_loss(right, confidence, pos_label=True))
    assert unknown == 0 or f"judged unknown: {unknown}" in found.notes[0]


def test_agreement_of_sentences_is_that_on_a_name(example_graph: Graph, tiny: "Model") -> None:
    made = kgprobe.measure(example_graph, tiny, limit=150, distractors=3, sentences=4, as_of=AS_OF, name="several")
    right, confidence = [], []
    for line in lines_of(made.folder):
        if not (evidence := line["evidence"]) or len(evidence["sentences"]) < 3:
            continue
        names = []
        for sentence in evidence["sentences"]:
            plausibilities = sentence["log_plausibilities"]
            best = int(np.argmax(plausibilities))
            names.append(None if best == 0 else sentence["rivals"][best - 1])
        preferred, count = Counter(names).most_common(1)[0]
        confidence.append(count / len(names))
        right.append(preferred is None)
    assert len(right) >= 20
    found = kgprobe.calibration([made], by="relation", graph=example_graph)
    row, *groups = found.figures
    assert (row.source, row.answers, row.accuracy) == ("agreement", len(right), np.mean(right))
    assert row.brier == pytest.approx(brier_score_loss(right, confidence, pos_label=True))
    assert sum(group.answers for group in groups) == len(right)
    (note,) = kgprobe.calibration([made], by="popularity", graph=example_graph).notes
    assert note == "No answered fact has a popularity in the graph: there are no rows by it."


def judged_statements(folder: Path) -> dict[str, list[tuple[float, bool]]]:
    """Return confidences of the statements of each fact, with True for right ones; none if judged unknown."""
    statements: dict[str, list[tuple[float, bool]]] = {}
    for line in lines_of(folder):
        if not (evidence := line["evidence"]):
            continue
        own = statements.setdefault(line["fact"], [])
        for truth, statement in ((0, evidence["fact"]), *((1, negative) for negative in evidence["negatives"])):
            odds = np.exp(statement["log_probabilities"])
            if odds.argmax() < 2:
                own.append((float(odds.max() / odds[:2].sum()), int(odds.argmax()) == truth))
    return statements


def test_comparison_has_calibration_of_shared_facts(example_graph: Graph, tiny: "Model") -> None:
    tokenizer = byte_level(bos=True)
    other = kgprobe.wrap_model(random_model("llama", len(tokenizer)), tokenizer, name="other")
    made = [
        kgprobe.measure(example_graph, model, "statements", limit=limit, negatives=2, as_of=AS_OF)
        for model, limit in ((tiny, 60), (other, 40))
    ]
    found = kgprobe.compare(made)
    statements = [judged_statements(each.folder) for each in made]
    shared = statements[0].keys() & statements[1].keys()
    assert len(shared) < len(statements[0])
    scores = []
    for row, own in zip(found.confidences, statements, strict=True):
        confidence, right = zip(*[pair for fact in shared for pair in own[fact]], strict=True)
        assert (row.source, row.answers) == ("probability", len(right))
        assert row.brier == pytest.approx(brier_score_loss(right, confidence, pos_label=True))
        assert row.auroc == pytest.approx(roc_auc_score(right, confidence))
        assert row.accuracy == pytest.approx(np.mean(right))
        assert row.error.low <= row.error.value <= row.error.high
        scores.append(
            {fact: np.mean([(p - is_right) ** 2 for p, is_right in own[fact]]) for fact in shared if own[fact]}
        )
    first, second = found.confidences
    assert first.brier_change is None
    changes = [scores[1][fact] - score for fact, score in scores[0].items() if fact in scores[1]]
    assert second.brier_change.value == pytest.approx(np.mean(changes))
    # At least as wide as the normal distribution's; wider by what few facts may hide.
    reach = 1.7 * np.std(changes) / np.sqrt(len(changes))
    assert second.brier_change.low < np.mean(changes) - reach < np.mean(changes) + reach < second.brier_change.high
    assert second.brier_change.high - second.brier_change.low < 0.25
    assert kgprobe.open(str(found.page().parent)).confidences == found.confidences
    assert "second - first" in next(table for table in found.tables() if table.key == "confidences").columns


# Confidence and accuracy of made-up models, by a number in [0, 1) for each question.
MODELS: "dict[str, Callable[[float], tuple[float, float]]]" = {
    "calibrated": lambda number: (0.5 + number / 2, 0.5 + number / 2),
    "overconfident": lambda number: (0.8 + number / 5, 0.5 + number / 5),
    "certain": lambda _: (1.0, 0.6),
    "inverse": lambda number: (0.5 + number / 2, 1 - number / 2),
}


def serve(expected: dict[str, bool]) -> ApplicationThread:
    """Serve the models, which know the right answers to yes/no questions, here by text."""

    async def answer(request: web.Request) -> web.Response:
        body = await request.json()
        question = body["messages"][-1]["content"].rsplit("Question: ", 1)[-1].removesuffix("\nAnswer:")
        number, luck = ((zlib.crc32(f"{question}{salt}".encode()) % 1000) / 1000 for salt in "ab")
        confidence, accuracy = MODELS[body["model"]](number)
        is_right = luck < accuracy
        said = "yes" if expected.get(question, True) == is_right else "no"
        text = f"{said}.\n\n**Confidence:** {confidence:.1%}"
        if number > 0.95:
            text = f"{said}. Confidence: very high"
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 5, "completion_tokens": 5}
        return web.json_response({"id": "1", "object": "chat.completion", "choices": [choice], "usage": usage})

    def application() -> web.Application:
        made = web.Application()
        made.router.add_post("/v1/chat/completions", answer)
        return made

    return ApplicationThread(application)


@pytest.mark.slow
def test_stated_confidence_of_made_up_models_is_diagnosed(example_graph: Graph) -> None:
    expected: dict[str, bool] = {}
    server = serve(expected)

    def ask(model: str, seed: int = 0) -> "Measurement":
        options = {"difficulty": "easy", "follow_ups": 0, "ask_confidence": True, "seed": seed, "as_of": AS_OF}
        spec = f"openai:{model}@{server.url}"
        return kgprobe.measure(example_graph, spec, "questions", limit=400, **options)  # type: ignore[arg-type]

    try:
        for line in lines_of(ask("certain").folder):
            if line["evidence"]:
                expected[line["evidence"]["text"]] = line["evidence"]["expected"]
        made = {name: ask(name) for name in ("calibrated", "overconfident", "inverse")}
        # The first answers came without the truth.
        made["certain"] = kgprobe.measure(
            example_graph,
            f"openai:certain@{server.url}",
            "questions",
            limit=400,
            difficulty="easy",
            follow_ups=0,
            ask_confidence=True,
            answer_tokens=65,
            as_of=AS_OF,
        )
    finally:
        server.stop()
    found = kgprobe.calibration(list(made.values()), by="relation", graph=example_graph)
    rows = dict(zip(made, (row for row in found.figures if row.group == "all"), strict=True))
    for name, row in rows.items():
        lines = [line for line in lines_of(made[name].folder) if line["evidence"]]
        stated = [(line["evidence"]["stated"]["value"], line["verdict"] == "right") for line in lines]
        confidence, right = zip(*[pair for pair in stated if pair[0] is not None], strict=True)
        assert (row.source, row.answers) == ("stated", len(right))
        assert row.brier == pytest.approx(brier_score_loss(right, confidence, pos_label=True))
        unread = len(stated) - len(right)
        assert 0 < unread < 0.1 * len(stated)
        assert any(f"no readable number: {unread}" in note for note in found.notes)
        assert row.error is not None
        assert row.accuracy is not None
    assert rows["calibrated"].error.low == 0
    assert (rows["calibrated"].auroc or 0) > 0.6 > 0.45 > (rows["inverse"].auroc or 1)
    assert rows["overconfident"].error.low > 0.2
    assert rows["certain"].confidence == 1
    assert rows["certain"].error.value == pytest.approx(1 - rows["certain"].accuracy)
    assert rows["inverse"].error.low > 0.1
    assert (rows["inverse"].at_coverage or 1) < rows["inverse"].accuracy
    assert rows["calibrated"].at_coverage > rows["calibrated"].accuracy
