// SPDX-License-Identifier: MIT OR Apache-2.0
// The answers of REST that the page reads; /openapi.json describes them.

export type Cost = "peak" | "live" | "allocated" | "temporary";
export type Pair = [bytes: number, count: number];

export type Clock = "instructions" | "bytes" | null; // what times count; null: time

export interface Time { secs: number; fract_nsecs: number }

export interface ListRow {
  id: string;
  path: string;
  progress?: { done: number; total: number };
  indexes?: { done: number; total: number }; // while they are made
  executable: string;
  cmdline: string;
  architecture: string;
  final_allocated: number;
  final_allocated_count: number;
  runtime: Time;
  timestamp: Time;
  unique_backtrace_count: number;
  maximum_backtrace_depth: number;
  growing: boolean;
  dumps: number | null;
  clock: Clock;
  problem: string | null;
  pid: number;
  file_size: number;
  holds: string;
  allocations: number | null; // null: unknown
}

export interface EventsKind {
  name: string; words: string; unit: string; thing: string; absence: string | null; costs: Cost[];
}

export interface Finding {
  id: string; title: string; confidence: "look" | "likely" | "sure"; text: string; reason: string; advice: string;
  bytes: number; count: number; share: number | null; share_of: string | null; backtrace_id: number | null;
  view: string; query: string; suppression: string | null;
}

export interface DiffSide { size: number; count: number }

export interface DiffNode {
  parent: number | null; function: string | null; library: string | null; source?: string | null; line?: number | null; base: DiffSide; now: DiffSide;
  size_delta: number; count_delta: number; self_delta: number; moved_size: number; only_in_base: boolean; only_in_now: boolean;
}

export interface DiffTree { nodes: DiffNode[]; left_out_nodes: number }

export interface Findings {
  findings: Finding[]; small_count: number; small_bytes: number; suppressed_count: number; suppressed_bytes: number;
}

export interface ResidentAt {
  time_ns: number; resident_bytes: number; live_bytes: number; live_untouched_bytes: number;
  parts: { id: string; name: string; meaning: string; bytes: number }[];
}

export interface Resident { peak: ResidentAt; end: ResidentAt }

export interface Summary {
  program: string; command: string; trace: string; symbol_options: string[]; trace_id: string; arch: string; pid: number; state: string;
  incomplete: string | null; ignored_variables: string | null; restriction: string | null; attached_after_ns: number | null; older_bytes: number | null; holds: string; duration_ns: number; start_realtime_ns: number;
  allocations: number; deallocations: number; reallocations: number;
  allocated_bytes: number; allocated_usable_bytes: number;
  live_bytes: number; live_usable_bytes: number; live_count: number;
  peak_bytes: number; peak_usable_bytes: number; peak_count: number; peak_time_ns: number;
  temporary_count: number; temporary_bytes: number; culled_count: number;
  threads: number; stacks: number; growing: boolean;
  unknown_frees: number; missed_frees: number; guessed_stacks: number; damaged_chunks: number;
  truncated: Record<string, number>; dropped: Record<string, number>;
  allocator: string | null; perf: string | null;
  events: EventsKind[];
  thread_list: { thread: number; name: string }[];
  dumps: string | null; estimate: string | null; clock: Clock;
  marks: { time_ns: number; kind: string; text: string | null }[];
}

export interface Axis { start_ns: number; interval_ns: number; end_ns: number }

export interface Timeline extends Axis {
  allocated_size: number[]; allocated_count: number[]; allocations: number[]; deallocations: number[];
  end_size: number[]; end_count: number[]; bytes_in: number[]; bytes_out: number[]; size_delta: number[];
}

export interface TotalsRow {
  key: string; library?: string | null; source?: string | null; line?: number; thread?: number;
  from?: number | null; to?: number | null;
  self: Partial<Record<Cost, Pair>>; total: Partial<Record<Cost, Pair>>;
}

export interface Totals { by: string; total_count: number; sum: Partial<Record<Cost, Pair>>; rows: TotalsRow[] }

export interface SourceLine { line: number; text: string | null; cut: boolean; self: TotalsRow["self"]; total: TotalsRow["total"] }

export interface Source {
  file: string; absence: string | null; modified_ns: number | null; total_count: number; sum: Totals["sum"]; costliest: Totals["sum"]; rows: SourceLine[];
}

