// SPDX-License-Identifier: MIT OR Apache-2.0
// Which thread allocated, by row, and which one freed, by column.
import { useAnswer } from "../data/ask";
import type { ThreadMatrixAnswer } from "../data/types";
import { lookedAt, none } from "../parts/controls";
import { Pane } from "../parts/pane";
import { address, changed, question } from "../state/route";
import { saveTable } from "../table/text";
import { counted, exactBytes, plain } from "../text/format";
import { useRef } from "preact/hooks";
import type { ViewProps } from "./view";

type Cell = ThreadMatrixAnswer["cells"][number];

export function ThreadMatrix({ route, summary }: ViewProps) {
  const { speech } = lookedAt(changed(route, { events: undefined }), summary);
  const path = question(route, "thread_matrix");
  const answer = useAnswer<ThreadMatrixAnswer>(path);
  const table = useRef<HTMLTableElement>(null);
  return (
    <section class="bars matrix" aria-label="Who freed it" tabIndex={-1}>
      <h2>Who freed it <small>each row is the thread that allocated, each column the thread that freed; all blocks that match the filter</small></h2>
      <Pane answer={answer} path={path} empty={(data) => data.count ? undefined : <p class="empty">{none(route, "block")}</p>}>
        {(data) => {
          const names = [...data.threads.map((one) => `${plain(one.name) || "thread"} ${one.thread}`), ...(data.other_threads ? [`${counted(data.other_threads, "other threads")}`] : [])];
          const cells = new Map<string, Cell>(data.cells.map((cell) => [`${cell.by} ${cell.freed_by}`, cell]));
          const value = (cell: { bytes: number; count: number }): number => speech.unit === "bytes" ? cell.bytes : cell.count;
          const most = Math.max(1, ...data.cells.map(value));
          const columns: (number | null)[] = [...names.map((_, i) => i), null];
          const others = data.freed_by_others;
          return <>
            <p data-others={others.bytes}>{others.count ? <><b title={exactBytes(others.bytes)}>{speech.value(value(others))}</b> were freed by another thread than the one that allocated.</> : "Every block that was freed was freed by the thread that allocated it."}
              {" "}<button type="button" onClick={() => table.current && saveTable(table.current, "threads.csv")}>Save CSV</button></p>
            <div class="plain-pane" tabIndex={0} role="group" aria-label="Threads that allocated and freed"><table class="plain-table" ref={table} data-matrix={data.bytes}>
              <thead><tr><th scope="col">Allocated by</th>{columns.map((column) => <th key={column} scope="col" class="number">{column === null ? "never freed" : names[column]}</th>)}</tr></thead>
              <tbody>{names.map((row, by) => <tr key={by}>
                <th scope="row">{data.threads[by] ? <a href={address(changed(route, { thread: String(data.threads[by]!.thread) }))}>{row}</a> : row}</th>
                {columns.map((column) => {
                  const cell = cells.get(`${by} ${column}`);
                  return <td key={column} class={"number" + (column === by && data.threads[by] ? " own" : "")} data-cell={cell && `${by} ${column} ${cell.bytes} ${cell.count}`}>
                    {cell && <><span title={`${exactBytes(cell.bytes)} in ${counted(cell.count, "blocks")}`}>{speech.value(value(cell))}</span>
                      <svg class="meter" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect width={100 * value(cell) / most} height="10" /></svg></>}</td>;
                })}</tr>)}</tbody>
            </table></div></>;
        }}
      </Pane>
    </section>
  );
}
