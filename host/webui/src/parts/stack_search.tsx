// SPDX-License-Identifier: MIT OR Apache-2.0
// A search box for rows with stacks. The text becomes a part of the filter, which the chips show, too.
import { searchFilter } from "../canvas/model";
import { address, changed, go, isFilter, parse, type Route } from "../state/route";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const KINDS = ["function_regex", "source_regex", "library"];

// The address without the filter of this box.
function without(route: Route, made: [string, string] | undefined): Route {
  const parameters = new URLSearchParams();
  for (const [name, value] of route.parameters)
    if (!made || name !== made[0] || value !== made[1])
      parameters.append(name, value);
  return { ...route, parameters };
}

// A chip may have removed it.
function searchOf(route: Route): string {
  const asked = route.parameters.get("ui.search") ?? "", made = searchFilter(asked);
  return made && route.parameters.getAll(made[0]).includes(made[1]) ? asked : "";
}

export function StackSearch({ route: drawn, what }: { route: Route; what: string }) {
  const search = searchOf(drawn);
  const [text, setText] = useState(search);
  // What was typed since an own change of the address stays.
  const applied = useRef(search), timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useLayoutEffect(() => {
    if (search === applied.current)
      return;
    clearTimeout(timer.current);
    applied.current = search;
    setText(search);
  }, [search]);
  useLayoutEffect(() => () => clearTimeout(timer.current), []);
  const apply = (to: string): void => {
    // The address is newer than what is drawn.
    const route = parse(location.hash);
    if (route.view !== drawn.view)
      return;
    const next = without(route, searchFilter(searchOf(route))), filter = searchFilter(to);
    if (filter && KINDS.includes(filter[0]) && isFilter(filter[0]))
      next.parameters.append(...filter);
    const after = changed(next, { "ui.search": filter ? to : undefined, "ui.stack": undefined });
    applied.current = searchOf(after);
    if (address(after) !== address(route))
      go(after);
  };
  const type = (to: string): void => {
    setText(to);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => apply(to), 150);
  };
  return <input type="search" class="search" placeholder="Search: function, /regex/i, lib:, file:" aria-label={`Search ${what} by functions`} value={text}
    onInput={(event) => type(event.currentTarget.value)} />;
}
