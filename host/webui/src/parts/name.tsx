// SPDX-License-Identifier: MIT OR Apache-2.0
// A name that is cut in its middle where there is no room for it; all of it is said when it is pointed at.
import { halves, plain } from "../text/format";

export function name(text: string, whole = text) {
  const [first, last] = halves(text);
  return <span class="name" title={plain(whole)}>{first && <span>{first}</span>}<span>{last}</span></span>;
}
