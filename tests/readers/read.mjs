// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads what heapsonde exported with the code of the viewers and prints what it found: a key of `heapsonde report
// --json` and a number on each line. Arguments: which reader, the file, the folder of npm's packages.
import { createRequire } from 'node:module';
import { readFileSync, readdirSync } from 'node:fs';
import vm from 'node:vm';

const [reader, path, packages] = process.argv.slice(2);
const load = packages && createRequire(packages + '/');

function say(totals)
{
    for (const [key, value] of Object.entries(totals))
        console.log(key, String(value));
}

function fail(words)
{
    console.error(`${path}: ${words}`);
    process.exit(1);
}

// ---- valgrind's dh_view ---------------------------------------------------------------------------------------------

function dhat()
{
    const page = vm.createContext({ console, document: {}, window: {} });
    vm.runInContext(readFileSync('/usr/libexec/valgrind/dh_view.js', 'utf8'), page);
    page.text = readFileSync(path, 'utf8');
    const root = vm.runInContext(`
        gData = JSON.parse(text);
        gSelect = { selectedIndex: 0, childNodes: gSelectData.map(() => ({})) };
        buildTree();
        gRoot`, page);
    say({
        allocated_bytes: root._totalBytes, allocations: root._totalBlocks,
        peak_bytes: root._atTGmaxBytes, peak_count: root._atTGmaxBlocks,
        live_bytes: root._atTEndBytes, live_count: root._atTEndBlocks,
    });
}

// ---- speedscope ------------------------------------------------------------------------------------------------------

// The app's own importer, out of its bundle: the page around it is left out.
async function importer()
{
    const release = `${packages}/node_modules/speedscope/dist/release/`;
    const file = readdirSync(release).find(name => /^speedscope-.*\.js$/.test(name));
    const source = readFileSync(release + file, 'utf8');
    const end = source.lastIndexOf('})();');
    const name = /importProfileGroupFromText:\(\)=>(\w+)/.exec(source)?.[1];
    const initialise = /Promise\.resolve\(\)\.then\(\(\)=>\((\w+)\(\),(\w+)\)\);\w+\.then/.exec(source);
    if (end < 0 || !name || !initialise)
        fail(`the bundle ${file} is built in another way than it was`);
    // The importer's modules are started by hand; what follows in the bundle draws the page.
    const start = source.lastIndexOf(`var ${/var (\w+)=Promise\.resolve\(\)\.then\(\(\)=>\(/.exec(source.slice(initialise.index - 12))[1]}=`);
    const page = vm.createContext({
        console: { ...console, log() {} }, TextDecoder, TextEncoder, performance, setTimeout, URL, navigator: { platform: '' },
        location: { href: '', hash: '', protocol: 'file:' }, localStorage: {}, matchMedia: () => ({ matches: false, addEventListener() {} }),
    });
    page.window = page;
    page.self = page;
    const cut = source.slice(0, start) + `;globalThis.imported=(${initialise[1]}(),${name});})();`;
    vm.runInContext(cut, page);
    return page.imported;
}

async function imported()
{
    const group = await (await importer())(path, readFileSync(path, 'utf8'));
    if (!group)
        fail('speedscope does not know this format');
    return group;
}

async function speedscope()
{
    const Ajv = load('ajv');
    const schema = JSON.parse(readFileSync(`${packages}/node_modules/speedscope/dist/release/file-format-schema.json`, 'utf8'));
    const validate = new (Ajv.default ?? Ajv)({ strict: false }).compile(schema);
    if (!validate(JSON.parse(readFileSync(path, 'utf8'))))
        fail(JSON.stringify(validate.errors.slice(0, 3)));
    const group = await imported();
    const names = ['peak_bytes', 'peak_count', 'live_bytes', 'live_count', 'allocated_bytes', 'allocations',
                   'temporary_bytes', 'temporary_count'];
    group.profiles.forEach((profile, i) => say({ [names[i]]: profile.getTotalNonIdleWeight() }));
    const active = group.profiles[group.indexToView].getName();
    if (active !== 'bytes live at the end')
        fail(`the profile '${active}' is shown first`);
}

async function heapprofile()
{
    const sum = node => node.selfSize + node.children.reduce((total, child) => total + sum(child), 0);
    const profile = JSON.parse(readFileSync(path, 'utf8'));
    say({ allocated_bytes: sum(profile.head) });
    say({ allocated_bytes: profile.samples.reduce((total, sample) => total + sample.size, 0) });
    say({ allocated_bytes: (await imported()).profiles[0].getTotalNonIdleWeight() });
}

const readers = { dhat, speedscope, heapprofile };
await readers[reader]();
