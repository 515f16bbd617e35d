"""lm-format-enforcer: a parser of characters in pure Python, led along a tree of all tokens.

As shipped it limits white space to 12 in a row and arrays to 20 items, and knows few characters
where a pattern or a length is asked for. Configuration ``spec`` lifts the first two limits and
gives it every character of the vocabulary; all three are settings that the library documents.

Its masks take from milliseconds to seconds, and most of that goes into states that it has been in
before. So its parser is wrapped (`_State`): two texts after which the library's own state is the
same have one state here, with one mask, and steps that were taken once are looked up. What is
allowed is said by the library alone. Times of this engine are those of a library helped along.

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
import logging
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from adapters._shared import EndingMatcher
from harness.errors import UsageError
from harness.protocol import (
    CONFIG,
    EngineInfo,
    Mask,
    Option,
    Refused,
    allows,
    set_bits,
)

if TYPE_CHECKING:
    from harness.inputs.vocabulary import Vocabulary

_UNLIMITED = 1 << 30
_BROKEN = "\ufffd"
_LOGGED = "Unknown LMFormatEnforcer Problem"
_KEPT = 20_000
"""States of one schema that are known at a time."""


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
            lambda ids: b"".join(map(vocabulary.tokens.__getitem__, ids)).decode(
                "utf-8", "replace"
            ),
            list(vocabulary.eos_ids),
            False,
            vocabulary.size,
        )
        self._free_text = _FreeText(
            self._data.tokenizer_tree.json_freetext_tokens, vocabulary.words
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
            states = _States(self._library, self._data, self._vocabulary, self._free_text)
            start = states.of(parser)
            states.mask(start)
        except Exception as error:
            raise Refused(_told(error)) from error
        return _Matcher(states, start, self._texts)

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
    """A state of the library's parser, and the bytes that are no character yet."""

    def __init__(self, states: _States, state: _State, texts: Mapping[int, str]) -> None:
        self._states = states
        self._state = state
        self._texts = texts
        self._rest = b""

    def _write(self, out: Mask) -> None:
        """Raises RuntimeError where the library fails, to allow nothing but the end from there."""
        out[:] = self._states.mask(self._state)

    def consume(self, token: int) -> bool:
        if self._ended or not self._allows(token):
            return False
        self._ended = token not in self._texts
        if not self._ended:
            self._advance(token)
        return True

    def clone(self) -> Self:
        """States are shared and never change."""
        return copy(self)

    def follow(self, tokens: Sequence[int]) -> int:
        """Goes by characters, not by masks.

        Where the library fails over a token it is not allowed, here; its mask would be raised.
        """
        trial = copy(self)
        for count, token in enumerate(tokens):
            with suppress(RuntimeError):
                if trial.consume(token):
                    continue
            return count
        return len(tokens)

    def _allows(self, token: int) -> bool:
        """Whether the mask has the bit of a token, by as little of the mask as that needs."""
        text = self._texts.get(token)
        state = self._state
        if text is None:
            return token in self._states.eos_ids and state.can_end()
        with _raised():
            if state.mask is None and not state.shortcut_key():
                return state.takes(text)
        return allows(self._states.mask(state), token)

    def _advance(self, token: int) -> None:
        """Lead the parser along the characters of a token, and hold back what is none."""
        text = self._texts[token]
        if self._rest or _BROKEN in text:
            data = self._rest + self._states.tokens[token]
            text = data.decode("utf-8", "replace").rstrip(_BROKEN)
            self._rest = data[_written(data, text) :]
        with _raised():
            for character in text:
                self._state = self._state.add_character(character)


class _State:
    """The library's parser after a text, as the library's `TokenEnforcer` asks it."""

    __slots__ = ("_allowed", "_states", "config", "mask", "next", "parser")

    def __init__(self, parser: Any, states: _States) -> None:
        self.parser, self._states = parser, states
        self.mask: Mask | None = None
        self.next: dict[str, _State] = {}
        self._allowed: frozenset[str] | None = None

    def takes(self, text: str) -> bool:
        """Whether every character is allowed after those before it."""
        state = self
        for character in text:
            if character not in state.get_allowed_characters():
                return False
            state = state.add_character(character)
        return True

    def add_character(self, character: str) -> _State:
        """The state after a character, whether it is allowed or not."""
        if character not in self.next:
            self.next[character] = self._states.of(self.parser.add_character(character))
        return self.next[character]

    def get_allowed_characters(self) -> frozenset[str]:
        """A set, where the library has a text with every character in it."""
        if self._allowed is None:
            self._allowed = _characters(self.parser.get_allowed_characters())
        return self._allowed

    def can_end(self) -> bool:
        """Whether the text may end."""
        return bool(self.parser.can_end())

    def shortcut_key(self) -> Hashable:
        """What the library says: whether the state is inside free text."""
        key: Hashable = self.parser.shortcut_key()
        return key

    def cache_key(self) -> None:
        """None: the masks are kept here."""


