"""Studies of in-context estimation as calls of the library, against the answers that they were made of."""

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import kgprobe
from kgprobe.answers.callbacks import Callbacks, Start
from kgprobe.base.errors import ArgumentError, KgprobeError
from kgprobe.graph.client import Graph
from kgprobe.models.model import Model
from kgprobe.probes.examples.evidence import ExampleEvidence
from kgprobe.probes.examples.noise import CONTENTS, ExamplePair, invented_names, make_noisy, measure_noise
from kgprobe.probes.examples.prompts import Layout
from kgprobe.sampling.demonstrations import draw_demonstrations
from kgprobe.stats.paired_proportions import mcnemar
from tests.models.exactness import score_tolerance
from tests.models.tiny import byte_level, naive_score, random_model
from tests.results.rendering.page_numbers import assert_study_agrees

AS_OF = {"as_of": 20251231}
FEW = {"relations": ["P36"], "limit": 6, "choices": 4, **AS_OF}


def answers(folder: str, graph: Graph) -> dict[str, ExampleEvidence]:
    outcomes = kgprobe.open(folder, graph).outcomes
    return {item.fact.fact: item.evidence for item in outcomes if isinstance(item.evidence, ExampleEvidence)}


def test_accuracy_by_number_of_examples_is_the_mean_over_draws(example_graph: Graph, tiny: Model) -> None:
    starts: list[Start] = []
    callbacks = Callbacks(on_start=starts.append)
    result = kgprobe.study_examples(example_graph, tiny, counts=[3, 1, 2, 3], repeats=3, callbacks=callbacks, **FEW)
    assert [start.title for start in starts][:4] == [f"{n} examples, draw 0" for n in (1, 2, 3)] + [
        "1 examples, draw 1"
    ]
    found = {title: answers(folder, example_graph) for title, folder in result.config["measurements"].items()}
    assert len(found) == 9
    # The same facts with the same choices, after other examples.
    assert len({tuple(subset) for subset in found.values()}) == 1
    for fact in found["1 examples, draw 0"]:
        assert len({tuple(other.id for other in subset[fact].others) for subset in found.values()}) == 1
    assert (
        len(
            {
                found[f"1 examples, draw {n}"][fact].asked
                for n in range(3)
                for fact in list(found["1 examples, draw 0"])[:1]
            }
        )
        > 1
    )
    for row in result.table:
        n = row.examples
        by_draw = [
            np.mean([item.is_right for item in found[f"{n} examples, draw {draw}"].values()]) for draw in range(3)
        ]
        assert row.accuracy.value == pytest.approx(np.mean(by_draw))
        assert row.deviation == pytest.approx(np.std(by_draw, ddof=1))
        sure = [item.probability for draw in range(3) for item in found[f"{n} examples, draw {draw}"].values()]
        assert row.confidence == pytest.approx(np.mean(sure))
        assert row.accuracy.low <= row.accuracy.value <= row.accuracy.high
    frame = result.to_frame()
    means = frame.groupby("examples")["accuracy"].mean()
    enough = int(means[means >= 0.95 * means[3]].index.min())
    assert result.verdict.startswith(f"{enough} [")
    verdict = r"after (\d+),? (?:which|it) is ([\d.]+)"
    assert_study_agrees(result, ("Examples", "Accuracy"), verdict=verdict)


def test_numbers_of_examples_that_no_fact_has_are_refused(example_graph: Graph, tiny: Model) -> None:
    with pytest.raises(KgprobeError, match=r"No fact was asked after each of 1, 900 examples: .* has at most"):
        kgprobe.study_examples(example_graph, tiny, counts=[1, 900], repeats=1, **FEW)
    with pytest.raises(ArgumentError, match="`counts` is empty"):
        kgprobe.study_examples(example_graph, tiny, counts=[], **FEW)


