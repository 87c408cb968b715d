"""Scorer compared with lm-pub-quiz and lm-evaluation-harness: one process, the same model, the same inputs.

Three cases on the demo model, made of the names and sentences of the example graph:

- ``options``: 60 questions with 60 options of one to three tokens each;
- ``examples``: 20 questions with 100 options each, after a common prompt of 50 examples;
- ``distractors``: 50 facts with 200 distractors, all names of each scored with EOS; entities of the object's type
first,
  as in the distractor measure.

A fourth case, ``hybrid``, is that of ``examples`` on a small Qwen 3.5 with random weights. Its peer is the method
``rows``, every continuation with its whole prompt, which hybrids would get without copies of their own cache.

The peers run on the loaded demo model, each by its fastest method. lm-evaluation-harness: all requests in one call,
sorted by length; its cache of logits, as by default, answers all continuations of one token after a context at once.
lm-pub-quiz: conditional scores of answers with its reduction, one template at a time. It omits special tokens, so it
scores distractors without EOS and is compared with our scores without. Batch sizes are in ``BATCHES``, found by trying
1, 8 and more. The peers would need hours for all questions, so they get a part (``--questions``), and their time is
scaled by the number of continuations, as the table shows; ours is never scaled.

The arithmetic limit is the time of the necessary matrix products: every token of all tries once through the linear
layers (with its attention to earlier tokens), and every requested position once through the vocabulary. They are
counted from the layers' shapes and timed on products of these shapes in the same run, the vocabulary in pieces that fit
the processor's cache. Our time is that of ``Scorer.score`` including tokenization.

``--shape 7b`` uses random weights in the shape of Llama 7B, for GPUs, and a small tokenizer made from the names,
without peers.
"""
