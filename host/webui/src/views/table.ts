// SPDX-License-Identifier: MIT OR Apache-2.0
// All views of a trace. A new view needs a file and an entry here.
import type { ComponentType } from "preact";
import type { Summary } from "../data/types";
import type { Cost, ListRow } from "../data/types";
import { OF_TREES, type Route } from "../state/route";
import { command, optionsOf, quoted } from "../text/shell";
import { BlocksView } from "./blocks";
import { ConsoleView } from "./console";
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
import { SourceView } from "./source";
import { SizesView, ThreadsView } from "./sums";
import { TimelineView } from "./timeline";
import { TreemapView } from "./treemap";
import { TreeView } from "./tree";
import type { ViewProps } from "./view";

export interface View {
  name: string;
  letter: string; // after the key g
  title: string;
  group: string;
  about: string | ((route: Route) => string); // what is seen, and what a click does
  component: ComponentType<ViewProps>;
  blocks?: boolean; // of single blocks, which sums per stack do not have
  server?: boolean; // needs a server: a report in one file does not have it
  report?: (cost: Cost) => string; // the options of `heapsonde report` for the same data
}

const inverted = (route: Route): boolean => route.parameters.get("ui.inverted") === "1";

export const VIEWS: View[] = [
  { name: "overview", letter: "o", title: "Overview", group: "Look", about: "How much memory the program used, what looks wrong, and who requested the most.", component: OverviewView, report: () => "" },
  { name: "flame", letter: "f", title: "Flame graph", group: "Who", about: (route) => `Each box is a function. Its width is the memory ${inverted(route) ? "that was allocated at the end of this chain of calls; below each box are its callers" : "that it requested, with the functions that it calls below it"}. Click a box to zoom in.`, component: FlameView },
  { name: "tree", letter: "t", title: "Call tree", group: "Who", about: (route) => `Each row is a function. Below it are ${inverted(route) ? "its callers" : "the functions that it calls"}. Click a row to open or close it, right-click it for more.`, component: TreeView, report: (cost) => `--tree --sort ${cost}` },
  { name: "functions", letter: "n", title: "Functions", group: "Who", about: (route) => route.parameters.get("function") ? "One function between those that call it and those that it calls. Click a box to zoom in." : "Memory by the function that requested it: itself, and together with the functions that it calls. Click a row to look into it, right-click it for more.", component: FunctionsView, report: (cost) => `--bottom-up --sort ${cost}` },
  { name: "treemap", letter: "e", title: "Treemap", group: "Who", about: (route) => route.parameters.has("ui.function") ? "Each box is a line that requests memory. Its area is the amount. Click a box to see the line in its file."
    : route.parameters.has("ui.library") ? "Each box is a function of the library, with the lines in it that request memory. Its area is the amount. Click a box to look into it." : "Each box is a library. It contains its functions, and these the lines that request memory. Its area is the amount. Click a box to look into it.", component: TreemapView },
  { name: "source", letter: "c", title: "Source", group: "Who", about: (route) => route.parameters.has("file") ? "The lines of a source file, each with the memory that it allocated itself and with the functions that it calls. Click a line to mark it in the address." : "The source files of the program and of its libraries. Click a file to see its lines.", component: SourceView },
  { name: "stacks", letter: "s", title: "Stacks", group: "What", about: "One row for each call stack that allocated. Click a row to see the whole stack.", component: StacksView, blocks: true, report: () => "--sort allocated --full-stacks" },
  { name: "blocks", letter: "b", title: "Blocks", group: "What", about: "One row for each block of memory. Click a row to see who allocated and who freed it.", component: BlocksView, blocks: true },
  { name: "sizes", letter: "z", title: "Sizes, lifetimes", group: "What", about: "How large blocks are, and how long they live. Click a name to see only these blocks.", component: SizesView, blocks: true },
  { name: "threads", letter: "h", title: "Threads", group: "What", about: "How much each thread allocated, and which thread freed it. Click a name to see only its blocks.", component: ThreadsView, blocks: true },
  { name: "timeline", letter: "l", title: "Timeline", group: "When", about: "How memory changed while the program ran. Drag over the heap above to look at a part of the time.", component: TimelineView },
  { name: "generations", letter: "g", title: "Generations", group: "When", about: "Each row is a part of the time: the memory that was allocated in it, and how much of that is still live. If every row leaves about the same, memory grows in each round.", component: GenerationsView, blocks: true },
  { name: "diff", letter: "d", title: "Differences", group: "When", about: "The functions whose memory grew or shrank between two instants, two ranges or two traces. Click a function to open it.", component: DiffView },
  { name: "maps", letter: "m", title: "Mappings", group: "Where", about: "Where memory is: how full the heap is, and the mappings of the process. Play shows how they change. Click a mapping to see its parts.", component: MapsView, blocks: true },
  { name: "statics", letter: "a", title: "Statics", group: "Where", about: "Memory that initialisers of global objects allocated and that is still live, by the line of the object.", component: StaticsView, blocks: true },
  { name: "recording", letter: "r", title: "Recording", group: "Also", about: "How complete the recording is, and which files or options would show more.", component: RecordingView, report: () => "--modules" },
  { name: "export", letter: "x", title: "Export", group: "Also", about: "Files for other programs, with the data that matches the filter. Formats with one number per stack contain the cost that is selected below.", component: ExportView, server: true },
  { name: "console", letter: "j", title: "Console", group: "Also", about: "JavaScript that asks questions about this trace. It runs in a frame that reaches nothing else.", component: ConsoleView, server: true },
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
