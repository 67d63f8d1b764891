// SPDX-License-Identifier: MIT OR Apache-2.0
// The function that is pointed at: every picture and table in sight marks it.
import { useEffect, useState } from "preact/hooks";

let now: string | undefined;
const listeners = new Set<() => void>();

export function hover(name: string | undefined): void {
  if (name === now)
    return;
  now = name;
  listeners.forEach((listener) => listener());
}

export function useHover(): string | undefined {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = (): void => redraw((n) => n + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return now;
}

// What an element of a function has to have.
export function hovers(name: string | undefined) {
  return { onMouseEnter: () => hover(name), onMouseLeave: () => hover(undefined), onFocus: () => hover(name), onBlur: () => hover(undefined) };
}
