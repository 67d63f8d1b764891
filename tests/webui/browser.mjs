// SPDX-License-Identifier: MIT OR Apache-2.0
// A server under test and a browser on it. Whatever goes wrong on a page fails the test: errors, rejections, requests to
// other origins, answers that are not there, reports of the content security policy, parameters that no endpoint takes.
import { spawn } from "node:child_process";
import http from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";

const packages = createRequire(join(process.env.HEAPSONDE_TEST_PACKAGES ?? ".", "package.json"));
export const { chromium } = packages("playwright-core");
export const axe = () => packages.resolve("axe-core/axe.min.js");

// An answer over a connection of its own: a server closes connections that were idle for long, and on a busy machine a client
// hears of it too late.
export function get(address) {
  return new Promise((resolve, reject) => {
    http.get(address, { agent: false }, (answer) => {
      const parts = [];
      answer.on("data", (part) => parts.push(part));
      answer.on("error", reject);
      answer.on("end", () => {
        const bytes = Buffer.concat(parts);
        resolve({ status: answer.statusCode, headers: answer.headers, bytes, text: bytes.toString(), json: () => JSON.parse(bytes) });
      });
    }).on("error", reject);
  });
}

// A server listens while it still reads its traces. One with a token is not asked.
async function hasRead(address) {
  for (;;) {
    const answer = await get(address + "/list");
    if (answer.status === 401 || !answer.json().some((row) => row.progress))
      return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function serve(...words) {
  const server = spawn(process.env.HEAPSONDE_TEST_COMMAND, ["server", "--port", "0", ...words], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: server.stdout });
  const address = await new Promise((resolve, reject) => {
    lines.once("line", resolve);
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  const stop = () => new Promise((resolve) => {
    if (server.exitCode !== null)
      return resolve();
    server.once("exit", resolve);
    server.kill("SIGTERM");
  });
  const json = async (path) => {
    const answer = await get(address + path);
    if (answer.status !== 200)
      throw new Error(`${path}: ${answer.status} ${answer.text}`);
    return answer.json();
  };
  await hasRead(address);
  return { address, stop, json, pid: server.pid };
}

export function launch() {
  return chromium.launch({ timeout: 600000, executablePath: process.env.HEAPSONDE_TEST_BROWSER ?? "/usr/bin/chromium",
                           args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--renderer-process-limit=3"] });
}

// Copying ends some time after the click.
function rememberWhatIsCopied() {
  const write = navigator.clipboard?.writeText.bind(navigator.clipboard);
  if (write)
    navigator.clipboard.writeText = (text) => window.copied = write(text);
}

// What was copied last.
export function clipboard(page) {
  return page.evaluate(async () => {
    await window.copied;
    return navigator.clipboard.readText();
  });
}

// What goes wrong on the page is noted in `opened.wrong`, against `opened.server` and `opened.refused`.
function watch(page, opened) {
  const say = (text) => opened.wrong.push(text);
  page.on("pageerror", (error) => say(`error: ${error.stack}`));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text()))
      say(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(opened.server.address) && !/^(data|blob):/.test(request.url()))
      say(`request to ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400 && !opened.refused.includes(response.status()))
      say(`${response.status()} of ${response.url()}`);
    if (response.headers()["x-heapsonde-warning"])
      say(`${response.headers()["x-heapsonde-warning"]}: ${response.url()}`);
  });
}

const VIEWPORT = { width: 1440, height: 900 };
const MEDIA = { colorScheme: "light", forcedColors: "none", reducedMotion: "reduce" };

// `refused`: statuses that the test makes happen.
export async function open(browser, server, { refused = [], ...options } = {}) {
  const context = await browser.newContext({ viewport: VIEWPORT, ...MEDIA, ...options });
  // For what the context itself does, too.
  context.setDefaultTimeout(Number(process.env.HEAPSONDE_TEST_PATIENCE ?? 180000));
  await context.addInitScript(rememberWhatIsCopied);
  const page = await context.newPage(), opened = { page, context, server, refused, wrong: [] };
  watch(page, opened);
  return opened;
}

// What a test changes with these, it changes for good.
const CHANGES = ["addInitScript", "exposeFunction", "on", "clock"];
const CONTEXT_CHANGES = ["addCookies", "addInitScript", "exposeFunction", "grantPermissions", "newCDPSession", "on", "route", "setOffline"];
// What it changes with these is taken back.
const TAKEN_BACK = ["route", "emulateMedia", "setViewportSize"];
let spare;

// Calls `use` with the name whenever one of these is asked of the object from now on.
function notice(object, names, use) {
  for (const name of names) {
    const usual = object[name], value = typeof usual === "function" ? usual.bind(object) : usual;
    Object.defineProperty(object, name, { get: () => (use(name), value) });
  }
}

async function openSpare(browser, server) {
  const opened = Object.assign(await open(browser, server), { changes: new Set() });
  notice(opened.page, [...CHANGES, ...TAKEN_BACK], (name) => opened.changes.add(name));
  notice(opened.context, CONTEXT_CHANGES, () => opened.changes.add("context"));
  return opened;
}

// The same for a test after another one, which takes the page that is left from that: to open one costs more than most tests do
// with it. With other options than these, a test has its own page.
export async function borrow(browser, server, { refused = [], viewport, colorScheme, ...options } = {}) {
  if (Object.keys(options).length)
    return open(browser, server, { refused, ...viewport && { viewport }, ...colorScheme && { colorScheme }, ...options });
  const opened = Object.assign(spare ?? await openSpare(browser, server), { server, refused, wrong: [] });
  spare = undefined;
  if (viewport)
    await opened.page.setViewportSize(viewport);
  if (colorScheme)
    await opened.page.emulateMedia({ colorScheme });
  return opened;
}

// With nothing left of the test, if it went well and changed nothing that stays; else it is closed.
export async function giveBack(opened, isWell) {
  const { page, context, changes } = opened;
  if (!isWell || !changes || ["context", ...CHANGES].some((name) => changes.has(name)) || !page.url().startsWith(opened.server.address + "/"))
    return context.close();
  if (changes.has("route"))
    await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.evaluate(() => localStorage.clear());
  await page.mouse.move(-1, -1);
  // Of the same site: the browser keeps the process that draws the page, with its compiled scripts.
  await page.goto(opened.server.address + "/icon.svg");
  if (changes.has("emulateMedia"))
    await page.emulateMedia({ media: null, ...MEDIA });
  if (changes.has("setViewportSize"))
    await page.setViewportSize(VIEWPORT);
  changes.clear();
  await Promise.all(context.pages().filter((other) => other !== page).map((other) => other.close()));
  spare = opened;
}

// Acts in the page as soon as the element is drawn.
export function onceThere(page, selector, act) {
  return page.addInitScript(`new MutationObserver((_, watcher) => {
    if (document.querySelector(${JSON.stringify(selector)}))
      watcher.disconnect(), (${act})();
  }).observe(document, { childList: true, subtree: true })`);
}

async function drawTwice() {
  for (let i = 0; i < 2; i++)
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

// Two pictures, and what the page does after each of them.
export function drawn(page) {
  return page.evaluate(drawTwice);
}

function isSettled(held) {
  return document.body.dataset.address === location.hash && document.querySelectorAll("[data-state=ready]").length > 0 && Number(document.body.dataset.open ?? 0) === held &&
    document.querySelectorAll("[data-state=loading], [aria-busy=true], .missing").length === 0;
}

// Until the page shows its address, and every part of it has its answer and is drawn: also the rows below those that are
// visible, which come later, and the parts that are not seen before. What is drawn may lead to other questions. `held`: how
// many questions the test leaves without an answer. One question to the browser, however long it takes.
export function settled(page, held = 0) {
  return page.waitForFunction(`(async () => {
    ${drawTwice}
    ${isSettled}
    const isDrawn = async () => (await drawTwice(), isSettled(${held}));
    while (!(await isDrawn() && await isDrawn()));
    return true;
  })()`);
}

// One box further down in the flame graph that has the focus; the next key begins there.
export async function boxBelow(page, level) {
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction((wanted) => new URLSearchParams(location.hash.split("?")[1]).get("ui.sel")?.split(".").length === wanted &&
    document.body.dataset.address === location.hash, level);
}

// Until the table has this number of rows, and not one that begins with it.
export function rowsAre(page, text) {
  return page.waitForFunction((wanted) => new RegExp(`of ${wanted}(?![\\d,])`).test(document.querySelector(".table .foot").textContent), text);
}
