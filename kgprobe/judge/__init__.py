"""The judge: a classifier over hidden states that tells what a model would answer to statements it was never asked.

*Evaluating the Factuality of Large Language Models using Large-Scale Knowledge Graphs*; docs/methods.md. Labels of some
thousand statements come from the model's own answers (:mod:`.labels`); judges of every layer are trained on them and
compared on statements of other entities and relations (:mod:`.training`); the best one answers for the whole graph.
"""
