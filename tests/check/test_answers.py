"""What is said of answers: on a terminal, on a page, as JSON."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from harness.check.answers import Answer, Answers, Covered, Declared, ProvenError
from harness.check.text import CheckOutput, advice_lines, answer_lines, error_parts, write_page
from harness.validators.coverage import BRANCH, SUBSCHEMA, Coverage, Feature
from tests.buglists import REPORTED, bug

COVERAGE = Coverage(
    frozenset((Feature(SUBSCHEMA, ""), Feature(SUBSCHEMA, "/a"), Feature(BRANCH, "/a"))),
    frozenset((Feature(BRANCH, "/a"),)),
)
COVERED = Covered(frozenset((b"1", b"2")), frozenset((b"x",)), 12, COVERAGE)
ALLOWED = ProvenError("false_acceptance", b'{"a": "\x07"}', -1, "json", "plain")
FORBIDDEN = ProvenError("false_rejection", b'{"a": -0}', 6, "minimum", "real", bug=bug())
DECLARED = Declared("order", "In order.", "on purpose: In order. It says so. (https://e.org)")


def answer(engine="a", **others):
    return Answer(
        **{"schema": "s.json", "engine": engine, "version": "1.2", "whole": True, **others}
    )


def errs(engine="a", *errors, **others):
    return answer(engine, status="errs", errors=errors or (ALLOWED, FORBIDDEN), **others)


def clean(engine="b", **others):
    return answer(engine, status="no_error_found", covered=COVERED, **others)


def answers(*all_of_them, schemas=("s.json",)):
    found = Answers(schemas, list(dict.fromkeys(one.engine for one in all_of_them)))
    for one in all_of_them:
        found.add(one)
    return found


def test_no_error_found_never_stands_without_what_was_covered():
    first, *rest = answer_lines(clean())
    assert first == "b 1.2: no error found"
    said = " ".join(" ".join(rest).split())
    assert said.startswith(
        "tried: 3 whole texts (2 valid) and 12 places token by token; covers 0 of 2"
    )
    assert "nothing could be tried" in answer_lines(answer(status="no_error_found"))[1]


def test_errors_are_told_with_text_keyword_severity_and_smallest_case():
    said = "\n".join(answer_lines(errs(covered=COVERED)))
    assert (
        'a 1.2 lets invalid output through: {"a": "\\x07"}\n    `json`; with a plain generated value'
        in said
    )
    assert 'and forbids valid output: {"a": »-«0}' in said
    assert "a value such as -0 is refused under `minimum`; with a value" in said
    assert 'smallest case: »-«0 under {"type":"integer","minimum":0}' in said


def test_a_known_error_has_its_thread():
    known = ProvenError("false_rejection", b"-0", 0, "minimum", "plain", bug=bug(upstream=REPORTED))
    assert any(REPORTED.thread in line for line in answer_lines(errs("a", known)))


def test_more_errors_of_a_sort_are_counted():
    other = ProvenError("false_rejection", b"-1", 0, "maximum", "rare")
    lines = answer_lines(errs("a", FORBIDDEN, other, other))
    assert "    2 more of this kind" in lines
    assert lines[0].startswith("a 1.2 forbids valid output: ")


@pytest.mark.parametrize(
    ("status", "line"),
    [("refuses", "a 1.2 refuses it: No `if`."), ("failed", "a 1.2 gives no answer: No `if`.")],
)
def test_what_is_no_answer_says_why(status, line):
    assert answer_lines(answer(status=status, message="No `if`.")) == [line]


def test_what_is_declared_is_no_error():
    lines = answer_lines(clean(declared=(DECLARED, DECLARED)))
    assert lines[0] == "b 1.2: no error found"
    assert "  declared, so no error: In order." in lines


def test_what_single_bytes_say_is_said_to_be_no_more():
    assert "single bytes" in answer_lines(errs(whole=False))[-1]
    assert "single bytes" not in answer_lines(errs())[-1]


def test_no_line_is_wider_than_a_terminal_and_none_obeys_a_text():
    long = ProvenError("false_rejection", b'"' + b"\x1b[2J" * 60 + b'"', 200, "enum" * 40, "plain")
    lines = answer_lines(errs("a", long, message="why " * 60, declared=(DECLARED,) * 3))
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("at", [0, 40, 119])
def test_of_a_long_text_what_is_refused_stays_in_sight(at):
    text = bytes(97 + n % 26 for n in range(120))
    before, there, behind = error_parts(ProvenError("false_rejection", text, at, "", "rare"), 40)
    assert there == f"»{chr(97 + at % 26)}«"
    assert len(before) <= 40
    assert (before + there[1:-1] + behind).lstrip("…") in text.decode()


def test_a_character_of_several_bytes_is_refused_as_a_whole():
    text = "aäb".encode()
    assert error_parts(ProvenError("false_rejection", text, 1, "", "rare")) == ("a", "»ä«", "b")


def test_advice_names_engines_without_an_error_and_what_was_tried():
    said = advice_lines(answers(errs("a", advice=("a: set x=true: mends its error",)), clean("b")))
    assert said[0] == "  use b: no error was found in it"
    assert "  a: set x=true: mends its error" in said
    assert advice_lines(answers(clean("a"), clean("b"))) == []
    assert not any("no error" in line for line in advice_lines(answers(errs("a"))))


def test_where_none_is_clean_it_is_said_who_lets_nothing_invalid_through():
    said = advice_lines(answers(errs("a", ALLOWED), errs("b", FORBIDDEN)))
    assert said[0].startswith("  b: nothing invalid was let through")
    assert not any(": nothing" in one for one in advice_lines(answers(errs("a"), clean("b"))))


def test_what_can_be_written_otherwise_is_told_apart():
    spelled = replace(FORBIDDEN, is_spelling=True)
    (first, *_) = answer_lines(errs("a", spelled))
    assert first == 'a 1.2 forbids a spelling of valid output: {"a": »-«0}'
    said = advice_lines(answers(errs("a", spelled), errs("b", FORBIDDEN)))
    assert said[0].startswith(
        "  use a: nothing invalid was let through, and what was forbidden can"
    )


def test_two_passes_say_together_what_each_said():
    later = errs("a", FORBIDDEN, covered=Covered(frozenset((b"3",)), positions=5))
    one = errs("a", ALLOWED, covered=COVERED, declared=(DECLARED,)).joined(later)
    assert one.errors == (ALLOWED, FORBIDDEN)
    assert (one.covered.valid, one.covered.positions) == ({b"1", b"2", b"3"}, 17)
    assert one.declared == (DECLARED,)
    assert clean("a").joined(answer("a", status="failed", message="late")).status == "failed"
    assert errs("a", ALLOWED).joined(answer("a", status="failed", message="late")).status == "errs"


def test_as_json():
    (schema,) = answers(errs(covered=COVERED), clean()).row()["schemas"]
    assert schema["schema"] == "s.json"
    row = schema["engines"]["a"]
    assert list(row) == [
        *("version", "answer", "false_acceptances", "false_rejections", "why", "covered"),
    ]
    assert row["false_acceptances"] == [
        {"text": '{"a": "\x07"}', "keyword": "json", "severity": "plain"}
    ]
    assert row["false_rejections"] == [
        {"text": '{"a": -0}', "at": 6, "keyword": "minimum", "severity": "real"}
    ]
    assert schema["engines"]["b"]["answer"] == "no_error_found"
    assert schema["engines"]["b"]["covered"]["subschema"] == {"reached": 0, "of": 2}


def test_answers_about_one_schema_stand_together(capsys):
    found = Answers(("s.json", "t.json"), ("a", "b"))
    output = CheckOutput(found, quiet=False)
    for one in (clean("a", schema="t.json"), clean("b"), clean("b", schema="t.json"), clean("a")):
        found.add(one)
        output.tell(one)
    output.end()
    heads = re.findall(
        r"^(?:\w.*: no error found|\w\.json)$", capsys.readouterr().out, re.MULTILINE
    )
    assert heads == ["s.json", *("b 1.2: no error found", "a 1.2: no error found"),
                     "t.json", *("a 1.2: no error found", "b 1.2: no error found")]  # fmt: skip


def test_interrupted_what_is_known_is_printed_and_what_is_not_is_said(capsys):
    found = Answers(("s.json",), ("a", "b"))
    output = CheckOutput(found, quiet=False)
    so_far = errs(whole=False)
    found.add(so_far)
    output.tell(so_far)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "so far a 1.2 lets invalid output through" in printed.err
    output.end()
    said = capsys.readouterr().out
    assert "a 1.2 lets invalid output through" in said
    assert "b gives no answer: it was interrupted before that" in said


def test_the_page_has_every_error_and_runs_nothing(tmp_path):
    hostile = ProvenError("false_acceptance", b"<script>alert(1)</script>", -1, "<b>", "rare")
    page = tmp_path / "page.html"
    size = write_page(answers(errs("a", hostile, FORBIDDEN, covered=COVERED), clean()), page)
    text = page.read_text()
    assert size == page.stat().st_size
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)" in text
    assert "default-src 'none'" in text
    assert '<mark class="tok">-</mark>' in text
    assert text.count('<section id="a') == 2
    assert text.index("no error found") < text.index("What to do") < text.index("alert(1)")
