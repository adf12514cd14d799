-- SPDX-License-Identifier: Apache-2.0
-- Kernel events of requests by service, for sqlite3:
--   fathom requests DIR --json-lines > requests.jsonl && sqlite3 < events.sqlite.sql
CREATE TABLE request (line TEXT);
.mode ascii
.separator "\t" "\n"
.import requests.jsonl request
.mode column
.headers on
SELECT span.value ->> 'service' AS service, event.key AS event, sum(event.value) AS count
FROM request, json_each(line, '$.spans') AS span,
     json_each(span.value, '$.attributes."events.count"') AS event
WHERE span.value ->> 'kind' = 'server'
GROUP BY service, event
ORDER BY service, event;
