-- cases
--   case_row and the stored columns that are asked for, case under the name of name.
-- places
--   spot (a number for it), case_row, walk, number, offset, judged, place.
-- disputes
--   dispute_row, spot, case_row, number, accepters, rejecters, tokens, drawn.
-- engines
--   case_row, engine, and what became of it there.
-- texts
--   evidence, case_row, number, label, verdict, writers: whole texts that were fed.
-- tested
--   engine, evidence, case_row, number, verdict: the texts that an engine was tested with. These are
--   all of the cases that it compiled, unless it failed at that, a verdict says that nothing could
--   be concluded, or the text is fed to its writer alone.
-- verdicts
--   The stored columns of all kinds of evidence, and: evidence, row (in its own table), case_row,
--   family, spot (a number for the position, or the place in a text), number (of the walk or text),
--   before (how many tokens were consumed), class and departure, shown_by (as an enumeration that
--   orders: the worst first, those that show no effect last), by_format (false acceptances that rest
--   on format alone), judged (the engines judged there, as bits: all for texts), dispute_row.
CREATE TABLE cases AS SELECT row::INTEGER AS case_row, "case" AS name, family, status, reason,
    generated, walks, positions, disputed_tokens, schema, "references" FROM raw_cases;
CREATE TABLE places AS SELECT {place} AS spot,
    c.case_row, p.walk, p.position AS number, p.offset, p.judged, p.place
    FROM raw_places p JOIN cases c ON c.name = p.case;
CREATE TABLE disputes AS SELECT d.row::INTEGER AS dispute_row,
    {dispute} AS spot, c.case_row, d.dispute AS number,
    accepters, rejecters, tokens, drawn
    FROM raw_disputes d JOIN cases c ON c.name = d.case;
CREATE TABLE engines AS SELECT c.case_row, e.engine, r.stage, r.outcome, r.message, r.output
    FROM engine_rows r JOIN cases c ON c.name = r.case JOIN raw_engines e ON e.name = r.engine;
CREATE TABLE texts AS SELECT 'instance' AS evidence, c.case_row, t.instance AS number, t.label,
    t.verdict, NULL::UINTEGER AS writers
    FROM raw_instance_texts t JOIN cases c ON c.name = t.case;
INSERT INTO texts SELECT 'sample', c.case_row, t.sample, t.label, t.verdict, t.writers
    FROM raw_sample_texts t JOIN cases c ON c.name = t.case;
