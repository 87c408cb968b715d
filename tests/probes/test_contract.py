"""What holds of every probe that is registered, ours and other people's."""

import dataclasses
import json
import typing
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from kgprobe.answers.store import FILE, OutcomeStore, encode_line, read_outcomes
from kgprobe.base.errors import ArgumentError, UnknownNameError
from kgprobe.base.options import options_of
from kgprobe.base.progress import hearing_shares
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.model import Model, Models
from kgprobe.models.scoring.scorer import Scorer
from kgprobe.probes.outcome import Outcome, Probe, Verdict
from kgprobe.probes.register import PROBES, ProbeContext, ProbeKind
from kgprobe.sampling.keys import FactKey
from tests.models.exactness import score_tolerance
from tests.models.tiny import byte_level, random_model, tiny_scorer
from tests.probes.questions.answering import Answering
from tests.written_source import WrittenSource

AS_OF = 20200101
MODEL = "tiny"

CITIES = ["Łódź", "São Paulo", "東京", "New York", 'The "Hub"', "Zürich"]
ENTITIES = [
    *(Entity(f"c{n}", f"Country {n}", types=("country",)) for n in range(len(CITIES))),
    *(Entity(f"t{n}", name, (f"{name} City",), types=("city",)) for n, name in enumerate(CITIES)),
    Entity("blank", " ", types=("country",)),
]
WORDS = {
    "clozes": ("The capital of [X] is [Y]", "[X] is ruled from [Y]"),
    "mined_clozes": ("[X] with its capital [Y]",),
    "statements": ("[Y] is the capital of [X].",),
    "yes_no_questions": ("Is [Y] the capital of [X]?", "Is [X] ruled from [Y]?"),
    "wh_questions": ("What is the capital of [X]?",),
}
CAPITAL, OTHER = Relation("capital", "capital", **WORDS), Relation("other", "other", **WORDS)
SILENT = Relation("silent", "silent", active=False)
FACTS = [
    *(Fact(f"f{n}", f"c{n}", "capital", f"t{n}") for n in range(5)),
    Fact("other", "c5", "other", "t5"),
    Fact("ended", "c0", "capital", "t5", end="1999"),
    Fact("other too", "c4", "other", "t0"),
    # None of these can be asked: a subject without a name, a relation that is not active.
    Fact("nameless", "blank", "capital", "t1"),
    Fact("silent", "c1", "silent", "t2"),
]
# Without the first, the relation would have one object, which nothing could be told from; the others go on from cities.
BESIDE = [
    Fact("beside", "c4", "other", "t3"),
    Fact("on", "t5", "capital", "t1"),
    Fact("further on", "t1", "other", "t3"),
]
KEYS = [FactKey(fact.subject, fact.id) for fact in FACTS]

pytestmark = [pytest.mark.parametrize("name", PROBES.names()), pytest.mark.usefixtures("home")]


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return tiny_scorer(name=MODEL, n_positions=1024)


@pytest.fixture
def setting(graph: Graph, scorer: Scorer) -> ProbeContext:
    """The same for all: a small graph, and a model that scores and answers."""
    load(graph, WrittenSource(ENTITIES, [*FACTS, *BESIDE], [CAPITAL, OTHER, SILENT]))
    answers = ("Yes.", "No.", CITIES[0], "I don't know.", "")
    generator = Answering(lambda question: answers[zlib.crc32(question.encode()) % len(answers)], name=MODEL)
    return ProbeContext(graph, Model(MODEL, open_scorer=lambda: scorer, generator=generator), Models(), AS_OF)


def made(name: str, setting: ProbeContext, **options: Any) -> Probe:
    kind = PROBES.get(name)
    return kind.make(setting, kind.options_from(options))


def plain(outcome: Outcome) -> Any:
    """Return an outcome as it stands in a file."""
    return json.loads(encode_line(0, outcome))


