"""Parsing of answers: yes or no, refusals, mentioned names, and judgements on a statement.

Section 2.3 of the parameterized-graph paper; docs/methods/questions.md. The first word of an answer to a yes/no
question counts. Polite words, *The answer is*, labels such as *Answer:*, and emphasis marks before it are skipped,
nothing else. An answer that then does not begin with yes or no is off the format. So is an answer that begins with
such a word in another sense: *No country …*, *Not only …*, *No, yes*.

Judgements are true, false or unknown (the paper on evaluating with large graphs; docs/methods/statements.md). The first
one counts: *True, though I don't know when* is true, *I don't know whether it is true* is unknown. Text after a label
(*Answer: …*) takes precedence; quoted statements and repeated questions are skipped.

Answers in other languages are read by the words of :mod:`.language`. *Yes*, *no*, *true* and *false* count in them,
too, and so do refusals in English. Names are found in the forms of :mod:`.name_forms`. In Chinese, a name of one
character counts if the characters next to it show that it is a word of its own.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeVar

from anyascii import anyascii

from kgprobe.verbalize.language import ENGLISH, Language, Words
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT
from kgprobe.verbalize.values import Agreement, as_value, compare, values_in

T = TypeVar("T")

_YES = frozenset({"yes", "yeah", "yep", "yup", "correct", "right", "true", "affirmative"})
_NO = frozenset({"no", "nope", "nah", "not", "incorrect", "wrong", "false", "negative"})
# They mean yes if neither yes nor no follows: absolutely, but absolutely not.
_ADVERBS = frozenset({"absolutely", "certainly", "definitely", "indeed", "sure", "surely"})
# Polite words that are skipped at the beginning.
_POLITE = frozenset(
    {"ok", "okay", "well", "so", "oh", "hmm", "ah", "great", "good", "question", "thanks", "hi"}
    | {"probably", "actually", "but", "sadly"}
)
_LEADS = re.compile(
    r"(?:the |my |final |short |correct |right )*(?:answer|response|reply|verdict)"
    r"(?: to (?:this|that|your|the) question)?(?: is| would be|:|,)*|i (?:would|will|'d|d) (?:say|answer)(?: that)?"
    r"|i (?:think|believe)(?: that)?(?: the answer is)?|(?:to (?:the best of )?my|as far as i) know(?:ledge)?"
    r"|unfortunately|correct me if i(?:'m|’m| am) wrong|that is|that's|that’s|this is|it is|it's|it’s|a(?=:)"
    # These begin with no or not, and do not deny.
    r"|no (?:problem|worries)|not (?:surprisingly|to worry)"
)
# Scripts that are written without spaces: each letter is a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORDS = re.compile(
    # Initials (U.S., J. K.), with or without spaces, are one word.
    rf"(?<![^\W_])[^\W\d_{_UNSPACED}]\.(?:\s?[^\W\d_{_UNSPACED}]\.)*(?:[^\W\d_{_UNSPACED}](?![^\W_]))?"
    # C++ and C# are not C.
    rf"|[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:[+#]+(?!\w))?"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BOTH = re.compile(r"\W*(?:yes|no|true|false)\W{0,3}(?:and|or|/)\W{0,3}(?:yes|no|true|false)\b")
# They mean yes if nothing or yes follows, no if no follows; *No doubt Paris is* is neither.
_CERTAIN = re.compile(
    r"(?:there(?: is|'s|’s) )?(?:no (?:doubt|question)|(?:without|beyond) (?:(?:a|any) )?(?:doubt|question))"
    r"(?: (?:about|of) (?:it|this|that))?(?!\w)"
)
# The opposite word right after the first one, in the same sentence, takes the answer back.
_TAKEN_BACK = re.compile(
    r"\s*(?:[,;:/…–—-]|\.{2,})*\s*(?:(?:and|or|but|wait|actually|rather|sorry)\b\W{0,3})*(yes|no)(?=\s*(?:[^\w\s]|$))"
)
# Continuations of *not* after which it does not deny.
_NOT_DENYING = re.compile(
    r"not\W+(?:only|just|merely|simply|solely|all|every\w*|always|necessarily|to(?!\W+my)|until|unless|without|long|wrong|false"
    r"|incorrect|untrue|applicable|an?\W+(?:easy|simple)|no)\b"
)
# Words that can follow an answering *no* without punctuation; before other words, *no* belongs to a noun.
_GOES_ON = re.compile(
    r"\s+(?:it|he|she|they|we|you|i|this|that|these|those|there|its|his|her|their|the|an?|is|isn['’]t|are|was|were|does"
    r"|doesn['’]t|did|do|has|have|not|never|because|since|as|but|and|at|in|on|to|for|by|instead|actually|rather|only"
    r"|longer|more|way|chance|sir|ma['’]?am|sorry|unfortunately|neither|nor|none|although|though|while|according)\b"
)
# At the beginning of a later sentence: Sure, I can help with that. No, it is not.
_AFTERWARDS = re.compile(r"(yes|no)(?=\s*(?:[,.:;!–—-]|$))\W*", re.IGNORECASE)
_UNSURE = re.compile(
    r"not\W+(?:sure|certain|able|possible|enough|known|aware|clear)\b|no\s+(?:idea|clue|information)\b"
)
_EMPHASIS = re.compile(r"[*_`#>\"“”]+")

# Refusals in a model's own words, within the first characters of the answer.
_SPEAKER = (
    r"\b(?:i|we)(?:'m| am|'re| are| was| were|'ve| have)?(?: (?:really|very|so|honestly|truly|simply|just|also|still))*"
)
_REFUSAL = re.compile(
    "|".join(
        (
            # A whole answer, or its beginning.
            r"^\W*(?:(?:(?:the )?answer|sorry|h+mm?|well|unfortunately)\W+)*"
            r"(?:(?:unknown(?: to me)?|undetermined|n/a|idk|(?:i )?dunno|none known|no answer|hard to say"
            r"|(?:can|could)(?:not|n?'t) (?:say|tell)|no(?:body| one) knows"
            r"|not (?:available|specified|stated|mentioned|applicable|publicly known))(?![^\W_]|\s[^\W_])"
            r"|(?:not (?:sure|certain|known)|do(?: not|n't) know|no (?:idea|clue|information|data|records?|details)"
            r"|never heard of|(?:insufficient|not enough) (?:information|data|context|evidence)"
            r"|(?:information|data|answer) (?:unavailable|not (?:available|found)))\b"
            r"|no(?:body| one) knows (?:for|who|what|which|when|where)\b)",
            # I am not sure; I cannot say; I have no record.
            _SPEAKER
            + r" (?:(?:sorry|afraid|apologi[sz]e)(?!(?: to say)? (?:that )?it(?:'s| is| was) (?!un|not|hard|imp|diff))"
            r"|unable|not able|not (?:\w+ )?(?:sure|certain|aware|familiar)"
            r"|unsure|uncertain|unaware|unfamiliar|clueless|must decline|lack"
            r"|(?:can ?not|can't|could not|couldn't|won't|will not)(?! (?:help but|be more|hesitate|think of another))"
            r"|(?:do|did)(?: not|n?'?t) (?:\w+ )?(?:know|have|recall|remember|find|possess)|would(?: not|n't) know"
            r"|(?:never|not) heard of|haven't (?:heard of|an? (?:idea|clue)|the (?:faintest|foggiest|slightest) idea)"
            r"|(?:have )?no (?:\w+ )?(?:idea|clue|information|records?|data|knowledge|details|memory))\b",
            r"\bapologies\b(?!,? i meant)|\b(?:your guess is as good as mine|drawing a blank|beyond me\b)"
            r"|\bas (?:an ai|a (?:large )?language model)\b"
            r"(?![^.!?]{0,30}? (?:i can(?!'t|not| not)|my answer is|the answer is(?! un| not)))"
            r"|\b(?:beyond|outside(?: of)?) my knowledge\b",
            # There is no record; it is unclear; the answer is not known; the text does not say.
            r"\bthere(?:(?:'s| is| are| exists?) (?:\w+ )?(?:no|not enough|insufficient|little)"
            r"|(?: is| are)(?:n't| not) (?:enough|any|much)) (?:\w+ ){0,3}"
            r"(?:information|records?|data|evidence|details?|mention|documentation|consensus)\b",
            r"\b(?:no information (?:is )?available|can(?:no|')t be (?:determined|answered|known|verified))",
            r"(?:^|[.!?,] )(?:it|that|this)(?:'s| is| remains|(?= isn't)) (?:\w+ )?"
            r"(?:unclear|unknown|uncertain|(?:not|isn't) (?:\w+ )?(?:clear|known|certain|specified|available))\b"
            r"(?! for\b| as\b)",
            r"^\W*(?:unfortunately\W+)?(?:the|this|that|his|her|its|their|any)\b[^.,;:]{0,80}?"
            r" (?:(?:is|are|was|were|remains?) (?:\w+ )?(?:unknown|unclear|unavailable)"
            r"|(?:is|are|was|were)(?: not|n't) (?:\w+ )?(?:known|available|specified|clear|stated))\b(?! (?:for|as)\b)",
            r"\b(?:the (?:\w+ )?(?:text|context|passage|question|statement|prompt|document)"
            r"|my (?:knowledge|training|data)(?: \w+){0,2}) do(?:es)?(?: not|n't)\b",
            r"\b(?:it|that)(?:'s| is) (?:not possible|(?:very )?(?:impossible|hard|difficult)) to"
            r" (?:say|answer|know|tell|determine)",
            # A question back.
            r"\b(?:(?:can|could|would) you (?:please )?|please )(?:provide|clarify|specify|give me|tell me(?! if i))\b",
            r"\b(?:need|require)s? (?:more|further|additional) (?:information|context|detail)",
        )
    )
)
# An answer after it: I'm not sure, but Paris.
_BUT = re.compile(
    r"[^.!?]{0,60}?(?:\b(?:but|however|though|yet)\b[\s,:]*|[,;–—-]\s*(?=(?:maybe|perhaps|probably|possibly)\b))(?P<rest>.+)",
    re.DOTALL,
)
_GUESS = re.compile(
    r"(?!(?:(?:maybe|perhaps|possibly) )?(?:you|please|try|check|ask|look)\b)"
    r"(?:(?:i(?:'d| would)? (?:think|believe|guess|suspect|say|assume)|it(?:'s| is| was| may| might| could| would"
    r"| appears| seems)|my (?:best |first )?guess|the (?:most likely )?answer|probably|perhaps|maybe|possibly|likely"
    r"|if i )|(?:he|she|they) (?:is|was|are|were) |\S+(?:\s+\S+){0,2}\s*$)"
)
# A guess or a name before it: I think it's Paris, but I'm not sure; Paris, although I'm not sure.
_ANSWERED = re.compile(
    r"\W*(?:(?:(?:i(?:'d| would)? (?:think|believe|guess|suspect|say)|it(?:'s| was)|my (?:best |first )?guess"
    r"|probably|perhaps|maybe|possibly|likely) [^.!?]{2,60}[,;–—(-]\s*(?:but |although |though |yet |and )?)"
    r"|(?P<name>[^.!?,;:(–—]{1,40}?)\s*(?:\(|[,;–—-]*\s*(?:but|although|though|yet)\s))$"
)
_NO_NAMES = frozenset(
    {"i", "i've", "we", "you", "that", "this", "it", "there", "perhaps", "maybe", "possibly", "honestly"}
)
_REFUSAL_WITHIN = 240
# Words of a title at least, and of a first sentence that is a name at most.
_TITLE, _NAME = 4, 3
_SORRY = re.compile(r"\b(?:sorry|thank|apolog\w+|unfortunately|interesting|nice)\b")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])\s*|\n+")
_PART_END = re.compile(r"[,;:.!?()\[\]\n\"“”–—，、；：。！？（）《》「」]+|\b(?:and|or)\b")

# Words of the longest name that is searched for.
LONGEST_NAME = 12
# Stop words.
LITTLE_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been by did do does for from has have he her his how in into is it its of on or she that"
        " the there they this to true was were what when where which who whom whose with",
    )
)
Judgement = Literal["true", "false", "unknown"]
Reading = Literal["true", "false", "unknown", "mixed"]

_OF_YES: dict[bool | None, Judgement | None] = {True: "true", False: "false", None: None}

_NEGATED: dict[str | None, Reading] = {"true": "false", "false": "true", "unknown": "unknown", "mixed": "mixed"}

# A quoted statement of three words or more.
_QUOTED = re.compile(r"\"[^\"\n]*? [^\"\n]*? [^\"\n]*\"|(?<!\w)'[^'\n]*? [^'\n]*? [^'\n]*'(?!\w)")
_MARKS = re.compile(r"[*_`#>\"]+")
# (A) True; 1. True; and letters alone.
_LIST_MARK = re.compile(r"^\W*(?:\(?[a-e1-5][.):])\s*(?=\w)")
_LETTERS: dict[str, Judgement] = {"t": "true", "f": "false", "idk": "unknown", "n/a": "unknown"}
_OPENING = re.compile(
    r"^(?:sure|certainly|absolutely|definitely|of course|okay|ok|well|thank you)\b[^.!,:\w]*[.!,:]+\s*(?=\w)"
)
_NAMED = re.compile(r"\b(?:answer|judge?ment|verdict|label|response|conclusion)(?:\s+is\b\s*:?|\s+would be\b|\s*:)\s*")

_UNKNOWN_WORDS = (
    "unknown|uncertain|undetermined|undecidable|indeterminate|unclear|unsure|unverifiable|unverified"
    "|not (?:known|clear|certain|sure)"
)
_TRUE_WORDS = "true|correct|right|accurate|factual|valid"
_FALSE_WORDS = "false|incorrect|wrong|untrue|inaccurate|not factual|a myth|fictional|fabricated|made up"
# Words between *is* and the judgement; *partly* is not among them.
_DEGREES = (
    "(?:(?:indeed|in fact|actually|definitely|certainly|absolutely|clearly|probably|(?:most |very )?likely|quite|simply"
    "|completely|entirely|factually|historically|technically|generally|mostly|largely|also|just|(?:to )?be|alternatives"
    "|an?) )*"
)
# The statement is not quite true.
_STATED = re.compile(
    r"\b(?:(?:statement|claim|sentence|assertion|proposition|fact|information|it|this|that)\b[^.?!\n]{0,200}?"
    r"\b(?:is|was|are|seems|appears|looks|must|would be)|(?:that|it|this)'s)"
    rf"(?P<no>n't| not)? {_DEGREES}"
    r"(?:(?P<mixed>neither|partially|partly|half|both|either|sometimes|not necessarily)\b"
    rf"|(?P<unknown>{_UNKNOWN_WORDS})\b|(?P<false>{_FALSE_WORDS}|unlikely)\b|(?P<true>{_TRUE_WORDS})\b)"
    r"(?!\s*(?:or|and|/)\s*(?:true|false|incorrect|wrong|not)\b)"
)
# I doubt that this is true.
_DOUBTED = re.compile(r"\b(?:(?:do not|don't) (?:think|believe)|doubt)\b")
# Indirect questions leave the truth open.
_WHETHER = re.compile(
    rf"\b(?:whether|if) [^.?!,\n]{{0,200}}?\b(?:{_TRUE_WORDS}|{_FALSE_WORDS})\b"
    r"(?: or (?:not|true|false|incorrect)\b)?"
)
# Judging words at the beginning that are neither yes nor no.
_BARE = re.compile(r"(?:(?P<false>untrue|inaccurate|a myth|fictional)|(?P<true>accurate|factual))\b")
_NOT_FALSE = re.compile(rf"(?:(?:it|this|that)(?: is|'s) )?not (?:{_FALSE_WORDS})\b")

_KNOWING = "know|say|tell|determine|verify|confirm|judge|answer|assess"
_KNOWN = "known|said|told|determined|verified|confirmed|judged|answered|assessed"
_UNABLE = "cannot|can not|can't|could not|couldn't|unable to|not able to"
_IGNORANT = (
    "(?:do not|don't|dont) (?:really |actually )?(?:know|have)|have no (?:idea|clue|information|knowledge)"
    rf"|{_UNABLE}|not (?:sure|certain|aware|familiar)|unsure|uncertain|unaware|unfamiliar"
)
_UNSETTLED = re.compile(
    rf"^(?:(?:it|that) is |(?:it|that)'s |i am |i'm )?(?:{_UNKNOWN_WORDS})\b"
    rf"|\b(?:i|we)(?:'m| am|'re| are)? (?:really |honestly |simply |just )*(?:{_IGNORANT})\b"
    rf"|^(?:do not know|don't know|dont know|no (?:idea|clue|information)|{_UNABLE})\b"
    rf"|\b(?:{_UNABLE}) (?:be (?:{_KNOWN})|{_KNOWING})\b"
    rf"|\b(?:impossible|not possible|hard|difficult) to (?:{_KNOWING})\b"
    r"|\b(?:not enough|insufficient|lack of|no|no reliable) (?:information|evidence|context|data|knowledge)\b"
    r"|\b(?:may|might|could)(?: well)? be (?:true|false|correct|incorrect|right|wrong|either)\b"
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A name (for :func:`all_mentions` its text here), its span in characters, and the number of words before it."""

    name: str
    start: int
    end: int
    words: int


