"""One process of a training whose model is sharded over two: ``python sharded_training.py RANK FOLDER GRAPH``.

accelerate shards models on GPUs only, so that the loop of the training is written here; gradients are averaged over the
processes, which have the same data.
"""

import json
import sys
from pathlib import Path

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import Trainer, TrainerControl, TrainerState, TrainingArguments

import kgprobe
from kgprobe.base.errors import KgprobeError
from tests.models.tiny import byte_level, random_model

STEPS = 6
OPTIONS = {"every": 3, "limit": 8, "distractors": 3, "sentences": 1, "strategy": "random", "strict": True}


def train(rank: int, folder: Path, address: str, *, sharded: bool) -> list[dict[str, float]]:
    """Train for some steps, and return what the callback logs in this process."""
    tokenizer = byte_level(bos=True)
    torch.manual_seed(0)
    model = random_model("llama", len(tokenizer))
    arguments = TrainingArguments(output_dir=str(folder), use_cpu=True, report_to=[], save_strategy="no")
    trainer = Trainer(model, arguments, processing_class=tokenizer)
    if sharded:
        mesh = init_device_mesh("cpu", (2,))
        for layer in model.model.layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    trainer.model_wrapped = trainer.model = model
    trainer.state = TrainerState(is_world_process_zero=rank == 0, is_local_process_zero=rank == 0)
    control = TrainerControl()
    ids = torch.tensor([tokenizer("The capital of Country 0 is Tokyo")["input_ids"]])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    with kgprobe.open_graph(address) as graph:
        callback = kgprobe.TrainerCallback(trainer, graph, **OPTIONS)
        callback.on_train_begin(arguments, trainer.state, control)
        for step in range(1, STEPS + 1):
            model(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            trainer.state.global_step = step
            callback.on_step_end(arguments, trainer.state, control)
        callback.on_train_end(arguments, trainer.state, control)
    return [{name: value for name, value in log.items() if "seconds" not in name} for log in trainer.state.log_history]


def refusal_of_an_adapter() -> str:
    """Return the message for a sharded model that is not one of transformers."""
    from kgprobe.running.sharded_weights import plain_copy

    try:
        plain_copy(torch.nn.Linear(1, 1), torch.device("cpu"))
    except KgprobeError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    rank, folder = int(sys.argv[1]), Path(sys.argv[2])
    distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=2)
    found = {"sharded": train(rank, folder, sys.argv[3], sharded=True)}
    distributed.barrier()
    if rank == 0:
        found["refusal"] = refusal_of_an_adapter()
    distributed.destroy_process_group()
    if rank == 0:
        found["plain"] = train(rank, folder, sys.argv[3], sharded=False)
    (folder / f"{rank}.json").write_text(json.dumps(found))
