"""llama.cpp: a grammar in its own notation, converted from the schema in C++, walked by stacks.

It comes out of the wheel xllamacpp, whose library exports all that a server calls: the converter
from JSON Schema and the grammar behind its sampler. They are C++ and called by their mangled names,
so the version is pinned and every name is looked for at the start; the wheel's Python, which gives
grammars for llguidance, is not used. The vocabulary comes as a model file without weights.
What ends a process is kept out of this one: a token is tried before it is accepted, and conversion
and parsing are done first in a child, where an exception costs a refusal.

A mask over 150,000 tokens takes 20 to 35 ms, a copy of a large grammar over 1 ms. So clones share a
grammar and its mask until one of them goes on. The calls are the sampler's own.

``spec`` and ``shipped`` convert alike, with what llama-server uses. As shipped special tokens may
write their names inside strings, which ``spec`` forbids.

Sources: `common/json-schema-to-grammar.cpp`, `common/json.h`, `src/llama-grammar.h` and
`src/llama-vocab.cpp` of llama.cpp; the library of xllamacpp 2026.10.11549 (llama.cpp b11549).
Observed there: several ids end generation by their names, an ordinary ``</s>`` among them; two ids
of one text fail an assertion; a byte 0 ends a token's text.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import platform
import re
import resource
import struct
import sys
import weakref
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.metadata import files, version
from itertools import count, repeat
from tempfile import TemporaryFile
from types import SimpleNamespace
from typing import IO, Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt

from harness.errors import UsageError
from harness.protocol import (
    CONFIG,
    EngineInfo,
    FollowingMatcher,
    Mask,
    Option,
    Refused,
    Vocabulary,
    allows,
    copied,
)

_P, _TEXT, _SIZE, _ID = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int32
_FLAG = ctypes.c_bool


class _ModelParameters(ctypes.Structure):
    """`llama_model_params`, with room to spare: it goes by value, as the last argument."""

    _fields_ = (("bytes", ctypes.c_ubyte * 256),)


_Log = ctypes.CFUNCTYPE(None, ctypes.c_int, _TEXT, _P)
_GRAMMAR = "_Z23llama_grammar_init_implPK11llama_vocabPKcS3_bPS3_mPKim"
_APPLY = "_Z24llama_grammar_apply_implRK13llama_grammarP22llama_token_data_array"

# Strings are those of the old C++ interface, a pointer each; where a call gives an object, the
# place for it is the first argument, as on x86-64.
_CALLS: Mapping[str, tuple[str, Any, tuple[Any, ...]]] = {
    "log_set": ("llama_log_set", None, (_Log, _P)),
    "parameters": ("llama_model_default_params", _ModelParameters, ()),
    "load": ("llama_model_load_from_file", _P, (_TEXT, _ModelParameters)),
    "free_model": ("llama_model_free", None, (_P,)),
    "vocabulary": ("llama_model_get_vocab", _P, (_P,)),
    "size": ("llama_vocab_n_tokens", _ID, (_P,)),
    "ends": ("llama_vocab_is_eog", _FLAG, (_P, _ID)),
    "piece": ("llama_token_to_piece", _ID, (_P, _ID, _TEXT, _ID, _ID, _FLAG)),
    "string": ("_ZNSsC1EPKcmRKSaIcE", None, (_P, _TEXT, _SIZE, _P)),
    "string_size": ("_ZNKSs4sizeEv", _SIZE, (_P,)),
    "string_data": ("_ZNKSs4dataEv", _P, (_P,)),
    "read_json": ("_ZN11common_json5parseERKSs", None, (_P, _P)),
    "convert": ("_Z22json_schema_to_grammarRK11common_jsonb", None, (_P, _P, _FLAG)),
    "parse": (_GRAMMAR, _P, (_P, _TEXT, _TEXT, _FLAG, _P, _SIZE, _P, _SIZE)),
    "free": ("_Z23llama_grammar_free_implP13llama_grammar", None, (_P,)),
    "apply": (_APPLY, None, (_P, _P)),
    "accept": ("_Z25llama_grammar_accept_implR13llama_grammari", None, (_P, _ID)),
    "clone": ("_Z24llama_grammar_clone_implRK13llama_grammar", _P, (_P,)),
}

_INSTALL = "this adapter drives xllamacpp 2026.10.11549"
_WARNING, _NEVER = 3, -1  # from which level on messages are kept; no id


class LlamaCppEngine:
    """llama.cpp with one vocabulary."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {"config": CONFIG}
    DISTRIBUTION = "xllamacpp"
    TESTED = "2026.10.11549"
    SLOW_MASKS = True

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        installed = version(self.DISTRIBUTION)
        self.info = EngineInfo("llama.cpp", installed, dict(options), {"xllamacpp": installed})
        self.functions = _library(installed)
        file, self._bearers = _model_file(vocabulary)
        model = _load(self.functions, file)
        weakref.finalize(self, self.functions.free_model, model).atexit = False
        self.native: int = self.functions.vocabulary(model)
        if self.functions.size(self.native) != vocabulary.size:
            raise UsageError(f"xllamacpp {installed} lost tokens of the vocabulary", _INSTALL)
        self._special = vocabulary.special.tobytes()
        self._longest = int(np.diff(vocabulary.offsets).max()) + 32  # special ones: see _model_file
        asked = self._bearers.copy()
        if options["config"] == "spec":
            asked[vocabulary.special] = _NEVER
        ends = map(self.functions.ends, repeat(self.native), range(vocabulary.size))
        asked[list(ends)] = _NEVER
        asked = np.where(asked == _NEVER, asked, asked[asked])
        asked[list(vocabulary.eos_ids)] = vocabulary.eos
        numbers = np.arange(vocabulary.size, dtype=np.int32)
        self.asked, self.eos = asked, vocabulary.eos
        """By id, the id of the library that answers for it, `_NEVER` where none does."""
        self.every = _Candidates(np.flatnonzero(asked == numbers))
        self.twins = np.flatnonzero((asked != numbers) & (asked != _NEVER))

    def compile(self, schema: str) -> _Matcher:
        """A matcher with its first mask; raises as `_converted`; warnings go to standard error."""
        text = _converted(self.functions, self.native, schema)
        native = _parsed(self.functions, self.native, text)
        if native is None:
            raise Refused(self.functions.messages() or "llama.cpp does not parse its own grammar")
        grammar = _Grammar(self, native)
        grammar.mask.setflags(write=False)
        return _Matcher(grammar)

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The library's text of each id, or of the id that bears its text; None for special ids."""
        return [None if self._special[token] else self._piece(token) for token in ids]

    def _piece(self, token: int) -> bytes:
        buffer = ctypes.create_string_buffer(self._longest)
        bearer = self._bearers[token]
        size = self.functions.piece(self.native, bearer, buffer, len(buffer), 0, True)
        return buffer.raw[:size]


