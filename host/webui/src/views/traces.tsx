// SPDX-License-Identifier: MIT OR Apache-2.0
// The traces that the server has, and those that it is still reading.
import { useState } from "preact/hooks";
import type { Answer } from "../data/ask";
import { type ListRow, ns } from "../data/types";
import { Pane } from "../parts/pane";
import { address } from "../state/route";
import { baseName, bytes, count, duration, plain } from "../text/format";

type Key = "timestamp" | "executable" | "runtime" | "allocations" | "final_allocated" | "file_size";

const COLUMNS: { key: Key; name: string; number?: boolean }[] = [
  { key: "executable", name: "Program" }, { key: "timestamp", name: "Started" }, { key: "runtime", name: "Runtime", number: true },
  { key: "allocations", name: "Allocations", number: true }, { key: "final_allocated", name: "Still live", number: true },
  { key: "file_size", name: "File", number: true },
];

function keyOf(row: ListRow, key: Key): number | string {
  const value = row[key];
  return typeof value === "object" ? ns(value) : value;
}

export function TracesView({ answer }: { answer: Answer<ListRow[]> }) {
  const [sort, setSort] = useState<{ key: Key; down: boolean }>({ key: "timestamp", down: true });
  return (
    <main class="scroll traces" id="main">
      <h1>Traces</h1>
      <Pane answer={answer} path="/list" empty={(rows) => rows.length ? undefined : <p class="empty">The server has no trace. <code>heapsonde run PROGRAM</code> records one.</p>}>
        {(rows) => {
          const ready = rows.filter((row) => !row.progress), reading = rows.filter((row) => row.progress);
          ready.sort((a, b) => {
            const [x, y] = [keyOf(a, sort.key), keyOf(b, sort.key)];
            return (x < y ? -1 : x > y ? 1 : 0) * (sort.down ? -1 : 1);
          });
          return <>
            {reading.map((row) => <p key={row.path} class="reading">reading {baseName(row.path)}{" "}
              <progress max={row.progress!.total || 1} value={row.progress!.done} aria-label={`reading ${baseName(row.path)}`} />{" "}
              {row.progress!.total ? `${bytes(row.progress!.done)} of ${bytes(row.progress!.total)}` : "it waits for the others"}</p>)}
            {ready.length > 0 && <table class="plain-table">
              <thead><tr>{COLUMNS.map((column) => <th key={column.key} scope="col" class={column.number ? "number" : ""}
                aria-sort={sort.key === column.key ? (sort.down ? "descending" : "ascending") : undefined}>
                <button type="button" onClick={() => setSort({ key: column.key, down: sort.key === column.key ? !sort.down : true })}>
                  {column.name}{sort.key === column.key ? (sort.down ? " \u25bc" : " \u25b2") : ""}</button></th>)}<th scope="col">Machine</th></tr></thead>
              <tbody>{ready.map((row) => <tr key={row.id} data-id={row.id}>
                <td class="wide"><a href={address({ trace: row.id, view: "overview", parameters: new URLSearchParams() })} title={plain(row.cmdline)}>{baseName(row.executable) || baseName(row.path)}</a>
                  {" "}<span class="faint">{plain(row.cmdline).slice(0, 120)}</span>
                  {row.growing && <span class="tag">growing</span>}{row.problem && <span class="tag warn" title={plain(row.problem)}>{plain(row.problem)}</span>}
                  {row.holds === "sums" && <span class="tag">sums only</span>}</td>
                <td>{new Date(ns(row.timestamp) / 1e6).toLocaleString()}</td>
                <td class="number">{duration(ns(row.runtime))}</td>
                <td class="number">{count(row.allocations)}</td>
                <td class="number" title={count(row.final_allocated_count) + " blocks"}>{bytes(row.final_allocated)}</td>
                <td class="number">{bytes(row.file_size)}</td>
                <td>{plain(row.architecture)}</td>
              </tr>)}</tbody>
            </table>}
          </>;
        }}
      </Pane>
    </main>
  );
}
