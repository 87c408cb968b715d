"""The prose is plain: readers of scikit-learn, Hugging Face and Neo4j understand it at first reading."""

from pathlib import Path

import pytest

from tests import prose

# Places in a message of a failed test.
SHOWN = 20


@pytest.fixture(scope="module")
def passages() -> list[tuple[Path, int, str]]:
    return [(path, line, text) for path in prose.files() for line, text in prose.passages(path)]


def modules() -> list[Path]:
    return [path for path in prose.files() if path.suffix == ".py"]


def shown(places: list[tuple[Path, int, str]]) -> str:
    lines = [f"{path.relative_to(prose.ROOT)}:{line}: {' '.join(text.split())[:100]}" for path, line, text in places]
    return "\n".join(lines[:SHOWN])


@pytest.mark.parametrize("habit", prose.HABITS, ids=lambda habit: habit.name.partition(":")[0])
def test_prose_habit_is_rare(habit: prose.Habit, passages: list[tuple[Path, int, str]]) -> None:
    words = sum(len(text.split()) for _, _, text in passages)
    places = [(path, line, text) for path, line, text in passages for _ in habit.pattern.finditer(text)]
    assert 1000 * len(places) / words <= habit.most, f"{habit.name}\n{shown(places)}"


def test_docstrings_open_with_a_verb_or_a_noun() -> None:
    everything = [(path, line, text) for path in modules() for line, text in prose.docstrings(path)]
    clauses = [place for place in everything if prose.CLAUSE.match(place[2])]
    assert len(clauses) / len(everything) <= prose.MOST_CLAUSES, shown(clauses)


@pytest.mark.parametrize("room", ["kgprobe", "loaders"])
def test_docstrings_of_functions_open_with_a_verb(room: str) -> None:
    everything = [
        (path, *place) for path in sorted((prose.ROOT / room).rglob("*.py")) for place in prose.functions(path)
    ]
    nouns = [(path, line, text) for path, line, _, text in everything if prose.ARTICLE.match(text)]
    assert not nouns, shown(nouns)


def test_docstrings_of_tests_open_with_a_verb_or_a_noun() -> None:
    everything = [(path, *place) for path in prose.tests() for place in prose.docstrings(path)]
    clauses = [place for place in everything if prose.CLAUSE.match(place[2])]
    assert len(clauses) / len(everything) <= prose.MOST_CLAUSES, shown(clauses)


def test_names_of_tests_are_short() -> None:
    everything = [(path, line, name) for path in prose.tests() for line, name, _ in prose.functions(path)]
    long = [place for place in everything if place[2].startswith("test_") and len(place[2]) > prose.LONGEST_NAME]
    assert not long, shown(long)


def test_variables_name_their_content() -> None:
    everything = [(path, line, name) for path in modules() for line, name in prose.bindings(path)]
    vague = [place for place in everything if place[2] in prose.VAGUE]
    assert len(vague) / len(everything) <= prose.MOST_VAGUE, shown(vague)
