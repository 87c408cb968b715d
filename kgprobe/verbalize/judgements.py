"""Parsing of judgements on a statement: true, false or unknown.

The paper on evaluating with large graphs; docs/methods/statements.md. The first judgement counts: *True, though I
don't know when* is true, *I don't know whether it is true* is unknown. Text after a label (*Answer: …*) takes
precedence; quoted statements and repeated questions are skipped. Yes and no are parsed as in answers to questions
(:func:`kgprobe.verbalize.answers.read_yes_no`).
"""

import re
from typing import Literal

from kgprobe.verbalize.answers import read_yes_no, sentences

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


def judgement_of(text: str) -> Judgement | None:
    """Return the judgement of an answer on a statement; None if it cannot be parsed.

    >>> [judgement_of(each) for each in ("True.", "It is not true that …", "I don't know.", "Paris is nice.")]
    ['true', 'false', 'unknown', None]

    *Yes* and *correct* are true, *no* and *incorrect* false, *may be true* is unknown; *partly true* and *neither* are
    none of the three.
    """
    plain = text.replace("’", "'").replace("“", '"').replace("”", '"').lower()
    parts = sentences(" ".join(_MARKS.sub("", _QUOTED.sub("", plain)).split()))
    # Skip initial questions: True or false? False.
    while len(parts) > 1 and parts[0].endswith("?"):
        parts.pop(0)
    plain = " ".join(parts)
    label = _NAMED.search(plain)
    reading = (_read(plain[label.end() :]) if label else None) or _read(plain)
    return None if reading == "mixed" else reading


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
