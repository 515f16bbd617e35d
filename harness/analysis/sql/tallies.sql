SELECT e.name AS engine, evidence, kind, class,
    count(*) AS tokens, count(DISTINCT spot) AS positions, count(DISTINCT case_row) AS cases
FROM verdicts JOIN raw_engines e USING (engine)
GROUP BY e.name, evidence, kind, class
ORDER BY evidence = 'sample', evidence = 'instance', tokens DESC, e.name, kind, class
