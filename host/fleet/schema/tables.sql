-- SPDX-License-Identifier: MIT OR Apache-2.0
--
-- The tables of the fleet, version 5. Each statement ends with a semicolon at the end of a line. What stands between << and >>
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
-- `moment` orders states of one second. Nothing is kept here: `sample` and `stack_of_session` take what is inserted.
CREATE TABLE state (
    stack UInt64,
    session UInt64,
    time DateTime,
    moment UInt32,
    age UInt32,
    in_use_bytes UInt64,
    in_use_count UInt64,
    allocated_bytes UInt64,
    allocated_count UInt64
) ENGINE = Null;

-- The same in a form that packs well without codecs, too. Numbers are divided into pieces of 16 bits, of which the high ones are
-- mostly equal. What can be computed is stored as the difference from it: bytes from those of so many blocks of the mean size
-- (`rest`; `excess` has the sign in its lowest bit), and what was allocated from what is in use (`freed`). `begun` is time - age.
-- `key` is the stack: a part has few different ones, and holds their numbers in a dictionary.
-- A column with ALIAS does not find others with ALIAS on servers of version 18.
CREATE TABLE sample (
    session UInt64<< CODEC(ZSTD)>>,
    key LowCardinality(UInt64)<< CODEC(ZSTD)>>,
    time_high UInt16<< CODEC(ZSTD)>>,
    time_low UInt16<< CODEC(ZSTD)>>,
    moment UInt32<< CODEC(ZSTD)>>,
    begun UInt32<< CODEC(ZSTD)>>,
    count_low UInt16<< CODEC(ZSTD)>>,
    count_middle UInt16<< CODEC(ZSTD)>>,
    count_high UInt32<< CODEC(ZSTD)>>,
    size_low UInt16<< CODEC(ZSTD)>>,
    size_high UInt64<< CODEC(ZSTD)>>,
    rest_low UInt16<< CODEC(ZSTD)>>,
    rest_high UInt64<< CODEC(ZSTD)>>,
    freed_low UInt16<< CODEC(ZSTD)>>,
    freed_middle UInt16<< CODEC(ZSTD)>>,
    freed_high UInt32<< CODEC(ZSTD)>>,
    excess_low UInt16<< CODEC(ZSTD)>>,
    excess_middle UInt16<< CODEC(ZSTD)>>,
    excess_high UInt32<< CODEC(ZSTD)>>,
    stack UInt64 ALIAS CAST(key AS UInt64),
    time DateTime ALIAS toDateTime(toUInt32(toUInt32(time_high) * 65536 + time_low)),
    age UInt32 ALIAS toUInt32(toUInt32(time_high) * 65536 + time_low - begun),
    instant UInt64 ALIAS (toUInt64(time_high) * 65536 + time_low) * 4294967296 + moment,
    in_use_bytes UInt64 ALIAS (toUInt64(count_high) * 4294967296 + toUInt32(count_middle) * 65536 + count_low)
        * (size_high * 65536 + size_low) + rest_high * 65536 + rest_low,
    in_use_count UInt64 ALIAS toUInt64(count_high) * 4294967296 + toUInt32(count_middle) * 65536 + count_low,
    allocated_bytes UInt64 ALIAS ((toUInt64(count_high) * 4294967296 + toUInt32(count_middle) * 65536 + count_low)
        + (toUInt64(freed_high) * 4294967296 + toUInt32(freed_middle) * 65536 + freed_low))
        * (size_high * 65536 + size_low) + rest_high * 65536 + rest_low
        + bitXor(intDiv(toUInt64(excess_high) * 4294967296 + toUInt32(excess_middle) * 65536 + excess_low, 2),
            toUInt64(0 - excess_low % 2)),
    allocated_count UInt64 ALIAS toUInt64(count_high) * 4294967296 + toUInt32(count_middle) * 65536 + count_low
        + toUInt64(freed_high) * 4294967296 + toUInt32(freed_middle) * 65536 + freed_low
) ENGINE = ReplacingMergeTree PARTITION BY intDiv(time_high, 40) ORDER BY (session, key, time_high, time_low, moment)
<<TTL toDateTime(toUInt32(toUInt32(time_high) * 65536 + time_low)) + INTERVAL {days} DAY>>;

