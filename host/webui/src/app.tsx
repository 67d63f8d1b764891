// SPDX-License-Identifier: MIT OR Apache-2.0
// The frame of all pages: trace and filter at the top, views at the side, the current view, and the command and request
// for the same data.
import { render } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Answer, BACK, DOUBTED, keepsAnswers, served, useAnswer } from "./data/ask";
import { report } from "./data/report";
import type { Fleet, ListRow, Summary } from "./data/types";
import { captionOf } from "./parts/caption";
import { Chips } from "./parts/chips";
import { lookedAt } from "./parts/controls";
import { Control } from "./parts/control";
import { Keys } from "./parts/keys";
import { preparePaper } from "./parts/look";
import { Login } from "./parts/login";
import { copy } from "./parts/menu";
import { Boundary, Pane, curl } from "./parts/pane";
import { axisOf, Strip } from "./parts/strip";
import { address, changed, filterOf, go, parse, paused, question, type Route, sideFilters, toView, useRoute, transformsOf } from "./state/route";
import { baseName, count, moment, plain, processName, timesCount } from "./text/format";
import { diffQuestion } from "./views/diff";
import { FleetFrame, fleetViewOf } from "./views/fleet";
import { sourceQuestion } from "./views/source";
import { treemapQuestion } from "./views/treemap";
import { commandOf, VIEWS } from "./views/table";
import { TracesView } from "./views/traces";

function App() {
  const route = useRoute();
  const [slow, setSlow] = useState(0);
  const list = useAnswer<ListRow[]>("/list", slow);
  const fleet = useAnswer<Fleet>(route.fleet && !report ? "/fleet" : undefined);
  const reading = list.data?.some((row) => row.progress) ?? false;
  useEffect(() => setSlow(reading ? 700 : list.problem && list.problem.status === 0 ? 3000 : 0), [reading, list.problem]);
  const lost = useRef(false);
  useEffect(() => {
    addEventListener(DOUBTED, list.retry);
    return () => removeEventListener(DOUBTED, list.retry);
  }, []);
  useEffect(() => {
    if (lost.current && !list.problem && !list.loading)
      dispatchEvent(new Event(BACK));
    lost.current = !!list.problem || (lost.current && list.loading);
  }, [list.problem, list.loading]);
  // The token in the address is not needed any more.
  useEffect(() => {
    if (location.search)
      history.replaceState(null, "", "/" + location.hash);
  }, []);
  useLayoutEffect(() => {
    if (report && !route.trace)
      go({ trace: report.about.trace, view: "overview", parameters: new URLSearchParams() }, true);
    document.body.classList.toggle("report", !!report);
  }, [route.trace]);
  // A server without traces is about its fleet.
  const alone = served.fleet && list.data?.length === 0;
  useLayoutEffect(() => {
    if (alone && !route.trace && !route.fleet)
      go({ trace: undefined, fleet: true, view: "growth", parameters: new URLSearchParams() }, true);
  }, [alone, route]);
  const row = list.data?.find((one) => one.id && (one.id === route.trace || (route.trace?.length ?? 0) > 3 && one.id.startsWith(route.trace!)));
  const last = route.trace === "last" && !reading ? list.data?.filter((one) => one.id).at(-1) : undefined;
  useLayoutEffect(() => {
    const whole = last ?? (row && row.id !== route.trace ? row : undefined), now = parse(location.hash);
    if (whole && now.trace === route.trace)
      go({ ...now, trace: whole.id }, true);
  });
  useEffect(() => {
    const view = VIEWS.find((one) => one.name === route.view);
    document.title = route.fleet ? `${fleetViewOf(route).title} \u00b7 fleet \u00b7 heapsonde` : route.trace ? `${view?.title ?? ""} \u00b7 ${row ? baseName(row.executable) : ""} \u00b7 heapsonde` : "heapsonde";
    document.body.dataset.view = route.view;
  }, [route, row]);
  if (list.problem?.status === 401)
    return <Login again={list.retry} />;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById("main")?.focus())}>To the content</a>
      <Head route={route} list={list} row={row} database={fleet.data?.database ?? undefined} alone={alone} />
      {route.fleet ? <FleetFrame route={route} answer={fleet} />
        : !route.trace ? <TracesView answer={list} route={route} />
        : row ? <Trace route={{ ...route, trace: row.id }} row={row} rows={list.data!} key={row.id} />
          : <main class="scroll" id="main" tabIndex={-1} aria-busy={!!last}><Pane answer={list} path="/list">{(rows) => last ? null : <p class="empty">
            {reading ? "The trace is still being read." : <>The server has no trace {plain(route.trace!)}. <a href="#/">{rows.length === 1 ? "There is 1 other." : `There are ${rows.length} others.`}</a></>}</p>}</Pane></main>}
    </>
  );
}

