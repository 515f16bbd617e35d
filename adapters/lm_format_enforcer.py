"""lm-format-enforcer: a parser of characters in pure Python, led along a tree of all tokens.

As shipped it limits white space to 12 in a row and arrays to 20 items, and knows few characters
where a pattern or a length is asked for. Configuration ``spec`` lifts the first two limits and
gives it every character of the vocabulary; all three are settings that the library documents.

Its masks take from milliseconds to seconds.

The library catches its own exceptions, logs them, and then allows the end of generation alone.
Here they are raised: a user gets half a text, and nobody decided that it may end there.

Sources: lm-format-enforcer 0.11.3, `README.md` (configuration), `tokenenforcer.py`,
`integrations/transformers.py` (how tokens become texts: broken UTF-8 is U+FFFD, and held back at
the end of what was written). Observed in 0.11.3: with lists of tokens instead of bit masks it
allows the same, is faster, and needs no torch; regular expressions are kept for all schemas of a
process, with the characters of the schema that came first, which is undone here; the settings
given to a parser are overwritten by those of the environment, so they are set once more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from adapters._shared import EndingMatcher
from harness.errors import UsageError
from harness.protocol import (
    CONFIG,
    EngineInfo,
    Mask,
    Option,
    Refused,
    Vocabulary,
    allows,
    copied,
    set_bits,
)

_BROKEN = "\ufffd"


class LMFormatEnforcerEngine:
    """lm-format-enforcer with one vocabulary."""

    OPTIONS: ClassVar[Mapping[str, Option]] = {
        "config": CONFIG,
        "whitespaces": Option(
            "auto", "white space allowed in a row; auto: as config has it (shipped: 12, spec: any)"
        ),
        "array_items": Option(
            "auto",
            "items of an array whose schema does not limit them, 0 for any number; "
            "auto: as config has it (shipped: 20, spec: any)",
        ),
    }
    REGEX_DIALECT = "python"
    """Patterns are read by interegular, "a subset of python regexes" (its README)."""
    DISTRIBUTION = "lm-format-enforcer"
    TESTED = "0.11.3"
    SLOW_MASKS = SLOW_TEXTS = True

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import lmformatenforcer
        from lmformatenforcer.characterlevelparser import CharacterLevelParserConfig

        self.info = EngineInfo.installed(self.DISTRIBUTION, options, "interegular", "pydantic")
        self._library = lmformatenforcer
        self.vocabulary = vocabulary
        self.texts = {
            token: text.decode("utf-8", "replace") for token, text in vocabulary.ordinary.items()
        }
        self._data = lmformatenforcer.TokenEnforcerTokenizerData(
            [(token, text, False) for token, text in self.texts.items()],
            str,  # of ids, which is asked of prefixes alone
            list(vocabulary.eos_ids),
            False,
            vocabulary.size,
        )
        # it only goes along the tree, and sets the configuration of the parser that it is given
        self._enforcer = lmformatenforcer.TokenEnforcer(
            self._data, lmformatenforcer.StringParser("")
        )
        shipped = options["config"] == "shipped"
        self._configured = partial(
            CharacterLevelParserConfig,
            alphabet=self._data.tokenizer_alphabet,
            max_consecutive_whitespaces=_limit(options, "whitespaces", 12 if shipped else 1 << 30),
            max_json_array_length=_limit(options, "array_items", 20 if shipped else 0),
        )
        alphabet = lmformatenforcer.consts.COMPLETE_ALPHABET
        self._first = {"alphabet": alphabet} if shipped else {}

    def compile(self, schema: str) -> _Matcher:
        """A matcher with its first mask computed; raises `Refused` with the library's exception."""
        kept = self._library.JsonSchemaParser._Context.regex_parser_cache  # noqa: SLF001
        kept.clear()
        try:
            value = json.loads(schema)
            parser = self._library.JsonSchemaParser(value, self._configured(**self._first))
            parser.context.regex_parser_cache = dict(kept)
            parser.config = self._configured()
            matcher = _Matcher(self, parser)
            matcher.mask(np.zeros(self.vocabulary.words, dtype=np.uint32))
        except Exception as error:
            raise Refused(_told(error)) from error
        return matcher

    def compile_regex(self, pattern: str) -> _Matcher:
        try:
            parser = self._library.RegexParser(pattern, self._configured())
            parser.config = self._configured()
        except Exception as error:
            raise Refused(_told(error)) from error
        return _Matcher(self, parser)

    def mask_of(self, parser: Any) -> Mask:
        """The tokens that the library allows; raises RuntimeError as it fails."""
        ids: list[int] = []
        with _raised():
            root, shortcut = self._enforcer.tokenizer_tree.root, parser.shortcut_key()
            self._enforcer._collect_allowed_tokens(parser, root, ids, shortcut)  # noqa: SLF001
            ids += self.vocabulary.eos_ids if parser.can_end() else ()
            if not ids:
                raise ValueError("Parser reached state with no allowed tokens")
        return set_bits(ids, self.vocabulary.words)

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """The library's text of each id; None for special ids and for parts of characters."""
        texts = self._data.tokenizer_tree.tokens_to_strs
        return [
            texts[token].encode() if token in texts and _BROKEN not in texts[token] else None
            for token in ids
        ]


