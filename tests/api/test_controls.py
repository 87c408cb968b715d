"""``kgprobe.sample_controls``, and ``kgprobe.check`` with roles: files, matching, notes, errors."""

from collections import Counter
from pathlib import Path

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.labelling.controls import ControlSample
from kgprobe.labelling.roles import FAR, NEAR, FactRole, read_roles, write_roles
from kgprobe.models.model import Model
from kgprobe.sampling.selection import list_facts
from tests.stored import store_measurement

AS_OF = "2025-12"


def drawn(graph: Graph, near: object, **options: object) -> ControlSample:
    return kgprobe.sample_controls(graph, near, **{"as_of": AS_OF, "limit": 25, **options})


def names_of(sample: ControlSample, role: str) -> set[str]:
    return {own.fact for own in sample.roles if own.role == role}


@pytest.fixture(scope="module")
def capitals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("taught") / "taught.txt"
    path.write_text("France | capital | Paris\nGermany | capital | Berlin\nAtlantis | capital | Poseidonis\n")
    return path


@pytest.fixture(scope="module")
def sample(example_graph: Graph, capitals: Path) -> ControlSample:
    return drawn(example_graph, capitals)


def test_controls_are_drawn_stored_and_asked(
    example_graph: Graph, capitals: Path, sample: ControlSample, tiny: Model, tmp_path: Path
) -> None:
    assert [ring.role for ring in sample.rings] == [*NEAR, FAR]
    assert all(0 < ring.facts <= 25 for ring in sample.rings), sample
    assert names_of(sample, "taught") == {
        row["fact"]
        for row in example_graph.read(
            "sample/triples",
            rows=[
                {"index": 0, "subject": "Q142", "relation": "P36", "object": "Q90"},
                {"index": 1, "subject": "Q183", "relation": "P36", "object": "Q64"},
            ],
        )
    }
    assert any("Atlantis" in note for note in sample.notes)
    path = sample.write(tmp_path / "roles.jsonl")
    assert list(read_roles(path)) == sample.roles
    # A file of roles is a list of facts, and its taught facts give the same controls.
    again = drawn(example_graph, path)
    assert again.roles == sample.roles
    assert f"Replaced: {sum(ring.facts for ring in sample.rings)} control facts of the file." in again.notes
    options = {"facts": path, "distractors": 2, "sentences": 1, "as_of": AS_OF}
    base = kgprobe.measure(example_graph, tiny, **options, name="before")
    tuned = kgprobe.measure(example_graph, tiny, **options, name="after")
    found = kgprobe.check(base, tuned, roles=path, margin=0.5)
    answered = Counter(role.role for role in sample.roles if role.fact in set(base.to_frame()["fact"]))
    assert {ring.role: ring.listed for ring in found.rings} == {ring: answered[ring] for ring in (*NEAR, FAR)}
    assert {ring.loss.value for ring in found.rings if ring.facts} == {0.0}
    assert [(gain.role, gain.gain.value) for gain in found.gains] == [("taught", 0.0)]
    # A draw by the answers from which the loss is measured would let rings lose that lost nothing.
    with pytest.raises(TypeError, match="'base'"):
        drawn(example_graph, capitals, base=base)


def test_controls_held_out_facts_stay(example_graph: Graph, sample: ControlSample, tmp_path: Path) -> None:
    held = next(role for role in sample.roles if role.role == "same subject")
    roles = [role for role in sample.roles if role.role == "taught"] + [FactRole(held.subject, held.fact, "held out")]
    write_roles(tmp_path / "roles.jsonl", roles)
    again = drawn(example_graph, tmp_path / "roles.jsonl")
    assert (again.taught, again.held_out) == (2, 1)
    assert names_of(again, "held out") == {held.fact}
    assert [role.fact for role in again.roles].count(held.fact) == 1


