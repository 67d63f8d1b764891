// SPDX-License-Identifier: MIT OR Apache-2.0
// The page in a browser: what it shows is what REST says, every state is an address, failures stay where they are.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { axe, borrow, boxBelow, get, giveBack, launch, open, rowsAre, serve, settled } from "./browser.mjs";
import { commands } from "./command.mjs";
import { consoles } from "./console.mjs";
import { criteria } from "./criteria.mjs";
import { devices } from "./devices.mjs";
import { differences } from "./differences.mjs";
import { dumps } from "./dumps.mjs";
import { failures } from "./failures.mjs";
import { floor } from "./floor.mjs";
import { keys } from "./keys.mjs";
import { lines } from "./lines.mjs";
import { looks } from "./looks.mjs";
import { moments } from "./moments.mjs";
import { numbers } from "./numbers.mjs";
import { paper } from "./paper.mjs";
import { places } from "./places.mjs";
import { repeats } from "./repeats.mjs";
import { reports } from "./report.mjs";
import { searches } from "./searches.mjs";
import { wishes } from "./wishes.mjs";

const { HEAPSONDE_TEST_COMMAND: command, HEAPSONDE_TEST_MAKE_TRACE: makeTrace, HEAPSONDE_TEST_PROGRAM: program,
        HEAPSONDE_TEST_SHIM: shim, HEAPSONDE_TEST_HOSTILE: hostileSource, HEAPSONDE_TEST_CPP: cppSource } = process.env;
const VIEWS = ["overview", "flame", "tree", "functions", "treemap", "source", "stacks", "blocks", "sizes", "threads", "timeline", "generations", "diff", "maps",
               "statics", "recording", "console", "export"];
const folder = mkdtempSync(join(tmpdir(), "heapsonde-webui-"));
let browser, server, hostile, id, hostileId;
// Recorded programs, and what else the tests of criteria.mjs look at.
const programs = { views: VIEWS, folder };

const count = (value) => value.toString().replace(/\B(?=(\d{3})+$)/g, ",");
const inFolder = (name) => join(folder, name);

function record(output, words, environment = {}) {
  execFileSync(words[0], words.slice(1), { env: { ...process.env, LD_PRELOAD: shim, HEAPSONDE_OUTPUT: output, ...environment } });
  return output;
}

// A program whose names are what no page should take for its own.
function recordHostile() {
  const names = ["<img/src/onerror=window.hacked=1>", "\u202egnp.exe", "n\u0301".repeat(99) + "n".repeat(9901)];
  const [object, renamed, binary, list] = ["plain", "renamed.o", "hostile", "names"].map(inFolder);
  execFileSync("gcc", ["-g", "-O1", "-fno-pie", "-c", hostileSource, "-o", object]);
  writeFileSync(list, ["name_markup", "name_direction", "name_long"].map((old, i) => `${old} ${names[i]}\n`).join(""));
  execFileSync("objcopy", ["--strip-debug", `--redefine-syms=${list}`, object, renamed]);
  execFileSync("gcc", ["-no-pie", renamed, "-o", binary]);
  return record(inFolder("hostile.dat"), [binary, "<script>window.hacked=2</script>"]);
}

function recordSource(name, source) {
  execFileSync("g++", ["-g", "-O1", source, "-o", inFolder("of-" + name), "-lpthread"]);
  return record(inFolder(name), [inFolder("of-" + name)]);
}

// Python without debug information, and a program in C++.
async function recordPrograms() {
  const words = "import json\nkept = [json.dumps([{'n': i, 's': str(i)} for i in range(3000)]) for _ in range(4)]\n";
  programs.binary = inFolder("program");
  execFileSync("g++", ["-g", "-O1", cppSource, "-o", programs.binary, "-lpthread"]);
  programs.server = await serve(record(inFolder("python.dat"), ["/usr/bin/python3", "-c", words]), record(inFolder("program.dat"), [programs.binary]));
  for (const row of await programs.server.json("/list"))
    programs[row.executable.endsWith("program") ? "cpp" : "python"] = row.id;
}

before(async () => {
  execFileSync(makeTrace, ["random", inFolder("random.dat"), program, "5", "4000", "1"]);
  browser = await launch();
  server = await serve(inFolder("random.dat"));
  hostile = await serve(recordHostile());
  [{ id }] = await server.json("/list");
  [{ id: hostileId }] = await hostile.json("/list");
  await recordPrograms();
  Object.assign(programs, { random: server, randomId: id, hostile, hostileId });
});

