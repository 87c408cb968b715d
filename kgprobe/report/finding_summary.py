"""A finding in ten lines: what stands out, and in the end what the model knows."""

from collections.abc import Iterator

from kgprobe.analysis.finding import Finding, ShownFact
from kgprobe.analysis.graph_rates import RateGroup, share_of
from kgprobe.beliefs.belief_words import BeliefWord
from kgprobe.sanitize import counted

# Of fewer facts, a rate says nothing of a relation.
_LEAST = 5
_RELATIONS = 3
# A relation whose interval is wider has no rank.
_WIDEST = 0.5
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

    Rates are over the graph where these can be estimated, and relations with a wide interval are left out; else over
    the facts asked, without relations of fewer than five. A relation that is known whole is not among the least known,
    and one that is unknown whole not among the best known. Both texts are empty where fewer than two relations have a
    rate.
    """
    if finding.over_graph is not None:
        groups = finding.over_graph.relations
        rated = [(group.rate.value, f"{group.name} {share_of(group.rate)}") for group in groups if _is_narrow(group)]
    else:
        relations = next((grouping.groups for grouping in finding.groupings if grouping.by == "relation"), ())
        rated = [
            (group.win_rate.value, f"{group.name} {group.win_rate.value:.0%} of {group.facts:,}")
            for group in relations
            if group.facts >= _LEAST
        ]
    rated.sort(key=lambda one: one[0])
    count = min(_RELATIONS, len(rated) // 2)
    least = [told for rate, told in rated[:count] if rate < 1]
    best = [told for rate, told in rated[::-1][:count] if rate > 0]
    return ", ".join(least), ", ".join(best)


def _is_narrow(group: RateGroup) -> bool:
    return group.rate.high - group.rate.low <= _WIDEST


def _lines(finding: Finding, width: int) -> Iterator[str]:
    about = finding.about
    rounds = "" if about.rounds is None else f" in {counted(about.rounds, 'round')}"
    questions = f"{counted(finding.asked, 'question')} about {counted(finding.overall.facts, 'fact')}{rounds}"
    # A measurement's name says again what it is made of.
    yield f"{about.called if about.rounds is None else about.name}: {about.asked_by}, {questions}"
    if finding.over_graph is not None and about.caveat is not None:
        yield f"Of the facts asked, which were sought out: {finding.overall.win_rate}"
    elif about.caveat is not None:
        yield about.caveat
    least, best = ranked_relations(finding)
    if least:
        yield f"Least known: {least}"
    if best:
        yield f"Best known: {best}"
    for fact in finding.unknown[:_FACTS]:
        yield _shortened(fact, f"; won: {fact.prediction}" if fact.prediction else "", width)
    for fact in finding.known[: _FACTS - 1]:
        yield _shortened(fact, "", width)
    lost = [(finding.unaskable, "could not be asked"), (finding.unanswered, "got no answer")]
    told = [f"{sum(reasons.values()):,} {what} ({next(iter(reasons))})" for reasons, what in lost if reasons]
    if told:
        yield "; ".join(told)


def _shortened(fact: ShownFact, end: str, width: int) -> str:
    """A fact in a line: of what is too long, the question's end is left out first."""
    begin = f"{fact.belief.value.capitalize()}: "
    end = f" → {fact.answer}{end}"
    question = " ".join(fact.question.removesuffix("…").split())
    room = max(width - len(begin) - len(end), _SHORTEST)
    return begin + (question if len(question) <= room else f"{question[: room - 1].rstrip()}…") + end
