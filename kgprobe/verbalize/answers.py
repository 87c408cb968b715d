"""What an answer says: yes or no, a refusal, or one of some names.

Section 2.3 of the parameterized-graph paper; docs/methods/questions.md. The answer to a yes/no question is its first
word. Models put things before it: a word of politeness, *The answer is*, a label such as *Answer:*, marks of
emphasis. These are set aside, and nothing else: an answer that has not begun with yes or no after them is off the
format. So is one that begins with such a word and does not say it: *No country …*, *Not only …*, *No, yes*.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

_YES = frozenset({"yes", "yeah", "yep", "yup", "correct", "right", "true", "affirmative"})
_NO = frozenset({"no", "nope", "nah", "not", "incorrect", "wrong", "false", "negative"})
# Yes where neither yes nor no follows: absolutely, but absolutely not.
_ADVERBS = frozenset({"absolutely", "certainly", "definitely", "indeed", "sure", "surely"})
# Words that may stand before the first one that counts.
_POLITE = frozenset(
    {"ok", "okay", "well", "so", "oh", "hmm", "ah", "great", "good", "question", "thanks", "hi"}
    | {"probably", "actually", "but", "sadly"}
)
_LEADS = re.compile(
    r"(?:the |my |final |short |correct |right )*(?:answer|response|reply|verdict)"
    r"(?: to (?:this|that|your|the) question)?(?: is| would be|:|,)*|i (?:would|will|'d|d) (?:say|answer)(?: that)?"
    r"|i (?:think|believe)(?: that)?(?: the answer is)?|(?:to (?:the best of )?my|as far as i) know(?:ledge)?"
    r"|unfortunately|correct me if i(?:'m|’m| am) wrong|that is|that's|that’s|this is|it is|it's|it’s|a(?=:)"
    # These begin with no or not, and are none.
    r"|no (?:problem|worries)|not (?:surprisingly|to worry)"
)
_WORDS = re.compile(r"[^\W_]+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BOTH = re.compile(r"\W*(?:yes|no|true|false)\W{0,3}(?:and|or|/)\W{0,3}(?:yes|no|true|false)\b")
# Yes where nothing or yes follows, no where no does; *No doubt Paris is* says nothing of what was asked.
_CERTAIN = re.compile(
    r"(?:there(?: is|'s|’s) )?(?:no (?:doubt|question)|(?:without|beyond) (?:(?:a|any) )?(?:doubt|question))"
    r"(?: (?:about|of) (?:it|this|that))?(?!\w)"
)
# The other word right behind the first one, in the same sentence: what is said is taken back.
_TAKEN_BACK = re.compile(
    r"\s*(?:[,;:/…–—-]|\.{2,})*\s*(?:(?:and|or|but|wait|actually|rather|sorry)\b\W{0,3})*(yes|no)(?=\s*(?:[^\w\s]|$))"
)
# Behind *not*, what leaves open whether it denies.
_NOT_DENYING = re.compile(
    r"not\W+(?:only|just|merely|simply|solely|all|every\w*|always|necessarily|to(?!\W+my)|until|unless|without|long|wrong|false"
    r"|incorrect|untrue|applicable|an?\W+(?:easy|simple)|no)\b"
)
# Behind *no* without a mark between them, what can go on with a sentence: any other *no* belongs to a noun.
_GOES_ON = re.compile(
    r"\s+(?:it|he|she|they|we|you|i|this|that|these|those|there|its|his|her|their|the|an?|is|isn['’]t|are|was|were|does"
    r"|doesn['’]t|did|do|has|have|not|never|because|since|as|but|and|at|in|on|to|for|by|instead|actually|rather|only"
    r"|longer|more|way|chance|sir|ma['’]?am|sorry|unfortunately|neither|nor|none|although|though|while|according)\b"
)
# Behind other sentences: Sure, I can help with that. No, it is not.
_AFTERWARDS = re.compile(r"(yes|no)(?=\s*(?:[,.:;!–—-]|$))\W*", re.IGNORECASE)
_UNSURE = re.compile(
    r"not\W+(?:sure|certain|able|possible|enough|known|aware|clear)\b|no\s+(?:idea|clue|information)\b"
)
_EMPHASIS = re.compile(r"[*_`#>\"“”]+")

# Of an answer in a model's own words; looked for in its first sentences.
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

# Words of the longest name that is looked for.
LONGEST_NAME = 12
# Words that say nothing of what a text is about.
LITTLE_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been by did do does for from has have he her his how in into is it its of on or she that"
        " the there they this to true was were what when where which who whom whose with",
    )
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A name where it stands in a text.

    Attributes:
        name: as it was looked for; of one that was found by its look alone, as it stands there.
        start, end: in characters of the text.
        words: how many words of the text stand before it.
    """

    name: str
    start: int
    end: int
    words: int


