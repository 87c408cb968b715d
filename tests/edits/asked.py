"""Questions about two edits that need no graph, and a small model that is trained on one of them."""

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from kgprobe.edits.questions import EditQuestion, NamedAnswer

ROME = NamedAnswer(("Rome", "Roma"), id="rome")
PARIS = NamedAnswer(("Paris",), "old", "paris")
OSLO = NamedAnswer(("Oslo",), "distractor", "oslo")
TOKYO = NamedAnswer(("Tokyo",), id="tokyo")
NO = NamedAnswer(("no",))
TEXT = "The capital of France is Rome"


def question(identifier: str, group: str, kind: str, prompt: str, **others: object) -> EditQuestion:
    """Return a question whose edit is the first part of its id."""
    settings = {"expected": (ROME,), "wrong": (PARIS, OSLO)} | others
    return EditQuestion(
        id=identifier, edit=identifier.split("/")[0], about="an edit", group=group, kind=kind, prompt=prompt, **settings
    )


QUESTIONS = [
    question("e1/1", "efficacy", "efficacy", "The capital of France is"),
    question("e1/2", "generality", "paraphrase", "France has the capital"),
    question("e1/3", "generality", "paraphrase", "What is the capital of France?", form="question"),
    question(
        "e1/4", "portability", "negation", "Is Paris the capital of France?", form="yes/no", expected=(NO,), wrong=()
    ),
    question("e1/5", "condition", "condition", "Rome lies in", expected=(TOKYO,)),
    question("e1/6", "portability", "two hops", "The capital of France lies in", expected=(TOKYO,), needs=("e1/5",)),
    question("e1/7", "locality", "same relation", "The capital of Japan is", expected=(TOKYO,), wrong=(PARIS, OSLO)),
    question("e2/1", "efficacy", "efficacy", "The capital of Poland is", expected=(OSLO,), wrong=(PARIS,)),
    question("e2/2", "locality", "same relation", "The capital of Brazil is", expected=(TOKYO,), wrong=(OSLO,)),
]


def train(net: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, text: str = TEXT, steps: int = 60) -> None:
    """Train a small model until it continues a prompt with an edit."""
    tokens = torch.tensor([[0, *tokenizer(text, add_special_tokens=False).input_ids, tokenizer.eos_token_id]])
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    net.train()
    for _ in range(steps):
        loss = net(tokens, labels=tokens).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    net.eval()
