// SPDX-License-Identifier: MIT OR Apache-2.0
// When pictures have other colours: the theme of the page, that of the system, and paper, which is light and finer.
import { useEffect, useState } from "preact/hooks";

// Draws the component again with each.
export function useLook(): void {
  const [, redraw] = useState(0);
  useEffect(() => {
    const changed = (): void => redraw((n) => n + 1), scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", changed);
    addEventListener("theme", changed);
    return () => (scheme.removeEventListener("change", changed), removeEventListener("theme", changed));
  }, []);
}

export function preparePaper(): void {
  const root = document.documentElement.dataset;
  let before: string | undefined;
  addEventListener("beforeprint", () => {
    if (root.paper === undefined)
      before = root.theme;
    root.theme = "light";
    root.paper = "";
    dispatchEvent(new Event("theme"));
  });
  addEventListener("afterprint", () => {
    delete root.paper;
    if (before === undefined)
      delete root.theme;
    else
      root.theme = before;
    dispatchEvent(new Event("theme"));
  });
}
