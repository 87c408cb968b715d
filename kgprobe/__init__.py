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

from kgprobe.base.version import __version__ as __version__

# Public names for type checkers and editors.
if TYPE_CHECKING:
    from kgprobe.api.comparing import check as check
    from kgprobe.api.comparing import compare as compare
    from kgprobe.api.comparing import gap as gap
    from kgprobe.api.controls import sample_controls as sample_controls
    from kgprobe.api.datasets import build_dataset as build_dataset
    from kgprobe.api.datasets import export_dataset as export_dataset
    from kgprobe.api.datasets import import_dataset as import_dataset
    from kgprobe.api.datasets import probe_dataset as probe_dataset
    from kgprobe.api.demo import run_demo as run_demo
    from kgprobe.api.exporting import export_sft as export_sft
    from kgprobe.api.graphs import describe_graph as describe_graph
    from kgprobe.api.graphs import draw_graph as draw_graph
    from kgprobe.api.graphs import find_ignorance as find_ignorance
    from kgprobe.api.graphs import known_path as known_path
    from kgprobe.api.graphs import paint_beliefs as paint_beliefs
    from kgprobe.api.graphs import reverse_graph as reverse_graph
    from kgprobe.api.judging import evaluate_judge as evaluate_judge
    from kgprobe.api.judging import judge_graph as judge_graph
    from kgprobe.api.judging import train_judge as train_judge
    from kgprobe.api.labelling import label_facts as label_facts
    from kgprobe.api.loading import finish_bulk as finish_bulk
    from kgprobe.api.loading import import_command as import_command
    from kgprobe.api.loading import load as load
    from kgprobe.api.loading import load_bulk as load_bulk
    from kgprobe.api.loading import propose_mapping as propose_mapping
    from kgprobe.api.loading import write_bulk as write_bulk
    from kgprobe.api.measuring import measure as measure
    from kgprobe.api.papers import paper as paper
    from kgprobe.api.papers import paper_options as paper_options
    from kgprobe.api.reports import assess_questions as assess_questions
    from kgprobe.api.reports import group_table as group_table
    from kgprobe.api.reports import make_report as make_report
    from kgprobe.api.reports import rate_table as rate_table
    from kgprobe.api.reports import write_sheet as write_sheet
    from kgprobe.api.retrieval import export_retrieval as export_retrieval
    from kgprobe.api.retrieval import graphrag_retriever as graphrag_retriever
    from kgprobe.api.retrieval import langchain_retriever as langchain_retriever
    from kgprobe.api.retrieval import retrieval_texts as retrieval_texts
    from kgprobe.api.retrieval import unknown_facts as unknown_facts
    from kgprobe.api.rounds import apply_beliefs as apply_beliefs
    from kgprobe.api.rounds import estimate_rates as estimate_rates
    from kgprobe.api.rounds import remove_beliefs as remove_beliefs
    from kgprobe.api.rounds import resume_rounds as resume_rounds
    from kgprobe.api.rounds import run_rounds as run_rounds
    from kgprobe.api.sampling import sample_distractors as sample_distractors
    from kgprobe.api.sampling import sample_facts as sample_facts
    from kgprobe.api.sampling import sample_negatives as sample_negatives
    from kgprobe.api.sampling import sample_questions as sample_questions
    from kgprobe.api.sampling import sample_sentences as sample_sentences
    from kgprobe.api.sampling import sample_statements as sample_statements
    from kgprobe.api.stored import delete as delete
    from kgprobe.api.stored import list_results as list_results
    from kgprobe.api.stored import open as open
    from kgprobe.api.studies import study_calibration as study_calibration
    from kgprobe.api.studies import study_distractor_count as study_distractor_count
    from kgprobe.api.studies import study_examples as study_examples
    from kgprobe.api.studies import study_noisy_examples as study_noisy_examples
    from kgprobe.api.studies import study_prompting as study_prompting
    from kgprobe.api.studies import study_robustness as study_robustness
    from kgprobe.api.studies import study_sampling as study_sampling
    from kgprobe.api.studies import study_scaling as study_scaling
    from kgprobe.api.studies import study_sentences as study_sentences
    from kgprobe.api.studies import study_strategies as study_strategies
    from kgprobe.api.studies import study_verbalizations as study_verbalizations
    from kgprobe.api.template_studies import study_templates as study_templates
    from kgprobe.api.templates import check_templates as check_templates
    from kgprobe.api.templates import convert_patterns as convert_patterns
    from kgprobe.api.templates import list_templates as list_templates
    from kgprobe.api.templates import write_templates as write_templates
    from kgprobe.api.writing_back import remove_labels as remove_labels
    from kgprobe.api.writing_back import write_back as write_back
    from kgprobe.base.errors import ArgumentError as ArgumentError
    from kgprobe.base.errors import KgprobeError as KgprobeError
    from kgprobe.base.errors import UnknownNameError as UnknownNameError
    from kgprobe.beliefs.painting import clear_paint as clear_paint
    from kgprobe.graph.copying import copy_graph as copy_graph
    from kgprobe.graph.reversal import reversal_of as reversal_of
    from kgprobe.graph.servers.opening import open_graph as open_graph
    from kgprobe.graph.subgraphs import facts_of as facts_of
    from kgprobe.graph.subgraphs import neighbourhood as neighbourhood
    from kgprobe.graph.types import add_types as add_types
    from kgprobe.graph.types import remove_types as remove_types
    from kgprobe.labelling.exports.sft.files import read_manifest as read_manifest
    from kgprobe.models.model import Models as Models
    from kgprobe.models.model import load_model as load_model
    from kgprobe.models.model import wrap_model as wrap_model
    from kgprobe.running.training import TrainerCallback as TrainerCallback


