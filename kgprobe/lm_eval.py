"""The command line of lm-evaluation-harness with an additional model, ``--model kgprobe``.

    python -m kgprobe.lm_eval run --model kgprobe --model_args pretrained=demo --tasks hellaswag

lm-evaluation-harness has no entry points for models. In your own program, ``import kgprobe.lm_eval`` before
``lm_eval.simple_evaluate(model="kgprobe", …)``. See :mod:`kgprobe.models.harness.model`.
"""

import sys

from kgprobe.errors import KgprobeError, how_to_install

try:
    from lm_eval.__main__ import cli_evaluate
    from lm_eval.api.registry import model_registry
except ImportError as error:
    raise KgprobeError(f"lm-evaluation-harness is not installed ({error}): {how_to_install('lm-eval')}.") from error

NAME = "kgprobe"

if NAME not in model_registry:
    model_registry.register(NAME, target="kgprobe.models.harness.model:KgprobeLM")


def main() -> int:
    """Run the command line of lm-evaluation-harness, and return the exit code."""
    try:
        cli_evaluate()
    except KgprobeError as error:
        print(f"Error: {error}", file=sys.stderr)  # noqa: T201 it is the command line
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
