"""Models over relations: against the definitions, and as a user of ``compare`` gets them."""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kgprobe
from kgprobe.results.over_relations import Averaged, family_of, mean_subsumption, over_relations
from tests.cli.inprocess import run
from tests.stored import CONFIGURED, store_measurement

FACTS = [f"f{n:02}" for n in range(24)]
RELATIONS = {fact: f"r{n % 4}" for n, fact in enumerate(FACTS)}


@pytest.mark.parametrize("spec", ["bloom-560m", "hf:bigscience/bloom-1b1", "bloom-3b", "hf:bigscience/bloom-7b1"])
def test_sizes_with_a_digit_after_the_b_are_of_one_family(spec: str) -> None:
    assert family_of(spec) == "bloom"


def test_model_with_two_probes_is_not_a_pair_of_its_family() -> None:
    accuracy = np.array([[0.1, 0.2, 0.9], [0.5, 0.6, 0.2], [0.9, 0.8, 0.4]])
    known = np.ones((3, 3), dtype=np.bool_)
    groups = [
        Averaged(f"m{place}", (place,), family, model)
        for place, (family, model) in enumerate([("a", "same"), ("a", "same"), ("b", "other")])
    ]
    names = [(f"r{place}", f"relation {place}") for place in range(3)]
    found = over_relations(groups, ["m0", "m1", "m2"], names, accuracy, known, np.arange(3))
    within, across = found.family_correlation[0, 0], found.family_correlation[0, 1]
    assert np.isnan(within)
    assert across == pytest.approx(np.corrcoef(accuracy, rowvar=False)[:2, 2].mean())


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.integers(1, 7))
@settings(max_examples=30)
def test_over_relations_equals_its_definition(seed: int, models: int, relations: int) -> None:
    rng = np.random.default_rng(seed)
    relation_of = np.concatenate([np.arange(relations), rng.integers(0, relations, 30)])
    known = rng.random((models, len(relation_of))) < rng.random((models, 1))
    frame = pd.DataFrame(known.T).groupby(relation_of)
    accuracy = frame.mean()
    families = ["a", "b", "a", "b", "a"][:models]
    groups = [Averaged(f"m{place}", (place,), family, f"m{place}") for place, family in enumerate(families)]
    names = [(f"r{place}", f"relation {place}") for place in range(relations)]
    labels = [group.label for group in groups]
    found = over_relations(groups, labels, names, accuracy.to_numpy(), known, relation_of)
    means = {model.label: (model.mean, model.deviation) for model in found.models}
    for place, label in enumerate(labels):
        deviation = None if relations == 1 else pytest.approx(accuracy[place].std())
        assert means[label] == (pytest.approx(accuracy[place].mean()), deviation)
        ordered = sorted(names, key=lambda name: (-accuracy[place][int(name[0][1:])], name[1]))
        own = {relation.rank: relation.relation for relation in found.ranked if relation.label == label}
        kept = [rank for rank in range(1, relations + 1) if rank <= 3 or rank > relations - 3]
        assert own == ({} if relations == 1 else {rank: ordered[rank - 1][0] for rank in kept})
    pairs = accuracy.corr()
    for row, one in enumerate(found.families):
        for column, other in enumerate(found.families):
            both = itertools.permutations(range(models), 2)
            values = [pairs.loc[i, j] for i, j in both if (families[i], families[j]) == (one, other)]
            expected = np.nanmean(values) if relations > 2 and np.isfinite(values).any() else np.nan
            assert found.family_correlation[row, column] == pytest.approx(expected, nan_ok=True)
    subsumption = mean_subsumption(known, relation_of, relations)
    for i in range(models):
        for j in range(models):
            rates = []
            for relation in range(relations):
                ours, theirs = known[i, relation_of == relation], known[j, relation_of == relation]
                if ours.any():
                    rates.append((ours & theirs).sum() / ours.sum())
            assert subsumption[i, j] == pytest.approx(np.mean(rates) if rates else np.nan, nan_ok=True)


