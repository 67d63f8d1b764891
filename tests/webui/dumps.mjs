// SPDX-License-Identifier: MIT OR Apache-2.0
// Heap dumps: the views that they have, the costs that they know, and a folder of them as one series.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { open, serve, settled } from "./browser.mjs";

const VIEWS = ["overview", "flame", "tree", "functions", "timeline", "recording", "export"];
const data = (name) => fileURLToPath(new URL(`../dump/data/${name}`, import.meta.url));

export function dumps({ browser, inFolder }) {
  test("heap dumps have the views, costs and numbers that they know", async () => {
    mkdirSync(inFolder("series"));
    copyFileSync(data("named.heap"), inFolder("series/1.heap"));
    copyFileSync(data("moved.heap"), inFolder("series/2.heap"));
    const server = await serve(data("stacks.collapsed"), data("threads.heap"), inFolder("series"));
    const { page, context, wrong } = await open(browser(), server);
    for (const { id, path } of await server.json("/list")) {
      const summary = await server.json(`/data/${id}/summary`);
      for (const view of VIEWS) {
        await page.goto(`${server.address}/#/t/${id}/${view}`);
        await page.waitForSelector(`[data-view="${view}"].view`);
        await settled(page);
        assert.deepEqual(await page.$$eval("[data-state=problem]", (all) => all.map((one) => one.innerText)), [], `${path} ${view}`);
      }
      await page.goto(`${server.address}/#/t/${id}/overview`);
      await page.waitForSelector(".card");
      await settled(page);
      const costs = summary.events[0].costs;
      assert.deepEqual(await page.$$eval(".card", (all) => all.map((card) => Number(card.dataset.bytes))), costs.map((cost) => summary[`${cost}_bytes`]));
      assert.equal(await page.locator(".note").count(), summary.estimate ? 1 : 0);
      assert.match(await page.locator(".overview").innerText(), summary.dumps === "1" ? /1 heap dump,?/ : /2 heap dumps/);
      assert.ok(await page.locator(".rail .off").filter({ hasText: "Blocks" }).count());
    }
    assert.deepEqual(wrong, []);
    await context.close();
    await server.stop();
  });
}
