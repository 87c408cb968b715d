"""Clozes that are made of labels."""

import json
from pathlib import Path

import pytest

from kgprobe.records import Relation
from kgprobe.verbalize.templates.check import check_relation
from kgprobe.verbalize.templates.proposals import cloze_of_label


@pytest.mark.parametrize(
    ("label", "cloze"),
    [
        ("capital", "The capital of [X] is [Y]"),
        ("place of birth", "The place of birth of [X] is [Y]"),
        ("birthPlace", "The birth place of [X] is [Y]"),
        ("birth_place", "The birth place of [X] is [Y]"),
        ("director / manager", "The director of [X] is [Y]"),
        ("the currency", "The currency of [X] is [Y]"),
        ("IUCN conservation status", "The IUCN conservation status of [X] is [Y]"),
        ("award received", "The award received by [X] is [Y]"),
        ("payment types accepted", "The payment types accepted by [X] are [Y]"),
        ("characters", "The characters of [X] are [Y]"),
        ("part of the series", "[X] is part of the series [Y]"),
        ("member of", "[X] is a member of [Y]"),
        ("instance of", "[X] is an instance of [Y]"),
        ("member of sports team", "[X] is a member of sports team [Y]"),
        ("owned by", "[X] is owned by [Y]"),
        ("located in time zone", "[X] is located in time zone [Y]"),
        ("different from", "[X] is different from [Y]"),
        ("archives at", "[X] has archives at [Y]"),
        ("shares border with", "[X] shares border with [Y]"),
        ("follows", "[X] follows [Y]"),
        ("has part(s)", "[X] has part [Y]"),
        ("languages spoken, written, or signed", None),
        ("sports discipline competed in", None),
        ("50% of", None),
        (" ", None),
    ],
)
def test_a_label_is_read_by_its_words(label: str, cloze: str | None) -> None:
    assert cloze_of_label(label) == cloze


def test_what_is_made_of_real_labels_passes_the_check(shared_data: Path) -> None:
    lines = (shared_data / "wikidata" / "relations.jsonl").read_text(encoding="utf-8").splitlines()
    labels = [label for line in lines if (label := json.loads(line)["label"])]
    clozes = [cloze for label in labels if (cloze := cloze_of_label(label))]
    assert len(clozes) > 0.98 * len(labels)
    flaws = [flaw for cloze in clozes for flaw in check_relation(Relation("P", clozes=(cloze,)))]
    # In one, two words may be verbs; the other's verb is not known.
    assert {flaw.template for flaw in flaws} == {"[X] shares border with [Y]", "[X] applies to jurisdiction [Y]"}
