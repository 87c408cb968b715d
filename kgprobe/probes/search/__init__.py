"""Token tries of all names of a type, and the search for the entities that a model finds most plausible."""