_characters = lru_cache(maxsize=256)(frozenset[str])


class _FreeText(dict[tuple[int, int], Any]):
    """The tokens that the library allows inside of free text, by what is left of its length.

    The library keeps a list of most of the vocabulary for each, and copies it into every mask.
    Here it is given one number for the list, and the masks (of so many words) are kept.
    """

    def __init__(self, cache: Any, words: int) -> None:
        super().__init__()
        self._own = copy(cache)
        self._own.allowlist_cache = {}
        self._words = words
        self._masks: list[Mask] = []
        cache.allowlist_cache = self

    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: tuple[int, int]) -> Any:
        found = copy(self._own.lookup_allowed_tokens(*key))
        self._masks.append(set_bits(found.allowed_tokens, self._words))
        found.allowed_tokens = [-len(self._masks)]
        self[key] = found
        return found

    def mask(self, allowed: list[int]) -> Mask:
        """The mask of a list in which the library put such numbers."""
        found = set_bits((token for token in allowed if token >= 0), self._words)
        for number in (token for token in allowed if token < 0):
            found |= self._masks[-number - 1]
        return found


class _States:
    """All states of one schema that are known, and their masks."""

    def __init__(
        self, library: Any, data: Any, vocabulary: Vocabulary, free_text: _FreeText
    ) -> None:
        self._library, self._data, self._free_text = library, data, free_text
        self.tokens, self.eos_ids = vocabulary.tokens, vocabulary.eos_ids
        self._known: dict[Hashable, _State] = {}
        self._masks: dict[Hashable, Mask] = {}
        self._key = _Fingerprints(library)
        # A mask looks no further ahead than the longest token reaches.
        self._ahead = _Fingerprints(library, max(map(len, vocabulary.tokens)))

    def of(self, parser: Any) -> _State:
        """The state of a parser."""
        key = self._key.of(parser)
        if key not in self._known:
            if len(self._known) >= _KEPT:
                for state in self._known.values():
                    state.next.clear()
                self._known.clear()
            self._known[key] = _State(parser, self)
        return self._known[key]

    def mask(self, state: _State) -> Mask:
        """The tokens that the library allows in a state; not to be written to."""
        if state.mask is None:
            key = self._ahead.of(state.parser)
            if key not in self._masks:
                with _raised(), _unlogged():
                    enforcer = self._library.TokenEnforcer(self._data, state)
                    allowed = enforcer.get_allowed_tokens([]).allowed_tokens
                self._masks[key] = self._free_text.mask(allowed)
            state.mask = self._masks[key]
        return state.mask


