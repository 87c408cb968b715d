"""Templates of sentences and questions: what one is, files of them, checks, and writing new ones."""
