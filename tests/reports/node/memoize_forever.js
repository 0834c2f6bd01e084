// SPDX-License-Identifier: GPL-2.0-or-later
// Report: sindresorhus/memoize#14. mem 3 never removes results, not even after maxAge.
//
// kind: JavaScript objects
// npm: mem@3.0.1
// leak mem-forever:
//   part: managed-objects
//   code: Price
//   holder: cacheStore|mem
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
