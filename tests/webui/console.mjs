// SPDX-License-Identifier: MIT OR Apache-2.0
// Scripts of the console: their numbers are REST's, and they reach nothing but the questions about their trace.
import assert from "node:assert/strict";
import { settled } from "./browser.mjs";

export function consoles({ page, view }) {
  // `budget`: the milliseconds that the page gives the script. No test waits as long as these.
  const start = async (page, code, budget = 600000) => {
    await page.evaluate((budget) => { document.body.dataset.budget = budget; }, budget);
    await page.fill(".console textarea", code);
    await page.getByRole("button", { name: "Run", exact: true }).click();
  };
  const over = async (page) => {
    await page.waitForSelector("[data-run=over]:not(:empty)");
    return page.locator("[data-run]").innerText();
  };
  const lines = (page) => page.$$eval(".output pre", (all) => all.map((one) => one.textContent));

  page("console: lists have the numbers of REST", async (page, go) => {
    await go(view("console"));
    const ask = (what) => page.evaluate(async (path) => (await fetch("/data/last/" + path)).json(), what);
    const example = page.getByRole("button", { name: "Example" });
    assert.ok(await example.isDisabled(), "it is there already");
    await start(page, `
      const small = allocations().only_smaller_or_equal(100), live = allocations().only_leaked();
      const all = [allocations(), small, live, small.plus(live), small.minus(live), small.and(live), live.only_smaller(50).only_larger(10).only("size_max", 40)];
      for (const list of all)
        println(await list.len());
      println(await live.group_by_backtrace().len(), (await live.sum()).live[0], await data().runtime());
      await table(live.group_by_backtrace().sort_by_size().take(3));
      await graph().add("All", allocations()).add("Live", live).save();`);
    assert.match(await over(page), /^Finished/);
    const [first, ...rest] = (await lines(page)).slice(0, 7).map(Number), [small, live, either, only, both, narrow] = rest;
    const total = async (query) => (await ask("allocations?count=1&" + query)).total_count;
    assert.deepEqual([first, small, live], [await total(""), await total("size_max=100"), await total("lifetime=only_leaked")]);
    assert.equal(both, await total("size_max=100&lifetime=only_leaked"));
    assert.ok(both > 0 && both < small && both < live);
    assert.deepEqual([either, only], [small + live - both, small - both]);
    assert.equal(narrow, await total("size_min=11&size_max=40&lifetime=only_leaked"));
    const groups = await ask("allocation_groups?count=3&sort_by=only_matched.size&order=dsc&lifetime=only_leaked"), summary = await ask("summary");
    assert.equal((await lines(page))[7], `${groups.total_count} ${summary.live_bytes} ${summary.duration_ns}`);
    assert.ok(await example.isEnabled());
    assert.deepEqual(await page.$$eval(".output tbody tr", (all) => all.map((one) => Number(one.cells[0].textContent))), groups.allocations.map((one) => one.only_matched.size));
    assert.equal(await page.locator(".output polyline").count(), 2);
    assert.ok(await page.locator(".console details li").count() >= 11);
    // It is there again, and the filter of the address becomes a part of it.
    await go(view("console", "size_min=10"));
    await page.reload();
    await settled(page);
    assert.match(await page.inputValue(".console textarea"), /const small/);
    await page.getByRole("button", { name: "Add the filter" }).click();
    assert.match(await page.inputValue(".console textarea"), /\.only\("size_min", "10"\)/);
  });

  page("console: what is wrong is said, and an endless loop can be stopped", async (page, go) => {
    await go(view("console"));
    for (const [code, said] of [["nonsense(", /SyntaxError/], ["await allocations().only('size_min', 'x').len()", /size_min/], ["null.x", /TypeError/]]) {
      await start(page, code);
      assert.match(await over(page), said);
    }
    await start(page, "println('on'); for (;;);");
    await page.waitForSelector(".output pre");
    await page.getByRole("button", { name: "Stop", exact: true }).click();
    assert.match(await over(page), /Stopped/);
    await start(page, "for (;;);", 300);
    assert.match(await over(page), /^A script has 0\.3 s, .* stopped/);
    await start(page, "println('again')");
    assert.match(await over(page), /^Finished/);
    assert.deepEqual(await lines(page), ["again"]);
    assert.equal(await page.locator("iframe").count(), 0);
  }, { refused: [400] });

  page("console: scripts reach neither the page nor the network, and what they forge does nothing", async (page, go, wrong) => {
    await go(view("console"));
    await start(page, `
      postMessage({ kind: "ready" });
      println(typeof document, typeof parent, typeof localStorage, origin);
      for (const reach of [() => fetch(${JSON.stringify("ORIGIN/list")}), () => importScripts("ORIGIN/list"), () => new Function("return fetch('ORIGIN/list')")()])
        try {
          await reach();
          println("reached");
        } catch {
          println("refused");
        }
      for (const what of ["../../list", "control", "live", "constructor", {}, null, "export"])
        println(await ask(what, { command: "flush" }).then(() => "answered", (problem) => problem.message));
      for (const forged of [null, 1, {}, { kind: "table" }, { kind: "table", columns: [null], rows: [null, [{}]] }, { kind: "chart", lines: [null, { sizes: ["x"] }] }, { kind: "line", text: "<img src=x onerror=window.hacked=1>" }, { kind: "line", text: { toString: 1 } }])
        postMessage(forged);
      println((await ask("diff", { base: "another", base_at: "0%", at: "50%" })).size_delta);`.replaceAll("ORIGIN", new URL(page.url()).origin));
    assert.match(await over(page), /^Finished/);
    const said = await lines(page);
    assert.equal(said[0].split(" ").slice(0, 3).join(), "undefined,undefined,undefined");
    assert.deepEqual(said.slice(1, 4), ["refused", "refused", "refused"]);
    assert.equal(said.slice(4, 11).filter((one) => one === "answered").length, 0, said.join());
    const { size_delta } = await page.evaluate(async () => (await fetch("/data/last/diff?base_at=0%25&at=50%25")).json());
    assert.deepEqual(said.slice(11), ["<img src=x onerror=window.hacked=1>", "?", String(size_delta)], "the script ran once, and asked about its own trace");
    assert.equal(await page.evaluate(() => window.hacked), undefined);
    assert.equal(await page.locator(".output img").count(), 0);
    // The browser says what the policy of the frame forbade.
    assert.deepEqual(wrong.filter((one) => !/Content Security Policy|violates/.test(one)), []);
    wrong.length = 0;
  }, { refused: [404] });
}