@cache
def allowed() -> float:
    """Return the difference that rounding explains between two scores by the scorer of these tests."""
    return score_tolerance(random_model("gpt2", len(byte_level(bos=True)), n_positions=1024))


def same(one: Any, other: Any) -> bool:
    """Return whether two outcomes as they stand in files say the same, but for the last digits of numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return bool(one == pytest.approx(other, abs=allowed()))
    return bool(one == other)


def test_probe_tells_what_it_is(name: str) -> None:
    kind = PROBES.get(name)
    assert isinstance(kind, ProbeKind)
    assert kind.name == name
    assert kind.summary[0].isupper()
    assert kind.summary[-1] in ".?"
    assert kind.asks in ("scores", "answers")
    assert kind.batch_size >= 1


def test_options_are_a_frozen_dataclass_whose_defaults_are_valid(name: str) -> None:
    kind = PROBES.get(name)
    assert dataclasses.is_dataclass(kind.options)
    default = kind.options_from({})
    assert isinstance(default, kind.options)
    for field in dataclasses.fields(kind.options):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(default, field.name, getattr(default, field.name))
    options = options_of(kind.options)
    assert [one.name for one in options] == [field.name for field in dataclasses.fields(kind.options)]
    for one in options:
        assert one.problem(one.default) is None, one.name
        assert one.about.help.endswith((".", ".)")), one.name
    # Those of rounds are valid, too, and all can be kept with a result.
    for chosen in (default, kind.options_from(kind.in_rounds)):
        kept = json.loads(msgspec.json.encode(dataclasses.asdict(chosen)))
        assert kind.options_from(kept) == chosen


def test_unknown_option_is_named(name: str) -> None:
    with pytest.raises(ArgumentError, match=f"`nonsense` is not an option of the probe {name}") as raised:
        PROBES.get(name).options_from({"nonsense": 1})
    assert raised.value.argument == "nonsense"


def test_evidence_is_a_struct_tagged_by_the_probes_name(name: str) -> None:
    evidence = PROBES.get(name).evidence()
    assert issubclass(evidence, msgspec.Struct)
    config = evidence.__struct_config__
    assert (config.tag, config.tag_field, config.frozen) == (name, "probe", True)
    for attribute in ("question", "right_answer", "prediction", "probability", "chance"):
        assert hasattr(evidence, attribute), attribute


# What JSON writes with escapes, line separators among it, and letters of several bytes.
texts = some.text('aé東🇫🇷\n\\" \u2028', max_size=4)


def values_of(hint: Any) -> some.SearchStrategy[Any]:
    """Values of a field of evidence."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    # From Python 3.12 on, NDArray is an alias of a type.
    origin = typing.get_origin(getattr(origin, "__value__", None)) or origin
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints = typing.get_type_hints(hint)
        return some.builds(hint, **{field.name: values_of(hints[field.name]) for field in msgspec.structs.fields(hint)})
    if origin is tuple and arguments[-1] is Ellipsis:
        return some.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return some.tuples(*map(values_of, arguments))
    if origin is np.ndarray:
        # Log-probabilities: there may be none at all.
        return some.lists(some.just(-np.inf) | some.floats(-1e9, 0), max_size=4).map(np.array)
    if arguments and type(None) in arguments:
        return some.one_of([some.none() if one is type(None) else values_of(one) for one in arguments])
    return {
        str: texts,
        int: some.integers(-(2**40), 2**40),
        float: some.floats(allow_nan=False, allow_infinity=False),
        bool: some.booleans(),
    }[hint]


