// SPDX-License-Identifier: GPL-2.0-or-later
// Report: sindresorhus/memoize#14, in the version that mends it: mem 4 removes results after maxAge.
//
// kind: JavaScript objects
// npm: mem@4.3.0
// healthy mem-expires:
//   warm: 20
'use strict';
const mem = require('mem');

class Price {
  constructor(sku) {
    this.sku = sku;
    this.at = Date.now();
    this.history = [1, 2, 3, sku];
  }
}
const priceOf = mem((sku) => new Price(sku), { maxAge: 2000 });
let n = 0;
setInterval(() => { for (let i = 0; i < 5; i++) priceOf(++n); }, 50);