after(async () => {
  await browser?.close();
  await server?.stop();
  await hostile?.stop();
  await programs.server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

// A test in a page that shows nothing yet; what goes wrong there fails it.
function page(name, run, { of = () => server, ...options } = {}) {
  test(name, async () => {
    const opened = await borrow(browser, of(), options), { page, wrong } = opened;
    const go = async (address) => {
      await page.goto(of().address + "/" + address);
      await settled(page);
    };
    let isWell = false;
    try {
      await run(page, go, wrong);
      assert.deepEqual(wrong, []);
      isWell = true;
    } finally {
      await giveBack(opened, isWell);
    }
  });
}

const view = (name, query = "", trace = id) => `#/t/${trace}/${name}${query ? "?" + query : ""}`;
const data = (what, of = server) => of.json(`/data/last/${what}`);
const cells = (page) => page.$$eval(".table tbody tr:not(.space)", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));

page("the list leads to the overview, whose numbers are REST's", async (page, go) => {
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await go("");
  const rows = await server.json("/list");
  assert.equal(await page.locator("tr[data-id]").count(), rows.length);
  await page.locator("tr[data-id] a").first().click();
  await page.waitForSelector(".card");
  const useful = asked.filter((path) => path !== "/icon.svg");
  assert.ok(useful.indexOf(`/data/${id}/summary`) < 5, useful.join(" "));
  await settled(page);
  for (const filter of ["", "size_min=100", "lifetime=only_leaked"]) {
    await go(view("overview", filter));
    const summary = await data(`summary?${filter}`);
    const cards = await page.$$eval(".card", (all) => all.map((card) => [card.dataset.cost, Number(card.dataset.bytes), Number(card.dataset.count)]));
    assert.deepEqual(cards, [["peak", summary.peak_bytes, summary.peak_count], ["live", summary.live_bytes, summary.live_count],
                             ["allocated", summary.allocated_bytes, summary.allocations], ["temporary", summary.temporary_bytes, summary.temporary_count]]);
  }
  const text = await page.evaluate(() => [...document.querySelectorAll("main > :not(.foot-bar), .view")].map((one) => one.innerText).join(" ").replaceAll(document.querySelector(".foot-bar code").innerText, ""));
  assert.doesNotMatch(text, /leaked/i);
});

page("the findings of the overview are the server's, and lead to what they are about", async (page, go) => {
  const { findings } = await data("findings");
  await go(view("overview"));
  await page.waitForSelector(".findings .pane[data-state=ready]");
  const said = await page.$$eval("[data-finding]", (all) => all.map((one) => [one.dataset.finding, Number(one.dataset.bytes)]));
  assert.deepEqual(said, findings.map((one) => [one.id, one.bytes]));
  assert.ok(said.length > 0);
  // Each says why, and what to do.
  const why = await page.locator("[data-finding] details").evaluateAll((all) => all.map((one) => one.textContent));
  findings.forEach((one, i) => assert.ok(why[i].includes(one.reason) && why[i].includes(one.advice), one.id));
  await page.locator("[data-finding] a").first().click();
  await settled(page);
  const [, query = ""] = new URL(page.url()).hash.split("?");
  assert.deepEqual([...new URLSearchParams(query)], [...new URLSearchParams(findings[0].query)]);
});

page("differences are the server's, negated when swapped, and nothing of the same", async (page, go) => {
  const deltas = () => page.$$eval("[data-node]", (all) => all.map((one) => Number(one.dataset.delta)));
  const query = "base_at=20%25&at=70%25";
  const { nodes: [root] } = await data(`diff_tree?${query}`);
  const sorted = (values) => values.sort((a, b) => a - b);
  await go(view("diff", query));
  assert.equal(Number(await page.getAttribute("p[data-delta]", "data-delta")), root.size_delta);
  const there = await deltas();
  assert.ok(there.length > 1);
  await page.click("button:text('Swap')");
  await page.waitForFunction((wanted) => Number(document.querySelector("p[data-delta]")?.dataset.delta) === wanted, -root.size_delta);
  assert.deepEqual(sorted(await deltas()), sorted(there.map((delta) => 0 - delta)));
  await go(view("diff", "base_at=50%25&at=50%25"));
  assert.equal(await page.locator(".view .empty").innerText(), "There is no difference.");
  await go(view("diff", query + "&ui.shape=functions"));
  const closed = (await deltas()).length;
  await page.click("button.node[aria-expanded=false]");
  await page.waitForFunction((before) => document.querySelectorAll("[data-node]").length > before, closed);
  await go(view("diff", query + "&ui.shape=stacks"));
  const { stacks } = await data(`diff?${query}&sort_by=size_change&order=dsc&count=50`);
  assert.deepEqual(await page.$$eval(".diff-table [data-delta]", (all) => all.map((one) => Number(one.dataset.delta))), stacks.map((one) => one.size_delta));
});

page("one block is \"1 block\"", async (page, go) => {
  const { allocations } = await data("allocations?count=200");
  for (const { address_s: address } of allocations) {
    const alone = `address_min=0x${address}&address_max=0x${address}`;
    if ((await data(`allocations?count=1&${alone}`)).total_count !== 1)
      continue;
    await go(view("overview", alone));
    const card = await page.locator(".card[data-cost=allocated]").innerText();
    assert.match(card, /(^|\s)1 block(\s|$)/);
    return;
  }
  assert.fail("no address was used once");
});

page("trees, functions and histograms have the same sum", async (page, go) => {
  for (const cost of ["peak", "live", "allocated", "temporary"])
    for (const filter of ["", "&size_min=64"]) {
      const tree = await data(`call_tree?cost=${cost}${filter}`);
      for (const name of ["flame", "tree", "treemap", "sizes", "threads"]) {
        await go(view(name, `cost=${cost}${filter}`));
        const sums = await page.$$eval("[data-bytes]", (all) => all.map((one) => Number(one.dataset.bytes)));
        if (tree.size || tree.count)
          assert.ok(sums.length, `${name} ${cost}`);
        assert.deepEqual([...new Set(sums)].filter((sum) => sum !== tree.size), [], `${name} ${cost} ${filter}`);
      }
    }
});

page("CPU time, waiting and faults have their trees, too", async (page, go) => {
  const { events } = await data("summary");
  const there = events.filter((kind) => kind.name !== "heap" && !kind.absence);
  assert.ok(there.length > 2);
  for (const { name, costs } of there)
    for (const kind of ["flame", "tree"]) {
      const tree = await data(`call_tree?events=${name}&cost=${costs[0]}`);
      await go(view(kind, "events=" + name));
      assert.equal(Number(await page.getAttribute("[data-bytes]", "data-bytes")), tree.size, `${kind} ${name}`);
    }
  await go(view("functions", "events=cpu&function_regex=%5Enone%24"));
  assert.match(await page.locator(".view .empty").first().innerText(), /^No sample matches the filter/);
});

page("boxes of the flame graph are functions of the tree", async (page, go) => {
  await go(view("flame", "cost=allocated"));
  const pairs = new Set();
  const walk = (node) => {
    pairs.add(`${node.function} ${count(node.size)} ${count(node.count)}`);
    node.children.forEach(walk);
  };
  walk(await data("call_tree?cost=allocated&least=0"));
  const box = await page.locator(".flame canvas").boundingBox();
  let seen = 0;
  for (let i = 0; i < 100; i++) {
    await page.mouse.move(box.x + 3 + (i * 0.618034 % 1) * (box.width - 6), box.y + 30 + i % 6 * 20);
    const tip = await page.$eval(".tip", (one) => [one.querySelector("strong").textContent, one.textContent]).catch(() => undefined);
    const exact = tip && /exactly([\d,]+) bytes? in ([\d,]+) blocks/.exec(tip[1]);
    if (!exact)
      continue;
    seen++;
    assert.ok(pairs.has(`${tip[0]} ${exact[1]} ${exact[2]}`), tip.join(" "));
  }
  assert.ok(seen > 10, `${seen} boxes were under the mouse`);
  assert.ok(Number(await page.getAttribute(".flame canvas", "data-boxes")) < 6000);
});

page("collapsed recursion changes no sum, and no function is below itself", async (page, go) => {
  await go(view("tree", "cost=allocated&ui.recursion=1&ui.open=" + ["", "0", "0.0", "0.0.0", "0.1"].join("~")));
  const tree = await data("call_tree?cost=allocated");
  const rows = await page.$$eval(".view-tree tbody tr", (all) => all.map((row) => [row.querySelector(".indent").textContent.length / 2, row.querySelector(".node").title]));
  assert.equal(Number(await page.getAttribute(".view-tree table", "data-bytes")), tree.size);
  const way = [];
  for (const [depth, name] of rows) {
    way.length = depth;
    assert.ok(!way.includes(name), `${name} below itself`);
    way.push(name);
  }
  // The same tree over REST; no function is below itself there, so its boxes add up.
  const sums = new Map(), add = (node) => {
    sums.set(node.function, (sums.get(node.function) ?? 0) + node.size);
    node.children.forEach(add);
  };
  (await data("call_tree?cost=allocated&collapse_recursion=true&least=0")).children.forEach(add);
  await go(view("flame", "cost=allocated&collapse_recursion=true"));
  assert.ok(sums.size > 3);
  for (const [name, size] of [...sums].filter(([one]) => !one.startsWith("0x")).slice(0, 5)) {
    await page.fill(".search", "/^" + name.replace(/[^\w]/g, ".") + "$/");
    await page.waitForFunction((wanted) => Number(document.querySelector(".hits")?.dataset.sum) === wanted, size);
  }
});

page("the overview names who requested memory, without the standard library", async (page, go) => {
  const names = async (title) => page.$$eval(`[aria-label="${title}"] tbody .name`, (all) => all.map((one) => one.title));
  const { cpp } = programs, asked = (what) => programs.server.json(`/data/${cpp}/totals?${what}&order=dsc&count=8&cost=peak&sort_by=self.peak.bytes`);
  await page.goto(`${programs.server.address}/${view("overview", "", cpp)}`);
  await settled(page);
  const shown = await names("Functions at the peak");
  assert.deepEqual(shown, (await asked("by=requester")).rows.filter((row) => row.self.peak[0]).map((row) => row.key));
  assert.ok((await asked("by=function")).rows.some((row) => /^operator new|allocate\(/.test(row.key)));
  assert.ok(!shown.some((name) => /^operator new|allocate\(|^std::/.test(name)), shown.join());
  assert.ok(shown.includes("odd(int)") && shown.some((name) => /^Registry<.*>::add\(/.test(name)), shown.join());
  assert.equal((await names("Libraries at the peak"))[0], "program");
}, { of: () => programs.server });

page("zoom is an address: Back, Forward and reload", async (page, go) => {
  await go(view("flame", "cost=allocated"));
  await page.focus(".flame-pane");
  await boxBelow(page, 1);
  await boxBelow(page, 2);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("ui.zoom="));
  await settled(page);
  const zoomed = await page.locator("main").innerText(), address = page.url();
  await page.reload();
  await settled(page);
  assert.equal(await page.locator("main .crumbs").innerText(), zoomed.split("\n").find((line) => line.startsWith("everything")));
  await page.goBack();
  await page.waitForFunction(() => !location.hash.includes("ui.zoom="));
  await settled(page);
  assert.equal(await page.locator(".crumbs").count(), 0);
  await page.goForward();
  await page.waitForSelector(".crumbs");
  assert.equal(page.url(), address);
  const zoom = new URLSearchParams(address.split("?")[1]).get("ui.zoom");
  const part = await data(`call_tree?cost=allocated&below=${zoom}&format=columns`);
  assert.ok((await page.locator(".total").innerText()).includes("shown: "));
  assert.ok(part.nodes > zoom.split(".").length);
});

page("search marks what matches and adds it up", async (page, go) => {
  const { rows } = await data("totals?by=function&cost=allocated&sort_by=total.allocated.bytes&order=dsc&count=3");
  await go(view("flame", "cost=allocated"));
  await page.keyboard.press("/");
  await page.keyboard.type(rows.at(-1).key);
  await page.waitForFunction(() => Number(document.querySelector(".hits")?.dataset.hits) > 0);
  assert.ok(page.url().includes("ui.search="));
  await page.fill(".search", "no such name at all");
  await page.waitForFunction(() => document.querySelector(".hits")?.dataset.hits === "0");
});

page("tables: every order and any page are REST's", async (page, go) => {
  for (const [name, what, rowsOf] of [["stacks", "allocation_groups", (answer) => answer.allocations.map((row) => count(row.only_matched.allocated_count))],
                                      ["blocks", "allocations", (answer) => answer.allocations.map((row) => `0x${row.address_s.replace(/^0+(?=.)/, "").toLowerCase()}`)]]) {
    const column = name === "stacks" ? 1 : 3;
    await go(view(name));
    const sorts = await page.locator(".table th button").count();
    for (let i = 0; i < sorts; i++)
      for (const order of ["dsc", "asc"]) {
        await page.locator(".table th button").nth(i).click();
        await settled(page);
        const query = new URLSearchParams(page.url().split("?")[1] ?? "");
        const sort = query.get("sort_by") ?? (name === "stacks" ? "only_matched.size" : "size");
        const wanted = rowsOf(await data(`${what}?sort_by=${sort}&order=${query.get("order") ?? "dsc"}&count=12`));
        await page.waitForFunction((first) => document.querySelectorAll(".table tbody tr:not(.space)")[0]?.textContent.includes(first), wanted[0]);
        assert.deepEqual((await cells(page)).slice(0, wanted.length).map((row) => row[column]), wanted, `${name} ${sort} ${order}`);
      }
    const { total_count: total } = await data(`${what}?count=1`);
    const query = new URLSearchParams(page.url().split("?")[1]);
    const [last] = rowsOf(await data(`${what}?sort_by=${query.get("sort_by")}&order=${query.get("order")}&skip=${total - 1}&count=1`));
    await page.fill(".foot input", String(total));
    await page.keyboard.press("Enter");
    await page.waitForFunction(([text, at]) => {
      const rows = [...document.querySelectorAll(".table tbody tr:not(.space)")];
      return rows.some((row) => Number(row.getAttribute("aria-rowindex")) === at && row.textContent.includes(text));
    }, [last, total + 1]);
    assert.ok(await page.evaluate(() => document.querySelectorAll("*").length) < 3000);
  }
});

page("functions: the table, its search, and one function between callers and callees", async (page, go) => {
  await go(view("functions", "cost=live"));
  const answer = await data("totals?by=function&sort_by=self.live.bytes&order=dsc");
  assert.equal((await page.locator(".table .foot").innerText()).match(/of ([\d,]+)/)[1], count(answer.total_count));
  assert.deepEqual((await cells(page)).slice(0, 5).map((row) => row[4].slice(0, 4)), answer.rows.slice(0, 5).map((row) => row.key.slice(0, 4)));
  const word = answer.rows[0].key.slice(0, 5);
  await page.fill(".search", word);
  const found = await data(`totals?by=function&contains=${encodeURIComponent(word)}`);
  await rowsAre(page, count(found.total_count));
  await page.locator(".table tbody tr:not(.space)").first().click();
  await page.waitForSelector(".sandwich canvas[data-ready]");
  const name = new URLSearchParams(page.url().split("?")[1]).get("function");
  const { callees } = await data(`sandwich?function=${encodeURIComponent(name)}&cost=live`);
  assert.equal(Number(await page.getAttribute(".sandwich", "data-bytes")), callees.size);
});

page("layers over time add up to the heap", async (page, go) => {
  const timeline = await data("timeline?width=600"), kinds = { library: "requester_library", function: "requester", line: "requester_line", thread: "thread" };
  for (const [by, asked] of Object.entries(kinds)) {
    await go(view("timeline", "ui.layers=" + by));
    const layers = page.locator(`[data-layers=${asked}]`);
    assert.equal(Number(await layers.getAttribute("data-end")), timeline.end_size.at(-1));
    const { series } = await data(`timeline_by?by=${asked}&width=600&top=10`);
    assert.deepEqual(await layers.locator("a").evaluateAll((all) => all.map((one) => one.title)), series.map((one) => one.key));
  }
});

page("a thread is chosen with one control, rows and tables are saved", async (page, go) => {
  await go(view("functions", "cost=allocated"));
  const { thread_list: threads } = await data("summary");
  await page.getByLabel("Thread").selectOption(String(threads[1].thread));
  await page.waitForFunction(() => location.hash.includes("thread="));
  await settled(page);
  const answer = await data(`totals?thread=${threads[1].thread}&sort_by=self.allocated.bytes&order=dsc`);
  await rowsAre(page, count(answer.total_count));
  const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save CSV" }).click()]);
  const lines = readFileSync(await saved.path(), "utf8").trim().split("\n");
  assert.equal(lines.length, 1 + Math.min(1000, answer.total_count));
  assert.ok(lines[1].includes(count(answer.rows[0].self.allocated[0])), lines[1]);
});

page("mappings are chosen by their rights", async (page, go) => {
  await go(view("maps", "ui.writable=only_true"));
  const maps = await data("maps?writable=only_true&count=1");
  await rowsAre(page, count(maps.total_count));
  const used = await data("address_map?lifetime=only_leaked");
  assert.equal(Number(await page.getAttribute("[data-used]", "data-used")), used.used_size);
});

page("a mapping has its parts, blocks and stacks beside it", async (page, go) => {
  await go(view("maps", "sort_by=address&order=asc"));
  for (const at of [0, 4]) {
    await page.locator(".table tbody tr:not(.space)").nth(at).locator("td").nth(1).click();
    const { maps: [one] } = await data(`maps?sort_by=address&count=1&skip=${at}`);
    await page.waitForSelector(`[data-map="${one.id}"]`);
    await settled(page);
    assert.equal(new URLSearchParams(page.url().split("?")[1]).get("ui.map"), String(one.id));
    const whole = await data(`map/${one.id}`);
    const blocks = await page.$$eval(".mapping [data-cost]", (rows) => rows.map((row) => [row.dataset.cost, [Number(row.dataset.bytes), Number(row.dataset.count)]]));
    assert.deepEqual(Object.fromEntries(blocks), whole.blocks);
    assert.equal(await page.locator(".mapping [aria-label='Parts of the mapping'] tbody tr").count(), whole.regions.length);
    const stacks = [one.source && "Mapped by", one.deallocation?.source && "Unmapped by"].filter(Boolean);
    assert.deepEqual(await page.locator(".mapping .stack h3").allInnerTexts(), stacks);
  }
  await page.getByLabel("Close the mapping").click();
  await page.waitForFunction(() => !document.querySelector(".mapping"));
});

page("a library and a file stand between callers and callees", async (page, go) => {
  const trace = programs.cpp;
  for (const by of ["library", "source"]) {
    await go(view("functions", `cost=allocated&by=${by}`, trace));
    const { rows: [first] } = await programs.server.json(`/data/${trace}/totals?by=${by}&sort_by=self.allocated.bytes&order=dsc&count=1`);
    await page.locator(".table tbody tr:not(.space)").first().click({ button: "right" });
    await page.getByText("Its callers and callees").click();
    await page.waitForSelector(".sandwich canvas[data-ready]");
    const sandwich = await programs.server.json(`/data/${trace}/sandwich?by=${by}&function=${encodeURIComponent(first.key)}&cost=allocated`);
    assert.equal(Number(await page.getAttribute(".sandwich", "data-bytes")), sandwich.callees.size);
    assert.equal(sandwich.callees.size, first.total.allocated[0]);
  }
}, { of: () => programs.server });

page("every column of mappings and functions sorts as REST does", async (page, go) => {
  const lists = [["maps", "maps", (answer) => answer.maps, (row) => `0x${row.address_s.replace(/^0+(?=.)/, "").toLowerCase()}`, 1],
                 ["functions", "totals", (answer) => answer.rows, (row) => row.library ?? "", 5]];
  for (const [name, what, rowsOf, textOf, column] of lists) {
    await go(view(name, "cost=allocated"));
    const heads = await page.$$eval(".table th", (all) => all.filter((head) => head.textContent !== "Blocks" || head.querySelector("button")).map((head) => head.querySelector("button") !== null));
    assert.ok(heads.every(Boolean), `${name}: ${heads}`);
    for (let i = 0; i < heads.length; i++) {
      await page.locator(".table th button").nth(i).click();
      await settled(page);
      const query = new URLSearchParams(page.url().split("?")[1]);
      const wanted = rowsOf(await data(`${what}?sort_by=${query.get("sort_by")}&order=${query.get("order")}&count=8`)).map(textOf);
      await page.waitForFunction(([texts, at]) => texts.every((text, row) =>
        document.querySelectorAll(".table tbody tr:not(.space)")[row]?.cells[at].textContent === text), [wanted, column]);
    }
  }
});

page("a range of time has five meanings, and a chip takes it away", async (page, go) => {
  await go(view("flame"));
  const meanings = [["from", "to"], ["from", "to", "lifetime"], ["alive_at", "alive_at_2"], ["from", "to", "lifetime"], ["alive_at"]];
  for (const [number, names] of meanings.entries()) {
    const box = await page.locator(".strip canvas").boundingBox();
    await page.mouse.move(box.x + box.width * 0.25, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 30, { steps: 3 });
    await page.mouse.up();
    await page.locator(".meanings button").nth(number).click();
    await page.waitForFunction((wanted) => document.querySelectorAll("a.chip b").length === wanted, names.length);
    await settled(page);
    const query = new URLSearchParams(page.url().split("?")[1]);
    assert.deepEqual([...query.keys()].filter((key) => !key.startsWith("ui.")), names);
    assert.equal(query.get("lifetime"), { 1: "only_not_deallocated_in_current_range", 3: "only_deallocated_in_current_range" }[number] ?? null);
    const tree = await data(`call_tree?cost=peak&${query}`);
    if (tree.count)
      assert.equal(Number(await page.getAttribute(".total", "data-bytes")), tree.size);
  }
  for (let left; (left = await page.locator("a.chip b").count());) {
    await page.locator("a.chip").first().click();
    await page.waitForFunction((before) => document.querySelectorAll("a.chip b").length < before, left);
  }
  assert.ok(!page.url().includes("alive_at"));
});

page("the filter editor has every parameter of the filter language", async (page, go) => {
  const { components } = await server.json("/openapi.json");
  await go(view("stacks"));
  await page.getByRole("button", { name: "+ Add" }).click();
  await page.waitForSelector(".field");
  const shown = [];
  for (const tab of await page.locator("dialog .choice button").all()) {
    await tab.click();
    shown.push(...await page.$$eval(".field label", (all) => all.map((label) => label.htmlFor.replace("filter-", ""))));
  }
  assert.deepEqual(shown.filter((name) => name !== "at").sort(), Object.keys(components.parameters).sort());
  await page.locator("dialog .choice button", { hasText: "Size" }).click();
  await page.fill("#filter-size_min", "100");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForFunction(() => location.hash.includes("size_min=100"));
  await settled(page);
  const { total_count: total } = await data("allocation_groups?size_min=100&count=1");
  await rowsAre(page, count(total));
});

repeats({ page, view, programs });
floor({ page, view, programs });
failures({ page, view, programs, inFolder, browser: () => browser });

page("names out of a trace do nothing", async (page, go) => {
  for (const name of VIEWS) {
    await go(view(name, "cost=live", hostileId));
    assert.equal(await page.evaluate(() => window.hacked), undefined, name);
    assert.equal(await page.locator("#app img, #app script").count(), 0, name);
    assert.doesNotMatch(await page.locator("body").innerText(), /[\u202a-\u202e\u2066-\u2069]/, name);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name);
  }
  const { rows } = await hostile.json("/data/last/totals?by=function&sort_by=self.live.bytes&order=dsc&count=3&cost=live");
  assert.deepEqual(rows.map((row) => row.self.live[0]), [333333, 222222, 111111]);
  for (const row of rows) {
    await go(view("functions", "cost=live&function=" + encodeURIComponent(row.key), hostileId));
    assert.equal(Number(await page.getAttribute(".sandwich", "data-bytes")), row.total.live[0]);
  }
  assert.equal(await page.evaluate(() => window.hacked), undefined);
}, { of: () => hostile });

// What is dark differs in its colours alone.
for (const [theme, rules] of [["light", undefined], ["dark", ["color-contrast"]]])
  page(`axe finds nothing (${theme})`, async (page, go) => {
    const source = readFileSync(axe(), "utf8");
    const found = [];
    for (const name of ["", ...VIEWS.map((one) => view(one)), view("functions", "function=main"), view("source", "file=none.c"), view("maps", "ui.map=0"), view("flame", "ui.zoom=0"), view("tree", "ui.search=main"), view("flame", "size_min=1T")]) {
      await go(name);
      if (!await page.evaluate(() => "axe" in window))
        await page.evaluate(source);
      const { violations } = await page.evaluate((only) => axe.run({ resultTypes: ["violations"], ...only && { runOnly: only } }), rules);
      found.push(...violations.map(({ id: rule, nodes }) => `${name}: ${rule}: ${nodes[0].html} ${nodes[0].failureSummary}`));
    }
    assert.deepEqual(found, []);
    await page.getByRole("button", { name: "+ Add" }).click();
    await page.waitForSelector(".field");
    assert.deepEqual((await page.evaluate(() => axe.run())).violations.map(({ id: rule, nodes }) => rule + nodes[0].html), []);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Keys" }).click();
    assert.deepEqual((await page.evaluate(() => axe.run())).violations.map(({ id: rule, nodes }) => rule + nodes[0].html), []);
  }, { colorScheme: theme });

page("an attached recording is not called complete", async (page, go) => {
  const summary = await data("summary"), said = () => page.locator(".overview").innerText();
  await go(view("overview"));
  assert.match(await said(), /, started .*, recorded completely/);
  await page.route((url) => url.pathname.endsWith("/summary"), (route) => route.fulfill({ json: { ...summary, attached_after_ns: 60e9, older_bytes: 4096, unknown_frees: 1 } }));
  await page.reload();
  await settled(page);
  assert.match(await said(), /, attached .*, recorded to its end/);
  assert.match(await said(), /began .* after the process had started\. Some 4\.00 KiB in blocks that are older are not in it; 1 of them was freed since/);
});

page("what is wrong with a trace leaves room for its name, also on a phone", async (page, go) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await go(view("overview"));
  const width = () => page.locator("header select[aria-label=Trace]").evaluate((select) => select.getBoundingClientRect().width), before = await width();
  await page.route((url) => url.pathname === "/list", async (route) => {
    const response = await route.fetch(), rows = await response.json();
    await route.fulfill({ response, json: rows.map((row) => ({ ...row, problem: "a part is missing, and this text says why. ".repeat(4) })) });
  });
  await page.reload();
  await settled(page);
  await page.waitForSelector("header .tag");
  assert.equal(await width(), before);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
});

page("keys alone reach every view", async (page, go) => {
  await go(view("overview"));
  const reached = new Set();
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    const text = await page.evaluate(() => document.activeElement?.closest(".rail") ? document.activeElement.textContent : "");
    reached.add(text);
  }
  for (const text of await page.locator(".rail a").allInnerTexts())
    assert.ok(reached.has(text), text);
});

