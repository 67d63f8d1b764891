// SPDX-License-Identifier: MIT OR Apache-2.0
// Sums by function, library, file or line; and one function between its callers and callees.
import { useMemo, useState } from "preact/hooks";
import { Flame } from "../canvas/flame";
import { makeModel, nameOf, readPath, valueOf } from "../canvas/model";
import { useAnswer } from "../data/ask";
import type { Cost, Totals, TotalsRow, TreeColumns } from "../data/types";
import { functionActions, linesOf, partActions, toLines } from "../parts/actions";
import { Choice, Look, lookedAt, none } from "../parts/controls";
import { OverTime } from "../parts/inspector";
import { Menu } from "../parts/menu";
import { name } from "../parts/name";
import { Pane } from "../parts/pane";
import { address, changed, exactly, go, question } from "../state/route";
import { type Column, Table } from "../table/table";
import { COSTS } from "../text/words";
import { count, counted, exactBytes, isUnnamed, plain, share, shortName, singular } from "../text/format";
import type { ViewProps } from "./view";

const BY = [{ value: "function", name: "Functions" }, { value: "library", name: "Libraries" },
            { value: "source", name: "Files" }, { value: "line", name: "Lines" },
            { value: "requester", name: "Requesters", title: "the functions that requested memory, as in reports: functions of allocators and of the standard library are skipped" },
            { value: "requester_library", name: "Their libraries", title: "the libraries of these functions" }];

export function FunctionsView(props: ViewProps) {
  return props.route.parameters.get("function") ? <Sandwich {...props} /> : <List {...props} />;
}

function List({ route, summary }: ViewProps) {
  const { events, cost, speech } = lookedAt(route, summary);
  const by = route.parameters.get("by") ?? "function", contains = route.parameters.get("contains") ?? "";
  const sort = route.parameters.get("sort_by") ?? `self.${cost}.${speech.unit}`, order = route.parameters.get("order") ?? "dsc";
  const ofFunctions = by === "function" || by === "requester", ofLibraries = by === "library" || by === "requester_library";
  const [sum, setSum] = useState<Totals["sum"]>({});
  const [menu, setMenu] = useState<{ row: TotalsRow; x: number; y: number } | undefined>();
  const whole = sum[cost]?.[speech.unit === "bytes" ? 0 : 1] ?? 0;
  const pick = (pair: [number, number] | undefined): number => pair?.[speech.unit === "bytes" ? 0 : 1] ?? 0;
  const faintZero = (pair: [number, number] | undefined): string | undefined => pick(pair) ? undefined : "faint";
  const amount = (part: "self" | "total", title: string): Column<TotalsRow>[] => [
    { name: part === "total" ? "With callees" : by.startsWith("requester") ? "Requested" : "Itself", sort: `${part}.${cost}.${speech.unit}`, number: true, title,
      cell: (row) => <span class={faintZero(row[part][cost])} title={row[part][cost] && `${exactBytes(row[part][cost]![0])} in ${count(row[part][cost]![1])}`}>{speech.value(pick(row[part][cost]))}</span> },
    { name: "Share", sort: `${part}.${cost}.${speech.unit}`, number: true, title: "of all matching blocks", cell: (row) => <span class={faintZero(row[part][cost])}>{share(pick(row[part][cost]), whole)}</span> },
  ];
  const other: Cost[] = events.costs.filter((one) => one !== cost);
  const columns: Column<TotalsRow>[] = [
    ...amount("self", by.startsWith("requester") ? "requested by it" : "allocated by the function itself"),
    ...(by.startsWith("requester") ? [] : amount("total", "allocated by it and its callees")),
    { name: ofFunctions ? "Function" : ofLibraries ? "Library" : by === "source" ? "File" : "Line", sort: "key", wide: true,
      cell: (row) => name(ofFunctions ? shortName(row.key) : by === "line" ? `${plain(row.key)}:${row.line}` : plain(row.key), by === "line" ? `${row.key}:${row.line}` : row.key) },
    ...(ofLibraries ? [] : [{ name: "Library", sort: "library", cell: (row: TotalsRow) => row.library ? plain(row.library) : "" }]),
    ...(events.name === "heap" ? other.map((one): Column<TotalsRow> => ({
      name: { peak: "Peak", live: "Still live", allocated: "Allocated", temporary: "Temporary" }[one], sort: `total.${one}.${speech.unit}`, number: true,
      title: COSTS[one].explained + ", of it and its callees", cell: (row) => <span class={faintZero(row.total[one])} title={row.total[one] && `${exactBytes(row.total[one]![0])} in ${counted(row.total[one]![1], "blocks")}`}>{speech.value(pick(row.total[one]))}</span> })) : []),
  ];
  const open = (row: TotalsRow): void =>
    by === "line" ? go(toLines(route, { file: row.key, line: row.line })) : ofFunctions ? go(changed(route, { function: row.key, by: undefined }))
      : go(changed(route, ofLibraries ? { library: row.key, by: undefined } : { source_regex: exactly(row.key), by: undefined }));
  return (
    <>
      <div class="bar">
        <Look route={route} summary={summary} />
        <Choice label="Sums of" now={by} to={(value) => address(changed(route, { by: value === "function" ? undefined : value }))} choices={BY} />
        <input type="search" class="search" placeholder="Search all names" aria-label="Search all names" value={contains}
          onInput={(event) => go(changed(route, { contains: event.currentTarget.value || undefined }), true)} />
      </div>
      <Table<TotalsRow> label={`Sums by ${by}`} columns={columns} sort={sort} order={order}
        ask={(skip, pageCount) => question(route, "totals", { by, contains: contains || undefined, sort_by: sort, order, skip, count: pageCount,
          events: events.name === "heap" ? undefined : events.name })}
        rows={(answer) => ({ rows: (answer as Totals).rows, total: (answer as Totals).total_count })} got={(answer) => setSum((answer as Totals).sum)}
        onSort={(sort_by, next) => go(changed(route, { sort_by, order: next }))}
        functionOf={ofFunctions ? (row) => row.key : undefined} onOpen={open} onMenu={by === "line" ? undefined : (row, x, y) => setMenu({ row, x, y })}
        empty={contains ? `No name contains \u201c${plain(contains)}\u201d.` : none(route, singular(events.thing))} />
      {menu && <Menu x={menu.x} y={menu.y} title={menu.row.key} items={ofFunctions ? [...functionActions(changed(route, { by: undefined }), menu.row.key), ...linesOf(route, menu.row.source ? { file: menu.row.source } : undefined)] : partActions(route, ofLibraries ? "library" : by, menu.row.key)} close={() => setMenu(undefined)} />}
    </>
  );
}

