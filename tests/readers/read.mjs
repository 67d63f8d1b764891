// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads what heapsonde exported with the code of the viewers and prints what it found: a key of `heapsonde report
// --json` and a number on each line. Arguments: which reader, the file, the folder of npm's packages.
import { createRequire } from 'node:module';
import { readFileSync, readdirSync } from 'node:fs';
import vm from 'node:vm';
import { gunzipSync } from 'node:zlib';

const [reader, path, packages, events] = process.argv.slice(2);
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

// What the sums of samples are called in the report; of blocks, touched and touched live ones.
const keysOfEvents = { cpu: ['ns', 'samples'], off_cpu: ['ns', 'samples'], faults: ['faults', 'samples'],
                       touched: ['touched_bytes', 'allocations', 'live_touched_bytes', 'live_count'] };

async function speedscopeOfEvents()
{
    const group = await imported();
    // Touched memory: live first.
    const order = events === 'touched' ? [2, 3, 0, 1] : [0, 1];
    group.profiles.forEach((profile, i) => say({ [keysOfEvents[events][order[i]]]: profile.getTotalNonIdleWeight() }));
    const units = { cpu: 'nanoseconds', off_cpu: 'nanoseconds', faults: 'none', touched: 'bytes' };
    const file = JSON.parse(readFileSync(path, 'utf8'));
    if (file.profiles[0].unit !== units[events] || file.profiles[1].unit !== 'none')
        fail(`wrong units: ${file.profiles.map(profile => profile.unit)}`);
}

async function heapprofileOfEvents()
{
    say({ touched_bytes: (await imported()).profiles[0].getTotalNonIdleWeight() });
}

async function heapprofile()
{
    const sum = node => node.selfSize + node.children.reduce((total, child) => total + sum(child), 0);
    const profile = JSON.parse(readFileSync(path, 'utf8'));
    say({ allocated_bytes: sum(profile.head) });
    say({ allocated_bytes: profile.samples.reduce((total, sample) => total + sample.size, 0) });
    say({ allocated_bytes: (await imported()).profiles[0].getTotalNonIdleWeight() });
}

// ---- Parquet ---------------------------------------------------------------------------------------------------------

async function rowsOfParquet()
{
    const { parquetReadObjects, parquetMetadataAsync } = await import(`${packages}/node_modules/hyparquet/src/index.js`);
    const bytes = readFileSync(path);
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    const rows = await parquetReadObjects({ file, compressors: { GZIP: input => new Uint8Array(gunzipSync(input)) } });
    const metadata = await parquetMetadataAsync(file);
    if (Number(metadata.num_rows) !== rows.length || metadata.created_by !== 'heapsonde')
        fail('its description is wrong');
    return rows;
}

async function parquetOfEvents()
{
    const rows = await rowsOfParquet();
    const sum = (of, column) => of.reduce((total, row) => total + Number(row[column]), 0);
    const columns = { cpu: 'cpu_ns', off_cpu: 'off_cpu_ns', faults: 'faults' };
    const keys = keysOfEvents[events];
    if (columns[events]) {
        if ('size' in rows[0] || 'free_time_ns' in rows[0])
            fail('samples have columns of blocks');
        say({ [keys[0]]: sum(rows, columns[events]), [keys[1]]: rows.length });
        return;
    }
    const live = rows.filter(row => row.free_time_ns === null || row.free_time_ns === undefined);
    say({ touched_bytes: sum(rows, 'touched_size'), allocated_bytes: sum(rows, 'size'), allocations: rows.length,
          live_touched_bytes: sum(live, 'touched_size') });
}

async function parquet()
{
    const rows = await rowsOfParquet();
    const sum = (of, which = () => true) => of.filter(which).reduce((total, row) => total + Number(row.size), 0);
    const live = rows.filter(row => row.free_time_ns === null || row.free_time_ns === undefined);
    for (const row of rows) {
        if (!row.backtrace.split(';').includes(row.function) || row.thread_name !== 'program' || !row.thread)
            fail(`a wrong row: ${row.function} in ${row.backtrace}`);
        if (!live.includes(row) && row.free_time_ns !== row.time_ns + row.lifetime_ns)
            fail('a wrong time');
    }
    say({
        allocations: rows.length, allocated_bytes: sum(rows), live_count: live.length, live_bytes: sum(live),
        temporary_bytes: sum(rows, row => row.temporary),
        allocated_usable_bytes: rows.reduce((total, row) => total + Number(row.usable_size), 0),
    });
}