def test_ways_of_asking_are_compared_fact_by_fact(example_graph: Graph, tiny: Model) -> None:
    result = kgprobe.study_prompting(example_graph, tiny, examples=3, separators=[" ", ": "], **FEW)
    found = {way: answers(folder, example_graph) for way, folder in result.config["measurements"].items()}
    assert list(found) == [
        "examples",
        "examples, ': '",
        "examples, a line each",
        "packed",
        "examples in sentences",
        "sentences",
    ]
    for fact, evidence in found["examples"].items():
        ids = {item.id for item in evidence.others}
        assert all({item.id for item in subset[fact].others} == ids for subset in found.values())
    right = {way: np.array([item.is_right for item in subset.values()]) for way, subset in found.items()}
    ps = {}
    for row in result.table:
        way = row.way
        assert row.accuracy.value == right[way].mean()
        if way != "examples":
            lost = int((right["examples"] & ~right[way]).sum())
            gained = int((right[way] & ~right["examples"]).sum())
            assert (row.lost, row.gained) == (lost, gained)
            assert row.gain.value == pytest.approx((gained - lost) / len(right[way]))
            assert row.gain.low <= row.gain.value <= row.gain.high
            ps[way] = float(mcnemar(lost, gained))
    # Benjamini-Hochberg, by its definition.
    for row in result.table[1:]:
        ordered = sorted(ps.values())
        steps = [p * len(ps) / (place + 1) for place, p in enumerate(ordered) if p >= ps[row.way]]
        assert row.p == pytest.approx(min(1, *steps))
    verdict = r"(?:^|against it |\), )(.+?) (\d+%) \["
    columns = [("Way", "Accuracy"), ("Method", "Mean accuracy"), ("Relation, Method", "Mean accuracy")]
    assert_study_agrees(result, *columns, verdict=verdict)


def test_examples_in_sentences_are_written_in_the_first_cloze(example_graph: Graph, tiny: Model) -> None:
    asked = {"prompt": "both", "between": ". ", "examples": 3, "seed": 5, **FEW}
    made = kgprobe.measure(example_graph, tiny, "examples", **asked)
    (template,) = [subset["clozes"][0] for subset in example_graph.read("sample/relations") if subset["id"] == "P36"]
    scorer = tiny.scorer()
    allowed = score_tolerance(scorer.model)
    for outcome in made.outcomes:
        assert isinstance(outcome.evidence, ExampleEvidence)
        assert outcome.prompt is not None
        parts = outcome.prompt.split(". ")
        assert len(parts) == 4
        before, after = template.removesuffix("[Y]").strip().split("[X]")
        assert all(part.startswith(before) and after.strip() in part for part in parts)
        assert parts[-1].endswith(after.strip())
        label = outcome.evidence.object.label
        wanted = naive_score(scorer.model, scorer.tokenizer, scorer.leading, outcome.prompt, label)
        assert outcome.evidence.log_probabilities[0] == pytest.approx(wanted, abs=allowed)
    with pytest.raises(ArgumentError, match="`packed` requires the prompt examples"):
        kgprobe.measure(example_graph, tiny, "examples", **asked, packed=True)


def test_another_seed_of_examples_changes_them_alone(example_graph: Graph, tiny: Model) -> None:
    first, second = (
        [
            item.evidence
            for item in kgprobe.measure(example_graph, tiny, "examples", examples=2, **FEW, **seeds).outcomes
        ]
        for seeds in ({}, {"examples_seed": 77})
    )
    for item, other in zip(first, second, strict=True):
        assert isinstance(item, ExampleEvidence)
        assert isinstance(other, ExampleEvidence)
        assert (item.object, item.others) == (other.object, other.others)
    assert [item.asked for item in first if item] != [item.asked for item in second if item]