page("keys lead to every view and change what is shown; they are listed, and can be switched off", async (page, go) => {
  await go(view("overview"));
  await page.keyboard.press("?");
  await page.waitForSelector("dialog[open] .key-list tr");
  const lines = await page.locator("dialog .key-list tr").allInnerTexts(), views = lines.find((line) => line.startsWith("g, then a letter"));
  await page.keyboard.press("Escape");
  await page.waitForSelector("dialog[open]", { state: "detached" });
  for (const [, letter, title] of views.matchAll(/(?:a view: |, (?=\w ))(\w) ([a-z]+(?:, l[a-z]+| [a-z]+)?)/g)) {
    await page.keyboard.press("g");
    await page.keyboard.press(letter);
    await page.waitForFunction((wanted) => document.querySelector(".rail a[aria-current]")?.textContent.toLowerCase() === wanted, title);
  }
  const has = (text) => page.waitForFunction((wanted) => location.hash.includes(wanted), text);
  const hasNot = (text) => page.waitForFunction((wanted) => !location.hash.includes(wanted), text);
  await go(view("flame", "cost=peak"));
  for (const [key, text] of [["k", "cost=live"], ["u", "ui.unit=count"], ["i", "ui.inverted=1"], ["p", "cost=peak"], ["e", "cost=live"]]) {
    await page.keyboard.press(key);
    await has(text);
  }
  await page.keyboard.press("i");
  await hasNot("ui.inverted");
  await settled(page);
  await page.focus(".flame-pane");
  await boxBelow(page, 1);
  await boxBelow(page, 2);
  await page.keyboard.press("Enter");
  await has("ui.zoom=0.0");
  for (const key of ["-", "0"]) {
    await page.keyboard.press(key);
    await (key === "0" ? hasNot("ui.zoom") : page.waitForFunction(() => /ui\.zoom=0(&|$)/.test(location.hash)));
  }
  await page.keyboard.press("Backspace");
  await has("ui.zoom=0");
  await page.keyboard.press("Control+k");
  await page.waitForFunction(() => document.querySelector(".view-functions .search") === document.activeElement);
  await page.keyboard.type("gk");
  await has("contains=gk");
  await page.getByRole("button", { name: "Keys" }).click();
  await page.getByLabel("Keys without Ctrl").uncheck();
  await page.getByRole("button", { name: "Close" }).click();
  await page.waitForSelector("dialog[open]", { state: "detached" });
  await page.focus("#main");
  await page.keyboard.press("k");
  await page.keyboard.press("Control+k");
  await page.waitForFunction(() => document.querySelector(".view-functions .search") === document.activeElement);
  assert.ok(page.url().includes("cost=live"));
});

