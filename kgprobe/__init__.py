"""What does a language model know of a knowledge graph, and how sure can one be?

    import kgprobe

    graph = kgprobe.open_graph()
    kgprobe.load(graph, "example")
    result = kgprobe.measure(graph, "demo", limit=100)
    print(result.summary())
    result.to_frame()

docs/library.md goes on from here. Nothing heavy is imported before it is used.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kgprobe.api.bulk_loading import finish_bulk, import_command, load_bulk, write_bulk
    from kgprobe.api.comparing import check_forgetting, compare, compare_runs, find_gap, open_result
    from kgprobe.api.datasets import build_dataset, export_dataset, open_dataset, probe_dataset
    from kgprobe.api.demo import run_demo
    from kgprobe.api.example_studies import study_examples, study_noisy_examples, study_prompting
    from kgprobe.api.graph_pictures import draw_graph
    from kgprobe.api.graph_rates import estimate_rates
    from kgprobe.api.judging import evaluate_judge, judge_graph, judged_graph, open_judge, train_judge
    from kgprobe.api.kept_results import kept_results
    from kgprobe.api.loading import load, propose_mapping
    from kgprobe.api.measure_studies import study_calibration, study_robustness
    from kgprobe.api.measuring import measure, open_measurement
    from kgprobe.api.painting import clear_paint, paint_beliefs
    from kgprobe.api.reports import make_report
    from kgprobe.api.reversing import reverse_graph
    from kgprobe.api.rounds import forget_run, open_run, resume_rounds, run_rounds, runs
    from kgprobe.api.samples import sample_distractors, sample_facts, sample_negatives, sample_questions
    from kgprobe.api.sampling_study import study_sampling
    from kgprobe.api.statement_samples import sample_statements
    from kgprobe.api.studies import study_distractor_count, study_scaling, study_sentences, study_strategies
    from kgprobe.api.templates import check_templates, convert_patterns, list_templates, write_templates
    from kgprobe.api.training import TrainerCallback
    from kgprobe.errors import ArgumentError, KgprobeError, UnknownNameError
    from kgprobe.graph.copying import copy_graph
    from kgprobe.graph.reversal import reversal_of
    from kgprobe.graph.subgraphs import facts_of, neighbourhood
    from kgprobe.models.model import Models, load_model, wrap_model
    from kgprobe.servers.opening import open_graph

# What the package gives at its door, and the modules that it comes from.
_DOOR = {
    "kgprobe.errors": (
        "ArgumentError",
        "KgprobeError",
        "UnknownNameError",
    ),
    "kgprobe.graph.copying": ("copy_graph",),
    "kgprobe.graph.reversal": ("reversal_of",),
    "kgprobe.graph.subgraphs": (
        "facts_of",
        "neighbourhood",
    ),
    "kgprobe.api.bulk_loading": (
        "finish_bulk",
        "import_command",
        "load_bulk",
        "write_bulk",
    ),
    "kgprobe.api.comparing": (
        "check_forgetting",
        "compare",
        "compare_runs",
        "find_gap",
        "open_result",
    ),
    "kgprobe.api.datasets": (
        "build_dataset",
        "export_dataset",
        "open_dataset",
        "probe_dataset",
    ),
    "kgprobe.api.demo": ("run_demo",),
    "kgprobe.api.example_studies": (
        "study_examples",
        "study_noisy_examples",
        "study_prompting",
    ),
    "kgprobe.api.graph_pictures": ("draw_graph",),
    "kgprobe.api.graph_rates": ("estimate_rates",),
    "kgprobe.api.judging": (
        "evaluate_judge",
        "judge_graph",
        "judged_graph",
        "open_judge",
        "train_judge",
    ),
    "kgprobe.api.kept_results": ("kept_results",),
    "kgprobe.api.loading": ("load", "propose_mapping"),
    "kgprobe.api.measure_studies": (
        "study_calibration",
        "study_robustness",
    ),
    "kgprobe.api.measuring": (
        "measure",
        "open_measurement",
    ),
    "kgprobe.api.painting": (
        "clear_paint",
        "paint_beliefs",
    ),
    "kgprobe.api.reports": ("make_report",),
    "kgprobe.api.reversing": ("reverse_graph",),
    "kgprobe.api.rounds": (
        "forget_run",
        "open_run",
        "resume_rounds",
        "run_rounds",
        "runs",
    ),
    "kgprobe.api.samples": (
        "sample_distractors",
        "sample_facts",
        "sample_negatives",
        "sample_questions",
    ),
    "kgprobe.api.sampling_study": ("study_sampling",),
    "kgprobe.api.statement_samples": ("sample_statements",),
    "kgprobe.api.studies": (
        "study_distractor_count",
        "study_sentences",
        "study_scaling",
        "study_strategies",
    ),
    "kgprobe.api.templates": (
        "check_templates",
        "convert_patterns",
        "list_templates",
        "write_templates",
    ),
    "kgprobe.api.training": ("TrainerCallback",),
    "kgprobe.models.model": (
        "Models",
        "load_model",
        "wrap_model",
    ),
    "kgprobe.servers.opening": ("open_graph",),
}
_MODULES = {name: module for module, names in _DOOR.items() for name in names}

__all__ = [  # noqa: RUF022 (as one meets them)
    "open_graph",
    "load",
    "propose_mapping",
    "load_bulk",
    "write_bulk",
    "import_command",
    "finish_bulk",
    "copy_graph",
    "reverse_graph",
    "reversal_of",
    "facts_of",
    "neighbourhood",
    "load_model",
    "wrap_model",
    "Models",
    "measure",
    "open_measurement",
    "run_rounds",
    "resume_rounds",
    "open_run",
    "estimate_rates",
    "runs",
    "forget_run",
    "paint_beliefs",
    "clear_paint",
    "draw_graph",
    "open_result",
    "compare",
    "check_forgetting",
    "find_gap",
    "compare_runs",
    "make_report",
    "kept_results",
    "sample_facts",
    "sample_distractors",
    "sample_negatives",
    "sample_questions",
    "sample_statements",
    "list_templates",
    "check_templates",
    "write_templates",
    "convert_patterns",
    "build_dataset",
    "open_dataset",
    "probe_dataset",
    "export_dataset",
    "train_judge",
    "open_judge",
    "evaluate_judge",
    "judge_graph",
    "judged_graph",
    "study_strategies",
    "study_distractor_count",
    "study_sentences",
    "study_scaling",
    "study_examples",
    "study_prompting",
    "study_noisy_examples",
    "study_robustness",
    "study_calibration",
    "study_sampling",
    "run_demo",
    "TrainerCallback",
    "KgprobeError",
    "UnknownNameError",
    "ArgumentError",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
