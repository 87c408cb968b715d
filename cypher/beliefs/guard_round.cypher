// Advance a run to its next round; returns no row if that round was already applied.
// $id, $round: from 1, $asked, $unaskable, $unanswered: counts of this round
//   -> round, in_view: true if the facts hold the beliefs of this run
MATCH (run:Run {id: $id})
WHERE run.round = $round - 1
SET run.round = $round,
    run.asked = coalesce(run.asked, 0) + $asked, run.unaskable = coalesce(run.unaskable, 0) + $unaskable,
    run.unanswered = coalesce(run.unanswered, 0) + $unanswered
RETURN run.round AS round, coalesce(run.inView, false) AS in_view
