// SPDX-License-Identifier: MIT OR Apache-2.0
// What people miss in such pages, a test for each.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { clipboard, drawn, get, open, rowsAre, settled } from "./browser.mjs";

const UNITS = ["bytes", "count"], COSTS = ["peak", "live", "allocated", "temporary"];
const LIMIT = 4 << 20;

export function criteria({ page, view, count, programs, command, environment, browser }) {
  const of = () => programs.server;
  const cpp = (name, query) => view(name, query, programs.cpp), python = (name, query) => view(name, query, programs.python);
  const data = (what) => programs.server.json(`/data/${programs.cpp}/${what}`);
  const asked = (page) => new URLSearchParams(page.url().split("?")[1] ?? "");
  const total = async (page) => [Number(await page.getAttribute(".view [data-bytes]", "data-bytes")), Number(await page.getAttribute(".view [data-bytes]", "data-count"))];
  const hashHas = (page, text) => page.waitForFunction((wanted) => decodeURIComponent(location.hash).includes(wanted), text);
  // Over which places of a row of the picture there are tips, and what these say; the page is told where the mouse would be.
  const tipsAlong = (page, y) => page.locator(".flame canvas").first().evaluate(async (canvas, y) => {
    const { left, top, width } = canvas.getBoundingClientRect(), found = [];
    for (let i = 0; i < 24; i++) {
      const at = { clientX: left + 4 + (i + 0.5) / 24 * (width - 8), clientY: top + y };
      canvas.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, ...at }));
      await new Promise((resolve) => queueMicrotask(() => queueMicrotask(resolve)));
      const tip = document.querySelector(".tip");
      if (tip)
        found.push([at.clientX, at.clientY, tip.querySelector("strong").textContent, tip.textContent]);
    }
    return found;
  }, y);
  const pointAt = async (page, run) => { // the mouse over a box that is as it has to be; its name
    const { height } = await page.locator(".flame canvas").first().boundingBox();
    for (let y = 30; y < Math.min(height, 420); y += 20)
      for (const [left, top, ...said] of await tipsAlong(page, y)) {
        if (!run(...said))
          continue;
        await page.mouse.move(left, top);
        await drawn(page);
        const [name, text] = await page.$$eval(".tip", ([one]) => one ? [one.querySelector("strong").textContent, one.textContent] : []);
        if (name !== undefined && run(name, text))
          return name;
      }
    assert.fail("no box is as it has to be");
  };

  page("A1: one sum everywhere, for any filter and at any instant", async (page, go) => {
    const { thread_list: threads } = await data("summary");
    assert.ok(threads.length > 1);
    for (const filter of ["", "size_min=1500", ...threads.slice(0, 3).map(({ thread }) => `thread=${thread}`), "at=peak"]) {
      const query = filter && "&" + filter, live = await data(`call_tree?cost=live${query}`), all = await data(`call_tree?cost=allocated${query}`);
      const groups = await data(`allocation_groups?frames=none${query}`), sums = await data(`totals?by=library${query}`);
      const add = (values) => values.reduce((a, b) => a + b, 0);
      assert.equal(add(groups.allocations.map((row) => row.only_matched.size)), all.size, filter);
      assert.equal(add(groups.allocations.map((row) => row.only_matched.leaked_size)), live.size, filter);
      assert.deepEqual(sums.sum.live, [live.size, live.count], filter);
      const [cost, tree] = live.count ? ["live", live] : ["allocated", all];
      await go(cpp("flame", `cost=${cost}${query}`));
      assert.deepEqual(await total(page), [tree.size, tree.count], filter);
      if (!filter.includes("at="))
        assert.equal(Number(await page.getAttribute(".strip", "data-end")), live.size, filter);
    }
  }, { of });

  page("A1: at the end of an interval, the tree is as large as the timeline says", async (page, go) => {
    const ask = (what) => programs.random.json(`/data/${programs.randomId}/${what}`), { start_ns: start, interval_ns: interval, end_size: sizes } = await ask("timeline?width=9");
    let seen = 0;
    for (const [i, size] of sizes.entries()) {
      const at = start + (i + 1) * interval;
      if (!size || i % 3)
        continue;
      await go(view("flame", `cost=allocated&at=${at}ns`, programs.randomId));
      assert.equal((await total(page))[0], size, `${i}`);
      seen++;
    }
    assert.ok(seen > 1);
  }, { of: () => programs.random });

  page("A2: the peak has a flag in the strip", async (page, go) => {
    await go(view("overview", "", programs.randomId));
    const { peak_time_ns: peak, duration_ns: end } = await programs.random.json("/data/last/summary");
    // Between the flag and the highest point of the heap there is only the staff.
    const [on, beside] = await page.locator(".strip canvas").evaluate((canvas, part) => {
      const x = Math.min(canvas.clientWidth - 1, Math.round(part * canvas.clientWidth)), alpha = (column) => canvas.getContext("2d").getImageData(column, 10, 1, 1).data[3];
      return [alpha(x), alpha(x > 40 ? x - 20 : x + 20)];
    }, peak / end);
    assert.deepEqual([on, beside], [255, 0]);
  }, { of: () => programs.random });

  page("A2: the peak, the resident peak and the end are one click away, and drawn", async (page, go) => {
    await go(view("flame", "cost=temporary", programs.randomId));
    const usage = await programs.random.json("/data/last/timeline_usage?width=1000");
    await page.waitForSelector(".instants a:nth-of-type(3)");
    const links = page.locator(".instants a"), size = async () => Number(await page.getAttribute(".total", "data-bytes"));
    const before = await page.locator(".strip canvas").evaluate((canvas) => canvas.toDataURL());
    await links.nth(1).click();
    await hashHas(page, "at=peak_rss");
    await settled(page);
    assert.notEqual(await page.locator(".strip canvas").evaluate((canvas) => canvas.toDataURL()), before);
    const { peak } = await programs.random.json("/data/last/resident");
    assert.equal(Math.max(...usage.resident_size), peak.resident_bytes);
    assert.equal(await size(), peak.live_bytes);
    assert.equal(await size(), (await programs.random.json(`/data/last/call_tree?cost=allocated&at=${peak.time_ns}ns`)).size);
    for (const [number, cost] of [[0, "peak"], [2, "live"]]) {
      await links.nth(number).click();
      await hashHas(page, "cost=" + cost);
      await settled(page);
      assert.equal(await size(), (await programs.random.json(`/data/last/call_tree?cost=${cost}`)).size);
    }
  }, { of: () => programs.random });

  page("A3: the flame graph is one click from every page; cost, unit and instant are seen", async (page, go) => {
    for (const name of programs.views) {
      await page.goto(programs.server.address + "/" + cpp(name));
      await page.waitForSelector(`.view-${name}`);
      assert.ok(await page.locator(".rail a", { hasText: "Flame graph" }).isVisible(), name);
      if (name !== programs.views.at(-1))
        continue;
      await page.locator(".rail a", { hasText: "Flame graph" }).click();
      await page.waitForSelector(".flame canvas[data-ready]");
      for (const control of ["At the peak", "Still live at the end", "Allocated", "Temporary", "Bytes", "Blocks"])
        assert.ok(await page.locator(".controls a", { hasText: new RegExp(`^${control}$`) }).isVisible(), control);
      assert.ok(await page.locator(".instants a").first().isVisible());
    }
  }, { of });

  // Machado, Oliveira and Fernandes: how colours look to people without one kind of cone.
  const BLIND = { deuteranopia: [[0.367, 0.861, -0.228], [0.28, 0.673, 0.047], [-0.012, 0.043, 0.969]],
                  protanopia: [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]] };
  for (const theme of ["light", "dark"])
    page(`A6: colours of neighbours differ for all eyes (${theme})`, async (page, go) => {
      await go(cpp("timeline", "ui.layers=function"));
      const fills = await page.$$eval(".legend rect", (all) => all.map((one) => getComputedStyle(one).fill.match(/[\d.]+/g).map(Number)));
      assert.ok(fills.length > 4);
      for (const [kind, matrix] of Object.entries(BLIND)) {
        const seen = fills.map((fill) => matrix.map((row) => row.reduce((sum, factor, i) => sum + factor * fill[i], 0)));
        for (let i = 1; i < seen.length; i++)
          assert.ok(Math.hypot(...seen[i].map((value, part) => value - seen[i - 1][part])) > 30, `${kind}: ${fills[i - 1]} and ${fills[i]}`);
      }
    }, { of, colorScheme: theme });

  page("A6: a difference has its sign as a glyph, too, and its colours differ for all eyes", async (page, go) => {
    for (const shape of ["tree", "functions", "libraries", "stacks"]) {
      await go(view("diff", `base_at=20%25&at=70%25&ui.shape=${shape}`, programs.randomId));
      const all = await page.$$eval(".view [data-delta]", (some) => some.map((one) => [Number(one.dataset.delta), one.textContent]));
      assert.ok(all.some(([delta]) => delta), shape);
      for (const [delta, text] of all.filter(([one]) => one))
        assert.ok(text.includes(delta > 0 ? "\u25b2" : "\u25bc") && text.includes(delta > 0 ? "+" : "\u2212"), text);
    }
    const [less, more] = await page.$$eval(".signs .less, .signs .more", (both) => both.map((one) => getComputedStyle(one).color.match(/[\d.]+/g).map(Number)));
    for (const matrix of Object.values(BLIND)) {
      const [a, b] = [less, more].map((colour) => matrix.map((row) => row.reduce((sum, factor, i) => sum + factor * colour[i], 0)));
      assert.ok(Math.hypot(...a.map((value, i) => value - b[i])) > 30, `${less} and ${more}`);
    }
  }, { of: () => programs.random });

  page("A7: the picture has a legend, and says metric, unit, filter and range where it is saved", async (page, go) => {
    await go(cpp("flame", "cost=allocated&ui.unit=count&size_min=20"));
    const legend = await page.locator(".swatches li").allInnerTexts();
    assert.ok(legend.includes("program") && legend.some((name) => name.includes("libc.so")), legend.join());
    const colours = await page.$$eval(".swatches rect", (all) => all.map((one) => one.getAttribute("fill")));
    assert.equal(new Set(colours).size, colours.length);
    const button = page.getByRole("button", { name: "Save PNG" }), caption = await button.getAttribute("title");
    assert.match(caption, /^program \(\d+\) · memory, allocated · in blocks · only size min 20 · of \d\S* \S+/);
    const [saved] = await Promise.all([page.waitForEvent("download"), button.click()]);
    assert.match(saved.suggestedFilename(), /^program-.*allocated.*blocks.*size-min-20.*\.png$/);
    for (const [name, begins] of [["flame", "program"], ["treemap", "treemap-program"]]) {
      await go(cpp(name, "cost=allocated&ui.unit=count&size_min=20"));
      const [svg] = await Promise.all([page.waitForEvent("download"), page.locator("a, button", { hasText: /^Save SVG$/ }).click()]);
      assert.match(svg.suggestedFilename(), new RegExp(`^${begins}-.*allocated.*blocks.*size-min-20.*\\.svg$`));
    }
    await go(cpp("flame", "cost=allocated&ui.unit=count&size_min=20"));
    const png = readFileSync(await saved.path());
    assert.equal(png.readUInt32BE(20), await page.locator(".flame canvas").evaluate((canvas) => canvas.height) + 24);
  }, { of });

  page("A8: no answer is over 4 MiB, and the page stays small", async (page, go) => {
    const sizes = [];
    page.on("response", (response) => sizes.push(response.body().then((body) => [response.url(), body.length], () => ["", 0])));
    for (const name of programs.views)
      await go(python(name, "cost=allocated"));
    for (const [url, size] of await Promise.all(sizes))
      assert.ok(size < LIMIT, `${url} is ${size} bytes`);
    assert.ok(sizes.length > programs.views.length);
    const session = await page.context().newCDPSession(page);
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    assert.ok(usedSize < 200 << 20, `${usedSize} bytes`);
  }, { of });

  page("A9: 100,000,000 rows scroll, and what is no longer asked for is ended", async (page, go) => {
    const all = 100_000_000, time = (secs) => ({ secs, fract_nsecs: 0 });
    await page.route((url) => url.pathname.endsWith("/allocations"), (route) => {
      const query = new URL(route.request().url()).searchParams, skip = Number(query.get("skip")), wanted = Number(query.get("count"));
      const allocations = Array.from({ length: Math.max(0, Math.min(wanted, all - skip)) }, (_, i) => ({ id: skip + i, address_s: (skip + i).toString(16).padStart(16, "0"),
        size: 1, extra_space: 0, thread: 1, backtrace_id: 1, backtrace: [], timestamp: time(0), timestamp_relative: time(0) }));
      return route.fulfill({ json: { allocations, total_count: all } });
    });
    await go(cpp("blocks"));
    const sees = (row) => page.waitForFunction(([at, text]) => [...document.querySelectorAll(".table tbody tr:not(.space)")].some((one) => {
      const box = one.getBoundingClientRect(), pane = document.querySelector(".table-pane").getBoundingClientRect();
      return Number(one.getAttribute("aria-rowindex")) === at + 2 && one.textContent.includes(text) && box.top >= pane.top && box.bottom <= pane.bottom + 24;
    }), [row, "0x" + row.toString(16)]);
    await page.fill(".foot input", "67108865");
    await page.keyboard.press("Enter");
    await sees(67108864);
    await page.focus(".table-pane");
    await page.keyboard.press("End");
    await sees(all - 1);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Home");
    await sees(0);
    await page.locator(".table-pane").evaluate((pane) => pane.scrollTop = pane.scrollHeight / 2);
    await page.waitForFunction(() => Number(document.querySelectorAll(".table tbody tr:not(.space)")[20]?.getAttribute("aria-rowindex")) > 40_000_000);
    await settled(page);
    assert.ok(await page.evaluate(() => document.querySelectorAll("*").length) < 3000);
    await page.unrouteAll();
    await page.route((url) => url.pathname.endsWith("/call_tree"), () => {});
    const [request] = await Promise.all([page.waitForRequest((one) => one.url().includes("/call_tree")), page.locator(".rail a", { hasText: "Flame graph" }).click()]);
    const [ended] = await Promise.all([page.waitForEvent("requestfailed", (one) => one === request), page.locator(".rail a", { hasText: "Export" }).click()]);
    assert.match(ended.failure().errorText, /ABORTED/);
    await settled(page);
  }, { of });

  page("A10: 10,000 levels scroll within a canvas that is no higher than the window", async (page, go) => {
    const levels = 10000, all = (value) => new Array(levels + 1).fill(value);
    const chain = { nodes: levels + 1, left_out: false, strings: ["deep"], parent: [-1, ...Array.from({ length: levels }, (_, i) => i)], name: [-1, ...new Array(levels).fill(0)], library: all(-1),
                    source: all(-1), line: all(0), size: all(1000), count: all(1), self_size: [...new Array(levels).fill(0), 1000], self_count: [...new Array(levels).fill(0), 1] };
    const depths = new Set();
    await page.route((url) => url.pathname.endsWith("/call_tree"), (route) => (depths.add(new URL(route.request().url()).searchParams.get("depth")), route.fulfill({ json: chain })));
    await go(cpp("flame"));
    assert.deepEqual([...depths], [String(levels)]);
    const pane = page.locator(".flame-pane"), canvas = page.locator(".flame canvas");
    assert.ok(await canvas.evaluate((one) => one.getBoundingClientRect().height <= innerHeight && one.height <= innerHeight * devicePixelRatio));
    assert.ok(await pane.evaluate((one) => one.scrollHeight) >= levels * 20);
    await pane.evaluate((one) => one.scrollTop = one.scrollHeight);
    const box = await pane.boundingBox();
    await page.waitForFunction(() => Number(document.querySelector(".flame canvas").dataset.boxes) < 100);
    await page.mouse.move(box.x + 50, box.y + box.height - 35);
    assert.match(await page.locator(".tip").innerText(), /level\s*(9\d\d\d|10000)/);
    await go(cpp("tree"));
    assert.ok(await page.evaluate(() => document.querySelectorAll("*").length) < 6000);
  }, { of });

  page("A11, A12: search asks for everything, counts, adds up, and steps; libraries and files too", async (page, go) => {
    await go(cpp("flame", "cost=allocated"));
    await page.keyboard.press("Control+f");
    assert.equal(await page.evaluate(() => document.activeElement.className), "search");
    for (const [search, filter] of [["ADD", "function_regex=(?i)add"], ["/^(even|odd)\\(/", "function_regex=^(even|odd)\\("], ["lib:libc.so", "library=*libc.so*"], ["file:program.cc", "source_regex=program\\.cc"]]) {
      await page.fill(".search", search);
      await page.waitForSelector(".found");
      const [name, value] = filter.split(/=(.*)/s), wanted = await data(`call_tree?cost=allocated&${name}=${encodeURIComponent(value)}`);
      await page.waitForFunction((size) => Number(document.querySelector(".found")?.dataset.size) === size, wanted.size);
      assert.equal(Number(await page.getAttribute(".hits", "data-sum")), wanted.size, search);
      assert.match(await page.locator(".hits").innerText(), /\d+ box(es match| matches).*%/);
    }
    // A filter of the same kind and a search: REST takes only one of them.
    await go(cpp("flame", "cost=allocated&function_regex=odd"));
    await page.fill(".search", "even");
    await page.waitForFunction(() => document.querySelector(".hits")?.dataset.sum > 0);
    await settled(page);
    await go(cpp("flame", "cost=allocated"));
    await page.fill(".search", "/^(even|odd)\\(/");
    const seen = new Set();
    for (const key of ["Enter", "Enter", "Enter", "Shift+Enter"]) {
      const before = await page.getAttribute(".hits", "data-at");
      await page.keyboard.press(key);
      await page.waitForFunction((at) => document.querySelector(".hits").dataset.at !== at, before);
      assert.match(await page.locator(".inspector h3").getAttribute("title"), /^(even|odd)\(/);
      seen.add(await page.getAttribute(".hits", "data-at"));
    }
    assert.equal(seen.size, 3);
    for (const [name, what] of [["stacks", "allocation_groups"], ["blocks", "allocations"]]) {
      await go(cpp(name));
      await page.keyboard.press("/");
      await page.keyboard.type("registry");
      const { total_count: found } = await data(`${what}?function_regex=(?i)registry&count=1`);
      await rowsAre(page, count(found));
    }
  }, { of });

  page("A13, A38: what is pointed at is marked everywhere, a click chooses it, and its frames choose boxes", async (page, go) => {
    await go(cpp("flame", "cost=allocated"));
    const name = await pointAt(page, (function_) => function_.startsWith("even"));
    assert.ok(await page.locator(".tip table").count());
    assert.ok(Number(await page.getAttribute(".flame canvas", "data-marked")) > 1, "the same function elsewhere");
    await page.mouse.down();
    await page.mouse.up();
    await page.waitForFunction(() => /ui\.zoom=/.test(location.hash) && /ui\.sel=/.test(location.hash));
    await settled(page);
    assert.equal(await page.getAttribute(".inspector h3", "title"), name);
    const frames = page.locator(".inspector .frames button"), names = await frames.evaluateAll((all) => all.map((one) => one.title));
    assert.ok(names.includes("main"));
    await page.mouse.move(0, 0);
    await frames.nth(names.indexOf("main")).hover();
    await page.waitForFunction(() => Number(document.querySelector(".flame canvas").dataset.marked) === 1);
    await frames.nth(names.indexOf("main")).click();
    await page.waitForFunction(() => document.querySelector(".inspector h3").title === "main");
    await page.reload();
    await settled(page);
    assert.equal(await page.getAttribute(".inspector h3", "title"), "main");
    assert.equal(await page.locator(".inspector .frames button").evaluateAll((all) => all[0].title), "main");
    await page.mouse.move(0, 0);
    const box = await page.locator(".flame canvas").boundingBox();
    await page.mouse.click(box.x + 20, box.y + 30, { button: "right" });
    await page.locator(".menu[role=menu]").waitFor();
    await page.keyboard.press("Escape");
    // A row of the table and a box of the picture below each other.
    await go(cpp("functions", "function=main&cost=allocated"));
    await page.locator(".sandwich canvas").nth(1).hover({ position: { x: 30, y: 30 } });
    await page.waitForFunction(() => Number(document.querySelectorAll(".sandwich canvas")[1].dataset.marked) > 0);
    // A box without room for a name has a tip.
    const tree = { nodes: 3, left_out: false, strings: ["wide", "narrow"], parent: [-1, 0, 0], name: [-1, 0, 1], library: [-1, -1, -1], source: [-1, -1, -1], line: [0, 0, 0],
                   size: [1000, 995, 5], count: [1000, 995, 5], self_size: [0, 995, 5], self_count: [0, 995, 5] };
    await page.route((url) => url.pathname.endsWith("/call_tree"), (route) => route.fulfill({ json: tree }));
    await go(python("flame", "cost=allocated"));
    const flame = await page.locator(".flame canvas").boundingBox();
    await page.mouse.move(flame.x + flame.width * 0.9975, flame.y + 30);
    await page.locator(".tip strong", { hasText: "narrow" }).waitFor();
    assert.match(await page.locator(".tip").innerText(), /with callees\s*5 B\s*0\.5 %/);
  }, { of });

  page("A14: arguments of templates are folded, and whole where that matters", async (page, go) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await go(cpp("functions", "cost=allocated&contains=Registry"));
    const cell = page.locator(".table tbody td.wide .name").first(), whole = await cell.getAttribute("title");
    assert.match(whole, /^Registry<std::.*pair<int, double>.*>::add\(.*\)$/);
    assert.match(await cell.textContent(), /^Registry<…>::add\(…\)$/);
    await page.locator(".table tbody tr:not(.space)").first().click({ button: "right" });
    await page.getByRole("menuitem", { name: "Copy the name" }).click();
    assert.equal(await clipboard(page), whole);
    await page.locator(".table tbody tr:not(.space)").first().click();
    await page.waitForSelector(".sandwich canvas[data-ready]");
    assert.equal(await page.getAttribute(".sandwich h2", "title"), whole);
  }, { of });

  for (const width of [390, 1024])
    page(`A15: names push nothing away (${width} pixels)`, async (page, go) => {
      for (const name of ["functions", "stacks", "blocks", "tree"]) {
        await go(view(name, "cost=live", programs.hostileId));
        const wide = await page.$$eval(".view td.wide", (all) => all.map((one) => one.getBoundingClientRect()).map((box) => [box.left, box.right]));
        assert.ok(wide.length > 2, name);
        for (const [left, right] of wide)
          assert.ok(left >= 0 && right <= width + 1 && right - left > 100, `${name}: ${left} to ${right}`);
        const ends = await page.$$eval(".view td.wide .name > :last-child", (all) => all.map((one) => [one.getBoundingClientRect().right, one.closest("td").getBoundingClientRect().right]));
        for (const [end, cell] of ends)
          assert.ok(end <= cell + 1, `${name}: a name ends at ${end}, its cell at ${cell}`);
      }
    }, { of: () => programs.hostile, viewport: { width, height: 800 } });

  page("A16: recursion of functions that call each other is collapsed by a switch; the level is said", async (page, go) => {
    await go(cpp("flame", "cost=allocated"));
    const before = Number(await page.getAttribute(".flame canvas", "data-ready"));
    await pointAt(page, (_, text) => /level\s*[5-9]/.test(text));
    await page.getByRole("link", { name: "Recursion collapsed" }).click();
    await page.waitForFunction((nodes) => Number(document.querySelector(".flame canvas").dataset.ready) < nodes - 30, before);
    const { size } = await data("call_tree?cost=allocated");
    assert.equal((await total(page))[0], size);
  }, { of });

  page("A17, A20: a function is taken out with Alt and a click, or looked at alone; a chip undoes it", async (page, go) => {
    await go(cpp("flame", "cost=allocated"));
    const before = await total(page);
    const name = await pointAt(page, (function_) => function_.startsWith("temporary"));
    await page.keyboard.down("Alt");
    await page.mouse.down();
    await page.mouse.up();
    await page.keyboard.up("Alt");
    await hashHas(page, "negative_function_regex=");
    await settled(page);
    const rest = await data("call_tree?cost=allocated&negative_function_regex=^temporary");
    assert.deepEqual(await total(page), [rest.size, rest.count]);
    assert.ok(rest.size < before[0]);
    await page.locator("a.chip").click();
    await page.waitForFunction(() => !location.hash.includes("negative"));
    await settled(page);
    assert.deepEqual(await total(page), before);
    for (const [item, check] of [["Keep only stacks with it", async () => assert.equal((await total(page))[0], (await data("call_tree?cost=allocated&function_regex=^temporary")).size)],
                                 ["Show callers and callees", async () => assert.equal(asked(page).get("function"), name)]]) {
      await pointAt(page, (function_) => function_.startsWith("temporary"));
      await page.mouse.down({ button: "right" });
      await page.mouse.up({ button: "right" });
      await page.getByRole("menuitem", { name: item }).click();
      await page.waitForFunction(() => /function(_regex)?=/.test(location.hash));
      await settled(page);
      await check();
    }
  }, { of });

  page("A17: trees are changed by keys and menus; each change is a chip, an address and a question", async (page, go) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await go(cpp("flame", "cost=allocated"));
    const before = await total(page), root = () => page.waitForFunction(() => document.querySelector(".flame canvas[data-ready]") && !document.querySelector("[data-state=loading], .stale"));
    for (const [item, key, name, value] of [["Merge it into its callers", "m", "merge_function", "^even"], ["Collapse its callees", "c", "collapse_function", "^even"],
                                            ["Merge program into its callers", "M", "merge_library", "program"], ["Start the tree at it", "f", "root_function", "^even"]])
      for (const way of ["menu", "key"]) {
        await go(cpp("flame", "cost=allocated"));
        await pointAt(page, (function_) => function_.startsWith("even"));
        if (way === "menu") {
          await page.mouse.down({ button: "right" });
          await page.mouse.up({ button: "right" });
          await page.getByRole("menuitem", { name: item }).click();
        } else {
          await page.mouse.down();
          await page.mouse.up();
          await page.waitForSelector(".inspector");
          await settled(page);
          await page.focus(".flame-pane");
          await page.keyboard.press(key);
        }
        await hashHas(page, name + "=");
        await settled(page);
        await root();
        const given = asked(page).get(name), rest = await data(`call_tree?cost=allocated&${name}=${encodeURIComponent(given)}`);
        assert.match(given, new RegExp(value.replace("^", "^\\^")));
        assert.deepEqual(await total(page), [rest.size, rest.count]);
        // The rest follows from the address.
        if (way === "key")
          continue;
        const nodes = await data(`call_tree?cost=allocated&format=columns&nodes=20000&least=0.001&depth=10000&children=100000&${name}=${encodeURIComponent(given)}`);
        assert.equal(Number(await page.getAttribute(".flame canvas", "data-ready")), nodes.nodes);
        await page.getByRole("button", { name: "Copy curl" }).click();
        assert.deepEqual((await get(/'(http[^']*)'/.exec(await clipboard(page))[1])).json(), rest);
        await page.locator(".rail a", { hasText: "Call tree" }).click();
        await page.waitForSelector(".view-tree table");
        assert.deepEqual(await total(page), [rest.size, rest.count]);
        await page.locator(".transforms a.chip").click();
        await page.waitForFunction((text) => !location.hash.includes(text), name);
        await settled(page);
        assert.deepEqual(await total(page), before);
      }
  }, { of });

  page("rows in sight are asked for alone, those ahead come before they are seen, and what is passed is given up", async (page, go) => {
    const held = [], seen = [], all = 100000, time = { secs: 0, fract_nsecs: 0 };
    let holds = false;
    const answer = ({ route, skip, wanted }) => route.fulfill({ json: { total_count: all, allocations: Array.from({ length: wanted }, (_, i) => ({ id: skip + i,
      address_s: (skip + i).toString(16).padStart(16, "0"), size: 1, extra_space: 0, thread: 1, backtrace_id: 1, backtrace: [], timestamp: time, timestamp_relative: time })) } }).catch(() => {});
    await page.route((url) => url.pathname.endsWith("/allocations"), (route) => {
      const query = new URL(route.request().url()).searchParams, one = { route, skip: Number(query.get("skip")), wanted: Number(query.get("count")) };
      seen.push(one);
      return holds ? held.push(one) : answer(one);
    });
    await go(cpp("blocks"));
    const inSight = await page.$eval(".table-pane", (pane) => Math.ceil(pane.clientHeight / 24));
    const scroll = (row) => page.$eval(".table-pane", (pane, top) => { pane.scrollTop = top; }, row * 24);
    const asked = (row) => page.waitForRequest((request) => {
      const query = new URL(request.url()).searchParams, skip = Number(query.get("skip"));
      return request.url().includes("/allocations?") && skip <= row && row < skip + Number(query.get("count"));
    });
    holds = true;
    // A jump: only pages with rows in sight are asked for.
    const [far] = [asked(50010), scroll(50000)];
    await far;
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    // What was asked for ahead of the first rows may come as late as this.
    const there = held.filter(({ skip }) => skip > 25000);
    assert.ok(there.length > 0 && there.every(({ skip, wanted }) => skip < 50000 + inSight && skip + wanted > 50000), held.map(({ skip }) => skip).join());
    // A second jump: the first one's requests are aborted.
    const given = page.waitForEvent("requestfailed", (request) => request.url().includes("/allocations?"));
    const [near] = [asked(70010), scroll(70000)];
    await Promise.all([given, near]);
    holds = false;
    // When they are there, the next screens are asked for although nobody has seen them.
    const ahead = asked(70000 + 3 * inSight);
    await Promise.all(held.splice(0).map(answer));
    await ahead;
    await settled(page);
    assert.equal(await page.locator(".table .missing").count(), 0);
    // So they are not asked for when they are in sight.
    const asks = seen.length, first = 70000 + 2 * inSight;
    await scroll(first);
    await settled(page);
    assert.deepEqual(seen.slice(asks).filter(({ skip, wanted }) => skip < first + inSight && skip + wanted > first), []);
  }, { of });

  page("every view names a command that prints what it shows as text", async (page, go) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    const trees = ["flame", "cost=live&merge_function=^odd&split=thread"], sandwich = ["functions", "function=main&cost=allocated"];
    for (const [name, query] of [...programs.views.filter((one) => !["export", "console"].includes(one)).map((one) => [one, "size_min=20"]), trees, sandwich, ["functions", "by=requester"]]) {
      await go(cpp(name, query));
      await page.getByRole("button", { name: "Copy command" }).click();
      const words = (await clipboard(page)).match(/'[^']*'|\S+/g).map((word) => word.replace(/^'(.*)'$/, "$1"));
      assert.deepEqual(words.slice(0, 1), ["heapsonde"]);
      const text = execFileSync(command, words.slice(1), { cwd: programs.folder, encoding: "utf8" });
      assert.ok(text.length > 10 && !/^[[{]/.test(text), `${name}: ${words.join(" ")}: ${text.slice(0, 100)}`);
    }
    await go(cpp(...trees));
    await page.getByRole("button", { name: "Copy command" }).click();
    const words = (await clipboard(page)).match(/'[^']*'|\S+/g).map((word) => word.replace(/^'(.*)'$/, "$1"));
    const text = execFileSync(command, words.slice(1), { cwd: programs.folder, encoding: "utf8" });
    const [blocks] = text.match(/\d+ +everything/);
    assert.equal(parseInt(blocks), (await total(page))[1]);
    assert.doesNotMatch(text, /odd\(/);
  }, { of });

  page("A19: threads are together, chosen by a visible control, and apart by a switch", async (page, go) => {
    await go(cpp("flame", "cost=allocated"));
    const { thread_list: threads } = await data("summary"), before = await total(page);
    assert.ok(threads.length > 1 && await page.locator(".threads select").isVisible());
    const sums = Object.fromEntries((await data("totals?by=thread")).rows.map((row) => [`${row.key || "thread"} ${row.thread}`, row.total.allocated]));
    for (const name of ["flame", "tree"]) {
      await go(cpp(name, "cost=allocated"));
      await page.getByRole("link", { name: "By thread" }).click();
      await hashHas(page, "split=thread");
      await settled(page);
      assert.deepEqual(await total(page), before);
    }
    const rows = await page.$$eval(".view-tree tbody tr", (all) => all.filter((row) => row.querySelector(".indent").textContent.length === 2)
      .map((row) => [row.querySelector(".node").title, Number(row.cells[0].title.replace(/\D/g, ""))]));
    assert.deepEqual(Object.fromEntries(rows), Object.fromEntries(Object.entries(sums).map(([name, [size]]) => [name, size])));
    await page.getByRole("link", { name: "Threads together" }).click();
    await page.waitForFunction(() => !location.hash.includes("split"));
    await settled(page);
    await page.locator(".threads select").selectOption(String(threads[1].thread));
    await hashHas(page, "thread=");
    await settled(page);
    const one = await data(`call_tree?cost=allocated&thread=${threads[1].thread}`);
    assert.deepEqual(await total(page), [one.size, one.count]);
  }, { of });

  page("A18: names, stacks, rows, pictures, commands, questions and links are copied", async (page, go) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await go(cpp("flame", "cost=allocated&size_min=100"));
    await pointAt(page, (function_) => function_.startsWith("temporary"));
    await page.mouse.down();
    await page.mouse.up();
    await page.waitForSelector(".inspector");
    const press = async (name, within = page) => (await within.getByRole("button", { name, exact: true }).click(), clipboard(page));
    const inspector = page.locator(".inspector");
    const name = await press("Copy the name", inspector);
    assert.match(name, /^temporary\(/);
    const stack = (await press("Copy the stack", inspector)).trim().split("\n");
    assert.ok(stack[0] === name && stack.includes("main"));
    assert.equal(await press("Copy link"), page.url());
    const [svg] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Save SVG" }).click()]);
    assert.match(readFileSync(await svg.path(), "utf8"), /<svg[^]*temporary/);
    const question = /'(http[^']*)'/.exec(await press("Copy curl"))[1];
    assert.deepEqual((await get(question)).json(), await data("call_tree?size_min=100&cost=allocated"));
    await go(cpp("stacks"));
    await page.locator(".table-pane").focus();
    await page.keyboard.press("ArrowDown");
    const cells = (await press("Copy row")).trim().split("\t");
    const { allocations } = await data("allocation_groups?sort_by=only_matched.size&order=dsc&skip=1&count=1&frames=none");
    assert.deepEqual([cells[0], cells[1]], [count(allocations[0].only_matched.size) + " bytes", count(allocations[0].only_matched.allocated_count)]);
    const words = (await press("Copy command")).split(" ").slice(1);
    assert.match(execFileSync(command, words, { cwd: programs.folder, encoding: "utf8" }), /Call sites/);
  }, { of });

  page("A22, A25, A26: plain words, units of 1024 with exact bytes, shares of something", async (page, go) => {
    let checked = 0;
    for (const [name, query] of [...programs.views.map((one) => [one, "cost=allocated"]), ["functions", "function=main"], ["functions", "by=library"], ["stacks", "ui.stack=1"]]) {
      await go(cpp(name, query));
      // The folder's name has random letters.
      const text = (await page.evaluate(() => [...document.querySelectorAll("header, .about, .chips, .strip, .view")].map((one) => one.innerText).join("\n"))).replaceAll(programs.folder, "");
      assert.doesNotMatch(text, /leak/i, name);
      assert.doesNotMatch(text, /\d\s?(kB|KB|MB|GB|Kb|Mb)\b/, name);
      assert.doesNotMatch(text, /\d%/, name); // the page's form is "65.0 %"
      const inexact = await page.$$eval(".view td, .legend .number, .card-size", (all) => all.filter((one) => /^[\d.]+ [KMGT]iB( \(|$)/.test(one.textContent) &&
        ![one, ...one.querySelectorAll("[title]")].some((each) => /bytes/.test(each.title))).map((one) => one.outerHTML));
      assert.deepEqual(inexact, [], name);
      // What is rounded is what the exact number says.
      const rounded = await page.$$eval(".view [title]", (some) => some.map((one) => [/^([\d,]+) bytes?\b/.exec(one.title)?.[1], /^([\d.]+) (B|[KMGT]iB)$/.exec(one.textContent.trim())])
        .filter(([exact, text]) => exact && text).map(([exact, text]) => [Number(exact.replace(/,/g, "")), text[1], text[2]]));
      for (const [exact, number, unit] of rounded) {
        const one = 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].indexOf(unit), last = 10 ** -(number.split(".")[1]?.length ?? 0);
        assert.ok(Math.abs(exact / one - Number(number)) <= last * 0.5001, `${name}: ${exact} bytes as ${number} ${unit}`);
      }
      checked += rounded.length;
      const shares = await page.$$eval(".view th", (all) => all.filter((one) => /^Share/.test(one.textContent)).map((one) => one.title || one.querySelector("[title]")?.title));
      for (const title of shares)
        assert.match(title ?? "", /^of /, name);
    }
    assert.ok(checked > 50, `${checked} numbers`);
    await page.getByRole("button", { name: "+ Add" }).click();
    await page.waitForSelector(".field");
    for (const tab of await page.locator("dialog .choice button").all()) {
      await tab.click();
      assert.deepEqual((await page.locator("dialog .field label, dialog .field option").allInnerTexts()).filter((one) => /leak/i.test(one)), []);
    }
  }, { of });

  page("A24: why ps shows more, step by step", async (page, go) => {
    await go(view("overview", "", programs.randomId));
    await page.waitForSelector("[data-step=resident]");
    const steps = Object.fromEntries(await page.$$eval("[data-step]", (all) => all.map((one) => [one.dataset.step, Number(one.dataset.size)])));
    const summary = await programs.random.json("/data/last/summary"), usage = await programs.random.json("/data/last/timeline_usage?width=1000");
    assert.equal(steps.requested, summary.live_bytes);
    assert.equal(steps.usable, summary.live_usable_bytes);
    assert.equal(steps.resident, usage.resident_size.at(-1));
    for (const text of await page.locator("[data-step] .faint").allInnerTexts())
      assert.ok(text.length > 30, text);
    await page.waitForSelector("[data-part]");
    const parts = await page.$$eval("[data-part]", (all) => all.map((one) => [one.dataset.part, Number(one.dataset.peak), Number(one.dataset.end)]));
    const resident = await programs.random.json("/data/last/resident");
    assert.deepEqual(parts, resident.peak.parts.map((part, i) => [part.id, part.bytes, resident.end.parts[i].bytes]));
    assert.equal(parts.reduce((sum, part) => sum + part[2], 0), steps.resident);
  }, { of: () => programs.random });

  page("A27: rates beside the heap; a bar of sizes or lifetimes filters", async (page, go) => {
    await go(cpp("timeline"));
    assert.match(await page.locator(".view").innerText(), /Allocations per second[^]*Frees per second/);
    for (const kind of ["size", "lifetime", "lifetimes"]) {
      await go(cpp("sizes", "cost=allocated"));
      const rows = page.locator(kind === "size" ? "[aria-label=Sizes] tbody tr" : "[aria-label=Lifetimes] tbody tr");
      const row = (kind === "lifetimes" ? rows.filter({ hasText: "s to " }) : rows.filter({ hasText: kind === "size" ? "64 B to 128 B" : "never freed" })).first();
      const [, size, blocks] = /([\d,]+) bytes? in ([\d,]+)/.exec(await row.locator("[title*=bytes]").first().getAttribute("title"));
      await row.locator("a").click();
      await hashHas(page, kind === "size" ? "size_min=64" : kind === "lifetime" ? "lifetime=only_leaked" : "lifetime_min=");
      await settled(page);
      assert.deepEqual((await total(page)).map(count), [size, blocks]);
    }
  }, { of });

  page("A27: the rates are the timeline's", async (page, go) => {
    await go(view("timeline", "", programs.randomId));
    const { allocations, deallocations, interval_ns: interval } = await programs.random.json("/data/last/timeline?width=600");
    const [allocated, freed] = [allocations, deallocations].map((counts) => Math.max(...counts.slice(0, -1).map((n) => n / (interval / 1e9))));
    assert.notEqual(allocated, freed);
    for (const [title, most] of [["Allocations per second", allocated], ["Frees per second", freed]])
      assert.equal(Number(await page.locator(".chart", { hasText: title }).getAttribute("data-most")), most, title);
  }, { of: () => programs.random });

  page("A30: modules without symbols by bytes, and the file that mends each", async (page, go) => {
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await go(python("recording"));
    const { missing_symbols: missing } = await programs.server.json(`/data/${programs.python}/recording`);
    assert.ok(missing.length);
    const rows = page.locator("[aria-label='Modules without symbols'] tbody tr");
    assert.equal(await rows.count(), missing.length);
    missing.sort((a, b) => b.allocated_bytes - a.allocated_bytes);
    for (const [i, module] of missing.entries()) {
      const text = await rows.nth(i).innerText(), wanted = Object.values(module.wanted);
      assert.ok(text.includes(module.module) && text.includes(module.why) && wanted.length && wanted.every((file) => text.includes(file)), text);
      assert.equal(await rows.nth(i).locator("[title*=bytes]").getAttribute("title"), count(module.allocated_bytes) + " bytes");
      await rows.nth(i).getByRole("button", { name: "Copy" }).first().click();
      assert.equal(await clipboard(page), wanted[0]);
    }
    // Stacks that end early say why.
    const recording = await programs.server.json(`/data/${programs.python}/recording`);
    await page.route((url) => url.pathname.endsWith("/recording"), (route) => route.fulfill({ json: { ...recording, cut_stacks: [{ reason: "no_rule", stacks: 3, allocations: 41, allocated_bytes: 5000 }] } }));
    await page.reload();
    await settled(page);
    assert.match(await page.locator("[aria-label='Stacks that end early'] tbody").innerText(), /3\s+41\s+4\.88 KiB\s+a function has no unwind information/);
    // Unknown frames say where they are.
    await go(python("functions", "cost=allocated&contains=%2B0x"));
    assert.match(await page.locator(".table tbody td.wide .name").first().textContent(), /^[\w.-]+\+0x[0-9a-f]+$/);
    // So they do in stacks, by the same name.
    const { allocations: groups } = await programs.server.json(`/data/${programs.python}/allocation_groups?count=1000`);
    const group = groups.find(({ backtrace }) => backtrace.at(-1).place), { place } = group.backtrace.at(-1);
    const named = await programs.server.json(`/data/${programs.python}/totals?by=function&contains=${encodeURIComponent(place)}`);
    assert.ok(named.rows.some(({ key }) => key === place), place);
    await go(python("stacks", `backtraces=${group.backtrace_id}&ui.stack=${group.backtrace_id}`));
    assert.equal(await page.locator(".side .frames li > :first-child").first().innerText(), place);
    assert.match(await page.locator(".table tbody tr:not(.space)").first().innerText(), new RegExp(`${place.replace(/[.+]/g, "\\$&")}( |$)`));
    assert.doesNotMatch(await page.locator(".table tbody").innerText(), /\S 0x[0-9a-f]{6}/);
  }, { of });

  page("A32: every picture has a table of the same", async (page, go) => {
    await go(cpp("flame", "cost=allocated&ui.inverted=1"));
    const before = await total(page);
    await page.getByRole("link", { name: "As table" }).click();
    await page.waitForSelector(".view-tree table");
    assert.deepEqual(await total(page), before);
    assert.equal(asked(page).get("ui.inverted"), "1");
    await go(cpp("timeline"));
    await page.getByText("As table").click();
    await page.waitForSelector(".as-table tbody tr");
    const timeline = await data("timeline?width=60"), shown = await page.$$eval(".as-table tbody tr", (all) => all.map((row) => row.cells[1].querySelector("[title]").title));
    assert.deepEqual(shown, timeline.allocated_size.map((size) => count(size) + (size === 1 ? " byte" : " bytes")));
    const changes = await page.$$eval(".as-table tbody tr", (all) => all.map((row) => row.cells[4].querySelector("[title]").title.replace("\u2212", "-")));
    assert.deepEqual(changes.map((text) => Number(text.replace(/,| bytes?$/g, ""))), timeline.size_delta);
  }, { of });

  page("A36, A39: every list sorts by each column, is searched and saved", async (page, go) => {
    for (const [name, query] of [["", ""], ["generations", ""], ["recording", ""], ["threads", "cost=allocated"], ["sizes", "cost=allocated"], ["statics", ""]]) {
      await go(name ? python(name, query) : "");
      const tables = page.locator(".plain-rows");
      for (let i = 0; i < await tables.count(); i++) {
        const table = tables.nth(i), heads = await table.locator("th").count();
        assert.equal(await table.locator("th a.sort").count(), heads, name);
        for (let column = 0; column < heads; column++) {
          const before = await page.evaluate(() => document.body.dataset.address);
          await table.locator("th a.sort").nth(column).click();
          await page.waitForFunction((old) => document.body.dataset.address !== old && document.body.dataset.address === location.hash, before);
          const [order, sizes] = await table.evaluate((one, at) => [one.querySelectorAll("th")[at].getAttribute("aria-sort"), [...one.querySelectorAll("tbody tr")].map((row) =>
            Number(/^([\d,]+) bytes?$/.exec(row.cells[at].querySelector("[title]")?.title ?? "")?.[1].replace(/,/g, "")))], column), way = order === "ascending" ? 1 : -1;
          assert.ok(order, `${name} ${column}`);
          if (sizes.every((size) => size >= 0))
            assert.deepEqual(sizes, [...sizes].sort((a, b) => way * (a - b)), name);
        }
        const all = await table.locator("tbody tr").count();
        const [saved] = await Promise.all([page.waitForEvent("download"), table.getByRole("button", { name: "Save CSV" }).click()]);
        assert.equal(readFileSync(await saved.path(), "utf8").trim().split("\n").length, all + 1);
        await table.getByRole("searchbox").fill("no such text");
        await table.locator(".empty").waitFor();
      }
    }
    for (const [name, button] of [["stacks", "Save CSV"], ["blocks", "Save CSV"], ["maps", "Save CSV"], ["functions", "Save CSV"], ["tree", "Save CSV"], ["timeline", "Save CSV"], ["diff", "Save CSV"]]) {
      await go(python(name, "cost=allocated"));
      const [saved] = await Promise.all([page.waitForEvent("download"), page.locator(".view").getByRole("button", { name: button }).first().click()]);
      assert.ok(readFileSync(await saved.path(), "utf8").trim().split("\n").length > 2, name);
      if (!["timeline", "tree", "diff"].includes(name))
        assert.ok(await page.locator(".view").getByRole("searchbox").count(), name);
      const link = await page.locator(".foot-bar a", { hasText: "JSON" }).getAttribute("href");
      assert.equal((await get(programs.server.address + link)).status, 200);
    }
  }, { of });

  test("A37: one command from a program to its page", async () => {
    const child = spawn(command, ["run", "--open", "--output", programs.folder + "/opened.dat", "--", programs.binary], { env: { ...environment, BROWSER: "true" }, stdio: ["ignore", "pipe", "pipe"] });
    try {
      const address = await new Promise((resolve, reject) => {
        for (const stream of [child.stdout, child.stderr])
          createInterface({ input: stream }).on("line", (line) => {
            const found = /http:\/\/127\.0\.0\.1:\d+/.exec(line);
            if (found)
              resolve(found[0]);
          });
        child.once("exit", (code) => reject(new Error(`it ended with ${code}`)));
      });
      // It is opened while the trace is still read.
      const { page, context, wrong } = await open(browser(), { address }, { refused: [503] });
      await page.goto(address + "/#/t/last/overview");
      await page.waitForSelector(".card[data-cost=peak]");
      assert.match(await page.locator(".program").innerText(), /^program/);
      assert.deepEqual(wrong, []);
      await context.close();
    } finally {
      const ended = child.exitCode === null ? once(child, "exit") : undefined;
      child.kill();
      await ended;
    }
  });

  page("A40: every cost in bytes and in blocks, in pictures and tables", async (page, go) => {
    for (const cost of COSTS) {
      const answers = Object.fromEntries(await Promise.all(UNITS.map(async (unit) => [unit, await data(`totals?by=function&sort_by=self.${cost}.${unit}&order=dsc&count=1`)])));
      for (const name of ["flame", "tree", "functions"]) {
        await go(cpp(name, "cost=" + cost));
        for (const unit of UNITS) {
          await page.locator(".controls a", { hasText: unit === "bytes" ? /^Bytes$/ : /^Blocks$/ }).click();
          await page.waitForFunction((text) => document.querySelector(".controls [aria-label=Unit] [aria-current]").textContent === text, unit === "bytes" ? "Bytes" : "Blocks");
          if (name === "functions") {
            const wanted = answers[unit].rows[0].self[cost].map(count);
            await page.waitForFunction((numbers) => document.querySelector(".table tbody tr:not(.space) td [title]")?.title.match(/[\d,]+/g).join() === numbers, wanted.join());
          } else {
            assert.deepEqual(await total(page), answers[unit].sum[cost], `${name} ${cost}`);
            assert.match(await page.locator(name === "flame" ? ".total b" : "tbody td").first().innerText(), unit === "bytes" ? /B$/ : /^[\d,]+( blocks)?$/);
          }
        }
      }
    }
  }, { of });
}
