"""The probe `examples`: in-context estimation of knowledge, by examples of a relation instead of instructions.

Section 2 and appendix F of the latent-knowledge paper; docs/methods/examples.md. :mod:`.prompts` writes prompts,
:mod:`.items` asks facts with their choices from any source, :mod:`.packing` puts several facts into one sequence,
:mod:`.probe` asks the facts of a graph, :mod:`.evidence` stores the choices and makes the tables.
"""

from dataclasses import dataclass, replace

from kgprobe.base.errors import ArgumentError
from kgprobe.base.options import option
from kgprobe.probes.register import ProbeKind, imported, with_scorer
from kgprobe.verbalize.templates.kinds import CLOZES

# Kinds of prompts.
PROMPTS = ("examples", "sentences", "both")


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """Options of the prompts, for every probe that uses them."""

    prompt: str = option(
        "examples",
        "Prompt: few-shot examples of the relation; a cloze sentence without examples, for comparison; or both: each"
        " example in the relation's first cloze sentence.",
        choices=PROMPTS,
    )
    examples: int = option(
        50, "Number of few-shot examples: facts of the relation before the asked fact.", minimum=1, common=True
    )
    separator: str = option(
        " ", "Separator between a subject and its object; \\n is a new line.", metavar="TEXT", shown_default="a space"
    )
    between: str = option(
        " ", "Separator between two examples; \\n is a new line.", metavar="TEXT", shown_default="a space"
    )
    examples_seed: int | None = option(
        None,
        "Random seed of the examples alone, to measure the effect of their choice.",
        minimum=0,
        shown_default="the common seed",
    )
    templates: str = option(
        "hand",
        "Source of the cloze sentences: written by hand, mined from a corpus, or made of the relation's label.",
        choices=tuple(CLOZES),
        flag="clozes",
    )
    template: int | None = option(
        None,
        "Number of the relation's cloze sentence, from 1, or random; with --prompt both, random is the first.",
        minimum=1,
        none="random",
        metavar="N|random",
    )


@dataclass(frozen=True, slots=True)
class ExampleOptions(PromptOptions):
    """Options of the probe, stored with a run."""

    choices: int = option(100, "Number of objects to choose from, including the right one.", minimum=2, common=True)
    packed: bool = option(
        False,
        "Ask up to ten facts in one sequence, with five examples between two of them, as in EIC-LKE.",
    )
    separate_tokens: bool = option(
        False,
        "With --packed, tokenize each subject and choice separately, with a comma between pairs, as in EIC-LKE."
        " By default, a sequence is tokenized as one text.",
    )


def checked_options(options: ExampleOptions) -> ExampleOptions:
    """Return options that fit together; with separate tokens, a comma is the default between two pairs.

    Raises:
        ArgumentError: ``packed`` without the prompt ``examples``, or ``separate_tokens`` without ``packed``.
    """
    if options.packed and options.prompt != "examples":
        raise ArgumentError("packed", f"requires the prompt examples, not {options.prompt}.")
    if options.separate_tokens and not options.packed:
        raise ArgumentError("separate_tokens", "requires `packed`.")
    if options.separate_tokens and options.between == " ":
        return replace(options, between=",")
    return options


PROBE = ProbeKind(
    name="examples",
    summary="Does the model continue few-shot examples of the relation with the right object, without instructions?",
    details="Compares the object with other objects of the relation. Prints the accuracy and the model's confidence."
    " Relations need no templates.\n\n\b\nkgprobe probe examples --model demo --limit 200\nkgprobe probe examples"
    " --model hf:gpt2 --examples 20 --packed",
    options=ExampleOptions,
    evidence=imported("kgprobe.probes.examples.evidence:ExampleEvidence"),
    make=with_scorer("kgprobe.probes.examples.probe:ExampleProbe"),
    batch_size=64,
)
