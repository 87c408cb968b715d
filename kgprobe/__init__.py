"""What does a language model know of a knowledge graph, and how sure can one be?"""

__version__ = "0.1.0"
