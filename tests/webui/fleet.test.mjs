// SPDX-License-Identifier: MIT OR Apache-2.0
// The pages about many devices, on a server that asks a real database: their numbers are REST's, one page leads to the next, and a database
// that is away is a sentence.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import { axe, drawn, get, launch, onceThere, open, serve, settled } from "./browser.mjs";

const { HEAPSONDE_TEST_SERVER: clickhouse = "", HEAPSONDE_TEST_MAKE_TRACE: makeTrace, HEAPSONDE_TEST_PROGRAM: program } = process.env;
const folder = mkdtempSync(join(tmpdir(), "heapsonde-webui-fleet-"));
const VIEWS = { growth: "growth", new: "new", diff: "diff", firmwares: "firmwares", devices: "devices", stacks: "stacks", flame: "flame", stack: "stack?stack=7001", device: "device?device=gw-1.5-00" };
const skip = !existsSync(clickhouse) && "there is no clickhouse-server";
let data, lines, facts, server, browser, trace;

// Does what tests/fleet/page_data.py is told, and waits until it is done.
async function tell(words) {
  data.stdin.write(words + "\n");
  assert.equal((await lines.next()).value, "done");
}

before(async () => {
  if (skip)
    return;
  data = spawn("/usr/bin/python3", [join(import.meta.dirname ?? new URL(".", import.meta.url).pathname, "../fleet/page_data.py")], { stdio: ["pipe", "pipe", "inherit"] });
  lines = createInterface({ input: data.stdout })[Symbol.asyncIterator]();
  facts = JSON.parse((await lines.next()).value);
  execFileSync(makeTrace, ["random", join(folder, "random.dat"), program, "4", "1500", "1"]);
  await tell(`load ${join(folder, "random.dat")} traced 0.9`);
  // On a busy machine, no answer is too late.
  server = await serve("--fleet", facts.keeper, "--fleet-timeout", "86400", join(folder, "random.dat"));
  server.alone = await serve("--fleet", facts.address, "--fleet-timeout", "86400");
  [{ id: trace }] = await server.json("/list");
  browser = await launch();
});

after(async () => {
  await browser?.close();
  await server?.alone?.stop();
  await server?.stop();
  if (data) {
    data.stdin.end();
    if (data.exitCode === null && data.signalCode === null)
      await once(data, "exit");
  }
  rmSync(folder, { recursive: true, force: true });
});

// A test in a page of its own. What the page gets never has the password.
function page(name, run, { of = () => server, ...options } = {}) {
  test(name, { skip }, async () => {
    const { page, context, wrong } = await open(browser, of(), options);
    const texts = [];
    page.on("response", (response) => texts.push(response.text().catch(() => "")));
    const go = async (where) => {
      await page.goto(`${of().address}/#/fleet/${where}`);
      await settled(page);
    };
    try {
      await run(page, go);
      assert.deepEqual(wrong, []);
      for (const text of [...await Promise.all(texts), await page.content()])
        assert.doesNotMatch(text, /secret/);
    } finally {
      await context.close();
    }
  });
}

const rows = (page, name) => page.$$eval(`tr[data-${name}]`, (all, key) => all.map((row) => ({ key: row.dataset[key], bytes: Number(row.dataset.bytes), text: row.innerText })), name);
const text = (page) => page.evaluate(() => document.querySelector("main").innerText);

page("the planted leak is the first row, on the right number of devices", async (page, go) => {
  await go("growth");
  const [first] = await rows(page, "stack"), { rows: said } = await server.json("/fleet/growth");
  assert.deepEqual([first.key, first.bytes], [facts.leak, said[0].grown_bytes]);
  assert.match(first.text, new RegExp(`mqtt_queue_push.*\\+12\\.0 MiB.*${facts.leaking} of ${facts.devices} devices.*${facts.new}`, "s"));
  assert.equal((await rows(page, "stack")).length, said.length);
});

