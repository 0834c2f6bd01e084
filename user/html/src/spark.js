// SPDX-License-Identifier: GPL-2.0-or-later
// A sparkline: bytes held, scaled to the row's own maximum. Every pixel shows the most of its time.
import { svg } from './dom.js';

export function sparkline(values, width, height, from = 0, to = values.length - 1) {
  const columns = Math.min(width, to - from + 1);
  const tops = [];
  let maximum = 0;
  for (let i = 0; i < columns; i++) {
    const start = from + Math.floor(i * (to - from + 1) / columns);
    const end = from + Math.floor((i + 1) * (to - from + 1) / columns);
    let top = 0;
    for (let j = start; j < Math.max(end, start + 1); j++) top = Math.max(top, values[j]);
    tops.push(top);
    maximum = Math.max(maximum, top);
  }
  const x = (i) => (columns > 1 ? i * width / (columns - 1) : width / 2).toFixed(1);
  const y = (top) => (maximum ? height - 1 - top / maximum * (height - 2) : height - 1).toFixed(1);
  const line = tops.map((top, i) => `${x(i)},${y(top)}`).join(' L');
  return svg('svg', { class: 'spark', width, height, viewBox: `0 0 ${width} ${height}`, 'aria-hidden': 'true' },
    svg('path', { class: 'area', d: `M0,${height} L${line} L${width},${height} Z` }),
    svg('path', { class: 'line', d: `M${line}` }));
}
