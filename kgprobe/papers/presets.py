"""Options of the papers' experiments, by command: ``--as-paper NAME`` sets them.

Each value has the section of the paper that names it. A preset has no models and no options that need an API key; its
remark lists those that complete the experiment. Prompts are kgprobe's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

from kgprobe.base.errors import UnknownNameError, expected_one_of


@dataclass(frozen=True, slots=True)
class PresetOption:
    """A paper's value of an option.

    Attributes:
        value: value of the option, as in Python.
        section: section of the paper, its table, or its code.
        also: other values that the paper has, too.
    """

    value: Any
    section: str
    also: tuple[Any, ...] = ()

    def has(self, value: Any) -> bool:
        """Return True for a value of the paper."""
        return value == self.value or value in self.also


@dataclass(frozen=True, slots=True)
class Need:
    """An option without a value in the preset, that the paper's experiment needs.

    Attributes:
        option: its name in Python.
        unless: name and value of the option with which it is not needed.
        message: fault and remedy.
    """

    option: str
    unless: tuple[str, Any]
    message: str


@dataclass(frozen=True, slots=True)
class Preset:
    """A paper's options of one command.

    Attributes:
        options: values by the option's name in Python.
        remark: what else the paper's experiment has, a sentence; empty if nothing.
        need: option that has to be given; None if there is none.
    """

    options: Mapping[str, PresetOption]
    remark: str = ""
    need: Need | None = None


Presets: TypeAlias = Mapping[str, Preset]


def _preset(remark: str = "", need: Need | None = None, /, **options: tuple[Any, str] | PresetOption) -> Preset:
    values = {}
    for name, option in options.items():
        values[name] = option if isinstance(option, PresetOption) else PresetOption(*option)
    return Preset(MappingProxyType(values), remark, need)


_MEASURES = "--encoder (BERTScore) and --grader (LLM judge) add the paper's other measures."
_FORMER = "--with-former asks facts with a former object (sample S′); --balance degree needs no popularity."
DISTRACTORS: Presets = MappingProxyType(
    {
        "probe distractors": _preset(
            strategy=("approximate-optimal", "4.2"),
            distractors=(200, "table 9"),
            sentences=(5, "4.2"),
            weighting=("tf-idf", "3.3"),
            former_order=("reference-date", "code"),
            former=("wrong", "3.3"),
            articles=(False, "3.1"),
        ),
        "study strategies": _preset(
            _FORMER,
            strategies=(("random", "semantic", "temporal-semantic", "approximate-optimal"), "3.3"),
            distractors=(100, "4.1"),
            sentences=(1, "4.1"),
            limit=(1000, "4.1"),
            balance=("popularity", "4.1"),
            weighting=("tf-idf", "3.3"),
            former_order=("reference-date", "code"),
            former=("wrong", "3.3"),
            articles=(False, "3.1"),
        ),
        "study distractor-count": _preset(
            strategy=("approximate-optimal", "5.1"),
            distractors=(200, "5.1"),
            sentences=(5, "4.2"),
            former=("wrong", "3.3"),
            articles=(False, "3.1"),
        ),
        "study sentences": _preset(
            strategy=("approximate-optimal", "5.1"),
            distractors=(200, "table 9"),
            sentences=(5, "5.1"),
            former=("wrong", "3.3"),
            articles=(False, "3.1"),
        ),
        "study scaling": _preset(
            strategy=("approximate-optimal", "5.2"),
            distractors=(20, "E"),
            sentences=(1, "4.1"),
            limit=(1000, "4.1"),
            balance=("popularity", "4.1"),
            former=("wrong", "3.3"),
            articles=(False, "3.1"),
        ),
        "study calibration": _preset(
            _MEASURES,
            sentences=(5, "4.2"),
            strategies=(("random", "semantic", "temporal-semantic", "approximate-optimal"), "table 9"),
            distractors=(200, "4.2"),
            karr=("authors", "table 3"),
            continuation=("as-published", "code"),
            several_tokens=("zero", "table 2"),
            former_order=("reference-date", "code"),
            articles=(False, "3.1"),
            beams=((1, 2, 5, 10, 20, 30, 50, 100), "4.2"),
            grader_beams=((1, 2, 5), "4.2"),
        ),
        "study robustness": _preset(
            _MEASURES,
            strategies=(("approximate-optimal",), "4.3"),
            calibration=(Path("latest"), "4.3"),
            context=("present", "4.3"),
        ),
    }
)

# Without a limit, as in the paper: more than any entity has.
_ANY_DEGREE = 1_000_000_000
_ROUNDS: Mapping[str, tuple[Any, str]] = {
    "rounds": (60, "3.3"),
    "facts_per_round": (64, "3.3"),
    "aim": ("failures", "2.1"),
    "learner": ("propagation", "2.1"),
    "sampling": ("thompson", "2.1"),
    "max_degree": (_ANY_DEGREE, "2.1"),
}
_GPT_4 = "In the paper, GPT-4 writes the questions (--writer) and grades the answers (--grader)."
_GRADER = Need(
    "grader",
    ("difficulty", "easy"),
    "As in the paper kglens, a model grades the answers to who, which and what: give --grader SPEC (behind an API or"
    " local), or --difficulty easy.",
)
_QUESTIONS: Mapping[str, tuple[Any, str] | PresetOption] = {
    "difficulty": PresetOption("hard", "2.3", also=("easy",)),
    "credit": ("any", "2.3"),
    "with_alias": (True, "2.2"),
    "follow_ups": (0, "2.3"),
}
KGLENS: Presets = MappingProxyType(
    {
        "load sparql": _preset(
            "--topic begins at the paper's centers. The paper gives no thresholds of its filters (--min-sitelinks), no"
            " number of walks and no full list of dead relations.",
            steps=(3, "8.1"),
            # Of countries; --topic nba: 805, films: 7,965.
            limit=PresetOption(12_760, "table 1", also=(805, 7965)),
            with_alias=(True, "8.1"),
            truthy=(True, "8.5"),
            all_objects=(True, "2.2"),
            active=(("P131", "P421"), "3.4"),
        ),
        "probe questions": _preset(_GPT_4, _GRADER, **_QUESTIONS),
        "rounds run": _preset(**_ROUNDS),
        "rounds run questions": _preset(_GPT_4, _GRADER, **_ROUNDS, **_QUESTIONS),
        "study sampling": _preset(facts_per_round=(64, "3.3"), hardest=(100, "3.2"), max_degree=(_ANY_DEGREE, "2.1")),
    }
)

_EXAMPLES: Mapping[str, tuple[Any, str]] = {
    "examples": (50, "C.1"),
    "separator": (" ", "2.2"),
    "between": (" ", "2.2"),
}
_PACKED = "--as-paper latent-knowledge-eic asks as EIC-LKE."
_EIC: Mapping[str, tuple[Any, str]] = {
    "examples": (50, "C.2"),
    "packed": (True, "F"),
    "separate_tokens": (True, "C.2"),
    "separator": (" ", "C.2"),
    "between": (",", "C.2"),
    # A multiple of the ten facts of a sequence: the 400 facts of a relation fill their sequences.
    "batch_size": (50, "C.2"),
}
# Physics, chemistry, physiology or medicine, literature, peace, economic sciences.
_NOBEL_PRIZES = ("Q38104", "Q44585", "Q80061", "Q37922", "Q35637", "Q47170")
LATENT_KNOWLEDGE: Presets = MappingProxyType(
    {
        "load sparql": _preset(
            "These are the Nobel laureates with their years of birth; Wikidata has those after 2022, too.",
            where=(tuple(f"P166={prize}" for prize in _NOBEL_PRIZES), "A.1"),
            dates=("years", "A.1"),
            truthy=(True, "A.1"),
        ),
        "probe examples": _preset(_PACKED, **_EXAMPLES, choices=(100, "4"), prompt=("examples", "2.2")),
        "probe generation": _preset(
            "--prompt sentences asks without examples, by hand-written or mined clozes (--clozes).",
            **_EXAMPLES,
            new_tokens=(50, "H.7"),
            until=("end", "H.7"),
        ),
        "dataset build": _preset(
            min_facts=(500, "4"), min_objects=(100, "4"), train=(100, "4"), test=(400, "4"), alternatives=(99, "4")
        ),
        "dataset probe": _preset(_PACKED, **_EXAMPLES),
        "dataset export": _preset(**_EXAMPLES),
        "study examples": _preset(
            "The paper does not list its numbers of examples below 50.",
            repeats=(5, "3"),
            limit=(900, "3"),
            choices=(100, "4"),
        ),
        # A space alone; sentences replace it.
        "study prompting": _preset(
            examples=(50, "C.1"),
            separators=((), "2.2"),
            clozes=(("hand", "mined"), "4.1"),
            sentences=(3, "4.1"),
            ways=(("packed", "in-sentences", "sentences"), "4.1"),
            separate_tokens=(True, "C.2"),
        ),
        "study noisy-examples": _preset(
            sequences=(1, "3"), length=(200, "3"), replaced=(40, "3"), positions_per_point=(1, "figure 2")
        ),
    }
)
LATENT_KNOWLEDGE_EIC: Presets = MappingProxyType(
    {
        "probe examples": _preset(**_EIC, choices=(100, "4"), prompt=("examples", "2.2")),
        "dataset probe": _preset(**_EIC),
    }
)

_NEGATIVES: Mapping[str, tuple[Any, str]] = {
    "negatives": (1, "4.1"),
    "replace": ("any", "3.1"),
    "any_type": (True, "3.1"),
}
# A prompt without examples (table 6).
_ZERO_SHOT = """\
You are given a statement. Answer Yes if you know that it is true, and No if you know that it is false. Otherwise, \
answer: I don't know.

