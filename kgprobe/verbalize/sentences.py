"""Sentences from templates: ``[X]`` is replaced by the subject, ``[Y]`` by the object.

A name gets ``the`` if it needs the article (:mod:`.articles`) and the template has no determiner before it. ``a``,
``an`` or ``a/an`` before a name agrees with it. Before the blank of a cloze it is part of the continuation, because it
differs between names. The possessive is ``'s``, or ``'`` after a plural in -s. A sentence begins with a capital. These
are rules of English. Names in other languages are placed by :mod:`.name_forms`, and joined by the language's joiner.

Sentences of data sets are filled verbatim: no article is added, and no word is inflected. The rule is that of
lm-pub-quiz, so that both ask the same sentences: every ``[X]`` and ``[Y]`` is replaced by a label, and the first
character becomes a capital.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kgprobe.verbalize.articles import indefinite, mention, without_article
from kgprobe.verbalize.language import ENGLISH, Language
from kgprobe.verbalize.templates.kinds import OBJECT, SUBJECT

_PLACEHOLDER = re.compile(r"(\[[XY]\])")
_THE = re.compile(r"(?i)\bthe\s$")
_INDEFINITE = re.compile(r"(?i)\b(a/an|an?)\s$")
_EITHER = re.compile(r"(?i)\ba/an\s$")
_DETERMINER = re.compile(r"(?i)\b(?:an?|its|his|her|their|this|that|any|each|every)\s$")


@dataclass(frozen=True, slots=True)
class Cloze:
    """A cloze sentence: its template ends in ``[Y]``, and has no ``[X]`` if it contains the subject already.

    Attributes:
        articles: False to fill the blank with names as they are; an ``a`` or ``an`` before it is then in the prompt.
    """

    template: str
    subject: str
    articles: bool = True
    language: Language = ENGLISH

    @property
    def prompt(self) -> str:
        """Text before the blank, without trailing white space."""
        before = self.template.removesuffix(OBJECT)
        if self.language.is_english:
            before = _INDEFINITE.sub("", before) if self.articles else _EITHER.sub("a ", before)
        elif self.articles:
            before = _without_seam(before, self.language)
        return _fill(before, {SUBJECT: self.subject}, self.language).rstrip()

    def continuations(self, names: Sequence[str]) -> list[str]:
        """Return names of an entity in the form that fills the blank, see :func:`object_continuations`."""
        return list(*self.continuations_of([names]))

    def continuations_of(self, entities: Iterable[Sequence[str]]) -> list[Sequence[str]]:
        """Return the continuations of each entity by its names."""
        if not self.articles:
            return [list(dict.fromkeys(filter(None, map(str.strip, names)))) for names in entities]
        form = _object_form(self.template, self.language)
        return [_in_form(form, tuple(names)) for names in entities]


def object_continuations(template: str, names: Sequence[str], language: Language = ENGLISH) -> list[str]:
    """Return the distinct continuations of a cloze sentence by the names of an entity, in the order of the names.

    They have no surrounding white space, and are joined to the prompt by the language's joiner; at most one per name.
    """
    return list(_in_form(_object_form(template, language), tuple(names)))


# The same entities are distractors of many facts.
@lru_cache(maxsize=1 << 14)
def _in_form(form: Callable[[str], str], names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the distinct forms of names without surrounding white space."""
    return tuple(dict.fromkeys(map(form, filter(None, map(str.strip, names)))))


# Templates are few, and each is filled with many names.
@lru_cache(maxsize=1 << 12)
def _object_form(template: str, language: Language) -> Callable[[str], str]:
    """Return a function from a name to the continuation of a cloze sentence."""
    before = template.removesuffix(OBJECT)
    if language.is_english:
        return _with_indefinite if _INDEFINITE.search(before) else _form_after(before)
    kept = len(_without_seam(before, language))
    return lambda name: "".join(language.place(before, name))[kept:]


def _with_indefinite(name: str) -> str:
    """Return a name after ``a`` or ``an``."""
    bare = without_article(name)
    return f"{indefinite(bare)} {bare}"