@dataclass(frozen=True, slots=True)
class YesNo:
    """Parsed answer to a yes/no question: True, False or None by its first word, and the text after that word."""

    yes: bool | None
    explanation: str


def read_yes_no(text: str, language: Language = ENGLISH) -> YesNo:
    """Parse an answer to a yes/no question by its first word.

    Capitals, punctuation, emphasis, polite words and *The answer is* at the beginning are ignored. *Sure* means yes
    unless a later sentence begins with yes or no; *no doubt* means yes if nothing or yes follows. Neither are *yes and
    no*, *not sure*, *no idea*, a *no* that belongs to a noun (*No country …*), and a *not* that does not deny (*Not
    only …*).
    """
    shown = _EMPHASIS.sub("", text).strip()
    plain = shown.lower()
    undecided = YesNo(None, shown)
    if language.words is not None:
        first = _read_first(shown, language, language.words)
        if first is not None or not _ENGLISH_WORD.match(plain):
            return first or undecided
    # The lengths differ for a few letters whose lower case has several characters; none is in yes or no.
    if len(plain) != len(shown) or _BOTH.match(plain):
        return undecided
    position, assent = _skip_preamble(shown, plain)
    word = _WORD.search(plain, position)
    if word and word[0] in _YES | _NO and not _UNSURE.match(plain, word.start()):
        is_answer = _is_answer(shown, plain, word)
        return YesNo(word[0] in _YES, _text_after(shown, word.end())) if is_answer else undecided
    return undecided if assent is None else _later_answer(assent)