page("from a stack to its devices, from a device to its stacks, and back", async (page, go) => {
  await go("growth");
  const seen = [await text(page)];
  await page.locator(`tr[data-stack="${facts.leak}"] a`).first().click();
  await settled(page);
  assert.match(page.url(), /#\/fleet\/stack\?.*stack=7001/);
  const holders = await rows(page, "device"), { rows: said, frames } = await server.json(`/fleet/stack/${facts.leak}?firmware=${facts.new}`);
  assert.deepEqual(holders.map(({ key, bytes }) => [key, bytes]), said.map((row) => [row.device, row.in_use_bytes]));
  assert.equal(holders.filter(({ bytes }) => bytes > 1 << 20).length, facts.leaking);
  assert.deepEqual(await page.$$eval(".frames li > span:first-child", (all) => all.map((one) => one.textContent)), frames.map((frame) => frame.function));
  seen.push(await text(page));
  await page.locator("tr[data-device] a").first().click();
  await settled(page);
  assert.equal(await page.locator("tr[data-session]").count(), 1);
  seen.push(await text(page));
  await page.getByRole("link", { name: "Its stacks" }).click();
  await settled(page);
  const { rows: stacks } = await server.json(`/fleet/stacks?device=${holders[0].key}`);
  assert.deepEqual((await rows(page, "stack")).map(({ key, bytes }) => [key, bytes]), stacks.map((row) => [row.stack, row.in_use_bytes]));
  for (const before of seen.reverse()) {
    await page.goBack();
    await settled(page);
    assert.equal(await text(page), before);
  }
});

page("from a device to its trace", async (page, go) => {
  await go("device?device=gw-1.5-00");
  assert.match(await text(page), /not on this server/);
  await go("device?device=traced");
  await page.getByRole("link", { name: "Open its trace" }).click();
  await page.waitForSelector(".card");
  assert.ok(page.url().includes(`#/t/${trace}/overview`));
  await settled(page);
  await page.goBack();
  await settled(page);
  await page.getByRole("link", { name: "Traces" }).click();
  await page.locator(`tr[data-id="${trace}"]`).waitFor();
  await page.getByRole("link", { name: "Fleet" }).click();
  await page.locator(`tr[data-stack="${facts.leak}"]`).waitFor();
  await settled(page);
});

page("rows are REST's in every view, also after a reload", async (page, go) => {
  for (const [view, [question, name, key, bytes]] of Object.entries({ new: [`new?firmware=${facts.new}&than=${facts.old}`, "stack", "stack", "in_use_bytes"], devices: ["devices", "device", "device", "in_use_bytes"],
                                                                       stacks: ["stacks", "stack", "stack", "in_use_bytes"] })) {
    await go(view);
    const said = (await server.json("/fleet/" + question)).rows.map((row) => [row[key], row[bytes]]);
    const shown = async () => (await rows(page, name)).map((row) => [row.key, row.bytes]);
    assert.deepEqual(await shown(), said, view);
    await page.reload();
    await settled(page);
    assert.deepEqual(await shown(), said, view);
  }
  await go("firmwares");
  const said = (await server.json("/fleet/firmwares")).rows.map((row) => [row.firmware, row.median_bytes]);
  assert.deepEqual(await page.$$eval("tr[data-firmware]", (all) => all.map((row) => [row.dataset.firmware, Number(row.dataset.median)])), said);
});

page("a flame graph has REST's sums, and its zoom is in the address", async (page, go) => {
  for (const query of ["", "firmware=1.5", "device=gw-1.5-00", "firmware=1.5&per=device", "function_regex=mqtt"]) {
    await go("flame?" + query);
    const tree = await server.json("/fleet/flame?" + query), total = page.locator(".total");
    assert.deepEqual([Number(await total.getAttribute("data-bytes")), Number(await total.getAttribute("data-count"))], [tree.size[0], tree.count[0]], query);
    await page.waitForSelector(`.flame canvas[data-ready="${tree.nodes}"]`);
  }
  await go("flame?firmware=1.5&ui.search=mqtt_queue_push");
  assert.equal(await page.getAttribute(".hits", "data-hits"), "1");
  const file = await get(new URL(await page.getByRole("link", { name: "Save SVG" }).getAttribute("href"), server.address).href);
  assert.ok(file.status === 200 && file.text.includes("mqtt_queue_push"));
  const box = await page.locator(".flame canvas").boundingBox();
  await page.mouse.click(box.x + 50, box.y + 50);
  await page.waitForFunction(() => location.hash.includes("ui.zoom=0.0"));
  await settled(page);
  // What is chosen has its details beside the picture, as in the views of a trace.
  const details = page.locator(".inspector");
  const path = new URLSearchParams((await page.evaluate(() => location.hash)).split("?")[1]).get("ui.sel").split(".").map(Number);
  assert.ok(path.length >= 2, `${path}`);
  assert.equal(await details.locator(".frames li").count(), path.length);
  assert.match(await details.innerText(), /with callees[^]*itself[^]*exactly[^]*main/);
  assert.equal(await details.locator("a").count(), 0);
  await page.goBack();
  await page.waitForFunction(() => !location.hash.includes("ui.zoom"));
  await settled(page);
  await go("flame?firmware=1.5&ui.sel=0.0");
  await details.locator(".frame-name").last().click();
  await page.waitForFunction(() => document.querySelectorAll(".inspector .frames li").length === 1);
  assert.equal(await details.locator("h3").innerText(), "main");
  await details.getByRole("button", { name: "Close" }).click();
  await page.waitForFunction(() => !document.querySelector(".inspector"));
});

page("two firmwares are compared, the newest first, and swapped", async (page, go) => {
  await go("diff");
  await page.waitForFunction(([firmware, than]) => location.hash.includes(`firmware=${firmware}`) && location.hash.includes(`than=${than}`), [facts.new, facts.old]);
  const sides = async () => {
    await settled(page);
    return [Number(await page.getAttribute(".total", "data-now")), Number(await page.getAttribute(".total", "data-base"))];
  };
  const tree = await server.json(`/fleet/flame?firmware=${facts.new}&than=${facts.old}&per=device`), now = await sides();
  assert.deepEqual(now, [tree.now_size[0], tree.base_size[0]]);
  assert.ok(now[0] > now[1]);
  await page.locator(".flame-pane").focus();
  for (const wanted of ["main", "session_run", "mqtt_receive"]) {
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction((name) => document.querySelector(".said").innerText.includes(`\u25b2 ${name}: change +`), wanted);
  }
  await go(`diff?firmware=${facts.new}&than=${facts.old}&ui.sel=0`);
  assert.match(await page.locator(".inspector").innerText(), /change[^]*\+[^]*before[^]*after/);
  await go("diff");
  await page.getByRole("button", { name: "Swap" }).click();
  await page.waitForFunction((than) => location.hash.includes(`than=${than}`), facts.new);
  assert.deepEqual(await sides(), now.reverse());
  await page.getByRole("link", { name: "New stacks" }).click();
  await settled(page);
});

page("filters narrow a view, and those that a fleet cannot answer are refused by name", async (page, go) => {
  await go("stacks?function_regex=%5Ecache_");
  assert.equal((await rows(page, "stack")).length, 1);
  await page.locator("a.chip", { hasText: "function regex" }).click();
  await settled(page);
  assert.ok((await rows(page, "stack")).length > 3);
  await page.getByRole("button", { name: "+ Add" }).click();
  await page.getByLabel("firmware", { exact: true }).fill("1.4");
  for (const tab of ["Size", "Address", "Realloc chain"])
    assert.equal(await page.locator("dialog").getByRole("button", { name: tab }).count(), 0, tab);
  await page.getByRole("button", { name: "Apply" }).click();
  await settled(page);
  assert.match(page.url(), /firmware=1\.4/);
  const { rows: said } = await server.json("/fleet/stacks?firmware=1.4");
  assert.deepEqual((await rows(page, "stack")).map(({ bytes }) => bytes), said.map((row) => row.in_use_bytes));
  await page.goto(`${server.address}/#/fleet/growth?size_min=4K`);
  await page.locator("main [role=alert]", { hasText: "size_min: the database has sums of stacks" }).waitFor();
  await page.locator("a.chip", { hasText: "size min" }).click();
  await page.locator(`tr[data-stack="${facts.leak}"]`).waitFor();
  await settled(page);
}, { refused: [400] });

page("names from devices do nothing", async (page, go) => {
  page.on("dialog", () => assert.fail("a dialog"));
  for (const where of ["devices", "stacks", "new", `stack?stack=${facts.hostile}`, "flame?function_regex=A%7B100%7D", `device?device=${encodeURIComponent(facts.bad)}`, "growth"]) {
    await go(where);
    assert.equal(await page.locator("main img, main script, main b b").count(), 0, where);
    assert.doesNotMatch(await page.evaluate(() => document.body.textContent + document.title), /[\u202a-\u202e\u0000\u0007\u001a]/, where);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), where);
  }
  await go("devices");
  await page.locator("tr[data-device]", { hasText: "onerror" }).locator("a").first().click();
  await settled(page);
  assert.match(page.url(), /#\/fleet\/device\?/);
  await go(`stack?stack=${facts.hostile}`);
  assert.ok((await page.locator(".frames li").allInnerTexts()).some((one) => one.includes("A".repeat(500))));
  // Addresses from elsewhere.
  for (const [where, said] of [["stack?stack=../growth", /Choose a stack/], ["stack?stack=0", /no stack/], ["nothing", /mqtt_queue_push/], ["device", /Choose a device/], ["devices?ui.skip=-5", /gw-1.5-00/], ["flame?ui.zoom=9.9.9&ui.sel=7.7", /in use/]]) {
    await go(where);
    assert.match(await text(page), said, where);
  }
});

