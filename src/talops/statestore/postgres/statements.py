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
ALTER TABLE talops_state ADD COLUMN IF NOT EXISTS lock_owner text NOT NULL DEFAULT '';
ALTER TABLE talops_state ADD COLUMN IF NOT EXISTS lock_expires double precision NOT NULL DEFAULT 0;
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
CREATE TABLE IF NOT EXISTS talops_audit_block (
  number bigint PRIMARY KEY, previous text NOT NULL, content text NOT NULL, hash text NOT NULL,
  signature text NOT NULL
);
CREATE TABLE IF NOT EXISTS talops_audit_head (
  id integer PRIMARY KEY CHECK (id = 1), number bigint NOT NULL, hash text NOT NULL
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

# The database's own clock: the servers may disagree about the time.
_NOW = "extract(epoch FROM clock_timestamp())::float8"
_RELEASED = (
    f"(t.released || s.lock_id)[greatest(1, cardinality(t.released) - {REMEMBERED_RELEASES - 2}):]"
)
_LOCK_COLUMNS = "lock_id, lock_info, lock_owner, lock_expires"

LOCK = f"""
WITH f AS MATERIALIZED (
  SELECT 1 FROM talops_state WHERE name = $8::text AND lock_id = $9::text FOR SHARE
), s AS MATERIALIZED (
  SELECT {_LOCK_COLUMNS}, current, serial, lineage, md5, CASE
    WHEN lock_id = $2::text AND lock_owner IN ('', $4::text) THEN 'same'
    WHEN lock_id = $2 THEN 'held'
    WHEN lock_id IS NOT NULL AND (lock_expires = 0 OR lock_expires > {_NOW}) THEN 'held'
    WHEN $2 = ANY (released) THEN 'spent'
    WHEN $8 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM f) THEN 'fenced'
    ELSE 'done' END AS verdict
  FROM talops_state WHERE name = $1 FOR UPDATE
), u AS (
  UPDATE talops_state t SET lock_id = $2, lock_info = $3, lock_owner = $4,
    lock_expires = CASE WHEN $5::float8 > 0 THEN {_NOW} + $5::float8 ELSE 0 END,
    released = CASE WHEN s.verdict = 'done' AND s.lock_id IS NOT NULL THEN {_RELEASED}
      ELSE t.released END
  FROM s WHERE t.name = $1 AND (s.verdict = 'done' OR (s.verdict = 'same' AND $5::float8 > 0))
), a AS (
  INSERT INTO talops_audit (at, who, origin, action, state, detail)
  SELECT $6::float8, $4, $7::text, CASE WHEN s.lock_id IS NULL THEN 'lock' ELSE 'takeover' END, $1,
    'lock ' || $2 || CASE WHEN s.lock_id IS NULL THEN '' ELSE '; lock ' || s.lock_id || ' of '
      || coalesce(nullif(s.lock_owner, ''), 'unknown user') || ' had expired' END
  FROM s WHERE s.verdict = 'done' AND $6::float8 IS NOT NULL
)
SELECT {_LOCK_COLUMNS}, verdict, current, serial, lineage, md5 FROM s
"""  # noqa: S608  (constants)

UNLOCK = f"""
WITH f AS MATERIALIZED (
  SELECT 1 FROM talops_state WHERE name = $8::text AND lock_id = $9::text FOR SHARE
), s AS MATERIALIZED (
  SELECT {_LOCK_COLUMNS}, current, serial, lineage, md5, CASE
    WHEN lock_id IS NULL OR $2::text = ANY (released) THEN 'same'
    WHEN $2 IS NOT NULL AND lock_id <> $2 THEN 'held'
    WHEN $8 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM f) THEN 'fenced'
    WHEN $7::text IS NOT NULL AND lock_owner NOT IN ('', $7) THEN 'denied'
    ELSE 'done' END AS verdict
  FROM talops_state WHERE name = $1 FOR UPDATE
), u AS (
  UPDATE talops_state t SET lock_id = NULL, lock_info = NULL, lock_owner = '', lock_expires = 0,
    released = {_RELEASED}
  FROM s WHERE t.name = $1 AND s.verdict = 'done'
), a AS (
  INSERT INTO talops_audit (at, who, origin, action, state, detail)
  SELECT $3::float8, $4::text, $5::text,
    CASE WHEN s.lock_owner IN ('', $4) THEN $6::text ELSE 'force-unlock' END, $1,
    'lock ' || s.lock_id
      || CASE WHEN s.lock_owner IN ('', $4) THEN '' ELSE ' of ' || s.lock_owner END
  FROM s WHERE s.verdict = 'done' AND $6 IS NOT NULL
)
SELECT {_LOCK_COLUMNS}, verdict, current, serial, lineage, md5 FROM s
"""  # noqa: S608  (constants)

# `expected` is the number for which the data key was wrapped; 0 = any.
_JUDGED = f"""
f AS MATERIALIZED (
  SELECT 1 FROM talops_state t CROSS JOIN n
  WHERE t.name = n.fence_state AND t.lock_id = n.fence_id FOR SHARE OF t
), s AS MATERIALIZED (
  SELECT number, {_LOCK_COLUMNS}, current, serial, lineage, md5, version_lock
  FROM talops_state WHERE name = $1 FOR UPDATE
), j AS MATERIALIZED (
  SELECT s.*, CASE
    WHEN s.current IS NOT NULL AND s.md5 = n.md5 AND s.version_lock = n.lock_id THEN 'same'
    WHEN n.fence_state IS NOT NULL AND NOT EXISTS (SELECT 1 FROM f) THEN 'fenced'
    WHEN s.lock_id IS NOT NULL AND s.lock_id <> n.lock_id THEN 'held'
    WHEN s.lock_id IS NULL AND n.lock_id <> '' THEN 'lost'
    WHEN s.lock_id IS NOT NULL AND s.lock_owner NOT IN ('', n.who) THEN 'denied'
    WHEN s.current IS NOT NULL AND NOT n.force AND s.lineage <> n.lineage THEN 'foreign'
    WHEN s.current IS NOT NULL AND NOT n.force AND s.serial > n.serial THEN 'older'
    WHEN n.expected NOT IN (0, s.number + 1) THEN 'moved'
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
  SELECT n.at, n.who, n.origin, n.action, $1,
    'version ' || j.number + 1 || ', serial ' || n.serial || ', MD5 ' || n.md5
  FROM j CROSS JOIN n WHERE j.verdict = 'done'
)
SELECT {_LOCK_COLUMNS}, verdict,
  CASE verdict WHEN 'done' THEN number + 1 ELSE current END AS current,
  CASE verdict WHEN 'done' THEN new_serial ELSE serial END AS serial,
  CASE verdict WHEN 'done' THEN new_lineage ELSE lineage END AS lineage,
  CASE verdict WHEN 'done' THEN new_md5 ELSE md5 END AS md5, number
FROM j
"""  # noqa: S608  (constants)

WRITE = f"""
WITH n AS MATERIALIZED (
  SELECT $2::bigint AS serial, $3::text AS lineage, $4::bigint AS size, $5::text AS md5,
    $6::text AS who, $7::text AS origin, $8::float8 AS at, $9::text AS lock_id, $10::text AS note,
    $11::text AS sealed_key, $12::text AS blob, $13::bytea AS body, $14::boolean AS force,
    CASE WHEN $14 THEN 'forced-write' ELSE 'write' END AS action, $15::text AS fence_state,
    $16::text AS fence_id, $17::bigint AS expected
), {_JUDGED}
"""

ROLLBACK = f"""
WITH n AS MATERIALIZED (
  SELECT v.serial, v.lineage, v.size, v.md5, $3::text AS who, $4::text AS origin,
    $5::float8 AS at, $6::text AS lock_id, $7::text AS note,
    coalesce($8::text, v.sealed_key) AS sealed_key, v.blob, v.body,
    true AS force, 'rollback' AS action, $9::text AS fence_state, $10::text AS fence_id,
    $11::bigint AS expected
  FROM talops_version v WHERE v.state = $1 AND v.number = $2
), {_JUDGED}
"""  # noqa: S608  (constants only)

DELETE = f"""
WITH s AS MATERIALIZED (
  SELECT {_LOCK_COLUMNS}, current, serial, lineage, md5, CASE
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
SELECT {_LOCK_COLUMNS}, verdict, current, serial, lineage, md5 FROM s
"""  # noqa: S608  (constants)

LATEST = f"""
SELECT v.body, {_QUALIFIED} FROM talops_state s
JOIN talops_version v ON v.state = s.name AND v.number = s.current WHERE s.name = $1
"""  # noqa: S608
NUMBERED = f"SELECT body, {VERSION_COLUMNS} FROM talops_version WHERE state = $1 AND number = $2"  # noqa: S608
SUMMARIES = f"""
SELECT s.name, s.lock_id, s.lock_info, s.lock_owner, s.lock_expires, {_QUALIFIED}
FROM talops_state s
LEFT JOIN talops_version v ON v.state = s.name AND v.number = s.current
WHERE $1::text IS NULL OR s.name = $1 ORDER BY s.name COLLATE "C"
"""  # noqa: S608
VERSIONS = f"SELECT {VERSION_COLUMNS} FROM talops_version WHERE state = $1 ORDER BY number DESC"  # noqa: S608

# The chain of the audit. A change records its entry in talops_audit, with itself; the servers move
# entries from there into blocks, one server at a time. So no change waits for the chain.
BEGIN_CHAIN = "INSERT INTO talops_audit_head VALUES (1, 0, $1) ON CONFLICT DO NOTHING"
HEAD = "SELECT number, hash FROM talops_audit_head WHERE id = 1"
SET_HEAD = "UPDATE talops_audit_head SET number = $1, hash = $2 WHERE id = 1"
WAITING = """
WITH w AS (
  DELETE FROM talops_audit WHERE id IN (SELECT id FROM talops_audit ORDER BY id LIMIT $1)
  RETURNING id, at, who, origin, action, state, detail
)
SELECT at, who, origin, action, state, detail FROM w ORDER BY id
"""
_BLOCK = "number, previous, content, hash, signature"
ADD_BLOCK = f"INSERT INTO talops_audit_block ({_BLOCK}) VALUES ($1, $2, $3, $4, $5)"  # noqa: S608
BLOCKS = f"SELECT {_BLOCK} FROM talops_audit_block WHERE number > $1 ORDER BY number LIMIT $2"  # noqa: S608
NEWEST = f"SELECT {_BLOCK} FROM talops_audit_block ORDER BY number DESC LIMIT $1"  # noqa: S608

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
