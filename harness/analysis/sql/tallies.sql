SELECT e.name AS engine, evidence, kind, class, {units}
FROM verdicts JOIN raw_engines e USING (engine)
GROUP BY e.name, evidence, kind, class
ORDER BY evidence = 'sample', evidence = 'instance', tokens DESC, e.name, kind, class