for (const [colorScheme, width] of [["light", 1440], ["dark", 390]])
  page(`axe finds nothing, and nothing is too wide (${colorScheme}, ${width})`, async (page, go) => {
    const source = readFileSync(axe(), "utf8");
    for (const where of [...Object.values(VIEWS), "stacks?app=none"]) {
      await go(where);
      if (!await page.evaluate(() => "axe" in window))
        await page.evaluate(source);
      const { violations } = await page.evaluate(() => axe.run({ resultTypes: ["violations"] }));
      assert.deepEqual(violations.map(({ id: rule, nodes }) => `${where}: ${rule} ${nodes[0].html}`), []);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), where);
      assert.match(await page.locator(".about p").innerText(), /^[A-Z].{30,}[.]$/, where);
    }
  }, { viewport: { width, height: 844 }, colorScheme });

page("the keyboard alone reaches everything", async (page, go) => {
  await go("growth");
  const focus = async (wanted) => {
    for (let i = 0; i < 80; i++) {
      await page.keyboard.press("Tab");
      if (await page.evaluate((selector) => document.activeElement.matches(selector), wanted))
        return;
    }
    assert.fail(`${wanted} is not reached`);
  };
  await focus("td a");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("/stack?"));
  await settled(page);
  await focus("tr[data-device] a");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("/device?"));
  await settled(page);
  for (const [letter, view] of [["f", "flame"], ["w", "firmwares"], ["o", "growth"]]) {
    await page.keyboard.press("g");
    await page.keyboard.press(letter);
    await page.waitForFunction((wanted) => location.hash.startsWith(`#/fleet/${wanted}`), view);
    await settled(page);
    assert.equal(await page.locator("main [role=alert]").count(), 0, view);
  }
});

