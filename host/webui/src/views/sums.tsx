// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads, sizes and lifetimes as bars; a bar is a filter.
import { useAnswer } from "../data/ask";
import type { Cost, Totals, TotalsRow } from "../data/types";
import { Look, lookedAt, none } from "../parts/controls";
import { Pane } from "../parts/pane";
import { address, changed, question, type Route } from "../state/route";
import { PlainTable } from "../table/plain";
import { COSTS } from "../text/words";
import { bytes, count, counted, duration, exactBytes, plain, share, singular } from "../text/format";
import { ThreadMatrix } from "./thread_matrix";
import type { ViewProps } from "./view";

const MOST = 1000; // rows

type Kind = "thread" | "size" | "lifetime";

const SAID: Record<Kind, { title: string; explained: string }> = {
  thread: { title: "Threads", explained: "by the thread that allocated" },
  size: { title: "Sizes", explained: "by requested size, in powers of two" },
  lifetime: { title: "Lifetimes", explained: "from allocation to free, in powers of two" },
};

function name(kind: Kind, row: TotalsRow): string {
  if (kind === "thread")
    return `${plain(row.key) || "thread"} ${row.thread ?? ""}`;
  if (row.from === null || row.from === undefined)
    return "never freed";
  const text = kind === "size" ? bytes : duration;
  return row.to === 1 ? text(0) : row.to ? `${text(row.from)} to ${text(row.to)}` : `${text(row.from)} and more`;
}

function filtered(route: Route, kind: Kind, row: TotalsRow): Route {
  if (kind === "thread")
    return changed(route, { thread: String(row.thread) });
  if (row.from === null || row.from === undefined)
    return changed(route, { lifetime: "only_leaked" });
  const last = row.to ? row.to - 1 : undefined;
  return kind === "size" ? changed(route, { size_min: String(row.from), size_max: last === undefined ? undefined : String(last) })
    : changed(route, { lifetime: "only_temporary", lifetime_min: row.from + "ns", lifetime_max: last === undefined ? undefined : last + "ns" });
}

export function Bars({ route, summary, kind }: ViewProps & { kind: Kind }) {
  const { events, cost, speech } = lookedAt(route, summary);
  const path = question(route, "totals", { by: kind, ...(kind === "thread" ? { sort_by: `total.${cost}.${speech.unit}`, order: "dsc" } : {}) });
  const answer = useAnswer<Totals>(path);
  const of = (row: TotalsRow): number => row.total[cost]?.[speech.unit === "bytes" ? 0 : 1] ?? 0;
  return (
    <section class="bars" aria-label={SAID[kind].title}>
      <h2>{SAID[kind].title} <small>{SAID[kind].explained}</small></h2>
      <Pane answer={answer} path={path} empty={(data) => data.rows.length ? undefined : <p class="empty">{none(route, singular(events.thing))}</p>}>
        {(data) => {
          const rows = kind === "thread" ? data.rows : [...data.rows].sort((a, b) => (a.from ?? Infinity) - (b.from ?? Infinity));
          const most = Math.max(1, ...rows.map(of)), whole = data.sum[cost]?.[speech.unit === "bytes" ? 0 : 1] ?? 0;
          const exactly = (pair: [number, number] | undefined): string | undefined => pair && `${exactBytes(pair[0])} in ${counted(pair[1], "blocks")}`;
          const others: Cost[] = kind === "thread" && events.name === "heap" ? events.costs.filter((one) => one !== cost) : [];
          return <div data-bytes={data.sum[cost]?.[0]} data-count={data.sum[cost]?.[1]}>
            {data.total_count > Math.min(rows.length, MOST) && <p class="note">These are the {counted(Math.min(rows.length, MOST), "threads")} with the most, of {count(data.total_count)}.</p>}
            <PlainTable<TotalsRow> route={route} label={SAID[kind].title} id={kind} rows={rows.slice(0, MOST)}
            keyOf={(row) => `${row.key} ${row.from} ${row.thread}`} columns={[
              { name: kind === "thread" ? "Thread" : kind === "size" ? "Size" : "Lifetime", of: (row) => kind === "thread" ? name(kind, row) : row.from ?? Infinity,
                cell: (row) => <a href={address(filtered(route, kind, row))}>{name(kind, row)}</a> },
              { name: COSTS[cost].name, number: true, title: COSTS[cost].explained, of, cell: (row) => <span title={exactly(row.total[cost])}>{speech.value(of(row))}</span> },
              { name: "Share", number: true, title: "of all matching blocks", of, cell: (row) => share(of(row), whole) },
              ...others.map((one) => ({ name: COSTS[one].name, number: true, title: COSTS[one].explained, of: (row: TotalsRow) => row.total[one]?.[speech.unit === "bytes" ? 0 : 1] ?? 0,
                cell: (row: TotalsRow) => <span title={exactly(row.total[one])}>{speech.value(row.total[one]?.[speech.unit === "bytes" ? 0 : 1] ?? 0)}</span> })),
              { name: "Picture", wide: true, title: COSTS[cost].explained, of, cell: (row) => <svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width={100 * of(row) / most} height="10" /></svg> },
            ]} /></div>;
        }}
      </Pane>
    </section>
  );
}

export function ThreadsView(props: ViewProps) {
  // It is below all threads, which may be many.
  const toMatrix = (): void => {
    const matrix = document.querySelector<HTMLElement>(".matrix");
    matrix?.scrollIntoView();
    matrix?.focus({ preventScroll: true });
  };
  return <><div class="bar"><Look {...props} /><button type="button" onClick={toMatrix}>Who freed it</button></div>
    <div class="scroll"><Bars {...props} kind="thread" /><ThreadMatrix {...props} /></div></>;
}

export function SizesView(props: ViewProps) {
  return <><div class="bar"><Look {...props} /></div><div class="scroll"><Bars {...props} kind="size" /><Bars {...props} kind="lifetime" /></div></>;
}