CREATE MATERIALIZED VIEW sample_of_state TO sample AS
WITH
    toUInt32(time) AS second,
    intDiv(if(in_use_count > 0, in_use_bytes, allocated_bytes), greatest(if(in_use_count > 0, in_use_count, allocated_count), 1)) AS size,
    toUInt64(in_use_bytes - in_use_count * size) AS rest,
    toUInt64(allocated_count - in_use_count) AS freed,
    toInt64(allocated_bytes - in_use_bytes - freed * size) AS beyond,
    if(beyond < 0, toUInt64(-1 - beyond) * 2 + 1, toUInt64(beyond) * 2) AS excess
SELECT
    session,
    toLowCardinality(stack) AS key,
    toUInt16(intDiv(second, 65536)) AS time_high,
    toUInt16(second % 65536) AS time_low,
    moment,
    toUInt32(second - age) AS begun,
    toUInt16(in_use_count) AS count_low,
    toUInt16(intDiv(in_use_count, 65536)) AS count_middle,
    toUInt32(intDiv(in_use_count, 4294967296)) AS count_high,
    toUInt16(size) AS size_low,
    intDiv(size, 65536) AS size_high,
    toUInt16(rest) AS rest_low,
    intDiv(rest, 65536) AS rest_high,
    toUInt16(freed) AS freed_low,
    toUInt16(intDiv(freed, 65536)) AS freed_middle,
    toUInt32(intDiv(freed, 4294967296)) AS freed_high,
    toUInt16(excess) AS excess_low,
    toUInt16(intDiv(excess, 65536)) AS excess_middle,
    toUInt32(intDiv(excess, 4294967296)) AS excess_high
FROM state;

-- What all stacks of a session have together.
CREATE TABLE total (
    session UInt64,
    time DateTime<< CODEC(DoubleDelta, ZSTD)>>,
    moment UInt32<< CODEC(ZSTD)>>,
    in_use_bytes UInt64<< CODEC(T64, ZSTD)>>,
    in_use_count UInt64<< CODEC(T64, ZSTD)>>,
    allocated_bytes UInt64<< CODEC(Delta, ZSTD)>>,
    allocated_count UInt64<< CODEC(Delta, ZSTD)>>
) ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(time) ORDER BY (session, time, moment)<< TTL time + INTERVAL {days} DAY>>;

-- The first and the last state of each stack of each session. `settled_bytes` is the first one at an age of an hour or more,
-- when caches are full. An instant is a second * 2^32 + a moment.
CREATE MATERIALIZED VIEW stack_of_session ENGINE = AggregatingMergeTree ORDER BY (stack, session) AS
WITH toUInt64(toUInt32(time)) * 4294967296 + moment AS instant
SELECT
    stack,
    session,
    minState(instant) AS first_instant,
    argMinState(in_use_bytes, instant) AS first_bytes,
    argMinIfState(in_use_bytes, instant, age >= 3600) AS settled_bytes,
    maxState(age) AS last_age,
    argMaxState(in_use_bytes, instant) AS last_bytes,
    argMaxState(in_use_count, instant) AS last_count,
    maxState(in_use_bytes) AS most_bytes,
    maxState(allocated_bytes) AS all_bytes
FROM state GROUP BY stack, session;

-- The same for all stacks of a session together.
CREATE MATERIALIZED VIEW total_of_session ENGINE = AggregatingMergeTree ORDER BY session AS
WITH toUInt64(toUInt32(time)) * 4294967296 + moment AS instant
SELECT
    session,
    minState(time) AS first_time,
    argMinState(in_use_bytes, instant) AS first_bytes,
    maxState(time) AS last_time,
    argMaxState(in_use_bytes, instant) AS last_bytes,
    maxState(in_use_bytes) AS most_bytes
FROM total GROUP BY session;

-- Sums over the sessions of a firmware, made by `fleet growth --rollup`. `made` is the second of the run, or one after the run
-- before, * 2^32 + a random number: no two runs have the same. A run makes them in parts: those of a run that is in `rollup` are
-- whole.
CREATE TABLE growth (
    app String,
    firmware String,
    stack UInt64,
    devices UInt64,
    grown_devices UInt64,
    grown_bytes UInt64,
    in_use_bytes UInt64,
    first_time DateTime,
    made UInt64,
    estimated_devices UInt64
) ENGINE = ReplacingMergeTree PARTITION BY made ORDER BY (app, firmware, stack);

CREATE TABLE rollup (
    made UInt64
) ENGINE = ReplacingMergeTree ORDER BY made;

CREATE TABLE version (
    version UInt32,
    made DateTime
) ENGINE = ReplacingMergeTree(made) ORDER BY version;
