"""Beta parameters per model and fact, and the rounds that learn them."""
