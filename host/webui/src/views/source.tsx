// SPDX-License-Identifier: MIT OR Apache-2.0
// Source files, and the lines of one with what was allocated on each. Without the text of the file, the lines with costs.
import { useState } from "preact/hooks";
import { useAnswer } from "../data/ask";
import type { Pair, Source, SourceLine, Summary, Totals, TotalsRow } from "../data/types";
import { partActions, toLines } from "../parts/actions";
import { Choice, Look, lookedAt } from "../parts/controls";
import { copy, Menu } from "../parts/menu";
import { name } from "../parts/name";
import { Pane } from "../parts/pane";
import { address, changed, exactly, go, question, type Route, toView } from "../state/route";
import { type Column, Table } from "../table/table";
import { baseName, count, counted, exactBytes, plain, share } from "../text/format";
import type { ViewProps } from "./view";

interface Asked { skip?: number; count?: number }

// Where lines are in another order than in the file, those without costs are left out.
export function sourceQuestion(route: Route, summary: Summary, page: Asked = { count: 40 }): string {
  const { events, cost, speech } = lookedAt(route, summary);
  const file = route.parameters.get("file"), sort = route.parameters.get("sort_by"), contains = route.parameters.get("contains") ?? undefined;
  const kind = { events: events.name === "heap" ? undefined : events.name, contains };
  if (!file)
    return question(route, "totals", { by: "source", sort_by: sort ?? `self.${cost}.${speech.unit}`, order: route.parameters.get("order") ?? "dsc", ...page, ...kind });
  const costly = (sort ?? "line") !== "line" || route.parameters.get("ui.lines") === "costly";
  return question(route, "source", { file, cost, lines: costly ? "costly" : undefined, sort_by: sort ?? "line", order: route.parameters.get("order") ?? "asc", ...page, ...kind });
}

export function SourceView(props: ViewProps) {
  return props.route.parameters.get("file") ? <Lines {...props} /> : <Files {...props} />;
}

function Search({ route, what }: { route: Route; what: string }) {
  return <input type="search" class="search" placeholder={what} aria-label={what} value={route.parameters.get("contains") ?? ""}
    onInput={(event) => go(changed(route, { contains: event.currentTarget.value || undefined }), true)} />;
}

// Columns for what a row allocated itself and with its callees.
function useAmounts<Row extends { self: TotalsRow["self"]; total: TotalsRow["total"] }>({ route, summary }: ViewProps, whole: number): Column<Row>[] {
  const { cost, speech } = lookedAt(route, summary);
  const pick = (pair: Pair | undefined): number => pair?.[speech.unit === "bytes" ? 0 : 1] ?? 0;
  const of = (part: "self" | "total") => (row: Row) => {
    const pair = row[part][cost];
    return pick(pair) ? <span title={`${exactBytes(pair![0])} in ${count(pair![1])}`}>{speech.value(pick(pair))}</span> : "";
  };
  return [
    { name: "Itself", sort: `self.${cost}.${speech.unit}`, number: true, title: "allocated there", cell: of("self") },
    { name: "With callees", sort: `total.${cost}.${speech.unit}`, number: true, title: "allocated there and in the functions that are called there", cell: of("total") },
    { name: "Share", number: true, title: "of all matching blocks, with callees; the dark part of the bar is memory that the line itself allocated", cell: (row) => pick(row.total[cost]) ? <span class="gutter">{share(pick(row.total[cost]), whole)}
      <svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="with" width={100 * pick(row.total[cost]) / (whole || 1)} height="10" /><rect width={100 * pick(row.self[cost]) / (whole || 1)} height="10" /></svg></span> : "" },
  ];
}

function useOrder(route: Route, first: string): [sort: string, order: string, onSort: (sort: string, order: string) => void] {
  return [route.parameters.get("sort_by") ?? first, route.parameters.get("order") ?? (first === "line" ? "asc" : "dsc"),
          (sort_by, order) => go(changed(route, { sort_by, order, "ui.line": undefined }))];
}

function Files(props: ViewProps) {
  const { route, summary } = props;
  const { cost, speech } = lookedAt(route, summary);
  const [sort, order, onSort] = useOrder(route, `self.${cost}.${speech.unit}`);
  const [sum, setSum] = useState<Totals["sum"]>({});
  const [menu, setMenu] = useState<{ row: TotalsRow; x: number; y: number } | undefined>();
  const contains = route.parameters.get("contains");
  const columns: Column<TotalsRow>[] = [
    ...useAmounts<TotalsRow>(props, sum[cost]?.[speech.unit === "bytes" ? 0 : 1] ?? 0),
    { name: "File", sort: "key", wide: true, cell: (row) => name(plain(row.key), row.key) },
    { name: "Library", sort: "library", cell: (row) => row.library ? plain(row.library) : "" },
  ];
  return (
    <>
      <div class="bar"><Look route={route} summary={summary} /><Search route={route} what="Search all files" /></div>
      <Table<TotalsRow> label="Source files" columns={columns} sort={sort} order={order} onSort={onSort}
        ask={(skip, pageCount) => sourceQuestion(route, summary, { skip, count: pageCount })}
        rows={(answer) => ({ rows: (answer as Totals).rows, total: (answer as Totals).total_count })} got={(answer) => setSum((answer as Totals).sum)}
        onOpen={(row) => go(toLines(route, { file: row.key }))} onMenu={(row, x, y) => setMenu({ row, x, y })}
        empty={contains ? `No file name contains \u201c${plain(contains)}\u201d.` : "No source file is known for the matching blocks. The view Recording names the files with debug information that are missing."} />
      {menu && <Menu x={menu.x} y={menu.y} title={menu.row.key} items={partActions(route, "source", menu.row.key)} close={() => setMenu(undefined)} />}
    </>
  );
}

