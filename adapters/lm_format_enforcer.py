"""lm-format-enforcer: a parser of characters in pure Python, led along a tree of all tokens.

As shipped it limits white space to 12 in a row and arrays to 20 items, and knows few characters
where a pattern or a length is asked for. Configuration ``spec`` lifts the first two limits and
gives it every character of the vocabulary; all three are settings that the library documents.

Its masks take from milliseconds to seconds, and most of that goes into states that it has been in
before. So the mask of a state of its parser is kept for all texts after which that is the same
(`_fingerprint`). What is allowed is said by the library alone. Times of this engine are those of a
library helped along.

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
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, ClassVar, Self

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

_UNLIMITED = 1 << 30
_BROKEN = "\ufffd"


_SCRIPT = """    import json
    import os

    os.environ["LMFE_MAX_CONSECUTIVE_WHITESPACES"] = "1000000"
    os.environ["LMFE_MAX_JSON_ARRAY_LENGTH"] = "0"  # for any number
    from lmformatenforcer import JsonSchemaParser, TokenEnforcer, TokenEnforcerTokenizerData

    def decode(tokens):
        text = b"".join(VOCABULARY[token] for token in tokens)
        return text.decode("utf-8", "replace").rstrip("\\ufffd")

    texts = [text.decode("utf-8", "replace") for text in VOCABULARY]
    known = [(token, text, False) for token, text in enumerate(texts)]
    data = TokenEnforcerTokenizerData(known, decode, END, False, END + 1)
    enforcer = TokenEnforcer(data, JsonSchemaParser(json.loads(SCHEMA)))
    for count, token in enumerate(TOKENS):
        if token not in enforcer.get_allowed_tokens(TOKENS[:count]).allowed_tokens:
            return count
    return len(TOKENS)
"""


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
        "field_order": Option(False, "required members come in the order of `required`"),
    }
    DISTRIBUTION = "lm-format-enforcer"
    TESTED = "0.11.3"
    SCRIPT = _SCRIPT
    SLOW_MASKS = True

    def __init__(self, vocabulary: Vocabulary, options: Mapping[str, bool | int | str]) -> None:
        import lmformatenforcer

        self.info = EngineInfo.installed(self.DISTRIBUTION, options, "interegular", "pydantic")
        self._library = lmformatenforcer
        self._vocabulary = vocabulary
        self._texts = {
            token: text.decode("utf-8", "replace") for token, text in vocabulary.ordinary.items()
        }
        self._data = lmformatenforcer.TokenEnforcerTokenizerData(
            [(token, text, False) for token, text in self._texts.items()],
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
        spaces = _limit(options, "whitespaces", 12 if shipped else _UNLIMITED)
        self._settings = {
            "alphabet": self._data.tokenizer_alphabet,
            "max_consecutive_whitespaces": spaces,
            "force_json_field_order": options["field_order"],
            "max_json_array_length": _limit(options, "array_items", 20 if shipped else 0),
        }
        alphabet = lmformatenforcer.consts.COMPLETE_ALPHABET
        self._first = {"alphabet": alphabet} if shipped else {}

    def compile(self, schema: str) -> _Matcher:
        """A matcher with its first mask computed; raises `Refused` with the library's exception."""
        from lmformatenforcer.characterlevelparser import CharacterLevelParserConfig

        kept = self._library.JsonSchemaParser._Context.regex_parser_cache  # noqa: SLF001
        kept.clear()
        try:
            parser = self._library.JsonSchemaParser(
                json.loads(schema), CharacterLevelParserConfig(**self._settings | self._first)
            )
            parser.context.regex_parser_cache = dict(kept)
            parser.config = CharacterLevelParserConfig(**self._settings)
            masks = _Masks(self._enforcer, self._vocabulary)
            masks.of(parser)
        except Exception as error:
            raise Refused(_told(error)) from error
        return _Matcher(masks, parser, self._texts)

    def token_bytes(self, ids: Sequence[int]) -> list[bytes | None]:
        """What the library has as the text of each id, in UTF-8.

        None for special ids, and for parts of characters: the library knows texts alone.
        """
        texts = self._data.tokenizer_tree.tokens_to_strs
        return [
            texts[token].encode() if token in texts and _BROKEN not in texts[token] else None
            for token in ids
        ]


