// SPDX-License-Identifier: MIT OR Apache-2.0
import type { FleetNew } from "../data/types";
import { Estimated, Rows, sizeColumn, stackColumn, textColumn, timeColumn } from "../parts/fleet";
import { Pair } from "../parts/fleet_pair";
import { address, changed, type Route, toView } from "../state/route";
import { count, plain } from "../text/format";

export function NewView({ route }: { route: Route }) {
  return <div class="scroll"><Pair route={route} tools={<a class="button" href={address(toView(route, "diff", { than: route.parameters.get("than") ?? undefined }))}>As flame graph</a>}>
    {(firmware, than) => <Rows<FleetNew> route={route} what="new" own={{ firmware, than }} label="New stacks" id="new" keyOf={(row) => [row.app, row.stack].join("\0")}
      data={(row) => ({ "data-stack": row.stack, "data-bytes": row.in_use_bytes })}
      empty={<>Firmware {plain(firmware)} has no stack that {plain(than)} lacks.</>}
      columns={[
        stackColumn(route, (row) => ({ firmware: row.firmware, app: row.app })),
        sizeColumn("In use", (row) => row.in_use_bytes, "now, on all devices together"),
        { name: "Devices", number: true, of: (row) => row.devices, cell: (row) => <>{count(row.devices)} <Estimated devices={row.estimated_devices} /></> },
        textColumn("Program", (row) => row.app, (row) => changed(route, { app: row.app, "ui.skip": undefined })),
        timeColumn("Since", (row) => row.first_time),
      ]} />}
  </Pair></div>;
}
