"""The papers' tables and figures, and the published numbers: complete, and as in the papers' texts."""

import re
from typing import TYPE_CHECKING

import pytest

from kgprobe.base.errors import UnknownNameError
from kgprobe.papers.tables import PAPERS, all_numbers, all_tables, filled, numbers_of, table_named, tables_of
from tests.graph.servers.shared import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

KINDS = {"result", "data", "example", "definition", "illustration"}
# Figures of GraphEval that its text names by labels only.
LABELS = {"fig:avg_by_type": "figure-3", "fig:evaluation_scores": "figure-4", "fig:correlation_heatmap": "figure-5"}
# Figure 14 of the latent-knowledge paper is called a table once.
SLIPS = {"latent-knowledge": {"table-14"}}
_NAME = re.compile(r"\b(Table|Figure) (\d+)")
_LABEL = re.compile(r"LABEL:(fig:\w+)")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """The texts of the papers."""
    folder: Path = REPOSITORY.parent / "shared" / "papers"
    if not folder.is_dir():
        pytest.skip("../shared/papers is missing next to the repository")
    return {name: (folder / f"{name}.txt").read_text(encoding="utf-8") for name in PAPERS}


@pytest.mark.parametrize("paper", PAPERS)
def test_tables_and_figures_of_the_text_are_listed(paper: str, texts: dict[str, str]) -> None:
    named = {f"{kind.lower()}-{number}" for kind, number in _NAME.findall(texts[paper])}
    named |= {LABELS[label] for label in _LABEL.findall(texts[paper])}
    assert named - SLIPS.get(paper, set()) == {entry.table for entry in tables_of(paper)}


@pytest.mark.parametrize("paper", PAPERS)
def test_published_values_occur_in_the_text(paper: str, texts: dict[str, str]) -> None:
    text = texts[paper].replace(",", "")
    # Names are broken into lines in some tables.
    words = " ".join(text.split())
    missing = []
    for number in all_numbers():
        if number.paper != paper:
            continue
        parts = re.findall(r"\d+(?:\.\d+)?", number.value) if "×" in number.value or "," in number.value else []
        for part in parts or [number.value]:
            shown = part.removeprefix("0") if part.startswith("0.") else part
            if not re.search(rf"(?<![\d.]){re.escape(part)}(?!\d)|(?<!\d){re.escape(shown)}(?!\d)", words):
                missing.append((number.table, number.row, number.column, number.value))
    assert missing == []


def test_cell_is_published_once() -> None:
    cells = [(number.paper, number.table, number.row, number.column) for number in all_numbers()]
    assert len(cells) == len(set(cells)) > 1000


def test_entries_have_commands_states_and_numbers() -> None:
    assert {number.table for number in all_numbers()} <= {entry.table for entry in all_tables()}
    for entry in all_tables():
        name = f"{entry.paper} {entry.table}"
        assert entry.kind in KINDS, name
        assert entry.state in {"runs", "partly", "no", ""}, name
        assert bool(entry.missing) == (entry.state in {"partly", "no"}), name
        # A command is small or full, or neither.
        assert bool(entry.command) == bool(entry.full), name
        assert not entry.command or entry.state, name
        assert not entry.has_results or entry.state, name
        assert entry.state not in {"runs", "partly"} or entry.command, name
        # Only the latter two have no numbers: relations of a data set, and trends.
        if entry.kind == "result":
            assert numbers_of(entry), name
    states = [entry.state for entry in all_tables() if entry.has_results]
    told = f"{states.count('runs')} of the {len(states)} tables and figures with results are repeated whole"
    page = (REPOSITORY / "docs" / "papers.md").read_text(encoding="utf-8")
    assert f"{told}, {states.count('partly')} in part." in " ".join(page.split())


def test_numbers_of_a_table_are_those_of_the_paper() -> None:
    rates = {number.row: number.value for number in numbers_of(table_named("distractors", "table-4"))}
    assert rates["distractors, approximate optimal"] == "0.92"
    (cell,) = (
        number.value
        for number in numbers_of(table_named("kglens", "table-2"))
        if (number.row, number.column) == ("GPT-4", "NBA, HARD")
    )
    assert cell == "78.93"


def test_unknown_names_are_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="expected one of distractors, kglens"):
        tables_of("lama")
    with pytest.raises(UnknownNameError, match=r"has no 'table-99'; it has table-1, table-2"):
        table_named("kglens", "table-99")


def test_filled_command_names_its_models() -> None:
    command = table_named("latent-knowledge", "table-1").command
    steps = filled(command, "demo", "hf:org/small").split(" && ")
    assert steps[0].endswith("--name demo-examples")
    assert "--model hf:org/small" in steps[1]
    assert steps[2] == "kgprobe compare demo-examples hf-org-small-examples --full"
