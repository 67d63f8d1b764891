// SPDX-License-Identifier: MIT OR Apache-2.0
// The function under the pointer: all visible pictures and tables mark it.
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

// The attributes of an element for a function.
export function hovers(name: string | undefined) {
  return { onMouseEnter: () => hover(name), onMouseLeave: () => hover(undefined), onFocus: () => hover(name), onBlur: () => hover(undefined) };
}
