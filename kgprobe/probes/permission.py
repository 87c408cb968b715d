"""The permission to say *I don't know*, which ``--allow-unknown`` adds to prompts; docs/methods/refusals.md."""

from typing import Any

from kgprobe.base.options import option

# An answer that says so, as examples in prompts have it; read by kgprobe.verbalize.answers.is_refusal.
UNKNOWN = "I don't know"
PERMISSION = f"If you do not know the answer, reply: {UNKNOWN}."
# Before texts that a model continues.
PERMISSION_TO_CONTINUE = f"Where the end is not known, it is: {UNKNOWN}.\n\n"


def allow_unknown_option(default: bool = False) -> Any:
    """Return the field ``allow_unknown`` of a probe's options."""
    return option(default, f"Add the permission to say *{UNKNOWN}* to the prompt.")


def permitted(prompt: str, question: str) -> str:
    """Return a prompt of an instruction, examples and a question with the permission, and an example of its use.

    Args:
        prompt: its parts are separated by empty lines.
        question: the question of the example, which nobody can answer.
    """
    instruction, *examples, last = prompt.split("\n\n")
    return "\n\n".join([f"{instruction} {PERMISSION}", *examples, f"Question: {question}\nAnswer: {UNKNOWN}", last])