def test_noise_is_told_by_the_difference_at_the_same_places(example_graph: Graph, tiny: Model) -> None:
    options = {"sequences": 3, "length": 10, "replaced": 3, **AS_OF}
    result = kgprobe.study_noisy_examples(example_graph, tiny, relations=["P36", "P37"], **options)
    frame = result.to_frame()
    assert len(frame) == 3 * 5 * 10
    whole = frame[frame["content"] == "right"].set_index(["sequence", "position"])["probability"]
    for arrangement in ("spread", "block"):
        places = {}
        for content in ("unknown", "incorrect"):
            subset = frame[(frame["arrangement"] == arrangement) & (frame["content"] == content)]
            replaced = subset[subset["replaced"]]
            assert replaced.groupby("sequence")["position"].count().tolist() == [3, 3, 3]
            places[content] = replaced[["sequence", "position"]].values.tolist()
            if arrangement == "block":
                assert set(replaced["position"]) == {4, 5, 6}
            effects = []
            for sequence, item in subset.groupby("sequence"):
                first = item[item["replaced"]]["position"].min()
                after = item[~item["replaced"] & (item["position"] > first)]
                before = item[item["position"] < first]
                assert before["probability"].tolist() == pytest.approx(
                    [whole[sequence, place] for place in before["position"]], rel=1e-3
                )
                effects.append(
                    np.mean(
                        [p - whole[sequence, at] for at, p in zip(after["position"], after["probability"], strict=True)]
                    )
                )
            (row,) = [row for row in result.table if row.replaced == f"{content}, {arrangement}"]
            assert row.change.value == pytest.approx(np.mean(effects))
            assert row.change.low < row.change.value < row.change.high
            assert f" by {row.change.value:+.3f} [" in result.verdict
        assert places["unknown"] == places["incorrect"]
    assert result.page().exists()
    again = kgprobe.study_noisy_examples(example_graph, tiny, relations=["P36", "P37"], **options)
    assert again.to_frame().equals(frame)
    with pytest.raises(KgprobeError, match=r"No relation has 9,?999 current facts .* Choose a smaller `length`"):
        kgprobe.study_noisy_examples(example_graph, tiny, **options | {"length": 9999})
    with pytest.raises(ArgumentError, match="`replaced` is 10; expected fewer than `length`"):
        kgprobe.study_noisy_examples(example_graph, tiny, **options | {"replaced": 10})


def test_noise_at_every_position_is_drawn_as_in_the_paper(example_graph: Graph, tiny: Model) -> None:
    options = {"sequences": 2, "length": 8, "replaced": 2, "positions_per_point": 1, **AS_OF}
    result = kgprobe.study_noisy_examples(example_graph, tiny, relations=["P36"], **options)
    assert [plot.title for plot in result.plots] == [
        "No replaced examples",
        "Replaced examples spread: unknown",
        "Replaced examples spread: incorrect",
        "Replaced examples in a block: unknown",
        "Replaced examples in a block: incorrect",
    ]
    for variant, plot in zip(["as it is", "spread", "spread", "block", "block"], result.plots, strict=True):
        content = plot.title.rpartition(": ")[2] if variant != "as it is" else "right"
        rows = [row for row in result.data if (row.arrangement, row.content) == (variant, content)]
        replaced = {(row.sequence, row.position) for row in rows if row.replaced}
        series: dict[str, dict[int, list[float]]] = {}
        for row in rows:
            name = "right after a replaced one" if (row.sequence, row.position - 1) in replaced else "right"
            name = "replaced" if row.replaced else name
            series.setdefault(name, {}).setdefault(row.position, []).append(row.probability)
        *drawn, mean = plot.lines
        assert {line.name: dict(zip(line.x, line.y, strict=True)) for line in drawn} == {
            name: {place: pytest.approx(np.mean(values)) for place, values in by_place.items()}
            for name, by_place in series.items()
        }
        right = np.mean([row.probability for row in rows if not row.replaced])
        assert (mean.name, list(mean.y)) == (f"mean of the right ones: {right:.3f}", [pytest.approx(right)] * 2)
    (own,) = kgprobe.paper("latent-knowledge", "figure-2").own
    settled = [row.probability for row in result.data if row.content == "right" and row.position > 6]
    assert (own.row, own.value) == (tiny.name, round(100 * float(np.mean(settled)), 1))


