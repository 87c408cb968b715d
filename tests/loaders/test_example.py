"""The example graph: enough of it, consistent, in good English, and not contradicted by what others collected."""

import itertools
import json
import re
from collections import Counter, defaultdict
from functools import cache
from typing import Any

import pytest

from benchmarks.check_example import COLLECTION, EXPLAINED, compare, differences, read_collection
from kgprobe.base.dates import first_day, last_day, today
from kgprobe.base.records import Entity, Fact, Placed, Relation
from kgprobe.loaders.example import FOLDER
from kgprobe.sources.contract import open_source
from kgprobe.verbalize.articles import without_article
from kgprobe.verbalize.language import language_of
from kgprobe.verbalize.sentences import Cloze, fill, object_continuations, wh_question
from kgprobe.verbalize.templates.check import check_relation
from kgprobe.verbalize.templates.kinds import KINDS, REVERSE_KINDS, check_template

HUMAN, CITY, CURRENCY, LANGUAGE, CONTINENT = "Q5", "Q515", "Q8142", "Q34770", "Q5107"
COUNTRY, ORGANIZATION, MOUNTAIN, PARTY = "Q6256", "Q484652", "Q8502", "Q7278"

# A type that all objects of the relation have, so that there are distractors of the same type.
COMMON_TYPE = {
    "P6": HUMAN,
    "P17": COUNTRY,
    "P19": CITY,
    "P30": CONTINENT,
    "P35": HUMAN,
    "P36": CITY,
    "P37": LANGUAGE,
    "P38": CURRENCY,
    "P47": COUNTRY,
    "P102": PARTY,
    "P159": CITY,
    "P463": ORGANIZATION,
    "P610": MOUNTAIN,
}


# Languages of the labels beside English.
LANGUAGES = ("de", "fr", "es", "zh")
# German has the same name for these rivers and countries.
SAME_NAME = {"Niger", "Senegal"}
LABELS = {
    "Q183": ("Deutschland", "Allemagne", "Alemania", "德国"),
    "Q39": ("Schweiz", "Suisse", "Suiza", "瑞士"),
    "Q36704": ("Jugoslawien", "Yougoslavie", "Yugoslavia", "南斯拉夫"),
    "Q1726": ("München", "Munich", "Múnich", "慕尼黑"),
    "Q85": ("Kairo", "Le Caire", "El Cairo", "开罗"),
    "Q36600": ("Den Haag", "La Haye", "La Haya", "海牙"),
    "Q9067": ("Ungarisch", "hongrois", "húngaro", "匈牙利语"),
    "Q25344": ("Schweizer Franken", "franc suisse", "franco suizo", "瑞士法郎"),
    "Q7747": ("Wladimir Putin", "Vladimir Poutine", "Vladímir Putin", "弗拉基米尔·普京"),
    "Q989": ("Johannes Paul II.", "Jean-Paul II", "Juan Pablo II", "约翰·保罗二世"),
    "Q584": ("Rhein", "Rhin", "Rin", "莱茵河"),
    "Q166": ("Schwarzes Meer", "mer Noire", "mar Negro", "黑海"),
    "Q1065": ("Vereinte Nationen", "Nations unies", "Naciones Unidas", "联合国"),
    "Q617511": ("Schneekoppe", "Sněžka", "Sněžka", "斯涅日卡山"),
    "Q34770": ("Sprache", "langue", "idioma", "语言"),
}
# English words, and the labels in other languages that have one.
ENGLISH = re.compile(
    r"\b(of|the|and|Mount|River|Lake|Sea|Ocean|Gulf|City|Party|Islands|North|South|East|Republic|Kingdom|United|World"
    r"|Organization|pound|crown|krone|ruble)\b"
)
ENGLISH_NAMES = {
    "de": {
        *("New York City", "Quezon City", "Port of Spain", "Commonwealth of Nations", "Bharatiya Janata Party"),
        *("Mount Everest", "Mount Cook", "Mount Logan", "Mount Wilhelm", "Mount Apo", "United States Whig Party"),
        *("Columbia River", "Hudson River", "Missouri River", "Yukon River", "Liberal Party", "Conservative Party"),
        *("Labour Party", "Australian Labor Party", "Liberal Party of Australia"),
    },
    "fr": {"Quezon City", "Koweït City", "Bharatiya Janata Party"},
    "es": {"Bharatiya Janata Party"},
}
# Articles in front of a name: names get their articles by rules. A relative pronoun is no article: in dem [X] liegt.
ARTICLE = {
    "de": r"(?<!, )(?<!, in )\b(?:der|die|das|dem|den|des|ein\w*|im|am|zum|zur|vom) (?=\[)",
    "fr": r"(?:\b(?:le|la|les|un|une|du|des|au|aux) |\b[dl]')(?=\[)",
    "es": r"\b(?:el|la|los|las|un|una|del|al) (?=\[)",
    "zh": "[A-Za-z]{2}",
}


