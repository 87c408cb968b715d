"""A finding in ten lines: what stands out, and in the end what the model knows."""

from collections.abc import Iterator, Sequence

from kgprobe.analysis.finding import Finding, ShownFact
from kgprobe.analysis.rates import Group
from kgprobe.beliefs.belief_words import BeliefWord
from kgprobe.texts import counted

# Of fewer facts, a rate says nothing of a relation.
_LEAST = 5
_RELATIONS = 3
_FACTS = 2
# Of a question so much is shown in any case, in characters.
_SHORTEST = 20


def finding_summary(finding: Finding, width: int = 80) -> list[str]:
    """At most ten lines on a finding, the headline and its details at the end.

    Args:
        width: characters of a line, for which long questions are shortened.
    """
    details = [] if finding.measure is None else [f"  {finding.measure.details}"]
    return [*_lines(finding, width), finding.headline, *details]


def believed_title(finding: Finding, word: BeliefWord) -> str:
    """What stands above a list of facts of which the same is believed, with how many there are."""
    return f"{word.value.capitalize()}: {finding.believed[word]:,} of {counted(finding.overall.facts, 'fact')}"


def unknown_count(finding: Finding) -> str:
    """Return how many facts are unknown, in words: surely, where any fact is, and else by their answers.

    An interval of a measurement, with one answer a fact, is never on one side of one half. "0 are surely unknown" would
    say nothing of the model.
    """
    asked = counted(finding.overall.facts, "fact")
    surely, leaning = (finding.believed[word] for word in (BeliefWord.SURELY_UNKNOWN, BeliefWord.LEANS_UNKNOWN))
    if surely:
        return f"{surely:,} of {asked} asked {'is' if surely == 1 else 'are'} surely unknown"
    was = "was" if leaning == 1 else "were"
    if finding.about.rounds is None:
        return f"{leaning:,} of {asked} {was} answered wrong, asked once each"
    return f"{leaning:,} of {asked} asked {was} not answered right more often than wrong; none is surely unknown yet"


def ranked_relations(finding: Finding) -> tuple[str, str]:
    """Return the relations that are known least and best, in words.

    Relations of fewer than five asked facts are left out. The least known ones are not known whole, the best known ones
    not unknown whole; empty where there are none, and where fewer than two relations have facts enough.
    """
    relations = next((grouping.groups for grouping in finding.groupings if grouping.by == "relation"), ())
    ranked = sorted((group for group in relations if group.facts >= _LEAST), key=_rate)
    if len(ranked) < 2:
        return "", ""
    count = min(_RELATIONS, len(ranked) // 2)
    least = [group for group in ranked[:count] if _rate(group) < 1]
    best = [group for group in ranked[::-1][:count] if _rate(group) > 0]
    return _told(least), _told(best)


def _lines(finding: Finding, width: int) -> Iterator[str]:
    about = finding.about
    rounds = "" if about.rounds is None else f" in {counted(about.rounds, 'round')}"
    questions = f"{counted(finding.asked, 'question')} about {counted(finding.overall.facts, 'fact')}{rounds}"
    # A measurement's name says again what it is made of.
    yield f"{about.called if about.rounds is None else about.name}: {about.asked_by}, {questions}"
    if finding.over_graph is not None:
        yield f"Over the graph: {finding.over_graph}"
    elif about.caveat is not None:
        yield about.caveat
    least, best = ranked_relations(finding)
    if least:
        yield f"Least known: {least}"
    if best:
        yield f"Best known: {best}"
    for fact in finding.unknown[:_FACTS]:
        yield _shortened(fact, f"; won: {fact.winner}" if fact.winner else "", width)
    for fact in finding.known[: _FACTS - 1]:
        yield _shortened(fact, "", width)
    lost = [(finding.unaskable, "could not be asked"), (finding.unanswered, "got no answer")]
    told = [f"{sum(reasons.values()):,} {what} ({next(iter(reasons))})" for reasons, what in lost if reasons]
    if told:
        yield "; ".join(told)


def _rate(group: Group) -> float:
    return group.win_rate.value


def _told(groups: Sequence[Group]) -> str:
    return ", ".join(f"{group.name} {group.win_rate.value:.0%} of {group.facts:,}" for group in groups)


def _shortened(fact: ShownFact, end: str, width: int) -> str:
    """A fact in a line: of what is too long, the question's end is left out first."""
    begin = f"{fact.belief.value.capitalize()}: "
    end = f" → {fact.answer}{end}"
    question = " ".join(fact.question.removesuffix("…").split())
    room = max(width - len(begin) - len(end), _SHORTEST)
    return begin + (question if len(question) <= room else f"{question[: room - 1].rstrip()}…") + end
