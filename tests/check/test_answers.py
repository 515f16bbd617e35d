"""What is said of answers: on a terminal, on a page, as JSON."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from harness.check.answers import Answer, Answers, Covered, Declared, ProvenError
from harness.check.text import (
    CheckOutput,
    advice_lines,
    answer_lines,
    error_parts,
    junit,
    overview,
    sentence,
    write_page,
)
from tests.buglists import REPORTED, bug

COVERED = Covered(frozenset((b"1", b"2")), frozenset((b"x",)), 12)
ALLOWED = ProvenError("invalid_value", "false_acceptance", b'{"a": "x"}', -1, "type", "rare")
DECLARES = ProvenError("lost_value", "false_rejection", b"[]", 0, "items", "plain", "departure")
FORBIDDEN = ProvenError(
    "lost_value", "false_rejection", b'{"a": -0}', 6, "minimum", "real", bug=bug()
)
SPELLED = replace(FORBIDDEN, effect="spelling", bug=None)
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


RARE = ProvenError("lost_value", "false_rejection", b'"\\u0007"', 1, "type", "rare")
PLAIN = replace(RARE, text=b'"a"', severity="plain")


@pytest.mark.parametrize(
    ("known", "found", "errors"),
    [(RARE, PLAIN, (PLAIN, RARE)), (PLAIN, RARE, (PLAIN,)), (RARE, RARE, (RARE,))],
)
def test_an_error_by_an_unusual_value_hides_none_by_an_everyday_one(known, found, errors):
    whole = errs("a", known).with_walks(errs("a", found))
    assert whole.errors == errors
    assert whole.costs("lost_value") is (PLAIN in errors)


def test_no_error_found_never_stands_without_what_was_covered():
    first, *rest = answer_lines(clean())
    assert first == "b 1.2: no error found"
    assert rest == ["  tried: 3 whole texts (2 valid) and 12 places token by token"]
    assert "nothing could be tried" in answer_lines(answer(status="no_error_found"))[1]


def test_errors_are_told_by_what_they_cost_with_text_severity_and_smallest_case():
    told = "\n".join(answer_lines(errs(covered=COVERED)))
    assert told.startswith('a 1.2 cannot write a valid value: {"a": »-«0}\n')
    assert "a value such as -0 is refused under `minimum`; with a value of the data" in told
    assert 'smallest case: »-«0 under {"type":"integer","minimum":0}' in told
    assert '  and lets an invalid value through: {"a": "x"}\n    `type`; with unusual v' in told


def test_effects_come_in_the_order_of_what_they_cost_and_spellings_in_one_line():
    effects = ("spelling", "unclear", "", "not_json", "format_only", "trap", "invalid_value")
    mixed = [replace(SPELLED, effect=one) for one in (*effects, "lost_value", "spelling")]
    lines = answer_lines(errs("a", *mixed))
    told = [line for line in lines if not line.startswith("    ")]
    assert told[0].startswith("a 1.2 cannot write a valid value: ")
    assert [line.split(":")[0].removeprefix("  and ") for line in told[1:]] == [
        "lets an invalid value through",
        *("cannot finish a valid value after what it allowed first",),
        "lets a value through that nothing but `format` forbids",
        *("lets a text through that is no JSON", "contradicts itself"),
        "  refuses a valid text whose value it may be able to write; maskcourt spellings",
        "  nothing could be tried",
    ]


def test_a_known_error_has_its_thread_and_more_errors_of_a_sort_are_counted():
    known = replace(FORBIDDEN, bug=bug(upstream=REPORTED))
    assert any(REPORTED.thread in line for line in answer_lines(errs("a", known)))
    other = ProvenError("lost_value", "false_rejection", b"-1", 0, "maximum", "rare")
    lines = answer_lines(errs("a", FORBIDDEN, other, other))
    assert "    2 more of this kind" in lines
    assert lines[0].startswith("a 1.2 cannot write a valid value: ")


@pytest.mark.parametrize(
    ("status", "line"),
    [("refuses", "a 1.2 refuses it: No `if`."), ("failed", "a 1.2 gives no answer: No `if`.")],
)
def test_what_is_no_answer_says_why(status, line):
    assert answer_lines(answer(status=status, message="No `if`.")) == [line]


def test_what_is_declared_is_said_and_what_it_costs_leads_all_the_same():
    lines = answer_lines(clean(declared=(DECLARED, DECLARED)))
    assert lines[0] == "b 1.2: no error found"
    assert "  declared: In order." in lines
    told = answer_lines(errs("a", DECLARES))
    assert told[0].startswith("a 1.2 cannot write a valid value: ")
    assert told[1] == "    declared; `items`; with an everyday value"


def test_what_there_was_no_time_for_is_said_and_the_backend_that_took_the_schema():
    assert "  2 not shrunk for want of time (--shrink-budget)" in answer_lines(errs(skipped=2))
    assert answer_lines(clean("vllm@0.33", backend="guidance"))[0].startswith(
        "vllm@0.33 1.2 (guidance): "
    )


def test_what_single_bytes_say_is_said_to_be_no_more():
    assert "single bytes" in answer_lines(errs(whole=False))[-1]
    assert "single bytes" not in answer_lines(errs())[-1]
    assert "single bytes" in answer_lines(clean(on_bytes=True))[-1]


def test_no_line_is_wider_than_a_terminal_and_none_obeys_a_text():
    long = ProvenError(
        "lost_value", "false_rejection", b'"' + b"\x1b[2J" * 60 + b'"', 200, "enum" * 40, "plain"
    )
    lines = answer_lines(errs("a", long, message="why " * 60, declared=(DECLARED,) * 3))
    assert max(map(len, lines)) <= 80
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("at", [0, 40, 119])
def test_of_a_long_text_what_is_refused_stays_in_sight(at):
    text = bytes(97 + n % 26 for n in range(120))
    error = ProvenError("lost_value", "false_rejection", text, at, "", "rare")
    before, there, behind = error_parts(error, 40)
    assert there == f"»{chr(97 + at % 26)}«"
    assert len(before) <= 40
    assert (before + there[1:-1] + behind).lstrip("…") in text.decode()


def test_a_character_of_several_bytes_is_refused_as_a_whole():
    text = "aäb".encode()
    error = ProvenError("lost_value", "false_rejection", text, 1, "", "rare")
    assert error_parts(error) == ("a", "»ä«", "b")


def test_engines_are_ranked_with_the_reason_and_what_was_tried_follows():
    rare, plain = (
        errs("r", ALLOWED),
        errs("p", replace(ALLOWED, severity="plain"), advice=("p: set x",)),
    )
    refuses = answer("n", status="refuses", message="no")
    ranked = answers(refuses, plain, rare, errs("j", replace(ALLOWED, effect="not_json")))
    assert [one.engine for one in ranked.ranked("s.json")] == ["j", "r", "p", "n"]
    said = " ".join(" ".join(advice_lines(ranked)).split())
    assert said.startswith(
        "the best first: j (no value lost or let through, but lets a text through that is no JSON),"
        " r (lets an invalid value through, with unusual values alone), p (lets an invalid value through),"
        " n (refuses it) p: set x"
    )
    assert advice_lines(answers(clean("a"), clean("b"))) == []
    assert not any("best" in line for line in advice_lines(answers(errs("a"))))


def test_an_engine_that_refuses_no_more_than_spellings_has_no_error():
    spells = clean("a", errors=(SPELLED,))
    first, second, *_ = answer_lines(spells)
    assert first == "a 1.2: no value lost or let through"
    assert second.startswith("  refuses a spelling of a valid value; maskcourt spellings says")
    assert advice_lines(answers(spells, errs("b")))[0].startswith("  the best first: a (no value")


def test_as_junit_a_test_is_an_engine_with_a_schema():
    wrong = errs("a")
    text = junit(answers(wrong, clean("b"), answer("c", status="refuses")), [(wrong, "loss")])
    suites = ET.fromstring(text.encode())
    assert [(one.get("name"), one.get("failures"), one.get("skipped")) for one in suites] == [
        *(("a", "1", "0"), ("b", "0", "0"), ("c", "0", "1"))
    ]
    failure = suites[0][0][0]
    assert (failure.get("type"), suites[0][0].get("name")) == ("loss", "s.json")
    assert "cannot write a valid value" in failure.get("message")


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
        *("version", "backend", "answer", "refuses", "loses", "leaks", "traps"),
        *("false_acceptances", "false_rejections", "other_errors"),
        *("why", "advice", "skipped", "covered"),
    ]
    assert (row["loses"], row["leaks"], row["traps"]) == (True, False, False)  # a rare one leaks
    (leak,), (loss,) = row["false_acceptances"], row["false_rejections"]
    about = {"effect": "invalid_value", "kind": "false_acceptance", "text": '{"a": "x"}'}
    assert leak == {**about, "keyword": "type", "severity": "rare", "class": "bug"}
    assert (loss["effect"], loss["severity"], loss["at"]) == ("lost_value", "real", 6)
    assert loss["smallest"] == {"schema": '{"type":"integer","minimum":0}', "text": "-0"}
    assert schema["engines"]["b"]["answer"] == "no_error_found"
    covered = {"valid_texts": 2, "invalid_texts": 1, "positions": 12}
    assert schema["engines"]["b"]["covered"] == covered


def test_with_the_outputs_of_tools_it_is_schemas_that_are_counted():
    found = Answers(("time/now.output",), ("a",), {"time/now.output": "now.output"})
    found.add(clean("a", schema="time/now.output"))
    assert sentence("a", found).startswith("a 1.2 takes 1 of 1 schemas and ")


def test_a_table_with_brackets_says_what_they_are():
    """The others are not in it; where there is none the sentences have said what there is."""
    found = Answers(("s", "t (1)", "u"), ("a", "b"))
    for one in (
        *(errs("a", replace(FORBIDDEN, bug=None), schema="s"), errs("b", ALLOWED, schema="s")),
        *(clean("a", schema="t (1)"), clean("b", schema="t (1)")),
        *(errs("a", ALLOWED, schema="u"), clean("b", schema="u")),
    ):
        found.add(one)
    table, others = overview(found)
    assert table.note == "in brackets: with unusual values alone"
    assert others == "2 others: no value lost or let through, but for unusual ones in 1"
    assert [*table.rows] == [{"schema": "s", "a": "loses", "b": "(leaks)"}]


def test_of_many_tools_a_sentence_for_each_engine_leads(capsys):
    """Then a table of the tools with a finding, then each finding with all tools that show it."""
    names = [f"time/{one}" for one in ("now", "zone", "convert")]
    found = Answers(names, ("a", "b"), {one: one.partition("/")[2] for one in names})
    known = errs("a", FORBIDDEN, schema=names[0], advice=("a: set x",))
    told = [
        *(known, errs("a", replace(FORBIDDEN, bug=None), schema=names[1])),
        *(clean("a", schema=names[2]), clean("b", schema=names[0])),
        *(answer("b", schema=names[1], status="refuses", message="No."),),
        *(errs("b", ALLOWED, schema=names[2]),),
    ]
    output = CheckOutput(found, quiet=False)
    for one in told:
        found.add(one)
        output.tell(one)
    assert capsys.readouterr().out == ""
    output.end()
    said = capsys.readouterr().out
    assert said.startswith(
        "a 1.2 takes all 3 tools and cannot write a valid value of 2: now, zone\n"
        "b 1.2 takes 2 of 3 tools and refuses 1: zone; no everyday value was found lost\n"
        "    or let through; with unusual values alone it leaks 1\n"
    )
    rows = [line.split() for line in said.splitlines() if line.lstrip().startswith("time/")]
    assert rows == [
        *(["time/now", "loses", "-"], ["time/zone", "loses", "refuses"]),
    ]
    assert "1 other: no value lost or let through, but for unusual ones in 1" in said
    assert "in brackets" not in said
    assert "b 1.2 refuses it: No. (zone)" in said
    loss, leak = said.index("a 1.2 cannot write a valid value (now, zone)"), said.index("(convert)")
    assert 'such as (under the first) {"a": ' in said[loss:leak]
    assert "under the first" not in said[leak:]
    assert loss < said.index("smallest case") < leak < said.index("a: set x (with time/now)")
    assert found.row()["schemas"][0]["tool"] == "now"


def test_so_far_the_first_of_each_engine_is_told_and_what_costs_values(capsys):
    found = Answers(("s", "t", "u"), ("a",))
    output = CheckOutput(found, quiet=True)
    for one in (clean("a", schema="s"), clean("a", schema="t"), errs("a", FORBIDDEN, schema="u")):
        output.tell(replace(one, whole=False))
    first, second = capsys.readouterr().err.splitlines()
    assert "so far s: a 1.2: no error found" in first
    assert "so far u: a 1.2 cannot write a valid value" in second


def test_interrupted_what_is_known_is_printed_and_what_is_not_is_said(capsys):
    found = Answers(("s.json",), ("a", "b"))
    output = CheckOutput(found, quiet=False)
    so_far = errs(whole=False)
    found.add(so_far)
    output.tell(so_far)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "so far a 1.2 cannot write a valid value" in printed.err
    output.end()
    said = capsys.readouterr().out
    assert "a 1.2 cannot write a valid value" in said
    assert "b gives no answer: it was interrupted before that" in said


def test_the_page_has_every_error_and_runs_nothing(tmp_path):
    hostile = ProvenError(
        "invalid_value", "false_acceptance", b"<script>alert(1)</script>", -1, "<b>", "rare"
    )
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
