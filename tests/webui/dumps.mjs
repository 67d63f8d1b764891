// SPDX-License-Identifier: MIT OR Apache-2.0
// Heap dumps: the views that they have, the costs that they know, and a folder of them as one series.
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { open, serve, settled } from "./browser.mjs";

const VIEWS = ["overview", "flame", "tree", "functions", "timeline", "diff", "recording", "export"];
const SHAPES = ["flame", "tree", "functions", "libraries", "stacks"];
const data = (name) => fileURLToPath(new URL(`../dump/data/${name}`, import.meta.url));

// Two instants of a series in every shape, and what the flame graph shows at each.
async function differences(page, server, id) {
  const sizeAt = async (at) => (await server.json(`/data/${id}/call_tree?cost=live&at=${at}`)).size;
  const { size_delta } = await server.json(`/data/${id}/diff?base_at=0%25&at=100%25`);
  assert.notEqual(size_delta, 0);
  assert.equal(size_delta, await sizeAt("100%25") - await sizeAt("0%25"));
  for (const shape of SHAPES) {
    await page.goto(`${server.address}/#/t/${id}/diff?base_at=0%25&at=100%25&ui.shape=${shape}`);
    await page.waitForSelector(shape === "stacks" ? ".diff-table tbody tr" : "p[data-delta]");
    await settled(page);
    const deltas = await page.$$eval(shape === "stacks" ? "[data-delta]" : "p[data-delta]", (all) => all.map((one) => Number(one.dataset.delta)));
    assert.equal(deltas.reduce((sum, one) => sum + one, 0), size_delta, shape);
  }
  // Of two dumps the first is the one before the last.
  await page.goto(`${server.address}/#/t/${id}/diff?base_at=100%25&at=100%25`);
  await page.locator(".choice a", { hasText: "Last two dumps" }).click();
  await page.waitForSelector(`p[data-delta="${size_delta}"]`);
  for (const at of ["0%25", "peak"]) {
    await page.goto(`${server.address}/#/t/${id}/flame?cost=live&at=${at}`);
    await settled(page);
    assert.deepEqual(await page.$$eval("[data-bytes]", (all) => [...new Set(all.map((one) => Number(one.dataset.bytes)))]), [await sizeAt(at)]);
    assert.deepEqual(await page.$$eval("[data-state=problem]", (all) => all.map((one) => one.innerText)), [], at);
  }
}

export function dumps({ browser, inFolder }) {
  test("heap dumps have the views, costs and numbers that they know", async () => {
    mkdirSync(inFolder("series"));
    copyFileSync(data("named.heap"), inFolder("series/1.heap"));
    copyFileSync(data("moved.heap"), inFolder("series/2.heap"));
    const server = await serve(data("stacks.collapsed"), data("threads.heap"), inFolder("series"));
    const { page, context, wrong } = await open(browser(), server);
    try {
      for (const { id, path } of await server.json("/list")) {
        const summary = await server.json(`/data/${id}/summary`);
        for (const view of VIEWS) {
          await page.goto(`${server.address}/#/t/${id}/${view}`);
          await page.waitForSelector(`[data-view="${view}"].view`);
          await settled(page);
          assert.deepEqual(await page.$$eval("[data-state=problem]", (all) => all.map((one) => one.innerText)), [], `${path} ${view}`);
          // What a dump does not say is not shown as 0.
          if (["overview", "timeline"].includes(view))
            assert.doesNotMatch(await page.locator("body").innerText(), /process 0|\(0\)|no block was allocated|\b0 blocks|at most 0\b/, `${path} ${view}`);
        }
        await page.goto(`${server.address}/#/t/${id}/overview`);
        await page.waitForSelector(".card");
        await settled(page);
        const costs = summary.events[0].costs;
        assert.deepEqual(await page.$$eval(".card", (all) => all.map((card) => Number(card.dataset.bytes))), costs.map((cost) => summary[`${cost}_bytes`]));
        assert.equal(await page.locator(".note").count(), summary.estimate ? 1 : 0);
        assert.match(await page.locator(".overview").innerText(), summary.dumps === "1" ? /1 heap dump,?/ : /2 heap dumps/);
        assert.ok(await page.locator(".rail .off").filter({ hasText: "Blocks" }).count());
        if (summary.dumps === "2")
          await differences(page, server, id);
      }
      assert.deepEqual(wrong, []);
    } finally {
      await context.close();
      await server.stop();
    }
  });

  test("what counts in place of time has its own unit", async () => {
    const text = readFileSync(fileURLToPath(new URL("../dump/valgrind/massif.out.1", import.meta.url)), "latin1");
    for (const [unit, clock, shown] of [["i", "instructions", /^[\d.]+( [kMG])? instructions$/], ["B", "bytes", /^[\d.]+ ([KMG]i)?B allocated or freed$/], ["ms", null, /^[\d.]+ (ms|s)$/]]) {
      const libraries = unit === "B" ? 0 : 1; // whether it names them
      writeFileSync(inFolder(`massif.${unit}`), text.replace("time_unit: ms", `time_unit: ${unit}`).replace(/\(in [^)]*\)/g, libraries ? "$&" : "(a.c:1)"), "latin1");
      const server = await serve(inFolder(`massif.${unit}`));
      const { page, context, wrong } = await open(browser(), server);
      try {
        const [{ id, clock: listed }] = await server.json("/list"), summary = await server.json(`/data/${id}/summary`);
        assert.deepEqual([listed, summary.clock], [clock, clock]);
        await page.goto(server.address);
        await page.waitForSelector("tr[data-id]");
        const [program, , runtime, , allocations, size] = await page.locator("tr[data-id] td").allInnerTexts();
        assert.match(runtime, shown);
        assert.match(program, /\ssums only$/);
        assert.equal(allocations, "\u2013");
        assert.doesNotMatch(size, /^0/);
        const end = `${summary.duration_ns}ns`;
        await page.goto(`${server.address}/#/t/${id}/timeline?to=${end}`);
        await settled(page);
        for (const place of [".strip-foot > span >> nth=-1", ".axis span >> nth=-1"])
          assert.match(await page.locator(place).innerText(), shown, place);
        assert.equal(await page.locator(".chip b").innerText(), clock ? await page.locator(".strip-foot > span >> nth=-1").innerText() : end);
        await page.goto(`${server.address}/#/t/${id}/overview`);
        await settled(page);
        const said = await page.locator(".overview").innerText();
        assert.match(said, clock ? /, written / : /, started /);
        if (clock)
          assert.doesNotMatch(said, /\d (ms|s|ns|\u00b5s)\b|per second/);
        assert.equal(await page.locator("section[aria-label='Libraries at the peak']").count(), libraries);
        // Some recordings do not say when they began.
        await page.route((url) => url.pathname === "/list", async (route) => {
          const response = await route.fetch(), rows = await response.json();
          await route.fulfill({ response, json: rows.map((row) => ({ ...row, timestamp: { secs: 0, fract_nsecs: 0 } })) });
        });
        await page.goto(`${server.address}/#/`);
        await page.reload();
        assert.equal(await page.locator("tr[data-id] td").nth(1).innerText(), "\u2013");
        assert.deepEqual(wrong, []);
      } finally {
        await context.close();
        await server.stop();
      }
    }
  });
}