function Sandwich({ route, summary }: ViewProps) {
  const { events, cost, speech } = lookedAt(route, summary);
  const whole = route.parameters.get("function")!, by = route.parameters.get("by") ?? "function";
  const path = question(route, "sandwich", { function: whole, by: by === "function" ? undefined : by, cost, format: "columns", nodes: 4000, least: 0.01, depth: 500,
    events: events.name === "heap" ? undefined : events.name });
  const answer = useAnswer<{ callers: TreeColumns; callees: TreeColumns }>(path);
  const models = useMemo(() => answer.data && { callers: makeModel(answer.data.callers, [], whole), callees: makeModel(answer.data.callees, [], whole) }, [answer.data]);
  return (
    <>
      <div class="bar">
        <a class="button" href={address(changed(route, { function: undefined }))}>{"\u2039"} All {by === "library" ? "libraries" : by === "source" ? "files" : "functions"}</a>
        <Look route={route} summary={summary} />
      </div>
      <Pane answer={answer} path={path} empty={(data) => data.callees.size[0] || data.callees.count[0] ? undefined
        : <p class="empty">Nothing to show: no matching block was allocated by {plain(whole)} or its callees.</p>}>
        {() => models && <div class="sandwich" data-bytes={models.callees.columns.size[0]}>
          <h2 title={plain(whole)}>{shortName(whole)}</h2>
          <p class="total"><b>{speech.value(valueOf(models.callees, 0, speech.unit))}</b> with callees, itself{" "}
            {speech.value(speech.unit === "bytes" ? models.callees.columns.self_size[0]! : models.callees.columns.self_count[0]!)}
            {speech.thing === "blocks" && <>; {exactBytes(models.callees.columns.size[0]!)} in {counted(models.callees.columns.count[0]!, "blocks")}</>}</p>
          {by === "function" && events.name === "heap" && summary.holds !== "sums" && !isUnnamed(whole) && <div class="when"><OverTime route={changed(route, { function: undefined })} name={whole} /></div>}
          {(["callers", "callees"] as const).map((half) => {
            const model = models[half];
            return <section key={half} class="half">
              <h3>{half === "callers" ? "Callers" : "Callees"} <span class="faint">{half === "callers" ? "each box is called by the box below it" : "each box calls the boxes below it"}</span></h3>
              <Flame model={model} speech={speech} whole={valueOf(model, 0, speech.unit)} zoom={readPath(route.parameters.get("ui.zoom_" + half))} search="" flame={false} other={answer.other}
                label={half === "callers" ? `Callers of ${plain(whole)}` : `Callees of ${plain(whole)}`}
                onZoom={(to) => go(changed(route, { ["ui.zoom_" + half]: to.join(".") || undefined }))}
                actions={(of, node) => node ? functionActions(route, nameOf(of, node)) : by === "function" ? functionActions(route, whole) : partActions(route, by, whole)} />
            </section>;
          })}
        </div>}
      </Pane>
    </>
  );
}