Statement: {statement}
Answer:"""
GRAPHEVAL: Presets = MappingProxyType(
    {
        "probe statements": _preset(**_NEGATIVES),
        "probe true-false": _preset(
            **_NEGATIVES,
            limit=(2000, "4.1"),
            repeats=(3, "4.1"),
            instruction=(_ZERO_SHOT, "table 6"),
            dtype=("float16", "4.1"),
        ),
        "judge train": _preset(
            "The paper does not give the units of its network; its code has another one (--classifier published).",
            classifier=("network", "3.2"),
            # The last one.
            layers=((-1,), "3.2"),
            words=("Yes/No/I", "A.1"),
            prompt_encoder=(True, "3.2"),
            dtype=("float16", "4.1"),
            unlabelled=("unknown", "table 2"),
            epochs=(100, "4.1"),
            learning_rate=(1e-4, "4.1"),
            batch_size=(8, "4.1"),
            test_size=(0.3, "4.1"),
            virtual_tokens=(20, "4.1"),
            encoder_units=(4096, "4.1"),
            encoder_epochs=(5, "4.1"),
            encoder_learning_rate=(2e-5, "4.1"),
            encoder_batch_size=(8, "4.1"),
        ),
        "judge predict": _preset(
            negatives=(5, "code"),
            replace=("any", "3.1"),
            any_type=(True, "3.1"),
            all_relations=(True, "4.1"),
            dtype=("float16", "4.1"),
        ),
    }
)

# By the name of the paper; the second method of a paper has a name of its own.
PRESETS: Mapping[str, Presets] = MappingProxyType(
    {
        "distractors": DISTRACTORS,
        "kglens": KGLENS,
        "latent-knowledge": LATENT_KNOWLEDGE,
        "latent-knowledge-eic": LATENT_KNOWLEDGE_EIC,
        "grapheval": GRAPHEVAL,
    }
)


def papers_with(command: str) -> list[str]:
    """Return the papers that have options for a command, such as ``probe distractors``."""
    return [name for name in PRESETS if _find(name, command) is not None]


def preset_of(paper: str, command: str) -> Preset:
    """Return a paper's options of a command; ``rounds run PROBE`` has those of all probes if it has none of its own."""
    if paper not in PRESETS:
        raise UnknownNameError(f"There is no paper {paper!r}; {expected_one_of(paper, PRESETS)}.")
    preset = _find(paper, command)
    if preset is None:
        known = ", ".join(PRESETS[paper])
        raise UnknownNameError(f"The paper {paper} has no options for `{command}`; it has some for {known}.")
    return preset


def _find(paper: str, command: str) -> Preset | None:
    presets = PRESETS[paper]
    every_probe = "rounds run" if command.startswith("rounds run ") else command
    return presets.get(command, presets.get(every_probe))
