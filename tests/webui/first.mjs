// SPDX-License-Identifier: MIT OR Apache-2.0
// How long it takes from the start of a server to the first picture in a browser that runs already: node first.mjs TRACE.
// Prints JSON: seconds until the numbers, until the flame graph, and of the server's processor; its memory in MiB.
import { readFileSync } from "node:fs";
import { launch, open, serve } from "./browser.mjs";

const browser = await launch();
const began = performance.now(), since = () => (performance.now() - began) / 1000;
const server = await serve(process.argv[2]);
try {
  const { page } = await open(browser, server);
  await page.goto(server.address + "/#/t/last/overview");
  await page.waitForSelector(".card");
  const picture = since();
  await page.locator(".rail a", { hasText: "Flame graph" }).click();
  await page.waitForSelector(".flame canvas[data-ready]");
  const flame = since(), stat = readFileSync(`/proc/${server.pid}/stat`, "utf8").split(") ")[1].split(" ");
  const memory = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]) / 1024;
  console.log(JSON.stringify({ picture, flame, processor: (Number(stat[11]) + Number(stat[12])) / 100, memory }));
} finally {
  await browser.close();
  await server.stop();
}
