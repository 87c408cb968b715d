"""Languages: names in sentences, and reading of answers."""

import pytest

from kgprobe.verbalize.answers import denies, is_refusal, judgement_of, named_in, read_yes_no, sentences
from kgprobe.verbalize.language import ENGLISH, LANGUAGES, language_of
from kgprobe.verbalize.sentences import Cloze, fill, wh_question
from kgprobe.verbalize.tense import speaks_of_today, templates_of


@pytest.mark.parametrize(
    ("code", "template", "subject", "object_", "text"),
    [
        ("de", "Hauptstadt von [X] ist [Y].", "Schweiz", "Bern", "Hauptstadt von der Schweiz ist Bern."),
        ("de", "Hauptstadt von [X] ist [Y].", "Laos", "Vientiane", "Hauptstadt von Laos ist Vientiane."),
        ("de", "[X] liegt in [Y].", "Utrecht", "Niederlande", "Utrecht liegt in den Niederlanden."),
        (
            "de",
            "Land von [X] ist [Y].",
            "Bath",
            "Vereinigtes Königreich",
            "Land von Bath ist das Vereinigte Königreich.",
        ),
        ("de", "Bern gehört der [X].", "Schweiz", "", "Bern gehört der Schweiz."),
        ("fr", "La capitale de [X] est [Y].", "Japon", "Tokyo", "La capitale du Japon est Tokyo."),
        ("fr", "La capitale de [X] est [Y].", "États-Unis", "x", "La capitale des États-Unis est x."),
        ("fr", "La capitale de [X] est [Y].", "Italie", "Rome", "La capitale de l'Italie est Rome."),
        ("fr", "La capitale de [X] est [Y].", "Oslo", "x", "La capitale d'Oslo est x."),
        ("fr", "La capitale de [X] est [Y].", "Haïti", "x", "La capitale d'Haïti est x."),
        ("fr", "La capitale de [X] est [Y].", "Hambourg", "x", "La capitale de Hambourg est x."),
        ("fr", "La capitale de [X] est [Y].", "Le Caire", "x", "La capitale du Caire est x."),
        ("fr", "Est-ce que [X] est en [Y] ?", "Albi", "France", "Est-ce qu'Albi est en France ?"),
        ("fr", "[X] appartient à [Y].", "Maroc", "Pays-Bas", "Le Maroc appartient aux Pays-Bas."),
        ("es", "Bath es de [X].", "el Reino Unido", "", "Bath es del Reino Unido."),
        ("es", "La capital de [X] es [Y].", "El Salvador", "x", "La capital de El Salvador es x."),
        ("zh", "[X]的首都是[Y]。", "法国", "巴黎", "法国的首都是巴黎。"),
        ("zh", "[X]的首都是[Y]。", "iPhone", "eBay", "iPhone的首都是eBay。"),
        ("pl", "[X] leży w [Y].", "the Hague", "a", "The Hague leży w a."),
    ],
)
def test_names_are_placed_by_the_rules_of_the_language(
    code: str, template: str, subject: str, object_: str, text: str
) -> None:
    assert fill(template, subject, object_, language_of(code)) == text


def test_words_that_contract_belong_to_the_continuation() -> None:
    cloze = Cloze("[X] est membre de [Y]", "France", language=language_of("fr"))
    assert cloze.prompt == "La France est membre"
    assert cloze.continuations(["Otan", "Japon", "Togo", "Bretagne"]) == [
        "d'Otan",
        "du Japon",
        "du Togo",
        "de Bretagne",
    ]
    bare = Cloze("[X] est membre de [Y]", "France", articles=False, language=language_of("fr"))
    assert (bare.prompt, bare.continuations(["Japon"])) == ("La France est membre de", ["Japon"])


def test_english_articles_are_of_english_alone() -> None:
    assert fill("[X] a an [Y].", "Netherlands", "Danube", language_of("de")) == "Netherlands a an Danube."
    assert Cloze("[X] grenzt an [Y]", "x", language=language_of("de")).continuations(["Danube"]) == ["Danube"]
    assert wh_question("was ist [X]'s?", "Laos", language_of("de")) == "Was ist Laos's?"


