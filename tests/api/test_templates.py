"""Templates as a user calls for them, on both engines."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError, KgprobeError, UnknownNameError
from kgprobe.base.records import Entity, Fact, Relation
from kgprobe.graph.client import Graph
from kgprobe.graph.ingest import load
from kgprobe.models.generating.generator import Answer, Generator, Request
from kgprobe.models.model import Model
from tests.models.tiny import byte_level, random_model, tiny_scorer
from tests.written_source import WrittenSource

if TYPE_CHECKING:
    from kgprobe.verbalize.templates.writing import WrittenRelation

ENTITIES = [Entity(name.lower(), name) for name in ("Paris", "Tokyo", "Berlin", "Warsaw", "France", "Japan")]
FACTS = [
    Fact("f1", "paris", "R1", "tokyo"),
    Fact("f2", "berlin", "R1", "warsaw"),
    Fact("f3", "france", "R3", "japan", end="1999"),
    Fact("f4", "paris", "R2", "warsaw"),
    Fact("f5", "france", "P36", "paris"),
]
RELATIONS = [
    Relation("P36", "capital", clozes=("The capital of [X] is [Y]",), wh_questions=("What is the capital of [X]?",)),
    Relation("R1", "twin town"),
    Relation("R2"),
    Relation("R3", "ruled by"),
    Relation("R4", "idle", active=False),
]


@pytest.fixture
def bare(graph: Graph) -> Graph:
    """Some relations of which one has a cloze."""
    load(graph, WrittenSource(ENTITIES, FACTS, RELATIONS))
    return graph


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_list_fills_templates_with_facts(bare: Graph) -> None:
    listed = kgprobe.list_templates(bare, ["P36"], as_of="2024")
    assert listed.rows() == [
        {
            "relation": "P36",
            "label": "capital",
            "kind": "cloze",
            "template": "The capital of [X] is [Y]",
            "sentence": "The capital of France is … Paris",
            "fact": "f5",
        },
        {
            "relation": "P36",
            "label": "capital",
            "kind": "wh_question",
            "template": "What is the capital of [X]?",
            "sentence": "What is the capital of France?",
            "fact": "f5",
        },
    ]
    assert listed.to_frame().shape == (2, 6)
    assert kgprobe.list_templates(bare).rows() == listed.rows()
    none = kgprobe.list_templates(bare, ["R1"])
    assert (len(none), list(none.to_frame())) == (0, list(listed.to_frame()))
    assert none.notes == ("No relation has templates; `kgprobe templates write` writes some.",)
    with pytest.raises(UnknownNameError, match="No relation of this graph is called 'P9'"):
        kgprobe.list_templates(bare, ["P9"])


def test_check_of_a_graph_and_of_a_file(bare: Graph, tmp_path: Path) -> None:
    done: list[tuple[int, int]] = []
    checked = kgprobe.check_templates(bare, on_progress=lambda now: done.append((now.done, now.total)))
    assert (checked.relations, checked.templates, checked.errors, checked.flaws) == (5, 2, 0, [])
    assert checked.without_clozes == ["R1", "R2", "R3"]
    assert done == [(n, 5) for n in range(1, 6)]
    assert checked.summary().startswith("2 templates of 5 relations: 0 errors, 0 warnings.\nWithout a cloze: 3")
    path = tmp_path / "relations.jsonl"
    path.write_text(json.dumps({"id": "P1", "clozes": ["The the head of [X] is [Y]"]}) + '\n{"id": "P2"}\n')
    read = kgprobe.check_templates(path)
    assert (read.relations, read.templates, read.errors) == (2, 1, 1)
    assert read.to_frame()["problem"].tolist() == ["has two determiners in a row: 'The the'"]
    assert (read.to_dict()["flaws"], read.to_dict()["errors"], read.without_clozes) == (read.rows(), 1, ["P2"])
    assert kgprobe.check_templates(str(path), ["P2"]).errors == 0
    with pytest.raises(KgprobeError, match=r"none\.jsonl"):
        kgprobe.check_templates(tmp_path / "none.jsonl")


def test_write_from_labels_goes_on_and_loads(bare: Graph, tmp_path: Path) -> None:
    path = tmp_path / "templates.jsonl"
    first = kgprobe.write_templates(bare, path, from_label=True, relations=["R1", "P36"])
    assert first.to_frame()[["relation", "kind", "template", "written_by", "source"]].values.tolist() == [
        ["P36", "statement", "The capital of [X] is [Y].", "label", "generic"],
        ["P36", "yes_no_question", "Is [Y] the capital of [X]?", "label", "generic"],
        ["P36", "reverse_cloze", "[Y] is the capital of [X]", "label", "generic"],
        ["R1", "cloze", "The twin town of [X] is [Y]", "label", "generic"],
        ["R1", "past_cloze", "The twin town of [X] was [Y]", "label", "generic"],
        ["R1", "statement", "The twin town of [X] is [Y].", "label", "generic"],
        ["R1", "yes_no_question", "Is [Y] the twin town of [X]?", "label", "generic"],
        ["R1", "wh_question", "What is the twin town of [X]?", "label", "generic"],
        ["R1", "reverse_cloze", "[Y] is the twin town of [X]", "label", "generic"],
    ]
    assert first.notes == []
    before = path.read_text()
    told: list[WrittenRelation] = []
    done: list[tuple[int, int]] = []
    second = kgprobe.write_templates(
        bare, path, from_label=True, on_written=told.append, on_progress=lambda now: done.append((now.done, now.total))
    )
    assert [(one.relation.id, one.reason) for one in told] == [("R2", "it has no label"), ("R3", None)]
    assert done == [(0, 2), (1, 2), (2, 2)]
    assert (list(dict.fromkeys(row.relation for row in second.templates)), [row.relation for row in second.failed]) == (
        ["R3"],
        ["R2"],
    )
    assert second.notes == [
        f"{path} has 2 relations already; `force` overwrites it.",
        "1 relation still without new templates.",
    ]
    assert path.read_text().startswith(before)
    lines = lines_of(path)
    assert [(line["id"], line["written_by"]) for line in lines] == [
        ("P36", "label"),
        ("R1", "label"),
        ("R3", "label"),
    ]
    assert lines[0]["clozes"] == ["The capital of [X] is [Y]"]
    assert lines[0]["sources"] == dict.fromkeys(("statements", "yes_no_questions", "reverse_clozes"), "generic")
    # Its fact has an end.
    assert (lines[2]["clozes"], lines[2]["past_clozes"]) == (["[X] is ruled by [Y]"], ["[X] was ruled by [Y]"])
    assert kgprobe.check_templates(path).errors == 0
    assert not second.loaded
    assert not kgprobe.list_templates(bare, ["R1"])
    anew = kgprobe.write_templates(bare, path, from_label=True, force=True, load=True)
    assert (anew.loaded, anew.kept, len(lines_of(path))) == (True, 0, 3)
    assert kgprobe.list_templates(bare, ["R1"]).rows()[0]["template"] == "The twin town of [X] is [Y]"
    path.write_text("no relation\n")
    with pytest.raises(KgprobeError, match="line 1"):
        kgprobe.write_templates(bare, path, from_label=True)
    assert path.read_text() == "no relation\n"


TWIN = """\
The twin town of [X] is [Y].
Statement: [X] has the twin town [Y].
Yes/no question: Is [Y] a twin town of [X]?
Wh-question: Which twin town does [X] have?
Reverse sentence: [Y] is the twin town of [X].
Reverse wh-question: Which town has the twin town [Y]?
"""


class Scripted:
    """Generator that answers by the relation at the end of the prompt."""

    name = "scripted"

    def __init__(self, answers: Mapping[str, str] | None = None) -> None:
        self.prompts: list[str] = []
        self._answers = answers or {"twin town": TWIN, "ruled by": "Nothing."}

    def describe(self) -> dict[str, object]:
        return {}

    def answer(self, requests: list[Request], progress: object = None) -> list[Answer]:
        assert progress is None
        self.prompts += [request.prompt for request in requests]
        labels = [request.prompt.rpartition("Relation: ")[2].splitlines()[0] for request in requests]
        return [Answer(self._answers.get(label, "")) for label in labels]


def answering(generator: Generator) -> Model:
    """Return a model that answers by a script; its weights are random, and its scores are real."""
    return Model("tiny", scorer=tiny_scorer(n_positions=2048), generator=generator)


def test_write_by_a_model(bare: Graph, tmp_path: Path) -> None:
    path = tmp_path / "templates.jsonl"
    generator = Scripted()
    model = answering(generator)
    result = kgprobe.write_templates(bare, path, model=model, proposals=2, relations=["R1", "R3"])
    rows = {row["template"]: row for row in result.rows() if row["relation"] == "R1"}
    cloze = rows["The twin town of [X] is [Y]"]
    assert {row["written_by"] for row in rows.values()} == {"tiny"}
    # What fails the second reading is replaced.
    read = [row for row in rows.values() if row["reading"] is not None]
    assert all(row["source"] == "model" and row["reading"] > 1 / 3 for row in read)
    line, ruled = lines_of(path)
    assert line["sources"].keys() == {f"{row['kind']}s" for row in rows.values()}
    if cloze["source"] == "model":
        assert cloze["log_probability"] < 0
        assert line["log_probabilities"] == [round(cloze["log_probability"], 3)]
    # No answer has a template of it, so that all are generic, and listed.
    assert set(ruled["sources"].values()) == {"generic"}
    assert (ruled["clozes"], ruled["past_clozes"]) == (["[X] is ruled by [Y]"], ["[X] was ruled by [Y]"])
    doubts = [row for row in result.to_dict()["look_through"] if row["relation"] == "R3"]
    assert {"kind": "cloze", "template": "[X] is ruled by [Y]"}.items() <= doubts[0].items()
    assert doubts[0]["reason"] == "is made from the label: none of 2 answers has one"
    assert "To look through" in repr(result)
    assert [prompt.rpartition("[X] = ")[2] for prompt in generator.prompts[:1]] == ["Berlin, [Y] = Warsaw\nSentence:"]
    # The next call has nothing to ask.
    asked = len(generator.prompts)
    assert kgprobe.write_templates(bare, path, model=model, relations=["R1", "R3"]).kept == 2
    assert len(generator.prompts) == asked
    none = kgprobe.write_templates(
        bare, tmp_path / "none.jsonl", model=model, proposals=2, relations=["R3"], fallback="none"
    )
    assert [each.reason for each in none.failed] == ["none of 2 answers has a sentence with [X] and [Y]"]


GERMAN_TWIN = """\
Die Partnerstadt von [X] ist [Y].
Statement: [X] hat die Partnerstadt [Y].
Yes/no question: Hat [X] die Partnerstadt [Y]?
Wh-question: Was ist die Partnerstadt von [X]?
"""


def named(label: str) -> dict[str, dict[str, str]]:
    return {"de": {"label": label}}


def test_write_in_language_stores_its_templates_alone(graph: Graph, tmp_path: Path) -> None:
    entities = [Entity("a", "Munich", texts=named("München")), Entity("b", "Cracow", texts=named("Krakau"))]
    english = Relation("R1", "twin town", clozes=("The twin town of [X] is [Y]",), texts=named("Partnerstadt"))
    facts = [Fact("f", "a", "R1", "b")]
    load(graph, WrittenSource(entities, facts, [english], languages=("en", "de", "zh-Hans", "pl")))
    path, generator = tmp_path / "german.jsonl", Scripted({"Partnerstadt": GERMAN_TWIN})
    model = Model("openai:scripted", generator=generator)
    german = graph.in_language("de")
    result = kgprobe.write_templates(german, path, model=model, proposals=2, load=True)
    assert generator.prompts[0].endswith("Relation: Partnerstadt\nExample: [X] = München, [Y] = Krakau\nSentence:")
    assert result.notes == [
        "No relation has templates of all kinds in German: the prompt shows English ones.",
        "Not checked by rules in German: tense, direction. Review the templates.",
    ]
    [line] = lines_of(path)
    assert (line["label"], line["clozes"], "statements" in line) == ("twin town", [*english.clozes], False)
    own = line["de"]
    assert own == {
        "label": "Partnerstadt",
        "clozes": ["Die Partnerstadt von [X] ist [Y]"],
        "statements": ["[X] hat die Partnerstadt [Y]."],
        "yes_no_questions": ["Hat [X] die Partnerstadt [Y]?"],
        "wh_questions": ["Was ist die Partnerstadt von [X]?"],
        "reverse_clozes": ["[Y] ist Partnerstadt von [X]"],
    }
    # The graph has them in that language alone.
    listed = {row["template"] for row in kgprobe.list_templates(german, ["R1"]).rows()}
    assert listed >= {"Die Partnerstadt von [X] ist [Y]", "[X] hat die Partnerstadt [Y]."}
    assert [row["template"] for row in kgprobe.list_templates(graph, ["R1"]).rows()] == [*english.clozes]
    asked = len(generator.prompts)
    assert kgprobe.write_templates(german, path, model=model).templates == []
    assert len(generator.prompts) == asked
    # A file of another language is not continued.
    with pytest.raises(KgprobeError, match=r"german\.jsonl, line 1: R1 has no templates in 'zh-Hans'\. Write into"):
        kgprobe.write_templates(graph.in_language("zh-hans"), path, from_label=True)
    with pytest.raises(ArgumentError, match="`from_label` is for languages with generic templates; pl has none"):
        kgprobe.write_templates(graph.in_language("pl"), path, from_label=True)
    chinese = kgprobe.write_templates(graph.in_language("zh-hans"), path, from_label=True, force=True, load=True)
    assert {row.source for row in chinese.templates} == {"generic"}
    assert list(lines_of(path)[0].keys() & {"zh-hans", "zh_hans"}) == ["zh-hans"]
    assert kgprobe.list_templates(graph.in_language("zh-hans"), ["R1"]).rows()


def test_ended_call_continues_with_the_next_relation(bare: Graph, tmp_path: Path) -> None:
    """Each relation is in the file as soon as it is written, and asked once."""
    path = tmp_path / "templates.jsonl"

    class KilledError(BaseException):
        pass

    class Killing(Scripted):
        def answer(self, requests: list[Request], progress: object = None) -> list[Answer]:
            if any("Relation: ruled by" in request.prompt for request in requests):
                raise KilledError
            return super().answer(requests, progress)

    with pytest.raises(KilledError):
        kgprobe.write_templates(bare, path, model=answering(Killing()), relations=["R1", "R3"])
    assert [line["id"] for line in lines_of(path)] == ["R1"]
    generator = Scripted()
    rest = kgprobe.write_templates(bare, path, model=answering(generator), relations=["R1", "R3"])
    assert (rest.kept, [line["id"] for line in lines_of(path)]) == (1, ["R1", "R3"])
    assert all("Relation: ruled by" in prompt for prompt in generator.prompts)


def test_why_a_model_wrote_nothing(bare: Graph, tmp_path: Path) -> None:
    tokenizer = byte_level(bos=True)
    narrow = kgprobe.wrap_model(random_model("gpt2", len(tokenizer)), tokenizer, name="narrow")
    result = kgprobe.write_templates(bare, tmp_path / "t.jsonl", model=narrow, relations=["R2"])
    assert (result.templates, result.tables()) == ([], [])
    assert "longer than the 256 that the model accepts" in str(result.failed[0].reason)
    assert result.to_dict()["failed"][0]["relation"] == "R2"


def test_arguments_of_writing_that_cannot_be(bare: Graph, tiny: Model, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for call in ({}, {"model": tiny, "from_label": True}):
        with pytest.raises(ArgumentError, match="`model` or `from_label` is expected, exactly one of them"):
            kgprobe.write_templates(bare, path, **call)
    for name in ("proposals", "keep"):
        with pytest.raises(ArgumentError, match=f"`{name}` is 0; a whole number from 1 is expected"):
            kgprobe.write_templates(bare, path, from_label=True, **{name: 0})
    with pytest.raises(ArgumentError, match="`fallback` is 'own'; expected one of generic, none"):
        kgprobe.write_templates(bare, path, from_label=True, fallback="own")
    assert not path.exists()


def test_convert_makes_a_file_that_loads(tmp_path: Path) -> None:
    source, path = tmp_path / "P19.jsonl", tmp_path / "templates.jsonl"
    source.write_text(
        '{"pattern": "[X] was born in [Y] ."}\n{"pattern": "[Y] saw the birth of [X]."}\n{"pattern": 1}\n'
    )
    result = kgprobe.convert_patterns([source], path)
    assert result.notes == ("P19.jsonl, line 3: a text is expected, not 1.",)
    assert result.to_frame()[["kind", "template"]].values.tolist() == [
        ["cloze", "[X] was born in [Y]"],
        ["statement", "[Y] saw the birth of [X]."],
    ]
    counts = (result.relations, result.clozes, result.mined_clozes, result.statements, result.without_cloze)
    assert (counts, result.to_dict()["output"]) == ((1, 1, 0, 1, 0), str(path))
    assert result.summary() == f"{path}: 1 relation, 1 cloze, 1 statement; 0 without a cloze."
    assert kgprobe.check_templates(path).errors == 0
    with pytest.raises(KgprobeError, match="exists; `force` overwrites it, `output` names another file"):
        kgprobe.convert_patterns(source, path)
    kept = path.read_text()
    source.write_text('{"pattern": "nothing"}\n')
    with pytest.raises(KgprobeError, match=r"nothing is written\. P19\.jsonl, line 1"):
        kgprobe.convert_patterns(source, path, force=True)
    assert path.read_text() == kept


def test_mined_patterns_become_mined_clozes_the_best_first(tmp_path: Path, graph: Graph) -> None:
    hand, by_line, by_relation, path = (
        tmp_path / "lama.jsonl",
        tmp_path / "P19.jsonl",
        tmp_path / "mined.jsonl",
        tmp_path / "templates.jsonl",
    )
    hand.write_text('{"relation": "P36", "label": "capital", "template": "The capital of [X] is [Y] ."}\n')
    by_line.write_text(
        '{"template": "[X] , native of [Y] .", "weight": 0.2}\n{"template": "[Y] born [X]", "weight": 0.9}\n'
        '{"template": "[X] ( born in [Y]", "weight": 0.7}\n{"template": "[X] of [Y]", "weight": "much"}\n'
    )
    by_relation.write_text('{"relation": "P36", "templates": {"[X] \'s city [Y]": 0.1, "[X] , capital [Y]": 0.5}}\n')
    result = kgprobe.convert_patterns(hand, path, mined=[by_line, by_relation])
    assert sorted(result.notes) == [
        "P19.jsonl, line 2: P19: '[Y] born [X]' does not end in [Y].",
        "P19.jsonl, line 4: a number is expected for a weight, not 'much'.",
    ]
    assert (result.mined_clozes, len(result.notes)) == (4, 2)
    assert result.summary() == f"{path}: 2 relations, 1 cloze, 0 statements, 4 mined clozes; 0 without a cloze."
    # What is no sentence is no reason for a warning.
    checked = kgprobe.check_templates(path)
    assert (checked.templates, checked.flaws) == (5, [])
    kgprobe.load(graph, "table", relations=path)
    listed = [(row["kind"], row["template"]) for row in kgprobe.list_templates(graph, ["P36"]).rows()]
    assert listed == [
        ("cloze", "The capital of [X] is [Y]"),
        ("mined_cloze", "[X], capital [Y]"),
        ("mined_cloze", "[X]'s city [Y]"),
    ]
