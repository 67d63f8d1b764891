// SPDX-License-Identifier: MIT OR Apache-2.0
// A table of any number of rows, which requests only the visible ones. With more than a million rows the scroll bar is
// scaled; keys and the wheel are exact.
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { ask, askOrKept, keptAnswer, Refusal, refusalOf, repeatLater, useBack } from "../data/ask";
import { report } from "../data/report";
import { useRowHigh } from "../parts/density";
import { high } from "../parts/high";
import { hover, useHover } from "../parts/hover";
import { copy } from "../parts/menu";
import { Problem, Working } from "../parts/pane";
import { count } from "../text/format";
import { line, save, textOf } from "./text";

export interface Column<Row> {
  name: string;
  sort?: string;          // what REST sorts by
  number?: boolean;
  wide?: boolean;
  title?: string;
  cell: (row: Row, at: number) => ComponentChildren;
}

interface Props<Row> {
  label: string;
  columns: Column<Row>[];
  ask: (skip: number, count: number) => string;
  rows: (answer: unknown) => { rows: Row[]; total: number };
  got?: (answer: unknown) => void;   // an answer about what is shown
  sort: string;
  order: string;
  onSort: (sort: string, order: string) => void;
  onOpen?: (row: Row) => void;
  onMenu?: (row: Row, x: number, y: number) => void;
  isOpen?: (row: Row) => boolean;    // shown beside the table
  start?: number;                    // the row that is shown at first
  functionOf?: (row: Row) => string; // the function of a row, which other parts of the page mark
  empty: ComponentChildren;
}

// A page is little more than what is visible, so that it comes fast; AHEAD screens are prefetched. One screen ahead and
// BEHIND rows are drawn. A report in one file has one page of each table.
const PAGE = report ? 100 : 40, AHEAD = 4, BEHIND = 8, MOST_HIGH = 12_000_000, PAGES = 40, SAVED = 1000;

function pagesOf(from: number, to: number, total: number): number[] {
  const begin = Math.floor(Math.max(0, from) / PAGE), end = Math.floor((Math.min(total, to) - 1) / PAGE);
  return Array.from({ length: Math.max(0, end - begin + 1) }, (_, i) => begin + i);
}

// The pages that are not there: those with visible rows, and those to prefetch, which are ahead in the direction of
// scrolling, the nearest first, and behind.
export function pagesWanted(top: number, visible: number, down: boolean, total: number, has: (page: number) => boolean): { seen: number[]; later: number[] } {
  const missing = (from: number, to: number): number[] => pagesOf(from, to, total).filter((page) => !has(page));
  const seen = missing(top, top + visible);
  const below = missing(top + visible, top + (down ? 1 + AHEAD : 2) * visible);
  const above = missing(top - (down ? 1 : AHEAD) * visible, top).reverse();
  return { seen, later: (down ? [...below, ...above] : [...above, ...below]).filter((page) => !seen.includes(page)) };
}