def test_short_context_has_shorter_sequences_of_as_much_noise(example_graph: Graph) -> None:
    tokenizer = byte_level(bos=True)
    model = kgprobe.wrap_model(random_model("gpt2", len(tokenizer), n_positions=128), tokenizer, name="short")
    result = kgprobe.study_noisy_examples(
        example_graph, model, relations=["P36"], sequences=1, length=16, replaced=8, **AS_OF
    )
    length = int(result.to_frame()["position"].max())
    assert 4 <= length < 16
    replaced = result.to_frame().query("arrangement == 'block' and content == 'unknown'")["replaced"].sum()
    assert replaced == 8 * length // 16
    assert any(f"has room for {length} examples" in note for note in result.notes)


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "gemma3, narrow window", "bloom"])
def test_probabilities_of_noise_are_those_of_a_full_pass(example_graph: Graph, architecture: str) -> None:
    tokenizer = byte_level()
    scorer = kgprobe.wrap_model(random_model(architecture, len(tokenizer)), tokenizer, name="some").scorer()
    drawn = draw_demonstrations(example_graph, ["P36"], 6, 0, AS_OF["as_of"])["P36"]
    sequence = make_noisy(example_graph, "P36", drawn, 2, [0, 0], AS_OF["as_of"])
    assert sequence is not None
    assert sequence.right == [ExamplePair(item.subject_label, item.object_label) for item in drawn]
    found = measure_noise(scorer, sequence, Layout(" ", ": "))
    assert not isinstance(found, str)
    ways = [(sequence.right, found.as_it_is)]
    ways += [(sequence.with_noise(*way), values) for way, values in found.noisy.items()]
    assert len(ways) == 5
    for pairs, values in ways:
        text = ""
        for pair, value in zip(pairs, values, strict=True):
            before = f"{text}: {pair.subject}" if text else pair.subject
            text = f"{before} {pair.object}"
            wanted = naive_score(scorer.model, tokenizer, scorer.leading, before, pair.object)
            assert np.log(value) == pytest.approx(wanted, abs=1e-4 * max(1, abs(wanted)))
    rows = example_graph.query(
        "MATCH (s:Entity)-[:FACT {relation: 'P36'}]->(o:Entity) RETURN s.label AS subject, o.label AS object"
    )
    right = {(row["subject"], row["object"]) for row in rows}
    objects = {subset for _, subset in right}
    for place, item in enumerate(drawn):
        for arrangement, places in sequence.replaced.items():
            unknown, incorrect = (sequence.with_noise(arrangement, content)[place] for content in CONTENTS)
            if place not in places:
                assert unknown == incorrect == sequence.right[place]
                continue
            assert incorrect.subject == item.subject_label
            assert (incorrect.subject, incorrect.object) not in right
            assert unknown.subject not in {subject for subject, _ in right}
            assert {incorrect.object, unknown.object} <= objects


@settings(max_examples=40)
@given(some.lists(some.text(some.characters(min_codepoint=65, max_codepoint=90), min_size=2, max_size=6), min_size=1))
def test_invented_names_are_new_and_not_longer(names: list[str]) -> None:
    invented = list(take(5, invented_names(names, np.random.default_rng(1))))
    assert len(set(invented)) == len(invented)
    assert not set(invented) & set(names)
    letters = set("".join(names))
    assert all(name and set(name) <= letters and len(name) <= max(map(len, names)) for name in invented)
    assert invented == list(take(5, invented_names(names, np.random.default_rng(1))))


def take(count: int, names: Iterable[str]) -> Iterable[str]:
    return [name for _, name in zip(range(count), names, strict=False)]
