"""lm-format-enforcer: a parser of characters in pure Python, led along a tree of all tokens.

As shipped it limits white space to 12 in a row and arrays to 20 items, and knows few characters
where a pattern or a length is asked for. Configuration ``spec`` lifts the first two limits and
gives it every character of the vocabulary; all three are settings that the library documents.

Its masks take from milliseconds to seconds, and most of that goes into states that it has been in
before. So the mask of a state of its parser is kept for all texts after which that is the same
(`_Fingerprints`). What is allowed is said by the library alone. Times of this engine are those of a
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
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
    copied,
    set_bits,
)

if TYPE_CHECKING:
    from harness.inputs.vocabulary import Vocabulary

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
            lambda ids: b"".join(map(vocabulary.tokens.__getitem__, ids)).decode(
                "utf-8", "replace"
            ),
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
            masks = _Masks(self._library, self._enforcer, self._vocabulary)
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

    def __init__(self, library: Any, enforcer: Any, vocabulary: Vocabulary) -> None:
        self._enforcer = enforcer
        self.tokens, self.eos_ids = vocabulary.tokens, vocabulary.eos_ids
        self._words = vocabulary.words
        self._known: dict[Hashable, Mask] = {}
        # A mask looks no further ahead than the longest token reaches.
        self._fingerprints = _Fingerprints(library, max(map(len, vocabulary.tokens)))

    def of(self, parser: Any) -> Mask:
        """The tokens that the library allows; not to be written to."""
        with _raised():
            key = self._fingerprints.of(parser)
            if key not in self._known:
                ids: list[int] = []
                root, shortcut = self._enforcer.tokenizer_tree.root, parser.shortcut_key()
                self._enforcer._collect_allowed_tokens(parser, root, ids, shortcut)  # noqa: SLF001
                ids += self.eos_ids if parser.can_end() else ()
                if not ids:
                    raise ValueError("Parser reached state with no allowed tokens")
                self._known[key] = set_bits(ids, self._words)
            return self._known[key]


class _Fingerprints:
    """What tells two states of the library's parsers apart, as far as a mask depends on it.

    Of a class that is not known here every object has its own state. Which fields matter is read
    from `jsonschemaparser.py`; after `horizon` characters nothing does. Tests hold the masks to
    those of the library alone.
    """

    def __init__(self, library: Any, horizon: int) -> None:
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
        """The same for two parsers only if they behave alike as far as the horizon."""
        fields = self._fields.get(type(parser))
        return (type(parser), object() if fields is None else fields(parser))

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
