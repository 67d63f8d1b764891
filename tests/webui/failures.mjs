// SPDX-License-Identifier: MIT OR Apache-2.0
// Answers that are late, refused, cut or nonsense, servers that go and come, traces that change, and many tabs.
import assert from "node:assert/strict";
import { appendFileSync, copyFileSync, readFileSync, statSync, truncateSync } from "node:fs";
import { once } from "node:events";
import http from "node:http";
import { pipeline } from "node:stream";
import { test } from "node:test";
import { get, open, serve, settled } from "./browser.mjs";

// Where each endpoint is asked for.
const ENDPOINTS = { summary: "overview", findings: "overview", resident: "overview?", totals: "overview", timeline: "overview", timeline_usage: "export", call_tree: "flame", inverted_tree: "flame?ui.inverted=1", sandwich: "functions?function=main",
                    allocation_groups: "stacks", "backtrace/1": "stacks?ui.stack=1", allocations: "blocks", recording: "recording", timeline_by: "timeline", timeline_leaked: "timeline",
                    generations: "generations", address_map: "maps", maps: "maps", "map/0": "maps?ui.map=0", thread_matrix: "threads", source: "source?file=none.c", diff_tree: "diff", diff: "diff?ui.shape=stacks", timeline_maps: "timeline", dynamic_constants: "statics", dynamic_statics: "statics" };
const REFUSED = { status: 500, contentType: "text/plain", body: "it went wrong\n" };
const FAILURES = { refused: [(route) => route.fulfill(REFUSED), /it went wrong/], cut: [(route) => route.abort(), /does not respond/],
                   nonsense: [(route) => route.fulfill({ status: 200, contentType: "application/json", body: '{"half":' }), /not valid JSON/] };

const ALERT = "main [role=alert]";

// Every part that failed is asked for again.
function retry(page) {
  return page.evaluate((alerts) => document.querySelectorAll(alerts).forEach((alert) => [...alert.querySelectorAll("button")].find((one) => one.textContent === "Retry").click()), ALERT);
}

