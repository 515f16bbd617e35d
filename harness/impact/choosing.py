"""Which token comes next, with a mask and without, and what the mask took from the model.

Sampling is by the largest sum of logit and noise (Gumbel): its distribution is the softmax, and
the noise depends on nothing but seed, item and position. So an engine that forbids nothing of what
the model would have drawn writes the very text that the model writes alone, and all differences
between engines are differences between masks.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.impact.answers import Step
from harness.impact.language_model import Logits
from harness.options import option
from harness.protocol import Mask

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn."""

    temperature: float = option(0.0, "0 takes the likeliest token.", least=0)
    seed: int = option(0, "Of the sample and the draws.")

    def noise(self, item: str, position: int, size: int) -> Floats | None:
        """What is added to the logits over the temperature, shape ``(size,)``; None if greedy."""
        if not self.temperature:
            return None
        key = hashlib.sha256(f"{self.seed}/{item}/{position}".encode()).digest()
        generator = np.random.Generator(np.random.PCG64(int.from_bytes(key, "little")))
        return generator.gumbel(size=size)


def choose(
    logits: Logits,
    mask: Mask | None,
    temperature: float = 0.0,
    noise: Floats | None = None,
    position: int = 0,
) -> Step:
    """The next token by logits of shape ``(size,)`` and the noise of `Sampling`.

    The mask has ``(size + 31) // 32`` words; None allows everything.
    """
    scaled = logits.astype(np.float64) / (temperature or 1.0)
    scores = scaled if noise is None else scaled + noise
    wanted = int(scores.argmax())
    if mask is None:
        return Step(position, wanted, 1.0, 0, wanted, 0.0)
    allowed = np.unpackbits(mask.view(np.uint8), count=len(logits), bitorder="little") > 0
    shares = np.exp(scaled - scaled.max())
    shares /= shares.sum()
    removed = float(shares[~allowed].sum())
    chosen = int(np.where(allowed, scores, -np.inf).argmax()) if allowed.any() else -1
    rank = int((logits > logits[wanted]).sum())
    return Step(position, wanted, float(shares[wanted]), rank, chosen, removed)