page("keys work beside a slider", async (page, go) => {
  await go(view("maps"));
  await page.focus("input[type=range]");
  await page.keyboard.press("u");
  await page.waitForFunction(() => location.hash.includes("ui.unit=count"));
});

page("addresses of older pages lead to the new ones", async (page, go) => {
  for (const [old, name] of [[`#/overview/${id}`, "overview"], [`#/allocations/${id}?size_min=10`, "stacks"], ["#/t/last/flame", "flame"], [`#/t/${id.slice(0, 8)}/tree`, "tree"]]) {
    await go(old);
    assert.equal(await page.getAttribute(".view", "data-view"), name);
  }
});

page("a view that was looked at is there again in its first picture, and nothing is asked", async (page, go) => {
  const views = ["overview", "flame", "functions", "stacks", "blocks", "sizes", "maps"];
  for (const view of views)
    await go(`#/t/${id}/${view}`);
  const asked = [];
  // Rows far below those that are visible may not have come before the view was left.
  const isAhead = (url) => Number(new URL(url).searchParams.get("skip")) > 0;
  page.on("request", (request) => request.url().endsWith("/icon.svg") || isAhead(request.url()) || asked.push(request.url()));
  for (const view of views) {
    // Every picture until the view is there, beginning with the first that shows it.
    const waited = await page.evaluate((hash) => new Promise((resolve) => {
      const waits = () => document.querySelector("[data-state=loading], .missing, .flame canvas:not([data-ready])") !== null;
      addEventListener("popstate", () => requestAnimationFrame(() => {
        const first = waits();
        const look = () => waits() || !document.querySelector("[data-state=ready]") ? requestAnimationFrame(look) : resolve(first);
        look();
      }), { once: true });
      location.hash = hash;
    }), `#/t/${id}/${view}`);
    assert.equal(waited, false, view);
  }
  assert.deepEqual(asked, []);
});

