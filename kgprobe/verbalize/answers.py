"""Parsing of answers: yes or no, refusals, and mentioned names.

Section 2.3 of the parameterized-graph paper; docs/methods/questions.md. The first word of an answer to a yes/no
question counts. Polite words, *The answer is*, labels such as *Answer:*, and emphasis marks before it are skipped,
nothing else. An answer that then does not begin with yes or no is off the format. So is an answer that begins with
such a word in another sense: *No country …*, *Not only …*, *No, yes*.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT

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
_WORDS = re.compile(r"[^\W_]+")
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
_REFUSAL = re.compile(
    r"^\W*(?:not (?:sure|certain|known)|no (?:idea|clue|information))\b"
    r"|\b(?:(?:i|we)(?:'m| am|'re| are)?(?: really| very| so)? (?:sorry|afraid|apologi[sz]e|unable|not able|not sure"
    r"|unsure|uncertain|not aware)|apologies"
    r"|(?:i|we) (?:can ?not|can't|could not|couldn't|won't|will not|must decline|do not know|don't know|have no idea"
    r"|have no information|do not have|don't have|am unaware)"
    r"|as an ai\b|as a (?:large )?language model|no information (?:is )?available"
    r"|(?:it is|it's) (?:not possible|impossible) to (?:say|answer|know|tell|determine)"
    r"|can(?:no|')t be (?:determined|answered))"
)
_REFUSAL_WITHIN = 240
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_PART_END = re.compile(r"[,;:.!?()\[\]\n\"“”–—]+|\b(?:and|or)\b")

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


@dataclass(frozen=True, slots=True)
class Mention:
    """A name at its position in a text.

    Attributes:
        name: the searched name, or for :func:`all_mentions` its text here.
        start, end: position in the text, in characters.
        words: number of words before it.
    """

    name: str
    start: int
    end: int
    words: int


@dataclass(frozen=True, slots=True)
class YesNo:
    """Parsed answer to a yes/no question.

    Attributes:
        yes: True or False by the first word; None if it is neither yes nor no.
        explanation: text after that word, or the whole answer if there is none.
    """

    yes: bool | None
    explanation: str


def read_yes_no(text: str) -> YesNo:
    """Parse an answer to a yes/no question by its first word.

    Capitals, punctuation, emphasis, polite words and *The answer is* at the beginning are ignored. *Sure* means yes
    unless a later sentence begins with yes or no; *no doubt* means yes if nothing or yes follows. Neither are *yes and
    no*, *not sure*, *no idea*, a *no* that belongs to a noun (*No country …*), and a *not* that does not deny (*Not
    only …*).
    """
    shown = _EMPHASIS.sub("", text).strip()
    plain = shown.lower()
    undecided = YesNo(None, shown)
    # The lengths differ for a few letters whose lower case has several characters; none is in yes or no.
    if len(plain) != len(shown) or _BOTH.match(plain):
        return undecided
    position, assent = _skip_preamble(shown, plain)
    word = _WORD.search(plain, position)
    if word and word[0] in _YES | _NO and not _UNSURE.match(plain, word.start()):
        is_answer = _is_answer(shown, plain, word)
        return YesNo(word[0] in _YES, _text_after(shown, word.end())) if is_answer else undecided
    return undecided if assent is None else _later_answer(assent)


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


def is_refusal(text: str) -> bool:
    """Return True if an answer refuses in its own words: the model says that it cannot answer or does not know."""
    return _REFUSAL.search(_EMPHASIS.sub("", text).lower()[:_REFUSAL_WITHIN].replace("’", "'")) is not None


def sentences(text: str) -> list[str]:
    """Return the non-empty sentences and lines of an answer."""
    return list(filter(None, map(str.strip, _SENTENCE_END.split(text.strip()))))


def normalized(text: str) -> str:
    """Normalize a text for the comparison of names: lower case, no accents, no punctuation, no leading article."""
    return " ".join(_without_article(_WORDS.findall(_bare(text))))


def _bare(text: str) -> str:
    # Decompose twice: the lower case of some letters can be decomposed further.
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(mark for mark in decomposed if not unicodedata.combining(mark))


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
        word = _Word(match[0])
        word.start, word.end = origin[match.start()], origin[match.end() - 1] + 1
        words.append(word)
    return _without_article(words)


def named_in(text: str, names: Iterable[str], is_name: Callable[[str], bool] = lambda _: False) -> list[str]:
    """Return the names that a text contains as whole words, ignoring capitals, accents and punctuation.

    A name of one or two letters must have its own capitals: *US* is not in *ask us*.

    Args:
        is_name: returns True for any name, given in normalized letters. The longest one counts: *Sudan* is not
            mentioned in *South Sudan*.
    """
    return [mention.name for mention in mentions_in(text, names, is_name)]


def mentions_in(text: str, names: Iterable[str], is_name: Callable[[str], bool] = lambda _: False) -> list[Mention]:
    """Return the first mention of each name in a text, with the rules of :func:`named_in`; in the names' order."""
    words = _placed_words(text)
    mentions = []
    for name in names:
        parts = normalized(name).split()
        exact = re.compile(rf"(?<!\w){re.escape(name.strip())}(?!\w)") if _is_short(parts) else None
        for first in range(len(words) - len(parts) + 1 if parts else 0):
            last = first + len(parts)
            start = words[first].start
            if words[first:last] != parts or (exact is not None and not exact.match(text, start)):
                continue
            if not _is_part(words, first, last, is_name):
                mentions.append(Mention(name, start, words[last - 1].end, first))
                break
    return mentions


def all_mentions(text: str, is_name: Callable[[str], bool]) -> Iterator[Mention]:
    """Yield the mentions of all names in a text, as whole words, the longest name at each place.

    As in :func:`named_in`, a word of one or two letters must begin with a capital; a stop word, such as *it*, is not a
    name.

    Args:
        is_name: returns True for a name in normalized letters.

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
    return len(words) == 1 and len(words[0]) <= 2 and words[0].isalpha()


def names_anything(text: str, is_name: Callable[[str], bool], unsaid: Sequence[str] = ()) -> bool:
    """Return True if a text contains any name.

    A name does not begin with a lower-case letter (*Mexico City* in *It may be Mexico City*), or it fills a part of the
    text between punctuation marks (*carbon dioxide*), apart from stop words at its ends.

    Args:
        is_name: returns True for a name in normalized letters.
        unsaid: texts, such as the question, whose words do not count in the answer, unless it has no others.

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


def content_words(text: str) -> set[str]:
    """Return the content words of a text or template in lower case, without placeholders."""
    return set(normalized(text.replace(SUBJECT, " ").replace(OBJECT, " ")).split()) - LITTLE_WORDS