@dataclass(frozen=True, slots=True)
class YesNo:
    """What an answer to a yes/no question says.

    Attributes:
        yes: by its first word; None where that is neither yes nor no.
        explanation: what stands behind that word, or all of it where there is none.
    """

    yes: bool | None
    explanation: str


def read_yes_no(text: str) -> YesNo:
    """What an answer to a yes/no question says by its first word.

    Capitals, punctuation, marks of emphasis, polite words and *The answer is* in front have no say. *Sure* is yes where
    no later sentence begins with yes or no, and *no doubt* where nothing or yes follows. Neither are *yes and no*, *not
    sure* and *no idea*, a *no* that belongs to a noun (*No country …*), and a *not* that does not deny (*Not only …*).
    """
    shown = _EMPHASIS.sub("", text).strip()
    plain = shown.lower()
    position = 0
    if len(plain) != len(shown) or _BOTH.match(plain):
        # Lengths differ for a few letters that have no small form of one letter; no yes or no is among them.
        return YesNo(None, shown)
    sure: YesNo | None = None
    while word := _WORD.search(plain, position):
        lead = _LEADS.match(plain, word.start())
        certain = _CERTAIN.match(plain, word.start())
        if lead and not plain[lead.end() : lead.end() + 1].isalnum():
            position = lead.end()
        elif certain:
            position = certain.end()
            if not _WORD.search(plain, position):
                return YesNo(True, "")
            if re.match(r"\s*[.!\n]", plain[position:]):
                sure = sure or YesNo(True, _behind(shown, position))
        elif word[0] in _POLITE or word[0] in _ADVERBS:
            position = word.end()
            sure = YesNo(True, _behind(shown, position)) if word[0] in _ADVERBS else sure
        elif word[0] in _YES | _NO and not _UNSURE.match(plain, word.start()):
            if not _is_said(shown, plain, word):
                return YesNo(None, shown)
            return YesNo(word[0] in _YES, _behind(shown, word.end()))
        else:
            break
    if sure is None:
        return YesNo(None, shown)
    said = sentences(sure.explanation)
    for place, sentence in enumerate(said):
        if place and (found := _AFTERWARDS.match(sentence)):
            return YesNo(found[1].lower() == "yes", " ".join([sentence[found.end() :], *said[place + 1 :]]).strip())
    return sure


def _behind(shown: str, position: int) -> str:
    return shown[position:].lstrip(" ,.:;!-–—\n\t)")


def _is_said(shown: str, plain: str, word: "re.Match[str]") -> bool:
    """Whether a word of yes or no says so, by what stands right behind it."""
    behind = plain[word.end() :]
    taken_back = _TAKEN_BACK.match(behind)
    if taken_back and (taken_back[1] == "yes") == (word[0] in _NO):
        return False
    if word[0] == "not":
        return not _NOT_DENYING.match(plain, word.start())
    if word[0] == "no" and re.match(r"\s+\w|[-‐‑]\w", behind):
        # A name may begin what is said: "No Paris is not".
        names = re.match(r"\s+\w", behind) and shown[word.end() :].lstrip()[0].isupper() and not shown.isupper()
        return bool(names or _GOES_ON.match(behind))
    return not re.match(r"right (?:now|after|before|next)\b", plain[word.start() :])


def is_refusal(text: str) -> bool:
    """Whether an answer says in words of its own that there will be none: that the model cannot, or does not know."""
    return _REFUSAL.search(_EMPHASIS.sub("", text).lower()[:_REFUSAL_WITHIN].replace("’", "'")) is not None


def sentences(text: str) -> list[str]:
    """An answer's sentences and lines, without empty ones."""
    return [part.strip() for part in _SENTENCE_END.split(text.strip()) if part.strip()]


def normalized(text: str) -> str:
    """A text as names are compared: small letters without accents, words and numbers alone, no article in front."""
    return " ".join(_without_article(_WORDS.findall(_bare(text))))


def _bare(text: str) -> str:
    # Some letters have a capital to be decomposed into.
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(mark for mark in decomposed if not unicodedata.combining(mark))


def _without_article(words: list[T]) -> list[T]:
    return words[1:] if len(words) > 1 and str(words[0]) in ("the", "a", "an") else words


class _Word(str):
    """A word in normalized letters, and where it stands in its text."""

    start: int
    end: int


def _placed_words(text: str) -> list[_Word]:
    """The words of :func:`normalized`, with their places."""
    # Letter by letter it comes to the same as for the whole text: only marks, which are dropped, change their places.
    bare = [_bare(letter) for letter in text]
    origin = [place for place, letters in enumerate(bare) for _ in letters]
    words = []
    for found in _WORDS.finditer("".join(bare)):
        word = _Word(found[0])
        word.start, word.end = origin[found.start()], origin[found.end() - 1] + 1
        words.append(word)
    return _without_article(words)