# Public names by module, imported at first use; the same as above.
_NAMES = {
    "api.comparing": ("check", "compare", "gap"),
    "api.controls": ("sample_controls",),
    "api.datasets": ("build_dataset", "export_dataset", "import_dataset", "probe_dataset"),
    "api.demo": ("run_demo",),
    "api.exporting": ("export_sft",),
    "api.graphs": ("describe_graph", "draw_graph", "find_ignorance", "known_path", "paint_beliefs", "reverse_graph"),
    "api.judging": ("evaluate_judge", "judge_graph", "train_judge"),
    "api.labelling": ("label_facts",),
    "api.loading": ("finish_bulk", "import_command", "load", "load_bulk", "propose_mapping", "write_bulk"),
    "api.measuring": ("measure",),
    "api.papers": ("paper", "paper_options"),
    "api.reports": ("assess_questions", "group_table", "make_report", "rate_table", "write_sheet"),
    "api.retrieval": (
        "export_retrieval",
        "graphrag_retriever",
        "langchain_retriever",
        "retrieval_texts",
        "unknown_facts",
    ),
    "api.rounds": ("apply_beliefs", "estimate_rates", "remove_beliefs", "resume_rounds", "run_rounds"),
    "api.sampling": (
        "sample_distractors",
        "sample_facts",
        "sample_negatives",
        "sample_questions",
        "sample_sentences",
        "sample_statements",
    ),
    "api.stored": ("delete", "list_results", "open"),
    "api.studies": (
        "study_calibration",
        "study_distractor_count",
        "study_examples",
        "study_noisy_examples",
        "study_prompting",
        "study_robustness",
        "study_sampling",
        "study_scaling",
        "study_sentences",
        "study_strategies",
        "study_verbalizations",
    ),
    "api.template_studies": ("study_templates",),
    "api.templates": ("check_templates", "convert_patterns", "list_templates", "write_templates"),
    "api.writing_back": ("remove_labels", "write_back"),
    "beliefs.painting": ("clear_paint",),
    "base.errors": ("ArgumentError", "KgprobeError", "UnknownNameError"),
    "labelling.exports.sft.files": ("read_manifest",),
    "graph.copying": ("copy_graph",),
    "graph.reversal": ("reversal_of",),
    "graph.subgraphs": ("facts_of", "neighbourhood"),
    "graph.types": ("add_types", "remove_types"),
    "models.model": ("Models", "load_model", "wrap_model"),
    "running.training": ("TrainerCallback",),
    "graph.servers.opening": ("open_graph",),
}
_MODULES = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
