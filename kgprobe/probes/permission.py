"""The permission to say *I don't know*, which ``--allow-unknown`` adds to prompts; docs/methods/refusals.md."""

from typing import Any

from kgprobe.base.options import option
from kgprobe.verbalize.language import Language


def allow_unknown_option() -> Any:
    """Return the field ``allow_unknown`` of a probe's options."""
    return option(False, "Add the permission to say *I don't know* to the prompt.")


def permitted(prompt: str, question: str, language: Language) -> str:
    """Return a prompt of an instruction, examples and ``{question}`` with the permission, and an example of its use.

    Args:
        prompt: its parts are separated by empty lines.
        question: the question of the example, which nobody can answer.
    """
    instruction, *examples, last = prompt.split("\n\n")
    example = f"{last.replace('{question}', question)}{language.joiner}{language.prompts.unknown}"
    return "\n\n".join([f"{instruction}{language.joiner}{language.prompts.permission}", *examples, example, last])
