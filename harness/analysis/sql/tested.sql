CREATE VIEW tested AS SELECT e.engine, t.evidence, t.case_row, t.number, t.verdict
FROM texts t JOIN (
    SELECT case_row, engine, bool_or(stage = '{generated}') AS failed_at_generated,
        bool_or(stage = '{instances}') AS failed_at_instance,
        bool_or(stage = '{samples}') AS failed_at_sample
    FROM engines GROUP BY ALL
    HAVING bool_or(stage = 'compile' AND outcome = 'compiled')
        AND NOT bool_or(outcome IN ({excluding}))
) e USING (case_row)
ANTI JOIN (FROM verdicts WHERE kind = 'unresolved') v ON v.evidence = t.evidence
    AND v.case_row = t.case_row AND v.number = t.number AND v.engine = e.engine
WHERE NOT CASE t.evidence WHEN 'instance' THEN failed_at_instance ELSE failed_at_sample END
    AND NOT (t.label = '{generated}' AND e.failed_at_generated)
    AND (t.writers IS NULL OR t.label <> 'own' OR ((t.writers >> e.engine) & 1) = 1)
