// SPDX-License-Identifier: MIT OR Apache-2.0
import type { FleetDevice } from "../data/types";
import { rateColumn, Rows, sizeColumn, textColumn, timeColumn } from "../parts/fleet";
import { changed, type Route, toView } from "../state/route";
import { count, counted, MINUS } from "../text/format";

const FAR = 3;

export function DevicesView({ route }: { route: Route }) {
  return <div class="scroll"><Rows<FleetDevice> route={route} what="devices" label="Devices" id="devices" keyOf={(row) => [row.device, row.app, row.firmware].join("\0")}
    data={(row) => ({ "data-device": row.device, "data-bytes": row.in_use_bytes })} empty="No device has sent anything yet, or none matches the filter."
    columns={[
      { ...textColumn<FleetDevice>("Device", (row) => row.device, (row) => toView(route, "device", { device: row.device })), wide: true },
      rateColumn((row) => row.bytes_per_hour),
      { name: "Deviation", number: true, title: "how far the growth is from the mean of the firmware, in standard deviations", of: (row) => row.deviations,
        cell: (row) => <span class={Math.abs(row.deviations) > FAR ? "warn" : ""} title={String(row.deviations)}>{(row.deviations < 0 ? MINUS : "+") + Math.abs(row.deviations).toFixed(1)} {"\u03c3"}</span> },
      sizeColumn("In use", (row) => row.in_use_bytes),
      sizeColumn("Most", (row) => row.most_bytes, "the most that was in use at a time"),
      textColumn("Firmware", (row) => row.firmware, (row) => changed(route, { firmware: row.firmware, "ui.skip": undefined })),
      textColumn("Program", (row) => row.app, (row) => changed(route, { app: row.app, "ui.skip": undefined })),
      { name: "Sessions", number: true, title: "recorded processes", of: (row) => row.sessions,
        cell: (row) => <>{count(row.sessions)}{row.estimated_sessions ? <span class="tag" title={`the numbers of ${counted(row.estimated_sessions, "sessions")} are estimated from samples`}>estimated</span> : null}</> },
      timeColumn("Last seen", (row) => row.last_seen),
    ]} /></div>;
}
