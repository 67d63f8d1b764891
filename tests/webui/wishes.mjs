// SPDX-License-Identifier: MIT OR Apache-2.0
// More of what people miss in such pages, a test for each: leaks that are explained, libraries, addresses, live traces,
// pauses, ranges.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { clipboard, get, open, serve, settled } from "./browser.mjs";

// For each line, a block of 1,000,000 bytes, recorded or, between two lines "s", not. Ends with its input.
const PROGRAM = `#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept[64];
__attribute__((noinline)) static void grow(int i) { kept[i] = malloc(1000000); __asm__ volatile(""); }
int main(void)
{
    int letter, count = 0;
    setvbuf(stdin, NULL, _IONBF, 0);
    setvbuf(stdout, NULL, _IONBF, 0);
    puts("ready");
    while ((letter = getchar()) != EOF) {
        if (letter == 'g' && count < 60)
            grow(count++);
        else if (letter == 's')
            raise(SIGUSR1);
        else
            continue;
        puts("done");
    }
    return 0;
}
`;
// What the bars of a picture of a range mean: they begin and end in it, before or behind it.
const MEANINGS = [[({ from, behind }) => from && (behind || true), "Allocated in it"], [({ from, behind }) => from && behind, "live at its end"],
                  [({ before, behind }) => before && behind, "whole time"], [({ from, behind }) => from && !behind, "freed in it"], [({ before }) => before, "at its beginning"]];

