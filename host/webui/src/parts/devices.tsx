// SPDX-License-Identifier: MIT OR Apache-2.0
// The processes that send to `heapsonde gather`, if a folder of its traces is served, and commands to them.
import { useEffect, useState } from "preact/hooks";
import { useAnswer } from "../data/ask";
import type { DeviceRow, DevicesAnswer, ListRow } from "../data/types";
import { Control } from "./control";
import { address, type Route } from "../state/route";
import { type PlainColumn, PlainTable } from "../table/plain";
import { bytes, count, exactBytes, plain } from "../text/format";

const EVERY = 2000; // ms

interface Row extends DeviceRow {
  path: string;
  trace: string | undefined; // of the server, once it has read it
}

function rowsOf(answer: DevicesAnswer, traces: ListRow[]): Row[] {
  const known = new Map(traces.map((row) => [row.path, row.id]));
  return answer.folders.flatMap((one) => (one.devices ?? []).map((row) => {
    const path = `${one.folder}/${row.file}`;
    return { ...row, path, trace: known.get(path) };
  }));
}

function columns(command: ((row: Row) => void) | undefined): PlainColumn<Row>[] {
  return [
    { name: "Device", of: (row) => row.device, cell: (row) => <><span title={plain(row.address)}>{plain(row.device)}</span>{row.labels && <> <span class="faint">{plain(row.labels)}</span></>}</> },
    { name: "Program", wide: true, of: (row) => row.program, cell: (row) => row.trace
      ? <a href={address({ trace: row.trace, view: "overview", parameters: new URLSearchParams() })}>{plain(row.program)}</a> : plain(row.program) },
    { name: "Process", of: (row) => row.pid, cell: (row) => plain(row.pid) },
    { name: "State", of: (row) => row.state, cell: (row) => <>{row.refusal ? <span class="tag warn" title={plain(row.refusal)}>refused: {plain(row.refusal)}</span> : row.state}
      {command && row.state === "running" && <> <button type="button" onClick={() => command(row)}>Commands</button></>}</> },
    { name: "Last data", of: (row) => row.heard_ns ?? 0, cell: (row) => row.heard_ns ? new Date(row.heard_ns / 1e6).toLocaleTimeString() : "\u2013" },
    { name: "Received", number: true, of: (row) => row.size, cell: (row) => <span title={exactBytes(row.size)}>{bytes(row.size)}</span> },
    { name: "Events", number: true, title: "for a sampled process: dumps", of: (row) => row.events ?? -1,
      cell: (row) => row.events === null ? "?" : row.samples ? `${count(row.events)} dumps` : count(row.events) },
    { name: "Dropped", number: true, title: "events that the device had no room for", of: (row) => row.dropped ?? -1, cell: (row) => row.dropped === null ? "?" : count(row.dropped) },
  ];
}

// `again` asks for the traces anew: the server reads those that come.
export function Devices({ route, traces, again }: { route: Route; traces: ListRow[]; again: () => void }) {
  const [select, setSelect] = useState(""), [typed, setTyped] = useState(""), [every, setEvery] = useState(0);
  const answer = useAnswer<DevicesAnswer>("/devices" + (select ? `?select=${encodeURIComponent(select)}` : ""), every);
  const [chosen, choose] = useState<string | undefined>();
  const data = answer.data;
  useEffect(() => {
    setEvery(data?.folders.length ? EVERY : 0);
    if (data && rowsOf(data, traces).some((row) => !row.trace && row.events))
      again();
  }, [data]);
  if (!data?.folders.length)
    return answer.problem && select ? <p class="problem" role="alert">{plain(answer.problem.message)} <button type="button" onClick={() => setSelect("")}>Show all</button></p> : null;
  const rows = rowsOf(data, traces), row = rows.find((one) => one.path === chosen);
  return (
    <section aria-label="Devices" class="devices">
      <h2>Devices</h2>
      <form class="bar" onSubmit={(event) => (event.preventDefault(), setSelect(typed))}>
        <input type="search" aria-label="Which devices" placeholder={'device == "gw-17" and not name == "sh"'} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        <button type="submit">Show these</button>
        {answer.problem && <span class="wrong" role="alert">{plain(answer.problem.message)}</span>}
      </form>
      {data.folders.map((one) => one.absence && <p key={one.folder} class="faint">{plain(one.absence)}. The traces below are what it has received.</p>)}
      {rows.length > 0 ? <PlainTable<Row> route={route} label="Devices" id="devices" rows={rows} keyOf={(one) => one.path} data={(one) => ({ "data-file": one.file })}
        columns={columns(data.allowed ? (one) => choose(one.path) : undefined)} /> : data.folders.some((one) => one.devices) && <p class="empty">No process {select ? "matches" : "has sent anything yet"}.</p>}
      {row && data.allowed && <><h3>Commands to {plain(row.program)} ({plain(row.pid)}) on {plain(row.device)}</h3>
        <Control key={row.path} of={`${plain(row.program)} ${plain(row.pid)}`} path={(own = {}) => `/devices/control?${new URLSearchParams({ file: row.path, ...own })}`} /></>}
    </section>
  );
}
