SELECT list_position($2, evidence::VARCHAR) - 1 AS evidence, row,
    list_position($3, class::VARCHAR) - 1 AS class_, engine::BIGINT AS engine_row,
    case_row::BIGINT AS "case", least(enum_code(shown_by), 2)::TINYINT AS severity,
    (list_position($5, effect::VARCHAR) - 1)::TINYINT AS effect,
    token::BIGINT AS token, kind IN $1 AS rejected, engine + 1 AS engine,
    enum_code(kind) AS kind, enum_code(class) AS class, enum_code(departure) AS departure,
    enum_code(keyword) AS keyword, if(kind IN $1, enum_code(category), 0) AS category,
    if(kind IN $1, enum_code(detail), 0) AS detail,
    enum_code(schema_pointer) AS schema_pointer, spot::BIGINT AS spot,
    enum_code(instance_pointer) AS instance_pointer
FROM verdicts WHERE class IN $3 AND kind IN $4 ORDER BY ALL
