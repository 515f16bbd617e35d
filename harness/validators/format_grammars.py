r"""Checks of formats: mail addresses, identifiers of resources, templates, pointers, patterns.

Every check is the grammar of the specification that defines the format, as a regular expression.
Where a specification can be read in two ways, or two validators are wrong together, a check takes
the side that jsonschema-rs does not take, so that such a text stays contested (see
`harness.validators.formats`). Names in capitals are those of the grammars' rules.
"""

from __future__ import annotations

import re
from functools import cache

import idna

from harness.validators import ecma_patterns
from harness.validators.format_checks import is_ipv6

_ATEXT = r"A-Za-z0-9!#$%&'*+/=?^_`{|}~\-"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_SNUM = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]?[0-9])"
_MAIL_IPV6 = re.compile(r"(?i:IPv6):([0-9A-Fa-f:.]+)", re.ASCII)
_LITERAL = re.compile(
    rf"{_SNUM}(?:\.{_SNUM}){{3}}|(?!(?i:IPv6):)[A-Za-z0-9-]*[A-Za-z0-9]:[!-Z^-~]+", re.ASCII
)
_MAX_LOCAL, _MAX_DOMAIN, _MAX_MAILBOX = 64, 255, 254
"""Octets: RFC 5321, sections 4.5.3.1.1 to 4.5.3.1.3 (a path has two brackets more)."""


@cache
def _mailbox(more: str = "") -> re.Pattern[str]:
    atom = f"[{_ATEXT}{more}]+"
    quoted = rf'"(?:[ !#-\[\]-~{more}]|\\[ -~])*"'
    return re.compile(rf"({atom}(?:\.{atom})*|{quoted})@(?:\[([!-Z^-~]+)\]|([^\[].*))", re.DOTALL)


_DOMAIN = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")


def is_mailbox(text: str) -> bool:
    """``Mailbox`` of RFC 5321, section 4.1.2, within the sizes of section 4.5.3.1."""
    found = _mailbox().fullmatch(text)
    if found is None or len(found[1]) > _MAX_LOCAL or len(text) > _MAX_MAILBOX:
        return False
    if found[2] is not None:
        return _is_literal(found[2])
    return _DOMAIN.fullmatch(found[3]) is not None and len(found[3]) <= _MAX_DOMAIN


def _is_literal(text: str) -> bool:
    """What may stand in the brackets of an ``address-literal``, RFC 5321, section 4.1.3."""
    if found := _MAIL_IPV6.fullmatch(text):
        # "::" stands for two groups at least, which RFC 4291 does not ask.
        groups = 8 - (found[1].count(".") == 3)
        written = sum(map(bool, found[1].split(":")))
        return is_ipv6(found[1]) and ("::" not in found[1] or written <= groups - 2)
    return _LITERAL.fullmatch(text) is not None


def is_idn_mailbox(text: str) -> bool:
    """``Mailbox`` as RFC 6531, section 3.3, extends it: UTF-8, and U-labels of RFC 5890."""
    found = _mailbox("\x80-\U0010ffff").fullmatch(text)
    if found is None or len(found[1].encode("utf-8", "replace")) > _MAX_LOCAL:
        return False
    if found[2] is not None:
        return _is_literal(found[2])
    try:
        encoded = idna.encode(found[3], strict=True).decode("ascii")
    except UnicodeError:
        return False
    return _DOMAIN.fullmatch(encoded) is not None


_BLANK = r"(?:[ \t]|\r\n[ \t])"
_PAIR = r"\\[\x00-\x7f]"
_INNER = rf"\((?:[^()\\]|{_PAIR})*+\)"
_CFWS = rf"(?:{_BLANK}|\((?:[^()\\]|{_PAIR}|{_INNER})*+\))*+"
_WORD = rf"{_CFWS}(?:[{_ATEXT}]++|\"(?:[^\"\\\x80-\U0010ffff]|{_PAIR})*+\"){_CFWS}"
_PLAIN_ATOM = rf"{_CFWS}[{_ATEXT}]++{_CFWS}"
_ADDR_SPEC = re.compile(
    rf"{_WORD}(?:\.{_WORD})*+@(?:{_PLAIN_ATOM}(?:\.{_PLAIN_ATOM})*+"
    rf"|{_CFWS}\[(?:[^\[\]\\\x80-\U0010ffff]|{_PAIR})*+\]{_CFWS})"
)


def is_addr_spec(text: str) -> bool:
    """``addr-spec`` of RFC 5322, section 3.4.1: with comments, obsolete forms, any domain.

    Comments may be nested once.
    """
    return _ADDR_SPEC.fullmatch(text) is not None


_PCT = "%[0-9A-Fa-f]{2}"
_DEC = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_H16 = "[0-9A-Fa-f]{1,4}"
_LS32 = rf"(?:{_H16}:{_H16}|{_DEC}(?:\.{_DEC}){{3}})"
_IPV6 = "|".join(
    [f"(?:{_H16}:){{6}}{_LS32}", f"::(?:{_H16}:){{5}}{_LS32}"]
    + [f"(?:(?:{_H16}:){{0,{more}}}{_H16})?::(?:{_H16}:){{{4 - more}}}{_LS32}" for more in range(5)]
    + [f"(?:(?:{_H16}:){{0,5}}{_H16})?::{_H16}", f"(?:(?:{_H16}:){{0,6}}{_H16})?::"]
)
_UCSCHAR = "\xa0-\ud7ff\uf900-\ufdcf\ufdf0-\uffef" + "".join(
    f"{chr(plane << 16)}-{chr((plane << 16) + 0xFFFD)}" for plane in range(1, 14)
) + "\U000e1000-\U000efffd"  # fmt: skip
_IPRIVATE = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
_DIRECTIONS = re.compile("[\u200e\u200f\u202a-\u202e]")


