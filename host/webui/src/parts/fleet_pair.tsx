// SPDX-License-Identifier: MIT OR Apache-2.0
// Two firmwares to compare. Without a choice in the address, they are the two newest.
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { changed, go, type Route } from "../state/route";
import { plain } from "../text/format";
import { useFirmwares } from "./fleet";
import { Pane } from "./pane";

export function Pair({ route, children, tools }: { route: Route; children: (firmware: string, than: string) => ComponentChildren; tools?: ComponentChildren }) {
  const { path, answer, names } = useFirmwares(route);
  const firmware = route.parameters.get("firmware") ?? names.at(-1), than = route.parameters.get("than") ?? names.filter((name) => name !== firmware).at(-1);
  const chosen = route.parameters.has("firmware") && route.parameters.has("than");
  useEffect(() => {
    if (!chosen && firmware && than)
      go(changed(route, { firmware, than }), true);
  }, [chosen, firmware, than]);
  const choose = (label: string, name: string, now: string | undefined) => <label>{label} <select value={now ?? ""} onChange={(event) => go(changed(route, { [name]: event.currentTarget.value, "ui.zoom": undefined, "ui.skip": undefined }))}>
    {[...new Set([...names, ...now ? [now] : []])].map((one) => <option key={one} value={one}>{plain(one)}</option>)}</select></label>;
  return (
    <Pane answer={answer} path={path}>
      {() => !firmware || !than ? <p class="empty">The fleet has {names.length ? "only one firmware" : "no firmware with a name"}. Devices say theirs with the label <code>firmware</code>.</p> : <>
        <div class="bar pair">
          {choose("Firmware", "firmware", firmware)}{choose("compared with", "than", than)}
          <button type="button" onClick={() => go(changed(route, { firmware: than, than: firmware, "ui.zoom": undefined, "ui.skip": undefined }))}>Swap</button>
          {tools}
        </div>
        {chosen && children(firmware, than)}
      </>}
    </Pane>
  );
}