class _Matcher(FollowingMatcher):
    """A grammar that its clones share; None after the end."""

    def __init__(self, grammar: _Grammar) -> None:
        self._grammar: _Grammar | None = grammar

    def mask(self, out: Mask) -> None:
        out[:] = 0 if self._grammar is None else self._grammar.mask

    def consume(self, token: int) -> bool:
        taken, after = self._walked((token,))
        if taken:
            self._grammar = after
        return bool(taken)

    def clone(self) -> Self:
        return copied(self)

    def follow(self, tokens: Sequence[int]) -> int:
        """Asks for the tokens alone, not masks."""
        return self._walked(tokens)[0]

    def _walked(self, tokens: Sequence[int]) -> tuple[int, _Grammar | None]:
        """How many leading tokens are allowed, each tried before it is accepted; what is after."""
        grammar = self._grammar
        for taken, token in enumerate(tokens):
            if grammar is None or not grammar.allows(token):
                return taken, grammar
            go_on = grammar.after if grammar is self._grammar else grammar.moved
            grammar = go_on(token)
        return len(tokens), grammar


@cache
def _library(installed: str) -> Any:
    """The library's calls by our names, and `messages`, which gives what it logged since."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise UsageError("the adapter of llama.cpp knows the calls of Linux on x86-64 alone")
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # it would start a debugger
    found = [one.locate() for one in files("xllamacpp") or () if one.suffix == ".so"]
    if not found:
        raise UsageError(f"xllamacpp {installed} has no library", _INSTALL)
    native = ctypes.CDLL(str(found[0]))
    calls = SimpleNamespace()
    for name, (symbol, result, arguments) in _CALLS.items():
        try:
            call = getattr(native, symbol)
        except AttributeError:
            raise UsageError(f"xllamacpp {installed} has no {symbol}", _INSTALL) from None
        call.restype, call.argtypes = result, arguments
        setattr(calls, name, call)
    kept: list[bytes] = []

    def log(level: int, text: bytes, _: object) -> None:
        if level >= _WARNING:
            kept.append(text)

    def messages() -> str:
        text = b"".join(kept).decode("utf-8", "replace")
        kept.clear()
        return text

    calls.log, calls.messages = _Log(log), messages  # the library has no reference of its own
    calls.log_set(calls.log, None)
    return calls


def _load(library: Any, file: bytes) -> int:
    """The model in a file's content, of which there is only the vocabulary."""
    parameters = library.parameters()
    parameters.bytes[72] = True  # where its switch `vocab_only` is
    descriptor = os.memfd_create("vocabulary")
    try:
        os.write(descriptor, file)
        model: int | None = library.load(f"/proc/self/fd/{descriptor}".encode(), parameters)
    finally:
        os.close(descriptor)
    message = library.messages()
    if model is None:
        raise RuntimeError(f"llama.cpp cannot read the vocabulary: {message}")
    return model