def test_controls_name_what_was_looked_up_and_what_exists(example_graph: Graph, tmp_path: Path) -> None:
    data, listed, roles = (tmp_path / name for name in ("train.jsonl", "facts.txt", "roles.jsonl"))
    data.write_text('{"text": "Frodo lives in the Shire"}\n')
    with pytest.raises(
        ArgumentError, match=r"`near` names no entity .* such as Frodo lives in the Shire,.* entities such as "
    ):
        drawn(example_graph, data)
    listed.write_text("Atlantis | capital | Poseidonis\n")
    with pytest.raises(ArgumentError, match=r"`near` names no fact .*Atlantis.* `kgprobe sample facts`"):
        drawn(example_graph, listed)
    write_roles(roles, [FactRole("Q142", "none", "taught")])
    with pytest.raises(ArgumentError, match=r"`near` names no fact .*no fact 'none' of 'Q142'"):
        drawn(example_graph, roles)
    write_roles(roles, [FactRole("Q142", "none", "far")])
    with pytest.raises(ArgumentError, match="has the role 'taught'"):
        drawn(example_graph, roles)
    with pytest.raises(ArgumentError, match="`near` cannot be read"):
        drawn(example_graph, tmp_path / "nowhere")
    with pytest.raises(ArgumentError, match="`match` is 'size'"):
        drawn(example_graph, listed, match="size")


def test_controls_say_that_a_file_is_empty(example_graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "facts.txt"
    path.write_text("\n")
    with pytest.raises(ArgumentError, match="`near` is empty: it lists no facts"):
        drawn(example_graph, path)
    path.write_text("Atlantis | capital | Poseidonis\nThule | capital | Poseidonis\n")
    with pytest.raises(ArgumentError) as error:
        drawn(example_graph, path)
    # A sentence each.
    assert ".;" not in str(error.value)
    assert f". {path}, line 2: " in str(error.value)


def test_lists_of_facts_may_begin_with_a_byte_order_mark(example_graph: Graph, tmp_path: Path) -> None:
    path = tmp_path / "marked.txt"
    path.write_text("France | capital | Paris\n", encoding="utf-8-sig")
    expected = {key.fact for key in list_facts(example_graph, path, 20251201).keys}
    assert names_of(drawn(example_graph, path, limit=3), "taught") == expected != set()
    # As `kgprobe probe --facts` opens it.
    with open(path, encoding="utf-8") as file:
        assert {key.fact for key in list_facts(example_graph, file, 20251201).keys} == expected
    path.write_text('{"text": "Paris is the capital of France"}\n', encoding="utf-8-sig")
    assert expected <= names_of(drawn(example_graph, path, limit=3), "taught")


def test_roles_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    roles = [FactRole("s", "f", "taught")]
    write_roles(tmp_path / "roles.jsonl", roles)
    (tmp_path / "marked.jsonl").write_text((tmp_path / "roles.jsonl").read_text(), encoding="utf-8-sig")
    assert list(read_roles(tmp_path / "marked.jsonl")) == roles


def test_controls_say_why_a_ring_is_empty(example_graph: Graph, capitals: Path) -> None:
    sample = drawn(example_graph, capitals, match="popularity")
    assert all(ring.facts == 0 for ring in sample.rings)
    assert any("the popularity of an end is unknown" in note for note in sample.notes)
    small = drawn(example_graph, capitals, max_degree=5)
    assert any("taught entities have more than 5 facts" in note for note in small.notes)
    assert any(note.startswith("No facts in the ring neighbour: ") for note in small.notes)


def test_roles_of_a_result_without_them_are_named(tmp_path: Path) -> None:
    base = kgprobe.open(store_measurement(tmp_path / "base", {"f1": True}))
    tuned = kgprobe.open(store_measurement(tmp_path / "tuned", {"f1": True}, model="tuned", seed=1))
    with pytest.raises(ArgumentError, match="`tuned` differs from the base in more than the model: seed"):
        kgprobe.check(base, tuned, roles=[FactRole("s-f1", "f1", FAR)])
    with pytest.raises(ArgumentError, match="`margin` is 2"):
        kgprobe.check(base, tuned, roles=[], margin=2)
