"""What an answer says: yes or no, a refusal, or one of some names.

Section 2.3 of the parameterized-graph paper; docs/methods.md, 2. The answer to a yes/no question is its first word.
Models put things before it: a word of politeness, *The answer is*, a label such as *Answer:*, marks of emphasis. These
are set aside, and nothing else: an answer that has not begun with yes or no after them is off the format.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

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
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_BOTH = re.compile(r"\W*(?:yes|no|true|false)\W{0,3}(?:and|or|/)\W{0,3}(?:yes|no|true|false)\b")
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
    no later sentence begins with yes or no. *Yes and no* is neither, and so are *not sure* and *no idea*.
    """
    shown = _EMPHASIS.sub("", text).strip()
    plain = shown.lower()
    position = 0
    if len(plain) != len(shown) or _BOTH.match(plain):
        # Lengths differ for a few letters that have no small form of one letter; no yes or no is among them.
        return YesNo(None, shown)
    sure: YesNo | None = None
    while word := _WORD.search(plain, position):
        behind = shown[word.end() :].lstrip(" ,.:;!-–—\n\t)")
        lead = _LEADS.match(plain, word.start())
        if lead and not plain[lead.end() : lead.end() + 1].isalnum():
            position = lead.end()
        elif word[0] in _POLITE or word[0] in _ADVERBS:
            position = word.end()
            sure = YesNo(True, behind) if word[0] in _ADVERBS else sure
        elif word[0] in _YES | _NO and not _UNSURE.match(plain, word.start()):
            return YesNo(word[0] in _YES, behind)
        else:
            break
    if sure is None:
        return YesNo(None, shown)
    said = sentences(sure.explanation)
    for place, sentence in enumerate(said):
        if place and (found := _AFTERWARDS.match(sentence)):
            return YesNo(found[1].lower() == "yes", " ".join([sentence[found.end() :], *said[place + 1 :]]).strip())
    return sure


def is_refusal(text: str) -> bool:
    """Whether an answer says in words of its own that there will be none: that the model cannot, or does not know."""
    return _REFUSAL.search(_EMPHASIS.sub("", text).lower()[:_REFUSAL_WITHIN].replace("’", "'")) is not None


def sentences(text: str) -> list[str]:
    """An answer's sentences and lines, without empty ones."""
    return [part.strip() for part in _SENTENCE_END.split(text.strip()) if part.strip()]


def normalized(text: str) -> str:
    """A text as names are compared: small letters without accents, words and numbers alone, no article in front."""
    # Some letters have a capital to be decomposed into.
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    bare = "".join(mark for mark in decomposed if not unicodedata.combining(mark))
    words = re.findall(r"[^\W_]+", bare)
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words)


def named_in(text: str, names: Iterable[str]) -> list[str]:
    """Which of these names stand in a text, as whole words, whatever their capitals, accents and punctuation.

    A name of one or two letters has to stand there with its own capitals: *US* is not in *ask us*.
    """
    said = f" {normalized(text)} "
    found = []
    for name in names:
        wanted = normalized(name)
        short = len(wanted) <= 2 and wanted.isalpha()
        if (
            wanted
            and f" {wanted} " in said
            and (not short or re.search(rf"(?<!\w){re.escape(name.strip())}(?!\w)", text))
        ):
            found.append(name)
    return found
