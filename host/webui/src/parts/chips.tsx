// SPDX-License-Identifier: MIT OR Apache-2.0
// The filter: a chip for each part, which removes it, and an editor with all filters of REST.
import { useState } from "preact/hooks";
import { useAnswer } from "../data/ask";
import { address, changed, filterOf, go, isFilter, type Route } from "../state/route";
import { filterValue, plain } from "../text/format";
import { filterName, LIFETIMES } from "../text/words";
import { Dialog } from "./dialog";
import { useRefused } from "./refused";

// Places in a tree, which another filter invalidates.
const PLACES = new Set(["ui.zoom", "ui.sel", "ui.skip"]);

function without(route: Route, name: string, value: string): Route {
  const parameters = new URLSearchParams();
  let gone = false;
  for (const [other, given] of route.parameters)
    if (!gone && other === name && given === value)
      gone = true;
    else if (!PLACES.has(other))
      parameters.append(other, given);
  return { ...route, parameters };
}

// Refusals begin with the name of the filter, or with "invalid 'NAME'".
function isAbout(why: string, name: string): boolean {
  const rest = why.replace(/^invalid '/, "");
  return rest.startsWith(name) && /^[': ]/.test(rest.slice(name.length));
}

// `fleet`: the filters that questions to the fleet take. `hidden`: what is chosen elsewhere in the view.
export function Chips({ route, threads, fleet, hidden = [] }: { route: Route; threads: { thread: number; name: string }[]; fleet?: string[]; hidden?: string[] }) {
  const [editing, edit] = useState(false);
  const chips = [...filterOf(route)].filter(([name]) => !hidden.includes(name)), refused = useRefused();
  const isOnly = (name: string): boolean => chips.filter(([other]) => other === name).length === 1;
  const isWrong = (name: string, value: string): boolean => refused.some((why) => isAbout(why, name) && (isOnly(name) || why.includes(value)));
  const nothing = (): Route => {
    const parameters = new URLSearchParams();
    for (const [name, value] of route.parameters)
      if ((!isFilter(name) || hidden.includes(name)) && !PLACES.has(name))
        parameters.append(name, value);
    return { ...route, parameters };
  };
  return (
    <div class="chips">
      <span id="filter-label">Filter</span>
      {!chips.length && <span class="faint">none: all {fleet ? "devices" : "blocks"}</span>}
      {chips.map(([name, value]) => (
        <a class={"chip" + (isWrong(name, value) ? " wrong" : "")} key={name + value} href={address(without(route, name, value))} title="remove this part of the filter">
          {isWrong(name, value) && <span class="unseen">wrong: </span>}{filterName(name)} <b>{LIFETIMES[value] ?? filterValue(value)}</b> <span aria-hidden="true">{"\u2715"}</span><span class="unseen">remove</span>
        </a>))}
      {chips.length > 1 && <a class="chip plain" href={address(nothing())}>remove all</a>}
      <button type="button" class="chip plain" onClick={() => edit(true)}>+ Add</button>
      {threads.length > 1 && <label class="threads">Thread <select value={route.parameters.getAll("thread").length === 1 ? route.parameters.get("thread")! : ""}
        onChange={(event) => go(changed(route, { thread: event.currentTarget.value || undefined, "ui.zoom": undefined }))}>
        <option value="">{route.parameters.getAll("thread").length > 1 ? "several" : "all"}</option>
        {threads.map(({ thread, name }) => <option key={thread} value={String(thread)}>{plain(name) || "thread"} {thread}</option>)}
      </select></label>}
      {editing && <Editor route={route} fleet={fleet} close={() => edit(false)} />}
    </div>
  );
}

interface Parameter { name: string; description: string; schema: { type: string; enum?: string[] } }

// What a slice of the fleet is besides filters.
const SLICES: Parameter[] = [["app", "only this program"], ["firmware", "only this firmware"], ["device", "only this device"]]
  .map(([name, description]) => ({ name: name!, description: description!, schema: { type: "string" } }));

const TABS: { name: string; of: RegExp }[] = [
  { name: "Time", of: /^(from|to|alive_at|alive_at_2|lifetime|lifetime_min|lifetime_max|marker)$/ },
  { name: "Size", of: /size_m(in|ax)$/ },
  { name: "Stack", of: /regex$|^backtrace|library$|^thread$|^deallocation_backtraces$/ },
  { name: "Group", of: /^group_/ },
  { name: "Realloc chain", of: /chain/ },
  { name: "Address", of: /^address|^from_map$|^mmaped$|^arena$|^jemalloc$/ },
  { name: "And, or, not", of: /^where$/ },
  { name: "Interpretation", of: /^era$|^time_unit$|^custom_filter$/ },
  { name: "Devices", of: /^(app|firmware|device)$/ },
];

function Editor({ route, fleet, close }: { route: Route; fleet: string[] | undefined; close: () => void }) {
  const answer = useAnswer<{ components: { parameters: Record<string, Parameter> } }>("/openapi.json");
  const [tab, setTab] = useState(fleet ? TABS.length - 1 : 0);
  const [values, setValues] = useState<Record<string, string>>(() => {
    const now: Record<string, string> = {};
    for (const [name, value] of filterOf(route))
      now[name] = now[name] ? now[name] + "\n" + value : value;
    return now;
  });
  const apply = (): void => {
    const parameters = new URLSearchParams();
    for (const [name, value] of route.parameters)
      if (!isFilter(name) && !PLACES.has(name))
        parameters.append(name, value);
    for (const [name, value] of Object.entries(values))
      for (const one of value.split("\n"))
        if (one.trim())
          parameters.append(name, one.trim());
    close();
    go({ ...route, parameters });
  };
  const known = Object.values(answer.data?.components.parameters ?? {});
  const all = fleet ? [...SLICES, ...known.filter((one) => fleet.includes(one.name) && one.name !== "custom_filter")] : known;
  const tabOf = (name: string): number => TABS.findIndex(({ of }) => of.test(name));
  const at: Parameter = { name: "at", description: "only blocks that were live at this instant: a time, or 'peak' for when the heap was largest", schema: { type: "string" } };
  const tabs = TABS.map(({ name }, i) => ({ name, i })).filter(({ i }) => fleet ? all.some((one) => tabOf(one.name) === i) : i < TABS.length - 1);
  const now = tabs.some(({ i }) => i === tab) ? tab : tabs[0]!.i;
  const shown = [...(now === 0 && all.length && !fleet ? [at] : []), ...all.filter((one) => tabOf(one.name) === now)];
  return (
    <Dialog label="Filter" close={close}>
      <form method="dialog" onSubmit={(event) => (event.preventDefault(), apply())}>
        <h2>Filter</h2>
        <p class="faint">All given filters must match. Examples of sizes: 4K, 1.5M; of times: 1.5s, 300ms, 50%.</p>
        <div class="choice" role="group" aria-label="Kinds of filters">
          {tabs.map(({ name, i }) => {
            const used = Object.keys(values).filter((key) => values[key] && tabOf(key) === i).length;
            return <button type="button" key={name} aria-pressed={i === now} onClick={() => setTab(i)}>{name}{used ? ` (${used})` : ""}</button>;
          })}
        </div>
        {answer.problem && <p class="problem" role="alert">{answer.problem.message} <button type="button" onClick={answer.retry}>Retry</button></p>}
        <div class="fields">
          {shown.map((one) => <Field key={one.name} of={one} value={values[one.name] ?? ""}
            set={(value) => setValues({ ...values, [one.name]: value })} />)}
        </div>
        <div class="buttons">
          <button type="submit" class="main">Apply</button>
          <button type="button" onClick={() => setValues({})}>Clear all</button>
          <button type="button" onClick={close}>Cancel</button>
        </div>
      </form>
    </Dialog>
  );
}

function Field({ of, value, set }: { of: Parameter; value: string; set: (value: string) => void }) {
  const id = "filter-" + of.name;
  const input = { id, value, "aria-describedby": id + "-help",
                  onInput: (event: { currentTarget: { value: string } }) => set(event.currentTarget.value) };
  return (
    <div class="field">
      <label for={id}>{filterName(of.name)}</label>
      {of.schema.enum ? <select {...input}><option value="">any</option>{of.schema.enum.map((word) => <option key={word} value={word}>{LIFETIMES[word] ?? word.replace(/_/g, " ")}</option>)}</select>
        : of.schema.type === "array" ? <textarea {...input} rows={2} />
        : <input {...input} type="text" inputMode={of.schema.type === "integer" ? "numeric" : "text"} spellcheck={false} autocomplete="off" />}
      <p id={id + "-help"} class="faint">{of.description}{of.schema.type === "array" ? "; one per line" : ""}</p>
    </div>
  );
}
