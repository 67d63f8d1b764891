// SPDX-License-Identifier: MIT OR Apache-2.0
// What is missing in the recording, and the files that would help.
import { useAnswer } from "../data/ask";
import type { Recording, Summary } from "../data/types";
import { copy } from "../parts/menu";
import { Pane } from "../parts/pane";
import { question } from "../state/route";
import { PlainTable } from "../table/plain";
import { bytes, count, exactBytes, plain, share } from "../text/format";
import type { ViewProps } from "./view";

const OPTIONS: Record<string, string> = { below_sysroot: "--sysroot", below_debug_dir: "--debug-dir", beside_it: "beside the library" };

// Why the outer frames of a stack are missing.
const CUTS: Record<string, string> = {
  no_rule: "a function has no unwind information", bad_rule: "unwind information is damaged", bad_stack: "the stack does not agree with the unwind information",
  too_deep: "deeper than the limit", cut_copy: "the kernel copied only a part of the stack of a sample",
};

export function RecordingView({ route, summary }: ViewProps) {
  const path = question(route, "recording");
  const answer = useAnswer<Recording>(path);
  const absent = summary.events.filter((kind) => kind.absence);
  return (
    <div class="scroll recording">
      <Counts summary={summary} />
      <h2>Modules without symbols</h2>
      <Pane answer={answer} path={path}>
        {(data) => <>
          {data.missing_symbols.length ? <PlainTable route={route} label="Modules without symbols" id="modules" rows={data.missing_symbols} sort="-Bytes through it" keyOf={(module) => module.module} columns={[
            { name: "Module", wide: true, of: (module) => module.module, cell: (module) => <>{plain(module.module) || "code without a file"}<br /><span class="faint">
              {plain(module.why)}{module.build_id && `; build id ${module.build_id}`}</span></> },
            { name: "Bytes through it", number: true, title: "of all allocated bytes", of: (module) => module.allocated_bytes ?? 0, cell: (module) => <span title={exactBytes(module.allocated_bytes ?? 0)}>
              {bytes(module.allocated_bytes ?? 0)} ({share(module.allocated_bytes ?? 0, summary.allocated_bytes)})</span> },
            { name: "Unnamed frames", number: true, of: (module) => module.unnamed_frames, cell: (module) => `${count(module.unnamed_frames)} of ${count(module.frames)}` },
            { name: "Missing file", wide: true, of: (module) => Object.values(module.wanted).join(" "), cell: (module) => Object.entries(module.wanted).map(([where, file]) =>
              <p key={where} class="wanted"><span class="faint">{OPTIONS[where] ?? where}</span> <code>{plain(file)}</code>{" "}<button type="button" onClick={() => copy(file)}>Copy</button></p>) },
          ]} /> : <p>All modules in the stacks have function names and lines.</p>}
          <h2>Stacks that end early</h2>
          {data.cut_stacks.length || data.guessed.stacks ? <PlainTable route={route} label="Stacks that end early" id="cut" rows={[...data.cut_stacks, ...(data.guessed.stacks ? [{ reason: "a frame is guessed", ...data.guessed }] : [])]}
            keyOf={(cut) => cut.reason} columns={[
              { name: "Stacks", number: true, of: (cut) => cut.stacks, cell: (cut) => count(cut.stacks) },
              { name: "Blocks", number: true, of: (cut) => cut.allocations, cell: (cut) => count(cut.allocations) },
              { name: "Bytes", number: true, of: (cut) => cut.allocated_bytes, cell: (cut) => <span title={exactBytes(cut.allocated_bytes)}>{bytes(cut.allocated_bytes)}</span> },
              { name: "Why", wide: true, of: (cut) => cut.reason, cell: (cut) => CUTS[cut.reason] ?? cut.reason.replace(/_/g, " ") },
            ]} /> : <p>No stack ends early: all reach the first function of their thread.</p>}
        </>}
      </Pane>
      <h2>Events that were not recorded</h2>
      {absent.length || summary.perf ? <ul>{absent.map((kind) => <li key={kind.name}><b>{kind.words[0]!.toUpperCase() + kind.words.slice(1)}</b>: {kind.absence!.replace(/^[^;]*; /, "")}</li>)}
        {summary.perf && <li>{plain(summary.perf)}</li>}</ul> : <p>None: the trace has every kind of events.</p>}
    </div>
  );
}

function Counts({ summary }: { summary: Summary }) {
  const rows: [string, number][] = [
    ...Object.entries(summary.dropped).map(([reason, n]): [string, number] => [`dropped: ${reason}`, n]),
    ...Object.entries(summary.truncated).map(([reason, n]): [string, number] => [`stacks were cut: ${CUTS[reason] ?? reason.replace(/_/g, " ")}`, n]),
    ["frees of blocks that are not in the trace", summary.unknown_frees], ["blocks whose free is missing", summary.missed_frees],
    ["stacks with a guessed frame", summary.guessed_stacks], ["damaged parts of the file", summary.damaged_chunks],
    ["short-lived blocks of which only sums are kept", summary.culled_count],
  ];
  const shown = rows.filter(([, n]) => n);
  return <><h2>Problems while recording</h2>{shown.length ? <table class="plain-table"><tbody>{shown.map(([name, n]) =>
    <tr key={name}><td class="wide">{name}</td><td class="number least">{count(n)}</td></tr>)}</tbody></table> : <p>Nothing was dropped, cut, guessed or damaged.</p>}</>;
}
