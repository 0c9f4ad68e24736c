"""The part of a loaded model that generates tokens."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hpcfair.decoder import DecoderInputs
from hpcfair.errors import HubUnreachable, NotFound
from hpcfair.generation import GenerationOptions, TokenGenerator
from hpcfair.record import Record
from hpcfair.serialrunner import SerialRunner
from hpcfair.signature import Signature
from hpcfair.typingnames import Unpack


class Generative(ABC):
    """A model that generates if it is a decoder with a cache (:mod:`hpcfair.decoder`), alone or
    behind an encoder."""

    signature: Signature
    _runner: SerialRunner

    @property
    @abstractmethod
    def folder(self) -> Path | None:
        """The folder with the files of the tokeniser and the configuration."""

    @property
    @abstractmethod
    def record(self) -> Record | None:
        """The benchmark record of the build."""

    def generate(self, ids: Any, max_new_tokens: int, **options: Unpack[GenerationOptions]) -> Any:
        """Continue prompts by the most probable tokens, or by random ones.

        ::

            m.generate(tokenizer("Once upon a time")["input_ids"], 50)
            m.generate(ids, 50, temperature=0.8, top_p=0.95, seed=1)

        Each prompt ends at a token that ends texts, or after ``max_new_tokens`` further ones. An
        encoder-decoder begins an answer to each prompt, which may be the spectrum of a sound.

        Args:
            ids: Token ids of one prompt, or of several: a list, or an array. For a model of sounds
                the features of one, or of several.
            max_new_tokens: Most tokens that are added to a prompt.
            options: See :class:`hpcfair.GenerationOptions`.

        Returns:
            The prompt with the tokens that continue it, or the answer from its first token on, an
            array ``int64``; for an array of prompts, and for answers to several, one array of all
            of them, in which what ended earlier is filled up, as ``generate`` of ``transformers``
            returns it; for prompts of different lengths a list of arrays.

        Raises:
            NotSupported: the model is no decoder with a cache.
            BadInput: the prompts are no token ids of this model, are empty, or are too long; an
                option has an impossible value.
            RuntimeFailed: the runtime failed, or computes no numbers.
        """
        return self._generator(**options).generate(ids, max_new_tokens)

    def stream(
        self, ids: Any, max_new_tokens: int, **options: Unpack[GenerationOptions]
    ) -> Iterator[int]:
        """The tokens that continue one prompt, each as soon as it is computed.

        Arguments and errors are those of :meth:`generate`.
        """
        return self._generator(**options).stream(ids, max_new_tokens)

    def _record_of_generation(self) -> Record | None:
        """The record of a build that generates; ``None`` if it cannot be read."""
        if DecoderInputs.of(self.signature.inputs) is None:
            return None
        try:
            return self.record
        except (HubUnreachable, NotFound):
            return None

    def _generator(self, **options: Unpack[GenerationOptions]) -> TokenGenerator:
        return TokenGenerator(
            self.signature,
            lambda inputs: self.signature.arrange(self._runner.run(inputs)),
            lambda: self.folder,
            **options,
        )
