#!/usr/bin/env bash
# Store the action's inputs for the following steps, and print the path and the key of the cache.
set -euo pipefail

home=${KGPROBE_HOME:-$RUNNER_TEMP/kgprobe-home}
results=$RUNNER_TEMP/kgprobe-results
mkdir -p "$home" "$results"

store() {
    # A delimiter that no value contains: values may have several lines.
    local delimiter="end-$RANDOM-$RANDOM-$RANDOM"
    printf '%s<<%s\n%s\n%s\n' "$1" "$delimiter" "$2" "$delimiter" >> "$GITHUB_ENV"
}

for name in BASE TUNED GRAPH MARGIN PROBE LIMIT AS_OF OPTIONS EXTRAS FAIL_IF_UNDECIDED; do
    store "KGPROBE_ACTION_$name" "${!name:-}"
done
store KGPROBE_HOME "$home"
store KGPROBE_ACTION_RESULTS "$results"

# The answers of the base model are kept between jobs; kgprobe asks again if a setting or the weights differ.
digest=$(printf '%s\n' "$BASE" "${GRAPH:-}" "$PROBE" "$LIMIT" "${AS_OF:-}" "${OPTIONS:-}" | sha256sum | cut -c1-16)
{
    echo "cache-path=$home/probes"
    echo "cache-key=kgprobe-${RUNNER_OS:-any}-$digest"
} >> "$GITHUB_OUTPUT"