def _without_seam(before: str, language: Language) -> str:
    """Return the text before a blank without the last words, if these depend on the name in the blank."""
    return before if language.seam is None else language.seam.sub("", before)


def fill(template: str, subject: str, object_: str, language: Language = ENGLISH) -> str:
    """Return a statement or a yes/no question with both names."""
    return _fill(template, {SUBJECT: subject, OBJECT: object_}, language)


def wh_question(template: str, subject: str, language: Language = ENGLISH) -> str:
    """Return a question whose answer is the object."""
    return _fill(template, {SUBJECT: subject}, language)


def _fill(template: str, names: Mapping[str, str], language: Language) -> str:
    text = _filled(template, names) if language.is_english else _filled_in(template, names, language)
    if not language.joiner:
        return text
    # Keep a name with inner capitals: iPhone, eBay. But al-Andalus and d'Artagnan get a capital.
    first = re.split("[ '’-]", text, maxsplit=1)[0]
    return text[:1].upper() + text[1:] if first.islower() else text


def _filled_in(template: str, names: Mapping[str, str], language: Language) -> str:
    """Return a template in another language than English with its names."""
    text = ""
    for part in _PLACEHOLDER.split(template):
        if part in names:
            text = "".join(language.place(text, names[part].strip()))
        elif part.startswith(".") and text.endswith("."):
            text += part[1:]
        else:
            text += part
    return text


def _filled(template: str, names: Mapping[str, str]) -> str:
    # Split the template first, so that a name that looks like a placeholder is left alone.
    text = ""
    plural = False
    for part in _PLACEHOLDER.split(template):
        if part in names:
            placed = _placed(text, names[part])
            # A name with the article that ends in s is a plural: the Netherlands' capital, but Laos's.
            plural = placed.endswith("s") and (placed[:4].lower() == "the " or _THE.search(text) is not None)
            text = _agreeing(text, placed) + placed
        elif part.startswith(("'s", "’s")) and text.endswith(("'s", "’s", "s'", "s’")):
            text += part[2:]
        elif part.startswith(("'s", "’s")) and plural:
            text += part[0] + part[2:]
        elif part.startswith(".") and text.endswith("."):
            # The full stop of an abbreviation also ends the sentence: Washington, D.C.
            text += part[1:]
        else:
            text += part
    return text


def _agreeing(before: str, name: str) -> str:
    """Return the text before a name with the indefinite article that the name requires, if it ends in one."""
    article = _INDEFINITE.search(before)
    if article is None:
        return before
    agreeing = indefinite(name)
    return f"{before[: article.start()]}{agreeing.capitalize() if article[1][0].isupper() else agreeing} "


def _placed(before: str, name: str) -> str:
    return _form_after(before)(name.strip())


@lru_cache(maxsize=1 << 12)
def _form_after(before: str) -> Callable[[str], str]:
    """Return a function from a name to its form after a text."""
    if _THE.search(before) or _INDEFINITE.search(before):
        return without_article
    return str if _DETERMINER.search(before) else mention


# Placeholder for the answer in a displayed sentence, or separator before it.
BLANK = "…"


@dataclass(frozen=True, slots=True)
class FilledSentence:
    """A sentence that contains an answer; the span is the first mention's, in characters."""

    text: str
    start: int
    end: int


def fill_verbatim(template: str, subject: str, answer: str) -> FilledSentence:
    """Return a template filled with both labels.

    >>> fill_verbatim("[Y] is the capital of [X].", "Japan", "tokyo")
    FilledSentence(text='Tokyo is the capital of Japan.', start=0, end=5)
    """
    # Split the template first, so that a label that looks like a placeholder is left alone.
    text, start = "", -1
    for part in _PLACEHOLDER.split(template):
        if part == OBJECT and start < 0:
            start = len(text)
        text += {SUBJECT: subject, OBJECT: answer}.get(part, part)
    capital = text[:1].upper()
    # A ligature becomes two letters.
    longer = len(capital) - 1 if text else 0
    end = start + len(answer) + longer
    return FilledSentence(capital + text[1:], start + longer if start else 0, end)
