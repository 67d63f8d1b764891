// SPDX-License-Identifier: MIT OR Apache-2.0
// How close rows are: the style sheet has the height of a row for each density, and none but the usual one on phones.
import { useEffect, useState } from "preact/hooks";

function high(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 24;
}

export function useRowHigh(): number {
  const [now, set] = useState(high);
  useEffect(() => {
    const changed = (): void => set(high());
    for (const name of ["density", "resize"])
      addEventListener(name, changed);
    return () => ["density", "resize"].forEach((name) => removeEventListener(name, changed));
  }, []);
  return now;
}
