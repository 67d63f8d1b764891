// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A process to attach to, which allocates all the time, also in the threads of the pool. Answers each line with how often it did,
// ends with "leave".
const readline = require('readline');
const zlib = require('zlib');

let rounds = 0;
let inPool = 0;

function work() {
  const kept = { buffer: Buffer.alloc(20000), text: JSON.stringify({ values: [1, 2, 3, rounds] }) };
  rounds += JSON.parse(kept.text).values.length > 0 ? 1 : 0;
  if (inPool < 4) {
    inPool++;
    zlib.deflate(kept.buffer, () => { inPool--; });
  }
}

setInterval(work, 2);
console.log('ready');
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  if (line === 'leave')
    process.exit(3);
  console.log(rounds + 1);
});