test("a token is asked for, and in no address later", async () => {
  const guarded = await serve("--token", "a token + more", inFolder("random.dat"));
  const { page, context, wrong } = await open(browser, guarded, { refused: [401] });
  try {
    await page.goto(guarded.address + "/");
    await page.fill("#token", "wrong");
    await page.getByRole("button", { name: "Enter" }).click();
    await page.waitForSelector(".login .problem");
    await page.fill("#token", "a token + more");
    await page.getByRole("button", { name: "Enter" }).click();
    await page.waitForSelector("tr[data-id]");
    await context.clearCookies();
    const asked = [];
    await page.goto(guarded.address + "/?token=" + encodeURIComponent("a token + more"));
    page.on("request", (request) => asked.push(request.url()));
    await page.waitForSelector("tr[data-id]");
    await page.locator("tr[data-id] a").first().click();
    await page.waitForSelector(".card");
    assert.equal(new URL(page.url()).search, "");
    assert.deepEqual(asked.filter((url) => url.includes("token")), []);
    assert.equal(await page.evaluate(() => document.cookie), "");
    assert.deepEqual(wrong, []);
  } finally {
    await context.close();
    await guarded.stop();
  }
});

page("without JavaScript there are links", async (page) => {
  await page.goto(server.address + "/");
  for (const link of await page.locator("noscript a, body a").evaluateAll((all) => all.map((one) => one.getAttribute("href")))) {
    assert.equal((await get(server.address + link)).status, 200, link);
  }
  assert.match(await page.locator("body").innerText(), /without it/i);
}, { javaScriptEnabled: false });

