"""Published edits: prompts, answers and criteria of each format become questions."""

from typing import Any

import pytest

from kgprobe.edits.edit_files import COUNTERFACT, EASYEDIT, RIPPLEEDITS, EditFile
from kgprobe.edits.published import published_questions
from kgprobe.edits.questions import EditQuestion


def questions_of(name: str, *records: dict[str, Any]) -> dict[str, list[EditQuestion]]:
    """Questions by ``group/kind``."""
    questions, _ = published_questions(EditFile(name, list(enumerate(records, start=1)), ()))
    assert len({question.id for question in questions}) == len(questions)
    kinds: dict[str, list[EditQuestion]] = {}
    for question in questions:
        kinds.setdefault(f"{question.group}/{question.kind}", []).append(question)
    return kinds


def names(question: EditQuestion) -> list[tuple[str, ...]]:
    return [answer.names for answer in question.expected]


def test_easyedit_record_of_knowedit_gives_all_criteria() -> None:
    record = {
        "subject": "Aldo Moor",
        "prompt": "The employer of Aldo Moor is",
        "target_new": "Oslo Zoo",
        "ground_truth": ["Rome Zoo"],
        "rephrase_prompt": "Aldo Moor works at which zoo?",
        "portability": {
            "Subject_Aliasing": [{"prompt": "The employer of A. Moor is", "ground_truth": "Oslo Zoo"}],
            "Reasoning": [{"prompt": "The city of Aldo Moor's employer is", "ground_truth": [["Oslo", "Kristiania"]]}],
            "Logical_Generalization": [{"prompt": "Is Aldo Moor out of work?", "ground_truth": [["no"], ["false"]]}],
        },
        "locality": {
            "Relation_Specificity": [
                {"prompt": "The gender of Aldo Moor is", "ground_truth": "male"},
                {"prompt": "The age of Aldo Moor is", "ground_truth": ""},
            ],
            "Forgetfulness": [{"prompt": "Aldo Moor worked for, apart from Oslo Zoo,", "ground_truth": "Bern Zoo"}],
        },
    }
    kinds = questions_of(EASYEDIT, record)
    assert set(kinds) == {
        *("efficacy/efficacy", "generality/paraphrase", "generality/subject alias", "portability/two hops"),
        *("portability/logical generalisation", "locality/same subject", "locality/other objects"),
    }
    (statement,), (paraphrase,) = kinds["efficacy/efficacy"], kinds["generality/paraphrase"]
    assert (statement.prompt, statement.form, names(statement)) == (record["prompt"], "text", [("Oslo Zoo",)])
    assert [(answer.names, answer.role) for answer in paraphrase.wrong] == [(("Rome Zoo",), "old")]
    assert paraphrase.form == "question"
    assert names(kinds["portability/two hops"][0]) == [("Oslo", "Kristiania")]
    logical = kinds["portability/logical generalisation"][0]
    assert (logical.form, names(logical)) == ("yes/no", [("no",)])
    # A prompt without an answer gives none.
    assert len(kinds["locality/same subject"]) == 1


def test_easyedit_record_of_zsre_has_a_natural_question() -> None:
    record = {
        "src": "What is the capital of Spain?",
        "alt": "Oslo",
        "answers": ["Madrid"],
        "rephrase": "Spain is ruled from which city?",
        "loc": "nq question: who wrote the lusiads",
        "loc_ans": "Luís de Camões",
        "portability": {"New Question": "In which country is the capital of Spain?", "New Answer": "Norway"},
    }
    kinds = questions_of(EASYEDIT, record)
    (unrelated,) = kinds["locality/unrelated"]
    assert (unrelated.prompt, unrelated.form) == ("who wrote the lusiads?", "question")
    assert names(kinds["portability/two hops"][0]) == [("Norway",)]


def test_easyedit_record_with_lists_of_prompts_gives_each() -> None:
    record = {
        "prompt": "Oslo lies in",
        "target_new": "Peru",
        "locality": {"neighborhood": {"prompt": ["Bergen lies in", "Narvik lies in"], "ground_truth": ["Norway"] * 2}},
    }
    neighbours = questions_of(EASYEDIT, record)["locality/same relation"]
    assert [question.prompt for question in neighbours] == ["Bergen lies in", "Narvik lies in"]