page("an answer that is late can be given up and asked for again", async (page, go) => {
  const held = [];
  let holding = true;
  await page.route((url) => url.pathname === "/fleet/stacks", (route) => holding ? held.push(route) : route.continue());
  await page.goto(`${server.address}/#/fleet/stacks`);
  await page.getByText(/still working, [\d.]+ s/).waitFor();
  const given = page.waitForEvent("requestfailed", (request) => request.url().includes("/fleet/stacks"));
  await page.getByRole("button", { name: "Cancel" }).click();
  await given;
  holding = false;
  await page.getByRole("button", { name: "Retry" }).click();
  await page.locator(`tr[data-stack="${facts.leak}"]`).waitFor();
  await settled(page);
});

page("pages of traces lead to the fleet without asking for it", async (page) => {
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  for (const where of ["", `#/t/${trace}/overview`]) {
    await page.goto(`${server.address}/${where}`);
    await page.waitForSelector(where ? ".card" : `tr[data-id="${trace}"]`);
    await settled(page);
    assert.equal(await page.getByRole("link", { name: "Fleet", exact: true }).count(), 1);
  }
  assert.deepEqual(asked.filter((path) => path.startsWith("/fleet")), []);
  await page.getByRole("link", { name: "Fleet", exact: true }).click();
  await page.locator(`tr[data-stack="${facts.leak}"]`).waitFor();
  await settled(page);
});