const THEMES = ["system", "light", "dark"], DENSITIES = ["normal", "compact"];

// A choice of the user about looks, which the browser keeps.
function setLook(name: "theme" | "density", value: string, usual: string): void {
  if (value === usual)
    delete document.documentElement.dataset[name];
  else
    document.documentElement.dataset[name] = value;
  try {
    localStorage.setItem(name, value);
  } catch {
    // Without storage, the setting lasts as long as the page.
  }
  dispatchEvent(new Event(name));
}

function savedLook(name: string, usual: string): string {
  try {
    return localStorage.getItem(name) ?? usual;
  } catch {
    return usual;
  }
}

function Head({ route, list, row, database, alone }: { route: Route; list: Answer<ListRow[]>; row: ListRow | undefined; database: string | undefined; alone: boolean }) {
  const [theme, choose] = useState(() => savedLook("theme", "system"));
  const [density, space] = useState(() => savedLook("density", "normal"));
  const others = list.data?.filter((one) => one.id) ?? [];
  return (
    <header>
      <a class="home" href="#/">heapsonde</a>
      {served.fleet && !alone && <nav class="places" aria-label="Traces or fleet"><a href="#/" aria-current={!route.fleet && !route.trace ? "page" : undefined}>Traces</a><a href="#/fleet/growth" aria-current={route.fleet ? "page" : undefined}>Fleet</a></nav>}
      {database && route.fleet && <span class="database" title="the database that is asked">{plain(database)}</span>}
      {route.trace && row && <select aria-label="Trace" value={row.id} onChange={(event) => go({ ...toView(route, route.view), trace: event.currentTarget.value })}>
        {others.map((one) => <option key={one.id} value={one.id}>{processName(one)}</option>)}
      </select>}
      {row?.problem && <span class="tag warn">{plain(row.problem)}</span>}
      {list.problem && <span class="tag warn" role="alert">{list.problem.message}</span>}
      <span class="gap" />
      {!route.trace && !route.fleet && <Keys place={undefined} />}
      <label class="density"><span>Rows </span><select aria-label="Rows" value={density} onChange={(event) => (space(event.currentTarget.value), setLook("density", event.currentTarget.value, "normal"))}>
        {DENSITIES.map((one) => <option key={one}>{one}</option>)}
      </select></label>
      <label class="theme"><span>Theme </span><select aria-label="Theme" value={theme} onChange={(event) => (choose(event.currentTarget.value), setLook("theme", event.currentTarget.value, "system"))}>
        {THEMES.map((one) => <option key={one}>{one}</option>)}
      </select></label>
    </header>
  );
}

function Trace({ route, row, rows }: { route: Route; row: ListRow; rows: ListRow[] }) {
  const plainRoute = { ...route, parameters: new URLSearchParams() };
  const path = question(plainRoute, "summary");
  keepsAnswers.now = !row.growing;
  timesCount(row.clock);
  const answer = useAnswer<Summary>(path);
  const view = VIEWS.find((one) => one.name === route.view) ?? VIEWS[0]!;
  const rail = useRef<HTMLElement>(null);
  // On a narrow screen the list of views is a scrolling line.
  useEffect(() => {
    const line = rail.current!, now = line.querySelector<HTMLElement>("[aria-current]");
    if (now)
      line.scrollLeft = now.offsetLeft - (line.clientWidth - now.offsetWidth) / 2;
  }, [view]);
  return (
    <div class="frame">
      <nav class="rail" aria-label="Views" ref={rail}>
        {VIEWS.filter((one) => !report || !one.server).map((one, i) => <span key={one.name}>
          {one.group !== VIEWS[i - 1]?.group && <span class="group">{one.group}</span>}
          {row.holds === "sums" && one.blocks ? <span class="off" title="This trace contains sums per stack, but no single blocks">{one.title}</span>
            : <a href={address(toView(route, one.name))} aria-current={one === view ? "page" : undefined}>{one.title}</a>}
        </span>)}
      </nav>
      <main id="main" tabIndex={-1} aria-label={view.title}>
        {report && <p class="note report-note">A report in one file. It contains what the views show at first, without filters{report.left_out.length > 0 && <>, but not {report.left_out.join(", ")}</>}.
          For everything else: <code>heapsonde server {plain(report.about.file)}</code></p>}
        <div class="about"><h1>{view.title}<span class="unseen"> of {baseName(row.executable) || baseName(row.path)}</span></h1><p class="faint">{typeof view.about === "string" ? view.about : view.about(route)}</p></div>
        <div class="top-line"><Chips route={route} threads={answer.data?.thread_list ?? []} hidden={sideFilters(route)} /><Keys place={answer.data && { route, summary: answer.data }} /></div>
        <Pane answer={answer} path={path}>
          {(summary) => <>
            <OnPaper route={route} summary={summary} />
            <Strip route={route} summary={summary} />
            {row.growing && <p class="note">The trace is still growing; what is shown was read <Age of={answer.data} /> ago. {route.parameters.has("to") ? `Paused: what was allocated after ${route.parameters.get("to")} is left out. ` : ""}
              <button type="button" onClick={() => location.reload()}>Refresh</button>{" "}
              <button type="button" aria-pressed={route.parameters.has("to")} onClick={() => go(paused(route, summary))}>Pause</button></p>}
            {(row.growing || row.dumps !== null) && !report && <Control path={(own = {}) => question(route, "control", own, false)} />}
            <div class={"view view-" + view.name} data-view={view.name}>
              <Boundary of={address(route)}><view.component route={route} summary={summary} row={row} /></Boundary>
            </div>
            <Foot route={route} summary={summary} view={view} rows={rows} />
          </>}
        </Pane>
      </main>
    </div>
  );
}

