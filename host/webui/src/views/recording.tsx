// SPDX-License-Identifier: MIT OR Apache-2.0
// What is missing in the recording, and what would mend it.
import { useAnswer } from "../data/ask";
import type { Recording, Summary } from "../data/types";
import { copy } from "../parts/menu";
import { Pane } from "../parts/pane";
import { question } from "../state/route";
import { bytes, count, plain, share } from "../text/format";
import type { ViewProps } from "./view";

const OPTIONS: Record<string, string> = { below_sysroot: "--sysroot", below_debug_dir: "--debug-dir", beside_it: "beside the library" };

export function RecordingView({ route, summary }: ViewProps) {
  const path = question(route, "recording");
  const answer = useAnswer<Recording>(path);
  return (
    <div class="scroll recording">
      <Counts summary={summary} />
      <h2>Modules without symbols</h2>
      <Pane answer={answer} path={path}>
        {(data) => <>
          {data.missing_symbols.length ? <table class="plain-table">
            <thead><tr><th class="number">Bytes through it</th><th class="number">Unnamed frames</th><th class="wide">Module</th><th class="wide">What would mend it</th></tr></thead>
            <tbody>{data.missing_symbols.map((module) => <tr key={module.module}>
              <td class="number">{bytes(module.allocated_bytes ?? 0)} ({share(module.allocated_bytes ?? 0, summary.allocated_bytes)})</td>
              <td class="number">{count(module.unnamed_frames)} of {count(module.frames)}</td>
              <td class="wide">{plain(module.module) || "code without a file"}<br /><span class="faint">{module.reason?.replace(/_/g, " ")}{module.build_id && `; build id ${module.build_id}`}</span></td>
              <td class="wide">{Object.entries(module.wanted).map(([where, file]) => <p key={where}><span class="faint">{OPTIONS[where] ?? where}</span> <code>{plain(file)}</code>{" "}
                <button type="button" onClick={() => copy(file)}>Copy</button></p>)}</td>
            </tr>)}</tbody>
          </table> : <p>Every module of the stacks has names and lines.</p>}
          <h2>Stacks that end early</h2>
          {data.cut_stacks.length || data.guessed.stacks ? <table class="plain-table">
            <thead><tr><th class="number">Stacks</th><th class="number">Blocks</th><th class="number">Bytes</th><th class="wide">Why</th></tr></thead>
            <tbody>
              {data.cut_stacks.map((cut) => <tr key={cut.reason}><td class="number">{count(cut.stacks)}</td><td class="number">{count(cut.allocations)}</td>
                <td class="number">{bytes(cut.allocated_bytes)}</td><td class="wide">{cut.reason.replace(/_/g, " ")}</td></tr>)}
              {data.guessed.stacks > 0 && <tr><td class="number">{count(data.guessed.stacks)}</td><td class="number">{count(data.guessed.allocations)}</td>
                <td class="number">{bytes(data.guessed.allocated_bytes)}</td><td class="wide">a frame is guessed</td></tr>}
            </tbody>
          </table> : <p>None.</p>}
        </>}
      </Pane>
      <h2>What else could be recorded</h2>
      <ul>{summary.events.filter((kind) => kind.absence).map((kind) => <li key={kind.name}><b>{kind.words}</b>: the trace {kind.absence}</li>)}
        {summary.perf && <li>{plain(summary.perf)}</li>}</ul>
    </div>
  );
}

function Counts({ summary }: { summary: Summary }) {
  const rows: [string, number][] = [
    ...Object.entries(summary.dropped).map(([reason, n]): [string, number] => [`dropped: ${reason}`, n]),
    ...Object.entries(summary.truncated).map(([reason, n]): [string, number] => [`walks cut: ${reason.replace(/_/g, " ")}`, n]),
    ["frees of blocks that the trace does not know", summary.unknown_frees], ["blocks whose free is missing", summary.missed_frees],
    ["stacks with a guessed frame", summary.guessed_stacks], ["damaged parts of the file", summary.damaged_chunks],
    ["short-lived blocks that were only summed up", summary.culled_count],
  ];
  const shown = rows.filter(([, n]) => n);
  return <><h2>Counted while recording</h2>{shown.length ? <table class="plain-table"><tbody>{shown.map(([name, n]) =>
    <tr key={name}><td class="number">{count(n)}</td><td class="wide">{name}</td></tr>)}</tbody></table> : <p>Nothing was dropped, cut, guessed or damaged.</p>}</>;
}
