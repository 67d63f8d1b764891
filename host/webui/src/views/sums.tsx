// SPDX-License-Identifier: MIT OR Apache-2.0
// Threads, sizes and lifetimes as bars; a bar is a filter.
import { useAnswer } from "../data/ask";
import type { Totals, TotalsRow } from "../data/types";
import { Look, lookedAt } from "../parts/controls";
import { Pane } from "../parts/pane";
import { address, changed, question, type Route } from "../state/route";
import { bytes, count, duration, exactBytes, plain, share } from "../text/format";
import type { ViewProps } from "./view";

type Kind = "thread" | "size" | "lifetime";

const SAID: Record<Kind, { title: string; explained: string }> = {
  thread: { title: "Threads", explained: "by the thread that allocated" },
  size: { title: "Sizes", explained: "by what was asked for, in powers of two" },
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
  const { cost, speech } = lookedAt(route, summary);
  const path = question(route, "totals", { by: kind, ...(kind === "thread" ? { sort_by: `total.${cost}.${speech.unit}`, order: "dsc" } : {}) });
  const answer = useAnswer<Totals>(path);
  const of = (row: TotalsRow): number => row.total[cost]?.[speech.unit === "bytes" ? 0 : 1] ?? 0;
  return (
    <section class="bars" aria-label={SAID[kind].title}>
      <h2>{SAID[kind].title} <small>{SAID[kind].explained}; a click shows these alone</small></h2>
      <Pane answer={answer} path={path} empty={(data) => data.rows.length ? undefined : <p class="empty">Nothing matches the filter.</p>}>
        {(data) => {
          const rows = kind === "thread" ? data.rows : [...data.rows].sort((a, b) => (a.from ?? Infinity) - (b.from ?? Infinity));
          const most = Math.max(1, ...rows.map(of)), whole = data.sum[cost]?.[speech.unit === "bytes" ? 0 : 1] ?? 0;
          return <table class="bar-table" data-bytes={data.sum[cost]?.[0]}>
            <thead class="unseen"><tr><th>Which</th><th>How much</th><th>Share</th><th>Picture</th></tr></thead>
            <tbody>{rows.slice(0, 200).map((row) => <tr key={row.key + row.from + row.thread}>
              <th scope="row"><a href={address(filtered(route, kind, row))}>{name(kind, row)}</a></th>
              <td class="number" title={row.total[cost] && `${exactBytes(row.total[cost]![0])} in ${count(row.total[cost]![1])} blocks`}>{speech.value(of(row))}</td>
              <td class="number">{share(of(row), whole)}</td>
              <td class="wide"><svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width={100 * of(row) / most} height="10" /></svg></td>
            </tr>)}</tbody>
          </table>;
        }}
      </Pane>
    </section>
  );
}

export function ThreadsView(props: ViewProps) {
  return <><div class="bar"><Look {...props} /></div><div class="scroll"><Bars {...props} kind="thread" /></div></>;
}

export function SizesView(props: ViewProps) {
  return <><div class="bar"><Look {...props} /></div><div class="scroll"><Bars {...props} kind="size" /><Bars {...props} kind="lifetime" /></div></>;
}
