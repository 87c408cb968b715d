#!/usr/bin/env bash
# Check the newest measurements of both models; the verdict is an output, and no failure yet.
set -euo pipefail

junit=$KGPROBE_ACTION_RESULTS/kgprobe.xml
markdown=$KGPROBE_ACTION_RESULTS/kgprobe.md
code=0
kgprobe check "$KGPROBE_ACTION_BASE" "$KGPROBE_ACTION_TUNED" --margin "$KGPROBE_ACTION_MARGIN" \
    --junit "$junit" --markdown "$markdown" || code=$?
case $code in
    0) verdict=kept ;;
    1) verdict=lost ;;
    3) verdict=undecided ;;
    *) verdict=failed ;;
esac
{
    echo "verdict=$verdict"
    echo "exit-code=$code"
    echo "junit=$junit"
    echo "markdown=$markdown"
} >> "$GITHUB_OUTPUT"
if [[ $verdict == failed ]]; then
    exit "$code"
fi
cat "$markdown" >> "$GITHUB_STEP_SUMMARY"
