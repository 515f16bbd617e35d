SELECT engine, effect, evidence, row, keyword, enum_code(shown_by) AS rank
FROM verdicts SEMI JOIN able USING (evidence, row)
WHERE engine >= 0 AND effect::VARCHAR IN $1
QUALIFY row_number() OVER (PARTITION BY engine, effect ORDER BY rank, class <> 'bug',
    evidence = 'sample', evidence = 'instance', located DESC, before, row)
    <= {most} ORDER BY row
