"""Retrievers of LangChain and neo4j-graphrag: only unknown facts about the entities of a question."""

import pytest

import kgprobe
from kgprobe.base.errors import ArgumentError
from kgprobe.graph.client import Graph
from kgprobe.graph.names import entities_in_text
from kgprobe.labelling.table import LabelTable

QUESTION = "Which countries border france, and what is the capital of the Czech Republic?"


def expected(table: LabelTable, limit: int) -> list[str]:
    asked = [each for each in table.rows() if each.basis == "asked"]
    touching = [each for each in asked if {each.subject, each.object} & {"Q142", "Q213"} and each.known < 0.5]
    return [each.fact for each in sorted(touching, key=lambda each: (each.known_high, each.known, each.fact))][:limit]


def test_entities_in_a_text_are_found_by_their_longest_names(example: Graph) -> None:
    # Q5119 is the type capital, which has no facts.
    assert entities_in_text(example, QUESTION) == ["Q142", "Q5119", "Q213"]
    # Guinea is a country, too.
    assert entities_in_text(example, "Is Papua New Guinea larger than France?") == ["Q691", "Q142"]
    assert entities_in_text(example, "Of it, to the?") == []


def test_langchain_documents_are_unknown_facts_of_the_question(
    example: Graph, table: LabelTable, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("langchain_core", reason="langchain-core is not installed (extra rag)")
    documents = kgprobe.langchain_retriever(example, table, limit=5).invoke(QUESTION)
    left_out = sum(each.basis == "predicted" and each.known < 0.5 for each in table.rows())
    assert f"{left_out:,} facts unknown by prediction alone (`predicted` takes them, too)" in capsys.readouterr().err
    taken = kgprobe.langchain_retriever(example, table, limit=500, predicted=True).invoke(QUESTION)
    assert {document.metadata["basis"] for document in taken} == {"asked", "predicted"}
    assert "prediction" not in capsys.readouterr().err
    assert [document.metadata["fact"] for document in documents] == expected(table, 5)
    assert all(document.metadata["known"] < 0.5 for document in documents)
    texts = {fact.fact: fact.text for fact in kgprobe.unknown_facts(example, table)}
    assert [document.page_content for document in documents] == [texts[fact] for fact in expected(table, 5)]
    assert kgprobe.langchain_retriever(example, table).invoke("Who is it?") == []
    with pytest.raises(ArgumentError, match="`steps` is not an option of retrievers"):
        kgprobe.langchain_retriever(example, table, steps=2)


def test_graphrag_items_are_unknown_facts_of_the_question(example: Graph, table: LabelTable) -> None:
    pytest.importorskip("neo4j_graphrag", reason="neo4j-graphrag is not installed (extra rag)")
    result = kgprobe.graphrag_retriever(example, table).search(query_text=QUESTION, top_k=4)
    assert [item.metadata["fact"] for item in result.items] == expected(table, 4)
    texts = {fact.fact: fact.text for fact in kgprobe.unknown_facts(example, table)}
    assert [item.content for item in result.items] == [texts[fact] for fact in expected(table, 4)]
    tool = kgprobe.graphrag_retriever(example, table).convert_to_tool("unknown", "Unknown facts.")
    assert {"query_text", "top_k"} == set(tool.get_parameters()["properties"])