# Words of English that count in all languages.
_ENGLISH_WORD = re.compile(r"\W*(?:yes|no|true|false)(?!\w)")


def _read_first(shown: str, language: Language, words: Words) -> YesNo | None:
    """Return the answer by the first word in another language than English; None if it is not a known word."""
    plain = shown.lower().replace("’", "'")
    if len(plain) != len(shown):
        return None
    place = _after_leads(plain, language, words)
    for pattern, yes in (
        (f"{words.neither}|{words.unknown}|{words.refusal}", None),
        (f"{words.no}|{words.false}", False),
        (f"{words.yes}|{words.true}", True),
    ):
        if match := language.pattern(pattern).match(plain, place):
            return YesNo(yes, shown if yes is None else _text_after(shown, match.end()).lstrip("，。：；！、"))
    return None


def _after_leads(plain: str, language: Language, words: Words) -> int:
    """Return the place of the first word after polite words and the label of an answer."""
    place = 0
    leads = language.pattern(rf"(?:{words.label})\s*[:：]|{words.leads}")
    while True:
        start = place + len(re.match(r"[\W_]*", plain[place:])[0])  # type: ignore[index]
        lead = leads.match(plain, start)
        if lead is None or not lead[0]:
            return start
        place = lead.end()


def _skip_preamble(shown: str, plain: str) -> tuple[int, YesNo | None]:
    """Return the end of the polite and assenting words at the beginning, and the assent that they express."""
    position = 0
    assent: YesNo | None = None
    while word := _WORD.search(plain, position):
        lead = _LEADS.match(plain, word.start())
        certain = _CERTAIN.match(plain, word.start())
        if lead and not plain[lead.end() : lead.end() + 1].isalnum():
            position = lead.end()
        elif certain:
            position = certain.end()
            if not _WORD.search(plain, position):
                assent = YesNo(True, "")
            elif re.match(r"\s*[.!\n]", plain[position:]):
                assent = assent or YesNo(True, _text_after(shown, position))
        elif word[0] in _ADVERBS:
            position = word.end()
            assent = YesNo(True, _text_after(shown, position))
        elif word[0] in _POLITE:
            position = word.end()
        else:
            break
    return position, assent