@settings(max_examples=30)
@given(data=some.data())
@pytest.mark.representatives(2)
def test_evidence_is_read_as_what_was_written(
    name: str, tmp_path_factory: pytest.TempPathFactory, data: some.DataObject
) -> None:
    struct = PROBES.get(name).evidence()
    outcomes = data.draw(
        some.lists(
            some.builds(
                Outcome,
                some.builds(FactKey, texts, texts),
                some.sampled_from(Verdict),
                texts,
                texts,
                some.none() | texts,
                some.none() | values_of(struct),
            ),
            min_size=1,
            max_size=4,
        )
    )
    folder = tmp_path_factory.mktemp("outcomes")
    with OutcomeStore(folder) as store:
        store.append(range(len(outcomes)), outcomes)
    found = list(read_outcomes(folder / FILE, struct))
    for one, other in zip(outcomes, found, strict=True):
        assert (one.fact, one.verdict, one.relation, one.prompt, one.reason) == (
            other.fact,
            other.verdict,
            other.relation,
            other.prompt,
            other.reason,
        )
        assert type(one.evidence) is type(other.evidence)
        if one.evidence is not None:
            assert leaves(one.evidence) == leaves(other.evidence)
    assert [encode_line(0, one) for one in outcomes] == [encode_line(0, one) for one in found]


def leaves(value: Any) -> Any:
    """Return a struct as tuples that can be compared, of the types that they are."""
    if isinstance(value, msgspec.Struct):
        return type(value), [leaves(getattr(value, field)) for field in value.__struct_fields__]
    if isinstance(value, np.ndarray):
        return np.ndarray, value.dtype, value.tolist()
    return (tuple, [leaves(one) for one in value]) if isinstance(value, tuple) else (type(value), value)


def test_each_fact_has_one_outcome_in_order(name: str, setting: ProbeContext, tmp_path: Path) -> None:
    kind = PROBES.get(name)
    outcomes = made(name, setting).ask(KEYS, [7])
    assert [outcome.fact for outcome in outcomes] == KEYS
    assert [outcome.relation for outcome in outcomes] == [fact.relation for fact in FACTS]
    assert {outcome.verdict for outcome in outcomes[-2:]} == {Verdict.UNASKABLE}
    assert any(outcome.verdict.counts for outcome in outcomes)
    for outcome in outcomes:
        if outcome.verdict is Verdict.UNASKABLE:
            assert outcome.reason
            assert (outcome.evidence, outcome.prompt) == (None, "")
            continue
        evidence = outcome.evidence
        assert isinstance(evidence, kind.evidence())
        # What it asks stands in what the model was given, but for what shows where the answer goes.
        assert evidence.question.removesuffix(" …") in outcome.prompt
        assert evidence.right_answer
        assert isinstance(evidence.prediction, str) == outcome.verdict.is_failure
        assert evidence.prediction != evidence.right_answer
        for number in (evidence.probability, evidence.chance):
            assert number is None or 0 <= number <= 1
    with OutcomeStore(tmp_path) as store:
        store.append(range(len(outcomes)), outcomes)
    assert list(map(plain, read_outcomes(tmp_path / FILE, kind.evidence()))) == list(map(plain, outcomes))


@pytest.mark.representatives(2)
def test_same_seed_asks_the_same_in_any_batch(name: str, setting: ProbeContext) -> None:
    probe = made(name, setting)
    for seed in ([7], [7, 1]):
        together = [plain(outcome) for outcome in probe.ask(KEYS, seed)]
        assert same(together, [plain(outcome) for outcome in made(name, setting).ask(KEYS, seed)])
        alone = [plain(outcome) for key in reversed(KEYS) for outcome in probe.ask([key], seed)][::-1]
        assert same(together, alone)
    assert probe.ask([], [7]) == []


