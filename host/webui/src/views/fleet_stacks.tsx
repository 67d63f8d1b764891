// SPDX-License-Identifier: MIT OR Apache-2.0
import type { FleetStack } from "../data/types";
import { Estimated, Rows, sizeColumn, stackColumn } from "../parts/fleet";
import type { Route } from "../state/route";
import { count } from "../text/format";

export function FleetStacksView({ route }: { route: Route }) {
  return <div class="scroll"><Rows<FleetStack> route={route} what="stacks" label="Stacks" id="stacks" keyOf={(row) => row.stack}
    data={(row) => ({ "data-stack": row.stack, "data-bytes": row.in_use_bytes })} empty="Nothing is in use, or nothing matches the filter."
    columns={[
      stackColumn(route),
      sizeColumn("In use", (row) => row.in_use_bytes, "now, on all devices together"),
      { name: "Blocks", number: true, of: (row) => row.in_use_count, cell: (row) => count(row.in_use_count) },
      { name: "Devices", number: true, of: (row) => row.devices, cell: (row) => <>{count(row.devices)} <Estimated devices={row.estimated_devices} /></> },
    ]} /></div>;
}
