// SPDX-License-Identifier: MIT OR Apache-2.0
// A name that is shortened in its middle if there is little room; a tooltip shows the whole name.
import { halves, plain } from "../text/format";

export function name(text: string, whole = text) {
  const [first, last] = halves(text);
  return <span class="name" title={plain(whole)}>{first && <span>{first}</span>}<span>{last}</span></span>;
}
