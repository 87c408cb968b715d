#!/usr/bin/env bash
# Load the graph; nothing to do if it is a graph at KGPROBE_GRAPH.
set -euo pipefail

read -ra loader <<< "${KGPROBE_ACTION_GRAPH:-}"
if ((${#loader[@]})); then
    kgprobe load "${loader[@]}"
fi
