#!/usr/bin/env bash
# Write the summary as a comment on the pull request, in place of the comment of an earlier run.
set -euo pipefail

marker="<!-- kgprobe -->"
body=$KGPROBE_ACTION_RESULTS/comment.md
{
    echo "$marker"
    cat "$KGPROBE_ACTION_RESULTS/kgprobe.md"
} > "$body"
comments="repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments"
earlier=$(gh api --paginate "$comments" --jq ".[] | select(.body | startswith(\"$marker\")) | .id" | head -n 1)
if [[ -n $earlier ]]; then
    gh api --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$earlier" --field "body=@$body" --silent
else
    gh api --method POST "$comments" --field "body=@$body" --silent
fi
