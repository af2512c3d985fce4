"""The tables and the statements.

Each change is one statement: it locks the row of the state, decides by that row alone, changes it,
and returns what it decided by. A refusal therefore always reports its actual reason. Serial and
lineage of the newest version are in the row of the state, because a statement sees the rows of
other tables as of its start, and a waiting statement may wake up later than that.
"""

from __future__ import annotations

from talops.statestore.rules import REMEMBERED_RELEASES

SCHEMA = """
CREATE TABLE IF NOT EXISTS talops_state (
  name text PRIMARY KEY, lock_id text, lock_info bytea, released text[] NOT NULL DEFAULT '{}',
  number bigint NOT NULL DEFAULT 0,
  current bigint, serial bigint, lineage text, md5 text, version_lock text
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS talops_version (
  state text NOT NULL, number bigint NOT NULL, serial bigint NOT NULL, lineage text NOT NULL,
  size bigint NOT NULL, md5 text NOT NULL, who text NOT NULL, origin text NOT NULL,
  at double precision NOT NULL, lock_id text NOT NULL, note text NOT NULL,
  sealed_key text NOT NULL, blob text NOT NULL, body bytea,
  PRIMARY KEY (state, number)
);
ALTER TABLE talops_version ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX IF NOT EXISTS talops_version_blob ON talops_version (blob) WHERE blob <> '';
CREATE TABLE IF NOT EXISTS talops_blob (
  blob text PRIMARY KEY, parts integer NOT NULL, created double precision NOT NULL
);
CREATE TABLE IF NOT EXISTS talops_part (
  blob text NOT NULL, n integer NOT NULL, data bytea NOT NULL, PRIMARY KEY (blob, n)
);
ALTER TABLE talops_part ALTER COLUMN data SET STORAGE PLAIN;
CREATE TABLE IF NOT EXISTS talops_audit (
  id bigserial PRIMARY KEY, at double precision NOT NULL, who text NOT NULL, origin text NOT NULL,
  action text NOT NULL, state text NOT NULL, detail text NOT NULL
);
"""
# Two replicas may start at the same time.
SCHEMA_LOCK = "SELECT pg_advisory_xact_lock(7411873152)"
# A part fills one page of the database, so that TOAST does not split it again; 131 parts contain
# one frame, encrypted or not, and no page is nearly empty.
PART = 8005

VERSION_COLUMNS = (
    "number, serial, lineage, size, md5, who, origin, at, lock_id, note, sealed_key, blob"
)
_QUALIFIED = ", ".join(f"v.{column}" for column in VERSION_COLUMNS.split(", "))

ENSURE = "INSERT INTO talops_state (name) VALUES ($1) ON CONFLICT DO NOTHING"

LOCK = """
WITH s AS MATERIALIZED (
  SELECT lock_id, lock_info, $2 = ANY (released) AS spent, current, serial, lineage, md5
  FROM talops_state WHERE name = $1 FOR UPDATE
), u AS (
  UPDATE talops_state t SET lock_id = $2, lock_info = $3
  FROM s WHERE t.name = $1 AND s.lock_id IS NULL AND NOT s.spent
)
SELECT lock_id, lock_info, CASE
  WHEN lock_id = $2 THEN 'same' WHEN lock_id IS NOT NULL THEN 'held' WHEN spent THEN 'spent'
  ELSE 'done' END AS verdict, current, serial, lineage, md5
FROM s
"""

UNLOCK = f"""
WITH s AS MATERIALIZED (
  SELECT lock_id, lock_info, current, serial, lineage, md5, CASE
    WHEN lock_id IS NULL OR $2::text = ANY (released) THEN 'same'
    WHEN $2 IS NULL OR lock_id = $2 THEN 'done' ELSE 'held' END AS verdict
  FROM talops_state WHERE name = $1 FOR UPDATE
), u AS (
  UPDATE talops_state t SET lock_id = NULL, lock_info = NULL, released =
    (t.released || s.lock_id)[greatest(1, cardinality(t.released) - {REMEMBERED_RELEASES - 2}):]
  FROM s WHERE t.name = $1 AND s.verdict = 'done'
), a AS (
  INSERT INTO talops_audit (at, who, origin, action, state, detail)
  SELECT $3, $4, $5, $6, $1, 'lock ' || s.lock_id FROM s
  WHERE s.verdict = 'done' AND $6::text IS NOT NULL
)
SELECT lock_id, lock_info, verdict, current, serial, lineage, md5 FROM s
"""  # noqa: S608  (a constant)

