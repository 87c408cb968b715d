"""Edits end to end: a small model is trained on one edit, both are questioned, and figures equal stored answers."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

import kgprobe
from kgprobe.edits.questions import FILE, read_questions, write_questions
from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model
from tests.edits.asked import QUESTIONS, train
from tests.models.tiny import byte_level, random_model


@pytest.fixture(scope="module")
def models() -> tuple[Model, Model]:
    """A small model, and a copy that was trained on the first edit."""
    tokenizer = byte_level(bos=True)
    net = random_model("gpt2", len(tokenizer), n_positions=1024)
    tuned = copy.deepcopy(net)
    train(tuned, tokenizer)
    return kgprobe.wrap_model(net, tokenizer, name="base"), kgprobe.wrap_model(tuned, tokenizer, name="tuned")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_questions(tmp_path / "questions.jsonl", QUESTIONS)
    return tmp_path / "questions.jsonl"


def stored(folder: Path) -> dict[str, dict[str, Any]]:
    """Evidence by question, as it is on disk."""
    lines = map(json.loads, (folder / "outcomes.jsonl").read_text().splitlines())
    return {line["fact"]: line["evidence"] for line in lines}


def share(questions: list[str], right: dict[str, bool]) -> float:
    return sum(right[question] for question in questions) / len(questions)


def test_edited_model_figures_equal_stored_answers(models: tuple[Model, Model], file: Path) -> None:
    base, tuned = (kgprobe.probe_edits(file, model, name=model.name, new_tokens=8) for model in models)
    compared = kgprobe.compare_edits(base, tuned)
    kinds = {(row.group, row.kind): row for row in compared.kinds}
    before, after = stored(base.folder), stored(tuned.folder)
    # The edit is learned: the greedy answer is the new object, which is the most plausible one.
    assert after["e1/1"]["text"].split()[0] == "Rome"
    assert after["e1/1"]["first_name"] == "Rome"
    assert before["e1/1"]["first_name"] is None
    groups: dict[str, list[str]] = {}
    for question in QUESTIONS:
        groups.setdefault(question.group, []).append(question.id)
    for evidence, generated, scored in (
        (before, "base_generated", "base_scored"),
        (after, "tuned_generated", "tuned_scored"),
    ):
        by_text, best = {}, {}
        for question in QUESTIONS:
            answer = evidence[question.id]
            by_text[question.id] = answer["is_named"]
            values = answer["plausibilities"]
            best[question.id] = values[0] > max(values[1:])
        for group in ("efficacy", "generality", "portability", "locality"):
            row = kinds[group, "all"]
            assert getattr(row, generated).value == pytest.approx(share(groups[group], by_text))
            assert getattr(row, scored).value == pytest.approx(share(groups[group], best))
    tops = []
    for identifier in groups["locality"]:
        first, second = before[identifier]["plausibilities"], after[identifier]["plausibilities"]
        tops.append(first.index(max(first)) == second.index(max(second)))
    locality = kinds["locality", "all"]
    assert locality.same_scored is not None
    assert locality.same_scored.value == pytest.approx(sum(tops) / len(tops))
    assert {case.edit for case in compared.failed if case.generated is False} == {"e2"}
    page = compared.page()
    assert page.exists()
    assert {path.name for path in page.parent.iterdir()} == {
        *("edits.html", "edits.json", "kinds.csv", "failed_edits.csv", "lost_answers.csv")
    }


def test_probe_edits_resumes_and_stores_the_questions(models: tuple[Model, Model], file: Path) -> None:
    first = kgprobe.probe_edits(file, models[0], way="scores")
    lines = (first.folder / "outcomes.jsonl").read_bytes().splitlines(keepends=True)
    assert read_questions(first.folder / FILE) == QUESTIONS
    (first.folder / "outcomes.jsonl").write_bytes(b"".join(lines[:3]) + lines[3][:20])
    again = kgprobe.probe_edits(file, models[0], way="scores", batch_size=2)
    assert again.folder == first.folder
    assert stored(again.folder).keys() == {question.id for question in QUESTIONS}
    assert again.progress is not None
    assert (again.progress.done, again.unanswered) == (len(QUESTIONS), 0)
    for identifier, evidence in stored(again.folder).items():
        own = first.evidence(identifier)
        assert own is not None
        assert evidence["plausibilities"] == pytest.approx(own.plausibilities, abs=1e-4)
    assert kgprobe.open_edits(again.folder.name).summary() == again.summary()


def test_probe_edits_other_questions_need_another_folder(models: tuple[Model, Model], file: Path) -> None:
    kgprobe.probe_edits(file, models[0], way="scores", name="own")
    write_questions(file, QUESTIONS[:2])
    with pytest.raises(KgprobeError, match="made with other settings"):
        kgprobe.probe_edits(file, models[0], way="scores", name="own")
    other = kgprobe.probe_edits(file, models[1], way="scores", name="other")
    with pytest.raises(ArgumentError, match="asked in another way than the base: questions was"):
        kgprobe.compare_edits(kgprobe.open_edits("own"), other)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"id": "e1/1"}', "line 2: Object missing required field"),
        (
            json.dumps(
                {
                    **json.loads('{"id": "x", "edit": "e", "about": "", "kind": "k", "prompt": "p"}'),
                    "group": "none",
                    "expected": [{"names": ["a"]}],
                }
            ),
            "line 2: no group 'none'",
        ),
    ],
)
def test_probe_edits_damaged_file_is_named(models: tuple[Model, Model], file: Path, line: str, fault: str) -> None:
    first = file.read_text().splitlines()[0]
    file.write_text(f"{first}\n{line}\n")
    with pytest.raises(ArgumentError, match=fault):
        kgprobe.probe_edits(file, models[0])


def test_open_edits_without_answers_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="no answers about edits"):
        kgprobe.open_edits("nothing")
    with pytest.raises(UnknownNameError, match="kgprobe probe edits FILE"):
        kgprobe.open_edits("hf:./unknown")


def test_sample_edits_reports_skipped_lines(example_graph: Graph, tmp_path: Path) -> None:
    (tmp_path / "edits.tsv").write_text("France\tcapital\tRome\nNowhere\tcapital\tRome\n")
    sample = kgprobe.sample_edits(example_graph, tmp_path / "edits.tsv", as_of="2025-12")
    assert {question.edit for question in sample.questions} == {"e1"}
    assert any("record 2: No entity is called 'Nowhere'" in note for note in sample.notes)
    assert sample.summary().startswith(f"{len(sample.questions)} questions about 1 edit: 1 efficacy")
    assert read_questions(sample.write(tmp_path / "made.jsonl")) == list(sample.questions)
    (tmp_path / "edits.tsv").write_text("Nowhere\tcapital\tRome\n")
    with pytest.raises(KgprobeError, match=r"has no edit that can be asked\..*Nowhere"):
        kgprobe.sample_edits(example_graph, tmp_path / "edits.tsv")
    with pytest.raises(ArgumentError, match="names facts of a graph"):
        kgprobe.sample_edits(None, tmp_path / "edits.tsv")
