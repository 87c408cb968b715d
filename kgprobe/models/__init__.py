"""Language models: probabilities and generated answers."""
