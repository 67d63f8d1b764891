// SPDX-License-Identifier: MIT OR Apache-2.0
// Exports the matching blocks as files for other programs.
import { Look, lookedAt, StackSwitches, Transforms } from "../parts/controls";
import { copy } from "../parts/menu";
import { curl } from "../parts/pane";
import { exportedTransformsOf, filterOf, question } from "../state/route";
import { command, optionsOf, quoted } from "../text/shell";
import type { ViewProps } from "./view";

interface Format { name: string; file: string; for: string; costs?: boolean; blocks?: boolean }

const FORMATS: Format[] = [
  { name: "flamegraph", file: "flame.svg", for: "a picture that opens in any browser", costs: true },
  { name: "collapsed", file: "stacks.collapsed", for: "flamegraph.pl, inferno and other tools that read folded stacks", costs: true },
  { name: "speedscope", file: "heap.speedscope.json", for: "speedscope.app: a profile for each cost", costs: true },
  { name: "heapprofile", file: "heap.heapprofile", for: "the memory panel of Chrome's developer tools", costs: true },
  { name: "json", file: "stacks.json", for: "your own programs: every stack with all its numbers and frames" },
  { name: "callgrind", file: "heap.callgrind", for: "KCachegrind and callgrind_annotate: functions and their calls", costs: true },
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
  const transforms = exportedTransformsOf(route), changed = Object.values(transforms).some(Boolean);
  const asked = (format: Format): Record<string, string | undefined> => ({ ...(format.costs ? { cost, unit: speech.unit } : {}),
    events: events.name === "heap" ? undefined : events.name, ...(format.blocks ? {} : transforms) });
  const words = (format: Format): string | undefined => filterOf(route).has("at") ? undefined
    : command(["heapsonde export", `--format ${format.name}`, ...optionsOf(Object.entries(asked(format))), ...optionsOf(filterOf(route)), ...summary.symbol_options.map(quoted), `-o ${format.file}`, quoted(summary.trace)]);
  return (
    <>
      <div class="bar"><Look route={route} summary={summary} /><StackSwitches route={route} summary={summary} threads={false} /></div>
      <Transforms route={route} />
      <div class="scroll">
        {changed && <p>Formats with single blocks contain the stacks as they are, without the changes above.</p>}
        <table class="plain-table">
          <thead><tr><th>Format</th><th class="wide">For</th><th>Copy</th></tr></thead>
          <tbody>{FORMATS.filter((format) => !format.blocks || summary.holds !== "sums").map((format) => {
            const path = question(route, `export/${format.name}/${format.file}`, asked(format)), line = words(format);
            return <tr key={format.name}>
              <td><a href={path} download={format.file}>{format.name}</a></td>
              <td class="wide">{format.for}{format.blocks && <span class="faint">; contains single blocks or times, so it may be large</span>}</td>
              <td><span class="tools">{line && <button type="button" title={line} onClick={() => copy(line)}>Command</button>}
                <button type="button" onClick={() => copy(curl(path) + ` -o ${format.file}`)}>Curl</button></span></td>
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