@cache
def _identifier(*, wide: bool = False, reference: bool = False) -> re.Pattern[str]:
    """The pattern of a URI or a reference, or of the IRI; made when asked for: it takes a while."""
    more, private = (_UCSCHAR, _IPRIVATE) if wide else ("", "")
    plain = rf"A-Za-z0-9._~\-{more}"
    subs = "!$&'()*+,;="
    pchar = rf"(?:[{plain}{subs}:@]|{_PCT})"
    zone = rf"(?:%25(?:[{plain}]|{_PCT})+)?"
    host = (
        rf"(?:\[(?:(?:{_IPV6}){zone}|[vV][0-9A-Fa-f]+\.[A-Za-z0-9._~{subs}:-]+)\]"
        rf"|(?:[{plain}{subs}]|{_PCT})*)"
    )
    authority = rf"//(?:(?:[{plain}{subs}:]|{_PCT})*@)?{host}(?::[0-9]*)?(?:/{pchar}*)*"
    absolute = rf"/(?:{pchar}+(?:/{pchar}*)*)?"
    rootless = rf"{pchar}+(?:/{pchar}*)*"
    noscheme = rf"(?:[{plain}{subs}@]|{_PCT})+(?:/{pchar}*)*"
    tail = rf"(?:\?(?:{pchar}|[/?{private}])*)?(?:#(?:{pchar}|[/?])*)?"
    scheme = "[A-Za-z][A-Za-z0-9+.-]*:"
    uri = rf"{scheme}(?:{authority}|{absolute}|{rootless}|){tail}"
    relative = rf"(?:{authority}|{absolute}|{noscheme}|){tail}"
    return re.compile(f"{uri}|{relative}" if reference else uri)


def is_uri(text: str) -> bool:
    """``URI`` of RFC 3986, appendix A, with the zones of RFC 6874."""
    return _identifier().fullmatch(text) is not None


def is_uri_reference(text: str) -> bool:
    """``URI-reference`` of RFC 3986, appendix A, with the zones of RFC 6874."""
    return _identifier(reference=True).fullmatch(text) is not None


def is_iri(text: str) -> bool:
    """``IRI`` of RFC 3987, section 2.2, without the marks of direction (section 4.1)."""
    whole = _identifier(wide=True).fullmatch(text)
    return whole is not None and _DIRECTIONS.search(text) is None


def is_iri_reference(text: str) -> bool:
    """``IRI-reference`` of RFC 3987, section 2.2, without the marks of direction (4.1)."""
    whole = _identifier(wide=True, reference=True).fullmatch(text)
    return whole is not None and _DIRECTIONS.search(text) is None


_VARNAME = rf"(?:[A-Za-z0-9_]|{_PCT})(?:\.?(?:[A-Za-z0-9_]|{_PCT}))*"
_VARSPEC = rf"{_VARNAME}(?::[1-9][0-9]{{0,3}}|\*)?"
_TEMPLATE = re.compile(
    rf"(?:[!#$&(-;=?-\[\]_a-z~{_UCSCHAR}{_IPRIVATE}]|{_PCT}"
    rf"|\{{[+#./;?&=,!@|]?{_VARSPEC}(?:,{_VARSPEC})*\}})*"
)


def is_uri_template(text: str) -> bool:
    """``URI-Template`` of RFC 6570, section 2, without what its errata add to ``literals``."""
    return _TEMPLATE.fullmatch(text) is not None


_POINTER = "(?:/(?:[^~/]|~[01])*)*"
_JSON_POINTER = re.compile(_POINTER)
_RELATIVE = re.compile(rf"(?:0|[1-9][0-9]*)(?:[+-](?:0|[1-9][0-9]*))?(?:#|{_POINTER})")


def is_json_pointer(text: str) -> bool:
    """``json-pointer`` of RFC 6901, section 3."""
    return _JSON_POINTER.fullmatch(text) is not None


def is_relative_json_pointer(text: str) -> bool:
    """That of draft-bhutton-relative-json-pointer-00, section 3, with the steps it has added."""
    return _RELATIVE.fullmatch(text) is not None


def is_regex(text: str) -> bool:
    """A pattern of ECMA-262 with the flag ``u`` or, by Annex B, without it."""
    return ecma_patterns.is_pattern(text, unicode=True) or ecma_patterns.is_pattern(
        text, unicode=False
    )


def is_undoubted_regex(text: str) -> bool:
    r"""Whether `text` is no pattern that only some readings of ECMA-262 take.

    False for what only Annex B takes, and for ``\p``, of which libraries know different names. True
    for what `is_regex` refuses: that is for the other validator's own check to say.
    """
    if ecma_patterns.is_pattern(text, unicode=True):
        return not ecma_patterns.has_properties(text)
    return not ecma_patterns.is_pattern(text, unicode=False)
