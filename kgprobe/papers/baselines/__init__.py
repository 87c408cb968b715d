"""Baselines: other measures of knowledge of a fact, to compare with the distractor measure."""
