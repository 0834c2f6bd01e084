// SPDX-License-Identifier: GPL-2.0-or-later
// What classes held at each run, one on top of the other: the greatest over time at the bottom.
import { el, svg } from './dom.js';
import * as format from './format.js';

const SHOWN = 7;
const WIDTH = 900;
const HEIGHT = 220;

export function evolution(runs, classes, nameOf) {
  const shown = classes.filter((one) => one.evolution).slice(0, SHOWN);
  const times = runs.map((time) => Date.parse(time) / 1000);
  const span = times.at(-1) - times[0];
  if (!shown.length || !(span > 0)) return null;
  const sums = times.map((_, i) => shown.reduce((sum, one) => sum + one.evolution[i], 0));
  const maximum = Math.max(...sums) || 1;
  const x = (i) => ((times[i] - times[0]) / span * WIDTH).toFixed(1);
  const y = (bytes) => (HEIGHT - bytes / maximum * (HEIGHT - 4)).toFixed(1);
  const below = times.map(() => 0);
  const areas = shown.map((one, number) => {
    const lower = times.map((_, i) => `${x(i)},${y(below[i])}`).reverse();
    one.evolution.forEach((bytes, i) => { below[i] += bytes; });
    const upper = times.map((_, i) => `${x(i)},${y(below[i])}`);
    return svg('path', { class: `class-${number}`, d: `M${upper.join(' L')} L${lower.join(' L')} Z` },
      svg('title', {}, nameOf(one)));
  });
  return [el('h3', {}, 'Classes over time'),
    el('figure', { class: 'evolution' },
      svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `Bytes of ${shown.length} classes over ${runs.length} runs` }, areas),
      el('figcaption', {}, `up to ${format.bytes(maximum)}, from ${format.dateTime(times[0])} to ${format.dateTime(times.at(-1))}`,
        el('ol', {}, shown.map((one, number) => el('li', {}, el('span', { class: `swatch class-${number}`, 'aria-hidden': 'true' }), nameOf(one))))))];
}
