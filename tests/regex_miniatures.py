"""Tiny engines for regular expressions: an honest one, and some that err in one known way.

`Honest` knows the few texts of a finite pattern by trying all of at most four of its characters
with `re`, and allows a token where one of them begins so.
"""

import itertools
import re
from copy import copy
from typing import ClassVar

import numpy as np

from harness.inputs.cases import Case, Instance
from harness.protocol import EngineInfo, Refused, set_bits

CHARACTERS = "ab1\n\u00e9\u00e8"


def pattern_case(id_, pattern, valid=(), invalid=()):
    texts = (tuple(Instance(one.encode()) for one in some) for some in (valid, invalid))
    return Case(id_, "", pattern, *texts, "")


class Honest:
    OPTIONS: ClassVar = {}
    DISTRIBUTION = "maskcourt"
    REGEX_DIALECT = "ecma"

    def __init__(self, vocabulary, options):
        self.info = EngineInfo("honest", "1", dict(options))
        self.vocabulary = vocabulary

    def compile(self, schema):
        raise Refused("patterns alone")

    def compile_regex(self, pattern):
        try:
            known = re.compile(self.understood(pattern))
        except re.error as error:
            raise Refused(str(error)) from error
        some = ("".join(x) for n in range(5) for x in itertools.product(CHARACTERS, repeat=n))
        return _Matcher(self, frozenset(text.encode() for text in some if known.fullmatch(text)))

    def understood(self, pattern):
        return pattern

    def token_bytes(self, ids):
        special = self.vocabulary.special
        return [None if special[token] else self.vocabulary.tokens[token] for token in ids]

    def allowed(self, texts, data):
        begun = {text[:at] for text in texts for at in range(len(text) + 1)}
        found = {id_ for id_, text in self.vocabulary.ordinary.items() if data + text in begun}
        return found | (set(self.vocabulary.eos_ids) if data in texts else set())


class DotTakesLineFeeds(Honest):
    def understood(self, pattern):
        return f"(?s:{pattern})"


class StopsAtTheFirstMatch(Honest):
    def allowed(self, texts, data):
        found = super().allowed(texts, data)
        return set(self.vocabulary.eos_ids) if data in texts else found


class ForbidsPartsOfCharacters(Honest):
    def allowed(self, texts, data):
        found = super().allowed(texts, data)
        return {id_ for id_ in found if id_ == self.vocabulary.eos or id_ < 128 or id_ > 256}


class ForbidsLongTokens(Honest):
    def allowed(self, texts, data):
        return {id_ for id_ in super().allowed(texts, data) if id_ <= 256}


class EndsEarly(Honest):
    def allowed(self, texts, data):
        return super().allowed(texts, data) | (set(self.vocabulary.eos_ids) if data else set())


class TakesSpecialTokens(Honest):
    def allowed(self, texts, data):
        return super().allowed(texts, data) | {self.vocabulary.size - 1}


class DiesOfDots(Honest):
    def compile_regex(self, pattern):
        if "." in pattern:
            raise RuntimeError("a dot")
        return super().compile_regex(pattern)


class NoPatterns(Honest):
    REGEX_DIALECT = ""


class _Matcher:
    def __init__(self, engine, texts):
        self.engine, self.texts, self.data, self.ended = engine, texts, b"", False

    def _bits(self):
        return set() if self.ended else self.engine.allowed(self.texts, self.data)

    def mask(self, out):
        out[:] = set_bits(self._bits(), len(out)) if self._bits() else np.zeros_like(out)

    def consume(self, token):
        if token not in self._bits():
            return False
        self.ended = token in self.engine.vocabulary.eos_ids
        self.data += b"" if self.ended else self.engine.vocabulary.tokens[token]
        return True

    def clone(self):
        return copy(self)