@pytest.mark.parametrize("code", LANGUAGES)
def test_prompts_have_their_placeholders_once(code: str) -> None:
    prompts = language_of(code).prompts
    for text in (prompts.yes_no, prompts.wh, prompts.wh_all, prompts.recall):
        assert text.count("{question}") == 1
    assert prompts.true_false.count("{statement}") == prompts.is_true.count("{statement}") == 1
    assert prompts.with_alias.format(name="x", alias="y") != prompts.with_alias
    words = prompts.answers.split("/")
    language = language_of(code)
    assert [judgement_of(word, language) for word in words] == ["true", "false", "unknown"]
    assert all(word in prompts.statement for word in words)


def test_codes_of_regions_have_their_language() -> None:
    assert [language_of(code).code for code in ("de-AT", "zh_hans", "pt-br", "ja")] == ["de", "zh", "pt", "ja"]
    assert language_of(None) is ENGLISH
    assert [language_of(code).joiner for code in ("ja", "th", "pl")] == ["", "", " "]


@pytest.mark.parametrize(
    ("code", "text", "yes"),
    [
        ("de", "Ja, Paris ist die Hauptstadt.", True),
        ("de", "Die Antwort ist: Nein, das ist Berlin.", False),
        ("de", "**Doch!**", True),
        ("de", "Das stimmt nicht.", False),
        ("de", "Es ist nicht wahr.", False),
        ("de", "Leider nein", False),
        ("de", "Nicht unbedingt.", None),
        ("de", "Ja und nein.", None),
        ("de", "Jan ist der Name.", None),
        ("de", "Ich weiß es nicht.", None),
        ("de", "No, it is not.", False),
        ("fr", "Oui, Paris.", True),
        ("fr", "Non.", False),
        ("fr", "Si, bien sûr.", True),
        ("fr", "Si Paris est la capitale", None),
        ("fr", "C’est vrai.", True),
        ("fr", "Ce n’est pas vrai.", False),
        ("fr", "Pas forcément.", None),
        ("es", "Sí, Madrid.", True),
        ("es", "Si, claro", True),
        ("es", "Si Madrid fuera", None),
        ("es", "No, es Lima.", False),
        ("es", "No necesariamente.", None),
        ("es", "No lo sé.", None),
        ("es", "Es correcto.", True),
        ("zh", "是的，北京是中国的首都。", True),
        ("zh", "是", True),
        ("zh", "对。", True),
        ("zh", "不是，首都是北京。", False),
        ("zh", "不对", False),
        ("zh", "没有。", False),
        ("zh", "答案：是", True),
        ("zh", "答案是否定的", False),
        ("zh", "是否是首都？", None),
        ("zh", "不一定。", None),
        ("zh", "对不起，我不知道。", None),
        ("zh", "Yes.", True),
        ("pl", "No.", False),
        ("pl", "Nie.", None),
    ],
)
def test_first_word_of_yes_or_no_counts(code: str, text: str, yes: bool | None) -> None:
    assert read_yes_no(text, language_of(code)).yes is yes


def test_explanation_follows_the_first_word() -> None:
    assert read_yes_no("是的，北京是中国的首都。", language_of("zh")).explanation == "北京是中国的首都。"
    assert read_yes_no("Nein, es ist Bonn.", language_of("de")).explanation == "es ist Bonn."


@pytest.mark.parametrize(
    ("code", "text", "refuses"),
    [
        ("de", "Ich weiß es nicht.", True),
        ("de", "Das kann ich nicht sagen.", True),
        ("de", "Leider habe ich keine Informationen dazu.", True),
        ("de", "Es tut mir leid, aber dazu ist mir nichts bekannt.", True),
        ("de", "Unbekannt.", True),
        ("de", "I don't know.", True),
        ("de", "Paris, früher unbekannt", False),
        ("de", "Nein, das ist nicht so.", False),
        ("fr", "Je ne sais pas.", True),
        ("fr", "Désolé, je ne peux pas répondre.", True),
        ("fr", "Je n’ai pas d’informations.", True),
        ("fr", "Je ne suis pas d'accord : c'est Lyon.", False),
        ("es", "No lo sé.", True),
        ("es", "Lo siento, no puedo ayudar con eso.", True),
        ("es", "No tengo información.", True),
        ("es", "No es Lima.", False),
        ("zh", "我不知道。", True),
        ("zh", "无法确定", True),
        ("zh", "抱歉，我没有足够的信息。", True),
        ("zh", "不是北京。", False),
        ("zh", "巴黎", False),
    ],
)
def test_refusals_are_read_in_their_language(code: str, text: str, refuses: bool) -> None:
    assert is_refusal(text, language_of(code)) is refuses


