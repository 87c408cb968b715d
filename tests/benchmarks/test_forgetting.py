"""The benchmark of verdicts on forgetting, small."""

from benchmarks.forgetting import measure


def test_rows_say_how_often_verdicts_are_wrong_and_losses_found() -> None:
    rows = measure([100], 400, seed=0)
    assert {row.measure for row in rows} == {
        *("falsely lost", "falsely kept", "detectable loss found", "kept", "falsely different"),
        "detectable difference found",
    }
    for row in rows:
        if row.peer_value is None:
            assert row.value <= 8
        else:
            assert (row.peer_value <= 5) if row.less_is_better else (row.peer_value >= 80)
            # The worst of some cases of 400 pairs each.
            assert abs(row.value - row.peer_value) < 8
