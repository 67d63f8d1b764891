// SPDX-License-Identifier: MIT OR Apache-2.0
// How long the page takes on a trace, and how much is sent, each beside its bar: node measure.mjs TRACE
//
// Times of the clock mean something on an idle machine only. So the processor time of the page's main thread stands beside
// those of views, and the load at the beginning and the end below them.
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import { launch, open, serve, settled } from "./browser.mjs";

const VIEWS = ["overview", "flame", "tree", "functions", "stacks", "blocks", "sizes", "threads", "timeline", "generations", "maps", "recording"];
const AGAIN = 5;

const rows = [];
const say = (what, value, unit, bar = undefined, beside = "") => rows.push({ what, value, unit, bar, beside });
const middle = (values) => values.sort((a, b) => a - b)[values.length >> 1];
const load = () => loadavg()[0].toFixed(1);

const loadBefore = load();
const server = await serve(process.argv[2]);
const browser = await launch();

// From the click until the frame after the one in which all of the view is there.
const shown = (page, hash) => page.evaluate((to) => new Promise((resolve) => {
  const ready = () => document.querySelector("[data-state=ready]") &&
    !document.querySelector("[data-state=loading], [aria-busy=true], .flame canvas:not([data-ready])");
  const began = performance.now();
  const look = () => ready() ? resolve(performance.now() - began) : requestAnimationFrame(look);
  addEventListener("hashchange", () => requestAnimationFrame(() => requestAnimationFrame(look)), { once: true });
  location.hash = to;
}), hash);

// Until no row in sight is blank: after jumps to places all over the table, and the longest time while the wheel turns.
const blankRows = (page) => page.evaluate(async () => {
  const pane = document.querySelector(".table-pane"), jumps = [];
  const frame = () => new Promise(requestAnimationFrame);
  const blank = () => {
    const { top, bottom } = pane.getBoundingClientRect();
    return [...pane.querySelectorAll(".missing")].some((one) => {
      const box = one.getBoundingClientRect();
      return box.bottom > top && box.top < bottom;
    });
  };
  for (let i = 1; i <= 20; i++) {
    pane.scrollTop = pane.scrollHeight * (i * 7 % 20) / 20;
    const began = performance.now();
    do
      await frame();
    while (blank());
    jumps.push(performance.now() - began);
  }
  return jumps;
});

// The same while 60 times a second two rows are scrolled, by keys, which are exact in long tables.
const blankWhileScrolling = (page) => page.evaluate(async () => {
  const pane = document.querySelector(".table-pane");
  const frame = () => new Promise(requestAnimationFrame);
  let longest = 0, since, tasks = 0;
  new PerformanceObserver((list) => { tasks += list.getEntries().length; }).observe({ type: "longtask" }); // 50 ms and more
  pane.focus();
  pane.dispatchEvent(new KeyboardEvent("keydown", { key: "PageDown", bubbles: true }));
  for (let i = 0; i < 600; i++) {
    for (let row = 0; row < 2; row++)
      pane.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", bubbles: true }));
    await frame();
    const { top, bottom } = pane.getBoundingClientRect();
    const blank = [...pane.querySelectorAll(".missing")].some((one) => {
      const box = one.getBoundingClientRect();
      return box.bottom > top && box.top < bottom;
    });
    since = blank ? since ?? performance.now() : undefined;
    longest = Math.max(longest, since === undefined ? 0 : performance.now() - since);
  }
  return { longest, tasks };
});

