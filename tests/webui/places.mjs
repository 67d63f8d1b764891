// SPDX-License-Identifier: MIT OR Apache-2.0
// Where memory was requested: source files and their lines, libraries and functions as areas, threads that freed.
import assert from "node:assert/strict";
import { readFileSync, utimesSync, writeFileSync } from "node:fs";
import { get, open, serve, settled } from "./browser.mjs";
import { test } from "node:test";

const COSTS = ["peak", "live", "allocated", "temporary"];
const lines = (page) => page.$$eval(".table tbody tr:not(.space)", (all) => all.map((row) => [...row.cells].map((cell) => cell.querySelector("[title]")?.title ?? cell.textContent)));
const sumOf = ([bytes, count], exact = (value) => value.toString().replace(/\B(?=(\d{3})+$)/g, ",")) => bytes || count ? `${exact(bytes)} ${bytes === 1 ? "byte" : "bytes"} in ${exact(count)}` : "";

export function places({ page, view, programs, inFolder, browser, record }) {
  const of = () => programs.server, cpp = (name, query) => view(name, query, programs.cpp);
  const data = (what) => programs.server.json(`/data/${programs.cpp}/${what}`);
  const fileOf = async () => (await data("totals?by=source")).rows.map((row) => row.key).find((key) => key.endsWith("/program.cc"));
  const asked = (page) => new URLSearchParams(page.url().split("?")[1] ?? "");

  page("source files lead to their lines, whose costs are REST's; without --source it is said how the text is shown", async (page, go) => {
    const file = await fileOf(), { rows: files } = await data("totals?by=source&sort_by=self.allocated.bytes&order=dsc");
    await go(cpp("source", "cost=allocated"));
    const listed = await lines(page);
    assert.ok(listed.length > 1);
    assert.deepEqual(listed.map((cells) => [cells[0], cells[3]]), files.slice(0, listed.length).map((row) => [sumOf(row.self.allocated), row.key]));
    await page.locator(".table tbody tr", { hasText: "program.cc" }).first().click();
    await page.waitForFunction(() => location.hash.includes("file="));
    await settled(page);
    assert.equal(asked(page).get("file"), file);
    for (const cost of COSTS) {
      await go(cpp("source", `cost=${cost}&file=${encodeURIComponent(file)}`));
      const { rows } = await data(`totals?by=line&file=${encodeURIComponent(file)}&cost=${cost}`);
      assert.ok(rows.length > 1);
      assert.deepEqual((await lines(page)).map((cells) => cells.slice(0, 3)), rows.map((row) => [String(row.line), sumOf(row.self[cost]), sumOf(row.total[cost])]), cost);
      const { rows: [whole] } = await data(`totals?by=source&file=${encodeURIComponent(file)}`);
      assert.deepEqual(await page.$eval("[data-own]", (one) => [Number(one.dataset.own), Number(one.dataset.with)]), [whole.self[cost][0], whole.total[cost][0]]);
    }
    assert.match(await page.locator(".source-note").innerText(), /--source DIR/);
    // Sorted by costs; Back.
    const before = await lines(page);
    await page.locator(".table th button", { hasText: "With callees" }).click();
    await page.waitForFunction(() => location.hash.includes("sort_by=total.temporary.bytes"));
    await settled(page);
    const { rows } = await data(`source?lines=costly&file=${encodeURIComponent(file)}&cost=temporary&sort_by=total.temporary.bytes&order=dsc`);
    assert.deepEqual((await lines(page)).map((cells) => cells[0]), rows.map((row) => String(row.line)));
    await page.goBack();
    await page.waitForFunction(() => !location.hash.includes("sort_by"));
    await settled(page);
    assert.deepEqual(await lines(page), before);
    await go(cpp("source", "file=" + encodeURIComponent("/etc/passwd")));
    assert.match(await page.locator(".table .empty").innerText(), /[Nn]othing/);
    assert.match(await page.locator(".source-note").innerText(), /no code of this trace/);
  }, { of });

  test("with --source the text is beside the costs, as text; a line is an address", async () => {
    const name = inFolder("markup.cc"), text = `// <img src=x onerror=window.hacked=1>\u202e\n${readFileSync(process.env.HEAPSONDE_TEST_CPP, "utf8")}${"// padding\n".repeat(300)}`;
    writeFileSync(name, text);
    // Older than the program is started, whatever the clock does.
    const now = Date.now() / 1000, written = (seconds) => utimesSync(name, seconds, seconds);
    written(now - 86400);
    const server = await serve("--source", programs.folder, record("markup.dat", name));
    const { page, context, wrong } = await open(browser(), server);
    try {
      const [{ id }] = await server.json("/list"), to = async (query) => {
        await page.goto(`${server.address}/${view("source", query, id)}`);
        await settled(page);
      };
      await to("cost=allocated&ui.line=1&file=" + encodeURIComponent(name));
      const wanted = text.split("\n");
      const first = (await lines(page)).map((cells) => cells.at(-1));
      assert.ok(first.length > 15);
      assert.deepEqual(first, wanted.slice(0, first.length).map((line) => line.replace("\u202e", "\ufffd")));
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      assert.equal(await page.locator("#app img").count(), 0);
      assert.equal(await page.locator(".source-note").count(), 0);
      // Costs stand beside the line that allocates.
      const { rows } = await server.json(`/data/${id}/totals?by=line&cost=allocated&file=${encodeURIComponent(name)}`);
      const malloc = rows.find((row) => /malloc\(1000/.test(wanted[row.line - 1]));
      assert.ok(malloc.self.allocated[0] > 1000);
      await page.getByRole("searchbox", { name: "Search in this file" }).fill("MALLOC(1000");
      await page.waitForFunction(() => location.hash.includes("contains="));
      await settled(page);
      assert.deepEqual((await lines(page)).map((cells) => cells.slice(0, 2)), [[String(malloc.line), sumOf(malloc.self.allocated)]]);
      await page.locator(".table tbody tr:not(.space)").first().click();
      await page.waitForFunction((line) => location.hash.includes("ui.line=" + line), malloc.line);
      assert.equal(await page.locator(".marked-line").innerText(), `${malloc.line}: ${wanted[malloc.line - 1].trim()}`);
      // The line far below is shown when the address names it.
      await to(`cost=allocated&file=${encodeURIComponent(name)}&ui.line=${wanted.length - 3}`);
      await page.waitForSelector(`.table tr.open[aria-rowindex="${wanted.length - 2}"]`);
      const box = await page.locator(".table tr.open").boundingBox(), pane = await page.locator(".table-pane").boundingBox();
      assert.ok(box.y >= pane.y && box.y + box.height <= pane.y + pane.height);
      // From a frame of a stack.
      const group = (await server.json(`/data/${id}/allocation_groups?function_regex=even&count=1`)).allocations[0];
      await page.goto(`${server.address}/${view("stacks", "ui.stack=" + group.backtrace_id, id)}`);
      await settled(page);
      await page.locator(".frames a", { hasText: /^markup\.cc:\d+$/ }).first().click();
      await page.waitForFunction(() => /\/source\?.*ui\.line=\d+/.test(location.hash));
      await settled(page);
      assert.ok(await page.locator(".table tr.open").count() === 1);
      // The file is changed: it is said.
      writeFileSync(name, text + "// one more line\n");
      written(now + 86400);
      await page.reload();
      await page.locator(".source-note", { hasText: "was changed" }).waitFor();
      // Not where it is unknown when the program was started.
      await page.route("**/summary*", async (route) => {
        const answer = await get(route.request().url());
        await route.fulfill({ json: { ...answer.json(), start_realtime_ns: 0 } });
      });
      await page.reload();
      await page.locator(".table tbody tr:not(.space)").first().waitFor();
      await settled(page);
      assert.equal(await page.locator(".source-note").count(), 0);
      assert.deepEqual(wrong, []);
    } finally {
      await context.close();
      await server.stop();
    }
  });

  page("areas are sums of call sites, at every level; a click looks into one, Back leads out", async (page, go) => {
    const parts = () => page.$$eval("[data-of]", (all) => all.map((one) => [one.querySelector("td").textContent, Number(one.dataset.size), Number(one.dataset.count)]));
    for (const cost of COSTS) {
      await go(cpp("treemap", `cost=${cost}`));
      const { rows, sum } = await data(`totals?by=requester_line&cost=${cost}&sort_by=self.${cost}.bytes&order=dsc`), sums = new Map();
      for (const row of rows) {
        const one = sums.get(row.library) ?? [0, 0];
        sums.set(row.library, [one[0] + row.self[cost][0], one[1] + row.self[cost][1]]);
      }
      const wanted = [...sums].filter(([, one]) => one[0]).map(([name, one]) => [name, ...one]).sort((a, b) => b[1] - a[1]);
      assert.deepEqual((await parts()).filter(([name]) => !name.startsWith("smaller")), wanted, cost);
      assert.equal(Number(await page.getAttribute("[data-part]", "data-part")), sum[cost][0]);
      assert.equal((await parts()).reduce((all, one) => all + one[1], 0), sum[cost][0]);
      assert.ok(Number(await page.getAttribute(".treemap svg", "data-boxes")) < 500);
    }
    await go(cpp("treemap", "cost=allocated"));
    // Names end within their boxes, at whole letters. Fonts have the widths of letters on a canvas only nearly.
    const names = await page.$$eval(".treemap svg svg", (all) => all.filter((one) => one.querySelector("text")).map((one) => [one.querySelector("text").textContent, one.querySelector("text").getBBox().width * 0.98 + 4 - one.width.baseVal.value]));
    assert.ok(names.length > 2);
    assert.deepEqual(names.filter(([, beyond]) => beyond > 0), []);
    const { rows } = await data("totals?by=requester_line&cost=allocated&sort_by=self.allocated.bytes&order=dsc");
    const whole = await page.locator(".treemap > div > svg").evaluate((svg) => svg.clientWidth * svg.clientHeight);
    const box = await page.locator(".treemap a", { has: page.locator("title", { hasText: /^program:/ }) }).first().evaluate((one) => one.querySelector("rect").getBoundingClientRect().toJSON());
    const own = rows.filter((row) => row.library === "program").reduce((sum, row) => sum + row.self.allocated[0], 0), all = (await data("totals?by=requester_line&cost=allocated")).sum.allocated[0];
    assert.ok(Math.abs(box.width * box.height / whole - own / all) < 0.02, `${box.width * box.height / whole} of ${own / all}`);
    // In, to a function, to its line, and back again.
    await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2); // a box within it
    await page.waitForFunction(() => location.hash.includes("ui.library="));
    await page.goBack();
    await page.waitForFunction(() => !location.hash.includes("ui.library="));
    await settled(page);
    await page.locator(".treemap a[aria-label^='program:']").first().click({ position: { x: 20, y: 8 } });
    await page.waitForFunction(() => location.hash.includes("ui.library="));
    await settled(page);
    assert.equal(Number(await page.getAttribute("[data-part]", "data-part")), own);
    assert.match(await page.locator(".about p").innerText(), /function of the library/);
    await page.locator(".treemap a[aria-label^='odd(']").first().focus();
    await page.keyboard.press(".");
    await page.getByRole("menuitem", { name: "Show callers and callees" }).waitFor();
    await page.keyboard.press("Escape");
    await page.waitForSelector(".menu", { state: "detached" });
    await page.locator(".treemap a[aria-label^='odd(']").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("ui.function="));
    await settled(page);
    const odd = rows.filter((row) => row.key === "odd(int)").map((row) => [`program.cc:${row.line}`, ...row.self.allocated]);
    assert.deepEqual(await parts(), odd);
    await page.reload();
    await settled(page);
    assert.deepEqual(await parts(), odd);
    const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save SVG" }).click()]);
    assert.match(readFileSync(await saved.path(), "utf8"), /^<svg [^>]*xmlns[^]*program\.cc:/);
    await page.locator("[data-of=site] a").first().click();
    await page.waitForFunction(() => /\/source\?.*ui\.line=/.test(location.hash));
    for (const text of ["ui.function=", "ui.library=", "cost=allocated"]) {
      await page.goBack();
      await page.waitForFunction((wanted) => location.hash.includes("/treemap?") && location.hash.includes(wanted), text);
    }
    await settled(page);
    assert.equal(Number(await page.getAttribute(".view [data-bytes]", "data-bytes")), all);
  }, { of });

  test("cells of threads are the server's", async () => {
    const { page, context, wrong } = await open(browser(), programs.random);
    try {
      for (const query of ["", "size_min=100", "ui.unit=count", "size_min=1T"]) {
        await page.goto(`${programs.random.address}/${view("threads", query, programs.randomId)}`);
        await settled(page);
        const answer = await programs.random.json(`/data/last/thread_matrix?${query.startsWith("ui") ? "" : query}`);
        const cells = await page.$$eval("[data-cell]", (all) => all.map((one) => one.dataset.cell).sort());
        assert.deepEqual(cells, answer.cells.map((cell) => `${cell.by} ${cell.freed_by} ${cell.bytes} ${cell.count}`).sort(), query);
        if (query === "")
          assert.ok(answer.cells.some((cell) => cell.freed_by !== null && cell.freed_by !== cell.by));
        if (!answer.count) {
          assert.match(await page.locator(".matrix .empty").innerText(), /No block matches the filter/);
          continue;
        }
        assert.equal(Number(await page.getAttribute("[data-others]", "data-others")), answer.freed_by_others.bytes);
        assert.deepEqual((await page.locator(".matrix thead th").allInnerTexts()).slice(1).map((text) => text.replace(/.* /, "")), [...answer.threads.map((one) => String(one.thread)), "freed"]);
      }
      // Threads may be many: it is said which ones are shown, and what is below them is one click away.
      await page.route((url) => url.pathname.endsWith("/totals") && url.search.includes("by=thread"), async (route) => {
        const answer = (await get(route.request().url())).json();
        await route.fulfill({ json: { ...answer, rows: answer.rows.flatMap((row) => Array.from({ length: 700 }, (_, i) => ({ ...row, thread: row.thread + 10000 * i }))), total_count: 12345 } });
      });
      await page.goto(`${programs.random.address}/${view("threads", "size_min=2", programs.randomId)}`);
      await settled(page);
      assert.equal(await page.locator(".bars .note").innerText(), "These are the 1,000 threads with the most, of 12,345.");
      assert.ok((await page.locator(".matrix h2").boundingBox()).y > 10000);
      await page.getByRole("button", { name: "Who freed it" }).click();
      await page.waitForFunction(() => document.activeElement.classList.contains("matrix"));
      await page.waitForFunction(() => document.querySelector(".matrix h2").getBoundingClientRect().y < innerHeight);
      assert.deepEqual(wrong, []);
    } finally {
      await context.close();
    }
  });

  page("on a phone the text of lines covers no number", async (page, go) => {
    await go(cpp("source", `cost=allocated&file=${encodeURIComponent(await fileOf())}`));
    const heads = await page.$$eval(".lines-of-file th", (all) => all.slice(0, 3).concat(all.at(-1)).map((one) => one.getBoundingClientRect().toJSON()));
    assert.ok(heads[2].right <= heads[3].left + 1, JSON.stringify(heads));
  }, { of, viewport: { width: 390, height: 844 } });

  page("the call tree is searched: what matches and what leads to it", async (page, go) => {
    await go(cpp("tree", "cost=allocated"));
    await page.keyboard.press("/");
    await page.keyboard.type("temporary");
    await page.waitForFunction(() => document.querySelector(".view-tree .hits")?.dataset.hits === "1" && document.querySelector(".found"));
    await settled(page);
    const { size } = await data("call_tree?cost=allocated&function_regex=" + encodeURIComponent("(?i:temporary)") + "&format=columns&nodes=1&depth=1").then((answer) => ({ size: answer.size[0] }));
    assert.equal(Number(await page.getAttribute(".found", "data-size")), size);
    assert.equal(Number(await page.getAttribute(".hits", "data-sum")), size);
    const names = (await page.locator("button.node .name").evaluateAll((all) => all.map((one) => one.title.split(" /")[0])));
    assert.deepEqual(names.slice(-2), ["main", "temporary()"]);
    assert.equal(await page.locator("tr.hit").count(), 1);
    await page.focus(".search");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.activeElement?.closest("tr.hit"));
    await page.fill(".search", "no such name");
    await page.waitForFunction(() => document.querySelector(".view-tree .hits")?.dataset.hits === "0");
    assert.match(await page.locator(".hits").innerText(), /no row matches/);
  }, { of });

  page("the address space is played: every step is an instant, whose numbers are REST's", async (page, go) => {
    const { duration_ns: end } = await data("summary"), used = () => page.getAttribute("[data-used]", "data-used").then(Number);
    const instant = (step) => {
      const at = Math.round(step * end / 40);
      return at % 1e9 === 0 ? `${at / 1e9}s` : at % 1e6 === 0 ? `${at / 1e6}ms` : `${at}ns`;
    };
    await go(cpp("maps", "lifetime=only_leaked"));
    await page.getByRole("slider", { name: "Instant" }).fill("20");
    for (const [step, button] of [[20, "The next step"], [21, "The next step"], [22, "The previous step"], [21, undefined]]) {
      const at = Math.round(step * end / 40);
      await page.waitForFunction((wanted) => new URLSearchParams(location.hash.split("?")[1]).get("at") === wanted, instant(step));
      await settled(page);
      assert.equal(await used(), (await data(`address_map?at=${at}ns&width=300`)).used_size, `${step}`);
      assert.equal(asked(page).get("lifetime"), null);
      if (button)
        await page.getByRole("button", { name: button }).click();
    }
    const seen = new Set();
    await page.exposeFunction("seenAt", (hash) => seen.add(new URLSearchParams(hash.split("?")[1]).get("at")));
    await page.evaluate(() => addEventListener("hashchange", () => window.seenAt(location.hash)));
    await page.getByRole("slider", { name: "Instant" }).fill("34");
    await page.getByRole("button", { name: "Play" }).click();
    await page.waitForFunction((wanted) => new URLSearchParams(location.hash.split("?")[1]).get("at") === wanted, instant(40));
    await page.waitForSelector(".player[data-playing=false]");
    await settled(page);
    assert.equal(seen.size, 7, [...seen].join());
    assert.equal(await used(), (await data(`address_map?at=${end}ns&width=300`)).used_size);
    await page.getByRole("button", { name: "Whole time" }).click();
    await page.waitForFunction(() => !location.hash.includes("at="));
  }, { of });

  page("on a phone the root of a flame is on the first screen, also after zooming in and out", async (page, go) => {
    for (const query of ["ui.up=1", "ui.up=1&cost=allocated&ui.inverted=1", "ui.up=1&ui.zoom=0.0"]) {
      await go(cpp("flame", query));
      const pane = await page.locator(".flame-pane").boundingBox();
      assert.ok(pane.height > 120 && pane.y + pane.height <= 844, `${query}: ${pane.y} ${pane.height}`);
      await page.locator(".flame canvas").click({ position: { x: pane.width / 2, y: pane.height - 10 } });
      await page.waitForFunction(() => !location.hash.includes("ui.zoom="));
    }
    await page.getByRole("link", { name: "Turn over" }).click();
    await page.waitForFunction(() => !location.hash.includes("ui.up"));
    await settled(page);
    assert.ok((await page.locator(".flame").boundingBox()).height > 500);
  }, { of, viewport: { width: 390, height: 844 } });

  page("on a phone the selected function covers no part of the picture", async (page, go) => {
    for (const query of ["ui.sel=0", "ui.up=1&ui.sel=0"]) {
      await go(cpp("flame", query));
      await page.waitForFunction(() => {
        const pane = document.querySelector(".flame-pane").getBoundingClientRect(), side = document.querySelector(".inspector").getBoundingClientRect();
        return pane.height > 120 && pane.top > -1 && pane.bottom < side.top + 1 && side.top < innerHeight;
      });
    }
  }, { of, viewport: { width: 390, height: 844 } });
}
