"""Write the reader model as an ONNX file: weights in eight bits, computed in 32.

Each row of a matrix has a scale of its own.  A sentence has the same scores whatever else is read in a run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

from benchmarks.notebook.reader.encoder import EPSILON, HEADS, LAYERS, WIDTH, Encoder
from models.readings import LEVELS
from processors.extraction.keeper import MODEL_FILE
from streams.llm.onnx_reader import CONTEXT_TOKENS, SENTENCE_TOKENS

_OPSET = 20
_MOST = 127.0
#: More tokens than a context and a sentence have together.
_PLACES = CONTEXT_TOKENS + SENTENCE_TOKENS + 3


class _Graph:
    """Nodes and constants in the order in which they are added; each method returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def node(self, kind: str, inputs: Sequence[str], name: str = "", **attributes: object) -> str:
        name = name or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def constant(self, value: NDArray[np.generic]) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def numbers(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def matrix(self, weights: NDArray[np.float32]) -> str:
        """A matrix in eight bits, scaled by row, as floats."""
        scale = np.maximum(np.abs(weights).max(axis=1, keepdims=True), 1e-12) / _MOST
        small = np.round(weights / scale).astype(np.int8)
        wide = self.node("Cast", [self.constant(small)], to=TensorProto.FLOAT)
        return self.node("Mul", [wide, self.constant(scale.astype(np.float32))])

    def rows(self, weights: NDArray[np.float32], ids: str) -> str:
        """Rows of a matrix in eight bits, by their numbers."""
        scale = np.maximum(np.abs(weights).max(axis=1, keepdims=True), 1e-12) / _MOST
        small = self.node("Gather", [self.constant(np.round(weights / scale).astype(np.int8)), ids])
        scales = self.node("Gather", [self.constant(scale.astype(np.float32)), ids])
        return self.node("Mul", [self.node("Cast", [small], to=TensorProto.FLOAT), scales])

    def linear(self, x: str, weights: Tensor, bias: Tensor) -> str:
        turned = self.node("Transpose", [self.matrix(_array(weights))], perm=[1, 0])
        return self.node("Add", [self.node("MatMul", [x, turned]), self.constant(_array(bias))])

    def norm(self, x: str, weights: Tensor, bias: Tensor) -> str:
        constants = [self.constant(_array(each)) for each in (weights, bias)]
        return self.node("LayerNormalization", [x, *constants], axis=-1, epsilon=EPSILON)


def _array(tensor: Tensor) -> NDArray[np.float32]:
    return np.asarray(tensor.detach().numpy(), dtype=np.float32)


def write(model: Encoder, path: Path = MODEL_FILE) -> None:
    """Write a model that gives the scores of sentences, and what each of their tokens adds to a note."""
    graph = _Graph()
    ids, sides, mask = "input_ids", "token_type_ids", "attention_mask"
    weights = model.state_dict()
    tokens = graph.node("Gather", [graph.node("Shape", [ids]), graph.numbers(1)])
    words = graph.rows(_array(weights["words.weight"]), ids)
    places = graph.constant(_array(weights["places.weight"])[:_PLACES])
    placed = graph.node("Slice", [places, graph.numbers(0), tokens, graph.numbers(0)])
    sided = graph.node("Gather", [graph.constant(_array(weights["sides.weight"])), sides])
    x = graph.node("Add", [graph.node("Add", [words, placed]), sided])
    x = graph.norm(x, weights["norm.weight"], weights["norm.bias"])
    seen = graph.node("Cast", [mask], to=TensorProto.FLOAT)
    hidden = graph.node("Sub", [graph.constant(np.array([1.0], dtype=np.float32)), seen])
    hidden = graph.node("Mul", [hidden, graph.constant(np.array([-1e9], dtype=np.float32))])
    hidden = graph.node("Unsqueeze", [hidden, graph.numbers(1, 2)])
    for number in range(LAYERS):
        x = _layer(graph, x, hidden, f"layers.{number}", weights)
    _scores(graph, x, sides, seen, weights)
    inputs = [
        helper.make_tensor_value_info(each, TensorProto.INT64, ["rows", "tokens"])
        for each in (ids, sides, mask)
    ]
    outputs = [
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["rows", len(weights["scores.bias"])]),
        helper.make_tensor_value_info("added", TensorProto.FLOAT, ["rows", "tokens"]),
    ]
    made = helper.make_graph(graph.nodes, "reader", inputs, outputs, graph.constants)
    stored = helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=10)
    onnx.checker.check_model(stored)
    path.write_bytes(stored.SerializeToString())


def _layer(graph: _Graph, x: str, hidden: str, name: str, weights: dict[str, Tensor]) -> str:
    def linear(part: str, given: str) -> str:
        return graph.linear(given, weights[f"{name}.{part}.weight"], weights[f"{name}.{part}.bias"])

    def norm(part: str, given: str) -> str:
        return graph.norm(given, weights[f"{name}.{part}.weight"], weights[f"{name}.{part}.bias"])

    def heads(part: str, order: list[int]) -> str:
        split = graph.node("Reshape", [linear(part, x), graph.numbers(0, 0, HEADS, WIDTH // HEADS)])
        return graph.node("Transpose", [split], perm=order)

    query, key, value = heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]), heads("value", [0, 2, 1, 3])
    near = graph.node("MatMul", [query, key])
    near = graph.node("Mul", [near, graph.constant(np.array([(WIDTH // HEADS) ** -0.5], dtype=np.float32))])
    shares = graph.node("Softmax", [graph.node("Add", [near, hidden])], axis=-1)
    mixed = graph.node("Transpose", [graph.node("MatMul", [shares, value])], perm=[0, 2, 1, 3])
    mixed = graph.node("Reshape", [mixed, graph.numbers(0, 0, WIDTH)])
    x = norm("norm", graph.node("Add", [x, linear("mixed", mixed)]))
    inner = linear("down", graph.node("Gelu", [linear("up", x)]))
    return norm("last_norm", graph.node("Add", [x, inner]))


def _scores(graph: _Graph, x: str, sides: str, seen: str, weights: dict[str, Tensor]) -> None:
    """Add the scores of the two means, and of each token its share of the score for a note."""
    scores, bias = _array(weights["scores.weight"]), _array(weights["scores.bias"])
    # Towards a note: away from "none", to the mean of the three importances.
    note = scores[1:LEVELS].mean(axis=0) - scores[0]
    second = graph.node("Mul", [graph.node("Cast", [sides], to=TensorProto.FLOAT), seen])
    first = graph.node("Sub", [seen, second])
    found, added = [], []
    for mask, own, towards in (
        (first, scores[:, :WIDTH], note[:WIDTH]),
        (second, scores[:, WIDTH:], note[WIDTH:]),
    ):
        count = graph.node("ReduceSum", [mask, graph.numbers(1)], keepdims=1)
        share = graph.node("Div", [mask, count])
        mean = graph.node("MatMul", [graph.node("Unsqueeze", [share, graph.numbers(1)]), x])
        mean = graph.node("Squeeze", [mean, graph.numbers(1)])
        found.append(graph.node("MatMul", [mean, graph.constant(own.T)]))
        of_tokens = graph.node("MatMul", [x, graph.constant(towards[:, np.newaxis])])
        added.append(graph.node("Mul", [graph.node("Squeeze", [of_tokens, graph.numbers(2)]), share]))
    graph.node("Add", [graph.node("Add", found), graph.constant(bias)], "scores")
    graph.node("Add", added, "added")
