// SPDX-License-Identifier: MIT OR Apache-2.0
// All views of a trace. A new view needs a file and an entry here.
import type { ComponentType } from "preact";
import type { Summary } from "../data/types";
import type { Cost, ListRow } from "../data/types";
import { OF_TREES, type Route } from "../state/route";
import { command, optionsOf, quoted } from "../text/shell";
import { BlocksView } from "./blocks";
import { DiffView } from "./diff";
import { ExportView } from "./export";
import { FlameView } from "./flame";
import { FunctionsView } from "./functions";
import { GenerationsView } from "./generations";
import { MapsView } from "./maps";
import { OverviewView } from "./overview";
import { RecordingView } from "./recording";
import { StacksView } from "./stacks";
import { StaticsView } from "./statics";
import { SizesView, ThreadsView } from "./sums";
import { TimelineView } from "./timeline";
import { TreeView } from "./tree";
import type { ViewProps } from "./view";

export interface View {
  name: string;
  letter: string; // after the key g
  title: string;
  group: string;
  component: ComponentType<ViewProps>;
  blocks?: boolean; // of single blocks: an aggregate trace does not have it
  report?: (cost: Cost) => string; // the options of `heapsonde report` for the same data
}

export const VIEWS: View[] = [
  { name: "overview", letter: "o", title: "Overview", group: "Look", component: OverviewView, report: () => "" },
  { name: "flame", letter: "f", title: "Flame graph", group: "Who", component: FlameView },
  { name: "tree", letter: "t", title: "Call tree", group: "Who", component: TreeView, report: (cost) => `--tree --sort ${cost}` },
  { name: "functions", letter: "n", title: "Functions", group: "Who", component: FunctionsView, report: (cost) => `--bottom-up --sort ${cost}` },
  { name: "stacks", letter: "s", title: "Stacks", group: "What", component: StacksView, blocks: true, report: () => "--sort allocated --full-stacks" },
  { name: "blocks", letter: "b", title: "Blocks", group: "What", component: BlocksView, blocks: true },
  { name: "sizes", letter: "z", title: "Sizes, lifetimes", group: "What", component: SizesView, blocks: true },
  { name: "threads", letter: "h", title: "Threads", group: "What", component: ThreadsView, blocks: true },
  { name: "timeline", letter: "l", title: "Timeline", group: "When", component: TimelineView },
  { name: "generations", letter: "g", title: "Generations", group: "When", component: GenerationsView, blocks: true },
  { name: "diff", letter: "d", title: "Differences", group: "When", component: DiffView, blocks: true },
  { name: "maps", letter: "m", title: "Mappings", group: "Where", component: MapsView, blocks: true },
  { name: "statics", letter: "a", title: "Statics", group: "Where", component: StaticsView, blocks: true },
  { name: "recording", letter: "r", title: "Recording", group: "Also", component: RecordingView, report: () => "--modules" },
  { name: "export", letter: "x", title: "Export", group: "Also", component: ExportView },
];

// The command for the same data as text: a report where there is one, else the view's question; undefined: none, or the
// text contains characters that are unsafe in a terminal.
// `rows` are the traces of the server, by which another trace is named.
export function commandOf(view: View, route: Route, summary: Summary, cost: Cost, filter: URLSearchParams, path: string | undefined, rows: ListRow[]): string | undefined {
  const reports = view.report && !summary.dumps && !["events", "function", ...OF_TREES].some((name) => route.parameters.has(name)) && !filter.has("at") && !(view.name === "functions" && route.parameters.has("by"));
  if (!reports && !path)
    return undefined;
  const words = reports ? ["heapsonde report", view.report!(cost)] : ["heapsonde ask --text"];
  if (reports)
    words.push(...optionsOf(filter));
  words.push(...summary.symbol_options.map(quoted), quoted(summary.trace));
  if (!reports)
    words.push(...wordsOf(path!, rows));
  return command(words);
}

// A question as words of `heapsonde ask`.
function wordsOf(path: string, rows: ListRow[]): string[] {
  const [what = "", query = ""] = path.replace(/^\/data\/[^/]*\//, "").split(/\?(.*)/s);
  const file = (id: string): string => rows.find((row) => row.id === id)?.path ?? id;
  return [what, ...[...new URLSearchParams(query)].map(([name, value]) => quoted(`${name}=${name === "base" ? file(value) : value}`))];
}