_JUDGED = """
s AS MATERIALIZED (
  SELECT number, lock_id, lock_info, current, serial, lineage, md5, version_lock
  FROM talops_state WHERE name = $1 FOR UPDATE
), j AS MATERIALIZED (
  SELECT s.*, CASE
    WHEN s.current IS NOT NULL AND s.md5 = n.md5 AND s.version_lock = n.lock_id THEN 'same'
    WHEN s.lock_id IS NOT NULL AND s.lock_id <> n.lock_id THEN 'held'
    WHEN s.lock_id IS NULL AND n.lock_id <> '' THEN 'lost'
    WHEN s.current IS NOT NULL AND NOT n.force AND s.lineage <> n.lineage THEN 'foreign'
    WHEN s.current IS NOT NULL AND NOT n.force AND s.serial > n.serial THEN 'older'
    ELSE 'done' END AS verdict,
    n.serial AS new_serial, n.lineage AS new_lineage, n.md5 AS new_md5
  FROM s CROSS JOIN n
), i AS (
  INSERT INTO talops_version
  SELECT $1, j.number + 1, n.serial, n.lineage, n.size, n.md5, n.who, n.origin, n.at, n.lock_id,
    n.note, n.sealed_key, n.blob, n.body
  FROM j CROSS JOIN n WHERE j.verdict = 'done'
), u AS (
  UPDATE talops_state t SET number = j.number + 1, current = j.number + 1,
    serial = n.serial, lineage = n.lineage, md5 = n.md5, version_lock = n.lock_id
  FROM j CROSS JOIN n WHERE t.name = $1 AND j.verdict = 'done'
), a AS (
  INSERT INTO talops_audit (at, who, origin, action, state, detail)
  SELECT n.at, n.who, n.origin, n.action, $1, 'version ' || j.number + 1 || ', serial ' || n.serial
  FROM j CROSS JOIN n WHERE j.verdict = 'done' AND n.force
)
SELECT lock_id, lock_info, verdict,
  CASE verdict WHEN 'done' THEN number + 1 ELSE current END AS current,
  CASE verdict WHEN 'done' THEN new_serial ELSE serial END AS serial,
  CASE verdict WHEN 'done' THEN new_lineage ELSE lineage END AS lineage,
  CASE verdict WHEN 'done' THEN new_md5 ELSE md5 END AS md5
FROM j
"""

WRITE = f"""
WITH n AS MATERIALIZED (
  SELECT $2::bigint AS serial, $3::text AS lineage, $4::bigint AS size, $5::text AS md5,
    $6::text AS who, $7::text AS origin, $8::float8 AS at, $9::text AS lock_id, $10::text AS note,
    $11::text AS sealed_key, $12::text AS blob, $13::bytea AS body, $14::boolean AS force,
    'forced-write' AS action
), {_JUDGED}
"""

ROLLBACK = f"""
WITH n AS MATERIALIZED (
  SELECT v.serial, v.lineage, v.size, v.md5, $3::text AS who, $4::text AS origin,
    $5::float8 AS at, $6::text AS lock_id, $7::text AS note, v.sealed_key, v.blob, v.body,
    true AS force, 'rollback' AS action
  FROM talops_version v WHERE v.state = $1 AND v.number = $2
), {_JUDGED}
"""  # noqa: S608  (constants only)

DELETE = """
WITH s AS MATERIALIZED (
  SELECT lock_id, lock_info, current, serial, lineage, md5, CASE
    WHEN lock_id IS NOT NULL THEN 'held' WHEN current IS NULL THEN 'same' ELSE 'done'
    END AS verdict
  FROM talops_state WHERE name = $1 FOR UPDATE
), u AS (
  UPDATE talops_state t SET current = NULL FROM s WHERE t.name = $1 AND s.verdict = 'done'
), a AS (
  INSERT INTO talops_audit (at, who, origin, action, state, detail)
  SELECT $2, $3, $4, 'delete', $1, 'version ' || s.current || ', serial ' || s.serial
  FROM s WHERE s.verdict = 'done'
)
SELECT lock_id, lock_info, verdict, current, serial, lineage, md5 FROM s
"""

LATEST = f"""
SELECT v.body, {_QUALIFIED} FROM talops_state s
JOIN talops_version v ON v.state = s.name AND v.number = s.current WHERE s.name = $1
"""  # noqa: S608
NUMBERED = f"SELECT body, {VERSION_COLUMNS} FROM talops_version WHERE state = $1 AND number = $2"  # noqa: S608
SUMMARIES = f"""
SELECT s.name, s.lock_id, s.lock_info, {_QUALIFIED} FROM talops_state s
LEFT JOIN talops_version v ON v.state = s.name AND v.number = s.current
WHERE $1::text IS NULL OR s.name = $1 ORDER BY s.name COLLATE "C"
"""  # noqa: S608
VERSIONS = f"SELECT {VERSION_COLUMNS} FROM talops_version WHERE state = $1 ORDER BY number DESC"  # noqa: S608
AUDIT = "SELECT at, who, origin, action, state, detail FROM talops_audit ORDER BY id DESC LIMIT $1"
REWRAP = "UPDATE talops_version SET sealed_key = $3 WHERE state = $1 AND number = $2"
PRUNE = """
DELETE FROM talops_version v USING talops_state s
WHERE v.state = $1 AND v.number = ANY ($2) AND s.name = v.state
  AND v.number IS DISTINCT FROM s.current
"""

# A blob is valid only with all its parts: a database crash in between may lose some.
BEGIN_BLOB = "INSERT INTO talops_blob (blob, parts, created) VALUES ($1, 0, $2)"
FINISH_BLOB = """
UPDATE talops_blob SET parts = $2
WHERE blob = $1 AND (SELECT count(*) FROM talops_part WHERE blob = $1) = $2 RETURNING blob
"""
PARTS = "SELECT data FROM talops_part WHERE blob = $1 AND n >= $2 AND n < $3 ORDER BY n"
DISCARD = """
WITH b AS (DELETE FROM talops_blob WHERE blob = $1)
DELETE FROM talops_part WHERE blob = $1
"""
SWEEP = """
WITH b AS (
  DELETE FROM talops_blob b WHERE b.created < $1
    AND NOT EXISTS (SELECT 1 FROM talops_version v WHERE v.blob = b.blob AND v.blob <> '')
  RETURNING b.blob
), p AS (DELETE FROM talops_part USING b WHERE talops_part.blob = b.blob)
SELECT count(*) FROM b
"""
