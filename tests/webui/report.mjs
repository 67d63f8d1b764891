// SPDX-License-Identifier: MIT OR Apache-2.0
// The report that is one file: opened from the disk, without a server, it says what the server says.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { get, open, settled } from "./browser.mjs";

const OTHERS = ["diff?ui.shape=functions", "diff?ui.shape=libraries", "diff?ui.shape=stacks", "functions?by=requester", "functions?by=library",
                "flame?ui.inverted=1", "tree?ui.inverted=1"];

async function to(page, view) {
  await page.evaluate((name) => { location.hash = location.hash.replace(/\/[a-z]+(\?.*)?$/, "/" + name); }, view);
  await page.waitForSelector(`[data-view="${view.replace(/\?.*/, "")}"].view`);
  await settled(page);
}

function numbers(page) {
  return page.$$eval(".view [data-bytes], .view [data-delta], .view td.number", (all) => all.map((one) => ({ ...one.dataset, text: one.tagName === "TD" ? one.innerText : "" })));
}

export function reports({ views, command, browser, inFolder, server, hostile }) {
  async function opened(file, run) {
    const { page, context, wrong } = await open(browser(), { address: "file://" });
    await context.setOffline(true);
    await page.goto("file://" + file);
    await settled(page);
    await run(page, (view) => to(page, view));
    assert.deepEqual(wrong, []);
    await context.close();
  }

  test("a report in one file has every view, with the server's numbers", async () => {
    const file = inFolder("report.html");
    writeFileSync(file, execFileSync(command, ["report", "--html", inFolder("random.dat")]));
    assert.ok(statSync(file).size <= 5 * 2 ** 20);
    const summary = await server().json("/data/last/summary");
    const { findings } = await server().json("/data/last/findings");
    await opened(file, async (page, go) => {
      assert.deepEqual(await page.$$eval(".card", (all) => all.map((card) => [Number(card.dataset.bytes), Number(card.dataset.count)])),
        [[summary.peak_bytes, summary.peak_count], [summary.live_bytes, summary.live_count], [summary.allocated_bytes, summary.allocations], [summary.temporary_bytes, summary.temporary_count]]);
      assert.deepEqual(await page.$$eval("[data-finding]", (all) => all.map((one) => Number(one.dataset.bytes))), findings.map((one) => one.bytes));
      const { page: online, context } = await open(browser(), server());
      await online.goto(`${server().address}/#/t/${summary.trace_id}/overview`);
      for (const view of [...views.filter((one) => !["export", "console"].includes(one)), ...OTHERS]) {
        for (const one of [page, online])
          await to(one, view);
        assert.deepEqual(await page.$$eval("[data-state=problem]", (all) => all.map((one) => one.innerText)), [], view);
        const [filed, served] = [await numbers(page), await numbers(online)];
        // Lists show as many rows as there is room for; the report's note takes some of it.
        const shown = Math.min(filed.length, served.length);
        assert.ok(shown || !served.length, view);
        assert.deepEqual(filed.slice(0, shown), served.slice(0, shown), view);
      }
      await context.close();
      assert.match(await page.locator(".report-note").innerText(), /heapsonde server random\.dat/);
    });
  });

  test("what a report does not have says which command has it", async () => {
    await opened(inFolder("report.html"), async (page) => {
      await page.evaluate(() => { location.hash += "?size_min=100"; });
      await page.waitForSelector("[data-state=problem]");
      assert.match(await page.locator("[data-state=problem]").first().innerText(), /'heapsonde server random\.dat' has all of them/);
      // Neither has it a part of the time: it stays at the whole time, and offers no other.
      await page.evaluate(() => { location.hash = location.hash.replace(/\?.*/, "?ui.time=0-1000"); });
      await page.waitForSelector(".strip[data-state=ready]");
      await settled(page);
      await page.locator(".strip canvas").press("ArrowRight");
      await page.waitForSelector(".meanings");
      assert.equal(await page.getByRole("button", { name: "Zoom in" }).count(), 0);
      assert.equal(await page.getByRole("link", { name: "Whole time" }).count(), 0);
    });
  });

  test("a report is what the server sends, and names in it stay text", async () => {
    const file = inFolder("hostile.html");
    const [{ id }] = await hostile().json("/list");
    const answer = await get(`${hostile().address}/data/${id}/export/html/report.html`);
    assert.match(answer.headers["content-disposition"], /attachment/);
    writeFileSync(file, answer.bytes);
    assert.equal(readFileSync(file, "utf8").split("</script>").length, 3);
    await opened(file, async (page, go) => {
      for (const view of ["flame", "functions", "stacks", "diff", "diff?ui.shape=stacks", "maps", "recording"])
        await go(view);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
    });
  });
}
