// SPDX-License-Identifier: MIT OR Apache-2.0
import type { FleetGrown } from "../data/types";
import { devicesText, Estimated, Rows, sizeColumn, stackColumn, textColumn, timeColumn } from "../parts/fleet";
import { changed, type Route } from "../state/route";
import { bytes, exactBytes } from "../text/format";

export function GrowthView({ route }: { route: Route }) {
  return <div class="scroll"><Rows<FleetGrown> route={route} what="growth" label="Stacks that grow" id="growth" keyOf={(row) => [row.app, row.firmware, row.stack].join("\0")}
    data={(row) => ({ "data-stack": row.stack, "data-bytes": row.grown_bytes, "data-devices": row.grown_devices })}
    empty={<>No stack grows. A stack grows on a device if it has at least 64 KiB, and a tenth more than after the first hour.</>}
    columns={[
      stackColumn(route, (row) => ({ firmware: row.firmware, app: row.app })),
      { name: "Growth", number: true, title: "of all devices together", of: (row) => row.grown_bytes, cell: (row) => <span class="more" title={exactBytes(row.grown_bytes)}>+{bytes(row.grown_bytes)}</span> },
      { name: "On", number: true, title: "devices on which it grows, of those that have it", of: (row) => row.grown_devices,
        cell: (row) => <>{devicesText(row.grown_devices, row.devices)} <Estimated devices={row.estimated_devices} /></> },
      textColumn("Firmware", (row) => row.firmware, (row) => changed(route, { firmware: row.firmware, "ui.skip": undefined })),
      textColumn("Program", (row) => row.app, (row) => changed(route, { app: row.app, "ui.skip": undefined })),
      sizeColumn("In use", (row) => row.in_use_bytes, "now, on all devices together"),
      timeColumn("Since", (row) => row.first_time),
    ]} /></div>;
}
