#!/usr/bin/env bash
# Ask both models the same facts. Answers of the base model that the cache has are not asked again.
set -euo pipefail

read -ra options <<< "${KGPROBE_ACTION_OPTIONS:-}"
options+=(--limit "$KGPROBE_ACTION_LIMIT")
if [[ -n ${KGPROBE_ACTION_AS_OF:-} ]]; then
    options+=(--as-of "$KGPROBE_ACTION_AS_OF")
fi
for model in "$KGPROBE_ACTION_BASE" "$KGPROBE_ACTION_TUNED"; do
    echo "::group::$KGPROBE_ACTION_PROBE, $model"
    kgprobe probe "$KGPROBE_ACTION_PROBE" --model "$model" "${options[@]}"
    echo "::endgroup::"
done