page("a server without traces opens on its fleet", async (page) => {
  // At once: nobody can choose something else before, which it would undo.
  await onceThere(page, ".traces .empty", () => { window.isLate = true; });
  await page.goto(server.alone.address);
  await page.locator(`tr[data-stack="${facts.leak}"]`).waitFor();
  await settled(page);
  assert.match(page.url(), /#\/fleet\/growth$/);
  assert.equal(await page.evaluate(() => window.isLate), undefined);
}, { of: () => server.alone });

page("many rows come in pages", async (page, go) => {
  await tell("many 230");
  await go("devices?firmware=1.6");
  assert.equal((await rows(page, "device")).length, 100);
  const seen = [];
  for (const wanted of [100, 100, 30]) {
    const shown = await rows(page, "device");
    assert.equal(shown.length, wanted);
    seen.push(...shown.map(({ key }) => key));
    if (wanted === 100) {
      const first = shown[0].key;
      await page.getByRole("link", { name: "Next rows" }).click();
      await page.waitForFunction((before) => (document.querySelector("tr[data-device]")?.dataset.device ?? before) !== before, first);
      await settled(page);
    }
  }
  assert.equal(new Set(seen).size, 230);
  assert.equal(await page.getByRole("link", { name: "Next rows" }).count(), 0);
  assert.match(page.url(), /ui\.skip=200/);
  await page.goBack();
  await settled(page);
  assert.match(await text(page), /rows 101 to 200/);
});

page("a database that is away is said to be, the rest works, and Retry works; so is one with other tables", async (page, go) => {
  await go("growth");
  await tell("kill");
  await page.getByRole("link", { name: "Stacks", exact: true }).click();
  const alert = page.locator("main [role=alert]");
  await alert.waitFor();
  assert.match(await alert.innerText(), /clickhouse:\/\/127\.0\.0\.1:\d+\/fleet: .*onnect/);
  await page.getByRole("link", { name: "Traces" }).click();
  await page.locator(`tr[data-id="${trace}"] a`).first().click();
  await page.waitForSelector(".card");
  await settled(page);
  await page.goBack();
  await page.goBack();
  await alert.waitFor();
  await tell("start");
  await page.getByRole("button", { name: "Retry" }).click();
  await page.locator(`tr[data-stack="${facts.leak}"]`).waitFor();
  await settled(page);
  await tell("ask INSERT INTO version SELECT 99, now() + 100");
  await page.goto(`${server.address}/#/fleet/devices`);
  await page.locator("main [role=alert]", { hasText: "version 99" }).waitFor();
  assert.ok(await page.locator(".rail a").count() >= 7);
  await drawn(page);
}, { refused: [502] });
