"""The tense of a template, and the same template in the past tense, for facts that have ended.

There is no parser behind this, only the forms of common verbs and the places where a finite verb stands:

1. *is, are, has, have, does, do, can* are finite wherever they stand, but for *have* and *do* behind *to* or another
   auxiliary. So are verbs without an object, whose forms are neither nouns nor participles: *belongs, consisted*.
2. A form that may be a noun or a participle as well (*borders, plays, led, located*) is finite right after ``[X]``,
   ``[Y]``, *that*, *which* or *who*; adverbs in between do not count. Behind *and*, it goes with the verb before.
3. There is one finite verb for the sentence, and one for each clause that *that*, *where*, *who*, … begin. Where fewer
   are found, there is a verb that is not known here; where more are found and one may be a noun, it probably is one.

Where these do not settle it, or the sentence speaks of the time it is said at (*now, currently, may*), there is no
answer: a fact is better not asked than asked wrongly.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from kgprobe.dates import last_day

Tense = Literal["present", "past", "future"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_INTRANSITIVE = _words(
    "appear arise arrive belong come compete consist cooperate correspond depend differ emerge exist flow go graduate "
    "happen lie occur originate participate pertain reside serve sit speak specialise specialize stand succumb"
)
# With an object, or with forms that are nouns or adjectives.
_OTHERS = _words(
    "accept accompany acquire address adjoin administer admire adopt advise advocate affect aim air answer appoint "
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

_IRREGULAR = dict(
    pair.split(":")
    for pair in _words(
        "arise:arose bear:bore become:became begin:began broadcast:broadcast build:built buy:bought come:came "
        "cost:cost cut:cut drink:drank drive:drove fall:fell feed:fed fight:fought find:found fly:flew get:got "
        "give:gave go:went grow:grew hold:held keep:kept know:knew lead:led lie:lay lose:lost make:made mean:meant "
        "meet:met oversee:oversaw pay:paid rise:rose run:ran say:said see:saw seek:sought sell:sold send:sent set:set "
        "sing:sang sit:sat speak:spoke spend:spent stand:stood strike:struck take:took teach:taught tell:told "
        "think:thought understand:understood wear:wore win:won write:wrote"
    )
)
# The past of verbs with an object, where it is neither the participle nor another word.
_PLAIN_PASTS = _words("became began drank drove flew gave grew knew oversaw ran sang took wore wrote")
_DOUBLED = _words("control crop occur plan prefer program refer star stop")

_AUXILIARIES = {
    "is": "was",
    "are": "were",
    "has": "had",
    "have": "had",
    "does": "did",
    "do": "did",
    "can": "could",
    "isn't": "wasn't",
    "aren't": "weren't",
    "hasn't": "hadn't",
    "haven't": "hadn't",
    "doesn't": "didn't",
    "don't": "didn't",
    "can't": "couldn't",
    "cannot": "could not",
}
_PAST_AUXILIARIES = _words("was were had did could wasn't weren't hadn't didn't couldn't")
# Finite, and no word on whether it is so.
_MODALS = _words("may might must should would ought")
# Behind one of these, however far, a base form is an infinitive: Does [X] border [Y]?
_SUPPORTS = _words("does do did can could doesn't don't didn't can't cannot couldn't") | _MODALS

_CLAUSES = _words("that which who whom whose where when while because although though if what")
_ASKING = _words("who whom whose what which where when how why")
_RELATIVES = _words("that which who")
_SUBJECTS = _RELATIVES | {"[X]", "[Y]"}
_ADVERBS = _words("also always ever first just never not often once only then thus usually")
_BEFORE_NOUNS = _words(
    "a an the its his her their our your this these those some any no each every of in on at by for from with as into "
    "under over between among"
)
_PARTICIPLES_FOLLOW = _words("is are was were be been being has have had having gets got")
# What may follow a name and ends in s without being a verb or a plural.
_NO_VERBS = _words("as besides headquarters his its perhaps plus series species this towards versus vs was")
# Words that tie a sentence to the time it is said at.
_OWN_TIME = _words("now nowadays today today's currently presently current incumbent still yet since recently")
_FUTURE = re.compile(
    r"(?i)\b(?:will|shall|won't|(?:is|are) (?:(?:going|about|set) )?to (?!(?:the|an?|its|their)\b)[a-z]+)\b"
)
_CONTRACTED = re.compile(r"(?i)\b(?:it|he|she|there|here|that|who|what|where|they|we|you)['’](?:s|re|ve|ll|d)\b")

# Whoever has won once has won: the perfect says nothing of today. Some nouns and adjectives look like participles.
_PARTICIPLES = _words(
    "been become begun born borne come done drawn driven fallen flown given gone grown known lain ridden risen run "
    "seen shown spoken sung sworn taken worn written"
)
_PERFECT = re.compile(
    r"(?i)\b(?:has|have|hasn't|haven't)(?: \[[XY]\])?(?: (?:not|also|always|ever|just|never|once|only|[a-z]+ly))* "
    rf"(?:[a-z]+ed|{'|'.join(sorted({*_IRREGULAR.values(), *_PARTICIPLES}))})\b"
)

_TOKEN = re.compile(r"\[[XY]\](?:['’]s\b)?|[^\W\d_]+(?:['’][^\W\d_]+)*")


def _third_person(base: str) -> str:
    if re.search(r"(?:s|x|z|ch|sh|o)$", base):
        return f"{base}es"
    return re.sub(r"(?<=[^aeiou])y$", "ie", base) + "s"


def _past(base: str) -> str:
    if base in _IRREGULAR:
        return _IRREGULAR[base]
    if base in _DOUBLED:
        base += base[-1]
    return re.sub(r"(?<=[^aeiou])y$", "ie", base).removesuffix("e") + "ed" if base[-1] in "ey" else f"{base}ed"


_BASES = _INTRANSITIVE | _OTHERS | {"have", "do"}
_PRESENTS = {form: _past(base) for base in _INTRANSITIVE | _OTHERS for form in (base, _third_person(base))}
_SURE = frozenset(form for base in _INTRANSITIVE for form in (base, _third_person(base)))
_SURE_PASTS = _PLAIN_PASTS | {_past(base) for base in _INTRANSITIVE}
_PASTS = frozenset(_PRESENTS.values())


_BASE_OF: dict[str, tuple[str, Tense]] = {
    **{_past(base): (base, "past") for base in sorted(_INTRANSITIVE | _OTHERS)},
    **{_third_person(base): (base, "present") for base in sorted(_INTRANSITIVE | _OTHERS)},
    **{base: (base, "present") for base in sorted(_INTRANSITIVE | _OTHERS)},
}


def base_of(form: str) -> tuple[str, Tense] | None:
    """The base of a verb that is known here, and the tense of its form, which may be another word as well.

    >>> base_of("wrote"), base_of("supplies"), base_of("genre")
    (('write', 'past'), ('supply', 'present'), None)
    """
    return _BASE_OF.get(form)


def third_person(base: str) -> str:
    """``supply``: *supplies*."""
    return _third_person(base)


class _Verb(NamedTuple):
    """A finite verb.

    Attributes:
        start, end: where it stands in the template.
        past: its form in the past; None if that is what it has.
        sure: whether it can be nothing else.
    """

    start: int
    end: int
    past: str | None
    sure: bool


def own_time(template: str) -> list[str]:
    """The words of a template that speak of the time it is said at, such as *currently*."""
    return [word for word in re.findall(r"[a-z']+", template.lower()) if word in _OWN_TIME]


def tense_of(template: str) -> Tense | None:
    """The tense of a template of any kind, of its main verb if its verbs differ; None where the rule is not sure."""
    if _FUTURE.search(template):
        return "future"
    verbs = _finite_verbs(template)
    if verbs is None:
        return None
    return "past" if all(verb.past is None for verb in verbs) else "present"


def speaks_of_today(template: str) -> bool:
    """Whether a template says what is, so that what was true before and is no more makes it false.

    >>> [speaks_of_today(each) for each in ("[X] is led by [Y]", "[X] was led by [Y]", "[X] has won [Y]")]
    [True, False, False]
    """
    return tense_of(template) == "present" and _PERFECT.search(template) is None


def in_the_past(template: str) -> str | None:
    """A template of any kind as it is said of what has ended, or None where the rule is not sure.

    One that is in the past already is given back as it is.
    """
    if _FUTURE.search(template):
        return None
    verbs = _finite_verbs(template)
    if verbs is None or (
        any(verb.past is not None for verb in verbs)
        and (own_time(template) or not _MODALS.isdisjoint(template.lower().split()))
    ):
        return None
    text = ""
    place = 0
    for start, end, past, _ in verbs:
        if past is not None:
            text += template[place:start] + (past.capitalize() if template[start].isupper() else past)
            place = end
    return text + template[place:]


def templates_of(templates: Sequence[str], past_templates: Sequence[str], ended: bool) -> list[str]:
    """The templates in which a fact is put, of any one kind.

    Args:
        templates: the relation's, for facts that hold.
        past_templates: those that it has for facts that have ended; may be empty.
        ended: whether the fact has, see :func:`has_ended`.

    Returns:
        for a fact that holds, ``templates``. For one that has ended ``past_templates`` and those of ``templates`` that
        are in the past; where there are no ``past_templates``, all of ``templates`` that can be put in the past.
    """
    if not ended:
        return list(templates)
    if past_templates:
        return list(dict.fromkeys([*past_templates, *(each for each in templates if tense_of(each) == "past")]))
    return list(dict.fromkeys(past for each in templates if (past := in_the_past(each)) is not None))


def has_ended(end: str | None, as_of: int) -> bool:
    """Whether a fact with this end (ISO 8601, or None) has ended before ``as_of`` (``yyyymmdd``)."""
    return end is not None and last_day(end) < as_of


def _finite_verbs(template: str) -> list[_Verb] | None:
    """The finite verbs in their order, at least one; None where the rule is not sure which they are."""
    if _CONTRACTED.search(template):
        return None
    words = list(_TOKEN.finditer(template))
    forms = [word.group() if word.group().startswith("[") else word.group().lower() for word in words]
    verbs: list[_Verb] = []
    joined = 0
    for place, (word, form) in enumerate(zip(words, forms, strict=True)):
        if word.start() and template[word.start() - 1] in "-–":
            continue
        before = _before(template, words, forms, place)
        bare = form in _BASES and (before == "to" or not _SUPPORTS.isdisjoint(forms[:place]))
        if bare or (before in _PARTICIPLES_FOLLOW and form in _PRESENTS):
            continue
        if before in ("and", "or", "but") and form in _PRESENTS:
            # A second verb of the same subject; what stands there may also be a second noun.
            beside_verb = bool(verbs) and words[place - 2].start() == verbs[-1].start
            if form not in _BASES and (beside_verb or form in _SURE):
                verbs.append(_Verb(word.start(), word.end(), _PRESENTS[form], True))
                joined += 1
            elif form not in _BASES or form in _SURE:
                return None
            continue
        follower = forms[place + 1] if place + 1 < len(forms) else ""
        sure = (form in _SURE or form in _SURE_PASTS) and before not in _BEFORE_NOUNS
        # A name is singular, and a verb that may be a noun is one in front of "of".
        likely = before in (_RELATIVES if form in _BASES - _PASTS else _SUBJECTS) and follower != "of"
        if form in _MODALS:
            verbs.append(_Verb(word.start(), word.end(), form, True))
        elif form in _AUXILIARIES or form in _PAST_AUXILIARIES:
            verbs.append(_Verb(word.start(), word.end(), _AUXILIARIES.get(form), True))
        elif form in _PRESENTS and (sure or likely):
            past = _PRESENTS[form]
            verbs.append(_Verb(word.start(), word.end(), None if past == form else past, sure))
        elif before in _PARTICIPLES_FOLLOW:
            continue
        elif sure or (form == "used" and follower == "to") or (likely and (form in _PASTS or form.endswith("ed"))):
            verbs.append(_Verb(word.start(), word.end(), None, sure))
        elif form in _BASES and verbs and not verbs[-1].sure and verbs[-1].end == words[place - 1].end():
            # The one before is a noun: its works include.
            return None
        elif before in ("[X]", "[Y]") and re.search("[^s]s$", form) and form not in _NO_VERBS:
            return None
    expected = 1 + _clauses(template, forms)
    found = len(verbs) - joined
    doubtful = any(verb.past is not None and not verb.sure for verb in verbs)
    return None if found < expected or (doubtful and found > expected) else verbs


def _before(template: str, words: Sequence[re.Match[str]], forms: Sequence[str], place: int) -> str:
    """The word in front of another, but for adverbs; empty where anything but white space lies between."""
    end = words[place].start()
    for earlier in reversed(range(place)):
        if template[words[earlier].end() : end].strip():
            return ""
        if forms[earlier] not in _ADVERBS and not forms[earlier].endswith("ly"):
            return forms[earlier]
        end = words[earlier].start()
    return ""


def _clauses(template: str, forms: Sequence[str]) -> int:
    """How many clauses there are beside the main one."""
    followers = [*forms[1:], ""]
    count = sum(
        form in _CLAUSES and not (form in ("that", "because") and follower == "of")
        for form, follower in zip(forms, followers, strict=False)
    )
    asking = next((place for place, form in enumerate(forms) if form in _ASKING), None)
    if template.endswith("?") and asking is not None and forms[asking] in _CLAUSES:
        # What the question asks with, unless it is a yes/no question.
        openers = _AUXILIARIES.keys() | _PAST_AUXILIARIES
        count -= openers.isdisjoint(forms[:asking])
    return count
