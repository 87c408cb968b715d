"""Generic templates in German, French, Spanish and Chinese, made from a relation's label without a dictionary.

The gender of a label's noun is unknown, so no form has an article, a pronoun or an adjective that depends on it. The
first and last words of a label determine its form. A label in no known form is quoted, after a noun of known gender.
Remarks in brackets, and all alternatives but the first (``Mann / Frau``), are dropped. The rules of grammar:

**German.** Nouns have a capital. *Hauptstadt* is a predicate without article: *Hauptstadt von Frankreich ist Paris*,
*Ist Paris Hauptstadt von Frankreich?*, *Was ist Hauptstadt von Frankreich?*, *Wer ist …?* for persons. The verb is the
second part of a statement and begins a yes/no question. *Mitglied von* is a predicate of the subject: *[X] ist Mitglied
von [Y]*, and so is a participle: *benannt nach*. A question for what follows a preposition begins with *wo-*: *wovon*,
*woran*, or for persons with the preposition. Verbs are listed with their past. Plurals are quoted, as the verb would
differ: *Die Angabe „Kinder“ zu [X] lautet [Y]*.

**French.** A noun follows *avoir pour*, which needs no article: *[X] a pour capitale [Y]*. A question is a statement
after *est-ce que*, or *qu'est-ce que* and *qui est-ce que*; its mark has a space before it. *membre de* is a predicate:
*[X] est membre de [Y]*. A participle agrees with the subject, so labels that begin with one are quoted: *La valeur de
« situé à » pour [X] est [Y]*.

**Spanish.** A noun follows *tener como*: *[X] tiene como capital [Y]*, with *a* before persons. A question begins with
*¿* and its verb, or a preposition with *qué* or *quién*. *miembro de* is a predicate: *[X] es miembro de [Y]*. Labels
that begin with a participle are quoted: *El valor de «ubicado en» para [X] es [Y]*.

**Chinese.** A noun follows *的* and precedes *是*: *[X]的首都是[Y]*. *吗* ends a yes/no question; *什么*, *谁* or
*哪里* is in the place of the answer; *曾* makes the past. No space is between words, and marks are full-width. Verbs
of place begin with one of a list, as *位于* does; other verbs end in *于* or are listed. Labels without a Chinese
character are quoted.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kgprobe.verbalize.articles import word_set
from kgprobe.verbalize.language import Language

_BRACKETS = re.compile(r"\s*[(（][^)）]*[)）]")
_LETTERS = re.compile(r"[^\W\d_][\w\s'’.·-]*")


class LabelTemplates(NamedTuple):
    """Templates of a label, one of each kind; empty where the form of the label gives none."""

    cloze: str
    past_cloze: str
    yes_no_question: str
    wh_question: str = ""
    reverse_cloze: str = ""


def templates_of_label(label: str, language: Language, *, who: bool = False) -> LabelTemplates | None:
    """Return templates of a relation's label in a language; None for a language without forms.

    ``who`` means that the objects are persons.
    """
    make = _LANGUAGES.get(language.code)
    phrase = " ".join(_BRACKETS.sub("", label).split())
    phrase = re.split(r"\s?[/／]\s?", phrase)[0].strip(" ,.") or label
    return None if make is None else make(phrase, who)


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in text.split())


def _inner(label: str) -> str:
    """Return a label to be quoted: without brackets and quotation marks, which templates and forms have."""
    return re.sub('["„“”«»]', "'", label.replace("[", "(").replace("]", ")"))


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _split(words: list[str], prepositions: Mapping[str, object] | frozenset[str]) -> tuple[str, str]:
    """Return the words before a last word that is a preposition, and that word; it is empty for another last word."""
    if words and words[-1].lower() in prepositions:
        return " ".join(words[:-1]), words[-1]
    return " ".join(words), ""


# Prepositions with their question words for things and for persons.
_GERMAN_PREPOSITIONS = {
    "an": ("Woran", "An wen"),
    "auf": ("Worauf", "Auf wen"),
    "aus": ("Woraus", "Aus wem"),
    "bei": ("Wobei", "Bei wem"),
    "durch": ("Wodurch", "Durch wen"),
    "für": ("Wofür", "Für wen"),
    "gegen": ("Wogegen", "Gegen wen"),
    "in": ("Worin", "In wem"),
    "mit": ("Womit", "Mit wem"),
    "nach": ("Wonach", "Nach wem"),
    "über": ("Worüber", "Über wen"),
    "unter": ("Worunter", "Unter wem"),
    "von": ("Wovon", "Von wem"),
    "zu": ("Wozu", "Zu wem"),
}
_GERMAN_VERBS = _pairs(
    "arbeitet:arbeitete basiert:basierte befindet:befand beginnt:begann behandelt:behandelte beruht:beruhte"
    " besitzt:besaß besteht:bestand endet:endete enthält:enthielt erhielt:erhielt ersetzt:ersetzte folgt:folgte"
    " gehört:gehörte grenzt:grenzte hat:hatte heißt:hieß ist:war lebt:lebte leitet:leitete liegt:lag mündet:mündete"
    " nutzt:nutzte produziert:produzierte spielt:spielte spricht:sprach stammt:stammte starb:starb studierte:studierte"
    " umfasst:umfasste verbindet:verband verwendet:verwendete wirkte:wirkte wurde:wurde zeigt:zeigte"
)
_GERMAN_PARTICIPLE = re.compile(
    r"(?:ge\w+|\w*(?:auf|aus|ein|ab|an|zu|her|vor)ge\w+|(?:be|ver|ent|er|zer|über)\w+)(?:t|en)$|\w+iert$"
)
_GERMAN_PLURAL = re.compile(
    r"(?:ungen|heiten|keiten|schaften|ionen|täten|ismen|innen|werke|kinder|länder|städte|sprachen|namen|orte|mitglieder"
    r"|personen|eltern|geschwister|daten|preise|gebiete|flüsse|inseln|parteien|stoffe|farben|teile|söhne|töchter|brüder"
    r"|schwestern)$",
    re.IGNORECASE,
)
_GERMAN_ADJECTIVE = re.compile(r"[^\W\d_]+(?:e|er|es)$")


def _german(label: str, who: bool) -> LabelTemplates:
    words = label.split()
    start, preposition = _split(words, _GERMAN_PREPOSITIONS)
    asking = _GERMAN_PREPOSITIONS[preposition.lower()][who] if preposition else ""
    first, _, rest = label.partition(" ")
    if not _LETTERS.fullmatch(label) or words[-1].lower() in _GERMAN_ARTICLES:
        return _german_quoted(label)
    is_clear = not rest or bool(preposition) or rest.partition(" ")[0] in _GERMAN_PREPOSITIONS
    if past := _GERMAN_VERBS.get(first) if is_clear else None:
        middle = start.partition(" ")[2]
        bare = ("Wen" if who else "Was") if not rest else ""
        wh = asking or bare
        between = f" {rest} " if rest else " "
        return LabelTemplates(
            f"[X] {label} [Y]",
            f"[X] {past}{between}[Y]",
            f"{_upper(first)} [X]{between}[Y]?",
            f"{wh} {first} [X] {middle}".rstrip() + "?" if wh else "",
        )
    is_participle = preposition and first[0].islower() and _GERMAN_PARTICIPLE.fullmatch(first)
    if preposition and start and (is_participle or start[0].isupper()) and not _GERMAN_PLURAL.search(start):
        return LabelTemplates(
            f"[X] ist {label} [Y]", f"[X] war {label} [Y]", f"Ist [X] {label} [Y]?", f"{asking} ist [X] {start}?"
        )
    nouns = [word for word in words if word[0].isupper()]
    has_noun = bool(nouns) and (first[0].isupper() or _GERMAN_ADJECTIVE.fullmatch(first) is not None)
    if preposition or not has_noun or _GERMAN_PLURAL.search(nouns[0]):
        return _german_quoted(label)
    return LabelTemplates(
        f"{_upper(label)} von [X] ist [Y]",
        f"{_upper(label)} von [X] war [Y]",
        f"Ist [Y] {label} von [X]?",
        f"{'Wer' if who else 'Was'} ist {label} von [X]?",
        f"[Y] ist {label} von [X]",
    )


_GERMAN_ARTICLES = word_set("der die das den dem des ein eine einen einem einer eines und oder als")


def _german_quoted(label: str) -> LabelTemplates:
    noun = f"Die Angabe „{_inner(label)}“ zu [X]"
    question = f"{noun[0].lower()}{noun[1:]}"
    return LabelTemplates(
        f"{noun} lautet [Y]", f"{noun} lautete [Y]", f"Lautet {question} so: [Y]?", f"Wie lautet {question}?"
    )


_FRENCH_PREPOSITIONS = frozenset(["à", "avec", "dans", "de", "en", "par", "pour", "sur", "vers"])
_FRENCH_NO_NOUNS = word_set(
    "le la les un une des du au aux ce cette ces et ou qui que où dont lors chez sous sans entre d'après selon"
)
_FRENCH_VERBS = _pairs(
    "a:avait appartient:appartenait borde:bordait comprend:comprenait contient:contenait dirige:dirigeait est:était"
    " fait:faisait habite:habitait joue:jouait parle:parlait partage:partageait possède:possédait précède:précédait"
    " produit:produisait remplace:remplaçait représente:représentait suit:suivait utilise:utilisait"
)
# Nouns in -té are more frequent than participles.
_FRENCH_PARTICIPLE = re.compile(
    r"\w*(?:[^t\W]ée?s?|dotée?|écrite?|produite?|construite?|traduite?|issue?|connue?|élue?)$"
)
# Labels in English, which replace missing ones.
_OF_ENGLISH = frozenset(["of", "by", "in", "the", "from", "at", "to", "with"])


def _french(label: str, who: bool) -> LabelTemplates:
    words = label.split()
    start, preposition = _split(words, _FRENCH_PREPOSITIONS)
    first, _, rest = label.partition(" ")
    if not _LETTERS.fullmatch(label) or words[-1].lower() in _FRENCH_NO_NOUNS or not _OF_ENGLISH.isdisjoint(words):
        return _french_quoted(label)
    asking = f"{_upper(preposition)} {'qui' if who else 'quoi'} est-ce que"
    if past := _FRENCH_VERBS.get(first):
        middle = start.partition(" ")[2]
        bare = "Qui est-ce que" if who else "Qu'est-ce que"
        wh = ""
        if preposition:
            wh = f"{asking} [X] {first} {middle}".rstrip() + " ?"
        elif not rest:
            wh = f"{bare} [X] {first} ?"
        return LabelTemplates(
            f"[X] {label} [Y]", f"[X] {past} {rest}".rstrip() + " [Y]", f"Est-ce que [X] {label} [Y] ?", wh
        )
    is_participle = len(words) > 1 and _FRENCH_PARTICIPLE.fullmatch(first) and words[1] in _FRENCH_PREPOSITIONS
    is_noun = first.lower() not in _FRENCH_NO_NOUNS | _FRENCH_PREPOSITIONS and not is_participle
    if preposition == "de" and start and is_noun and first != "partie":
        return LabelTemplates(
            f"[X] est {label} [Y]",
            f"[X] était {label} [Y]",
            f"Est-ce que [X] est {label} [Y] ?",
            f"{asking} [X] est {start} ?",
        )
    if preposition or not is_noun:
        return _french_quoted(label)
    return LabelTemplates(
        f"[X] a pour {label} [Y]",
        f"[X] avait pour {label} [Y]",
        f"Est-ce que [X] a pour {label} [Y] ?",
        f"{'Qui' if who else 'Qu'}{' ' if who else chr(39)}est-ce que [X] a pour {label} ?",
    )


def _french_quoted(label: str) -> LabelTemplates:
    noun = f"a valeur de « {_inner(label)} » pour [X]"
    return LabelTemplates(
        f"L{noun} est [Y]", f"L{noun} était [Y]", f"Est-ce que l{noun} est [Y] ?", f"Quelle est l{noun} ?"
    )


_SPANISH_PREPOSITIONS = frozenset(["a", "con", "de", "desde", "en", "hacia", "para", "por", "sobre"])
_SPANISH_NO_NOUNS = word_set("el la los las un una unos unas y o que quien donde del al su sus")
_SPANISH_VERBS = _pairs(
    "comparte:compartía contiene:contenía es:era forma:formaba habla:hablaba incluye:incluía limita:limitaba"
    " pertenece:pertenecía posee:poseía precede:precedía produce:producía representa:representaba"
    " sigue:seguía tiene:tenía trata:trataba usa:usaba utiliza:utilizaba"
)
_SPANISH_PARTICIPLE = re.compile(r"\w+(?:ado|ada|ados|adas|ido|ida|idos|idas|ito|ita|erto|erta|esto|esta)$")
_SPANISH_PLURAL = re.compile(r"\w+[aeo]s$")


def _spanish(label: str, who: bool) -> LabelTemplates:
    words = label.split()
    start, preposition = _split(words, _SPANISH_PREPOSITIONS)
    first, _, rest = label.partition(" ")
    if not _LETTERS.fullmatch(label) or words[-1].lower() in _SPANISH_NO_NOUNS or not _OF_ENGLISH.isdisjoint(words):
        return _spanish_quoted(label)
    asking = f"{_upper(preposition)} {'quién' if who else 'qué'}"
    if past := _SPANISH_VERBS.get(first):
        middle = start.partition(" ")[2]
        between = f" {rest} " if rest else " "
        persons = "a " if who and not rest else ""
        wh = ""
        if preposition:
            wh = f"¿{asking} {first} [X] {middle}".rstrip() + "?"
        elif not rest:
            wh = f"¿{'A quién' if who else 'Qué'} {first} [X]?"
        return LabelTemplates(
            f"[X] {first}{between}{persons}[Y]",
            f"[X] {past}{between}{persons}[Y]",
            f"¿{_upper(first)} [X]{between}{persons}[Y]?",
            wh,
        )
    is_participle = len(words) > 1 and _SPANISH_PARTICIPLE.fullmatch(first) and words[1] in _SPANISH_PREPOSITIONS
    is_noun = first.lower() not in _SPANISH_NO_NOUNS | _SPANISH_PREPOSITIONS and not is_participle
    if preposition == "de" and start and is_noun and not _SPANISH_PLURAL.fullmatch(first):
        return LabelTemplates(
            f"[X] es {label} [Y]", f"[X] era {label} [Y]", f"¿Es [X] {label} [Y]?", f"¿{asking} es {start} [X]?"
        )
    if preposition or not is_noun:
        return _spanish_quoted(label)
    persons = "a " if who else ""
    return LabelTemplates(
        f"[X] tiene como {label} {persons}[Y]",
        f"[X] tenía como {label} {persons}[Y]",
        f"¿Tiene [X] como {label} {persons}[Y]?",
        f"¿{'A quién' if who else 'Qué'} tiene [X] como {label}?",
        "" if _SPANISH_PLURAL.fullmatch(first) else f"[Y] es {label} de [X]",
    )


def _spanish_quoted(label: str) -> LabelTemplates:
    noun = f"l valor de «{_inner(label)}» para [X]"
    return LabelTemplates(f"E{noun} es [Y]", f"E{noun} era [Y]", f"¿Es [Y] e{noun}?", f"¿Cuál es e{noun}?")


_HAN = re.compile("[㐀-䶿一-鿿]")
_CHINESE_PHRASE = re.compile("[㐀-䶿一-鿿A-Za-z0-9·]+")
_CHINESE_VERBS = word_set(
    "包含 包括 拥有 使用 毗邻 接壤 参与 参加 获得 创作 担任 信仰 属于 隶属 影响 取代 继承 代表 描绘 赞助 管理 领导 组成"
)
# Verbs of place; words after them describe the answer.
_CHINESE_PLACES = re.compile("(?:位|坐落|出生|逝世|死|毕业|就读|居住|成立|埋葬|建|产)(?:于|在)")
# Question words by the end of a noun.
_CHINESE_ASKING = (
    ("哪里", re.compile("(?:地|地点|位置|地方|首都|首府|省会)$")),
    ("什么时候", re.compile("(?:时间|日期|时候)$")),
    ("什么", re.compile("")),
)


def _chinese(label: str, who: bool) -> LabelTemplates:
    is_plain = bool(_CHINESE_PHRASE.fullmatch(label) and _HAN.search(label)) and not label.startswith(("是", "被"))
    asking = "谁" if who else next(word for word, nouns in _CHINESE_ASKING if nouns.search(label))
    place = _CHINESE_PLACES.match(label)
    if is_plain and (place or label in _CHINESE_VERBS or label.endswith("于")):
        if place:
            kind = label[place.end() :]
            asking = f"哪个{kind}" if kind else "哪里"
        verb = label[: place.end()] if place else label
        return LabelTemplates(f"[X]{label}[Y]", f"[X]曾{label}[Y]", f"[X]{label}[Y]吗？", f"[X]{verb}{asking}？")
    noun = f"[X]的{label if is_plain else f'“{_inner(label)}”'}"
    return LabelTemplates(
        f"{noun}是[Y]",
        f"{noun}曾是[Y]",
        f"{noun}是[Y]吗？",
        f"{noun}是{asking}？",
        f"以[Y]为{label}的是[X]" if is_plain else "",
    )


_LANGUAGES: Mapping[str, Callable[[str, bool], LabelTemplates]] = {
    "de": _german,
    "fr": _french,
    "es": _spanish,
    "zh": _chinese,
}


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule of grammar: templates of some kinds have, or lack, a match of a pattern."""

    kinds: str
    pattern: str
    problem: str
    has: bool = False