test("a trace of sums has the views that it can have", async () => {
  const sums = await serve(record(inFolder("sums.dat"), [inFolder("hostile")], { HEAPSONDE_MODE: "aggregate" }));
  const { page, context, wrong } = await open(browser, sums);
  try {
    const [{ id: trace, holds }] = await sums.json("/list");
    assert.equal(holds, "sums");
    await page.goto(`${sums.address}/${view("overview", "", trace)}`);
    await settled(page);
    const names = await page.locator(".rail a").allInnerTexts();
    assert.ok(names.length > 5 && names.length < VIEWS.length, names.join());
    assert.ok(names.includes("Differences"), "of its ticks");
    for (const name of names) {
      await page.locator(".rail a", { hasText: new RegExp(`^${name}$`) }).click();
      await settled(page);
    }
    const { size } = await sums.json("/data/last/call_tree?cost=live");
    assert.ok(size >= 666666);
    await page.goto(`${sums.address}/${view("flame", "cost=live", trace)}`);
    await settled(page);
    assert.equal(Number(await page.getAttribute("[data-bytes]", "data-bytes")), size);
    assert.deepEqual(wrong, []);
  } finally {
    await context.close();
    await sums.stop();
  }
});

test("what a trace without blocks lacks is not the filter's doing", async () => {
  execFileSync("gcc", ["-x", "c", "-", "-o", inFolder("nothing")], { input: "int main(void) { return 0; }" });
  const empty = await serve(record(inFolder("nothing.dat"), [inFolder("nothing")]));
  const { page, context, wrong } = await open(browser, empty);
  try {
    for (const name of ["overview", "functions", "stacks", "blocks", "sizes", "threads", "timeline", "maps"]) {
      await page.goto(`${empty.address}/${view(name, "", "last")}`);
      await settled(page);
      assert.doesNotMatch(await page.locator("main").innerText(), /matches/, name);
    }
    assert.deepEqual(wrong, []);
  } finally {
    await context.close();
    await empty.stop();
  }
});

