CREATE OR REPLACE TABLE groups AS SELECT row_number() OVER (ORDER BY {order},
    {by}) - 1 AS "group", evidence, {by}, count(*) AS verdicts,
    count(DISTINCT case_row) AS cases FROM verdicts GROUP BY evidence, {by};
CREATE OR REPLACE TABLE queue AS SELECT evidence, row, "group", row_number() OVER (ORDER BY
    round, list_position({first}, class::VARCHAR), verdicts DESC, "group") AS turn
FROM (SELECT *, row_number() OVER (
        PARTITION BY "group" ORDER BY md5(concat('{seed}/', evidence, row))) AS round
    FROM verdicts JOIN groups USING (evidence, {by})
    SEMI JOIN able USING (evidence, row))
