"""What a model may say of a statement: that it is true, that it is false, or that it does not know."""

ANSWERS = ("true", "false", "unknown")
TRUE, FALSE, UNKNOWN = range(len(ANSWERS))