def _later_answer(assent: YesNo) -> YesNo:
    """Return the answer of a later sentence that begins with yes or no, or else the assent."""
    parts = sentences(assent.explanation)
    for place, sentence in enumerate(parts[1:], start=1):
        if answer := _AFTERWARDS.match(sentence):
            explanation = " ".join([sentence[answer.end() :], *parts[place + 1 :]])
            return YesNo(answer[1].lower() == "yes", explanation.strip())
    return assent


def _text_after(shown: str, position: int) -> str:
    return shown[position:].lstrip(" ,.:;!-–—\n\t)")


def _is_answer(shown: str, plain: str, word: "re.Match[str]") -> bool:
    """Return True if a word of yes or no answers the question, judging by the text right after it."""
    behind = plain[word.end() :]
    taken_back = _TAKEN_BACK.match(behind)
    if taken_back and (taken_back[1] == "yes") == (word[0] in _NO):
        return False
    if word[0] == "not":
        return not _NOT_DENYING.match(plain, word.start())
    if word[0] == "no" and re.match(r"\s+\w|[-‐‑]\w", behind):
        # A name may begin the sentence: "No Paris is not".
        names = re.match(r"\s+\w", behind) and shown[word.end() :].lstrip()[0].isupper() and not shown.isupper()
        return bool(names or _GOES_ON.match(behind))
    return not re.match(r"right (?:now|after|before|next)\b", plain[word.start() :])


