// SPDX-License-Identifier: MIT OR Apache-2.0
import type { ListRow, Summary } from "../data/types";
import type { Route } from "../state/route";

// `summary` is that of the whole trace, independent of the filter; so is `row`, the trace in the list.
export interface ViewProps { route: Route; summary: Summary; row?: ListRow | undefined }
