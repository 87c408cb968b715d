"""Hidden states of texts: what a model makes of a statement, read at the layer that is wanted."""
