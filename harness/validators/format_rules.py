"""What `format` is to the validators of a run: the two rules, and that of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ASSERTION, ANNOTATION = FORMAT_RULES = ("assertion", "annotation")
"""Both validators assert the formats that they know; or a format forbids no text."""


def format_rule(identity: Mapping[str, Any]) -> str:
    """The rule of the run with this identity; one that does not say asserted formats."""
    rules = identity.get("rules")
    rule = rules.get("formats") if isinstance(rules, dict) else None
    return ANNOTATION if rule == ANNOTATION else ASSERTION
