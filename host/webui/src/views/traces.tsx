// SPDX-License-Identifier: MIT OR Apache-2.0
// The traces of the server, and those that it is still importing.
import { type Answer, served } from "../data/ask";
import { type ListRow, ns } from "../data/types";
import { Devices } from "../parts/devices";
import { Pane } from "../parts/pane";
import { address, type Route } from "../state/route";
import { type PlainColumn, PlainTable } from "../table/plain";
import { baseName, bytes, count, counted, duration, exactBytes, moment, plain } from "../text/format";

const Tag = ({ text, kind }: { text: string; kind?: string }) => <>{" "}<span class={kind ? `tag ${kind}` : "tag"} title={text}>{text}</span></>;
const Unknown = ({ why }: { why: string }) => <span class="faint" title={why}>{"\u2013"}</span>;

const COLUMNS: PlainColumn<ListRow>[] = [
  { name: "Program", wide: true, of: (row) => baseName(row.executable), cell: (row) => <>
    <a href={address({ trace: row.id, view: "overview", parameters: new URLSearchParams() })} title={plain(row.cmdline)}>{baseName(row.executable) || baseName(row.path)}</a>
    {" "}<span class="faint">{plain(row.cmdline).slice(0, 120)}</span>
    {row.growing && <Tag text="growing" />}{row.problem && <Tag kind="warn" text={plain(row.problem)} />}
    {row.holds === "sums" && <Tag text="sums only" />}</> },
  { name: "Started", of: (row) => ns(row.timestamp),
    cell: (row) => ns(row.timestamp) ? moment(ns(row.timestamp)) : <Unknown why="the file does not say when the program was started" /> },
  { name: "Runtime", number: true, of: (row) => ns(row.runtime), cell: (row) => duration(ns(row.runtime), row.clock) },
  { name: "Still live", number: true, title: "at the end", of: (row) => row.final_allocated,
    cell: (row) => <span title={`${exactBytes(row.final_allocated)} in ${counted(row.final_allocated_count, "blocks")}`}>{bytes(row.final_allocated)}</span> },
  { name: "Allocations", number: true, of: (row) => row.allocations ?? 0,
    cell: (row) => row.allocations === null ? <Unknown why="the file does not say what was allocated" /> : count(row.allocations) },
  { name: "File", number: true, of: (row) => row.file_size, cell: (row) => <span title={exactBytes(row.file_size)}>{bytes(row.file_size)}</span> },
  { name: "Machine", of: (row) => row.architecture, cell: (row) => plain(row.architecture) },
];

export function TracesView({ answer, route }: { answer: Answer<ListRow[]>; route: Route }) {
  return (
    <main class="scroll traces" id="main">
      <h1>Traces</h1>
      <p class="faint">Recorded programs. Choose one to see where its memory went.</p>
      <Pane answer={answer} path="/list" empty={(rows) => rows.length ? undefined : <p class="empty">The server has no trace. <code>heapsonde run PROGRAM</code> records one.</p>}>
        {(rows) => {
          const ready = rows.filter((row) => !row.progress), reading = rows.filter((row) => row.progress);
          return <>
            {reading.map((row) => <p key={row.path} class="reading">reading {baseName(row.path)}{" "}
              <progress max={row.progress!.total || 1} value={row.progress!.total ? row.progress!.done : undefined} aria-label={`reading ${baseName(row.path)}`} />{" "}
              {row.progress!.total ? `${bytes(row.progress!.done)} of ${bytes(row.progress!.total)}` : row.progress!.done ? `${bytes(row.progress!.done)} read` : "waiting for the others"}</p>)}
            {ready.length > 0 && <PlainTable<ListRow> route={route} label="Traces" id="traces" rows={ready} sort="-Started" keyOf={(row) => row.id} data={(row) => ({ "data-id": row.id })} columns={COLUMNS} />}
          </>;
        }}
      </Pane>
      {served.devices && <Devices route={route} traces={answer.data ?? []} again={answer.retry} />}
    </main>
  );
}