// Tabs as four columns; nothing else is changed.
const textOfLine = (line: SourceLine): string => plain((line.text ?? "").replace(/\t/g, "    ")) + (line.cut ? "\u2026" : "");

function Lines(props: ViewProps) {
  const { route, summary } = props;
  const { cost, speech } = lookedAt(route, summary);
  const file = route.parameters.get("file")!, line = Number(route.parameters.get("ui.line") ?? 0), contains = route.parameters.get("contains");
  const [sort, order, onSort] = useOrder(route, "line");
  const [got, setGot] = useState<Source | undefined>();
  const [marked, mark] = useState<SourceLine | undefined>();
  const [menu, setMenu] = useState<{ row: SourceLine; x: number; y: number } | undefined>();
  const whole = got?.sum[cost]?.[speech.unit === "bytes" ? 0 : 1] ?? 0, known = got?.file === file ? got : undefined;
  const columns: Column<SourceLine>[] = [
    { name: "Line", sort: "line", number: true, cell: (row) => row.line || "none" },
    ...useAmounts<SourceLine>(props, whole),
    { name: "Text", wide: true, cell: (row) => row.text === null ? <span class="faint">{known?.absence ? "not shown" : "not in the file"}</span> : <code class="line-text" title={textOfLine(row)}>{textOfLine(row)}</code> },
  ];
  const all = sort === "line" && order === "asc" && route.parameters.get("ui.lines") !== "costly" && !contains;
  // Without a line in the address, the one with the most cost.
  const costliest = sort === "line" && !contains ? known?.costliest[cost]?.[speech.unit === "bytes" ? 0 : 1] : undefined;
  return (
    <>
      <div class="bar">
        <a class="button" href={address(changed(toView(route, "source"), { file: undefined }))}>{"\u2039"} All files</a>
        <Look route={route} summary={summary} />
        {known && !known.absence && <Choice label="Lines" now={sort !== "line" || route.parameters.get("ui.lines") === "costly" ? "costly" : "all"}
          to={(value) => address(changed(route, { "ui.lines": value === "costly" ? value : undefined, sort_by: undefined, order: undefined }))}
          choices={[{ value: "all", name: "All lines" }, { value: "costly", name: "Lines with costs" }]} />}
        {known && !known.absence && <Search route={route} what="Search in this file" />}
      </div>
      <FileSum route={route} summary={summary} file={file} />
      {known?.absence && <p class="note source-note">The text is not shown: {known.absence}.</p>}
      {known && known.modified_ns !== null && summary.start_realtime_ns > 0 && known.modified_ns > summary.start_realtime_ns &&
        <p class="note source-note">The file was changed after the program was started. Costs may be beside the wrong lines.</p>}
      {known && marked && marked.line === line && marked.text !== null && <p class="marked-line">{line}: <code>{textOfLine(marked).trim()}</code></p>}
      <div class="lines-of-file"><Table<SourceLine> label={`Lines of ${plain(baseName(file))}`} columns={columns} sort={sort} order={order} onSort={onSort}
        ask={(skip, pageCount) => sourceQuestion(route, summary, { skip, count: pageCount })}
        rows={(answer) => ({ rows: (answer as Source).rows, total: (answer as Source).total_count })}
        got={(answer) => {
          setGot(answer as Source);
          mark((before) => (answer as Source).rows.find((row) => row.line === line) ?? before);
        }}
        start={line <= 0 ? costliest : all && known && !known.absence ? line - 1 : undefined} isOpen={(row) => row.line === line}
        onOpen={(row) => (mark(row), go(changed(route, { "ui.line": String(row.line) }), true))} onMenu={(row, x, y) => setMenu({ row, x, y })}
        empty={contains ? `No line contains \u201c${plain(contains)}\u201d.` : "Nothing that matches was allocated in this file."} /></div>
      {menu && <Menu x={menu.x} y={menu.y} title={`${baseName(file)}:${menu.row.line}`} close={() => setMenu(undefined)} items={[
        { name: "Mark the line in the address", run: () => go(changed(route, { "ui.line": String(menu.row.line) }), true) },
        { name: "Copy file and line", group: "Copy", run: () => copy(`${file}:${menu.row.line}`) },
        ...(menu.row.text === null ? [] : [{ name: "Copy the text", group: "Copy" as const, run: () => copy(menu.row.text!) }]),
      ]} />}
    </>
  );
}

// What the whole file allocated, and the ways from it.
function FileSum({ route, summary, file }: ViewProps & { file: string }) {
  const { events, cost, speech } = lookedAt(route, summary);
  const path = question(route, "totals", { by: "source", file, events: events.name === "heap" ? undefined : events.name });
  const answer = useAnswer<Totals>(path);
  return (
    <Pane answer={answer} path={path}>{(data) => {
      const row = data.rows[0], own = row?.self[cost] ?? [0, 0], all = row?.total[cost] ?? [0, 0], at = speech.unit === "bytes" ? 0 : 1;
      return <p class="total" data-own={own[0]} data-with={all[0]}><b title={plain(file)}>{plain(baseName(file))}</b>{" "}
        {speech.value(own[at]!)} itself, {speech.value(all[at]!)} with callees{speech.thing === "blocks" && <>; {exactBytes(all[0])} in {counted(all[1], "blocks")}</>}
        <span class="tools">
          <a class="button" href={address(toView(route, "functions", { by: "source", function: file }))}>Its callers and callees</a>
          <a class="button" href={address(toView(route, "stacks", { source_regex: exactly(file) }))}>Its stacks</a></span></p>;
    }}</Pane>
  );
}
