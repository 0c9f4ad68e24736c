"""The first run of a generation: prompts, or sources and the tokens that begin their answers.

Prompts of different lengths are filled up in front, as in ``transformers``, so that all of them end
with the same run; sources are filled up behind.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hpcfair.decoder import POSITIONS, DecoderInputs
from hpcfair.generationconfig import GenerationConfig
from hpcfair.prompts import filled_up, prompts_of, require_length, sounds_of
from hpcfair.runtimes.base import Array
from hpcfair.sources import MASK
from hpcfair.typingnames import Self


@dataclass(frozen=True, slots=True)
class FirstRun:
    """The first run of a generation.

    Attributes:
        decoder: What runs.
        texts: The tokens to which new ones are added.
        is_single: Whether one prompt came, and not a list of them.
        inputs: All but the cache.
    """

    decoder: DecoderInputs
    texts: tuple[Array, ...]
    is_single: bool
    inputs: Mapping[str, Array]

    @classmethod
    def of(
        cls,
        prompts: Any,
        count: int,
        decoder: DecoderInputs,
        config: GenerationConfig,
        vocabulary: int,
    ) -> Self:
        """For ``count`` new tokens. Raises BadInput."""
        if decoder.source and decoder.source.is_sound:
            sounds, is_single = sounds_of(prompts, decoder.source)
            inputs, rows = {decoder.source.name: sounds[:, None]}, len(sounds)
        else:
            ids, is_single = prompts_of(prompts, vocabulary, has_mask=MASK in decoder.names)
            require_length(ids, 0 if decoder.source else count, config.length)
            texts, rows = tuple(ids), len(ids)
            inputs = filled_up(ids, in_front=decoder.source is None)
        if decoder.source:
            start, _ = prompts_of(config.start_of_answers(), vocabulary, has_mask=True)
            texts = tuple(start) * rows
            require_length(texts[:1], count, config.length)
            inputs[decoder.ids] = np.stack(texts)
        else:
            inputs[POSITIONS] = np.maximum(inputs[MASK].cumsum(axis=1) - 1, 0)
        inputs = {name: array for name, array in inputs.items() if name in decoder.names}
        return cls(decoder, texts, is_single, inputs)

    def rows(self) -> list[Self]:
        """The same for each text on its own."""
        return [
            replace(
                self,
                texts=(text,),
                inputs={name: array[row : row + 1] for name, array in self.inputs.items()},
            )
            for row, text in enumerate(self.texts)
        ]

    @property
    def empty_cache(self) -> dict[str, Array]:
        """The cache before the first run."""
        return {
            tensor.name: np.zeros((len(self.texts), heads, 0, size), tensor.dtype)
            for tensor in self.decoder.past
            for heads, size in [(int(tensor.shape[1]), int(tensor.shape[3]))]
        }

    def inputs_after(self, inputs: Mapping[str, Array], tokens: Array) -> dict[str, Array]:
        """Inputs of the run for one further token of each text, after a run on ``inputs``."""
        following = {**inputs, self.decoder.ids: tokens[:, None]}
        if self.decoder.source:
            # What the network keeps of the source is in the cache.
            name = self.decoder.source.name
            return following | {name: inputs[name][:, :0]}
        if POSITIONS in inputs:
            following[POSITIONS] = inputs[POSITIONS][:, -1:] + 1
        if MASK in inputs:
            following[MASK] = np.pad(inputs[MASK], ((0, 0), (0, 1)), constant_values=1)
        return following
