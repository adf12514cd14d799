-- SPDX-License-Identifier: Apache-2.0
-- Kernel events of requests by service, for DuckDB:
--   fathom requests DIR --json-lines > requests.jsonl && duckdb < events.duckdb.sql
WITH span AS (
    SELECT unnest(CAST(json -> '$.spans' AS JSON[])) AS span FROM read_json_objects('requests.jsonl')
), event AS (
    SELECT span ->> '$.service' AS service,
           unnest(map_entries(CAST(span -> '$.attributes."events.count"' AS MAP(VARCHAR, BIGINT)))) AS event
    FROM span WHERE span ->> '$.kind' = 'server'
)
SELECT service, event.key AS event, sum(event.value) AS count
FROM event GROUP BY ALL ORDER BY ALL;