@pytest.mark.parametrize(
    ("spec", "family"),
    [
        ("hf:facebook/opt-1.3b", "opt"),
        ("hf:mistralai/Mixtral-8x7B-v0.1", "Mixtral"),
        ("hf:bigscience/bloom-560m", "bloom"),
        ("demo", "Gemma 3"),
        ("openai:gpt-4o", "gpt-4o"),
        ("hf:/models/7b", "7b"),
    ],
)
def test_family_is_the_name_before_the_size(spec: str, family: str) -> None:
    assert family_of(spec) == family


def stored(folder: Path, name: str, right: int, **config: object) -> None:
    answers = {fact: place < right for place, fact in enumerate(FACTS)}
    relations = tuple(sorted(set(RELATIONS.values())))
    store_measurement(folder / name, answers, relations=RELATIONS, relations_asked=relations, **config)


def test_family_has_its_smallest_and_largest_model(tmp_path: Path) -> None:
    for name, right, parameters in (("large", 21, 3000), ("small", 11, 70), ("middle", 5, 400), ("tuned", 9, 70)):
        described = {**CONFIGURED["described"], "scorer": {"parameters": parameters}}
        family = "opt" if name == "tuned" else "pythia"
        stored(tmp_path, name, right, model=f"hf:x/{family}-{parameters}m", described=described)
    compared = kgprobe.compare([kgprobe.open(tmp_path / name) for name in ("large", "small", "middle", "tuned")])
    (own,) = compared.over_relations.sizes
    assert (own.family, own.smallest, own.largest) == ("pythia", "small", "large")
    by_relation = pd.Series(range(len(FACTS))).groupby([RELATIONS[fact] for fact in FACTS])
    rates = {right: by_relation.agg(lambda places, right=right: (places < right).mean()) for right in (11, 21)}
    assert own.smallest_accuracy == pytest.approx(rates[11].mean())
    assert own.largest_accuracy == pytest.approx(rates[21].mean())
    # The largest knows all that the smallest knows.
    assert own.subsumption == 1
    assert compared.to_dict()["over_relations"]["sizes"][0]["smallest"] == "small"


def test_compare_averages_sentences_and_takes_families(tmp_path: Path) -> None:
    stored(tmp_path, "small", 11, model="hf:x/pythia-70m")
    stored(tmp_path, "large", 21, model="hf:x/pythia-1b")
    for number, right in ((1, 4), (2, 8), (3, 15)):
        options = {"prompt": "sentences", "templates": "hand", "template": number}
        described = {**CONFIGURED["described"], "template": number}
        stored(tmp_path, f"hgp-{number}", right, model="hf:x/opt-125m", options=options, described=described)
    folders = [str(tmp_path / name) for name in ("small", "large", "hgp-1", "hgp-2", "hgp-3")]
    compared = kgprobe.compare([kgprobe.open(folder) for folder in folders])
    by_label = {model.label: model for model in compared.over_relations.models}
    averaged = by_label["x/opt-125m, 3 hand sentences"]
    assert (averaged.prompts, averaged.relations) == (3, 4)
    assert averaged.mean == pytest.approx(27 / 72)
    assert (averaged.lowest, averaged.highest) == (pytest.approx(4 / 24), pytest.approx(15 / 24))
    assert {model.family for model in by_label.values()} == {"pythia", "opt"}
    environment = {"KGPROBE_HOME": str(tmp_path / "home")}
    done = run("compare", *folders, "--family", "x/opt-125m=OPT", "--json", **environment)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)["over_relations"]
    assert content["families"] == ["pythia", "OPT"]
    shown = run("compare", *folders, **environment)
    assert "3 hand sentences" in " ".join(shown.stdout.split())
    wrong = run("compare", *folders, "--family", "pythia", **environment)
    assert (wrong.returncode, "not a model and its family" in " ".join(wrong.stderr.split())) == (2, True)