class _Matcher(EndingMatcher):
    """The library's parser, which never changes, and the bytes that are no character yet."""

    def __init__(self, engine: LMFormatEnforcerEngine, parser: Any) -> None:
        self._engine, self._parser, self._texts = engine, parser, engine.texts
        self._rest = b""
        self._present: Mask | None = None

    def _write(self, out: Mask) -> None:
        """Raises RuntimeError where the library fails, to allow nothing but the end from there."""
        out[:] = self._mask_here()

    def _mask_here(self) -> Mask:
        if self._present is None:
            self._present = self._engine.mask_of(self._parser)
        return self._present

    def consume(self, token: int) -> bool:
        if self._ended or not self._allows(token):
            return False
        self._ended = token not in self._texts
        if not self._ended:
            self._advance(token)
        return True

    def clone(self) -> Self:
        return copied(self)

    def follow(self, tokens: Sequence[int]) -> int:
        """Goes by characters, not by masks.

        Where the library fails over a token it is not allowed, here; its mask would be raised.
        """
        trial = self.clone()
        for count, token in enumerate(tokens):
            with suppress(RuntimeError):
                if trial.consume(token):
                    continue
            return count
        return len(tokens)

    def _allows(self, token: int) -> bool:
        """Whether the mask has the bit of a token, by characters where the library goes by them."""
        text, parser = self._texts.get(token), self._parser
        with _raised():
            if text is None:
                return token in self._engine.vocabulary.eos_ids and bool(parser.can_end())
            if parser.shortcut_key():
                return allows(self._mask_here(), token)
            for character in text:
                if character not in parser.get_allowed_characters():
                    return False
                parser = parser.add_character(character)
        return True

    def _advance(self, token: int) -> None:
        """Lead the parser along the characters of a token, and hold back what is none."""
        text, self._present = self._texts[token], None
        if self._rest or _BROKEN in text:
            data = self._rest + self._engine.vocabulary.tokens[token]
            text = data.decode("utf-8", "replace").rstrip(_BROKEN)
            ends = (at for at in range(len(data)) if data[:at].decode("utf-8", "replace") == text)
            self._rest = data[next(ends, len(data)) :]
        with _raised():
            for character in text:
                self._parser = self._parser.add_character(character)


def _limit(options: Mapping[str, bool | int | str], name: str, usual: int) -> int:
    """A limit that an option sets; `usual` where it sets none."""
    value = str(options[name])
    if value == "auto":
        return usual
    if not value.isdecimal():
        raise UsageError(f"lm-format-enforcer: {name} is auto or a number, not {value!r}")
    return int(value)


def _told(error: Exception) -> str:
    own = error if error.__cause__ is None else error.__cause__
    return f"{type(own).__name__}: {own}".strip()


@contextmanager
def _raised() -> Iterator[None]:
    """Have exceptions of the library be those of an engine that failed."""
    try:
        yield
    except Exception as error:
        raise RuntimeError(f"lm-format-enforcer: {_told(error)}") from error
