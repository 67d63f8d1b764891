// SPDX-License-Identifier: MIT OR Apache-2.0
// Pictures of every view in both themes and three widths, and one page with all of them: node pictures.mjs FOLDER TRACE... With FLEET, those of
// a fleet.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { launch, open, serve, settled } from "./browser.mjs";

const [folder, ...traces] = process.argv.slice(2);
const out = resolve(folder);
const WIDTHS = [[1440, 900], [768, 1024], [390, 844]];
const only = process.env.VIEWS?.split(",");

mkdirSync(out, { recursive: true });
const server = await serve(...(process.env.FLEET ? ["--fleet", process.env.FLEET] : []), ...(process.env.SOURCE ? ["--source", process.env.SOURCE] : []), ...traces);
const browser = await launch();
const names = [];

// The addresses of what is drawn of a trace.
async function viewsOfTrace() {
  const [trace] = (await server.json("/list")).slice(-1);
  const { rows } = await server.json(`/data/${trace.id}/totals?sort_by=total.peak.bytes&order=dsc&count=8&cost=peak`);
  const group = (await server.json(`/data/${trace.id}/allocation_groups?count=1&sort_by=only_matched.size&order=dsc&frames=none`)).allocations[0];
  const [map] = (await server.json(`/data/${trace.id}/maps?count=1&sort_by=size&order=dsc`)).maps;
  // A file whose text is shown comes first.
  const files = (await server.json(`/data/${trace.id}/totals?by=source&sort_by=total.allocated.bytes&order=dsc&count=40`)).rows.map((row) => row.key);
  const answers = await Promise.all(files.map((file) => server.json(`/data/${trace.id}/source?file=${encodeURIComponent(file)}&count=1`)));
  const file = encodeURIComponent(files[Math.max(0, answers.findIndex((answer) => !answer.absence))] ?? "none.c");
  const [library] = (await server.json(`/data/${trace.id}/totals?by=requester_line&cost=peak&sort_by=self.peak.bytes&order=dsc&count=1`)).rows.map((row) => row.library);
  const views = {
    overview: "overview", flame: "flame", zoomed: "flame?ui.zoom=0.0.0&ui.sel=0.0.0.0.0.0&ui.search=eval", up: "flame?ui.up=1&cost=allocated&ui.inverted=1",
    changed: "flame?split=thread&collapse_recursion=true&merge_library=libc.so.6&merge_function=%5Emain%24", requesters: "functions?by=requester",
    tree: "tree", functions: "functions", libraries: "functions?by=library", sandwich: `functions?function=${encodeURIComponent(rows.at(-1)?.key ?? "main")}`,
    stacks: `stacks?ui.stack=${group?.backtrace_id ?? 1}`, blocks: "blocks", sizes: "sizes", threads: "threads", timeline: "timeline", generations: "generations",
    treemap: "treemap", library: `treemap?ui.library=${encodeURIComponent("=" + library)}`, files: "source", lines: `source?cost=allocated&file=${file}`, costly: `source?cost=allocated&ui.lines=costly&file=${file}`, found: "tree?ui.search=a",
    diff: "diff", "diff-flame": "diff?ui.shape=flame", changes: "diff?ui.shape=functions", maps: "maps", ...(map && { mapping: `maps?ui.map=${map.id}` }), statics: "statics", recording: "recording", export: "export", console: "console", nothing: "flame?size_min=1T", wrong: "blocks?size_min=nonsense",
    range: "stacks", filter: "overview", keys: "overview",
  };
  return { traces: "#/", ...Object.fromEntries(Object.entries(views).map(([name, view]) => [name, `#/t/${trace.id}/${view}`])) };
}

// The same of a fleet.
async function viewsOfFleet() {
  const { rows: [grown] } = await server.json("/fleet/growth"), { rows: [device] } = await server.json("/fleet/devices");
  const views = { growth: "growth", new: "new", difference: "diff", firmwares: "firmwares", devices: "devices", stacks: "stacks", flame: "flame", stack: `stack?stack=${grown?.stack ?? 1}`,
                  device: `device?device=${encodeURIComponent(device?.device ?? "none")}`, nothing: "stacks?app=none", refused: "growth?size_min=4K", filter: "stacks?firmware=1&function_regex=a" };
  return Object.fromEntries(Object.entries(views).map(([name, view]) => ["fleet-" + name, `#/fleet/${view}`]));
}

try {
  const views = process.env.FLEET ? await viewsOfFleet() : await viewsOfTrace();
  // What is open in a picture.
  const opened = {
    range: async (page) => {
      const box = await page.locator(".strip canvas").boundingBox();
      await page.mouse.move(box.x + box.width * 0.4, box.y + 20);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.6, box.y + 20);
      await page.mouse.up();
      await page.waitForSelector(".meanings");
    },
    filter: async (page) => {
      await page.getByRole("button", { name: "+ Add" }).click();
      await page.waitForSelector(".field");
    },
    "fleet-filter": async (page) => {
      await page.getByRole("button", { name: "+ Add" }).click();
      await page.waitForSelector(".field");
    },
    keys: (page) => page.getByRole("button", { name: "Keys" }).click(),
  };
  for (const theme of ["light", "dark"])
    for (const [width, height] of WIDTHS) {
      const { page, context, wrong } = await open(browser, server, { viewport: { width, height }, colorScheme: theme, refused: [400, 404] });
      for (const [name, view] of Object.entries(views)) {
        if (only && !only.includes(name))
          continue;
        await page.goto(server.address + "/" + view);
        await settled(page).catch((problem) => wrong.push(`${name}: ${problem.message}`));
        await opened[name]?.(page);
        const file = `${name}-${theme}-${width}.png`;
        await page.screenshot({ path: join(out, file) });
        names.push(file);
        if (opened[name])
          await page.keyboard.press("Escape");
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (wide > 0)
          wrong.push(`${file} is ${wide} pixels too wide`);
      }
      wrong.forEach((line) => console.log(line));
      await context.close();
    }
} finally {
  await browser.close();
  await server.stop();
}
writeFileSync(join(out, "index.html"), `<!doctype html><meta charset="utf-8"><title>Pictures of the page</title>
<style>body{font:13px sans-serif;columns:3}figure{margin:0 0 1em;break-inside:avoid}img{max-width:100%;border:1px solid #999}</style>
${names.map((name) => `<figure><img src="${name}" alt="${name}"><figcaption>${name}</figcaption></figure>`).join("\n")}\n`);
console.log(`${names.length} pictures; ${join(out, "index.html")}`);