// A server that the browser reaches through a door, which stays where it is when the server goes.
async function door() {
  const held = { to: undefined };
  const proxy = http.createServer((question, answer) => {
    if (!held.to)
      return question.socket.destroy();
    const { hostname, port, host } = new URL(held.to);
    const asked = http.request({ hostname, port, agent: false, path: question.url, method: question.method, headers: { ...question.headers, host } }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      pipeline(got, answer, (problem) => problem && question.socket.destroy());
    });
    asked.on("error", () => question.socket.destroy());
    question.pipe(asked);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  held.address = `http://127.0.0.1:${proxy.address().port}`;
  held.close = () => (proxy.closeAllConnections(), new Promise((resolve) => proxy.close(resolve)));
  return held;
}

export function failures({ page, view, programs, inFolder, browser }) {
  const randomly = (text) => {
    const [name, query = ""] = text.split("?");
    return view(name, query, programs.randomId);
  };

  for (const [endpoint, where] of Object.entries(ENDPOINTS))
    page(`${endpoint} is refused, cut, and nonsense; its part says so, the rest works, Retry works`, async (page) => {
      const pattern = (url) => url.pathname.endsWith("/" + endpoint);
      let now, parts;
      await page.route(pattern, (route) => now(route));
      for (const [kind, [fail, said]] of Object.entries(FAILURES)) {
        now = fail;
        if (parts)
          await retry(page);
        else
          await page.goto(programs.random.address + "/" + randomly(where));
        // Every part has its answer, or none.
        parts = await page.waitForFunction(([alerts, text, wanted]) => {
          const all = [...document.querySelectorAll(alerts)];
          return !document.querySelector("[data-state=loading]") && all.length >= wanted && all.every((one) => new RegExp(text).test(one.innerText)) && all.length;
        }, [ALERT, said.source, parts ?? 1]).then((handle) => handle.jsonValue());
        assert.ok(await page.locator(".rail a").count() > 10, kind);
      }
      await page.unroute(pattern);
      for (let left; (left = await page.locator(ALERT).count());) {
        await retry(page);
        await page.waitForFunction(([alerts, before]) => document.querySelectorAll(alerts).length < before, [ALERT, left]);
      }
      await settled(page);
    }, { refused: [500] });

  page("the filter editor says that it cannot list the filters; Retry works", async (page, go) => {
    let now = FAILURES.nonsense[0]; // no failure follows itself: its old text would pass for the new one
    await page.route((url) => url.pathname === "/openapi.json", (route) => now(route));
    await go(randomly("overview"));
    await page.getByRole("button", { name: "+ Add" }).click();
    const says = (kind) => page.locator("dialog [role=alert]", { hasText: FAILURES[kind][1] });
    await says("nonsense").waitFor();
    // What is cut comes last: the page repeats it by itself, and that may be before any click.
    for (const kind of ["refused", "nonsense", "cut"]) {
      now = FAILURES[kind][0];
      await page.locator("dialog [role=alert]").getByRole("button", { name: "Retry" }).click();
      await says(kind).waitFor();
    }
    now = (route) => route.continue();
    await page.waitForSelector("dialog .field");
    await page.waitForSelector("dialog [role=alert]", { state: "detached" });
  }, { refused: [500] });

  page("a wrong filter is said once, in the server's words, and its chip is marked", async (page, go) => {
    for (const [name, filter] of [["blocks", "size_min=nonsense"], ["blocks", "from=nonsense"], ["overview", "size_min=nonsense"], ["overview", "from=nonsense"], ["export", "size_min=nonsense"], ["overview", "function_regex=("], ["blocks", "where=size>>3"], ["overview", "thread=abc"]]) {
      await go(view(name, "size_max=1M&" + filter));
      const sentence = (await get(`${programs.random.address}/data/last/allocations?${filter}`)).text.trim();
      assert.equal((await page.locator("main").innerText()).split(sentence).length, 2, `${name}?${filter}`);
      assert.deepEqual((await page.locator(".chip.wrong").allInnerTexts()).map((one) => one.includes(filter.slice(filter.indexOf("=") + 1))), [true], filter);
      assert.ok(await page.locator(".rail a").count() > 10);
    }
    await page.locator(".chip.wrong").click();
    await settled(page);
    assert.equal(await page.locator(".chip.wrong, main [role=alert]").count(), 0);
  }, { refused: [400] });

  page("late answers hold up nobody else, and are said to be late", async (page) => {
    const held = [];
    let holding = true;
    await page.route((url) => /\/(call_tree|totals|allocation_groups|recording)$/.test(url.pathname), (route) => holding ? held.push(route) : route.continue());
    let indexes = { done: 2, total: 6 };
    await page.route((url) => url.pathname === "/list", async (route) => {
      const response = await route.fetch(), rows = await response.json();
      await route.fulfill({ response, json: rows.map(({ indexes: own, ...row }) => ({ ...row, ...(indexes && { indexes }) })) });
    });
    await page.goto(programs.random.address + "/" + randomly("overview"));
    await page.waitForSelector(".card");
    await page.waitForSelector(".top [data-state=loading]", { state: "attached" });
    for (const [title, loading] of [["Flame graph", ".view-flame [data-state=loading]"], ["Stacks", ".view-stacks [data-state=loading]"], ["Recording", ".view-recording [data-state=loading]"]]) {
      await page.locator(".rail a", { hasText: title }).click();
      await page.waitForSelector(loading, { state: "attached" });
    }
    await page.getByText(/^still working, [\d.]+ s; 2 of 6 indexes are made$/).waitFor();
    indexes = undefined;
    await page.getByText(/^still working, [\d.]+ s$/).waitFor();
    // What takes long can be given up, and asked for again.
    const given = page.waitForEvent("requestfailed", (request) => request.url().includes("/recording"));
    await page.locator(".view-recording").getByRole("button", { name: "Cancel" }).click();
    await given;
    await page.locator(ALERT, { hasText: "Cancelled" }).getByRole("button", { name: "Retry" }).click();
    await page.waitForSelector(".view-recording [data-state=loading]", { state: "attached" });
    await page.locator(".rail a", { hasText: "Generations" }).click();
    await settled(page);
    holding = false;
    await Promise.all(held.map((route) => route.continue().catch(() => {})));
    await page.locator(".rail a", { hasText: "Flame graph" }).click();
    await page.waitForSelector(".flame canvas[data-ready]");
    await page.unrouteAll({ behavior: "wait" });
  });

  page("a server that is busy is asked again; what cannot be says why", async (page) => {
    const answers = [503, 503, 422, 410, 404];
    await page.route((url) => url.pathname.endsWith("/call_tree"), (route) => answers.length ? route.fulfill({ status: answers[0], contentType: "text/plain", body: `sentence ${answers.shift()}\n` }) : route.continue());
    await page.goto(programs.random.address + "/" + randomly("flame"));
    for (const said of [/sentence 422[^]*sums per stack/, /sentence 410/, /sentence 404/]) {
      await page.waitForFunction(([alert, text]) => new RegExp(text).test(document.querySelector(alert)?.innerText ?? ""), [ALERT, said.source]);
      await retry(page);
    }
    await page.waitForSelector(".flame canvas[data-ready]");
    assert.equal(answers.length, 0);
  }, { refused: [404, 410, 422, 503] });

  test("a server that is stopped is missed and, when it is back, asked again", async () => {
    const front = await door();
    let server = await serve(inFolder("random.dat"));
    front.to = server.address;
    const { page, context, wrong } = await open(browser(), front, { refused: [401] });
    try {
      await page.goto(`${front.address}/${view("overview", "", "last")}`);
      await page.waitForSelector(".card");
      await settled(page); // what a server still works on when it is stopped, it refuses
      const peak = await page.getAttribute(".card[data-cost=peak]", "data-bytes");
      front.to = undefined;
      await server.stop();
      await page.locator(".rail a", { hasText: "Stacks" }).click();
      await page.waitForSelector(".table .problem");
      await page.locator("header [role=alert]", { hasText: "does not respond" }).waitFor();
      await page.goBack();
      assert.equal(await page.getAttribute(".card[data-cost=peak]", "data-bytes"), peak);
      await page.goForward();
      await page.waitForSelector(".table .problem");
      server = await serve(inFolder("random.dat"));
      front.to = server.address;
      await page.waitForFunction(() => document.querySelectorAll(".table tbody tr:not(.space)").length > 5 && !document.querySelector("[role=alert]"));
      await settled(page);
      // Now it has a token: it is asked for, and the page is where it was.
      front.to = undefined;
      await server.stop();
      server = await serve("--token", "secret", inFolder("random.dat"));
      front.to = server.address;
      await page.evaluate((hash) => { location.hash = hash; }, view("functions", "", "last")); // the question for the token may already cover the links
      await page.fill("#token", "secret");
      await page.getByRole("button", { name: "Enter" }).click();
      await page.waitForFunction(() => document.querySelectorAll(".view-functions .table tbody tr:not(.space)").length > 5);
      assert.deepEqual(wrong, []);
    } finally {
      await context.close();
      await front.close();
      await server.stop();
    }
  });

  test("a trace that was cut is read as far as it goes; one that changes is said to have changed", async () => {
    const [cut, changing] = ["cut.dat", "changing.dat"].map(inFolder);
    copyFileSync(inFolder("program.dat"), cut);
    copyFileSync(inFolder("random.dat"), changing);
    truncateSync(cut, Math.floor(statSync(cut).size * 0.6));
    const server = await serve(cut, changing);
    const { page, context, wrong } = await open(browser(), server, { refused: [410] });
    try {
      const [first, second] = await server.json("/list");
      await page.goto(`${server.address}/${view("overview", "", first.id)}`);
      await settled(page);
      assert.ok((await page.locator("main .note").allInnerTexts()).join().length > 20);
      const { peak_bytes: peak } = await server.json(`/data/${first.id}/summary`);
      assert.equal(Number(await page.getAttribute(".card[data-cost=peak]", "data-bytes")), peak);
      await page.goto(`${server.address}/${view("overview", "", second.id)}`);
      await settled(page);
      appendFileSync(changing, readFileSync(changing).subarray(0, 100));
      await page.locator(".rail a", { hasText: "Flame graph" }).click();
      await page.locator(ALERT, { hasText: "file was changed" }).waitFor();
      assert.ok(await page.locator(".strip canvas").isVisible());
      assert.deepEqual(wrong, []);
    } finally {
      await context.close();
      await server.stop();
    }
  });

  test("fifty tabs have their numbers", async () => {
    const { page, context, wrong } = await open(browser(), programs.server);
    try {
      const { live_bytes: live } = await programs.server.json(`/data/${programs.cpp}/summary`);
      const pages = [page, ...await Promise.all(Array.from({ length: 49 }, () => context.newPage()))];
      const seen = await Promise.all(pages.map(async (one) => {
        one.setDefaultTimeout(0);
        await one.goto(`${programs.server.address}/${view("export", "", programs.cpp)}`);
        return Number(await one.getAttribute(".strip[data-end]", "data-end"));
      }));
      assert.deepEqual(seen, new Array(50).fill(live));
      assert.deepEqual(wrong, []);
    } finally {
      await context.close();
    }
  });
}
