"""Facts that several results do not share, and the reasons."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kgprobe.analysis.side_by_side import AnsweredFacts, labels_of
from kgprobe.errors import KgprobeError
from kgprobe.results.run import Run
from kgprobe.sanitize import counted

if TYPE_CHECKING:
    from kgprobe.api.comparing import Stored

# Relations, or reasons, in a message.
_NAMED = 3


def unshared_facts(results: "Sequence[Stored]", answered: Sequence[AnsweredFacts]) -> str:
    """Return the number of shared facts, and the reasons why each result lacks others; empty if all are shared.

    Args:
        results, answered: the results, and their answers in the same order.

    Raises:
        KgprobeError: no fact is shared.
    """
    relations: dict[str, str] = {}
    for own in answered:
        relations.update(zip(own.facts.index, own.facts["relation"], strict=True))
    shared = set(relations).intersection(*(own.facts.index for own in answered))
    reasons = list(_reasons(results, answered, relations))
    if not shared:
        raise KgprobeError(
            "The results share no fact, so that their rates cannot be compared."
            f" {' '.join(reasons)} Measure all on the same facts: the same list, or the same seed."
        )
    if not reasons:
        return ""
    return f"Compared: {len(shared):,} of {counted(len(relations), 'fact')} with answers. {' '.join(reasons)}"


def _reasons(
    results: "Sequence[Stored]", answered: Sequence[AnsweredFacts], relations: dict[str, str]
) -> Iterator[str]:
    """Yield a sentence for each result that has no answer to some of the facts.

    Args:
        relations: relation of each fact that any of the results has answered.
    """
    for result, own, label in zip(results, answered, labels_of(answered), strict=True):
        lacking = sorted(set(relations).difference(own.facts.index))
        if lacking:
            parts = _parts(result, own, results, {fact: relations[fact] for fact in lacking})
            yield f"{label} lacks {len(lacking):,}: {', '.join(parts)}."


def _parts(result: "Stored", own: AnsweredFacts, results: "Sequence[Stored]", lacking: dict[str, str]) -> Iterator[str]:
    """Yield the number of lacking facts for each reason.

    Args:
        lacking: relations of the facts that the result lacks, by fact.
    """
    silent = [own.unheard[fact] for fact in lacking if fact in own.unheard]
    if silent:
        yield f"{len(silent):,} without an answer ({_most(silent)})"
    rest = [relation for fact, relation in lacking.items() if fact not in own.unheard]
    others = [relation for relation in rest if relation not in _relations_of(result)]
    if others:
        yield f"{len(others):,} of relations that it did not ask ({_most(others)})"
    if len(rest) > len(others):
        yield f"{len(rest) - len(others):,} {_why_undrawn(result, own, results)}"


def _relations_of(result: "Stored") -> Sequence[str]:
    relations: Sequence[str] = (result.properties if isinstance(result, Run) else result.config)["relations"]
    return relations


def _why_undrawn(result: "Stored", own: AnsweredFacts, results: "Sequence[Stored]") -> str:
    """Return the reason why a result lacks facts of its own relations, as a phrase after their number."""
    if isinstance(result, Run):
        return "that its rounds did not choose"
    chosen, seed = result.config["facts"], result.config["seed"]
    if "sha256" in chosen:
        return "that are not in its list of facts"
    if any(not isinstance(other, Run) and other.config["seed"] != seed for other in results):
        return f"that its seed, {seed}, did not draw"
    if chosen["limit"] is not None and len(own.facts) + len(own.unheard) >= chosen["limit"]:
        return f"beyond its limit of {counted(chosen['limit'], 'fact')}"
    return "that it has not asked yet, or that its graph did not have at its date"


def _most(texts: Sequence[str]) -> str:
    """Return the most frequent texts, each with its number."""
    counts = Counter(texts)
    listed = [f"{text}: {count:,}" for text, count in counts.most_common(_NAMED)]
    return "; ".join([*listed, *([f"{len(counts) - _NAMED:,} more"] if len(counts) > _NAMED else [])])
