SELECT engine, case_row, list_position($1, effect::VARCHAR) - 1 AS effect,
    least(enum_code(shown_by), 2)::BIGINT AS shown_by,
    bool_and(class <> 'bug') AS declared,
    bit_or(judged)::BIGINT AS judged
FROM verdicts WHERE effect <> '' AND engine >= 0
GROUP BY engine, case_row, effect, shown_by