export function wishes({ page, view, count, programs, inFolder, browser, shim }) {
  const of = () => programs.server;
  const cpp = (name, query) => view(name, query, programs.cpp), data = (what) => programs.server.json(`/data/${programs.cpp}/${what}`);

  // The program, with its answers to letters.
  async function start(name) {
    const binary = inFolder(name);
    writeFileSync(binary + ".c", PROGRAM);
    execFileSync("gcc", ["-g", "-O1", binary + ".c", "-o", binary]);
    const program = spawn(binary, [], { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, LD_PRELOAD: shim, HEAPSONDE_OUTPUT: binary + ".dat" } });
    const lines = createInterface({ input: program.stdout })[Symbol.asyncIterator](), ended = once(program, "exit");
    await lines.next();
    return { trace: binary + ".dat", kill: () => program.kill("SIGKILL"),
             say: async (letters) => {
               for (const letter of letters)
                 program.stdin.write(letter + "\n"), await lines.next();
             },
             end: () => (program.stdin.end(), ended) };
  }

  page("A21: from a finding to the stacks that it is about; each says why and what to do, and terms are explained where they stand", async (page, go) => {
    const { findings } = await programs.random.json("/data/last/findings");
    const fault = findings.find(({ id }) => id !== "recording");
    assert.ok(fault);
    await go(view("overview", "", programs.randomId));
    for (const one of findings) {
      const row = page.locator(`[data-finding="${one.id}"]`).first();
      assert.ok((await page.locator(`[data-finding="${one.id}"]`).allTextContents()).some((text) => [one.text, one.reason, one.advice].every((words) => text.includes(words))), one.id);
      assert.ok(["certain", "usually a fault", "often intended; worth a look"].includes(await row.locator("b").first().getAttribute("title")), one.id);
    }
    const more = page.locator(".findings > .pane > details > summary");
    if (await more.count())
      await more.click();
    await page.locator(`[data-finding="${fault.id}"] a`).first().click();
    await settled(page);
    assert.ok(page.url().includes(`/${fault.view}`));
    // A sentence where the word is: in cards, in choices of costs, in heads of tables, and in what ps shows.
    await go(view("overview", "", programs.randomId));
    assert.deepEqual(await page.$$eval(".card", (all) => all.filter((one) => !/^(all )?blocks.*[a-z]$/.test(one.title)).map((one) => one.textContent)), []);
    await go(view("flame", "", programs.randomId));
    const titles = await page.$$eval(".choice a[title], .choice [title]", (all) => all.map((one) => one.title));
    assert.ok(titles.some((title) => /freed by the very next call/.test(title)), "temporary");
    assert.ok(titles.some((title) => /not freed by the end/.test(title)), "still live");
    await go(view("functions", "", programs.randomId));
    assert.ok((await page.$$eval(".table th [title]", (all) => all.map((one) => one.title))).some((title) => /freed by the very next call/.test(title)));
    await go(view("overview", "", programs.randomId));
    assert.match(await page.locator("[aria-label='Why ps shows more']").innerText(), /unused space between blocks stays with the process/);
  }, { of: () => programs.random });

  test("A23: small findings are folded, known ones suppressed, and both are still counted with their bytes", async () => {
    const file = inFolder("suppressions");
    writeFileSync(file, "# all of it is known\nleak:*\n");
    for (const words of [[], ["--suppressions", file]]) {
      const server = await serve(...words, inFolder("random.dat")), { page, context, wrong } = await open(browser(), server);
      try {
        const [{ id }] = await server.json("/list"), { findings, ...rest } = await server.json(`/data/${id}/findings`);
        assert.deepEqual([findings.some((one) => one.suppression), rest.suppressed_count > 0], [!words.length, words.length > 0]);
        const small = { small_count: 2, small_bytes: 5 << 10 };
        for (const more of [{}, small]) { // random blocks have no small fault
          await page.route((url) => url.pathname.endsWith("/findings"), (route) => route.fulfill({ json: { findings, ...rest, ...more } }));
          await page.goto(`${server.address}/${view("overview", more.small_count ? "size_min=1" : "", id)}`);
          await settled(page);
          const text = await page.locator(".findings").innerText(), said = { ...rest, ...more };
          assert.equal(await page.locator("[data-finding]").count(), findings.length);
          assert.equal(/2 small ones not listed, 5\.00 KiB together/.test(text), said.small_count > 0, text);
          const suppressed = /(\d+) suppressed ones?, ([\d.]+) MiB together/.exec(text);
          assert.equal(suppressed !== null, rest.suppressed_count > 0, text);
          if (suppressed)
            assert.deepEqual([Number(suppressed[1]), Math.abs(Number(suppressed[2]) * (1 << 20) - rest.suppressed_bytes) < 1 << 13], [rest.suppressed_count, true]);
          await page.unrouteAll();
        }
        assert.deepEqual(wrong, []);
      } finally {
        await context.close();
        await server.stop();
      }
    }
  });

  page("A28: libraries are a table, areas, layers, a difference and colours, with the same sums", async (page, go) => {
    const { rows, sum } = await data("totals?by=library&sort_by=self.allocated.bytes&order=dsc&count=50&cost=allocated");
    await go(cpp("functions", "by=library&cost=allocated"));
    const names = await page.$$eval(".table tbody tr:not(.space) td.wide", (all) => all.map((one) => one.textContent.trim()));
    assert.deepEqual([...names].sort(), rows.map(({ key }) => key).sort());
    assert.equal(rows.reduce((all, row) => all + row.self.allocated[0], 0), sum.allocated[0]);
    await go(cpp("treemap", "cost=allocated"));
    const areas = await page.$$eval("[data-of] td:first-child", (all) => all.map((one) => one.textContent));
    const outer = await page.locator(".treemap svg > g").count();
    assert.ok(areas.length > 0 && outer > 0 && areas.filter((name) => !name.startsWith("smaller")).every((name) => names.includes(name)), areas.join());
    await go(cpp("timeline"));
    assert.equal(await page.getAttribute(".legend[data-layers]", "data-layers"), "requester_library");
    await go(view("diff", "base_at=0%25&at=100%25&ui.shape=libraries", programs.python));
    assert.ok(await page.locator("tr[data-node]").count());
    // One colour in every picture.
    const colours = async () => new Map(await page.$$eval(".swatches li", (all) => all.map((one) => [one.textContent, one.querySelector("rect").getAttribute("fill")])));
    await go(cpp("flame", "cost=allocated"));
    const [down, fills] = [await colours(), new Set()];
    await go(cpp("flame", "cost=allocated&ui.inverted=1"));
    for (const [name, colour] of await colours())
      assert.equal(colour, down.get(name) ?? colour, name), fills.add(colour);
    assert.ok(fills.size > 1);
  }, { of });

  page("A29: addresses are the darker the fuller, and a piece leads to its blocks and their stacks", async (page, go) => {
    const map = await data("address_map?width=300&lifetime=only_leaked");
    await go(cpp("maps"));
    const rects = await page.$$eval("svg.address rect", (all) => all.map((one) => [Number(one.getAttribute("x")), Number(one.getAttribute("opacity"))]));
    assert.deepEqual(rects.map(([x]) => x), map.used.flatMap((used, i) => used ? [i] : []));
    for (const [x, opacity] of rects)
      assert.ok(Math.abs(opacity - (0.2 + 0.8 * Math.min(1, map.used[x] / map.piece))) < 1e-9, `${x}`);
    // The fullest piece; its middle is clicked.
    const fullest = map.used.indexOf(Math.max(...map.used)), box = await page.locator("svg.address").boundingBox();
    await page.mouse.click(box.x + (fullest + 0.5) / map.used.length * box.width, box.y + box.height / 2);
    await page.waitForSelector(".view-blocks .table tbody tr:not(.space)");
    await settled(page);
    // The block that covers the piece may begin before the full pieces in front of it.
    let first = fullest;
    while (first > 0 && map.used[first - 1] >= map.piece)
      first--;
    if (first > 0 && map.used[first - 1])
      first--;
    const from = map.start + first * map.piece, to = map.start + (fullest + 1) * map.piece - 1, asked = `allocations?lifetime=only_leaked&address_min=0x${from.toString(16)}&address_max=0x${to.toString(16)}`;
    const { total_count: blocks, allocations } = await data(asked + "&count=1");
    assert.ok(blocks > 0 && allocations.length);
    assert.match(await page.locator(".table .foot").innerText(), new RegExp(`of ${blocks}\\b`));
    await page.locator(".table tbody tr:not(.space)").first().click();
    await page.keyboard.press("Enter");
    await page.waitForSelector(".side, .inspector, .stack");
  }, { of });

  page("A31: a line has its cost, inlined code too; a file that is missing says which option shows it", async (page, go) => {
    const { rows } = await data("totals?by=line&cost=allocated&sort_by=self.allocated.bytes&order=dsc&count=200");
    const mine = rows.filter(({ source }) => /program\.cc$/.test(source ?? "")), file = mine[0].source;
    const wanted = new Map();
    for (const row of mine)
      wanted.set(row.line, (wanted.get(row.line) ?? 0) + row.self.allocated[0]);
    const { rows: lines } = await data(`source?file=${encodeURIComponent(file)}&cost=allocated`);
    const costly = lines.filter((one) => one.self.allocated[0]);
    assert.ok(costly.length > 1);
    for (const { line, self } of costly)
      assert.equal(self.allocated[0], wanted.get(line), `line ${line}`);
    // The page has the same beside each line, and what the line itself allocated is not what its callees did.
    await go(cpp("source", `cost=allocated&file=${encodeURIComponent(file)}`));
    const exact = ([bytes, blocks]) => bytes ? `${count(bytes)} ${bytes === 1 ? "byte" : "bytes"} in ${count(blocks)}` : "";
    const shown = await page.$$eval(".table tbody tr:not(.space)", (all) => all.map((row) => [row.cells[0].textContent, ...[1, 2].map((i) => row.cells[i].querySelector("[title]")?.title ?? "")]));
    assert.deepEqual(shown, lines.map(({ line, self, total }) => [String(line), exact(self.allocated), exact(total.allocated)]));
    assert.ok(lines.some(({ self, total }) => self.allocated[0] !== total.allocated[0]));
    // Inlined code counts for its own line, and its caller's line for what it calls; both by the list of stacks.
    const { allocations: groups } = await data("allocation_groups?count=1000"), isAt = ({ source, line }) => (frame) => frame.source === source && frame.line === line;
    const inlined = groups.flatMap(({ backtrace }) => backtrace.filter((frame, i) => i && frame.is_inline && frame.source && frame.line && !isAt(frame)(backtrace[i - 1]))).at(0);
    assert.ok(inlined, "there is inlined code");
    const through = groups.filter(({ backtrace }) => backtrace.some(isAt(inlined))).reduce(([bytes, blocks], { only_matched: sum }) => [bytes + sum.size, blocks + sum.allocated_count], [0, 0]);
    await go(cpp("source", `cost=allocated&file=${encodeURIComponent(inlined.source)}&ui.line=${inlined.line}`));
    const ofHeader = await page.$$eval(".table tbody tr:not(.space)", (all) => all.map((row) => [row.cells[0].textContent, row.cells[2].querySelector("[title]")?.title]));
    assert.deepEqual(ofHeader.find(([line]) => line === String(inlined.line)), [String(inlined.line), exact(through)]);
    // Which file is missing, and the option that brings it.
    const note = await page.locator(".source-note").innerText();
    assert.match(note, /^The text is not shown: .*--source DIR/);
    assert.match(await page.locator(".total b").getAttribute("title"), new RegExp(inlined.source.split("/").at(-1).replace(/[.+]/g, "\\$&")));
  }, { of });

  page("A33: the page asks its own server alone, and can ask no other", async (page, go, wrong) => {
    for (const name of programs.views)
      await go(cpp(name));
    assert.deepEqual(wrong, []);
    // Another origin that would answer.
    const other = createServer((request, answer) => answer.writeHead(200, { "Access-Control-Allow-Origin": "*" }).end()).listen(0, "127.0.0.1");
    await once(other, "listening");
    const refused = await page.evaluate(async (address) => {
      const said = new Promise((resolve) => addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective), { once: true }));
      return fetch(address).then(() => "asked", () => said);
    }, `http://127.0.0.1:${other.address().port}/`).finally(() => (other.closeAllConnections(), other.close()));
    assert.equal(refused, "connect-src");
    wrong.length = 0; // it is a line in the console
    for (const file of await page.$$eval("script[src], link[href]", (all) => all.map((one) => one.src || one.href)))
      assert.deepEqual([...(await get(file)).text.matchAll(/https?:\/\/[\w.-]+/g)].map(([one]) => one).filter((one) => !/www\.w3\.org|127\.0\.0\.1/.test(one)), [], file);
  }, { of });

  test("A34, A35: what is live stays still until it is refreshed; closed and opened again it goes on, and each number can be asked for", async () => {
    const program = await start("live");
    let server, first, second;
    try {
      await program.say("gg");
      server = await serve(program.trace);
      const [{ id }] = await server.json("/list"), size = async () => (await server.json(`/data/${id}/call_tree?cost=live`)).size;
      const shown = async (page) => Number(await page.getAttribute(".total", "data-bytes"));
      const least = async (bytes) => { // the server reads a growing trace again from time to time
        while (await size() < bytes)
          await new Promise((resolve) => setTimeout(resolve, 50));
      };
      await least(2000000);
      first = await open(browser(), server);
      const { page } = first;
      await page.goto(`${server.address}/${view("flame", "cost=live", id)}`);
      await settled(page);
      const before = await shown(page), picture = () => page.locator(".flame canvas").evaluate((canvas) => canvas.toDataURL());
      const drawnBefore = await picture();
      assert.ok(before >= 2000000);
      await program.say("ggg");
      await least(5000000);
      await page.waitForFunction(() => Number.parseInt(document.querySelector(".age").textContent) > 1);
      assert.deepEqual([await shown(page), await picture() === drawnBefore], [before, true], "nothing has moved");
      await page.getByRole("button", { name: "Refresh" }).click();
      await page.waitForFunction((old) => Number(document.querySelector(".total")?.dataset.bytes) > old, before);
      await settled(page);
      assert.equal(await shown(page), await size());
      // Space holds it.
      await page.focus("#main");
      await page.keyboard.press("Space");
      await page.locator("main .note", { hasText: "Paused" }).waitFor();
      await settled(page);
      const held = await shown(page);
      await program.say("g");
      await least(6000000);
      await page.reload();
      await settled(page);
      assert.equal(await shown(page), held);
      assert.deepEqual(first.wrong, []);
      const address = page.url().replace(/[?&]to=[^&]*/, "");
      await first.context.close();
      // Another window, later.
      second = await open(browser(), server, { permissions: ["clipboard-read", "clipboard-write"] });
      await second.page.goto(address);
      await settled(second.page);
      assert.equal(await shown(second.page), await size());
      await second.page.getByRole("button", { name: "Copy curl" }).click();
      const [, question] = /'(http[^']*)'/.exec(await clipboard(second.page));
      const answer = (await get(question)).json();
      assert.equal(answer.size ?? answer.columns?.size[0], await shown(second.page));
      assert.deepEqual(second.wrong, []);
      await program.end();
    } finally {
      program.kill();
      await second?.context.close();
      await server?.stop();
    }
  });

  test("A41: pauses of the recording are shaded in the strip, with their times", async () => {
    const program = await start("pauses");
    let server, opened;
    try {
      await program.say("gsgsgsgsg");
      await program.end();
      server = await serve(program.trace);
      opened = await open(browser(), server);
      const { page, wrong } = opened, [{ id }] = await server.json("/list"), summary = await server.json(`/data/${id}/summary`);
      const stops = summary.marks.filter(({ kind }) => kind === "stop"), starts = summary.marks.filter(({ kind }) => kind === "start");
      assert.deepEqual([stops.length, starts.length, summary.allocations < 5], [2, 2, true]);
      await page.goto(`${server.address}/${view("overview", "", id)}`);
      await settled(page);
      const pauses = (await page.getAttribute(".pauses", "data-pauses")).split(",").map((one) => one.split("-").map(Number));
      assert.deepEqual(pauses, stops.map(({ time_ns: from }, i) => [from, starts[i].time_ns]));
      assert.match(await page.locator(".pauses").innerText(), /^2 pauses of the recording, /);
      // Shaded at the top, above the heap; what is beside a pause is not. How long the pauses were depends on the load: here they
      // have times of their own, and recording does not go on after the last one.
      const parts = [["stop", 0.2], ["start", 0.4], ["stop", 0.7]], marks = parts.map(([kind, part]) => ({ ...summary.marks[0], kind, time_ns: part * summary.duration_ns }));
      await page.route((url) => url.pathname.endsWith("/summary"), (route) => route.fulfill({ json: { ...summary, marks } }));
      await page.reload();
      await settled(page);
      const shade = await page.locator(".strip canvas").evaluate((canvas) => [0.1, 0.22, 0.3, 0.38, 0.45, 0.65, 0.75, 0.95].map((part) =>
        canvas.getContext("2d").getImageData(Math.floor(part * canvas.width), 0, 1, 1).data[3] > 20));
      assert.deepEqual(shade, [false, true, true, true, false, false, true, true]);
      assert.equal(await page.getAttribute(".pauses", "data-pauses"), `${marks[0].time_ns}-${marks[1].time_ns},${marks[2].time_ns}-${summary.duration_ns}`);
      assert.deepEqual(wrong, []);
    } finally {
      program.kill();
      await opened?.context.close();
      await server?.stop();
    }
  });

  page("A42: each meaning of a range has a sentence and a picture of blocks and the range, which agree", async (page, go) => {
    await go(cpp("flame"));
    const box = await page.locator(".strip canvas").boundingBox();
    await page.mouse.move(box.x + box.width * 0.25, box.y + 30);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 30, { steps: 3 });
    await page.mouse.up();
    await page.waitForSelector(".meanings");
    const all = await page.$$eval(".meanings button:has(svg)", (buttons) => buttons.map((button) => {
      const span = (one) => [Number(one.getAttribute("x")), Number(one.getAttribute("x")) + Number(one.getAttribute("width"))];
      return { name: button.textContent, title: button.title, range: span(button.querySelector(".range-back")), bars: [...button.querySelectorAll(".range-bar")].map(span),
               seen: [...button.querySelectorAll("rect")].every((one) => getComputedStyle(one).fill !== "none") };
    }));
    assert.equal(all.length, MEANINGS.length);
    all.forEach(({ name, title, range: [start, end], bars, seen }, i) => {
      const [holds, words] = MEANINGS[i];
      assert.ok(name.toLowerCase().includes(words.toLowerCase()), name);
      assert.match(title, /(allocated|live|freed).* range/, name);
      assert.ok(seen && bars.length, name);
      for (const [from, to] of bars)
        assert.ok(holds({ before: from < start && to > start, from: from >= start && from < end, behind: to > end }), `${name}: ${from} to ${to}`);
    });
    assert.equal(new Set(all.map(({ bars }) => JSON.stringify(bars))).size, all.length, "no two pictures are the same");
    assert.ok(all[0].bars.some(([, to]) => to > all[0].range[1]) && all[0].bars.some(([, to]) => to < all[0].range[1]), "freed or not");
  }, { of });
}
