"""What a template is: a sentence or question with ``[X]`` for the subject and ``[Y]`` for the object."""

from kgprobe.errors import UnknownNameError

SUBJECT = "[X]"
OBJECT = "[Y]"

KINDS = ("cloze", "mined_cloze", "past_cloze", "statement", "yes_no_question", "wh_question")
# The same the other way round: the object is named, and the subject is asked for.
REVERSE_KINDS = ("reverse_cloze", "reverse_past_cloze", "reverse_wh_question")
# The cloze sentences that facts can be asked in, by who made them: what the graph calls them.
CLOZES = {"hand": "clozes", "mined": "mined_clozes"}
# A template as a data set has it: the same sentence stands among those of a kind as well.
SENTENCE = "sentence"


def check_template(kind: str, text: str) -> list[str]:
    """Why a template cannot be filled, or would not read as what it is meant to be; an empty list if nothing is wrong.

    It may begin with a small letter: the sentence that is made of it begins with a capital.

    Args:
        kind: one of ``KINDS`` or ``REVERSE_KINDS``, or ``SENTENCE``.
        text: the template, with ``[X]`` for the subject and ``[Y]`` for the object; a wh-question has one of them.

    Raises:
        UnknownNameError: there is no such kind.
    """
    if kind not in (*KINDS, *REVERSE_KINDS, SENTENCE):
        known = ", ".join((*KINDS, *REVERSE_KINDS))
        raise UnknownNameError(f"There is no kind of template {kind!r}; there are {known}.")
    asked = SUBJECT if kind in REVERSE_KINDS else OBJECT
    problems = []
    if text != " ".join(text.split()):
        problems.append("has white space at an end, or more than one space in a row")
    wanted = {
        placeholder: 0 if placeholder == asked and kind.endswith("wh_question") else 1
        for placeholder in (SUBJECT, OBJECT)
    }
    problems += [
        f"has {placeholder} {text.count(placeholder)} times where {count} is expected"
        for placeholder, count in wanted.items()
        if text.count(placeholder) != count
    ]
    if "[" in text.replace(SUBJECT, "").replace(OBJECT, ""):
        problems.append(f"has a bracket that is neither {SUBJECT} nor {OBJECT}")
    if kind.endswith("cloze") and not text.endswith(asked):
        problems.append(f"does not end in {asked}")
    if kind == "statement" and not text.endswith("."):
        problems.append("does not end in a full stop")
    if kind.endswith("question") and not text.endswith("?"):
        problems.append("does not end in a question mark")
    return problems
