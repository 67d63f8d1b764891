// SPDX-License-Identifier: MIT OR Apache-2.0
// What the page shows of recorded programs is what REST answers, to the byte.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { open, serve, settled } from "./browser.mjs";

const COSTS = ["peak", "live", "allocated", "temporary"];
const { HEAPSONDE_TEST_SYSROOT: sysroot, HEAPSONDE_TEST_ARM_SHIM: armShim, HEAPSONDE_TEST_CPP: source, HEAPSONDE_TEST_COMMAND: command, HEAPSONDE_TEST_SHIM: shim,
        HEAPSONDE_TEST_PLANTED: writePlanted } = process.env;
const PLANTED = ["never_freed", "bounded", "freed_at_end", "rounds", "high_peak", "temporary", "reallocated", "tiny", "rounding", "holes", "untouched", "recording", "resident"];

export function numbers({ page, view, count, programs, inFolder, browser }) {
  const exactly = (value) => count(value) + (value === 1 ? " byte" : " bytes");
  const titles = (page, selector) => page.$$eval(selector, (all) => all.map((one) => (one.title ? one : one.querySelector("[title]")).title));

  async function compare(server, trace) {
    const { page, context, wrong } = await open(browser(), server);
    const ask = (what) => server.json(`/data/${trace}/${what}`);
    const go = async (name, query) => {
      await page.goto(`${server.address}/${view(name, query, trace)}`);
      await settled(page);
    };
    const sums = async () => [Number(await page.getAttribute(".view [data-bytes]", "data-bytes")), Number(await page.getAttribute(".view [data-bytes]", "data-count"))];
    const total = async () => Number((await page.locator(".table .foot").innerText()).match(/of ([\d,]+)/)[1].replace(/,/g, ""));
    const summary = await ask("summary");
    await go("overview");
    assert.deepEqual(await page.$$eval(".card", (all) => all.map((card) => [Number(card.dataset.bytes), Number(card.dataset.count)])),
      [[summary.peak_bytes, summary.peak_count], [summary.live_bytes, summary.live_count], [summary.allocated_bytes, summary.allocations], [summary.temporary_bytes, summary.temporary_count]]);
    for (const cost of COSTS) {
      const tree = await ask(`call_tree?cost=${cost}`);
      if (!tree.count)
        continue;
      await go(cost === "peak" || cost === "allocated" ? "flame" : "tree", "cost=" + cost);
      assert.deepEqual(await sums(), [tree.size, tree.count], cost);
    }
    await go("functions", "cost=allocated");
    const functions = await ask("totals?by=function&sort_by=self.allocated.bytes&order=dsc");
    assert.equal(await total(), functions.total_count);
    assert.deepEqual((await titles(page, ".table tbody tr:not(.space) td:first-child")).slice(0, 8),
      functions.rows.slice(0, 8).map((row) => `${exactly(row.self.allocated[0])} in ${count(row.self.allocated[1])}`));
    await go("stacks");
    const groups = await ask("allocation_groups?sort_by=only_matched.size&order=dsc&count=8&frames=none");
    assert.equal(await total(), groups.total_count);
    assert.deepEqual((await titles(page, ".table tbody tr:not(.space) td:first-child")).slice(0, 8), groups.allocations.map((row) => exactly(row.only_matched.size)));
    await go("blocks");
    const blocks = await ask("allocations?sort_by=size&order=dsc&count=8&frames=none");
    assert.equal(await total(), blocks.total_count);
    assert.deepEqual((await titles(page, ".table tbody tr:not(.space) td:nth-child(2)")).slice(0, 8), blocks.allocations.map((row) => `${exactly(row.size)}, ${count(row.size + row.extra_space)} usable`));
    await go("threads", "cost=allocated");
    const threads = await ask("totals?by=thread&sort_by=total.allocated.bytes&order=dsc");
    assert.deepEqual(await titles(page, ".bars[aria-label=Threads] tbody td:nth-child(2)"), threads.rows.map((row) => `${exactly(row.total.allocated[0])} in ${count(row.total.allocated[1])} blocks`));
    await go("timeline");
    const timeline = await ask("timeline?width=600");
    assert.equal(Number(await page.getAttribute("[data-layers]", "data-end")), timeline.end_size.at(-1));
    assert.equal(Number(await page.locator(".chart[data-most]").first().getAttribute("data-most")), Math.max(...timeline.allocated_size));
    await go("generations");
    const { generations } = await ask("generations?parts=10");
    assert.deepEqual(await titles(page, "[aria-label=Generations] tbody td:nth-child(3)"), generations.map((row) => exactly(row.there_at_the_end.size)));
    await go("maps");
    assert.equal(await total(), (await ask("maps?count=1")).total_count);
    assert.deepEqual(wrong, []);
    await context.close();
  }

  test("numbers of a program in C++ are REST's", () => compare(programs.server, programs.cpp));
  test("numbers of python3 are REST's", () => compare(programs.server, programs.python));

  test("of a program that has freed everything, no block is live at the end", async () => {
    const binary = inFolder("frees"), trace = inFolder("frees.dat");
    writeFileSync(binary + ".c", "#include <stdlib.h>\nvoid *volatile block;\nint main(void) { block = malloc(1000); free(block); }\n");
    execFileSync("gcc", [binary + ".c", "-o", binary]);
    execFileSync(binary, { env: { ...process.env, LD_PRELOAD: shim, HEAPSONDE_OUTPUT: trace } });
    const server = await serve(trace), { page, context, wrong } = await open(browser(), server);
    try {
      const [{ id }] = await server.json("/list");
      for (const [query, said] of [["", "No block is live at the end."], ["size_min=10", "No block that matches the filter is live at the end."]]) {
        await page.goto(`${server.address}/${view("overview", query, id)}`);
        await settled(page);
        assert.deepEqual(await page.locator(".tops .empty").allInnerTexts(), [said]);
      }
      assert.deepEqual(wrong, []);
    } finally {
      await context.close();
      await server.stop();
    }
  });

  page("the command beside a view says the same", async (page, go) => {
    await go(view("overview", "size_min=64", programs.randomId));
    const words = (await page.locator(".foot-bar code").innerText()).split(" ").slice(1);
    const report = JSON.parse(execFileSync(command, [...words, "--json"], { maxBuffer: 1 << 28 }));
    assert.equal(Number(await page.getAttribute(".card[data-cost=live]", "data-bytes")), report.live_bytes);
    assert.equal(Number(await page.getAttribute(".card[data-cost=peak]", "data-bytes")), report.peak_bytes);
  }, { of: () => programs.random });

  // Traces with planted faults, for two tests; two of them have none that can be known.
  let served;
  async function planted() {
    if (!served) {
      const there = inFolder("planted");
      mkdirSync(there);
      execFileSync(writePlanted, [there]);
      served = await serve("--sysroot", join(there, "root"), ...readdirSync(there).filter((name) => name.endsWith(".dat")).map((name) => join(there, name)));
    }
    return served;
  }
  after(() => served?.stop());

  async function ofPlanted(run) {
    const server = await planted(), { page, context, wrong } = await open(browser(), server);
    const traces = (await server.json("/list")).map(({ id }) => id);
    try {
      await run(page, async (name, query, id) => {
        await page.goto(`${server.address}/${view(name, query, id)}`);
        await settled(page);
      }, traces, (id, what) => server.json(`/data/${id}/${what}`));
      assert.deepEqual(wrong, []);
    } finally {
      await context.close();
    }
  }

  test("each planted fault is on the overview, in the server's sentences; without a fault it says that nothing looks wrong", () => ofPlanted(async (page, go, traces, ask) => {
    const seen = new Set();
    let clean = 0;
    for (const id of traces) {
      const { findings } = await ask(id, "findings");
      await go("overview", "", id);
      const part = page.locator(".findings"), said = await part.locator("[data-finding]").evaluateAll((all) => all.map((one) => one.textContent));
      assert.equal(said.length, findings.length);
      findings.forEach(({ id: kind, confidence, text, reason, advice }, i) => {
        seen.add(kind);
        for (const words of [confidence, text, reason, advice])
          assert.ok(said[i].includes(words), `${kind}: ${words}`);
      });
      if (findings.length)
        continue;
      assert.match(await part.innerText(), /Nothing looks wrong\./);
      clean++;
    }
    assert.deepEqual([clean, [...seen].sort()], [2, [...PLANTED].sort()]);
  }));

  test("what the first round between marks leaves is a generation of its own, and not in the differences of later rounds", () => ofPlanted(async (page, go, traces, ask) => {
    const rounds = (await Promise.all(traces.map(async (id) => [id, (await ask(id, "findings")).findings]))).find(([, [first]]) => first?.id === "rounds"), [id, [finding]] = rounds;
    const { generations } = await ask(id, "generations");
    await go("generations", "", id);
    const left = await titles(page, "[aria-label=Generations] tbody td:nth-child(3)"), [, first, ...others] = generations.map((row) => row.there_at_the_end.size);
    assert.deepEqual(left, generations.map((row) => exactly(row.there_at_the_end.size)));
    assert.ok(others.length > 5 && others.every((size) => size === others[0]) && first > others[0] && others[0] > 0, [first, ...others].join());
    assert.equal(finding.bytes, others.slice(0, -1).reduce((sum, size) => sum + size, 0));
    // The generation is a range of allocations, which the flame graph has, too.
    const total = async () => Number(await page.getAttribute(".view [data-bytes]", "data-bytes"));
    for (const [row, size] of [[1, first], [2, others[0]]]) {
      await go("generations", "", id);
      await page.locator("[aria-label=Generations] tbody tr").nth(row).locator("td:nth-child(3) a").click();
      await page.waitForFunction(() => location.hash.includes("/flame?"));
      await settled(page);
      assert.equal(await total(), size);
    }
    // As the difference of the last two marks, and of two rounds.
    await go("diff", "", id);
    const delta = async () => Number(await page.getAttribute("p[data-delta]", "data-delta"));
    await page.locator("[aria-label=Instants] a", { hasText: "Last two marks" }).click();
    await page.waitForFunction(() => location.hash.includes("base_at="));
    await settled(page);
    assert.equal(await delta(), others[0]);
    const at = (row, name) => `${row[name].secs * 1e9 + row[name].fract_nsecs}ns`, range = (prefix, row) => `${prefix}from=${at(row, "from_relative")}&${prefix}to=${at(row, "to_relative")}`;
    const between = (base, now) => go("diff", `${range("base_", generations[base])}&${range("", generations[now])}&cost=live`, id);
    await between(1, 2);
    assert.equal(await delta(), others[0] - first);
    await between(2, 3);
    assert.equal(await page.locator(".view .empty").innerText(), "There is no difference.");
  }));

  page("the timeline is zoomed into, down to a microsecond: the address has the range, and the times of the axis differ", async (page, go) => {
    const { duration_ns: end } = await programs.random.json("/data/last/summary"), middle = Math.round(end / 2), UNITS = { ns: 1, "\u00b5s": 1e3, ms: 1e6, s: 1e9 };
    const given = () => {
      const parameters = new URLSearchParams(page.url().split("?")[1]), zoom = parameters.get("ui.time")?.split("-").map(Number);
      return zoom ?? ["from", "to"].map((name) => {
        const [, value, unit] = /^(\d+)(ns|ms|s)$/.exec(parameters.get(name));
        return value * UNITS[unit];
      });
    };
    const check = async (from, to) => {
      assert.deepEqual(given(), [from, to]);
      const axes = await page.$$eval(".axis", (all) => all.map((axis) => [...axis.children].map((one) => one.textContent)));
      assert.ok(axes.length > 6);
      for (const axis of axes) {
        const times = axis.map((text) => {
          const [, value, unit] = /^(\d+(?:\.\d+)?) (ns|\u00b5s|ms|s)$/.exec(text) ?? assert.fail(`'${text}'`);
          return value * UNITS[unit];
        });
        assert.ok(times.every((time, i) => !i || time > times[i - 1]), axis.join());
        assert.ok(Math.abs(times[0] - from) < (to - from) / 4, axis.join());
      }
      assert.doesNotMatch(await page.locator(".view").innerText(), /NaN|undefined|Infinity/);
      const [begin, last] = /^(.*) to (.*) in intervals of/.exec(await page.locator(".bar .faint").last().innerText()).slice(1);
      assert.notEqual(begin, last);
    };
    // By the mouse, as far as that goes; then by the address.
    for (const pixels of [300, 1]) {
      await go(view("timeline", "", programs.randomId));
      const { x, y, width } = await page.locator(".strip canvas").boundingBox(), left = Math.floor(x + width / 2);
      await page.mouse.move(left, y + 30);
      await page.mouse.down();
      await page.mouse.move(left + pixels, y + 30);
      await page.mouse.up();
      await page.locator(".meanings button:has(svg)").first().click();
      await page.waitForFunction(() => location.hash.includes("from="));
      await settled(page);
      const [from, to] = given();
      assert.ok(Math.abs(to - from - pixels * end / width) <= 1, `${from} to ${to}`);
      await check(from, to);
    }
    for (const span of [1e6, 1e3]) {
      await go(view("timeline", `from=${middle}ns&to=${middle + span}ns`, programs.randomId));
      await check(middle, middle + span);
      await go(view("timeline", `ui.time=${middle}-${middle + span}`, programs.randomId));
      await check(middle, middle + span);
    }
    await page.locator("details", { hasText: "As table" }).first().locator("summary").click();
    await settled(page);
    const begins = await page.$$eval("[aria-label='The heap over time, as a table'] tbody td:first-child", (all) => all.map((one) => one.textContent));
    assert.ok(begins.length > 9 && new Set(begins).size === begins.length, begins.join());
  }, { of: () => programs.random });

  const arm = sysroot && existsSync(sysroot + "/lib") && existsSync(armShim) && ["arm-linux-gnueabihf-g++", "qemu-arm"].every((word) => process.env.PATH.split(":").some((folder) => existsSync(`${folder}/${word}`)));
  test("numbers and names of a target's trace, with its root folder, are REST's", { skip: !arm && "there is no build for ARM" }, async () => {
    const binary = inFolder("program.arm"), trace = inFolder("arm.dat");
    execFileSync("arm-linux-gnueabihf-g++", ["-g", "-O1", source, "-o", binary, "-lpthread"]);
    execFileSync("qemu-arm", ["-L", sysroot, "-E", `LD_LIBRARY_PATH=${sysroot}/usr/lib/arm-linux-gnueabihf`, "-E", `LD_PRELOAD=${armShim}`, "-E", `HEAPSONDE_OUTPUT=${trace}`, binary]);
    const server = await serve("--sysroot", sysroot, trace);
    try {
      const [{ id, architecture }] = await server.json("/list");
      assert.equal(architecture, "arm");
      await compare(server, id);
      const { page, context } = await open(browser(), server);
      await page.goto(`${server.address}/${view("functions", "cost=allocated&contains=Registry", id)}`);
      await settled(page);
      assert.match(await page.locator(".table tbody td.wide").first().textContent(), /Registry<…>::add/);
      // The command finds the same names.
      const words = (await page.locator(".foot-bar code").innerText()).match(/'[^']*'|\S+/g).map((word) => word.replace(/^'(.*)'$/, "$1"));
      assert.ok(words.includes(sysroot), words.join(" "));
      assert.match(execFileSync(command, words.slice(1), { encoding: "utf8" }), /Registry<.*>::add/);
      await context.close();
    } finally {
      await server.stop();
    }
  });
}
