#!/usr/bin/env bash
# End the job with the verdict.
set -euo pipefail

case $EXIT_CODE in
    0) ;;
    3)
        echo "::warning::kgprobe: undecided; a larger limit or margin decides."
        if [[ ${KGPROBE_ACTION_FAIL_IF_UNDECIDED:-false} == true ]]; then
            exit 3
        fi
        ;;
    *)
        echo "::error::kgprobe: the changed model lost facts."
        exit "$EXIT_CODE"
        ;;
esac