def test_probe_tells_how_far_a_batch_is(
    name: str, setting: ProbeContext, scorer: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Several batches of the device.
    monkeypatch.setattr(scorer.limits, "tokens", 64)
    heard: list[float] = []
    for strategy in (None, "approximate-optimal", "exact-optimal") if name == "distractors" else (None,):
        probe = made(name, setting, **({"strategy": strategy} if strategy else {}))
        heard.clear()
        with hearing_shares(heard.append):
            probe.ask(KEYS, [7])
        # The few statements of the probe true-false are one batch of the generator.
        assert len(heard) >= (1 if name == "true-false" else 2)
        assert heard == sorted(set(heard))
        assert heard[-1] == pytest.approx(1.0)


def test_probe_describes_what_its_outcomes_depend_on(name: str, setting: ProbeContext) -> None:
    probe = made(name, setting)
    described = probe.describe()
    assert described["model"] == MODEL
    assert json.loads(msgspec.json.encode(described)) == json.loads(json.dumps(described))
    assert msgspec.json.encode(made(name, setting).describe()) == msgspec.json.encode(described)
    later = dataclasses.replace(setting, as_of=AS_OF + 1)
    fewer = dataclasses.replace(setting, relations=["capital"])
    for other in (later, fewer):
        assert made(name, other).describe() != described
    for one in options_of(PROBES.get(name).options):
        for value in others(one.default, one.choices()):
            asked = made(name, setting, **{one.name: value}, **NEEDED.get((name, one.name), {}))
            # An option of another's, such as how semantic distractors weigh, has no say in these.
            if asked.describe() == described:
                assert same(*([plain(its) for its in each.ask(KEYS, [7])] for each in (asked, probe))), one.name


# Options that go with others alone.
NEEDED: dict[tuple[str, str], dict[str, Any]] = {("examples", "separate_tokens"): {"packed": True}}


def others(default: Any, choices: Sequence[str] | None) -> Iterator[Any]:
    """Other values of an option, as far as one can know them: not those that name models."""
    if choices is not None:
        yield from (choice for choice in choices if choice != default)
    elif isinstance(default, bool):
        yield not default
    elif isinstance(default, int):
        yield default + 1


def test_only_relations_that_can_be_asked_are(name: str, setting: ProbeContext) -> None:
    assert list(made(name, setting).relations) == ["capital", "other"]
    probe = made(name, dataclasses.replace(setting, relations=["other"]))
    assert list(probe.relations) == ["other"]
    asked, other = probe.ask([KEYS[5], KEYS[0]], [7])
    assert asked.verdict is not Verdict.UNASKABLE
    assert other.verdict is Verdict.UNASKABLE
    for wrong in ("silent", "nothing"):
        with pytest.raises(UnknownNameError, match=wrong):
            made(name, dataclasses.replace(setting, relations=["other", wrong]))


def test_what_it_tells_beside_is_tables_and_files(name: str, setting: ProbeContext, tmp_path: Path) -> None:
    kind = PROBES.get(name)
    probe = made(name, setting)
    outcomes = probe.ask(KEYS, [7])
    tables = kind.results(iter(outcomes), probe.describe()).tables
    assert len({table.key for table in tables}) == len(tables)
    for table in tables:
        assert table.rows, "a table that would be empty is left out"
        assert all(set(row) <= set(table.columns) for row in table.rows)
        assert table.groups_by is None or table.groups_by in table.columns
        assert json.loads(msgspec.json.encode(table.to_dict()))["title"] == table.title
    assert not kind.results([], probe.describe()).tables
    for file, open_export in kind.exports().items():
        with open_export(tmp_path / file) as add:
            for outcome in outcomes:
                add(outcome)
        assert (tmp_path / file).stat().st_size > 0


def test_what_stood_beside_an_answer_can_be_looked_at(name: str, setting: ProbeContext) -> None:
    told = []
    for outcome in made(name, setting).ask(KEYS, [7]):
        if outcome.evidence is None:
            continue
        beside = outcome.evidence.alternatives
        told.append(bool(beside.names) or beside.text is not None)
        for text, probability in beside.names:
            assert isinstance(text, str)
            assert 0 <= probability <= 1 + 1e-6
        # What is listed beside a wrong answer has what the model preferred.
        if beside.names and outcome.verdict is Verdict.WRONG and beside.text is None:
            assert outcome.evidence.prediction in [text for text, _ in beside.names]
        if beside.former is not None:
            assert outcome.verdict.is_failure
    assert any(told), "nothing is shown of any ask"
