WITH texts AS (
    SELECT case_row, walks, unnest("references") AS text,
        generate_subscripts("references", 1) - 1 AS number,
        octet_length(text) AS size FROM cases),
walked AS (
    SELECT e.engine, p.case_row, p.walk AS number, max(p."offset") AS reached
    FROM places p JOIN texts t ON t.case_row = p.case_row AND t.number = p.walk
    JOIN raw_engines e ON ((p.judged >> e.engine) & 1) = 1 GROUP BY ALL)
SELECT engine, count(*) AS walks, count_if(coalesce(reached, -1) < size) AS broke_off,
    sum(least(greatest(coalesce(reached, -1), 0), size))::BIGINT AS bytes,
    sum(size)::BIGINT AS "of"
FROM (SELECT DISTINCT engine, case_row FROM walked) JOIN texts USING (case_row)
LEFT JOIN walked USING (engine, case_row, number)
WHERE number < walks GROUP BY engine
