// SPDX-License-Identifier: MIT OR Apache-2.0
// Gathered devices on the page: they appear, are commanded, and end; their names stay text.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { axe, open, serve, settled } from "./browser.mjs";
import { buildProgram, commanding } from "./commanded.mjs";

// Between devices and gather, which it cuts off from each other and connects again.
async function between(host) {
  const [name, port] = host.split(/:(?=\d+$)/), sockets = new Set();
  let isCut = false;
  const both = (socket) => {
    sockets.add(socket);
    socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    return socket;
  };
  const listener = createServer((device) => {
    if (isCut)
      return void both(device).destroy();
    const gather = both(connect(port, name)), ends = [both(device), gather];
    ends.forEach((one, i) => one.on("close", () => ends[1 - i].destroy()).pipe(ends[1 - i]));
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  const cut = () => {
    isCut = true;
    sockets.forEach((one) => one.destroy());
  };
  return { address: `127.0.0.1:${listener.address().port}`, cut, join: () => { isCut = false; }, close: () => (cut(), listener.close()) };
}

export function devices({ inFolder, browser }) {
  test("gathered processes appear, are commanded from the page, and end", async () => {
    const { HEAPSONDE_TEST_COMMAND: command, HEAPSONDE_TEST_SHIM: shim } = process.env;
    const binary = inFolder("device"), folder = inFolder("gathered"), children = [];
    buildProgram(binary);
    const gather = spawn(command, ["gather", "--json", "--listen", "127.0.0.1:0", "--dir", folder], { stdio: ["ignore", "pipe", "inherit"] });
    children.push(gather);
    let server, context, way;
    try {
      const lines = createInterface({ input: gather.stdout });
      const { address: host } = JSON.parse((await once(lines, "line"))[0]);
      way = await between(host);
      const start = async (library, more) => {
        const program = spawn(binary, [], { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, LD_PRELOAD: library, HEAPSONDE_CONNECT: host, ...more } });
        children.push(program);
        await once(createInterface({ input: program.stdout }), "line");
        return program;
      };
      server = await serve("--control", folder);
      // Nobody has come yet.
      const opened = await open(browser(), server, { refused: [409, 503, 504] }), { page, wrong } = opened;
      context = opened.context;
      await page.goto(`${server.address}/#/`);
      await settled(page);
      await page.getByText("No process has sent anything yet.").waitFor();
      const hostile = "<img src=x onerror=window.hacked=1>";
      const recorded = await start(shim, { HEAPSONDE_LABELS: `site=${hostile}`, HEAPSONDE_CONNECT: way.address });
      const sampled = await start(join(dirname(shim), "libheapsonde-prof.so"), { MALLOC_CONF: "prof:true,lg_prof_sample:0" });
      // Numbers of processes may be short, and in other cells, too.
      const row = (program) => page.getByRole("region", { name: "Devices" }).locator("tbody tr", { has: page.locator(`:nth-child(3):text-is("${program.pid}")`) });
      await row(recorded).getByText("running").waitFor();
      await row(sampled).getByText("running").waitFor();
      assert.match(await row(recorded).innerText(), /site=<img src=x onerror=window.hacked=1>/);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      const { form, until, press } = commanding(page, "section.devices form.control");
      const choose = async (program) => {
        await row(program).getByRole("button", { name: "Commands" }).click();
        const again = page.locator("section.devices").getByRole("button", { name: /^(Ask again|Retry)$/ });
        for (;;) {
          await form.or(again).waitFor();
          if (await form.count())
            return;
          await again.first().click({ timeout: 5000 }).catch(() => {});
          await settled(page);
        }
      };
      await choose(recorded);
      await page.evaluate(readFileSync(axe(), "utf8"));
      assert.deepEqual((await page.evaluate(() => axe.run())).violations.map(({ id: rule, nodes }) => rule + nodes[0].html), []);
      await until(async () => {
        await form.getByRole("textbox").fill("from the page");
        await page.keyboard.press("Enter");
      }, /^The trace is marked\. /);
      await press("Stop recording", /^Recording is stopped/);
      await press("Start recording", /is recorded again/);
      await choose(sampled);
      await press("Stop sampling", /^No samples are taken/);
      await press("Start sampling", /^The process is sampled/);
      await until(async () => {
        await form.getByRole("spinbutton").fill("4096");
        await page.keyboard.press("Enter");
      }, /^The rate is set/);
      await press("Dump", /^A dump is written/);
      // The traces come by themselves, and lead to their views.
      await row(sampled).getByRole("link").waitFor();
      await row(recorded).getByRole("link").click();
      await page.waitForFunction(() => document.body.dataset.view === "overview");
      await settled(page);
      assert.ok(await page.locator("form.control, p.control").count());
      await page.goBack();
      // Those of an expression; a wrong one is said.
      const which = page.getByRole("searchbox", { name: "Which devices" });
      await which.fill(`pid == "${sampled.pid}"`);
      await page.keyboard.press("Enter");
      await row(recorded).waitFor({ state: "detached" });
      await row(sampled).waitFor();
      // One that is cut off is away, and comes back in the same row.
      await which.fill("");
      await page.keyboard.press("Enter");
      await row(recorded).waitFor();
      way.cut();
      await row(recorded).getByText("away").waitFor();
      await row(sampled).getByText("running").waitFor();
      way.join();
      await row(recorded).getByText("running").waitFor();
      assert.equal(await row(recorded).count(), 1);
      assert.equal(await page.getByRole("region", { name: "Devices" }).locator("tbody tr").count(), 2);
      // They end.
      for (const program of [recorded, sampled]) {
        program.stdin.end();
        await once(program, "exit");
      }
      await row(sampled).getByText("ended").waitFor();
      assert.deepEqual(wrong, []);
    } finally {
      for (const child of children)
        child.kill("SIGKILL");
      way?.close();
      await context?.close();
      await server?.stop();
    }
  });
}
