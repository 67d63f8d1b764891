// SPDX-License-Identifier: MIT OR Apache-2.0
import type { Summary } from "../data/types";
import type { Route } from "../state/route";

// `summary` is of the whole trace, whatever the filter is.
export interface ViewProps { route: Route; summary: Summary }