test("a trace that grows says so, and one that goes away is said to be gone", async () => {
  execFileSync(makeTrace, ["random", inFolder("growing.dat"), program, "6", "500", "7", "growing"]);
  // Whoever writes a trace has locked it.
  const writer = spawn("flock", ["-x", "-F", inFolder("growing.dat"), "sh", "-c", "echo locked; exec sleep 3000"]);
  await once(writer.stdout, "data");
  copyFileSync(inFolder("random.dat"), inFolder("going.dat"));
  const other = await serve(inFolder("growing.dat"), inFolder("going.dat"));
  const { page, context, wrong } = await open(browser, other, { refused: [410] });
  try {
    const [growing, going] = await other.json("/list");
    await page.goto(`${other.address}/${view("overview", "", growing.id)}`);
    await settled(page);
    assert.match(await page.locator("main .note").first().innerText(), /running|growing|killed|end/i);
    await page.getByRole("button", { name: "Refresh" }).waitFor();
    // Space leaves out what comes later.
    const { duration_ns: now } = await other.json(`/data/${growing.id}/summary`);
    await page.focus("#main");
    await page.keyboard.press("Space");
    await page.waitForFunction((wanted) => location.hash.includes(`to=${wanted}ns`), now);
    await page.locator("main .note", { hasText: "Paused" }).waitFor();
    await page.keyboard.press("Space");
    await page.waitForFunction(() => !location.hash.includes("to="));
    await page.goto(`${other.address}/${view("overview", "", going.id)}`);
    await settled(page);
    const peak = await page.getAttribute(".card[data-cost=peak]", "data-bytes");
    rmSync(inFolder("going.dat"));
    await page.locator(".rail a", { hasText: "Stacks" }).click();
    await page.waitForSelector(".table .problem");
    assert.match(await page.locator(".table .problem").innerText(), /going.dat: the file is gone; put it back/);
    // What was there stays readable.
    await page.goBack();
    await settled(page);
    assert.equal(await page.getAttribute(".card[data-cost=peak]", "data-bytes"), peak);
    await page.locator("a.home").click();
    await page.reload();
    await page.waitForSelector("tr[data-id] .warn");
    assert.deepEqual(wrong, []);
  } finally {
    await context.close();
    writer.kill();
    await other.stop();
  }
});

