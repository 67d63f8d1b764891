// SPDX-License-Identifier: MIT OR Apache-2.0
// The frame of the pages about many devices.
import { useEffect, useRef } from "preact/hooks";
import { type Answer, forgetAnswers, keepsAnswers } from "../data/ask";
import type { Fleet } from "../data/types";
import { Chips } from "../parts/chips";
import { Keys } from "../parts/keys";
import { copy } from "../parts/menu";
import { Boundary, curl, Pane } from "../parts/pane";
import { address, filterOf, type Route, toView } from "../state/route";
import { command, optionsOf, quoted } from "../text/shell";
import { FLEET_VIEWS, type FleetView } from "./fleet_table";

export function fleetViewOf(route: Route): FleetView {
  return FLEET_VIEWS.find((one) => one.name === route.view) ?? FLEET_VIEWS[0]!;
}

// The same part of the fleet in another view; what it cannot be about goes.
export function toFleetView(route: Route, view: FleetView): Route {
  return toView(route, view.name, view.device ? {} : { device: undefined });
}

export function FleetFrame({ route, answer }: { route: Route; answer: Answer<Fleet> }) {
  const view = fleetViewOf(route), rail = useRef<HTMLElement>(null);
  keepsAnswers.now = true;
  // On a narrow screen the list of views is a scrolling line.
  useEffect(() => {
    const line = rail.current!, now = line.querySelector<HTMLElement>("[aria-current]");
    if (now)
      line.scrollLeft = now.offsetLeft - (line.clientWidth - now.offsetWidth) / 2;
  }, [view]);
  const listed = FLEET_VIEWS.filter((one) => one.letter);
  return (
    <div class="frame">
      <nav class="rail" aria-label="Views" ref={rail}>
        {listed.map((one, i) => <span key={one.name}>
          {one.group !== listed[i - 1]?.group && <span class="group">{one.group}</span>}
          <a href={address(toFleetView(route, one))} aria-current={one === view ? "page" : one.name === view.of ? "true" : undefined}>{one.title}</a>
        </span>)}
      </nav>
      <main id="main" tabIndex={-1} aria-label={view.title}>
        <div class="about"><h1>{view.title}<span class="unseen"> of the fleet</span></h1><p class="faint">{view.about}</p></div>
        <Pane answer={answer} path="/fleet" empty={(fleet) => fleet.database ? undefined
          : <p class="empty">The server has no database of devices. <code>heapsonde server --fleet clickhouse://HOST/DATABASE</code> asks one.</p>}>
          {(fleet) => <>
            <div class="top-line"><Chips route={route} threads={[]} fleet={fleet.filters} hidden={view.pair ? ["firmware"] : []} /><Keys place={undefined} fleet /></div>
            <div class={"view view-fleet-" + view.name} data-view={view.name}>
              <Boundary of={address(route)}><view.component route={route} /></Boundary>
            </div>
            <Foot route={route} view={view} database={fleet.database!} />
          </>}
        </Pane>
      </main>
    </div>
  );
}

function Foot({ route, view, database }: { route: Route; view: FleetView; database: string }) {
  const path = view.asked(route), than = view.name === "new" ? route.parameters.get("than") ?? undefined : undefined;
  const [action, ...operands] = view.command?.(route) ?? [];
  const text = action ? command(["heapsonde fleet", action, quoted(database), ...operands.map(quoted), ...optionsOf(filterOf(route)), ...optionsOf([["than", than]])]) : undefined;
  return (
    <footer class="foot-bar">
      {text && <><code title="the command that prints this view">{text}</code><button type="button" onClick={() => copy(text)}>Copy command</button></>}
      {path && <><button type="button" onClick={() => copy(curl(path))}>Copy curl</button><a href={path} download={`${view.name}.json`}>JSON</a></>}
      <button type="button" title="ask the database again" onClick={() => (forgetAnswers(), location.reload())}>Refresh</button>
    </footer>
  );
}
