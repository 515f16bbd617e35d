SELECT engine, evidence, kind, count(*) AS tokens, count(DISTINCT spot) AS positions,
    count(DISTINCT case_row) AS cases,
    count_if(located) AS located, count_if(by_format) AS by_format, {classes}
FROM verdicts WHERE kind IN $1 AND engine >= 0 GROUP BY engine, evidence, kind