def _parsed(library: Any, vocabulary: int, grammar: bytes) -> Any:
    """The library's grammar, or None where it cannot parse the text."""
    return library.parse(vocabulary, grammar, b"root", False, None, 0, None, 0)


def _byte_letters() -> list[bytes]:
    """The letter that stands for each byte in byte-level BPE, in UTF-8."""
    shown = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = count(0x100)
    return [chr(byte if byte in shown else next(hidden)).encode() for byte in range(256)]


def _model_file(vocabulary: Vocabulary) -> tuple[bytes, npt.NDArray[np.int32]]:
    """A model file in GGUF that holds a vocabulary alone, and who bears the text of each id.

    No two ids may have one text. The first id of a text bears it, an ordinary one before a special
    one; the others are written as special ids with a text of their own.

    Returns:
        The file; shape ``(size,)``, the id under which the library has the bytes of each id,
        `_NEVER` for special ones whose text is empty or another's.
    """
    letters = _byte_letters()
    special = vocabulary.special.tolist()
    texts = [
        text if control else b"".join([letters[byte] for byte in text])
        for text, control in zip(vocabulary.tokens, special, strict=True)
    ]
    owners: dict[bytes, int] = {}
    bearers = np.full(vocabulary.size, _NEVER, dtype=np.int32)
    for token in sorted(range(vocabulary.size), key=lambda token: (special[token], token)):
        owner = owners.setdefault(texts[token], token) if texts[token] else _NEVER
        if owner == token or not special[token]:
            bearers[token] = owner
        if owner != token:
            texts[token] = b"<|no text %d|>" % token
            special[token] = True
    number, string, array, integers = 4, 8, 9, 5
    kinds = np.where(special, 3, 1).astype("<i4").tobytes()
    count_of, listed = struct.Struct("<IQ"), b"".join(map(_with_length, texts))
    entries = {
        b"general.architecture": (string, _with_length(b"llama")),
        b"tokenizer.ggml.model": (string, _with_length(b"gpt2")),
        b"tokenizer.ggml.pre": (string, _with_length(b"qwen2")),  # only matters for whole texts
        b"tokenizer.ggml.tokens": (array, count_of.pack(string, len(texts)) + listed),
        b"tokenizer.ggml.token_type": (array, count_of.pack(integers, len(texts)) + kinds),
        b"tokenizer.ggml.merges": (array, count_of.pack(string, 0)),
        b"tokenizer.ggml.eos_token_id": (number, struct.pack("<I", vocabulary.eos)),
    }
    body = b"".join(
        _with_length(key) + struct.pack("<I", kind) + value
        for key, (kind, value) in entries.items()
    )
    return struct.pack("<4sIQQ", b"GGUF", 3, 0, len(entries)) + body, bearers


def _with_length(text: bytes) -> bytes:
    return struct.pack("<Q", len(text)) + text


_RECORD = np.dtype([("id", "<i4"), ("logit", "<f4"), ("p", "<f4")])


class _TokenArray(ctypes.Structure):
    """`llama_token_data_array`."""

    _fields_ = (("data", _P), ("size", _SIZE), ("selected", ctypes.c_int64), ("sorted", _FLAG))


class _Candidates:
    """Ids about which a grammar can be asked in one call."""

    def __init__(self, ids: npt.ArrayLike) -> None:
        self.ids = np.asarray(ids, dtype=np.int32)
        self.records = np.zeros(len(self.ids), _RECORD)
        self.records["id"] = self.ids
        self._logits = self.records["logit"]
        array = _TokenArray(self.records.ctypes.data, len(self.ids), -1, False)
        self._array, self._reference = array, ctypes.byref(array)

    def allowed(self, apply: Any, native: int) -> npt.NDArray[np.bool_]:
        """By place in `ids`: whether the grammar allows it next."""
        self._logits[:] = 0
        apply(native, self._reference)
        return self._logits > -1


