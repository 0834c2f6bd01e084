// SPDX-License-Identifier: GPL-2.0-or-later
// Shortest paths as a picture, from roots on the left to classes on the right. Paths that begin
// alike share their boxes.
import { el, svg } from './dom.js';

const PATHS = 12;
const STEPS = 7; // more of one path are drawn as one box
const WIDE = 176, HIGH = 36, GAP_X = 66, GAP_Y = 12, LETTERS = 22;

const short = (text) => (text.length > LETTERS ? `${text.slice(0, LETTERS - 1)}\u2026` : text);

function thinned(steps) {
  if (steps.length <= STEPS) return steps;
  const left = steps.length - STEPS + 1;
  return [...steps.slice(0, 3), { name: `\u2026 ${left} more steps \u2026`, edge: '' }, ...steps.slice(3 + left)];
}

// A tree: paths are [{ name, second, edge }], a root first.
function treeOf(paths) {
  const top = { list: [] };
  for (const path of paths) {
    let at = top;
    for (const step of thinned(path)) {
      let next = at.list.find((one) => one.name === step.name && one.edge === step.edge);
      if (!next) at.list.push(next = { ...step, list: [] });
      at = next;
    }
    at.end = true;
  }
  return top.list;
}

export function pathGraph(paths) {
  const boxes = [], edges = [];
  let rows = 0, columns = 0;
  const place = (at, column) => {
    columns = Math.max(columns, column + 1);
    const places = at.list.map((child) => place(child, column + 1));
    const row = places.length ? (places[0].row + places.at(-1).row) / 2 : rows++;
    const box = { at, column, row };
    boxes.push(box);
    for (const child of places) edges.push([box, child]);
    return box;
  };
  treeOf(paths.slice(0, PATHS)).forEach((root) => place(root, 0));
  const x = (box) => box.column * (WIDE + GAP_X) + 1;
  const y = (box) => box.row * (HIGH + GAP_Y) + 1;
  const width = columns * (WIDE + GAP_X) - GAP_X + 2, height = rows * (HIGH + GAP_Y) - GAP_Y + 2;
  const line = ([from, to]) => {
    const x1 = x(from) + WIDE, y1 = y(from) + HIGH / 2, x2 = x(to), y2 = y(to) + HIGH / 2, middle = (x1 + x2) / 2;
    return [svg('path', { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` }),
      svg('text', { class: 'edge-label', x: x2 - 6, y: y2 - 5, 'text-anchor': 'end' }, to.at.edge)];
  };
  const shape = (box) => svg('g', { class: box.column ? (box.at.end ? 'is-end' : null) : 'is-root' },
    svg('title', {}, [box.at.name, box.at.second].filter(Boolean).join('\n')),
    svg('rect', { x: x(box), y: y(box), width: WIDE, height: HIGH, rx: 6 }),
    svg('text', { x: x(box) + 9, y: y(box) + (box.at.second ? 15 : 22) }, short(box.at.name)),
    box.at.second ? svg('text', { class: 'second-line', x: x(box) + 9, y: y(box) + 29 }, short(box.at.second)) : null);
  return el('div', { class: 'graph', tabindex: '0', role: 'group', 'aria-label': 'Paths from roots, as a picture' },
    svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' }, edges.map(line), boxes.map(shape)));
}