// ---- Perfetto --------------------------------------------------------------------------------------------------------

function heapOf(packets, name)
{
    const dumps = packets.flatMap(packet => packet.profilePacket?.processDumps ?? []).filter(dump => dump.heapName === name);
    const total = field => dumps.flatMap(dump => dump.samples).reduce((sum, sample) => sum + Number(sample[field]), 0);
    return { dumps, allocated: total('selfAllocated'), freed: total('selfFreed'), allocations: total('allocCount'),
             frees: total('freeCount') };
}

async function packetsOf()
{
    const protobuf = load('protobufjs');
    const schema = await protobuf.load(new URL('perfetto.proto', import.meta.url).pathname);
    return schema.lookupType('Trace').decode(readFileSync(path)).packet;
}

// The values of a counter's track.
function counterOf(packets, name)
{
    const track = packets.map(packet => packet.trackDescriptor).find(track => track?.name === name);
    return packets.filter(packet => packet.trackEvent && track && String(packet.trackEvent.trackUuid) === String(track.uuid))
        .map(packet => Number(packet.trackEvent.counterValue));
}

async function perfettoOfEvents()
{
    const packets = await packetsOf();
    const stacks = new Set(packets.flatMap(packet => packet.internedData?.callstacks ?? []).map(stack => Number(stack.iid)));
    const samples = packets.filter(packet => packet.perfSample);
    if (events === 'touched') {
        const heap = heapOf(packets, 'touched memory');
        say({ touched_bytes: heap.allocated, live_touched_bytes: heap.allocated - heap.freed, allocations: heap.allocations });
    } else {
        samples.every(({ perfSample }) => stacks.has(Number(perfSample.callstackIid)) && perfSample.tid >= 4711) || fail('a stack is missing');
        say({ samples: samples.length });
    }
    if (counterOf(packets, 'heap').length !== 1000 || Math.max(...counterOf(packets, 'resident by page faults')) <= 0)
        fail('a counter is missing');
    if (events === 'cpu')
        say({ ns: counterOf(packets, 'CPU time').reduce((sum, value) => sum + value, 0) });
}

async function perfetto()
{
    const packets = await packetsOf();
    const tables = { functionNames: new Set, mappings: new Set, frames: new Set, callstacks: new Set };
    for (const packet of packets) {
        for (const [name, known] of Object.entries(tables))
            packet.internedData?.[name]?.forEach(entry => known.add(Number(entry.iid)));
        packet.internedData?.frames.forEach(frame => tables.functionNames.has(Number(frame.functionNameId)) || fail('a name is missing'));
        packet.internedData?.callstacks.forEach(stack => stack.frameIds.every(id => tables.frames.has(Number(id))) || fail('a frame is missing'));
    }
    const heap = heapOf(packets, 'malloc');
    heap.dumps.flatMap(dump => dump.samples).every(sample => tables.callstacks.has(Number(sample.callstackId))) || fail('a stack is missing');
    packets.filter(packet => packet.profilePacket).every((packet, i) => Number(packet.profilePacket.index) === i) || fail('a part is missing');
    const counter = counterOf(packets, 'heap');
    say({
        allocated_bytes: heap.allocated, live_bytes: heap.allocated - heap.freed, allocations: heap.allocations,
        live_count: heap.allocations - heap.frees,
    });
    say({ live_bytes: counter.at(-1) });
    say({ peak_bytes: heapOf(packets, 'at the peak').allocated });
}

const readers = { speedscopeOfEvents, heapprofileOfEvents, parquetOfEvents, perfettoOfEvents, dhat, speedscope, heapprofile, parquet, perfetto };
await readers[reader]();
