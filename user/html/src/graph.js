// SPDX-License-Identifier: GPL-2.0-or-later
// Shortest paths as a picture, from roots on the left to classes on the right. Paths that begin
// alike share their boxes.
import { el, svg } from './dom.js';

const PATHS = 12;
const STEPS = 7; // more of one path are drawn as one box
const WIDE = 170, GAP_X = 76, GAP_Y = 12, LETTERS = 21, LINE = 14;
const EDGE_LETTERS = 10; // of a longer one the box has it, over the name
const LINES = 4; // of one name; what is longer has its whole text as a title

// Lines of a name, broken where its parts end.
function linesOf(text) {
  const lines = [''];
  for (const part of text.match(/[^\s:./,<>]*[\s:./,<>]*/g).filter(Boolean)) {
    if (lines.at(-1) && (lines.at(-1) + part.trimEnd()).length > LETTERS) lines.push('');
    for (let rest = part; rest; rest = rest.slice(LETTERS)) {
      if (lines.at(-1).length && rest !== part) lines.push('');
      lines[lines.length - 1] += rest.slice(0, LETTERS);
    }
  }
  const shown = lines.map((line) => line.trim());
  return shown.length > LINES ? [...shown.slice(0, LINES - 1), `\u2026${shown.slice(LINES - 1).join(' ').slice(1 - LETTERS)}`] : shown;
}

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
  let columns = 0, bottom = 0;
  const place = (at, column) => {
    columns = Math.max(columns, column + 1);
    const places = at.list.map((child) => place(child, column + 1));
    const written = [['second-line', at.edge.length > EDGE_LETTERS ? at.edge : ''], [null, at.name], ['second-line', at.second ?? '']]
      .flatMap(([style, text]) => (text ? linesOf(text).map((line) => [style, line]) : []));
    const high = written.length * LINE + 12;
    const box = { at, column, written, high, top: bottom };
    if (places.length) box.top = Math.max((places[0].middle + places.at(-1).middle - high) / 2, places[0].above);
    box.above = places.length ? places[0].above : bottom;
    box.middle = box.top + high / 2;
    bottom = Math.max(bottom, box.top + high + GAP_Y);
    boxes.push(box);
    for (const child of places) edges.push([box, child]);
    return box;
  };
  treeOf(paths.slice(0, PATHS)).forEach((root) => place(root, 0));
  const x = (box) => box.column * (WIDE + GAP_X) + 1;
  const y = (box) => box.top + 1;
  const width = columns * (WIDE + GAP_X) - GAP_X + 2, height = bottom - GAP_Y + 2;
  const line = ([from, to]) => {
    const x1 = x(from) + WIDE, y1 = from.middle + 1, x2 = x(to), y2 = to.middle + 1, middle = (x1 + x2) / 2;
    return [svg('path', { d: `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}` }),
      to.at.edge.length > EDGE_LETTERS ? null : svg('text', { class: 'edge-label', x: x2 - 6, y: y2 - 5, 'text-anchor': 'end' }, to.at.edge)];
  };
  const shape = (box) => svg('g', { class: box.column ? (box.at.end ? 'is-end' : null) : 'is-root' },
    svg('title', {}, [box.at.edge, box.at.name, box.at.second].filter(Boolean).join('\n')),
    svg('rect', { x: x(box), y: y(box), width: WIDE, height: box.high, rx: 6 }),
    box.written.map(([style, text], i) => svg('text', { class: style, x: x(box) + 9, y: y(box) + 16 + i * LINE }, text)));
  return el('div', { class: 'graph', tabindex: '0', role: 'group', 'aria-label': 'Paths from roots, as a picture' },
    svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' }, edges.map(line), boxes.map(shape)));
}