def is_refusal(text: str, language: Language = ENGLISH) -> bool:
    """Return True if an answer refuses in its own words: the model says that it cannot answer or does not know.

    In English, a name before or after it is an answer: *Paris. I don't know since when*; *I'm not sure, but Paris*. So
    is a title, four or more words with capitals.
    """
    shown = _EMPHASIS.sub("", text).replace("’", "'").strip()
    plain, words = shown.lower()[:_REFUSAL_WITHIN], language.words
    if words is not None:
        start = _after_leads(plain, language, words)
        if language.pattern(words.unknown).match(plain, start) or language.has(words.refusal, plain):
            return True
    first, spoken = (sentences(shown) or [""])[0].lower(), _WORD.findall(shown)
    is_title = all(word[0].isupper() or word in LITTLE_WORDS for word in spoken) and not shown.isupper()
    if len(spoken) >= _TITLE and is_title:
        return False
    if _may_be_name(first):
        plain = first
    refusal = _REFUSAL.search(plain)
    if refusal is None:
        return False
    before = _ANSWERED.match(plain[: refusal.start()])
    if before and (before["name"] is None or _may_be_name(before["name"], _NO_NAMES)):
        return False
    but = _BUT.match(plain, refusal.end())
    return but is None or _REFUSAL.search(but["rest"]) is not None or _GUESS.match(but["rest"]) is None


def _may_be_name(text: str, without: frozenset[str] = frozenset()) -> bool:
    """Return True for few words without polite ones and those of ``without``."""
    words = _WORD.findall(text)
    return len(words) <= _NAME and not (_POLITE | without).intersection(words) and not _SORRY.search(text)


def sentences(text: str) -> list[str]:
    """Return the non-empty sentences and lines of an answer."""
    return list(filter(None, map(str.strip, _SENTENCE_END.split(text.strip()))))


