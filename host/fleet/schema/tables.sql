-- SPDX-License-Identifier: MIT OR Apache-2.0
--
-- The tables of the fleet, version 3. Each statement ends with a semicolon at the end of a line. What stands between << and >>
-- is for servers that know column codecs and TTL; others get the text without it. {days} is how long samples are kept.
--
-- Rows are states, not changes: a row that is inserted twice says the same twice. So a batch whose fate is unknown is sent
-- again, and each table merges equal rows.

-- One recorded process, or one of whose heap there are dumps; `estimated`: its numbers are made from samples. `session` is made
-- from the trace's id; `written`, in ns, is when the row was made: the last one holds.
CREATE TABLE session (
    session UInt64,
    device String,
    app String,
    firmware String,
    label_names Array(String),
    label_values Array(String),
    machine UInt16,
    pid UInt32,
    start DateTime,
    seen DateTime,
    ended UInt8,
    dropped UInt64,
    written UInt64,
    estimated UInt8
) ENGINE = ReplacingMergeTree(written) ORDER BY session;

-- A stack is the same on all devices: build ids and offsets in their files, innermost frame first. `stack` is a hash of them.
CREATE TABLE stack (
    stack UInt64,
    builds Array(FixedString(20)),
    offsets Array(UInt64)
) ENGINE = ReplacingMergeTree ORDER BY stack;

CREATE TABLE build (
    build FixedString(20),
    path String
) ENGINE = ReplacingMergeTree ORDER BY build;

-- Names of frames, one row for each inlined call, the innermost first.
CREATE TABLE symbol (
    build FixedString(20),
    offset UInt64,
    depth UInt16,
    function String,
    file String,
    line UInt32
) ENGINE = ReplacingMergeTree ORDER BY (build, offset, depth);

-- What a stack has at a time, since the start of its session, whose age in seconds is `age`. Only stacks that changed have a row.
CREATE TABLE sample (
    stack UInt64<< CODEC(ZSTD)>>,
    session UInt64<< CODEC(ZSTD)>>,
    time DateTime<< CODEC(DoubleDelta, ZSTD)>>,
    age UInt32<< CODEC(DoubleDelta, ZSTD)>>,
    in_use_bytes UInt64<< CODEC(T64, ZSTD)>>,
    in_use_count UInt64<< CODEC(T64, ZSTD)>>,
    allocated_bytes UInt64<< CODEC(Delta, ZSTD)>>,
    allocated_count UInt64<< CODEC(Delta, ZSTD)>>
) ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(time) ORDER BY (stack, session, time)<< TTL time + INTERVAL {days} DAY>>;

-- The same for all stacks of a session together.
CREATE TABLE total (
    session UInt64,
    time DateTime<< CODEC(DoubleDelta, ZSTD)>>,
    in_use_bytes UInt64<< CODEC(T64, ZSTD)>>,
    in_use_count UInt64<< CODEC(T64, ZSTD)>>,
    allocated_bytes UInt64<< CODEC(Delta, ZSTD)>>,
    allocated_count UInt64<< CODEC(Delta, ZSTD)>>
) ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(time) ORDER BY (session, time)<< TTL time + INTERVAL {days} DAY>>;

-- The first and the last state of each stack of each session. `settled_bytes` is the first one at an age of an hour or more,
-- when caches are full.
CREATE MATERIALIZED VIEW session_stack ENGINE = AggregatingMergeTree ORDER BY (stack, session) AS
SELECT
    stack,
    session,
    minState(time) AS first_time,
    argMinState(in_use_bytes, time) AS first_bytes,
    argMinIfState(in_use_bytes, time, age >= 3600) AS settled_bytes,
    maxState(age) AS last_age,
    argMaxState(in_use_bytes, time) AS last_bytes,
    argMaxState(in_use_count, time) AS last_count,
    maxState(in_use_bytes) AS most_bytes,
    maxState(allocated_bytes) AS all_bytes
FROM sample GROUP BY stack, session;

-- The same for all stacks of a session together. Tables of version 1 lack it: POPULATE fills it from what they have.
CREATE MATERIALIZED VIEW session_total ENGINE = AggregatingMergeTree ORDER BY session POPULATE AS
SELECT
    session,
    minState(time) AS first_time,
    argMinState(in_use_bytes, time) AS first_bytes,
    maxState(time) AS last_time,
    argMaxState(in_use_bytes, time) AS last_bytes,
    maxState(in_use_bytes) AS most_bytes
FROM total GROUP BY session;

-- Sums over the sessions of a firmware, made by `heapsonde fleet rollup`; `made` is the time of the run.
CREATE TABLE growth (
    app String,
    firmware String,
    stack UInt64,
    devices UInt64,
    grown_devices UInt64,
    grown_bytes UInt64,
    in_use_bytes UInt64,
    first_time DateTime,
    made DateTime,
    estimated_devices UInt64
) ENGINE = ReplacingMergeTree(made) ORDER BY (app, firmware, stack);

CREATE TABLE version (
    version UInt32,
    made DateTime
) ENGINE = ReplacingMergeTree(made) ORDER BY version;