test("every export that is offered is there", async () => {
  const { page, context, wrong } = await open(browser, server);
  try {
    await page.goto(server.address + "/" + view("export", "size_min=10"));
    await settled(page);
    const linksOf = () => page.$$eval(".view-export table a", (all) => all.map((one) => one.getAttribute("href")));
    const links = await linksOf();
    assert.ok(links.length > 10);
    // Changes of the tree go with the formats of stacks, in the links and in the commands.
    await page.goto(server.address + "/" + view("flame", "cost=live&merge_function=%5Emain%24&collapse_recursion=true"));
    await settled(page);
    const svg = await page.locator("a.button", { hasText: "Save SVG" }).getAttribute("href");
    await page.locator(".rail a", { hasText: "Export" }).click();
    await page.waitForSelector(".view-export .transforms .chip");
    const changed = (await linksOf()).filter((link) => link.includes("merge_function"));
    assert.deepEqual(changed.map((link) => link.split("/")[4]), ["flamegraph", "collapsed", "speedscope", "heapprofile", "json", "callgrind", "perfetto"]);
    const collapsed = (await get(server.address + changed[1])).text;
    assert.doesNotMatch(collapsed, /main;/);
    assert.equal(collapsed.trim().split("\n").reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0), (await data("call_tree?cost=live")).size);
    assert.equal((await get(server.address + svg)).text, (await get(server.address + changed[0])).text);
    const words = (await page.locator(".view-export button", { hasText: "Command" }).nth(1).getAttribute("title")).match(/'[^']*'|\S+/g).map((word) => word.replace(/^'(.*)'$/, "$1"));
    assert.equal(execFileSync(command, [...words.slice(1).filter((word) => word !== "-o" && word !== "stacks.collapsed")], { encoding: "utf8" }), collapsed);
    for (const link of links) {
      const answer = await get(server.address + link);
      assert.equal(answer.status, 200, link);
      assert.ok(answer.bytes.length > 0, link);
    }
    assert.deepEqual(wrong, []);
  } finally {
    await context.close();
  }
});

dumps({ browser: () => browser, inFolder });
consoles({ page, view });
reports({ views: VIEWS, command, browser: () => browser, inFolder, server: () => server, hostile: () => hostile });
numbers({ page, view, count, programs, inFolder, browser: () => browser });
keys({ page, view, programs });
looks({ page, view, programs });
moments({ page, view, programs });
paper({ page, view, programs });
wishes({ page, view, count, programs, inFolder, shim, browser: () => browser });
searches({ page, view, count, programs });
places({ page, view, programs, inFolder, browser: () => browser, record: recordSource });
commands({ view, inFolder, browser: () => browser });
devices({ inFolder, browser: () => browser });
differences({ page, view, programs });
lines({ view, programs, inFolder, browser: () => browser, record: recordSource });
criteria({ page, view, count, programs, command, browser: () => browser, environment: process.env });
