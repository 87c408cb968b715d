"""The scorer beside lm-pub-quiz and lm-evaluation-harness: one process, the same model, the same inputs.

Three cases, made of the names and sentences of the example graph:

- ``options``: 60 questions with 60 options of one to three tokens each;
- ``examples``: 20 questions with 100 options each, behind a prompt of 50 examples that all questions share;
- ``distractors``: 50 facts with 200 distractors, entities of several names that are all scored, and with each the EOS
  token; those of the object's type first, as the distractor measure has them.

The peers run on the loaded demo model, as each is fastest there. lm-evaluation-harness: all requests in one call, which
it sorts by length; its cache of logits, as by default, answers all continuations of one token behind a context at once.
lm-pub-quiz: its scores of answers, conditional on the template, summed by its own reduction, a template at a time as
its interface has it; it leaves special tokens out, so it gets the distractors without EOS, which spares it a token
each, and is compared with our scores without. Both in batches of so many continuations as ``BATCHES`` says, found by
trying 1, 8 and more. They need hours for all questions, so they get a part of them (``--questions``), and their time
is scaled by the number of continuations, as the table says; ours is never scaled.

The arithmetic limit is how long the matrix products alone would take that nobody can do without: every token of the
tries of all questions once through the linear layers (with its attention to the tokens before it), and every position
that something is asked of once through the vocabulary. They are counted from the layers' shapes, and timed on products
of just these shapes in the same run, the vocabulary in pieces of a width that suits the processor's cache. Our time is
that of ``Scorer.score``, tokenization included.

``--shape 7b`` takes random weights of a Llama 7B's shape instead, for GPUs, and a small tokenizer made from the names;
no peer runs there.
"""