def test_counterfact_neighbours_keep_the_old_object() -> None:
    record = {
        "requested_rewrite": {
            "prompt": "{} lies in",
            "subject": "Oslo",
            "target_new": {"str": "Peru", "id": "Q419"},
            "target_true": {"str": "Norway", "id": "Q20"},
        },
        "paraphrase_prompts": ["Where is Oslo? It is in"],
        "neighborhood_prompts": ["Bergen lies in", "Narvik lies in"],
    }
    kinds = questions_of(COUNTERFACT, record)
    assert kinds["efficacy/efficacy"][0].prompt == "Oslo lies in"
    first, _ = kinds["locality/same relation"]
    assert names(first) == [("Norway",)]
    assert [(answer.names, answer.role) for answer in first.wrong] == [(("Peru",), "new")]


def query(prompt: str, value: str, target: str, *aliases: str, **others: Any) -> dict[str, Any]:
    answers = [{"value": value, "aliases": list(aliases)}]
    return {"prompt": prompt, "answers": answers, "query_type": "regular", "target_ids": [target], **others}


def ripple(original: bool = True) -> dict[str, Any]:
    edit: dict[str, Any] = {
        "prompt": "The name of the country of citizenship of Ada Berg is Peru.",
        "subject_id": "Q1",
        "relation": "COUNTRY_OF_CITIZENSHIP",
        "target_id": "Q419",
    }
    if original:
        edit["original_fact"] = edit | {
            "prompt": "The name of the country of citizenship of Ada Berg is Norway.",
            "target_id": "Q20",
        }
    second = query("The capital of the country of Ada Berg is", "Lima", "Q419", "City of Kings")
    second |= {"query_type": "two_hop", "second_hop_target_ids": ["Q2868"]}
    capital = query("The capital of Peru is", "Lima", "Q2868", "L")
    siblings = [query("Ada Berg's brother is", "Bo Berg", "Q5"), query("Ada Berg's sister is", "Bea Berg", "Q6")]
    aliased = query("The country of A. Berg is", "Peru", "Q419", "Republic of Peru")
    return {
        "example_type": "popular",
        "edit": edit,
        "Relation_Specificity": [{"test_queries": siblings, "test_condition": "AND", "condition_queries": []}],
        "Logical_Generalization": [],
        "Subject_Aliasing": [{"test_queries": [aliased], "test_condition": "OR", "condition_queries": []}],
        "Compositionality_I": [{"test_queries": [second], "test_condition": "OR", "condition_queries": [capital]}],
        "Compositionality_II": [],
        "Forgetfulness": [],
    }


@pytest.mark.parametrize("original", [True, False])
def test_rippleedits_record_gives_statement_and_criteria(original: bool) -> None:
    kinds = questions_of(RIPPLEEDITS, ripple(original))
    (statement,) = kinds["efficacy/efficacy"]
    assert statement.prompt == "The name of the country of citizenship of Ada Berg is"
    # Its names are those of queries with the same target.
    assert names(statement) == [("Peru", "Republic of Peru")]
    assert [answer.names for answer in statement.wrong] == ([("Norway",)] if original else [])
    (hop,), (condition,) = kinds["portability/two hops"], kinds["condition/condition"]
    assert hop.needs == (condition.id,)
    assert (condition.prompt, names(condition)) == ("The capital of Peru is", [("Lima",)])
    assert names(hop) == [("Lima", "City of Kings")]
    brother, sister = kinds["locality/same subject"]
    assert brother.case == sister.case is not None
    assert (brother.all_of_case, brother.every) == (True, True)


def test_rippleedits_record_without_object_is_reported() -> None:
    record = ripple(original=False)
    record["Subject_Aliasing"] = []
    questions, problems = published_questions(EditFile(RIPPLEEDITS, [(1, record), (2, ripple())], ()))
    assert {question.edit for question in questions} == {"e2"}
    assert problems == ["record 1: the sentence of its edit does not give the new object; skipped."]