def normalized(text: str) -> str:
    """Normalize a text for the comparison of names: lower case, no accents, no punctuation, no leading article.

    Letters that are no accented ones count as such: *Łódź* is *lodz*. Initials are one word (*U.S.*, *us*). In scripts
    without spaces each letter is a word.

    >>> normalized("The Øresund"), normalized("Washington, D.C."), normalized("C++"), normalized("東京")
    ('oresund', 'washington dc', 'c++', '東 京')
    """
    return " ".join(_without_article(list(map(_joined, _WORDS.findall(_bare(text))))))


def _joined(word: str) -> str:
    """Return a word without the dots and spaces between its initials."""
    return "".join(word.replace(".", "").split())


def _bare(text: str) -> str:
    # Decompose twice: the lower case of some letters can be decomposed further.
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    if decomposed.isascii():
        return decomposed
    return "".join(_latin(mark) for mark in decomposed if not unicodedata.combining(mark))


@lru_cache(maxsize=10_000)
def _latin(letter: str) -> str:
    """Return a Latin letter in ASCII, such as l for ł; other letters are unchanged."""
    is_latin = unicodedata.name(letter, "").startswith("LATIN ")
    return (anyascii(letter).lower() or letter) if is_latin else letter


def _without_article(words: list[T]) -> list[T]:
    return words[1:] if len(words) > 1 and str(words[0]) in ("the", "a", "an") else words


class _Word(str):
    """A normalized word and its position in the text."""

    start: int
    end: int


def _placed_words(text: str) -> list[_Word]:
    """Return the words of :func:`normalized` with their positions."""
    # Normalizing by letter equals normalizing the whole text: only marks change their places, and they are dropped.
    bare = list(map(_bare, text))
    origin: list[int] = []
    for place, letters in enumerate(bare):
        origin += [place] * len(letters)
    words = []
    for match in _WORDS.finditer("".join(bare)):
        word = _Word(_joined(match[0]))
        word.start, word.end = origin[match.start()], origin[match.end() - 1] + 1
        words.append(word)
    return _without_article(words)


def named_in(
    text: str,
    names: Iterable[str],
    is_name: Callable[[str], bool] = lambda _: False,
    tolerance: float | None = None,
    language: Language = ENGLISH,
) -> list[str]:
    """Return the names that a text contains as whole words, ignoring capitals, accents and punctuation.

    A name of one or two letters must have its own capitals: *US* is not in *ask us*. A name that is a date, number or
    quantity is found by its value (:func:`~kgprobe.verbalize.values.compare`).

    Args:
        tolerance: relative difference of numbers that is right; by default that of rounding to the stated digits.
        is_name: returns True for any name, given in normalized letters. The longest one counts: *Sudan* is not
            mentioned in *South Sudan*.
    """
    return [mention.name for mention in mentions_in(text, names, is_name, tolerance, language)]


def can_be_found(name: str) -> bool:
    """Return True if a name has a letter, a digit or a symbol, which a text can be searched for."""
    return bool(normalized(name)) or any(unicodedata.category(letter).startswith("S") for letter in name)


def near_values(text: str, names: Iterable[str], tolerance: float | None = None) -> list[str]:
    """Return the dates, numbers and quantities among names to which a value in a text is near, but not equal."""
    values = values_in(text)
    near = []
    for name in names:
        target = as_value(name)
        agreements = [] if target is None else [compare(value, target, tolerance) for value in values]
        if max(agreements, default=Agreement.NONE) is Agreement.NEAR:
            near.append(name)
    return near


def mentions_in(
    text: str,
    names: Iterable[str],
    is_name: Callable[[str], bool] = lambda _: False,
    tolerance: float | None = None,
    language: Language = ENGLISH,
) -> list[Mention]:
    """Return the first mention of each name in a text, with the rules of :func:`named_in`; in the names' order."""
    words = _placed_words(text)
    names = list(names)
    values = values_in(text) if any(map(as_value, names)) else []
    mentions = []
    for name in names:
        target = as_value(name)
        if target is not None:
            equal = (value for value in values if compare(value, target, tolerance) is Agreement.RIGHT)
            mention = next(
                (Mention(name, value.start, value.end, _words_before(words, value.start)) for value in equal), None
            )
        elif not normalized(name):
            mention = _symbol_mention(name, text, words)
        else:
            mention = _spelled_mention(name, text, words, is_name, language)
        if mention is not None:
            mentions.append(mention)
    return mentions


def _symbol_mention(name: str, text: str, words: Sequence[_Word]) -> Mention | None:
    """Return the first mention of a name without letters and digits, such as *+*, that is no part of *++*."""
    symbol = re.escape(name.strip())
    match = re.search(f"(?<!{symbol}){symbol}(?!{symbol})", text) if can_be_found(name) else None
    return None if match is None else Mention(name, match.start(), match.end(), _words_before(words, match.start()))


def _words_before(words: Sequence[_Word], place: int) -> int:
    return sum(word.start < place for word in words)