// How long ago this answer came. What is shown does not move by itself.
function Age({ of }: { of: unknown }) {
  const came = useMemo(() => Date.now(), [of]), [now, tick] = useState(came);
  useEffect(() => {
    const timer = setInterval(() => tick(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return <span class="age">{count(Math.max(0, Math.floor((now - came) / 1000)))} s</span>;
}

// What a reader of a printed page does not see otherwise.
function OnPaper({ route, summary }: { route: Route; summary: Summary }) {
  return <p class="on-paper">{captionOf(route, summary)}{summary.start_realtime_ns > 0 && ` \u00b7 recorded ${moment(summary.start_realtime_ns)}`}
    {` \u00b7 trace ${summary.trace_id.slice(0, 12)}`}</p>;
}

function Foot({ route, summary, view, rows }: { route: Route; summary: Summary; view: (typeof VIEWS)[number]; rows: ListRow[] }) {
  const { cost, events } = lookedAt(route, summary);
  const tree = question(route, route.parameters.get("ui.inverted") === "1" ? "inverted_tree" : "call_tree", { cost, events: events.name === "heap" ? undefined : events.name, ...transformsOf(route) });
  const asked: Record<string, string> = {
    overview: question(route, "summary"), stacks: question(route, "allocation_groups", { sort_by: "only_matched.size", order: "dsc", count: 20 }),
    blocks: question(route, "allocations", { sort_by: "size", order: "dsc", count: 20 }), timeline: question(route, "timeline", axisOf(route, summary)),
    functions: route.parameters.get("function")
      ? question(route, "sandwich", { function: route.parameters.get("function")!, by: route.parameters.get("by") ?? undefined, cost, events: events.name === "heap" ? undefined : events.name })
      : question(route, "totals", { by: route.parameters.get("by") ?? undefined, sort_by: `self.${cost}.bytes`, order: "dsc", count: 20, events: events.name === "heap" ? undefined : events.name }), recording: question(route, "recording"),
    flame: tree, tree, diff: diffQuestion(route),
    treemap: treemapQuestion(route, summary), source: sourceQuestion(route, summary),
    sizes: question(route, "totals", { by: "size" }), threads: question(route, "totals", { by: "thread" }),
    generations: question(route, "generations", { parts: 10 }), maps: question(route, "maps"), statics: question(route, "dynamic_statics", {}, false),
  };
  const path = asked[view.name], command = commandOf(view, route, summary, cost, filterOf(route), path, rows);
  if (!command && !path)
    return null;
  return (
    <footer class="foot-bar">
      {command && <><code title="the command that prints this view">{command}</code><button type="button" onClick={() => copy(command)}>Copy command</button></>}
      {path && !report && <><button type="button" onClick={() => copy(curl(path))}>Copy curl</button><a href={path} download={`${view.name}.json`}>JSON</a></>}
      {route.parameters.has("ui.zoom") && <a href={address(changed(route, { "ui.zoom": undefined }))}>Zoom out</a>}
    </footer>
  );
}

preparePaper();
setLook("theme", savedLook("theme", "system"), "system");
setLook("density", savedLook("density", "normal"), "normal");
render(<App />, document.getElementById("app")!);
