"""Tense of a template, and its conversion to the past tense, for facts that have ended.

No parser is used, only the forms of common verbs and the positions of finite verbs:

1. *is, are, has, have, does, do, can* are always finite, except *have* and *do* after *to* or another auxiliary.
   So are intransitive verbs, whose forms are neither nouns nor participles: *belongs, consisted*.
2. A form that can also be a noun or a participle (*borders, plays, led, located*) is finite right after ``[X]``,
   ``[Y]``, *that*, *which* or *who*; adverbs in between are skipped. After *and*, it is coordinated with the verb
   before.
3. The sentence has one finite verb, and one more for each clause that begins with *that*, *where*, *who*, ….
   Fewer detected verbs mean that a verb is unknown. If there are more, and one could be a noun, it probably is one.
4. A question for the subject has its verb after the question word and a noun: *Which country borders [Y]?*

If these rules do not decide, or the sentence refers to its own time (*now, currently, may*), the result is None:
it is better to skip a fact than to ask it wrongly.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from kgprobe.base.dates import UNKNOWN, last_day
from kgprobe.verbalize.articles import word_set
from kgprobe.verbalize.language import ENGLISH, Language

Tense = Literal["present", "past", "future"]


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in text.split())


_INTRANSITIVE = word_set(
    "appear arise arrive belong come compete consist cooperate correspond depend differ emerge exist flow go graduate "
    "happen lie occur originate participate pertain reside serve sit speak specialise specialize stand succumb"
)
# Transitive verbs, and verbs with forms that are also nouns or adjectives.
_OTHERS = word_set(
    "accept accompany acquire act address adjoin administer admire adopt advise advocate affect aim air answer appoint "
    "approve assemble attend attract author award base bear become begin border bridge broadcast build buy call "
    "campaign carry cause celebrate centre chair challenge claim coach collaborate combine command commemorate "
    "commission communicate complete compose comprise concern conduct connect constitute contain continue contribute "
    "control cost cover create credit crop cross cut date debut declare define denote depict deploy derive describe "
    "design designate determine develop direct discover distribute divide drain drink drive edit educate elect embody "
    "embrace employ empty enable encircle enclose encompass end enforce enjoy enter establish examine exhibit expand "
    "explore export express extend face fall feature feed fight fill film finance find fly focus follow form front "
    "fund generate get give govern grant group grow guard guide hail head help hold honor honour host house identify "
    "illustrate imply import include indicate influence inform inhabit inherit inspire interest intersect introduce "
    "invent involve issue join keep know last launch lead learn license link list live locate look lose love maintain "
    "make manage manufacture mark market matter mean measure meet merge mint mirror model mother move name narrate "
    "need neighbor neighbour note obey observe obtain occupy offer open operate organise organize oversee own parent "
    "pass pay perform permit place plan play possess power practice practise preach precede prefer preserve preside "
    "prevent print proclaim produce program prohibit promote pronounce protect prove provide publish purchase pursue "
    "rank reach receive recognise recognize record refer reflect regulate reign relate release rely remain remember "
    "replace report represent require resemble resist respect rest result return rise rival rule run sail say score "
    "seat see seek seem select sell send separate set settle share shelter show sign sing source span spell spend "
    "sponsor star start stay stop store strike study succeed suffer supervise supply support surround symbolise "
    "symbolize take target taste teach tell think tie touch trace trade train translate travel treat turn understand "
    "unite use view visit voice vote walk want wear win work worship write"
)

_IRREGULAR = _pairs(
    "arise:arose bear:bore become:became begin:began broadcast:broadcast build:built buy:bought come:came cost:cost "
    "cut:cut drink:drank drive:drove fall:fell feed:fed fight:fought find:found fly:flew get:got give:gave go:went "
    "grow:grew hold:held keep:kept know:knew lead:led lie:lay lose:lost make:made mean:meant meet:met oversee:oversaw "
    "pay:paid rise:rose run:ran say:said see:saw seek:sought sell:sold send:sent set:set sing:sang sit:sat speak:spoke "
    "spend:spent stand:stood strike:struck take:took teach:taught tell:told think:thought understand:understood "
    "wear:wore win:won write:wrote"
)
# Past forms of transitive verbs that are neither the participle nor another word.
_PLAIN_PASTS = word_set("became began drank drove flew gave grew knew oversaw ran sang took wore wrote")
_DOUBLED = word_set("control crop occur plan prefer program refer star stop")

_AUXILIARIES = _pairs(
    "is:was are:were has:had have:had does:did do:did can:could isn't:wasn't aren't:weren't hasn't:hadn't "
    "haven't:hadn't doesn't:didn't don't:didn't can't:couldn't"
) | {"cannot": "could not"}
_PAST_AUXILIARIES = word_set("was were had did could wasn't weren't hadn't didn't couldn't")
# Finite, but without a statement about the present.
_MODALS = word_set("may might must should would ought")
# Anywhere after one of these, a base form is an infinitive: Does [X] border [Y]?
_SUPPORTS = word_set("does do did can could doesn't don't didn't can't cannot couldn't") | _MODALS

_CLAUSES = word_set("that which who whom whose where when while because although though if what")
_ASKING = word_set("who whom whose what which where when how why")
_RELATIVES = word_set("that which who")
_SUBJECTS = _RELATIVES | {"[X]", "[Y]"}
_ADVERBS = word_set("also always ever first just never not often once only then thus usually")
_BEFORE_NOUNS = word_set(
    "a an the its his her their our your this these those some any no each every of in on at by for from with as into "
    "under over between among"
)
_PARTICIPLES_FOLLOW = word_set("is are was were be been being has have had having gets got")
# Words in -s that can follow a name and are neither verbs nor plurals.
_NO_VERBS = word_set("as besides headquarters his its perhaps plus series species this towards versus vs was")
# Words that tie a sentence to the time of speaking.
_OWN_TIME = word_set("now nowadays today today's currently presently current incumbent still yet since recently")
_FUTURE = re.compile(
    r"(?i)\b(?:will|shall|won't|(?:is|are) (?:(?:going|about|set) )?to (?!(?:the|an?|its|their)\b)[a-z]+)\b"
)
_CONTRACTED = re.compile(r"(?i)\b(?:it|he|she|there|here|that|who|what|where|they|we|you)['’](?:s|re|ve|ll|d)\b")

# The perfect stays true after the fact has ended: [X] has won [Y]. Some nouns and adjectives look like participles.
_PARTICIPLES = word_set(
    "been become begun born borne come done drawn driven fallen flown given gone grown known lain ridden risen run "
    "seen shown spoken sung sworn taken worn written"
)
_PERFECT = re.compile(
    r"(?i)\b(?:has|have|hasn't|haven't)(?: \[[XY]\])?(?: (?:not|also|always|ever|just|never|once|only|[a-z]+ly))* "
    rf"(?:[a-z]+ed|{'|'.join(sorted({*_IRREGULAR.values(), *_PARTICIPLES}))})\b"
)

_TOKEN = re.compile(r"\[[XY]\](?:['’]s\b)?|[^\W\d_]+(?:['’][^\W\d_]+)*")


def third_person(base: str) -> str:
    """Return the third person singular: *supplies* for ``supply``."""
    if re.search(r"(?:s|x|z|ch|sh|o)$", base):
        return f"{base}es"
    return re.sub(r"(?<=[^aeiou])y$", "ie", base) + "s"


def _past(base: str) -> str:
    if base in _IRREGULAR:
        return _IRREGULAR[base]
    if base in _DOUBLED:
        return f"{base}{base[-1]}ed"
    if base[-1] in "ey":
        return re.sub(r"(?<=[^aeiou])y$", "ie", base).removesuffix("e") + "ed"
    return f"{base}ed"


_VERBS = sorted(_INTRANSITIVE | _OTHERS)
_BASES = frozenset(_VERBS) | {"have", "do"}
_PAST_OF = {base: _past(base) for base in _VERBS}
# Past of each present form; None if it is the same: cut.
_PRESENTS = {third_person(base): past for base, past in _PAST_OF.items()} | {
    base: None if past == base else past for base, past in _PAST_OF.items()
}
_SURE_PRESENTS = _INTRANSITIVE | set(map(third_person, _INTRANSITIVE))
_SURE = _SURE_PRESENTS | _PLAIN_PASTS | set(map(_past, _INTRANSITIVE))
_PASTS = frozenset(_PAST_OF.values())
# Past of each auxiliary; None if it is in the past already.
_ALWAYS_FINITE = dict.fromkeys(_PAST_AUXILIARIES) | _AUXILIARIES | {modal: modal for modal in _MODALS}

_BASE_OF: dict[str, tuple[str, Tense]] = {
    **{past: (base, "past") for base, past in _PAST_OF.items()},
    **{third_person(base): (base, "present") for base in _VERBS},
    **{base: (base, "present") for base in _VERBS},
}


def base_of(form: str) -> tuple[str, Tense] | None:
    """Return the base of a known verb and the tense of the form; the form may also be another word.

    >>> base_of("wrote"), base_of("supplies"), base_of("genre")
    (('write', 'past'), ('supply', 'present'), None)
    """
    return _BASE_OF.get(form)


class _Word(NamedTuple):
    """A word of a template with its context.

    Attributes:
        form: in lower case; ``[X]`` and ``[Y]`` are words too.
        before: the preceding word, adverbs skipped; empty after a punctuation mark.
        follower: the next word, or empty.
        infinitive: True if a base form is an infinitive here: after *to*, or anywhere after an auxiliary.
    """

    form: str
    place: int
    start: int
    end: int
    before: str
    follower: str
    infinitive: bool

    @property
    def is_coordinated(self) -> bool:
        """True for a present form after a conjunction: a second verb of the same subject, or a second noun."""
        return self.before in ("and", "or", "but") and self.form in _PRESENTS


class _Verb(NamedTuple):
    """A finite verb.

    Attributes:
        past: past form; None if the verb is in the past already.
        sure: True if the word cannot be anything else.
    """

    word: _Word
    past: str | None
    sure: bool


def own_time(template: str) -> list[str]:
    """Return the words of a template that refer to the time of speaking, such as *currently*."""
    return [word for word in re.findall(r"[a-z']+", template.lower()) if word in _OWN_TIME]


# Templates are few, and each is asked for many facts.
@lru_cache(maxsize=1 << 12)
def tense_of(template: str) -> Tense | None:
    """Return the tense of a template of any kind, that of the main verb if its verbs differ; None if unsure."""
    if _FUTURE.search(template):
        return "future"
    verbs = _finite_verbs(template)
    if verbs is None:
        return None
    return "past" if all(verb.past is None for verb in verbs) else "present"


def speaks_of_today(template: str, language: Language = ENGLISH) -> bool:
    """Return True if a template describes the present, so that a former object makes it false.

    In other languages than English, it does unless it contains a word in the past tense; False if these are unknown.

    >>> [speaks_of_today(each) for each in ("[X] is led by [Y]", "[X] was led by [Y]", "[X] has won [Y]")]
    [True, False, False]
    """
    if language.is_english:
        return tense_of(template) == "present" and _PERFECT.search(template) is None
    return language.words is not None and not language.has(language.words.past, template)


def in_the_past(template: str) -> str | None:
    """Return a template of any kind in the past tense, unchanged if it is in the past already; None if unsure."""
    verbs = _finite_verbs(template)
    if verbs is None:
        return None
    pasts = [(word, past) for word, past, _ in verbs if past is not None]
    if pasts and (own_time(template) or not _MODALS.isdisjoint(template.lower().split())):
        return None
    text = ""
    place = 0
    for word, past in pasts:
        text += template[place : word.start] + (past.capitalize() if template[word.start].isupper() else past)
        place = word.end
    return text + template[place:]


def templates_of(
    templates: Sequence[str], past_templates: Sequence[str], ended: bool, language: Language = ENGLISH
) -> list[str]:
    """Return the templates of one kind that suit a fact.

    For a current fact, they are ``templates``; for an ended fact, ``past_templates`` and the ``templates`` in the past
    tense; without ``past_templates``, all ``templates`` that can be put in the past. That is known for English alone:
    in other languages, an ended fact has the ``past_templates``.
    """
    if not ended:
        return list(templates)
    if not language.is_english:
        return list(past_templates)
    if past_templates:
        in_past = [template for template in templates if tense_of(template) == "past"]
        return list(dict.fromkeys([*past_templates, *in_past]))
    converted = map(in_the_past, templates)
    return list(dict.fromkeys(past for past in converted if past is not None))


def has_ended(end: str | None, as_of: int) -> bool:
    """Return True if a fact with this end (ISO 8601, or None) ended before ``as_of`` (``yyyymmdd``)."""
    return end is not None and (end == UNKNOWN or last_day(end) < as_of)


def _finite_verbs(template: str) -> list[_Verb] | None:
    """Return the finite verbs in order, at least one; None if they cannot be identified safely."""
    if _CONTRACTED.search(template) or _FUTURE.search(template):
        return None
    words = _words_in(template)
    verbs: list[_Verb] = []
    for word in words:
        if _is_nonfinite(template, word):
            continue
        verb = _coordinated_verb(word, verbs) if word.is_coordinated else _verb_of(word)
        if verb:
            verbs.append(verb)
        elif _shows_misreading(word, verbs):
            return None
    clauses = 1 + _subordinate_clauses(template, [word.form for word in words])
    verbs = verbs or _verb_of_subject_question(template, words)
    return verbs if _is_plausible(verbs, clauses) else None


def _question_word(template: str, forms: Sequence[str]) -> int | None:
    """Return the place of the question word of a question that is not a yes/no question, else None."""
    place = next((place for place, form in enumerate(forms) if form in _ASKING), None)
    if place is None or not template.endswith("?"):
        return None
    before = _AUXILIARIES.keys() | _PAST_AUXILIARIES | {"[X]", "[Y]"}
    return place if before.isdisjoint(forms[:place]) else None


def _verb_of_subject_question(template: str, words: Sequence[_Word]) -> list[_Verb]:
    """Return the verb of a question such as *Which country borders [Y]?*, if it is a known one."""
    asking = _question_word(template, [word.form for word in words])
    if asking is None:
        return []
    for word in words[asking + 1 :]:
        is_form = word.form in _PASTS or (word.form in _PRESENTS and word.form not in _BASES)
        if is_form and word.before not in _BEFORE_NOUNS:
            return [_Verb(word, _PRESENTS.get(word.form), False)]
    return []


def _is_plausible(verbs: Sequence[_Verb], clauses: int) -> bool:
    """Return True if there is a verb for each clause, and no surplus verb that may be a noun."""
    surplus = sum(not verb.word.is_coordinated for verb in verbs) - clauses
    doubtful = any(verb.past is not None and not verb.sure for verb in verbs)
    return surplus == 0 or (surplus > 0 and not doubtful)


def _words_in(template: str) -> list[_Word]:
    matches = list(_TOKEN.finditer(template))
    forms = [match[0] if match[0].startswith("[") else match[0].lower() for match in matches]
    words = []
    supported = False
    before, end = "", 0
    asking = _question_word(template, forms)
    for place, (match, form, follower) in enumerate(zip(matches, forms, [*forms[1:], ""], strict=False)):
        if template[end : match.start()].strip():
            before = ""
        infinitive = supported or before == "to"
        words.append(_Word(form, place, match.start(), match.end(), before, follower, infinitive))
        supported = supported or form in _SUPPORTS
        if place == asking and form == "which":
            # Here it is a determiner: Which work did [X] write?
            before = "the"
        elif form not in _ADVERBS and not form.endswith("ly"):
            before = form
        end = match.end()
    return words


def _is_nonfinite(template: str, word: _Word) -> bool:
    """Return True for the second part of a compound, an infinitive, and a participle that looks like a present form."""
    is_compound = template[: word.start].endswith(("-", "–"))
    infinitive = word.infinitive and word.form in _BASES
    return is_compound or infinitive or (word.before in _PARTICIPLES_FOLLOW and word.form in _PRESENTS)


def _coordinated_verb(word: _Word, verbs: Sequence[_Verb]) -> _Verb | None:
    after_verb = bool(verbs) and verbs[-1].word.place == word.place - 2
    is_verb = word.form not in _BASES and (after_verb or word.form in _SURE_PRESENTS)
    return _Verb(word, _PRESENTS[word.form], True) if is_verb else None


def _verb_of(word: _Word) -> _Verb | None:
    """Return the finite verb that a word is; None if it is not a known one."""
    form = word.form
    if form in _ALWAYS_FINITE:
        return _Verb(word, _ALWAYS_FINITE[form], True)
    sure = form in _SURE and word.before not in _BEFORE_NOUNS
    likely = sure or _is_after_subject(word)
    if form in _PRESENTS and likely:
        return _Verb(word, _PRESENTS[form], sure)
    likely = sure or (likely and (form in _PASTS or form.endswith("ed"))) or (form, word.follower) == ("used", "to")
    return _Verb(word, None, sure) if likely and word.before not in _PARTICIPLES_FOLLOW else None


def _is_after_subject(word: _Word) -> bool:
    """Return True if a word follows its subject; a name is singular, and a form that can be a noun is one before of."""
    subjects = _RELATIVES if word.form in _BASES - _PASTS else _SUBJECTS
    return word.before in subjects and word.follower != "of"


def _shows_misreading(word: _Word, verbs: Sequence[_Verb]) -> bool:
    """Return True if a word that is not a known verb shows that the sentence has been misread."""
    if word.is_coordinated:
        return word.form not in _BASES or word.form in _SURE_PRESENTS
    if word.form in _BASES and verbs and not verbs[-1].sure and verbs[-1].word.place == word.place - 1:
        # The word before is a noun: its works include.
        return True
    return word.before in ("[X]", "[Y]") and word.form not in _NO_VERBS and re.search("[^s]s$", word.form) is not None


def _subordinate_clauses(template: str, forms: Sequence[str]) -> int:
    """Return the number of subordinate clauses."""
    count = 0
    for form, follower in zip(forms, [*forms[1:], ""], strict=False):
        count += form in _CLAUSES and not (form in ("that", "because") and follower == "of")
    asking = next((place for place, form in enumerate(forms) if form in _ASKING), None)
    if template.endswith("?") and asking is not None and forms[asking] in _CLAUSES:
        # The question word begins no clause, unless this is a yes/no question.
        openers = _AUXILIARIES.keys() | _PAST_AUXILIARIES
        count -= openers.isdisjoint(forms[:asking])
    return count