def named_in(text: str, names: Iterable[str], is_name: Callable[[str], bool] = lambda _: False) -> list[str]:
    """Which of these names stand in a text, as whole words, whatever their capitals, accents and punctuation.

    A name of one or two letters has to stand there with its own capitals: *US* is not in *ask us*.

    Args:
        is_name: whether something in normalized letters is a name of anything. The longest one wins: a name that stands
            in the text as a part of a longer one alone, as *Sudan* in *South Sudan*, is not there.
    """
    return [one.name for one in mentions_in(text, names, is_name)]


def mentions_in(text: str, names: Iterable[str], is_name: Callable[[str], bool] = lambda _: False) -> list[Mention]:
    """Where these names stand in a text for the first time, as :func:`named_in` finds them; in the names' order."""
    words = _placed_words(text)
    found = []
    for name in names:
        wanted = normalized(name).split()
        own = re.compile(rf"(?<!\w){re.escape(name.strip())}(?!\w)") if _is_short(wanted) else None
        for first in _places(words, wanted):
            last = first + len(wanted)
            if own is not None and not own.match(text, words[first].start):
                continue
            if not _is_part(words, first, last, is_name):
                found.append(Mention(name, words[first].start, words[last - 1].end, first))
                break
    return found


def all_mentions(text: str, is_name: Callable[[str], bool]) -> Iterator[Mention]:
    """The names in a text of those that one can only ask for: as whole words, the longest that begins at each place.

    As in :func:`named_in`, a word of one or two letters has to begin with a capital; a little word, such as *it*, is no
    name.

    Args:
        is_name: whether something in normalized letters is one.

    Cost: a dozen look-ups a word.
    """
    words = _placed_words(text)
    behind = 0
    for first, word in enumerate(words):
        if first < behind:
            continue
        for last in range(min(len(words), first + LONGEST_NAME), first, -1):
            idle = word in LITTLE_WORDS or (_is_short([word]) and text[word.start].islower())
            if (last > first + 1 or not idle) and is_name(" ".join(words[first:last])):
                start, end = word.start, words[last - 1].end
                yield Mention(text[start:end], start, end, first)
                behind = last
                break


def _is_short(words: Sequence[str]) -> bool:
    """Whether a name is a word of one or two letters, which many a word looks like in small letters."""
    return len(words) == 1 and len(words[0]) <= 2 and words[0].isalpha()


def names_anything(text: str, is_name: Callable[[str], bool], unsaid: Sequence[str] = ()) -> bool:
    """Whether any name stands in a text.

    A name begins with what is no small letter, as *Mexico City* in *It may be Mexico City*; or it is a whole part of
    the text between marks, such as *carbon dioxide*, little words at its ends aside.

    Args:
        is_name: whether something in normalized letters is a name.
        unsaid: texts whose words say nothing here, such as the question: what stands in one of them as it stands here
            does not count, unless it is all there is.

    Cost: a dozen look-ups a word.
    """
    whole = normalized(text)
    if whole and is_name(whole):
        return True
    before = [f" {normalized(other)} " for other in unsaid]

    def is_said(words: Sequence[str]) -> bool:
        said = " ".join(words)
        return bool(said) and is_name(said) and not any(f" {said} " in other for other in before)

    # As normalized() has it, but with the capitals.
    shown = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text))
    words = [normalized(word) for word in shown]
    for first, word in enumerate(shown):
        if not word[0].islower() and any(
            is_said(words[first:last])
            for last in range(first + 1, min(len(words), first + LONGEST_NAME) + 1)
            if last > first + 1 or words[first] not in LITTLE_WORDS
        ):
            return True
    return any(is_said(part) for part in _parts(text, before))


def _parts(text: str, before: Sequence[str]) -> Iterator[list[str]]:
    """What stands between marks, as it is, and without the words at its ends that are little or said before."""
    for part in _PART_END.split(text):
        words = normalized(part).split()
        yield words
        idle = [word in LITTLE_WORDS or any(f" {word} " in other for other in before) for word in words]
        telling = [place for place, is_idle in enumerate(idle) if not is_idle]
        if telling:
            yield words[telling[0] : telling[-1] + 1]


def _places(words: Sequence[str], wanted: Sequence[str]) -> Iterator[int]:
    """Where words stand in others, one after the other."""
    if wanted:
        last = len(words) - len(wanted)
        yield from (first for first in range(last + 1) if words[first : first + len(wanted)] == wanted)


def _is_part(words: Sequence[str], first: int, last: int, is_name: Callable[[str], bool]) -> bool:
    """Whether the words from first to last stand within a longer name."""
    return any(
        is_name(" ".join(words[start:end]))
        for start in range(max(0, last - LONGEST_NAME), first + 1)
        for end in range(last, min(len(words), start + LONGEST_NAME) + 1)
        if end - start > last - first
    )
