"""The table of answers against one outcome after the other, and against trails that change."""

import math
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as some

from kgprobe.answers import table
from kgprobe.answers.store import FILE, OutcomeStore, encode_line
from kgprobe.answers.table import TABLE, Answers, read_answers
from kgprobe.base.errors import KgprobeError
from kgprobe.probes.distractors.evidence import DistractorEvidence, NamedEntity, Rival, Sentence
from kgprobe.probes.outcome import Outcome, Verdict
from kgprobe.probes.register import PROBES
from kgprobe.sampling.keys import FactKey
from kgprobe.stats.proportions import more_than_half
from tests.results.answered import answers_of_outcomes

KIND = PROBES.get("distractors")
DESCRIBED = {"distractors": 2}
RIGHT, WRONG = Verdict.RIGHT, Verdict.WRONG


def outcome(fact: str, verdict: Verdict, number: int = 0, chance: float = 0.25) -> Outcome:
    """Return the outcome of a question with a number."""
    if verdict is Verdict.UNASKABLE:
        return Outcome(FactKey("s", fact), verdict, "r", reason="no type")
    values = np.log([0.3, 0.1, 0.2 if verdict is RIGHT else 0.5])
    rivals = (Rival("w1", "Weak", "why"), Rival("w2", f"Strong {number}", "why", former=number % 2 == 1))
    sentence = Sentence(f"{number}: {fact} is", (0, 1), values)
    evidence = DistractorEvidence(f"label of {fact}", NamedEntity("o", "object"), rivals, (sentence,), 0, chance)
    reason = None if verdict.counts else "the server hung up"
    return Outcome(FactKey("s", fact), verdict, f"r{len(fact)}", f"prompt {number}", reason, evidence)


@given(
    some.lists(
        some.tuples(some.sampled_from("abé"), some.sampled_from(Verdict), some.sampled_from([0.5, 0.25])), min_size=1
    )
)
def test_facts_equal_their_definition(drawn: list[tuple[str, Verdict, float]]) -> None:
    outcomes = [outcome(fact, verdict, number, chance) for number, (fact, verdict, chance) in enumerate(drawn)]
    answers = answers_of_outcomes("distractors", outcomes, DESCRIBED)
    rows = answers.by_fact("former", "probability", "names", "prompt").to_dict("index")
    counting = [made for made in outcomes if made.verdict.counts]
    assert list(rows) == sorted({made.fact.fact for made in counting})
    assert answers.verdicts == Counter(made.verdict for made in outcomes)
    assert answers.answered == len(counting)
    for fact, row in rows.items():
        own = [made for made in counting if made.fact.fact == fact]
        numbers = Counter(made.verdict for made in own)
        wrong = len(own) - numbers[RIGHT]
        latest = [made for made in own if (made.verdict is RIGHT) == (numbers[RIGHT] > wrong)][-1]
        evidence: Any = latest.evidence
        chances = tuple(made.evidence.chance for made in own if made.evidence)
        assert row == {
            "subject": "s",
            "relation": "r1",
            "right": numbers[RIGHT],
            "wrong": wrong,
            "refused": numbers[Verdict.REFUSED],
            "off_format": numbers[Verdict.OFF_FORMAT],
            "chances": chances,
            "guessed": more_than_half(chances),
            **{name: getattr(evidence, name) for name in ("question", "right_answer", "prediction", "probability")},
            "former": evidence.alternatives.former,
            "names": evidence.alternatives.names,
            "prompt": latest.prompt,
        }
        for name, mean in answers.means().loc[fact].items():
            assert math.isclose(mean, sum(made.evidence.values[name] for made in own if made.evidence) / len(own))
    silent = {made.fact.fact: made.reason for made in outcomes if not made.verdict.counts}
    assert answers.unheard() == {fact: reason for fact, reason in silent.items() if fact not in rows}


def write(folder: Path, outcomes: Sequence[Outcome]) -> None:
    (folder / FILE).write_bytes(b"".join(encode_line(place, made) for place, made in enumerate(outcomes)))


def read(folder: Path, count: int | None = None) -> Answers:
    return read_answers(folder, KIND, DESCRIBED, count)