class _Grammar:
    def __init__(self, engine: LlamaCppEngine, native: int) -> None:
        weakref.finalize(self, engine.functions.free, native).atexit = False
        self._engine = engine  # whose vocabulary the grammar refers to
        self._native = native

    @cached_property
    def mask(self) -> Mask:
        """The mask here; not to be written to."""
        allowed = self._engine.every.allowed(self._engine.functions.apply, self._native)
        asked, twins = self._engine.asked, self._engine.twins
        bits = np.zeros(-(-len(asked) // 32) * 32, dtype=np.bool_)
        bits[self._engine.every.ids[allowed]] = True
        bits[twins] = bits[asked[twins]]
        return np.packbits(bits, bitorder="little").view(np.uint32)

    def allows(self, token: int) -> bool:
        """Whether a token may come next, by the mask if that is known."""
        asked = self._engine.asked
        if not 0 <= token < len(asked) or asked[token] == _NEVER:
            return False
        if "mask" in vars(self):
            return allows(self.mask, token)
        some = _Candidates(asked[token : token + 1])
        return bool(some.allowed(self._engine.functions.apply, self._native)[0])

    def after(self, token: int) -> _Grammar | None:
        """A copy after a token that is allowed; None after the end."""
        return _Grammar(self._engine, self._engine.functions.clone(self._native)).moved(token)

    def moved(self, token: int) -> Self | None:
        """As `after`, without a copy, where the mask was not asked for."""
        asked = int(self._engine.asked[token])
        if asked == self._engine.eos:
            return None
        self._engine.functions.accept(self._native, asked)
        return self


_MEMORY = 8 << 30  # bytes that the child may have, beyond which the converter throws
_UNPARSED, _FAILED = 3, 4
_THROWN = re.compile(r"what\(\):\s*(.*)", re.DOTALL)


def _converted(library: Any, vocabulary: int, schema: str) -> bytes:
    """The grammar of a schema, converted and parsed in a child of this process.

    An exception of the converter is a refusal, as in a server. Whatever else ends the child would
    end a server, and ends this process by the same signal.

    Raises:
        Refused: The converter threw an exception, or its grammar cannot be parsed.
        MemoryError: The exception was about memory.
    """
    with TemporaryFile() as grammar, TemporaryFile() as printed:
        if not (child := os.fork()):
            _convert_and_exit(library, vocabulary, schema.encode(), grammar, printed)
        _, status = os.waitpid(child, 0)
        text = os.pread(grammar.fileno(), os.fstat(grammar.fileno()).st_size, 0)
        message = os.pread(printed.fileno(), 1 << 20, 0).decode("utf-8", "replace")
    if status == 0:
        sys.stderr.write(message)
        return text
    if thrown := _THROWN.search(message):
        if "bad_alloc" in thrown[1]:
            raise MemoryError(thrown[1].strip())
        raise Refused(thrown[1].strip())
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _UNPARSED:
        raise Refused(message.strip().partition("\n")[0])  # the grammar comes after it
    sys.stderr.write(message)
    if os.WIFSIGNALED(status):
        os.kill(os.getpid(), os.WTERMSIG(status))
    raise RuntimeError(f"llama.cpp cannot be asked to convert: {message}")


def _convert_and_exit(
    library: Any, vocabulary: int, schema: bytes, grammar: IO[bytes], printed: IO[bytes]
) -> NoReturn:
    """Write the grammar into one file and what is printed into another, as a child."""
    status = _FAILED
    try:
        os.dup2(printed.fileno(), 2)
        faulthandler.disable()  # it would print where it is, which is not the engine's
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, hard))
        text = _convert(library, schema)
        library.messages()
        if _parsed(library, vocabulary, text) is None:
            os.write(2, library.messages().encode())
            status = _UNPARSED
        else:
            status = 0 if os.write(grammar.fileno(), text) == len(text) else _FAILED
    except (OSError, ValueError) as error:
        os.write(2, f"{type(error).__name__}: {error}".encode())
    finally:
        os._exit(status)


def _convert(library: Any, schema: bytes) -> bytes:
    """The grammar that the converter writes; what it throws ends the process."""
    text, grammar = ctypes.c_void_p(), ctypes.c_void_p()
    json = ctypes.create_string_buffer(4096)  # more than the object needs
    library.string(ctypes.byref(text), schema, len(schema), ctypes.byref(ctypes.c_char()))
    library.read_json(json, ctypes.byref(text))
    library.convert(ctypes.byref(grammar), json, True)  # True: not the one for llguidance
    size = library.string_size(ctypes.byref(grammar))
    return ctypes.string_at(library.string_data(ctypes.byref(grammar)), size)
