"""In-context estimation as a probe: what does a model know if it is shown what to do by example, without instructions?

Section 2 and appendix F of the latent-knowledge paper; docs/methods/examples.md. :mod:`.items` has facts with their
choices, :mod:`.prompts` says what examples look like, :mod:`.prompt_writer` writes them about a graph,
:mod:`.packing` sequences of several facts; :mod:`.after` asks after examples, whatever the facts come from, and
:mod:`.probe` about a graph; :mod:`.evidence` keeps every choice, :mod:`.accuracy` tells of many facts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgprobe.options import option
from kgprobe.probes.register import ProbeContext, ProbeKind
from kgprobe.verbalize.templates.kinds import CLOZES

if TYPE_CHECKING:
    import msgspec

    from kgprobe.probes.examples.evidence import ExampleEvidence
    from kgprobe.probes.examples.probe import ExampleProbe
    from kgprobe.probes.outcome import Outcome
    from kgprobe.tables import Table

# What a model is given.
PROMPTS = ("examples", "sentences", "both")


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """What a user chooses of what a model is given, whatever it is to do then."""

    prompt: str = option(
        "examples",
        "What the model is given: examples of the relation, or a cloze sentence of it alone, to compare with; or both,"
        " examples that are each put in the relation's first cloze sentence.",
        choices=PROMPTS,
    )
    examples: int = option(50, "Facts of the relation that stand before the one asked.", minimum=1)
    separator: str = option(
        " ", "What stands between a subject and its object; \\n is a new line.", metavar="TEXT", shown_default="a space"
    )
    between: str = option(
        " ", "What stands between two examples; \\n is a new line.", metavar="TEXT", shown_default="a space"
    )
    examples_seed: int | None = option(
        None,
        "Draw the examples by this seed, and only them, to see how much it matters which they are.",
        minimum=0,
        shown_default="as all else",
    )
    templates: str = option(
        "hand",
        "Which cloze sentences: those written by hand, or those mined from a corpus.",
        choices=tuple(CLOZES),
        flag="clozes",
    )


@dataclass(frozen=True, slots=True)
class ExampleOptions(PromptOptions):
    """What a user chooses of in-context estimation; kept with a run, so that it can go on with the same."""

    choices: int = option(100, "Objects to choose from, the right one among them.", minimum=2)
    packed: bool = option(
        False,
        "Ask up to ten facts in one sequence, a choice after every fifth further example, as EIC-LKE does.",
    )
    separate_tokens: bool = option(
        False,
        "With --packed: tokenize each subject and choice by itself, with a comma between pairs, as EIC-LKE does."
        " Without it, sequences are running text.",
    )


def _make(setting: ProbeContext, options: ExampleOptions) -> "ExampleProbe":
    from kgprobe.probes.examples.probe import ExampleProbe

    return ExampleProbe(
        setting.graph, setting.model.scorer(), options, as_of=setting.as_of, relations=setting.relations
    )


def _evidence() -> "type[msgspec.Struct]":
    from kgprobe.probes.examples.evidence import ExampleEvidence

    return ExampleEvidence


def _values(evidence: "ExampleEvidence") -> Mapping[str, float]:
    return {"confidence": evidence.probability}


def _tables(outcomes: "Iterable[Outcome]", described: Mapping[str, Any]) -> "list[Table]":
    from kgprobe.probes.examples.accuracy import example_tables

    return example_tables(outcomes, described)


PROBE = ProbeKind(
    name="examples",
    summary="Does the model go on right after examples of the relation, without a word of instruction?",
    details="The object is compared with other objects of the relation. Gives accuracy, and how sure the model was."
    " Relations need no templates.\n\n\b\nkgprobe probe examples --model demo --limit 200\nkgprobe probe examples"
    " --model hf:gpt2 --examples 20 --packed",
    options=ExampleOptions,
    evidence=_evidence,
    make=_make,
    tables=_tables,
    alternatives=lambda evidence: evidence.alternatives,
    values=_values,
    batch_size=64,
)