@pytest.mark.parametrize(
    ("code", "text", "judgement"),
    [
        ("de", "Die Aussage ist falsch.", "false"),
        ("de", "Die Aussage „Paris ist wahrlich richtig“ ist falsch.", "false"),
        ("de", "Wahr oder falsch? Falsch.", "false"),
        ("de", "Teilweise wahr", None),
        ("de", "Ich weiß nicht, ob das wahr ist.", "unknown"),
        ("de", "Paris ist schön.", None),
        ("fr", "L'affirmation est fausse.", "false"),
        ("fr", "Verdict : vrai", "true"),
        ("es", "No es cierto.", "false"),
        ("es", "La afirmación es verdadera.", "true"),
        ("es", "No puedo saberlo.", "unknown"),
        ("zh", "这个陈述是错误的。", "false"),
        ("zh", "该陈述不正确", "false"),
        ("zh", "“正确”", "true"),
        ("zh", "我无法判断。", "unknown"),
        ("zh", "True", "true"),
    ],
)
def test_judgements_are_read_in_their_language(code: str, text: str, judgement: str | None) -> None:
    assert judgement_of(text, language_of(code)) == judgement


@pytest.mark.parametrize(
    ("code", "text", "names", "found"),
    [
        ("zh", "北京是中国的首都。", ["北京", "中国", "京都"], ["北京", "中国"]),
        ("zh", "阿尔伯特·爱因斯坦出生在乌尔姆", ["阿尔伯特·爱因斯坦", "乌尔姆"], ["阿尔伯特·爱因斯坦", "乌尔姆"]),
        ("zh", "答案是金。", ["金"], ["金"]),
        ("zh", "由基金会管理", ["金"], []),
        ("zh", "总部在Ａｐｐｌｅ公司", ["Apple"], ["Apple"]),
        ("de", "Frankreichs Hauptstadt", ["Frankreich"], ["Frankreich"]),
        ("de", "Das ist Hans.", ["Han"], []),
        ("de", "am Schwarzen Meer, bei Koeln", ["Schwarzes Meer", "Köln"], ["Schwarzes Meer", "Köln"]),
        ("de", "in den Vereinigten Staaten", ["Vereinigte Staaten"], ["Vereinigte Staaten"]),
        ("fr", "près du Caire, en Égypte", ["Le Caire", "Egypte"], ["Le Caire", "Egypte"]),
        ("fr", "l'Allemagne d'Einstein", ["Allemagne", "Einstein"], ["Allemagne", "Einstein"]),
        ("en", "Frankreichs Koeln", ["Frankreich", "Köln"], []),
    ],
)
def test_names_are_found_in_forms_of_the_language(code: str, text: str, names: list[str], found: list[str]) -> None:
    assert named_in(text, names, language=language_of(code)) == found


def test_genitive_of_a_name_is_no_other_known_name() -> None:
    german = language_of("de")
    assert named_in("Karl Peters", ["Karl Peter"], language=german) == ["Karl Peter"]
    assert named_in("Karl Peters", ["Karl Peter"], lambda name: name == "karl peters", language=german) == []


def test_chinese_sentences_end_without_a_space() -> None:
    assert sentences("是的。北京是首都！对吗？") == ["是的。", "北京是首都！", "对吗？"]


def test_tense_is_that_of_the_template_given() -> None:
    german = language_of("de")
    assert templates_of(["[X] ist [Y]"], ["[X] war [Y]"], True, german) == ["[X] war [Y]"]
    assert templates_of(["The capital of [X] is [Y]"], [], True, german) == []
    assert [speaks_of_today(text, german) for text in ("[X] ist [Y]", "[X] war [Y]")] == [True, False]
    assert [speaks_of_today(text, language_of("zh")) for text in ("[X]位于[Y]", "[X]曾位于[Y]")] == [True, False]
    assert not speaks_of_today("[X] jest [Y]", language_of("pl"))


def test_words_that_deny() -> None:
    denials = [("de", "Es ist nicht Bonn"), ("fr", "Ce n'est pas Lyon"), ("es", "No es Lima"), ("zh", "不是北京")]
    assert all(denies(text, language_of(code)) for code, text in denials)
    assert not any(denies(text, language_of(code)) for code, text in (("de", "Es ist Bonn"), ("zh", "是北京")))
