"""Other measures of what a model knows of a fact, to set beside the distractor measure."""
