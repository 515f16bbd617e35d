"""Which formats each validator asserts, so that a format proves something only where it must.

A format that the schema's draft defines is asserted by both validators. One that only a later
draft defines is asserted by exactly one of them: an implementation may ignore it or check it
(Validation draft-07, section 7.1), so that a text which turns on it is contested. A name that no
draft defines is an annotation for both.

Sources: draft-fge-json-schema-validation-00, section 7.3; draft-wright-json-schema-validation-01,
section 8.3; draft-handrews-json-schema-validation-01 and -02 and
draft-bhutton-json-schema-validation-01, section 7.3.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jsonschema

_DRAFT_4 = frozenset({"date-time", "email", "hostname", "ipv4", "ipv6", "uri"})
_DRAFT_6 = _DRAFT_4 | {"uri-reference", "uri-template", "json-pointer"}
_DRAFT_7 = _DRAFT_6 | {
    "date",
    "time",
    "idn-email",
    "idn-hostname",
    "iri",
    "iri-reference",
    "relative-json-pointer",
    "regex",
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

_AHEAD: dict[str, frozenset[str]] = {
    "draft-04": frozenset({"date", "time", "idn-email", "regex"}),
    "draft-06": frozenset({"date", "time", "idn-email", "regex"}),
}
"""Formats that jsonschema-rs asserts under a draft that does not define them."""


def checker(draft: str) -> jsonschema.FormatChecker:
    """What jsonschema asserts under `draft`: all formats but those jsonschema-rs is ahead with."""
    found = jsonschema.FormatChecker(formats=())
    latest = jsonschema.Draft202012Validator.FORMAT_CHECKER.checkers
    for name in sorted(_ALL - _AHEAD.get(draft, frozenset())):
        check, raises = _REPAIRS.get(name, latest[name])
        found.checks(name, raises=raises)(check)
    return found


_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_MAILBOX = re.compile(
    rf"(?P<local>{_ATOM}(?:\.{_ATOM})*|\"(?:[ !#-\[\]-~]|\\[ -~])*\")"
    rf"@(?:{_LABEL}(?:\.{_LABEL})*|(?P<literal>\[[!-Z^-~]+\]))"
)


def _is_email(value: object) -> bool:
    """Whether `value` is a Mailbox of RFC 5321, section 4.1.2; jsonschema looks for an ``@`` only.

    What is within an address literal is left to jsonschema-rs.
    """
    if not isinstance(value, str):
        return True
    match = _MAILBOX.fullmatch(value)
    return match is not None and len(match["local"]) <= 64  # RFC 5321, section 4.5.3.1.1


_REPAIRS: dict[str, tuple[Callable[[object], bool], Any]] = {"email": (_is_email, ())}
"""Stricter checks for formats on which jsonschema is wrong by their specification."""