export function Table<Row>(props: Props<Row>) {
  const pane = useRef<HTMLDivElement>(null);
  const hovered = useHover(), HIGH = useRowHigh();
  const [top, setTop] = useState(0); // the first visible row
  const [visible, setVisible] = useState(20);
  // The previous rows stay until those of the next request arrive.
  const [got, setGot] = useState<{ of: string; total: number; pages: Map<number, Row[]> } | undefined>();
  const [round, again] = useState(0);
  const [at, setAt] = useState(0);
  const whole = props.ask(0, PAGE);
  const [failed, setFailed] = useState<{ of: string; why: Refusal } | undefined>();
  const problem = failed?.of === whole ? failed.why : undefined, setProblem = (why: Refusal | undefined): void => setFailed(why && { of: whole, why });
  useBack(problem, () => again((before) => before + 1));

  const total = got?.total, pages = got?.pages ?? new Map<number, Row[]>(), fresh = got?.of === whole;

  useLayoutEffect(() => {
    setTop(0);
    setAt(0);
    if (pane.current)
      pane.current.scrollTop = 0;
  }, [whole]);

  useEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setVisible(Math.ceil(entry!.contentRect.height / HIGH)));
    watcher.observe(pane.current!);
    return () => watcher.disconnect();
  }, [HIGH]);

  const take = (page: number, answer: unknown): void => {
    const { rows, total: all } = props.rows(answer);
    props.got?.(answer);
    setGot((before) => {
      const after = new Map(before?.of === whole ? before.pages : []).set(page, rows);
      for (const other of after.keys())
        if (after.size > PAGES && Math.abs(other - page) > PAGES / 2)
          after.delete(other);
      return { of: whole, total: report ? Math.min(all, PAGE) : all, pages: after };
    });
  };

  // What was looked at a moment ago is there in the first picture.
  useLayoutEffect(() => {
    const answer = keptAnswer(whole);
    if (answer !== undefined)
      take(0, answer);
  }, [whole]);

  const way = useRef<{ at: number; down: boolean }>({ at: 0, down: true });
  if (way.current.at !== top)
    way.current = { at: top, down: top > way.current.at };
  const down = way.current.down, first = Math.max(0, top - (down ? BEHIND : visible)), last = Math.min(total ?? Infinity, top + visible + (down ? visible : BEHIND));
  const { seen, later } = pagesWanted(top, visible, down, fresh ? total! : 1, (page) => fresh && pages.has(page));
  // While visible rows are missing nothing else is asked, so that the server works on them alone.
  const asked = seen.length ? seen : later;
  const running = useRef(new Map<number, AbortController>());
  // Asking again by itself: how often so far, and the next time. Meanwhile, what failed is shown.
  const repeats = useRef<{ before: number; timer?: ReturnType<typeof setTimeout> | undefined }>({ before: 0 });
  const [repeat, setRepeat] = useState(0), repeated = useRef(0);
  const abortAll = (): void => {
    clearTimeout(repeats.current.timer);
    for (const end of running.current.values())
      end.abort();
    running.current.clear();
  };
  const fails = (reason: unknown): void => {
    const why = refusalOf(reason);
    clearTimeout(repeats.current.timer);
    repeats.current.timer = repeatLater(why, repeats.current.before, () => {
      repeats.current.before++;
      setRepeat((number) => number + 1);
    });
    setProblem(why);
  };
  useEffect(() => abortAll, [whole, round]);
  // A request goes on as long as its rows are wanted, also if others are by now.
  useEffect(() => {
    if (repeated.current === repeat) {
      clearTimeout(repeats.current.timer);
      repeats.current.before = 0;
      setProblem(undefined);
    }
    repeated.current = repeat;
    for (const [page, end] of running.current)
      if (!seen.includes(page) && !later.includes(page))
        end.abort(), running.current.delete(page);
    for (const page of asked) {
      if (running.current.has(page))
        continue;
      const end = new AbortController();
      running.current.set(page, end);
      const done = (): boolean => running.current.get(page) === end && running.current.delete(page) && !end.signal.aborted;
      askOrKept<unknown>(props.ask(page * PAGE, PAGE), end.signal).then((answer) => {
        if (done())
          take(page, answer);
      }, (reason: unknown) => done() && fails(reason));
    }
  }, [whole, seen.join(), later.join(), round, repeat]);

  const rows = total ?? 0, real = rows * HIGH, space = Math.min(real, MOST_HIGH);
  const scale = real > space ? (real - visible * HIGH) / Math.max(1, space - visible * HIGH) : 1;
  const stays = useRef<number | undefined>(undefined);
  const moved = (): void => { stays.current = undefined; };
  const scrollTo = (row: number): void => {
    const begin = Math.max(0, Math.min(rows - visible + 1, row));
    setTop(begin);
    pane.current!.scrollTop = begin * HIGH / scale;
  };
  const goTo = (row: number): void => {
    moved();
    const to = Math.max(0, Math.min(rows - 1, row));
    setAt(to);
    if (to < top || to >= top + visible - 2)
      scrollTo(to < top ? to : to - visible + 3);
  };
  const scrolled = (): void => {
    const now = Math.round(pane.current!.scrollTop * scale / HIGH);
    if (Math.abs(now - top) > (scale > 1 ? scale / HIGH + 1 : 0))
      setTop(now);
    else if (scale === 1)
      setTop(now);
  };
  // In the middle, where it was not visible. The table gets its height while other parts of the page are drawn: until
  // someone moves in it, the row stays visible.
  useLayoutEffect(() => {
    stays.current = fresh && props.start !== undefined && props.start < rows ? props.start : undefined;
    if (stays.current !== undefined)
      setAt(stays.current);
  }, [whole, fresh, props.start]);
  useLayoutEffect(() => {
    const row = stays.current;
    if (row !== undefined && visible > 2 && (row < top || row >= top + visible - 2))
      scrollTo(row - Math.floor(visible / 2));
  }, [whole, fresh, props.start, visible]);
  // With rows of another height, the first row stays the first.
  useLayoutEffect(() => {
    pane.current!.scrollTop = top * HIGH / scale;
  }, [HIGH]);
  const key = (event: KeyboardEvent): void => {
    moved();
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: visible - 2, PageUp: 2 - visible, Home: -rows, End: rows };
    const row = pages.get(Math.floor(at / PAGE))?.[at % PAGE];
    if (event.key in steps && event.target === pane.current)
      goTo(at + steps[event.key]!);
    else if (event.key === "Enter" && row && event.target === pane.current)
      props.onOpen?.(row);
    else if (event.key === "." && row && props.onMenu && event.target === pane.current)
      props.onMenu(row, 200, 200);
    else
      return;
    event.preventDefault();
  };

  const cellsOf = (row: Row, i: number): string[] => props.columns.map((column) => textOf(column.cell(row, i)));
  const current = fresh ? pages.get(Math.floor(at / PAGE))?.[at % PAGE] : undefined;
  const saveRows = (): void => {
    const end = new AbortController();
    ask<unknown>(props.ask(0, SAVED), end.signal).then((answer) => save(props.label.toLowerCase().replace(/[^a-z]+/g, "-") + ".csv", "text/csv",
      [props.columns.map((column) => column.name), ...props.rows(answer).rows.map(cellsOf)].map((cells) => line(cells, ",")).join("")),
      (reason: unknown) => setProblem(refusalOf(reason)));
  };

  const list: ComponentChildren[] = [];
  for (let i = first; i < last && i < rows; i++) {
    const row = pages.get(Math.floor(i / PAGE))?.[i % PAGE];
    list.push(
      <tr key={i} aria-rowindex={i + 2} class={(i === at ? "at" : "") + (row && props.isOpen?.(row) ? " open" : "") + (row && hovered && props.functionOf?.(row) === hovered ? " hovered" : "")}
          onMouseEnter={() => row && props.functionOf && hover(props.functionOf(row))} onMouseLeave={() => props.functionOf && hover(undefined)}
          onClick={() => (setAt(i), row && props.onOpen?.(row))}
          onContextMenu={(event) => {
            if (row && props.onMenu)
              event.preventDefault(), setAt(i), props.onMenu(row, event.clientX, event.clientY);
          }}>
        {props.columns.map((column) => <td class={column.number ? "number" : column.wide ? "wide" : ""} key={column.name}>
          {row ? column.cell(row, i) : <span class="missing" />}</td>)}
      </tr>);
  }
  // Two columns may show the same number; one arrow says what sorts.
  const sorts = props.columns.findIndex((column) => column.sort === props.sort);
  const offset = scale > 1 ? (pane.current?.scrollTop ?? 0) - (top - first) * HIGH : first * HIGH;
  return (
    <div class={"table" + (got && !fresh && !problem ? " stale" : "")} data-state={problem ? "problem" : fresh && !seen.length ? "ready" : "loading"}>
      {!problem && (!fresh || seen.length > 0) && <Working since={whole + seen.join()} cancel={() => (abortAll(), setProblem(new Refusal(-1, "Cancelled.")))} />}
      {problem && <Problem problem={problem} retry={() => again(round + 1)} />}
      <div class="table-pane" ref={pane} tabIndex={0} role="group" aria-label={props.label} onScroll={scrolled} onKeyDown={key} onWheel={moved} onPointerDown={moved} onTouchMove={moved}>
        <table aria-rowcount={total === undefined ? -1 : total + 1}>
          <thead>
            <tr aria-rowindex={1}>{props.columns.map((column, i) => <th class={column.number ? "number" : column.wide ? "wide" : ""} key={column.name} scope="col"
              aria-sort={i === sorts ? (props.order === "dsc" ? "descending" : "ascending") : undefined}>
              {column.sort ? <button type="button" title={column.title}
                onClick={() => props.onSort(column.sort!, column.sort === props.sort && props.order === "dsc" ? "asc" : "dsc")}>
                {column.name}{i === sorts ? (props.order === "dsc" ? " \u25bc" : " \u25b2") : ""}
              </button> : <span title={column.title}>{column.name}</span>}</th>)}</tr>
          </thead>
          <tbody>
            <tr class="space" aria-hidden="true"><td colSpan={props.columns.length}
              ref={high(Math.max(0, offset))} /></tr>
            {list}
            <tr class="space" aria-hidden="true"><td colSpan={props.columns.length}
              ref={high(Math.max(0, space - Math.max(0, offset) - list.length * HIGH))} /></tr>
          </tbody>
        </table>
        {total === 0 && <div class="empty">{props.empty}</div>}
      </div>
      <p class="foot" role="status">{total === undefined ? "" : `row ${count(Math.min(rows, at + 1))} of ${count(rows)}`}
        {rows > 0 && <span class="tools">
          <button type="button" disabled={!current} title="copy the cells, separated by tabs, for a spreadsheet" onClick={() => current && copy(line(cellsOf(current, at), "\t"))}>Copy row</button>
          <button type="button" title={`the first ${count(Math.min(rows, SAVED))} rows in this order`} onClick={saveRows}>Save CSV</button></span>}
        {rows > visible && <label> Go to row <input type="number" min={1} max={rows} size={8}
          onChange={(event) => goTo(Number(event.currentTarget.value) - 1)} /></label>}</p>
    </div>
  );
}
