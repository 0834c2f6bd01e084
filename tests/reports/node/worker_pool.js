// SPDX-License-Identifier: GPL-2.0-or-later
// Report: as in diegosouzapw/OmniRoute#12813. A pool drops idle workers from its list and does not terminate them.
// `fixed`: it does.
//
// kind: threads
// leak node-workers: leak
//   part: threads
//   code: Worker|compress|worker_pool
// healthy node-workers-ended: fixed
//   warm: 25
'use strict';
const { Worker, isMainThread, parentPort } = require('worker_threads');
if (isMainThread) {
  const pool = [];
  const compress = (job) => {
    const worker = new Worker(__filename);
    pool.push(worker);
    worker.on('message', () => {
      pool.splice(pool.indexOf(worker), 1);
      if (process.argv[2] === 'fixed') worker.terminate();
    });
    worker.postMessage(job);
  };
  let n = 0;
  setInterval(() => compress({ n: ++n }), 4000);
} else parentPort.on('message', (job) => parentPort.postMessage({ done: job.n }));