def _spelled_mention(
    name: str, text: str, words: Sequence[_Word], is_name: Callable[[str], bool], language: Language
) -> Mention | None:
    """Return the first mention of a name in a form of the language that is not another known name."""
    for form in language.spellings(name):
        if form != name and is_name(normalized(form)):
            continue
        if not language.joiner and len(name) == 1 and not _stands_alone(text, name):
            continue
        if mention := _name_mention(form, text, words, is_name):
            return Mention(name, mention.start, mention.end, mention.words)
    return None


# Characters next to a name of one character: verbs and particles before it, particles after it.
_BEFORE_ONE, _BEHIND_ONE = "是为為叫即乃和与與或及在用", "的是和与與或及吗嗎呢啊"


def _stands_alone(text: str, letter: str) -> bool:
    """Return True if a character of a script without spaces is a word of its own at some place of a text."""
    bounded = f"(?<![{_UNSPACED}])|(?<=[{_BEFORE_ONE}])"
    return re.search(f"(?:{bounded}){re.escape(letter)}(?=[{_BEHIND_ONE}]|[^{_UNSPACED}]|$)", text) is not None


def _name_mention(name: str, text: str, words: Sequence[_Word], is_name: Callable[[str], bool]) -> Mention | None:
    parts = normalized(name).split()
    for first in range(len(words) - len(parts) + 1):
        last = first + len(parts)
        start, end = words[first].start, words[last - 1].end
        if words[first:last] != parts or (_is_short(parts) and _joined(text[start:end]) != _joined(name)):
            continue
        if not _is_part(words, first, last, is_name):
            return Mention(name, start, end, first)
    return None


def all_mentions(text: str, is_name: Callable[[str], bool]) -> Iterator[Mention]:
    """Yield the mentions of all names in a text, as whole words, the longest name at each place.

    As in :func:`named_in`, a word of one or two letters must begin with a capital; a stop word, such as *it*, is not a
    name.

    Cost: a dozen look-ups per word.
    """
    words = _placed_words(text)
    behind = 0
    for first, word in enumerate(words):
        if first < behind:
            continue
        idle = word in LITTLE_WORDS or (_is_short([word]) and text[word.start].islower())
        shortest = first + (2 if idle else 1)
        for last in range(min(len(words), first + LONGEST_NAME), shortest - 1, -1):
            if is_name(" ".join(words[first:last])):
                start, end = word.start, words[last - 1].end
                yield Mention(text[start:end], start, end, first)
                behind = last
                break


def _is_short(words: Sequence[str]) -> bool:
    """Return True for a name of one or two letters, which looks like many words in lower case."""
    return len(words) == 1 and len(words[0]) <= 2 and words[0].isalpha() and words[0].isascii()


def names_anything(text: str, is_name: Callable[[str], bool], unsaid: Sequence[str] = ()) -> bool:
    """Return True if a text contains any name.

    A name does not begin with a lower-case letter (*Mexico City* in *It may be Mexico City*), or it fills a part of the
    text between punctuation marks (*carbon dioxide*), apart from stop words at its ends.

    ``unsaid`` are texts, such as the question, whose words do not count in the answer, unless it has no others;
    ``is_name`` gets normalized letters.
    Cost: a dozen look-ups per word.
    """
    whole = normalized(text)
    if whole and is_name(whole):
        return True
    before = [f" {normalized(other)} " for other in unsaid]

    def is_new_name(words: Sequence[str]) -> bool:
        phrase = " ".join(words)
        return bool(phrase) and is_name(phrase) and not any(f" {phrase} " in other for other in before)

    # As in normalized(), but with capitals.
    shown = _WORDS.findall(unicodedata.normalize("NFKC", text))
    words = list(map(normalized, shown))
    for first, word in enumerate(shown):
        if word[0].islower():
            continue
        shortest = first + (2 if words[first] in LITTLE_WORDS else 1)
        ends = range(shortest, min(len(words), first + LONGEST_NAME) + 1)
        if any(is_new_name(words[first:end]) for end in ends):
            return True
    return any(map(is_new_name, _parts(text, before)))


def _parts(text: str, before: Sequence[str]) -> Iterator[list[str]]:
    """Yield the parts between punctuation marks, first whole, then without stop words and known words at the ends."""
    context = " ".join(before)
    for part in _PART_END.split(text):
        words = normalized(part).split()
        yield words
        content = [place for place, word in enumerate(words) if word not in LITTLE_WORDS and f" {word} " not in context]
        if content:
            yield words[content[0] : content[-1] + 1]


def _is_part(words: Sequence[str], first: int, last: int, is_name: Callable[[str], bool]) -> bool:
    """Return True if the words from first to last are part of a longer name."""
    for start in range(max(0, last - LONGEST_NAME), first + 1):
        for end in range(last, min(len(words), start + LONGEST_NAME) + 1):
            if end - start > last - first and is_name(" ".join(words[start:end])):
                return True
    return False