# Problems of templates whose verb is not among the listed ones; written templates may have others.
UNKNOWN_VERB, UNKNOWN_VERB_FIRST = "has no known verb", "does not begin with a verb"
_NAME, _ARTICLE = r"\[[XY]\]", "has an article before a name"
_ANY, _CLOZE, _YES_NO, _WH = "", "cloze", "yes_no_question", "wh_question"
_GERMAN_VERB = "|".join({*_GERMAN_VERBS, *_GERMAN_VERBS.values(), "lautet", "lautete"})
_FRENCH_VERB = "|".join({*_FRENCH_VERBS, *_FRENCH_VERBS.values()})
_SPANISH_VERB = "|".join({*_SPANISH_VERBS, *_SPANISH_VERBS.values()})
_RULES: Mapping[str, tuple[_Rule, ...]] = {
    "de": (
        _Rule(_ANY, r"^(?:\[|[A-ZÄÖÜ])", "does not begin with a capital", has=True),
        _Rule(_YES_NO, rf"^(?i:{_GERMAN_VERB}|hat|war|kann|trifft)\b", UNKNOWN_VERB_FIRST, has=True),
        _Rule(
            _WH,
            r"^(?:Wo\w*|W(?:as|er|en|em|ann|ie|elche[mnrs]?)|(?:An|Auf|Aus|Bei|Durch|Für|Gegen|In|Mit|Nach|Über"
            r"|Unter|Von|Zu) (?:w(?:as|en|em|elche[mnrs]?)))\b",
            "does not begin with a question word",
            has=True,
        ),
        _Rule(_CLOZE, rf"(?i)\b(?:{_GERMAN_VERB})\b", UNKNOWN_VERB, has=True),
        _Rule(_ANY, rf"(?i)^[^,]*\b(?:d(?:er|ie|as|en|em|es)|ein(?:e[mnrs]?)?|im|vom|zum|zur) {_NAME}", _ARTICLE),
        _Rule(_ANY, r"\b(?:der|die|das|ein|eine)/", "has alternatives"),
        _Rule(_ANY, r"(?i)^[^,]*\b(?:der|die|das|den|dem) (?:der|die|das|den|dem)\b", "has two articles in a row"),
    ),
    "fr": (
        _Rule(_ANY, r"^(?:\[|[A-ZÀÂÇÉÈÊÎÔŒÙ])", "does not begin with a capital", has=True),
        _Rule("question", r" \?$", "has no space before the question mark", has=True),
        _Rule(
            _YES_NO, r"^(?:Est-ce qu|\w+-t?-?(?:il|elle|on|ils|elles)\b)", "does not begin with est-ce que", has=True
        ),
        _Rule(
            _WH,
            r"^(?:(?:À|Avec|Dans|De|D'|En|Par|Pour|Sur|Vers)\s?)?(?:Qu|qu|Où|où|Comment|Quand|Combien)",
            "does not begin with a question word",
            has=True,
        ),
        _Rule(_CLOZE, rf"(?i)\b(?:{_FRENCH_VERB})\b", UNKNOWN_VERB, has=True),
        _Rule(_ANY, rf"(?i)\b(?:(?:le|la|les|du|des|aux?|une?) |[dl]['’]){_NAME}", _ARTICLE),
        _Rule(_ANY, r"(?i)\b(?:de|à) (?:le|les)\s", "has a preposition that does not contract with its article"),
        _Rule(_ANY, r"(?i)\b(?:de|que) [aeiouéèêâî]", "has a vowel that is not elided"),
    ),
    "es": (
        _Rule("question", r"^¿[^¿?]+\?$", "is not between ¿ and ?", has=True),
        _Rule(_CLOZE, r"^(?:\[|[A-ZÁÉÍÑÓÚ])", "does not begin with a capital", has=True),
        _Rule(_YES_NO, rf"^¿(?i:{_SPANISH_VERB}|está|fue|ha)\b", UNKNOWN_VERB_FIRST, has=True),
        _Rule(
            _WH,
            r"^¿(?:[A-Z]\w* )?(?i:qué|quién(?:es)?|cuál(?:es)?|dónde|cuándo|cómo)\b",
            "does not begin with a question word",
            has=True,
        ),
        _Rule(_CLOZE, rf"(?i)\b(?:{_SPANISH_VERB})\b", UNKNOWN_VERB, has=True),
        _Rule(_ANY, rf"(?i)\b(?:el|la|los|las|al|del|una?) {_NAME}", _ARTICLE),
        _Rule(_ANY, r"\b(?:de|a) el\b", "has a preposition that does not contract with el"),
    ),
    "zh": (
        _Rule(_ANY, r"[㐀-䶿一-鿿\]]\s|\s[㐀-䶿一-鿿\[]", "has a space between words"),
        _Rule(_ANY, r"[.,?!;:]", "has a mark that is not full-width"),
        _Rule("question", r"？$", "does not end in ？", has=True),
        _Rule(_YES_NO, r"吗？$|是不是|是否|有没有", "does not ask for yes or no", has=True),
        _Rule(_WH, r"什么|谁|哪|几|多少|何", "has no question word", has=True),
        _Rule(_WH, r"吗？$", "asks for yes or no"),
        _Rule(_ANY, r"的的|是是|吗吗", "has a word twice"),
    ),
}


def form_problems(kind: str, template: str, language: Language) -> Iterator[str]:
    """Yield the rules of a language's grammar that a template of a kind breaks, as predicates.

    Rules need no dictionary, so a template that passes can still read badly; other languages have none.
    """
    for rule in _RULES.get(language.code, ()):
        if kind.endswith(rule.kinds) and (re.search(rule.pattern, template) is not None) is not rule.has:
            yield rule.problem