@cache
def records() -> tuple[dict[str, Entity], dict[str, Relation], list[Fact]]:
    source = open_source("example")
    placed: list[Placed] = [*source.entities(), *source.relations(), *source.facts()]
    entities = {record.id: record for _, record, *_ in placed if isinstance(record, Entity)}
    relations = {record.id: record for _, record, *_ in placed if isinstance(record, Relation)}
    facts = [record for _, record, *_ in placed if isinstance(record, Fact)]
    assert len(placed) == len(entities) + len(relations) + len(facts), "a record is rejected, or an id occurs twice"
    return entities, relations, facts


def current(facts: list[Fact]) -> list[Fact]:
    now = today()
    return [
        fact
        for fact in facts
        if (fact.start is None or first_day(fact.start) <= now) and (fact.end is None or last_day(fact.end) >= now)
    ]


def test_there_is_enough_of_it() -> None:
    _, relations, facts = records()
    assert len(facts) >= 1500
    assert len({fact.relation for fact in facts}) >= 12
    assert sum(fact.start is not None or fact.end is not None for fact in facts) >= 200
    assert sum(fact.end is not None for fact in facts) >= 60
    assert min(Counter(fact.relation for fact in facts).values()) >= 30
    assert {fact.relation for fact in facts} == set(relations)
    assert sum(file.stat().st_size for file in FOLDER.glob("*.json*")) < 1.8e6


def test_every_entity_is_used_and_has_a_name() -> None:
    entities, _, facts = records()
    types = {type_ for entity in entities.values() for type_ in entity.types}
    used = {end for fact in facts for end in (fact.subject, fact.object)}
    assert used | types == set(entities)
    for entity in entities.values():
        assert entity.label
        assert entity.description
        assert entity.types or entity.id in types
        assert len({entity.label, *entity.aliases}) == 1 + len(entity.aliases)


def test_statements_differ_and_their_dates_are_in_order() -> None:
    _, _, facts = records()
    assert len({fact.id for fact in facts}) == len(facts)
    assert len({(fact.subject, fact.relation, fact.object, fact.start) for fact in facts}) == len(facts)
    for fact in facts:
        assert fact.id.startswith(f"{fact.subject}$")
        assert fact.subject != fact.object
        if fact.start is not None and fact.end is not None:
            assert first_day(fact.start) <= last_day(fact.end)


def test_objects_of_a_relation_share_a_type() -> None:
    entities, _, facts = records()
    for fact in facts:
        types = entities[fact.object].types
        assert COMMON_TYPE.get(fact.relation, types[0]) in types, fact
    members = Counter(type_ for entity in entities.values() for type_ in entity.types)
    for fact in facts:
        # Six continents and six kinds of lake or sea are the smallest; the object itself is one of them.
        assert max(members[type_] for type_ in entities[fact.object].types) >= 6


def test_one_object_at_a_time_where_the_world_has_one() -> None:
    entities, _, facts = records()
    now = defaultdict(list)
    for fact in current(facts):
        now[fact.subject, fact.relation].append(fact.object)
    several = {
        (entities[subject].label, relation)
        for (subject, relation), objects in now.items()
        if len(objects) > 1 and relation in {"P6", "P17", "P19", "P35", "P36", "P38", "P159", "P206", "P403", "P610"}
    }
    assert several == {("South Africa", "P36"), ("Lesotho", "P38"), ("Namibia", "P38"), ("Bhutan", "P38")}


def test_terms_of_an_office_do_not_overlap() -> None:
    _, _, facts = records()
    terms = defaultdict(list)
    for fact in facts:
        if fact.relation in {"P6", "P35"}:
            assert fact.start is not None
            terms[fact.subject, fact.relation].append(fact)
    for held in terms.values():
        held.sort(key=lambda fact: first_day(fact.start or ""))
        for before, after in itertools.pairwise(held):
            assert before.end is not None, (before, after)
            # A term may end on the day, or within the month or year, in which the next begins.
            assert first_day(before.end) <= last_day(after.start or ""), (before, after)


def test_borders_are_mutual() -> None:
    _, _, facts = records()
    borders = {(fact.subject, fact.object) for fact in facts if fact.relation == "P47"}
    assert borders == {(right, left) for left, right in borders}


def test_templates() -> None:
    _, relations, _ = records()
    for relation in relations.values():
        assert len(relation.clozes) >= 3
        assert relation.statements
        assert relation.yes_no_questions
        assert relation.wh_questions
        for kind, templates in (
            ("cloze", relation.clozes),
            ("past_cloze", relation.past_clozes),
            ("statement", relation.statements),
            ("yes_no_question", relation.yes_no_questions),
            ("wh_question", relation.wh_questions),
        ):
            for template in templates:
                assert check_template(kind, template) == [], template


