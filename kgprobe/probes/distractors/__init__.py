"""The distractor measure as a probe."""