NEGATION = re.compile(
    r"\b(?:not|no|never|neither|nor|none|without|cannot|false|incorrect|wrong)\b|n['’]t\b", re.IGNORECASE
)


def denies(text: str, language: Language = ENGLISH) -> bool:
    """Return True if a text contains a word that denies."""
    if language.words is not None:
        return language.has(language.words.negation, text)
    return NEGATION.search(text) is not None


def content_words(text: str, language: Language = ENGLISH) -> set[str]:
    """Return the content words of a text or template in lower case, without placeholders."""
    little = language.words.little if language.words else LITTLE_WORDS
    return set(normalized(text.replace(SUBJECT, " ").replace(OBJECT, " ")).split()) - little


def judgement_of(text: str, language: Language = ENGLISH) -> Judgement | None:
    """Return the judgement of an answer on a statement; None if it cannot be parsed.

    >>> [judgement_of(each) for each in ("True.", "It is not true that …", "I don't know.", "Paris is nice.")]
    ['true', 'false', 'unknown', None]

    *Yes* and *correct* are true, *no* and *incorrect* false, *may be true* is unknown; *partly true* and *neither* are
    none of the three.
    """
    if language.words is not None:
        reading = _reading_in(text, language, language.words)
        if reading is not None or not _ENGLISH_WORD.match(text.lower()):
            return None if reading == "mixed" else reading
    plain = text.replace("’", "'").replace("“", '"').replace("”", '"').lower()
    parts = sentences(" ".join(_MARKS.sub("", _QUOTED.sub("", plain)).split()))
    # Skip initial questions: True or false? False.
    while len(parts) > 1 and parts[0].endswith("?"):
        parts.pop(0)
    plain = " ".join(parts)
    label = _NAMED.search(plain)
    reading = (_read(plain[label.end() :]) if label else None) or _read(plain)
    return None if reading == "mixed" else reading


# Quoted statements, in the marks of several languages.
_ANY_QUOTED = re.compile(r"„[^“”]*[“”]|«[^»]*»|“[^”]{5,}”|\"[^\"\n]{12,}\"|「[^」]{5,}」")


def _reading_in(text: str, language: Language, words: Words) -> Reading | None:
    """Return the judgement of an answer in another language than English: its first word, or the first in the text."""
    plain = _MARKS.sub("", _ANY_QUOTED.sub("", text)).replace("’", "'").lower()
    if label := language.pattern(rf"(?:{words.label})\s*[:：]").search(plain):
        plain = plain[label.end() :]
    while question := re.match(r"[^.!?？。！\n]*[?？]\s*(?=\w)", plain):
        plain = plain[question.end() :]
    unknown = f"{words.unknown}|{words.refusal}"
    kinds: tuple[tuple[Reading, str, str], ...] = (
        ("mixed", words.neither, words.neither),
        ("unknown", unknown, unknown),
        # Yes and no count at the beginning alone.
        ("false", f"{words.no}|{words.false}", words.false),
        ("true", f"{words.yes}|{words.true}", words.true),
    )
    start = _after_leads(plain, language, words)
    for reading, at_first, _ in kinds:
        if language.pattern(at_first).match(plain, start):
            return reading
    mentions: list[tuple[int, int, Reading]] = []
    for order, (reading, _, within) in enumerate(kinds):
        if match := language.pattern(within).search(plain):
            mentions.append((match.start(), order, reading))
    return min(mentions)[2] if mentions else None


def _read(plain: str) -> Reading | None:
    """Return the judgement that a text expresses; None if it expresses none."""
    bare = _LIST_MARK.sub("", plain)
    opened = _WHETHER.sub("it", _OPENING.sub("", bare))
    if first_word := _read_first_word(bare, opened):
        return first_word
    unsettled, stated = _UNSETTLED.search(opened), _STATED.search(opened)
    first = read_yes_no(opened)
    # After *Sure, I can help*, later words count; in *No, I don't know*, the first word does not.
    is_open = unsettled is not None and (not unsettled.start() or _UNSETTLED.match(first.explanation) is not None)
    if first.yes is not None and not is_open and not (_OPENING.match(bare) and stated):
        return _OF_YES[first.yes]
    if stated is not None and (unsettled is None or stated.end() <= unsettled.start()):
        # The last matched group is the judgement.
        negated = _NEGATED[stated.lastgroup]
        doubted = _DOUBTED.search(opened, 0, stated.end()) is not None
        return negated if doubted != (stated["no"] is not None) else _NEGATED[negated]
    # *Sure* alone.
    return "unknown" if unsettled is not None else _OF_YES[read_yes_no(bare).yes]


def _read_first_word(bare: str, opened: str) -> Judgement | None:
    """Return the judgement of a single letter, or of a first word other than yes and no."""
    letter = bare.strip(" .!")
    if letter in _LETTERS:
        return _LETTERS[letter]
    if _NOT_FALSE.match(opened):
        return "true"
    word = _BARE.match(opened)
    return _OF_YES[word and word["true"] is not None]
