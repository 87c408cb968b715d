"""Errors of sentences: rates of the published annotation, and agreement of annotators."""

from dataclasses import astuple
from pathlib import Path

import pytest

import kgprobe
from kgprobe.verbalize.error_kinds import FREE, ONLY_MINOR, WITH_BLUNDER
from tests.results.rendering.page_numbers import assert_study_agrees

pytestmark = pytest.mark.usefixtures("home")

# Share and Wilson interval in percent, of the distractor paper's Tables 5 and 6.
PUBLISHED = {
    "adj_noun_conjug": (1.3, 0.2, 7.0),
    "better_verb": (3.9, 1.3, 10.8),
    "obj_deter": (13.0, 7.2, 22.3),
    "obj_unclear": (5.2, 2.0, 12.6),
    "out_of_subject": (0.0, 0.0, 4.8),
    "sub_deter": (14.3, 8.2, 23.8),
    "sub_unclear": (5.2, 2.0, 12.6),
    "wrong_conjug": (14.3, 8.2, 23.8),
    "wrong_language": (0.0, 0.0, 4.8),
    FREE: (54.5, 43.5, 65.2),
}


def annotated(path: Path, *errors: str) -> Path:
    """Write a table with sentences about different objects."""
    lines = ["triples_raw,triples,context,verbalization,errors,correction"]
    for number, kinds in enumerate(errors):
        triple = f"\"('Q1', 'P2', 'Q{number}')\",\"(A, is, B{number}, start=None, end=None)\""
        lines.append(f'{triple},present,A is B{number},"{kinds}",')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_published_annotation_gives_published_tables(shared_data: Path) -> None:
    table = shared_data / "distractors" / "verbalization_errors.csv"
    result = kgprobe.study_verbalizations([table], context="present")
    rates = {row.error: row for row in result.data}
    assert {row.sentences for row in result.data} == {77}
    for error, published in PUBLISHED.items():
        row = rates.pop(error)
        assert [100 * (end or 0) for end in astuple(row.share)] == pytest.approx(published, abs=0.051)
    assert not rates
    categories = {row.category: row for row in result.categories}
    shares = {name: round(100 * row.share.value, 1) for name, row in categories.items()}
    assert shares == {ONLY_MINOR: 45.5, WITH_BLUNDER: 0.0, FREE: 54.5}
    assert "verbalization_errors: not used: 75: its context is not present." in result.notes
    assert result.agreement == []
    everything = kgprobe.study_verbalizations([table])
    assert {row.sentences for row in everything.data} == {152}
    assert everything.folder != result.folder
    assert_study_agrees(result, ("Error", "Share"))


def test_agreement_of_annotators_counts_shared_sentences(tmp_path: Path) -> None:
    ann = annotated(tmp_path / "ann.csv", "-", "sub_deter", "sub_deter, obj_deter", "wrong_language", "", "-")
    ben = annotated(tmp_path / "ben.csv", "-", "sub_deter", "obj_deter", "out_of_subject", "-", "odd")
    result = kgprobe.study_verbalizations([ann, ben])
    # The fifth sentence is not annotated by the first person.
    assert "ann: not used: 1: it is not annotated (write - if it has no errors)." in result.notes
    assert "Kinds that the paper's Table 8 does not have: odd." in result.notes
    counts = {(row.annotator, row.error): (row.count, row.sentences) for row in result.data}
    assert (counts["ann", "sub_deter"], counts["ben", "sub_deter"]) == ((2, 5), (1, 6))
    agreement = {row.error: row for row in result.agreement}
    assert {row.sentences for row in agreement.values()} == {5}
    # Both say sub_deter once, one of them alone once more: 4 of 5 equal; expected 2/5 · 1/5 + 3/5 · 4/5.
    assert agreement["sub_deter"].kappa == pytest.approx((0.8 - 0.56) / (1 - 0.56))
    assert agreement["obj_deter"].kappa == 1
    assert (agreement["wrong_conjug"].kappa, agreement["wrong_conjug"].all_agree) == (None, 1)
    # ann: free, minor, minor, blunder, free; ben: free, minor, minor, blunder, minor.
    expected = (2 * 1 + 2 * 3 + 1 * 1) / 25
    assert agreement["category"].kappa == pytest.approx((0.8 - expected) / (1 - expected))
    assert result.verdict.endswith("Agreement on the category: κ 0.69 on 5 shared sentences.")
    cid = annotated(tmp_path / "cid.csv", "-", "-", "-", "-", "-", "-")
    assert_study_agrees(result, ("Error, Annotator", "Share"))
    three = kgprobe.study_verbalizations([ann, ben, cid])
    assert "Fleiss' κ" in three.tables()[-1].title
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(kgprobe.ArgumentError, match="`tables` has two files of the annotator ann"):
        kgprobe.study_verbalizations([ann, annotated(other / "ann.csv", "-")])
    with pytest.raises(kgprobe.KgprobeError, match="nobody: no sentence is annotated"):
        kgprobe.study_verbalizations([annotated(tmp_path / "nobody.csv", "", "")])
    with pytest.raises(kgprobe.ArgumentError, match="`tables` is empty"):
        kgprobe.study_verbalizations([])
