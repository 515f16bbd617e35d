,
outcomes AS (SELECT engine, case_row, bool_or(outcome = 'compiled') AS compiled,
    bool_or(outcome = 'refused') AS refused FROM engines WHERE stage = 'compile' GROUP BY ALL),
values AS (SELECT engine, case_row, number, effect::VARCHAR AS effect, shown_by FROM verdicts
    WHERE evidence = 'instance' AND effect NOT IN ('', 'spelling')),
wrong AS (
    SELECT 'refused' AS what, a.engine, f.form, f.rewriting, f.name FROM forms f
    JOIN outcomes a ON a.case_row = f.here AND a.refused
    JOIN outcomes b ON b.case_row = f.there AND b.engine = a.engine AND b.compiled
    UNION ALL
    SELECT w.what, a.engine, f.form, f.rewriting, f.name FROM forms f
    JOIN values a ON a.case_row = f.here AND a.shown_by <> 'rare'
    JOIN (VALUES ('lost_value', 'loses'), ('invalid_value', 'leaks')) w(effect, what)
        ON w.effect = a.effect
        AND NOT (what = 'leaks' AND form = 'original' AND rewriting IN {in_another_order})
    SEMI JOIN tested t ON t.case_row = f.there AND t.engine = a.engine AND t.number = a.number
        AND t.evidence = 'instance'
    ANTI JOIN values b ON b.case_row = f.there AND b.engine = a.engine AND b.number = a.number)
SELECT engine, rewriting, form, what, count(DISTINCT name) AS n, min(name) AS example
FROM wrong GROUP BY ALL ORDER BY example
