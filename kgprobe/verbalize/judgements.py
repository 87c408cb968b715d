"""What an answer says of a statement: that it is true, that it is false, or that it is not known.

The paper on evaluating with large graphs; docs/methods/statements.md. What stands first counts: *True, though I don't
know when* says true, and *I don't know whether it is true* does not. Where an answer names itself (*Answer: …*), that
is what is read; what it repeats of the question is left out. Yes and no are read as in answers to questions
(:func:`kgprobe.verbalize.answers.read_yes_no`).
"""

import re
from typing import Literal

from kgprobe.verbalize.answers import read_yes_no, sentences

Judgement = Literal["true", "false", "unknown"]

# A statement that is repeated, of three words or more.
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
# Words between *is* and what it is; in part is told apart.
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
# Whether it is true is left open here, and said elsewhere.
_WHETHER = re.compile(
    rf"\b(?:whether|if) [^.?!,\n]{{0,200}}?\b(?:{_TRUE_WORDS}|{_FALSE_WORDS})\b"
    r"(?: or (?:not|true|false|incorrect)\b)?"
)
# What begins with a word of these that says neither yes nor no by itself.
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


def judgement_of(text: str) -> Judgement | None:
    """What an answer says of a statement; None where that cannot be read.

    >>> [judgement_of(each) for each in ("True.", "It is not true that …", "I don't know.", "Paris is nice.")]
    ['true', 'false', 'unknown', None]

    *Yes* and *correct* are true, *no* and *incorrect* false. *Partly true* and *neither* are none of the three; *may be
    true* is not known.
    """
    plain = text.replace("’", "'").replace("“", '"').replace("”", '"').lower()
    plain = _without_questions(" ".join(_MARKS.sub("", _QUOTED.sub("", plain)).split()))
    named = [plain[match.end() :] for match in _NAMED.finditer(plain)]
    for part in (*named[:1], plain):
        judged, was_said = _read(part)
        if was_said:
            return judged
    return None


def _read(plain: str) -> tuple[Judgement | None, bool]:
    """What a text says, and whether it says anything of it, be it that neither is so."""
    bare = _LIST_MARK.sub("", plain)
    if bare.strip(" .!") in _LETTERS:
        return _LETTERS[bare.strip(" .!")], True
    opened = _WHETHER.sub("it", _OPENING.sub("", bare))
    if _NOT_FALSE.match(opened):
        return "true", True
    if bare_word := _BARE.match(opened):
        return ("true" if bare_word["true"] else "false"), True
    unsettled, stated = _UNSETTLED.search(opened), _STATED.search(opened)
    first = read_yes_no(opened)
    # Behind *Sure, I can help*, what is said later counts; behind *No, I don't know* it does not matter what is first.
    is_open = unsettled is not None and (not unsettled.start() or _UNSETTLED.match(first.explanation) is not None)
    if first.yes is not None and not is_open and not (_OPENING.match(bare) and stated):
        return ("true" if first.yes else "false"), True
    if stated is not None and (unsettled is None or stated.end() <= unsettled.start()):
        doubted = _DOUBTED.search(opened, 0, stated.end()) is not None
        return _stated(stated, doubted=doubted), True
    if unsettled is not None:
        return "unknown", True
    # Sure, and nothing else of it.
    said = read_yes_no(bare).yes
    return (None, False) if said is None else ("true" if said else "false", True)


def _stated(match: "re.Match[str]", *, doubted: bool) -> Judgement | None:
    if match["mixed"]:
        return None
    if match["unknown"]:
        return "unknown"
    is_true = (match["true"] is not None) != (match["no"] is not None)
    return "true" if is_true != doubted else "false"


def _without_questions(plain: str) -> str:
    """A text without the questions that it begins with, as in *True or false? False*."""
    said = sentences(plain)
    while len(said) > 1 and said[0].endswith("?"):
        said = said[1:]
    return " ".join(said)
