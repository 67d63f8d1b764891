-- SPDX-License-Identifier: MIT OR Apache-2.0
--
-- What version 3 had in other shapes.
CREATE TABLE sample (
    stack UInt64,
    session UInt64,
    time DateTime,
    age UInt32,
    in_use_bytes UInt64,
    in_use_count UInt64,
    allocated_bytes UInt64,
    allocated_count UInt64
) ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(time) ORDER BY (stack, session, time);

CREATE TABLE total (
    session UInt64,
    time DateTime,
    in_use_bytes UInt64,
    in_use_count UInt64,
    allocated_bytes UInt64,
    allocated_count UInt64
) ENGINE = ReplacingMergeTree PARTITION BY toYYYYMM(time) ORDER BY (session, time);

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

CREATE MATERIALIZED VIEW session_total ENGINE = AggregatingMergeTree ORDER BY session AS
SELECT
    session,
    minState(time) AS first_time,
    argMinState(in_use_bytes, time) AS first_bytes,
    maxState(time) AS last_time,
    argMaxState(in_use_bytes, time) AS last_bytes,
    maxState(in_use_bytes) AS most_bytes
FROM total GROUP BY session;
