// SPDX-License-Identifier: GPL-2.0-or-later
// No leak: every PERIOD ms a burst of 60 files is open for half of the period, then all are closed.
//
// kind: descriptors
// healthy descriptor-bursts:
// healthy descriptor-bursts-slow:
//   env: PERIOD=50000 DELAY=20000
'use strict';
const fs = require('fs');
const period = +process.env.PERIOD || 20000;
setTimeout(function burst() {
  const files = [];
  for (let i = 0; i < 60; i++) files.push(fs.openSync('/dev/null', 'r'));
  setTimeout(() => { for (const file of files) fs.closeSync(file); }, period / 2);
  setTimeout(burst, period);
}, +process.env.DELAY || 0);