def dumped(file: str) -> dict[str, dict[str, Any]]:
    text = (FOLDER / file).read_text(encoding="utf-8")
    objects = json.loads(text) if file.endswith(".json") else map(json.loads, text.splitlines())
    return {each["id"]: each for each in objects}


@pytest.mark.parametrize("language", LANGUAGES)
def test_labels_each_language_complete_and_unique(language: str) -> None:
    entities = dumped("entities.json")
    names = Counter(each["labels"][language]["value"] for each in entities.values())
    assert {name for name, count in names.items() if count > 1} == (SAME_NAME if language == "de" else set())
    for identifier, labels in LABELS.items():
        assert entities[identifier]["labels"][language]["value"] == labels[LANGUAGES.index(language)]
    for each in entities.values():
        assert each["labels"][language]["language"] == language
        aliases = [alias["value"] for alias in each["aliases"].get(language, [])]
        assert len({*aliases, each["labels"][language]["value"]}) == len(aliases) + 1
        assert names.keys().isdisjoint(aliases), aliases


def test_labels_no_english_left() -> None:
    for language, allowed in ENGLISH_NAMES.items():
        labels = {each["labels"][language]["value"] for each in dumped("entities.json").values()}
        assert {label for label in labels if ENGLISH.search(label)} == allowed
    chinese = re.compile(r"[\u4e00-\u9fff]+(?:[·-][\u4e00-\u9fff]+)*")
    for each in dumped("entities.json").values():
        assert chinese.fullmatch(each["labels"]["zh"]["value"]), each["labels"]["zh"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_templates_each_language_same_kinds_as_english(language: str) -> None:
    for identifier, relation in dumped("relations.jsonl").items():
        other = relation[language]
        assert other["label"]
        kinds = [kind for kind in (*KINDS, *REVERSE_KINDS) if f"{kind}s" in relation]
        assert set(other) == {"label", *(f"{kind}s" for kind in kinds)}, identifier
        for kind in kinds:
            templates = other[f"{kind}s"]
            assert len(set(templates)) == len(relation[f"{kind}s"]), (identifier, kind)
            for template in templates:
                assert check_template(kind, template) == [], template
                assert not re.search(ARTICLE[language], template, re.IGNORECASE), template
        own = Relation(identifier, **{name: value for name, value in other.items() if name != "label"})
        assert check_relation(own, (), language_of(language)) == []


def test_what_can_end_has_sentences_in_the_past() -> None:
    _, relations, facts = records()
    ended = {fact.relation for fact in facts if fact.end is not None and last_day(fact.end) < today()}
    assert ended == {"P6", "P35", "P36", "P37", "P38", "P102", "P463"}
    for relation in ended:
        assert len(relations[relation].past_clozes) == len(relations[relation].clozes)


def test_every_fact_reads_well() -> None:
    entities, relations, facts = records()
    flaw = re.compile(r"(?i)\bthe the\b|\bthe [ln]os\b|\ba the\b|\s\s|\s[.,?']|\.\.|\[|\]")
    for fact in facts:
        relation, subject, object_ = relations[fact.relation], entities[fact.subject].label, entities[fact.object]
        names = [object_.label, *object_.aliases]
        texts = [
            f"{Cloze(cloze, subject).prompt} {continuation}"
            for cloze in relation.clozes + relation.past_clozes
            for continuation in object_continuations(cloze, names)
        ]
        texts += [fill(text, subject, object_.label) for text in relation.statements + relation.yes_no_questions]
        questions = [wh_question(question, subject) for question in relation.wh_questions]
        for text in texts + questions:
            assert not flaw.search(text), text
            assert text[0].isupper(), text
            assert text == text.strip(), text
        assert texts[0].endswith(without_article(object_.label))


def test_questions_do_not_hold_their_answers() -> None:
    entities, relations, facts = records()
    for fact in facts:
        asked = wh_question(relations[fact.relation].wh_questions[0], "")
        names = {entities[fact.object].label, *entities[fact.object].aliases}
        assert not any(re.search(rf"\b{re.escape(name)}\b", asked) for name in names), (asked, names)


@pytest.mark.skipif(not COLLECTION.is_dir(), reason=f"there is nothing to compare with: {COLLECTION} does not exist")
def test_nothing_contradicts_what_others_collected() -> None:
    entities, _, facts = records()
    result = compare(entities.values(), facts, read_collection(COLLECTION))
    assert result.ids >= 1000
    assert result.facts.total() >= 1200
    assert set(differences(result)) == set(EXPLAINED)