// Until pages in the middle of a sorted list come at once: the server's indexes are there then. Milliseconds.
async function indexed(server, total) {
  const began = performance.now();
  for (let quick = 0, i = 0; quick < 5 && performance.now() - began < 120000; i++) {
    const asked = performance.now();
    await server.json(`/data/last/allocations?sort_by=size&order=dsc&count=1&frames=none&skip=${Math.floor(total * (i * 7 % 20) / 20) + i}`);
    quick = performance.now() - asked < 100 ? quick + 1 : 0;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return performance.now() - began;
}

// The 95th percentile of 60 frames, and the processor time of one on average.
const frames = async (page, work) => {
  const before = await work(), slow = await drawn(page);
  return { slow, worked: (await work() - before) / 60 };
};

const drawn = (page) => page.evaluate(async () => {
  const pane = document.querySelector(".flame-pane"), times = [];
  for (let i = 0; i < 60; i++) {
    pane.scrollTop = i % 2 * 200;
    const before = performance.now();
    pane.dispatchEvent(new Event("scroll"));
    times.push(performance.now() - before);
    await new Promise(requestAnimationFrame);
  }
  return times.sort((a, b) => a - b)[56];
});

// A tree of so many functions, more than the page asks for: what the drawing can take.
function largeTree(nodes) {
  const empty = () => new Array(nodes).fill(0), tree = { nodes, left_out: false, strings: [], parent: empty(), name: empty(), library: empty(), source: empty(),
    declared: empty(), line: empty(), size: empty(), count: empty(), self_size: empty(), self_count: empty() };
  for (let i = 0; i < 4000; i++)
    tree.strings.push(i % 50 ? `function_${i}(int, char const*)` : `/usr/lib/libone${i}.so`);
  for (let node = 0; node < nodes; node++) {
    tree.parent[node] = node ? Math.floor((node - 1) / 4) : -1;
    tree.name[node] = node ? 1 + node * 7919 % 3999 : -1;
    tree.library[node] = node ? node % 80 * 50 : -1;
    tree.source[node] = tree.declared[node] = -1;
  }
  for (let node = nodes - 1; node >= 0; node--) {
    if (4 * node + 1 >= nodes)
      tree.self_size[node] = tree.size[node] = tree.self_count[node] = tree.count[node] = 1;
    if (node) {
      tree.size[tree.parent[node]] += tree.size[node];
      tree.count[tree.parent[node]] += tree.count[node];
    }
  }
  return JSON.stringify(tree);
}

async function measureLargeTree(page, hash, work) {
  const body = largeTree(500000), isTree = (url) => url.pathname.endsWith("/call_tree");
  await page.route(isTree, (route) => route.fulfill({ contentType: "application/json", body }));
  await page.evaluate((to) => { location.hash = to; }, hash("flame") + "?cost=temporary");
  await page.waitForSelector(".flame canvas[data-ready='500000']");
  const { slow, worked } = await frames(page, work), boxes = await page.getAttribute(".flame canvas", "data-boxes");
  say("a frame of 500,000 boxes, 95th percentile", slow, "ms", 16, `${worked.toFixed(1)} ms of the processor; ${boxes} of them are drawn`);
  const before = await work(), search = await searched(page, "function_1");
  say("search in 500,000 boxes", search, "ms", 100, `${(await work() - before).toFixed(0)} ms of the processor`);
  await page.unroute(isTree);
}

const searched = (page, text) => page.evaluate((wanted) => new Promise((resolve) => {
  const field = document.querySelector(".search"), began = performance.now();
  const look = () => document.querySelector(".hits") ? requestAnimationFrame(() => resolve(performance.now() - began)) : requestAnimationFrame(look);
  field.value = wanted;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  requestAnimationFrame(look);
}), text);

const mostMemory = (pid) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

try {
  const { page, context } = await open(browser, server);
  const session = await context.newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const work = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration").value * 1000;
  const [trace] = await server.json("/list");
  const answers = [];
  let largeTrees = false; // of this measurement, not of the server
  page.on("response", async (response) => {
    const body = await response.body().catch(() => undefined);
    if (body && !largeTrees)
      answers.push([new URL(response.url()).pathname, body.length]);
  });
  // What had come when the numbers were there, without the page itself and the icon of its tab.
  await page.addInitScript(() => {
    const watcher = new MutationObserver(() => {
      if (!document.querySelector(".card"))
        return;
      watcher.disconnect();
      window.useful = { after: performance.now(), answers: performance.getEntriesByType("resource").filter((entry) => !entry.name.endsWith("/icon.svg")).length };
    });
    watcher.observe(document, { childList: true, subtree: true });
  });
  const hash = (name) => `#/t/${trace.id}/${name}`;
  const timed = async (name) => {
    await page.evaluate(() => new Promise(requestAnimationFrame));
    const before = await work(), took = await shown(page, hash(name));
    return { took, worked: await work() - before };
  };

  const began = performance.now();
  await page.goto(`${server.address}/${hash("overview")}`);
  await page.waitForSelector(".card");
  const useful = await page.evaluate(() => window.useful);
  say("overview with its numbers, cold", useful.after, "ms", 1000);
  say("requests that it needs", useful.answers + 1, "", 5);
  await settled(page);
  say("overview whole, cold", performance.now() - began, "ms");
  say("first paint", await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN), "ms", 300);
  for (const name of VIEWS.slice(1))
    say(`${name}, cold`, (await timed(name)).took, "ms");
  const again = new Map(VIEWS.map((name) => [name, []]));
  for (let round = 0; round < AGAIN; round++)
    for (const name of VIEWS)
      again.get(name).push(await timed(name));
  for (const [name, times] of again)
    say(`${name}, again`, middle(times.map(({ took }) => took)), "ms", 150, `${middle(times.map(({ worked }) => worked)).toFixed(0)} ms of the processor`);

  const { total_count: total } = await server.json("/data/last/allocations?count=1&frames=none");
  say("until pages in the middle of a sorted list come at once", await indexed(server, total), "ms");
  await timed("blocks");
  const blank = await blankRows(page);
  say("blank rows of blocks after a jump, the longest", Math.max(...blank), "ms", 200, `half of them below ${middle(blank).toFixed(0)} ms`);
  const scrolling = await blankWhileScrolling(page);
  say("blank rows of blocks while scrolling, the longest", scrolling.longest, "ms", 200, `${scrolling.tasks} tasks of the page took over 50 ms`);
  await timed("flame");
  const { slow, worked } = await frames(page, work);
  say(`a frame of ${await page.getAttribute(".flame canvas", "data-ready")} boxes, 95th percentile`, slow, "ms", 16, `${worked.toFixed(1)} ms of the processor`);
  const before = await work(), search = await searched(page, "parse");
  say("search in them", search, "ms", 100, `${(await work() - before).toFixed(0)} ms of the processor`);
  largeTrees = true;
  await measureLargeTree(page, hash, work);
  await session.send("HeapProfiler.collectGarbage");
  say("the page's memory", (await session.send("Runtime.getHeapUsage")).usedSize / 2 ** 20, "MiB", 200);
  say("the server's memory at most", mostMemory(server.pid), "MiB", 2048);
  const [path, largest] = answers.sort((a, b) => b[1] - a[1])[0];
  say("largest answer", largest / 2 ** 20, "MiB", 4, path.split("/").pop());
} finally {
  await browser.close();
  await server.stop();
}
console.log("".padEnd(52), "value".padStart(12), "bar".padStart(8));
for (const { what, value, unit, bar, beside } of rows) {
  const figure = unit === "MiB" ? value.toFixed(1) : value.toFixed(0);
  console.log([what.padEnd(52), `${figure} ${unit}`.trim().padStart(12), String(bar ?? "").padStart(8),
               bar === undefined ? "" : value <= bar ? "holds" : "EXCEEDED", beside].join(" ").trimEnd());
}
console.log(`load: ${loadBefore} at the beginning, ${load()} at the end`);
