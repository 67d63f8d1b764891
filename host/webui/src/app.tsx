// SPDX-License-Identifier: MIT OR Apache-2.0
import { render } from "preact";
render(<p>heapsonde</p>, document.getElementById("app")!);