class _Matcher(EndingMatcher):
    """The library's parser, which never changes, and the bytes that are no character yet."""

    def __init__(self, masks: _Masks, parser: Any, texts: Mapping[int, str]) -> None:
        self._masks, self._parser, self._texts = masks, parser, texts
        self._rest = b""

    def _write(self, out: Mask) -> None:
        """Raises RuntimeError where the library fails, to allow nothing but the end from there."""
        out[:] = self._masks.of(self._parser)

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
                return token in self._masks.eos_ids and bool(parser.can_end())
            if parser.shortcut_key():
                return allows(self._masks.of(parser), token)
            for character in text:
                if character not in parser.get_allowed_characters():
                    return False
                parser = parser.add_character(character)
        return True

    def _advance(self, token: int) -> None:
        """Lead the parser along the characters of a token, and hold back what is none."""
        text = self._texts[token]
        if self._rest or _BROKEN in text:
            data = self._rest + self._masks.tokens[token]
            text = data.decode("utf-8", "replace").rstrip(_BROKEN)
            self._rest = data[_written(data, text) :]
        with _raised():
            for character in text:
                self._parser = self._parser.add_character(character)


class _Masks:
    """The masks of one schema, each kept for all texts after which the parser stands alike."""

    def __init__(self, enforcer: Any, vocabulary: Vocabulary) -> None:
        self._enforcer = enforcer
        self.tokens, self.eos_ids = vocabulary.tokens, vocabulary.eos_ids
        self._words = vocabulary.words
        self._known: dict[Hashable, Mask] = {}
        # A mask looks no further ahead than the longest token reaches.
        self._horizon = max(map(len, vocabulary.tokens))

    def of(self, parser: Any) -> Mask:
        """The tokens that the library allows; not to be written to."""
        with _raised():
            key = _fingerprint(parser, self._horizon)
            if key not in self._known:
                ids: list[int] = []
                root, shortcut = self._enforcer.tokenizer_tree.root, parser.shortcut_key()
                self._enforcer._collect_allowed_tokens(parser, root, ids, shortcut)  # noqa: SLF001
                ids += self.eos_ids if parser.can_end() else ()
                if not ids:
                    raise ValueError("Parser reached state with no allowed tokens")
                self._known[key] = set_bits(ids, self._words)
            return self._known[key]


_SHARED = {"root", "context", "_config", "current_key", "is_dictionary", "last_parsed_string"}
"""Fields that are the same in all states of a schema, or of which others tell."""


def _fingerprint(value: Any, horizon: int) -> Hashable:
    """What tells two states of the library's parsers apart: the same only if their masks are.

    After `horizon` characters nothing matters. What a field is for is read from
    `jsonschemaparser.py`; tests hold the masks to those of the library alone.
    """
    if isinstance(value, list | tuple):
        return tuple(_fingerprint(one, horizon) for one in value)
    if not hasattr(value, "get_allowed_characters"):  # no parser
        return repr(value)  # which tells 1 from True
    fields = _fields(value, horizon)
    names = (type(value).__name__, *fields)
    return tuple(_fingerprint(one, horizon) for one in (*names, *fields.values()))


def _fields(value: Any, horizon: int) -> dict[str, Any]:
    """The fields of a parser, as far as they matter."""
    kind = type(value).__name__
    fields = {name: one for name, one in vars(value).items() if name not in _SHARED}
    if kind == "RegexParser":
        fields = {"context": id(value.context), "state": value.current_state}
    elif kind == "JsonSchemaParser":
        stack = value.object_stack
        if value.config.max_consecutive_whitespaces == _UNLIMITED:
            del fields["num_consecutive_whitespaces"]
        if any("KEY_VALUE" in str(getattr(one, "current_stage", "")) for one in stack):
            # the text of a key matters until its object has taken it
            texts = [getattr(one, "parsed_string", "") for one in stack]
            fields["names"] = [value.last_parsed_string, *texts]
    elif kind == "StringParsingState" and not value.allowed_strings:
        text = value.parsed_string
        fields["parsed_string"] = bool(text)
        for name in ("min_length", "max_length"):  # which is taken for none where it is 0
            if limit := fields[name]:
                fields[name] = min(horizon, max(limit - len(text), 0)), "left"
    return fields


def _limit(options: Mapping[str, bool | int | str], name: str, usual: int) -> int:
    """A limit that an option sets; `usual` where it sets none."""
    value = str(options[name])
    if value == "auto":
        return usual
    if not value.isdecimal():
        raise UsageError(f"lm-format-enforcer: {name} is auto or a number, not {value!r}")
    return int(value)


def _written(data: bytes, text: str) -> int:
    """How many of the first bytes are a text."""
    return next(at for at in range(len(data) + 1) if data[:at].decode("utf-8", "replace") == text)


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