class _Fingerprints:
    """What tells two states of the library's parsers apart, as far as anything depends on it.

    Without it a mask takes 6 ms in place of 0.2 (747 masks of a list of objects, with the
    vocabulary of Qwen2.5). Of a class that is not known here every object has its own state. Which
    fields matter is read from `jsonschemaparser.py`; after `horizon` characters nothing does. Tests
    hold the masks to those of the library alone.
    """

    def __init__(self, library: Any, horizon: int = _UNLIMITED) -> None:
        from lmformatenforcer import characterlevelparser, jsonschemaparser

        self._naming = jsonschemaparser.ObjectParsingStage.PARSING_KEY_VALUE_SEPARATOR
        self._object = jsonschemaparser.ObjectParsingState
        self._string = jsonschemaparser.StringParsingState
        self._horizon = horizon
        self._schemas: dict[str, list[Any]] = {}
        self._ids: dict[int, Any] = {}
        self._fields: dict[type, Callable[[Any], Hashable]] = {
            library.JsonSchemaParser: self._of_json,
            jsonschemaparser.ObjectParsingState: self._of_object,
            jsonschemaparser.ListParsingState: self._of_list,
            jsonschemaparser.StringParsingState: self._of_string,
            jsonschemaparser.NumberParsingState: self._of_number,
            library.UnionParser: self._of_several,
            library.SequenceParser: self._of_several,
            library.StringParser: lambda parser: parser.target_str,
            library.RegexParser: lambda parser: (id(parser.context), parser.current_state),
            characterlevelparser.ForceStopParser: lambda parser: parser.allow_whitespace,
        }

    def of(self, parser: Any) -> Hashable:
        """The same for two parsers only if they behave alike for ever; both must be kept."""
        fields = self._fields.get(type(parser))
        return (type(parser), id(parser) if fields is None else fields(parser))

    def _of_several(self, parser: Any) -> Hashable:
        return tuple(map(self.of, parser.parsers))

    def _of_json(self, parser: Any) -> Hashable:
        stack, name, below = [], "", None
        for one in parser.object_stack:
            stack.append((self.of(one), one.parsed_string if self._names(below, one) else ""))
            below = one
        if self._names(below):
            name = parser.last_parsed_string
        limited = parser.config.max_consecutive_whitespaces < _UNLIMITED
        return (
            tuple(stack),
            parser.num_consecutive_whitespaces if limited else 0,
            parser.last_non_whitespace_character == "[",
            name,
        )

    def _names(self, below: Any, one: Any = None) -> bool:
        """Whether what stands on an object is a name whose text matters once it is closed."""
        if type(below) is not self._object or below.current_stage != self._naming:
            return False
        matters = not below.is_dictionary or below.schema_object.required
        return bool(matters) and (one is None or type(one) is self._string)

    def _of_object(self, parser: Any) -> Hashable:
        keys = frozenset(parser.existing_keys)
        if parser.is_dictionary:
            keys &= frozenset(parser.schema_object.required)
        parser.schema_object = self._same(parser.schema_object)
        return id(parser.schema_object), parser.current_stage, keys

    def _of_list(self, parser: Any) -> Hashable:
        parser.list_member_type = self._same(parser.list_member_type)
        fewest, most, seen = parser.min_items, parser.max_items, parser.num_items_seen
        if most is None:
            seen = min(seen, (fewest or 0) + 1)
        ends = parser.seen_list_opener, parser.seen_list_closer
        return id(parser.list_member_type), fewest, most, seen, *ends

    def _of_string(self, parser: Any) -> Hashable:
        quotes = parser.require_closing_quote, parser.seen_opening_quote, parser.seen_closing_quote
        if all(quotes):
            return quotes
        text = parser.parsed_string
        limits = parser.min_length, parser.max_length
        # The library takes a limit of 0 for none in some places.
        left = [min(self._horizon, max(one - len(text), 0)) if one else str(one) for one in limits]
        regex = None if parser.regex_parser is None else self.of(parser.regex_parser)
        some = parser.allowed_strings
        if some:
            known = frozenset(map(repr, some))
            return *quotes, parser.require_opening_quote, text, known, regex
        return *quotes, parser.require_opening_quote, bool(text), *left, regex

    @staticmethod
    def _of_number(parser: Any) -> Hashable:
        text = parser.parsed_string
        seen = parser.seen_decimal_point, parser.seen_whitespace_after_digits, parser.seen_exponent
        last = text if len(text) < 3 else (text[-1].isdigit() or text[-1])
        return last, parser.allow_floating_point, *seen, parser.seen_digit

    def _same(self, schema: Any) -> Any:
        """The first of the equal subschemas: the library reads one anew wherever it is referred to.

        Parsers are given it in the place of theirs, so that what they make of it is the same, too.
        """
        if not hasattr(schema, "properties") or self._ids.get(id(schema)) is schema:
            return schema
        alike = self._schemas.setdefault(repr((schema.type, list(schema.properties or ()))), [])
        for one in alike:
            if one == schema:
                return one
        alike.append(schema)
        self._ids[id(schema)] = schema
        return schema


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
    """What an exception of the library says."""
    own = error if error.__cause__ is None else error.__cause__
    return f"{type(own).__name__}: {own}".strip()


@contextmanager
def _raised() -> Iterator[None]:
    """Have exceptions of the library be those of an engine that failed."""
    try:
        yield
    except Exception as error:
        raise RuntimeError(f"lm-format-enforcer: {_told(error)}") from error


@contextmanager
def _unlogged() -> Iterator[None]:
    """Have exceptions raised that the library catches and logs."""
    caught: list[BaseException] = []

    def keep(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or not record.getMessage().startswith(_LOGGED):
            return True
        caught.append(error)
        return False

    logger = logging.getLogger()
    logger.addFilter(keep)
    try:
        yield
    finally:
        logger.removeFilter(keep)
    if caught:
        raise caught[0]
