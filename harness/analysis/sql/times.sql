WITH costs AS (
    SELECT engine, c.seconds * 1e6 AS compile, f.seconds * 1e6 AS first
    FROM raw_costs c JOIN raw_costs f USING (engine, "case")
    WHERE c.stage = 'compile' AND f.stage = 'first_mask'),
times AS (
    SELECT engine, unnest([0, 1, 2]) AS measure,
        unnest([compile, first, compile + first]) AS t FROM costs
    UNION ALL SELECT engine, 3, (mask_ns + consume_ns) / 1e3 FROM raw_timings
    WHERE position > 0),
scaled AS (
    SELECT e.engine, measure, t,
        power(10, least(3 - floor(log10(greatest(t, 1e-3))), 3)) AS digits
    FROM times JOIN raw_engines e ON e.name = times.engine)
SELECT engine, measure, round(t * digits) / digits AS value, count(*)::BIGINT AS n,
    fsum(t) AS total, max(t) AS longest
FROM scaled GROUP BY ALL ORDER BY ALL
