// SPDX-License-Identifier: MIT OR Apache-2.0
// Exports the matching blocks as files for other programs.
import { Look, lookedAt } from "../parts/controls";
import { copy } from "../parts/menu";
import { curl } from "../parts/pane";
import { question } from "../state/route";
import type { ViewProps } from "./view";

const FORMATS: { name: string; file: string; for: string; costs?: boolean; blocks?: boolean }[] = [
  { name: "flamegraph", file: "flame.svg", for: "a picture that opens in any browser", costs: true },
  { name: "collapsed", file: "stacks.collapsed", for: "flamegraph.pl, inferno and other tools that read folded stacks", costs: true },
  { name: "speedscope", file: "heap.speedscope.json", for: "speedscope", costs: true },
  { name: "heapprofile", file: "heap.heapprofile", for: "the memory panel of Chrome's developer tools", costs: true },
  { name: "json", file: "stacks.json", for: "your own programs: every stack with all its numbers and frames" },
  { name: "perfetto", file: "heap.perfetto", for: "ui.perfetto.dev" },
  { name: "firefox", file: "heap.firefox.json", for: "the Firefox Profiler", blocks: true },
  { name: "heaptrack", file: "heap.heaptrack", for: "heaptrack_gui and heaptrack_print", blocks: true },
  { name: "dhat", file: "heap.dhat.json", for: "Valgrind's dh_view", blocks: true },
  { name: "massif", file: "heap.massif", for: "ms_print and massif-visualizer", blocks: true },
  { name: "csv", file: "blocks.csv", for: "spreadsheets: one line per block", blocks: true },
  { name: "parquet", file: "blocks.parquet", for: "databases: one row per block", blocks: true },
  { name: "jsonl", file: "blocks.jsonl", for: "your own programs: one line of JSON per stack and per block", blocks: true },
  { name: "replay", file: "blocks.replay", for: "programs that repeat all operations of the allocator", blocks: true },
];

export function ExportView({ route, summary }: ViewProps) {
  const { events, cost, speech } = lookedAt(route, summary);
  return (
    <>
      <div class="bar"><Look route={route} summary={summary} /></div>
      <div class="scroll">
        <p>The files contain what matches the filter. Formats with one number per stack contain the cost that is selected above.</p>
        <table class="plain-table">
          <thead><tr><th>Format</th><th class="wide">For</th><th>Command</th></tr></thead>
          <tbody>{FORMATS.filter((format) => !format.blocks || summary.holds !== "sums").map((format) => {
            const path = question(route, `export/${format.name}/${format.file}`, { ...(format.costs ? { cost, unit: speech.unit } : {}), events: events.name === "heap" ? undefined : events.name });
            return <tr key={format.name}>
              <td><a href={path} download={format.file}>{format.name}</a></td>
              <td class="wide">{format.for}{format.blocks && <span class="faint">; contains single blocks or times, so it may be large</span>}</td>
              <td><button type="button" onClick={() => copy(curl(path) + ` -o ${format.file}`)}>Copy curl</button></td>
            </tr>;
          })}
            <tr><td><a href={question(route, "export/html/report.html", {}, false)} download="report.html">html</a></td>
              <td class="wide">people without heapsonde: this page in one file, to send; of the whole trace, without the filter</td>
              <td><button type="button" onClick={() => copy(curl(question(route, "export/html/report.html", {}, false)) + " -o report.html")}>Copy curl</button></td></tr>
            <tr><td><a href={question(route, "allocation_ascii_tree")} target="_blank" rel="noopener">tree as text</a></td><td class="wide">reading, and for bug reports</td><td /></tr>
          </tbody>
        </table>
      </div>
    </>
  );
}
