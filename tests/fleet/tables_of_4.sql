-- SPDX-License-Identifier: MIT OR Apache-2.0
--
-- What version 4 had in another shape.
CREATE TABLE sample (
    session UInt64,
    stack UInt64,
    time_high UInt16,
    time_low UInt16,
    moment UInt32,
    begun UInt32,
    count_low UInt16,
    count_middle UInt16,
    count_high UInt32,
    size_low UInt16,
    size_high UInt64,
    rest_low UInt16,
    rest_high UInt64,
    freed_low UInt16,
    freed_middle UInt16,
    freed_high UInt32,
    excess_low UInt16,
    excess_middle UInt16,
    excess_high UInt32,
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
) ENGINE = ReplacingMergeTree PARTITION BY intDiv(time_high, 40) ORDER BY (session, stack, time_high, time_low, moment);

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
    stack,
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