ASKED = [outcome("a", RIGHT), outcome("b", Verdict.UNANSWERED), outcome("c", WRONG), outcome("d", WRONG)]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Return a list that grows with each table that is made."""
    times: list[None] = []
    build = table._write
    monkeypatch.setattr(table, "_write", lambda *args: (times.append(None), build(*args)))
    return times


@pytest.mark.parametrize("age", [0, 100], ids=["new", "settled"])
def test_table_of_the_same_answers_is_read_again(tmp_path: Path, made: list[None], age: int) -> None:
    write(tmp_path, ASKED)
    then = (tmp_path / FILE).stat().st_mtime - age
    os.utime(tmp_path / FILE, (then, then))
    first, again = read(tmp_path), read(tmp_path)
    assert len(made) == 1
    assert again.table.equals(first.table)
    assert again.results == first.results == KIND.results(ASKED, DESCRIBED)
    # A copy has another date.
    os.utime(tmp_path / FILE)
    assert read(tmp_path).table.equals(first.table)
    assert len(made) == 1


def test_answer_that_replaces_another_has_its_place(tmp_path: Path) -> None:
    write(tmp_path, ASKED)
    assert read(tmp_path).unheard() == {"b": "the server hung up"}
    with OutcomeStore(tmp_path) as store:
        store.append([1], [outcome("b", RIGHT)])
    answers = read(tmp_path)
    assert answers.table["fact"].to_pylist() == ["a", "b", "c", "d"]
    assert (answers.verdicts, answers.unheard()) == (Counter({RIGHT: 2, WRONG: 2}), {})


@pytest.mark.parametrize(
    "change",
    [
        lambda written: written + encode_line(4, outcome("e", RIGHT)),
        lambda written: written.replace(b'"verdict":"right"', b'"verdict":"wrong"'),
        lambda written: b"".join(written.splitlines(keepends=True)[:3]),
    ],
    ids=["lengthened", "rewritten", "shortened"],
)
def test_table_of_other_answers_is_made_again(tmp_path: Path, made: list[None], change: Any) -> None:
    write(tmp_path, ASKED)
    before = read(tmp_path).frame()
    (tmp_path / FILE).write_bytes(change((tmp_path / FILE).read_bytes()))
    assert not read(tmp_path).frame().equals(before)
    assert len(made) == 2


def test_table_with_other_columns_is_made_again(
    tmp_path: Path, made: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, ASKED)
    read(tmp_path)
    monkeypatch.setattr(table, "_FIELDS", {"shown": pa.int32(), "examples": pa.int32()})
    assert read(tmp_path).table["shown"].to_pylist() == [0, 0, 0, 0]
    assert "examples" not in read(tmp_path).table.column_names
    assert len(made) == 2


def test_torn_trail_is_refused_despite_its_table(tmp_path: Path) -> None:
    write(tmp_path, ASKED)
    read(tmp_path)
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:-10])
    with pytest.raises(KgprobeError, match="line 4: damaged"):
        read(tmp_path)


def test_run_has_the_answers_that_its_graph_counted(tmp_path: Path, made: list[None]) -> None:
    write(tmp_path, ASKED[:3])
    assert read(tmp_path, 3).table.num_rows == 3
    write(tmp_path, ASKED)
    # The next round is not counted yet: the table is still of the same answers.
    assert read(tmp_path, 3).table.num_rows == 3
    assert len(made) == 1
    assert read(tmp_path, 4).table.num_rows == 4


@pytest.mark.parametrize("content", [b"", b"damaged", None], ids=["empty", "damaged", "read-only folder"])
def test_unusable_table_changes_no_answers(
    tmp_path: Path, content: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, ASKED)
    expected = read(tmp_path)
    # A file that is mapped into memory is replaced, never rewritten.
    (tmp_path / TABLE).unlink()
    if content is None:
        monkeypatch.setattr(os, "access", lambda *_: False)
    else:
        (tmp_path / TABLE).write_bytes(content)
    assert read(tmp_path).table.equals(expected.table)
    assert (tmp_path / TABLE).exists() == (content is not None)


def test_results_without_any_answer_are_empty(tmp_path: Path) -> None:
    write(tmp_path, [outcome("a", Verdict.UNASKABLE)])
    answers = read(tmp_path)
    assert (answers.by_fact().empty, answers.means().empty, answers.chance) == (True, True, None)
    assert answers.reasons(Verdict.UNASKABLE) == {"no type": 1}


def test_measures_that_differ_between_answers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DistractorEvidence, "values", property(lambda evidence: {evidence.question: 0.5}))
    with pytest.raises(ValueError, match="DistractorEvidence: names of values and counts differ between answers"):
        answers_of_outcomes("distractors", [outcome("a", RIGHT, 1), outcome("b", RIGHT, 2)], DESCRIBED)
