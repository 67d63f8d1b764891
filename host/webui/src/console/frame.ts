// SPDX-License-Identifier: MIT OR Apache-2.0
// The frame that the console runs scripts in: a worker, so that an endless loop does not stop the page, and messages between
// it and the page.
declare const WORKER: string;

const worker = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
worker.addEventListener("message", (event) => parent.postMessage(event.data, "*"));
worker.addEventListener("error", (event) => parent.postMessage({ kind: "failed", text: event.message || "the worker could not start" }, "*"));
addEventListener("message", (event) => event.source === parent && worker.postMessage(event.data));
