"""Strings for every production of the formats of JSON Schema 2020-12: valid ones and near misses.

Both validators agree with each of them. Left out is what they judge differently or what can be read
in two ways: ``t`` and ``z`` in lower case, most names with ``xn--``, host names whose last label is
a number, IPv4 octets with leading zeros, zones of IPv6, relative pointers that step to a neighbour,
and patterns that only Annex B of ECMA-262 takes.

Sources: RFC 3339, sections 5.6 to 5.8 and appendices A and D (dates, times, durations, leap
seconds). RFC 5321, section 4.1.2 and 4.1.3, sizes of 4.5.3.1; RFC 6531, section 3.3 (mail). RFC
1123, section 2.1, and 1034, section 3.1; RFC 5890 and 5892, appendix A (host names). RFC 2673,
section 3.2; RFC 4291, section 2.2 (addresses). RFC 3986, sections 1.1.2 and 5.4, and appendix A;
RFC 3987, sections 2.2 and 3.1 (identifiers). RFC 6570, sections 1.2 and 3.2 (templates). RFC 6901,
section 5 (pointers); draft-bhutton-relative-json-pointer-00, section 5.1. ECMA-262, section 22.2.1
(patterns). RFC 9562, sections 4, 5.9 and 5.10 (UUID).
"""

from __future__ import annotations

import functools
import json
from typing import Final, NamedTuple

from harness.directories import data_path

FILE: Final = "formats.json"
"""Among the data: for each format the valid texts, the everyday ones first, then the others."""
_EVERYDAY: Final = 4
"""UUIDs in upper case are among them: SQL Server and Apple's libraries write no others."""


class FormatValues(NamedTuple):
    """Texts of one format, the plainest first, and texts that are slightly wrong."""

    valid: tuple[str, ...] = ()
    invalid: tuple[str, ...] = ()


def format_values(name: str) -> FormatValues:
    """The texts of the format `name`; none of one that 2020-12 does not define."""
    return _known().get("ipv4" if name == "ip-address" else name, FormatValues())


@functools.cache
def unusual_texts() -> frozenset[str]:
    """Texts that are valid under a format and that everyday software hardly writes."""
    valid = [some.valid for some in _known().values()]
    common = {text for some in valid for text in some[:_EVERYDAY]}
    rare = {text for some in valid for text in some[_EVERYDAY:] if text and not text.isalnum()}
    return frozenset(rare - common)


@functools.cache
def _known() -> dict[str, FormatValues]:
    read = json.loads(data_path(FILE).read_text("utf-8"))
    return {name: FormatValues(*map(tuple, some.values())) for name, some in read.items()}
