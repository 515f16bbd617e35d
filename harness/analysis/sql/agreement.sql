WITH of_engine AS (
    SELECT dispute_row, engine, {counts} FROM verdicts
    WHERE evidence = 'walk' AND dispute_row IS NOT NULL GROUP BY dispute_row, engine),
proven AS (SELECT dispute_row, {most} FROM of_engine GROUP BY dispute_row)
SELECT accepters, rejecters, sum(tokens)::BIGINT AS tokens,
    sum(drawn)::BIGINT AS resolved, {sums}, count(*) AS disputes,
    count(DISTINCT case_row) AS cases
FROM disputes LEFT JOIN proven USING (dispute_row)
GROUP BY accepters, rejecters
