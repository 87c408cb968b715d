"""Answers to questions on the terminal: by kind of question, and the errors."""

from rich import box
from rich.table import Table
from rich.text import Text

from kgprobe.analysis.answers import Answers
from kgprobe.analysis.rates import Share
from kgprobe.report.rows import visible


def answer_tables(answers: Answers) -> list[Table]:
    """A table of the kinds and one of the errors, without those that would be empty."""
    tables = [_kinds(answers)] if answers.kinds else []
    return [*tables, _errors(answers)] if answers.errors else tables


def percent(share: Share) -> str:
    """A share with its interval, in per cent."""
    return f"{100 * share.value:.0f}% [{100 * share.low:.0f}, {100 * share.high:.0f}]"


def _kinds(answers: Answers) -> Table:
    table = Table(title="By kind of question", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("kind")
    for name in ("answers", "right", "refused", "off the format", "by guessing"):
        table.add_column(name, justify="right")
    for kind in answers.kinds:
        cells = [kind.name, f"{kind.asked:,}", percent(kind.right), f"{kind.refused:,}", f"{kind.off_format:,}"]
        table.add_row(*cells, "—" if kind.chance is None else f"{kind.chance:.0%}")
    agreement = answers.agreement
    notes = []
    if agreement.judged:
        notes.append(f"Judge and names say the same of {agreement.agreed:,} of {agreement.judged:,} wh-answers.")
    if agreement.unread:
        notes.append(f"{agreement.unread:,} replies of the judge could not be read: names decided alone.")
    if answers.writing:
        notes.append(str(answers.writing))
    table.caption, table.caption_justify = " ".join(notes) or None, "left"
    return table


def _errors(answers: Answers) -> Table:
    table = Table(title="Errors", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("kind", no_wrap=True)
    table.add_column("answers", justify="right")
    table.add_column("question", ratio=4, overflow="fold")
    table.add_column("what it said", ratio=4, overflow="fold")
    table.add_column("right", ratio=2, overflow="fold")
    for error in answers.errors:
        for place, example in enumerate(error.examples[:2]):
            head = [error.name, f"{error.count:,}"] if place == 0 else ["", ""]
            cells = (example.question, example.answer or "—", example.right)
            table.add_row(*head, *(Text(visible(cell)) for cell in cells))
    return table
