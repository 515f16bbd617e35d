WITH rewritten AS (SELECT case_row, name, regexp_extract(name, '.*{mark}(.*)', 1) AS rewriting
    FROM cases WHERE family = '{family}'),
pairs AS (SELECT r.name, r.rewriting, r.case_row AS new, o.case_row AS old FROM rewritten r
    JOIN cases o ON o.name = left(r.name, -length('{mark}' || r.rewriting))),
forms AS (SELECT name, rewriting, new AS here, old AS there, 'rewriting' AS form FROM pairs
    UNION ALL SELECT name, rewriting, old, new, 'original' FROM pairs)
