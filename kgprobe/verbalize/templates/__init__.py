"""Templates of sentences and questions: kinds, files, checks, and automatic writing."""
