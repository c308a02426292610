"""The loop that fits the reader model."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.notebook.reader.encoder import Encoder
from benchmarks.notebook.reader.samples import UNKNOWN, Sample
from models.readings import ACTS, KINDS, LEVELS, Reading, Sentence
from streams.llm.onnx_reader import Encoded, batch_of, encoded, reading_of, tokenizer

_BATCH, _EPOCHS = 32, 2
_RATE, _HEAD_RATE, _WARM_UP, _DECAY = 1e-4, 1e-3, 0.1, 0.01
#: What kinds and acts count beside levels.
_KINDS, _ACTS = 0.3, 2.0
_LONGEST_STEP = 1.0
_SPLITS = (LEVELS, len(KINDS), len(ACTS))
#: Batches whose samples are sorted by length together.
_POOL = 20

_TOKENIZER = tokenizer()


def fit(samples: Sequence[Sample], seed: int = 0) -> Encoder:
    """Return a model fitted to samples; the same on every run of one machine."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    model = Encoder()
    model.train()
    inputs = [encoded(_TOKENIZER, each.sentence) for each in samples]
    optimizer = torch.optim.AdamW(list(model.parameter_groups(_RATE, _HEAD_RATE)), weight_decay=_DECAY)
    steps = _EPOCHS * -(-len(samples) // _BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / (_WARM_UP * steps), max(0.0, 1 - step / steps))
    )
    begun = time.monotonic()
    done = 0
    for _ in range(_EPOCHS):
        for places in _batches(inputs, random):
            with torch.autocast("cpu", torch.bfloat16):
                scores = _scores(model, [inputs[at] for at in places])
            loss = _loss(scores.float(), [samples[at] for at in places])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), _LONGEST_STEP)
            optimizer.step()
            schedule.step()
            done += 1
            if done % 100 == 0:
                print(f"{done} of {steps} steps, {time.monotonic() - begun:.0f} s", flush=True)
    model.eval()
    return model


def averaged(models: Sequence[Encoder]) -> Encoder:
    """Return the mean of models that began with the same weights: less sure of itself than each of them."""
    found, states = models[0], [each.state_dict() for each in models]
    found.load_state_dict({name: sum(each[name] for each in states) / len(states) for name in states[0]})
    return found


def _batches(inputs: Sequence[Encoded], random: np.random.Generator) -> Iterator[list[int]]:
    order = random.permutation(len(inputs)).tolist()
    found = []
    for start in range(0, len(order), _BATCH * _POOL):
        pool = sorted(order[start : start + _BATCH * _POOL], key=lambda at: len(inputs[at].ids))
        found += [pool[at : at + _BATCH] for at in range(0, len(pool), _BATCH)]
    yield from (found[int(at)] for at in random.permutation(len(found)))


def _scores(model: Encoder, some: Sequence[Encoded]) -> Tensor:
    batch = batch_of(some)
    found: Tensor = model(*map(torch.from_numpy, (batch.input_ids, batch.token_type_ids, batch.attention_mask)))
    return found


def _loss(scores: Tensor, samples: Sequence[Sample]) -> Tensor:
    levels, kinds, acts = scores.split(_SPLITS, dim=1)
    weight = torch.tensor([each.weight for each in samples])
    act_weight = torch.tensor([each.act_weight for each in samples])
    loss: Tensor = (
        _classes(levels, [each.level for each in samples], weight)
        + _KINDS * _classes(kinds, [each.kind for each in samples], torch.ones_like(weight))
        + _ACTS * _classes(acts, [each.act for each in samples], act_weight)
    )
    return loss


def _classes(scores: Tensor, classes: Sequence[int], weight: Tensor) -> Tensor:
    """Return the mean loss of a batch; samples without a label add nothing."""
    each = functional.cross_entropy(scores, torch.tensor(classes), ignore_index=UNKNOWN, reduction="none")
    return (each * weight).mean()


def readings(model: Encoder, sentences: Sequence[Sentence]) -> list[Reading]:
    """Return the readings of sentences by a model."""
    inputs = [encoded(_TOKENIZER, each) for each in sentences]
    found: dict[int, Reading] = {}
    order = sorted(range(len(inputs)), key=lambda at: len(inputs[at].ids))
    with torch.inference_mode():
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            scores = _scores(model, [inputs[at] for at in places]).numpy()
            found |= {at: reading_of(row) for at, row in zip(places, scores, strict=True)}
    return [found[at] for at in range(len(inputs))]
