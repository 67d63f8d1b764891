// SPDX-License-Identifier: MIT OR Apache-2.0
// A search box for rows with stacks. The text becomes a part of the filter, which the chips show, too.
import { searchFilter } from "../canvas/model";
import { address, changed, go, isFilter, type Route } from "../state/route";
import { useEffect, useState } from "preact/hooks";

const KINDS = ["function_regex", "source_regex", "library"];

// The address without the filter of this box.
function without(route: Route, made: [string, string] | undefined): Route {
  const parameters = new URLSearchParams();
  for (const [name, value] of route.parameters)
    if (!made || name !== made[0] || value !== made[1])
      parameters.append(name, value);
  return { ...route, parameters };
}

export function StackSearch({ route, what }: { route: Route; what: string }) {
  const asked = route.parameters.get("ui.search") ?? "", made = searchFilter(asked);
  // A chip may have removed it.
  const search = made && route.parameters.getAll(made[0]).includes(made[1]) ? asked : "";
  const [text, setText] = useState(search);
  useEffect(() => setText(search), [search]);
  const apply = (to: string): void => {
    const next = without(route, searchFilter(search)), filter = searchFilter(to);
    if (filter && KINDS.includes(filter[0]) && isFilter(filter[0]))
      next.parameters.append(...filter);
    const after = changed(next, { "ui.search": filter ? to : undefined, "ui.stack": undefined });
    if (address(after) !== address(route))
      go(after);
  };
  useEffect(() => {
    if (text === search)
      return;
    const timer = setTimeout(() => apply(text), 150);
    return () => clearTimeout(timer);
  }, [text, search]);
  return <input type="search" class="search" placeholder="Search: function, /regex/i, lib:, file:" aria-label={`Search ${what} by functions`} value={text}
    onInput={(event) => setText(event.currentTarget.value)} />;
}
