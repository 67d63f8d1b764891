// SPDX-License-Identifier: MIT OR Apache-2.0
// How long the page takes on a trace, and how much is sent: node measure.mjs TRACE
import { launch, open, serve, settled } from "./browser.mjs";

const server = await serve(process.argv[2]);
const browser = await launch();
const rows = [];
const say = (what, value) => rows.push([what, value]);
const ms = (value) => `${value.toFixed(0)} ms`;

try {
  const { page, context } = await open(browser, server);
  const [trace] = await server.json("/list");
  const answers = [];
  page.on("response", async (response) => {
    const body = await response.body().catch(() => undefined);
    if (body)
      answers.push([new URL(response.url()).pathname, body.length]);
  });
  const view = (name) => `${server.address}/#/t/${trace.id}/${name}`;
  const timed = async (name) => {
    const began = performance.now();
    await page.goto(view(name));
    await settled(page);
    return performance.now() - began;
  };
  const began = performance.now();
  await page.goto(view("overview"));
  await page.waitForSelector(".card");
  say("overview with its numbers, cold", ms(performance.now() - began));
  say("first paint", ms(await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN)));
  await settled(page);
  say("overview whole, cold", ms(performance.now() - began));
  const views = ["flame", "tree", "functions", "stacks", "blocks", "sizes", "threads", "timeline", "generations", "maps", "recording"];
  for (const name of views)
    say(`${name}, cold`, ms(await timed(name)));
  for (const name of views)
    say(`${name}, again`, ms(await timed(name)));
  await timed("flame");
  const frames = await page.evaluate(async () => {
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
  say(`a frame of ${await page.getAttribute(".flame canvas", "data-ready")} boxes, 95th percentile`, `${frames.toFixed(1)} ms`);
  const typed = performance.now();
  await page.fill(".search", "parse");
  await page.waitForSelector(".hits");
  say("search in them", ms(performance.now() - typed));
  const session = await context.newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  say("the page's memory", `${(usedSize / 2 ** 20).toFixed(1)} MiB`);
  const [path, largest] = answers.sort((a, b) => b[1] - a[1])[0];
  say("largest answer", `${(largest / 2 ** 20).toFixed(2)} MiB (${path.split("/").pop()})`);
} finally {
  await browser.close();
  await server.stop();
}
for (const [what, value] of rows)
  console.log(what.padEnd(52), value.padStart(12));
