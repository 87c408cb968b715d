"""All names of a type as a trie of tokens, and the search for those that a model finds most plausible."""
