"""Which formats each validator asserts and by which check, so that none proves by a weak one.

A format that the schema's draft defines is asserted by both validators. One that only a later
draft defines is asserted by exactly one of them: an implementation may ignore it or check it
(Validation draft-07, section 7.1), so that a text which turns on it is contested. A name that no
draft defines is an annotation for both.

jsonschema is given a check of our own for every format (`harness.validators.format_checks`), since
its own are weak, depend on extras, or differ from the specification. jsonschema-rs keeps its own,
so that there are two; where one of those is wrong by the specification, or takes what can be read
in two ways, `_NARROWER` asks more of a text. What then still differs is contested.

Sources: draft-fge-json-schema-validation-00, section 7.3; draft-wright-json-schema-validation-01,
section 8.3; draft-handrews-json-schema-validation-01 and -02 and
draft-bhutton-json-schema-validation-01, section 7.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jsonschema
import jsonschema_rs

from harness.validators import format_checks
from harness.validators.format_checks import FormatCheck

_DRAFT_4 = frozenset({"date-time", "email", "hostname", "ipv4", "ipv6", "uri"})
_DRAFT_6 = _DRAFT_4 | {"uri-reference", "uri-template", "json-pointer"}
_DRAFT_7 = _DRAFT_6 | {
    *("date", "time", "idn-email", "idn-hostname", "iri", "iri-reference"),
    *("relative-json-pointer", "regex"),
}
_ALL = _DRAFT_7 | {"duration", "uuid"}

DEFINED: dict[str, frozenset[str]] = {
    "draft-04": _DRAFT_4,
    "draft-06": _DRAFT_6,
    "draft-07": _DRAFT_7,
    "2019-09": _ALL,
    "2020-12": _ALL,
}
"""The formats that each draft defines."""

_AHEAD = dict.fromkeys(("draft-04", "draft-06"), frozenset({"date", "time", "idn-email", "regex"}))
"""Formats that jsonschema-rs asserts under a draft that does not define them."""

EMAIL_OPTIONS = jsonschema_rs.EmailOptions(allow_display_text=False)
"""A name before a mailbox in ``<>`` belongs to neither RFC 5321 nor an ``addr-spec``."""

_BEFORE_2020: dict[str, FormatCheck] = {"email": format_checks.is_addr_spec}
"""These drafts cite RFC 5322, section 3.4.1, of which RFC 5321 allows a part."""
_BEFORE_2019: dict[str, FormatCheck] = _BEFORE_2020 | {
    # RFC 1034, section 3.1, which these drafts cite, knows names with a dot at the end.
    "hostname": partial(format_checks.is_hostname, rooted=True)
}
_OLDER = dict.fromkeys(("draft-04", "draft-06", "draft-07"), _BEFORE_2019) | {
    "2019-09": _BEFORE_2020
}
"""Checks of drafts that define a format by another specification than the latest."""

_DIGITS_FIRST = re.compile(r"[0-9]{4}-")
_PRINTABLE = re.compile(r"[ -~]*")

_NARROWER: dict[str, FormatCheck] = {
    # A year has four digits, and no sign (RFC 3339, section 5.6).
    "date": lambda text: _DIGITS_FIRST.match(text) is not None,
    # No control characters are in a Quoted-string (RFC 5321, section 4.1.2).
    "email": lambda text: _PRINTABLE.fullmatch(text) is not None,
    # RFC 1123 does not look into a label, RFC 5890 calls some with "xn--" fake.
    "hostname": format_checks.has_true_a_labels,
    # Without the flag "u", Annex B reads more than Core 2020-12, section 6.4, asks for.
    "regex": format_checks.is_undoubted_regex,
}


@cache
def checker(draft: str) -> jsonschema.FormatChecker:
    """What jsonschema asserts under `draft`: all formats but those jsonschema-rs is ahead with."""
    found = jsonschema.FormatChecker(formats=())
    for name in sorted(_ALL - _AHEAD.get(draft, frozenset())):
        plain: FormatCheck = getattr(format_checks, "is_" + name.replace("-", "_"))
        found.checks(name)(_of_texts(_OLDER.get(draft, {}).get(name, plain)))
    return found


@cache
def narrowed(draft: str, rust: Any) -> dict[str, FormatCheck]:
    """The checks that jsonschema-rs is given under `draft` in the place of its own.

    Each asks for what its own asks for and for more; `rust` is the draft's class in jsonschema-rs.
    """
    asserted = DEFINED[draft] | _AHEAD.get(draft, frozenset())
    return {
        name: _both(
            narrower,
            rust({"format": name}, validate_formats=True, email_options=EMAIL_OPTIONS).is_valid,
        )
        for name, narrower in _NARROWER.items()
        if name in asserted
    }


def _both(narrower: FormatCheck, own: FormatCheck) -> FormatCheck:
    return lambda text: narrower(text) and own(text)


def _of_texts(check: FormatCheck) -> Callable[[object], bool]:
    """`check` for any value: a format says nothing of what is no text."""
    return lambda value: not isinstance(value, str) or check(value)
