#!/usr/bin/env bash
# Install kgprobe with its extras from the repository of the action.
set -euo pipefail

repository=$(cd "$(dirname "$0")/.." && pwd)
extras=${KGPROBE_ACTION_EXTRAS:-}
python -m pip install --quiet "$repository${extras:+[$extras]}"
kgprobe --version
