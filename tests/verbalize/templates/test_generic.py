"""Generic templates, made from labels."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgprobe.base.records import Relation
from kgprobe.verbalize.templates.check import check_relation
from kgprobe.verbalize.templates.generic import FIELDS, cloze_of_label, completed, generic_relation
from kgprobe.verbalize.templates.kinds import check_template
from kgprobe.verbalize.tense import templates_of


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
def test_label_is_read_by_its_words(label: str, cloze: str | None) -> None:
    assert cloze_of_label(label) == cloze


def test_what_is_made_of_real_labels_passes_the_check(shared_data: Path) -> None:
    lines = (shared_data / "wikidata" / "relations.jsonl").read_text(encoding="utf-8").splitlines()
    labels = [label for line in lines if (label := json.loads(line)["label"])]
    clozes = [cloze for label in labels if (cloze := cloze_of_label(label))]
    assert len(clozes) > 0.98 * len(labels)
    flaws = [flaw for cloze in clozes for flaw in check_relation(Relation("P", clozes=(cloze,)))]
    # In one, two words may be verbs; the other's verb is not known.
    assert {flaw.template for flaw in flaws} == {"[X] shares border with [Y]", "[X] applies to jurisdiction [Y]"}


@pytest.mark.parametrize(
    ("label", "yes_no", "wh", "reverse"),
    [
        ("capital", "Is [Y] the capital of [X]?", "What is the capital of [X]?", "[Y] is the capital of [X]"),
        (
            "characters",
            "Is [Y] one of the characters of [X]?",
            "What are the characters of [X]?",
            "[Y] is one of the characters of [X]",
        ),
        ("named after", "Is [X] named after [Y]?", "What is [X] named after?", None),
        ("located in time zone", "Is [X] located in time zone [Y]?", "Which time zone is [X] located in?", None),
        ("part of the series", "Is [X] part of the series [Y]?", "Which series is [X] part of?", None),
        (
            "located in or next to body of water",
            "Is [X] located in or next to body of water [Y]?",
            "Which body of water is [X] located in or next to?",
            None,
        ),
        ("shares border with", "Does [X] share border with [Y]?", "What does [X] share border with?", None),
        ("follows", "Does [X] follow [Y]?", "What does [X] follow?", None),
        ("has part(s)", "Does [X] have part [Y]?", "Which part does [X] have?", None),
        ("acted in", "Did [X] act in [Y]?", "What did [X] act in?", None),
        ("applies to jurisdiction", "Is it true that [X] applies to jurisdiction [Y]?", None, None),
        ("50% of", 'Is [Y] the "50% of" of [X]?', 'What is the "50% of" of [X]?', '[Y] is the "50% of" of [X]'),
    ],
)
def test_questions_follow_from_the_form_of_the_label(
    label: str, yes_no: str, wh: str | None, reverse: str | None
) -> None:
    generic = generic_relation(Relation("P1", label))
    assert generic.yes_no_questions == (yes_no,)
    assert generic.wh_questions == ((wh,) if wh else ())
    assert generic.reverse_clozes == ((reverse,) if reverse else ())
    assert generic.statements == (f"{generic.clozes[0]}.",)


@pytest.mark.parametrize("label", ["acted in", "studied at", "capital", "located in", "50% of"])
def test_ended_facts_have_a_cloze_in_the_past(label: str) -> None:
    relation = generic_relation(Relation("P1", label))
    assert len(templates_of(relation.clozes, relation.past_clozes, ended=True)) == 1


def test_persons_are_asked_for_by_who() -> None:
    assert generic_relation(Relation("P50", "author"), who=True).wh_questions == ("Who is the author of [X]?",)


@pytest.mark.parametrize(
    ("identifier", "label", "cloze"),
    [
        ("P31", "", None),
        ("P31", "…", None),
        ("ACTED_IN", "", "[X] acted in [Y]"),
        ("capital", "", "The capital of [X] is [Y]"),
    ],
)
def test_id_in_words_replaces_a_missing_label(identifier: str, label: str, cloze: str | None) -> None:
    assert generic_relation(Relation(identifier, label)).clozes == ((cloze,) if cloze else ())


def test_only_missing_kinds_are_completed() -> None:
    own = Relation("P36", "capital", statements=("[Y] is [X]'s capital.",), answers=("Q1",))
    both = completed(own)
    assert (both.statements, both.clozes, both.answers) == (own.statements, ("The capital of [X] is [Y]",), ("Q1",))


@settings(max_examples=100)
@given(st.text(max_size=40))
def test_any_label_gives_valid_templates(label: str) -> None:
    generic = generic_relation(Relation("P1", label))
    for field in FIELDS:
        for template in getattr(generic, field):
            assert check_template(field.removesuffix("s"), template) == []
