SELECT engine, CASE WHEN stage = 'compile' THEN stage WHEN outcome IN $1
        THEN 'adapter_faults' ELSE 'failures' END AS part,
    CASE part WHEN 'failures' THEN concat(stage, '_', outcome) ELSE outcome END AS word,
    count(DISTINCT case_row) AS n FROM engines JOIN cases USING (case_row) WHERE family <> $2
GROUP BY ALL ORDER BY word
