// SPDX-License-Identifier: MIT OR Apache-2.0
// Commands to a recorded process from the page: a mark, stop, start and flush, where the server allows them.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { axe, open, serve, settled } from "./browser.mjs";
import { buildProgram, commanding } from "./commanded.mjs";

const again = () => new Promise((resolve) => setTimeout(resolve, 50));

export function commands({ view, inFolder, browser }) {
  test("a recorded process is marked, stopped, started and flushed from the page", async () => {
    const { HEAPSONDE_TEST_COMMAND: command, HEAPSONDE_TEST_SHIM: shim } = process.env;
    const binary = inFolder("listening"), trace = inFolder("listening.dat"), servers = [];
    buildProgram(binary);
    const program = spawn(binary, [], { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, LD_PRELOAD: shim, HEAPSONDE_OUTPUT: trace, HEAPSONDE_ENABLE_SERVER: "1" } });
    const ended = once(program, "exit");
    let context;
    try {
      await once(createInterface({ input: program.stdout }), "line");
      const isReadable = () => {
        try {
          return execFileSync(command, ["report", "--json", trace], { stdio: ["ignore", "pipe", "ignore"] });
        } catch {
          return undefined;
        }
      };
      while (!isReadable())
        await again();
      for (const words of [["--control"], []])
        servers.push(await serve(...words, trace));
      const [server, silent] = servers, [{ id }] = await server.json("/list"), ask = (what) => server.json(`/data/${id}/${what}`);
      while ((await ask("control")).absence)
        await again();

      const opened = await open(browser(), server, { refused: [409, 503, 504] }), { page, wrong } = opened;
      context = opened.context;
      const { form, until, press } = commanding(page, "form.control");
      const isRecording = async () => {
        for (;;) {
          const { absence, recording } = await ask("control");
          if (!absence)
            return recording;
        }
      };
      // A process that gets no processor for seconds does not answer.
      const hasForm = async () => {
        await settled(page);
        while (!await form.count()) {
          await page.getByRole("button", { name: /^(Ask again|Retry)$/ }).first().click({ timeout: 5000 }).catch(() => {});
          await settled(page);
        }
      };
      await page.goto(`${server.address}/${view("overview", "", id)}`);
      await hasForm();
      await page.evaluate(readFileSync(axe(), "utf8"));
      assert.deepEqual((await page.evaluate(() => axe.run())).violations.map(({ id: rule, nodes }) => rule + nodes[0].html), []);
      // A mark is a text; without one nothing is sent.
      await form.getByRole("button", { name: "Mark" }).click();
      await until(async () => {
        await form.getByRole("textbox").fill("<b>now</b> & here");
        await page.keyboard.press("Enter");
      }, /^The trace is marked\. /);
      await press("Stop recording", /^Recording is stopped/);
      assert.equal(await isRecording(), false);
      await press("Start recording", /is recorded again/);
      assert.equal(await isRecording(), true);
      await press("Flush", /^What was recorded is written/);
      const wanted = ["mark <b>now</b> & here", "stop ", "start "];
      const marks = async () => (await ask("summary")).marks.map(({ kind, text }) => `${kind} ${text}`);
      let found = await marks();
      while (!found.includes("start "))
        await again(), found = await marks();
      assert.deepEqual([...new Set(found)], wanted);
      await page.goto(`${server.address}/${view("generations", "size_min=1", id)}`);
      await page.reload();
      await hasForm();
      assert.match(await page.locator("main").innerText(), /\d marks?[^]*\d pauses? of the recording/);
      // Where nothing may be commanded, nothing is offered.
      const plain = await context.newPage();
      await plain.goto(`${silent.address}/${view("overview", "", id)}`);
      await settled(plain);
      assert.equal(await plain.getByRole("button", { name: "Pause" }).count(), 1);
      assert.equal(await plain.locator(".control").count(), 0);
      // The process ends.
      program.stdin.end();
      await ended;
      await press("Stop recording", /does not run on this machine/);
      assert.deepEqual(wrong, []);
    } finally {
      program.kill("SIGKILL");
      await context?.close();
      await Promise.all(servers.map((server) => server.stop()));
    }
  });
}
