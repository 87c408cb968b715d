"""Redirects: followed to their ends as a dictionary would, with circles, doublets, and hashes that agree."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kgprobe.loaders.dbpedia.pages as module
from kgprobe.loaders.dbpedia.pages import NOTHING, Pages

IDS = [f"dbr:{letter}" for letter in "ABCDEFGH"]
PAIRS = st.lists(st.tuples(st.sampled_from(IDS), st.sampled_from([*IDS, NOTHING])), max_size=12)


def naive(pairs: list[tuple[str, str]], id_: str) -> str | None:
    first = dict(reversed(pairs))
    seen = []
    while id_ in first:
        if id_ in seen:
            return seen[0]
        seen.append(id_)
        id_ = first[id_]
    return id_ or None


def pages_of(path: Path, pairs: list[tuple[str, str]]) -> tuple[Pages, list[tuple[str, str]]]:
    told: list[tuple[str, str]] = []
    pages = Pages(path)
    for number, (source, target) in enumerate(pairs, start=1):
        pages.add(source, target, f"0:{number}")
    pages.finish(lambda place, reason: told.append((place, reason)))
    return pages, told


@given(pairs=PAIRS, collide=st.booleans())
def test_ids_resolve_as_they_do_by_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], collide: bool
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        if collide:
            # All hashes agree, or one of two.
            patched.setattr(module, "hash", lambda text: len(text) + ord(text[-1:] or "x") % 2, raising=False)
        pages, _ = pages_of(tmp_path_factory.getbasetemp() / "pages", pairs)
        asked = [*IDS, "dbr:never", IDS[0]]
        assert pages.resolve(asked) == [naive(pairs, id_) for id_ in asked]


def test_circles_and_second_targets_are_told_with_their_place(tmp_path: Path) -> None:
    pairs = [("dbr:A", "dbr:B"), ("dbr:B", "dbr:A"), ("dbr:C", "dbr:A"), ("dbr:D", "dbr:E"), ("dbr:D", "dbr:F")]
    pages, told = pages_of(tmp_path / "pages", pairs)
    assert told == [
        ("0:5", "dbr:D redirects to dbr:F, but was said before to be one that redirects to dbr:E"),
        ("0:1", "dbr:A redirects to dbr:B, and that leads in a circle; it stands for itself"),
        ("0:2", "dbr:B redirects to dbr:A, and that leads in a circle; it stands for itself"),
        ("0:3", "dbr:C redirects to dbr:A, and that leads in a circle; it stands for itself"),
    ]
    assert pages.resolve(["dbr:A", "dbr:C", "dbr:D"]) == ["dbr:A", "dbr:C", "dbr:E"]
