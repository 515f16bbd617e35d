"""Adapters held to every rule in the test's own process, along texts that a test chooses."""

import random
import re
from collections.abc import Mapping, Sequence

from harness.inputs.vocabulary import Vocabulary
from harness.protocol import Engine, Matcher, Refused, library_of
from harness.protocol_checks.adapters import SUITE
from harness.protocol_checks.rules import RULES
from harness.protocol_checks.smoke import ContractBroken, check_rules
from harness.protocol_checks.trial import Subject, Thoroughness, Tokens, along, places_of, text_of


class NotAllowed(ContractBroken):
    """The engine does not allow a text that it was to be led along."""


def check_adapter(
    engine: Engine,
    vocabulary: Vocabulary,
    texts: Mapping[str, Sequence[str]],
    how: Thoroughness = SUITE,
    *,
    special_is_text: bool = False,
) -> None:
    """Hold an adapter to every rule along texts, by schema; each must be allowed in some tokens.

    Raises `ContractBroken` where it breaks a rule, `NotAllowed` where it does not allow a text.
    """
    for schema, some in texts.items():
        start = engine.compile(schema)
        routes = [route(start, vocabulary, text) for text in some]
        names = [name for name in RULES if not (special_is_text and name == "special")]
        subject = Subject(library_of(start.clone, vocabulary.eos_ids), vocabulary)
        try:
            check_rules(subject, [*places_of(routes, vocabulary, how, schema)], names)
        except ContractBroken as error:
            raise ContractBroken(f"{schema}: {error}") from error


def route(start: Matcher, vocabulary: Vocabulary, text: str) -> Tokens:
    """Tokens that write a text, drawn from those allowed, and an end; raises `NotAllowed`."""
    draws, data = random.Random(text), text.encode()

    def tokens_at(offset: int) -> list[int]:
        some = vocabulary.starts(data, offset)
        return draws.sample(some, len(some))

    way = along(start.clone(), vocabulary, data, tokens_at)
    if way[-1:] != (vocabulary.eos,):
        after = text_of(vocabulary, way)
        raise NotAllowed(f"{text}: nothing that goes on so is allowed after {after!r}")
    return way


def check_refusal(engine: Engine, schema: str, message: str) -> None:
    """The engine declines `schema` with its own message, in which `message` is found."""
    try:
        engine.compile(schema)
    except Refused as refusal:
        if re.search(message, str(refusal)):
            return
        raise ContractBroken(f"refuses {schema} with {str(refusal)!r}") from refusal
    raise ContractBroken(f"compiles {schema}")
