"""A small feed-forward network on rows of bins, with the norm of every row's gradient and Adam. For the GAN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

LEAK = 0.2
"""Slope of the activation below 0."""

Weights = list[np.ndarray]


@dataclass(frozen=True)
class Passed:
    """What a forward pass leaves for the way back: per layer the inputs (rows, in), and the output (rows, out)."""

    inputs: list[np.ndarray]
    output: np.ndarray


class Network:
    """Linear layers with leaky rectifiers between them.

    Parameters
    ----------
    sizes : of the input, the hidden layers and the output.
    generator : draws the first weights (He et al. 2015); public.

    Attributes
    ----------
    weights : per layer (in + 1, out); the last line is the bias.
    """

    def __init__(self, sizes: Sequence[int], generator: np.random.Generator):
        self.weights: Weights = [
            np.vstack([generator.normal(0, np.sqrt(2 / fan_in), (fan_in, out)), np.zeros(out)])
            for fan_in, out in zip(sizes, sizes[1:], strict=False)
        ]

    def forward(self, rows: np.ndarray) -> Passed:
        inputs, values = [], rows
        for layer, weights in enumerate(self.weights):
            if layer:
                values = np.where(values > 0, values, LEAK * values)
            inputs.append(values)
            values = values @ weights[:-1] + weights[-1]
        return Passed(inputs, values)

    def deltas(self, passed: Passed, of_output: np.ndarray) -> list[np.ndarray]:
        """From the gradient by the output (rows, out), the one by what each layer gives: per layer (rows, out)."""
        back = [of_output]
        for layer in range(len(self.weights) - 1, 0, -1):
            delta = back[0] @ self.weights[layer][:-1].T
            # what came out of a rectifier is above 0 where what went in was
            back.insert(0, np.where(passed.inputs[layer] > 0, delta, LEAK * delta))
        return back

    def by_rows(self, deltas: Sequence[np.ndarray]) -> np.ndarray:
        """(rows, in) The gradient by the rows themselves."""
        return deltas[0] @ self.weights[0][:-1].T

    def sum_of_rows(self, rows: np.ndarray, share: Callable[[np.ndarray], np.ndarray]) -> Weights:
        """Per layer, the sum over the rows of the gradient of each row's output, times the share that its norm gives it."""
        passed = self.forward(rows)
        deltas = self.deltas(passed, np.ones_like(passed.output))
        shares = share(self.row_norms(passed, deltas))[:, None]
        return self.gradient(passed, [shares * delta for delta in deltas])

    @staticmethod
    def gradient(passed: Passed, deltas: Sequence[np.ndarray]) -> Weights:
        """Per layer (in + 1, out), summed over the rows."""
        return [np.vstack([inputs.T @ delta, delta.sum(axis=0)]) for inputs, delta in zip(passed.inputs, deltas, strict=True)]

    @staticmethod
    def row_norms(passed: Passed, deltas: Sequence[np.ndarray]) -> np.ndarray:
        """(rows,) l2 norm of each row's own gradient by all weights, at least that of the last bias.

        A row's gradient in a layer is the outer product of its inputs, with a 1 for the bias, and its delta, so its squared
        norm is the product of theirs (Goodfellow 2015, "Efficient per-example gradient computations").
        """
        squares = [
            (1 + np.square(inputs).sum(axis=1)) * np.square(delta).sum(axis=1)
            for inputs, delta in zip(passed.inputs, deltas, strict=True)
        ]
        return np.sqrt(np.sum(squares, axis=0))


class Adam:
    """Steps against a gradient (Kingma & Ba 2015), without momentum, in which a game between two networks runs away."""

    def __init__(self, weights: Weights, rate: float, decays: tuple[float, float] = (0.0, 0.9)):
        self._weights, self._rate, self._decays, self._steps = weights, rate, decays, 0
        self._means = [np.zeros_like(layer) for layer in weights]
        self._squares = [np.zeros_like(layer) for layer in weights]

    def step(self, gradient: Weights) -> None:
        """Moves the weights in place."""
        self._steps += 1
        (first, second), t = self._decays, self._steps
        for weights, slope, mean, square in zip(self._weights, gradient, self._means, self._squares, strict=True):
            mean += (1 - first) * (slope - mean)
            square += (1 - second) * (slope**2 - square)
            weights -= self._rate * (mean / (1 - first**t)) / (np.sqrt(square / (1 - second**t)) + 1e-8)
