"""Generic templates in German, French, Spanish and Chinese, read by the rules of their grammar."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgprobe.base.records import Relation
from kgprobe.verbalize.language import LANGUAGES, language_of
from kgprobe.verbalize.sentences import fill, wh_question
from kgprobe.verbalize.templates.forms import LabelTemplates, form_problems, templates_of_label
from kgprobe.verbalize.templates.generic import generic_relation
from kgprobe.verbalize.templates.kinds import backwards, check_template

OTHERS = [code for code in LANGUAGES if code != "en"]

# Label, whether its objects are persons, and questions about names.
GERMAN = [
    ("Hauptstadt", "Ist Paris Hauptstadt von Frankreich?", "Was ist Hauptstadt von Frankreich?"),
    (
        "Staatsangehörigkeit",
        "Ist Paris Staatsangehörigkeit von Frankreich?",
        "Was ist Staatsangehörigkeit von Frankreich?",
    ),
    ("Geburtsort", "Ist Paris Geburtsort von Frankreich?", "Was ist Geburtsort von Frankreich?"),
    (
        "Land der Staatsangehörigkeit",
        "Ist Paris Land der Staatsangehörigkeit von Frankreich?",
        "Was ist Land der Staatsangehörigkeit von Frankreich?",
    ),
    (
        "ausgeübte Tätigkeit",
        "Ist Paris ausgeübte Tätigkeit von Frankreich?",
        "Was ist ausgeübte Tätigkeit von Frankreich?",
    ),
    ("höchster Punkt", "Ist Paris höchster Punkt von Frankreich?", "Was ist höchster Punkt von Frankreich?"),
    ("Ehepartner(in)", "Ist Paris Ehepartner von Frankreich?", "Wer ist Ehepartner von Frankreich?"),
    ("Autor / Verfasser", "Ist Paris Autor von Frankreich?", "Wer ist Autor von Frankreich?"),
    ("Mitglied von", "Ist Frankreich Mitglied von Paris?", "Wovon ist Frankreich Mitglied?"),
    ("Nachfolger von", "Ist Frankreich Nachfolger von Paris?", "Von wem ist Frankreich Nachfolger?"),
    ("benannt nach", "Ist Frankreich benannt nach Paris?", "Wonach ist Frankreich benannt?"),
    ("verheiratet mit", "Ist Frankreich verheiratet mit Paris?", "Mit wem ist Frankreich verheiratet?"),
    ("grenzt an", "Grenzt Frankreich an Paris?", "Woran grenzt Frankreich?"),
    ("besteht aus", "Besteht Frankreich aus Paris?", "Woraus besteht Frankreich?"),
    ("folgt auf", "Folgt Frankreich auf Paris?", "Auf wen folgt Frankreich?"),
    ("besitzt", "Besitzt Frankreich Paris?", "Was besitzt Frankreich?"),
    ("liegt in der Verwaltungseinheit", "Liegt Frankreich in der Verwaltungseinheit Paris?", ""),
    ("Kinder", "Lautet die Angabe „Kinder“ zu Frankreich so: Paris?", "Wie lautet die Angabe „Kinder“ zu Frankreich?"),
    (
        "ist ein(e)",
        "Lautet die Angabe „ist ein“ zu Frankreich so: Paris?",
        "Wie lautet die Angabe „ist ein“ zu Frankreich?",
    ),
    (
        "capital",
        "Lautet die Angabe „capital“ zu Frankreich so: Paris?",
        "Wie lautet die Angabe „capital“ zu Frankreich?",
    ),
]
CHINESE = [
    ("首都", "法国的首都是巴黎吗？", "法国的首都是哪里？"),
    ("出生地", "法国的出生地是巴黎吗？", "法国的出生地是哪里？"),
    ("国籍", "法国的国籍是巴黎吗？", "法国的国籍是什么？"),
    ("职业", "法国的职业是巴黎吗？", "法国的职业是什么？"),
    ("配偶", "法国的配偶是巴黎吗？", "法国的配偶是谁？"),
    ("作者", "法国的作者是巴黎吗？", "法国的作者是谁？"),
    ("母语", "法国的母语是巴黎吗？", "法国的母语是什么？"),
    ("所属国家", "法国的所属国家是巴黎吗？", "法国的所属国家是什么？"),
    ("使用语言", "法国的使用语言是巴黎吗？", "法国的使用语言是什么？"),
    ("就读学校", "法国的就读学校是巴黎吗？", "法国的就读学校是什么？"),
    ("成立时间", "法国的成立时间是巴黎吗？", "法国的成立时间是什么时候？"),
    ("逝世地点", "法国的逝世地点是巴黎吗？", "法国的逝世地点是哪里？"),
    ("ISO代码", "法国的ISO代码是巴黎吗？", "法国的ISO代码是什么？"),
    ("位于", "法国位于巴黎吗？", "法国位于哪里？"),
    ("位于行政领土实体", "法国位于行政领土实体巴黎吗？", "法国位于哪个行政领土实体？"),
    ("毕业于", "法国毕业于巴黎吗？", "法国毕业于哪里？"),
    ("隶属于", "法国隶属于巴黎吗？", "法国隶属于什么？"),
    ("接壤", "法国接壤巴黎吗？", "法国接壤什么？"),
    ("是…的成员", "法国的“是…的成员”是巴黎吗？", "法国的“是…的成员”是什么？"),
    ("capital", "法国的“capital”是巴黎吗？", "法国的“capital”是什么？"),
]
FRENCH = [
    ("capitale", "Est-ce que la France a pour capitale Oslo ?", "Qu'est-ce que la France a pour capitale ?"),
    (
        "lieu de naissance",
        "Est-ce que la France a pour lieu de naissance Oslo ?",
        "Qu'est-ce que la France a pour lieu de naissance ?",
    ),
    (
        "conjoint ou conjointe",
        "Est-ce que la France a pour conjoint ou conjointe Oslo ?",
        "Qui est-ce que la France a pour conjoint ou conjointe ?",
    ),
    ("membre de", "Est-ce que la France est membre d'Oslo ?", "De quoi est-ce que la France est membre ?"),
    ("fait partie de", "Est-ce que la France fait partie d'Oslo ?", "De quoi est-ce que la France fait partie ?"),
    (
        "partage une frontière avec",
        "Est-ce que la France partage une frontière avec Oslo ?",
        "Avec quoi est-ce que la France partage une frontière ?",
    ),
    (
        "situé à",
        "Est-ce que la valeur de « situé à » pour la France est Oslo ?",
        "Quelle est la valeur de « situé à » pour la France ?",
    ),
    (
        "place of birth",
        "Est-ce que la valeur de « place of birth » pour la France est Oslo ?",
        "Quelle est la valeur de « place of birth » pour la France ?",
    ),
]
SPANISH = [
    ("capital", "¿Tiene Francia como capital Oslo?", "¿Qué tiene Francia como capital?"),
    ("cónyuge", "¿Tiene Francia como cónyuge a Oslo?", "¿A quién tiene Francia como cónyuge?"),
    ("miembro de", "¿Es Francia miembro de Oslo?", "¿De qué es miembro Francia?"),
    ("forma parte de", "¿Forma Francia parte de Oslo?", "¿De qué forma Francia parte?"),
    ("sigue a", "¿Sigue Francia a Oslo?", "¿A qué sigue Francia?"),
    (
        "ubicado en",
        "¿Es Oslo el valor de «ubicado en» para Francia?",
        "¿Cuál es el valor de «ubicado en» para Francia?",
    ),
]
PERSONS = {
    "Ehepartner(in)",
    "Autor / Verfasser",
    "Nachfolger von",
    "verheiratet mit",
    "folgt auf",
    "配偶",
    "作者",
    "conjoint ou conjointe",
    "cónyuge",
}
CASES = [("de", "Frankreich", "Paris", *case) for case in GERMAN]
CASES += [("zh", "法国", "巴黎", *case) for case in CHINESE]
CASES += [("fr", "France", "Oslo", *case) for case in FRENCH]
CASES += [("es", "Francia", "Oslo", *case) for case in SPANISH]


@pytest.mark.parametrize(("code", "subject", "object_", "label", "yes_no", "wh"), CASES)
def test_label_gives_questions_that_obey_the_grammar(
    code: str, subject: str, object_: str, label: str, yes_no: str, wh: str
) -> None:
    language = language_of(code)
    templates = templates_of_label(label, language, who=label in PERSONS)
    assert templates is not None
    assert fill(templates.yes_no_question, subject, object_, language) == yes_no
    assert wh_question(templates.wh_question, subject, language) == wh
    assert _flaws(code, templates) == []


def _flaws(code: str, templates: LabelTemplates) -> list[str]:
    flaws = []
    for kind, template in templates._asdict().items():
        if template:
            flaws += [f"{template} {problem}" for problem in form_problems(kind, template, language_of(code))]
            flaws += [f"{template} {problem}" for problem in check_template(kind, template)]
    return flaws


@pytest.mark.parametrize(
    ("code", "kind", "broken"),
    [
        ("de", "cloze", "hauptstadt von [X] ist [Y]"),
        ("de", "cloze", "Hauptstadt von [X] [Y]"),
        ("de", "cloze", "Der die Hauptstadt von [X] ist [Y]"),
        ("de", "yes_no_question", "Hauptstadt von [X] ist [Y]?"),
        ("de", "wh_question", "Hauptstadt von [X] ist was?"),
        ("de", "wh_question", "Was ist der/die Autor von [X]?"),
        ("fr", "yes_no_question", "Est-ce que [X] a pour capitale [Y]?"),
        ("fr", "yes_no_question", "[X] a pour capitale [Y] ?"),
        ("fr", "cloze", "La capitale de le pays [X] est [Y]"),
        ("fr", "cloze", "[X] est membre de une alliance avec [Y]"),
        ("fr", "wh_question", "Capitale de [X] ?"),
        ("es", "yes_no_question", "Tiene [X] como capital [Y]?"),
        ("es", "cloze", "La capital de el país [X] es [Y]"),
        ("es", "wh_question", "¿Capital de [X]?"),
        ("zh", "cloze", "[X] 的首都是[Y]"),
        ("zh", "statement", "[X]的首都是[Y]."),
        ("zh", "yes_no_question", "[X]的首都是[Y]？"),
        ("zh", "yes_no_question", "[X]的首都是[Y]吗?"),
        ("zh", "wh_question", "[X]的首都是什么吗？"),
        ("zh", "wh_question", "[X]的首都？"),
        ("zh", "cloze", "[X]的的首都是[Y]"),
        ("de", "statement", "[Y] liegt im [X]."),
        ("fr", "statement", "[Y] est la capitale de l'[X]."),
        ("es", "statement", "[Y] es la capital del [X]."),
    ],
)
def test_broken_forms_break_a_rule(code: str, kind: str, broken: str) -> None:
    assert list(form_problems(kind, broken, language_of(code)))


@given(
    st.sampled_from(OTHERS), st.text(string.ascii_letters + " äéñ'-/()[]\"„«»“.,首都位于", min_size=1), st.booleans()
)
def test_any_label_gives_valid_forms(code: str, label: str, who: bool) -> None:
    relation = generic_relation(Relation("P1", label), who, language_of(code))
    for kind in ("cloze", "past_cloze", "statement", "yes_no_question", "wh_question", "reverse_cloze"):
        for template in getattr(relation, f"{kind}s"):
            assert check_template(kind, template) == []


@pytest.mark.parametrize("code", OTHERS)
def test_forms_have_no_article_of_the_label(code: str) -> None:
    label = {"de": "Hauptstadt", "fr": "capitale", "es": "capital", "zh": "首都"}[code]
    relation = generic_relation(Relation("P36", label), language=language_of(code))
    articles = {"der", "die", "das", "the", "la", "le", "el", "a/an"}
    for texts in (relation.clozes, relation.statements, relation.yes_no_questions, relation.wh_questions):
        assert len(texts) == 1
        assert articles.isdisjoint(texts[0].lower().split())
    assert relation.past_clozes != relation.clozes


def test_statement_ends_in_the_full_stop_of_its_language() -> None:
    assert generic_relation(Relation("P36", "首都"), language=language_of("zh")).statements == ("[X]的首都是[Y]。",)
    assert generic_relation(Relation("P36", "stolica"), language=language_of("pl")).clozes == ()


@pytest.mark.parametrize(
    ("code", "label", "cloze"),
    [
        ("de", "Hauptstadt", "[X] ist Hauptstadt von [Y]"),
        ("es", "capital", "[X] es capital de [Y]"),
        ("zh", "首都", "以[X]为首都的是[Y]"),
    ],
)
def test_inverse_relation_has_the_reverse_cloze(code: str, label: str, cloze: str) -> None:
    assert backwards(generic_relation(Relation("P36", label), language=language_of(code))).clozes == (cloze,)