export interface ControlState { allowed: boolean; absence: string | null; recording: boolean | null; sample_bytes: number | null; answer: string | null }

export interface DeviceRow {
  file: string; device: string; address: string; labels: string; program: string; pid: string; samples: boolean;
  state: "found" | "running" | "away" | "ended" | "refused"; refusal: string | null; heard_ns: number | null;
  size: number; events: number | null; dropped: number | null;
}
export interface DevicesAnswer { allowed: boolean; folders: { folder: string; absence: string | null; devices: DeviceRow[] | null }[] }

export interface ThreadMatrixAnswer {
  threads: { thread: number; name: string }[]; other_threads: number; bytes: number; count: number;
  freed_by_others: { bytes: number; count: number };
  cells: { by: number; freed_by: number | null; bytes: number; count: number }[];
}

export interface TreeColumns {
  nodes: number; left_out: boolean; strings: string[];
  parent: number[]; name: number[]; library: number[]; source: number[]; line: number[];
  size: number[]; count: number[]; self_size: number[]; self_count: number[];
}

export interface Frame { function?: string; place?: string; library?: string; source?: string; line?: number; address_s: string; is_inline: boolean }

export interface GroupHalf {
  size: number; allocated_count: number; leaked_count: number; leaked_size: number;
  min_timestamp_relative: Time; max_timestamp_relative: Time; interval: Time; max_total_usage_first_seen_at_relative: Time | null;
}

export interface Group { backtrace_id: number; backtrace: Frame[]; only_matched: GroupHalf; all: GroupHalf }

export interface BlockEnd { timestamp: Time; thread: number; backtrace_id?: number }

export interface Block {
  id: number; address_s: string; size: number; extra_space: number; thread: number; backtrace_id: number;
  backtrace: Frame[]; timestamp_relative: Time; timestamp: Time; deallocation?: BlockEnd; chain_deallocation?: BlockEnd;
  is_mmaped: boolean; is_jemalloc: boolean; in_main_arena: boolean; chain_lifetime?: Time; position_in_chain: number; chain_length: number;
}

export interface Recording {
  cut_stacks: { reason: string; stacks: number; allocations: number; allocated_bytes: number }[];
  guessed: { stacks: number; allocations: number; allocated_bytes: number };
  missing_symbols: { module: string; build_id: string | null; reason: string | null; why: string; file: string | null;
                     frames: number; unnamed_frames: number; stacks: number; allocated_bytes?: number; wanted: Record<string, string> }[];
}

// ---- fleets --------------------------------------------------------------------------------------------------------

export interface Fleet { database: string | null; filters: string[] }

export interface FleetFrame { function: string | null; source: string | null; line: number; library: string | null; offset: number; is_inline: boolean }

export interface FleetPage<Row> { rows: Row[]; next_skip: number | null }

export interface FleetStackRow { stack: string; frames: FleetFrame[]; in_use_bytes: number; devices: number; estimated_devices: number }

export interface FleetGrown extends FleetStackRow { app: string; firmware: string; grown_devices: number; grown_bytes: number; first_time: string }

export interface FleetNew extends FleetStackRow { app: string; firmware: string; first_time: string }

export interface FleetStack extends FleetStackRow { in_use_count: number }

export interface FleetHolder { device: string; firmware: string; first_bytes: number; in_use_bytes: number; most_bytes: number; last_seen: string; estimated: number }

export interface FleetDevice {
  device: string; app: string; firmware: string; in_use_bytes: number; most_bytes: number; bytes_per_hour: number; deviations: number; last_seen: string;
  sessions: number; estimated_sessions: number;
}

export interface FleetSession {
  session: string; device: string; app: string; firmware: string; pid: number; in_use_bytes: number; most_bytes: number; bytes_per_hour: number;
  first_time: string; last_seen: string; ended: number; estimated: number; trace: string | null;
}

export interface FleetFirmware {
  app: string; firmware: string; devices: number; median_bytes: number; p95_bytes: number; p99_bytes: number; bytes_per_hour: number; estimated_devices: number;
}

// Of a difference, sizes are what changed.
export interface FleetTree extends TreeColumns { now_size?: number[]; now_count?: number[]; base_size?: number[]; base_count?: number[] }

export function ns(time: Time): number {
  return time.secs * 1e9 + time.fract_nsecs;
}
