// SPDX-License-Identifier: GPL-2.0-or-later
// Who holds it, in the shape of `leakmon retain --format json`.
import { el } from './dom.js';
import { pathGraph } from './graph.js';
import { stackList } from './detail.js';
import { brand } from './header.js';
import * as format from './format.js';
import { plainStack } from './threads.js';
import { sparkline } from './spark.js';
import { evolution } from './evolution.js';

const FIRST = 12, SHOWN = 200;

// By file and line where that tells two of one name apart: see distinctNames().
export const sourceOf = (found) => plainStack(found.site?.frames)[found.site?.label_frame ?? 0]?.source ?? '';

export function className(found) {
  if (found.kind === 'site' || found.site) {
    const stack = plainStack(found.site?.frames);
    const at = found.site?.label_frame ?? 0;
    const callers = stack.slice(at, at + 2).map((frame, i) => (!i && found.site.label) || frame.name).join(' \u2190 ');
    const type = found.kind === 'site' && found.name ? found.name : 'blocks';
    return callers ? `${type} of ${callers}` : `${type} of an unknown call stack`;
  }
  if (found.name) return found.name;
  return found.size === undefined ? found.kind : `blocks of ${format.count(found.size)} bytes`;
}

// Names of classes; those that would be equal get the line that they are allocated at.
export function distinctNames(list) {
  const names = list.map(className);
  return new Map(list.map((one, i) => [one, names.indexOf(names[i]) !== names.lastIndexOf(names[i]) && sourceOf(one) ? `${names[i]} ${sourceOf(one)}` : names[i]]));
}

// As text has it: of a runtime's roots the name says what they are.
function rootName(root) {
  const place = root.module ? ` [${format.fileName(root.module)}]` : '';
  if (root.kind === 'managed') return `${root.name ?? '?'}${place}`;
  const several = root.threads ? ` of ${format.many(root.threads, 'thread')}` : '';
  const thread = root.tid ? ` of thread ${root.tid} ${root.comm ?? ''}` : several;
  return `${root.kind}${root.name ? ` ${root.name}` : root.offset ? ` +0x${root.offset.toString(16)}` : ''}${place}${thread}`;
}

const held = (total) => `${format.bytes(total.bytes)} in ${format.many(total.blocks, 'block')}`;

function bar(share) {
  const line = el('span', { class: 'bar', 'aria-hidden': 'true' });
  line.style.width = `${Math.min(share, 1) * 100}%`;
  return line;
}

function list(title, heads, rows) {
  if (!rows.length) return null;
  return [el('h3', {}, title), el('table', { class: 'plain-table' },
    el('thead', {}, el('tr', {}, heads.map(([label, number]) => el('th', { scope: 'col', class: number ? 'number' : null }, label)))),
    rowsOf(heads, rows.slice(0, FIRST))),
  rows.length > FIRST ? el('details', { class: 'rest' }, el('summary', {}, `and ${format.count(rows.length - FIRST)} more`),
    el('table', { class: 'plain-table' }, rowsOf(heads, rows.slice(FIRST, SHOWN))),
    rows.length > SHOWN ? el('p', { class: 'note' }, `and ${format.count(rows.length - SHOWN)} more`) : null) : null];
}

// On a phone each number has its head before it.
const rowsOf = (heads, rows) => el('tbody', {}, rows.map((cells) => el('tr', {},
  cells.map((cell, i) => el('td', { class: heads[i][1] ? 'number' : null, 'data-head': heads[i][0] }, cell)))));

function totals(found) {
  const all = ['unreachable', 'held', 'untracked'].map((key) => found.totals[key]);
  const bytes = all.reduce((sum, total) => sum + total.bytes, 0) || 1;
  const names = ['Unreachable from any root', 'Held by roots', 'Held only through untracked memory'];
  const { lost } = found.totals;
  const first = lost && el('div', { class: 'figure' }, el('dt', {}, 'Lost'), el('dd', { class: lost.blocks ? 'more' : null }, format.bytes(lost.bytes),
    el('small', {}, `${format.many(lost.blocks, 'block')}: ${format.count(found.totals.unreachable.blocks)} unreachable, `
      + `${format.count(found.totals.stale.blocks)} with only stale references`)));
  return el('dl', { class: 'figures' }, first, all.map((total, i) => (total.blocks || i < 2
    ? el('div', { class: 'figure' }, el('dt', {}, names[i]), el('dd', { class: i === 0 && !lost && total.blocks ? 'more' : null }, format.bytes(total.bytes),
      el('small', {}, `${format.many(total.blocks, 'block')}, ${format.percent(total.bytes / bytes)}`))) : null)));
}

const leakRow = (leak) => {
  const stack = plainStack(leak.site?.frames);
  return [held(leak.direct), held(leak.indirect), leak.held?.blocks ? held(leak.held) : '', stack.length ? el('details', {}, el('summary', {}, className(leak.class)), stackList(stack)) : className(leak.class)];
};

// From so many pointers on it matters less which one it was: as in text.
const WIDE = 16;

const field = (offset) => `+0x${offset.toString(16)}`;

function edge(step, many) {
  if (step.branches) return step.branches.map((one) => one.label ?? field(one.offset)).join(' or ');
  if (step.label && (step.label[0] === '.' || step.width < WIDE)) return step.label;
  if (step.width >= WIDE) return `${many} of ${format.count(step.width)}`;
  return step.label === null ? '' : field(step.offset);
}

// The run of one class that a step stands for; the last one's goes on beyond the block shown.
function inARow(found, step, i) {
  if (step.branches) {
    const size = i === found.steps.length - 1 && found.tree ? ` of a tree of ${found.chain_exact ? '' : 'at least '}${format.count(found.chain)}` : '';
    return `${format.count(step.repeated)} levels${size}`;
  }
  const whole = i === found.steps.length - 1 && found.chain > step.repeated ? found.chain : 0;
  if (!whole) return step.repeated > 1 ? `${format.count(step.repeated)} in a row` : '';
  const all = `${found.chain_exact ? '' : 'at least '}${format.count(whole)}`;
  return `${step.repeated > 1 ? `${format.count(step.repeated)} of ` : ''}${all} in a row`;
}

// Where things pile up on a path.
function pileWords({ pile }) {
  if (!pile) return null;
  const classes = pile.root ? rootName(pile.root) : pile.classes.map((one) => className(one.class)).join(' \u2192 ');
  const shape = pile.tree ? `in a tree of ${format.count(pile.many)}:` : pile.chain ? `in a chain of ${format.count(pile.many)}:` : `as one of ${format.count(pile.many)} pointers in`;
  return el('p', { class: 'pile' }, `Piles up ${shape} `, el('strong', {}, classes));
}

function path(found, open) {
  return el('details', { open }, el('summary', {}, `${found.also ? 'nearly as short, ' : ''}to ${className(found.class)}, from ${rootName(found.root)}`,
    found.sampled > 1 ? el('span', { class: 'dim' }, ` \u00b7 ${found.sharing} of ${found.sampled} looked at are held so`) : null),
  pileWords(found),
  el('ol', { class: 'stack' }, el('li', { class: 'is-title' }, rootName(found.root)), found.steps.map((step, i) => el('li', {},
    el('span', { class: 'edge' }, `\u2192 ${edge(step, 'one')}${step.width >= WIDE && step.label?.[0] !== '.' ? ' pointers' : ''}`),
    className(step.class), inARow(found, step, i) ? el('span', { class: 'note' }, inARow(found, step, i)) : null,
    el('span', { class: 'source' }, format.bytes(step.size))))));
}

// What refers to a class, and what to that: a tree with counts, chains called out.
function referrers(found) {
  const tree = found.referrers;
  if (!tree?.rows.length) return null;
  const name = (row) => (row.root ? rootName(row.root) : row.classes.map(className).join(' \u2190 '));
  const length = (row) => (row.least === row.most ? format.count(row.most) : `${format.count(row.least)} to ${format.count(row.most)}`);
  return el('details', {}, el('summary', {}, `${className(found.class)}: referred from`,
    el('span', { class: 'dim' }, ` \u00b7 ${format.count(tree.sampled)} of ${format.many(tree.held, 'block')} followed`)),
  el('table', { class: 'plain-table' }, el('tbody', {}, tree.rows.map((row) => {
    const cell = el('td', {}, row.depth ? '\u2190 ' : '', name(row), row.most > 1 ? el('span', { class: 'note' }, `chain of ${length(row)}`) : null);
    cell.style.paddingLeft = `${row.depth * 18 + 8}px`;
    return el('tr', {}, el('td', { class: 'number' }, format.percent(row.blocks / tree.sampled), bar(row.blocks / tree.sampled)), cell);
  }))));
}

// What the boxes of the picture say of a path; the deepest class with what it holds.
export function drawn(found, classesOf) {
  const steps = found.steps.map((step, i) => {
    const total = i === found.steps.length - 1 ? classesOf.find((one) => className(one) === className(step.class)) : null;
    const repeated = inARow(found, step, i);
    return {
      name: className(step.class),
      edge: edge(step, '1'),
      second: [repeated, total ? held({ bytes: total.bytes, blocks: total.count }) : repeated ? '' : format.bytes(step.size)].filter(Boolean).join(', '),
    };
  });
  return [{ name: rootName(found.root), edge: '' }, ...steps];
}

const sameRoot = (one, other) => ['kind', 'name', 'module', 'address', 'offset', 'tid'].every((key) => one[key] === other[key]);

// A root, and below it the ways from it to what it holds.
function rootCell(root, paths, first) {
  const own = paths.filter((found) => sameRoot(found.root, root));
  return own.length ? el('details', { open: first }, el('summary', {}, rootName(root)), own.map((one, i) => path(one, first && !i))) : rootName(root);
}

const unreachable = (one) => (one.unreachable.bytes ? format.bytes(one.unreachable.bytes) : '');

// With what each held at every run, the greatest integral of that over time first.
function classes(found) {
  const names = distinctNames(found.classes);
  if (!found.runs) {
    return list('Classes', [['Bytes', true], ['Blocks', true], ['Unreachable', true], ['Class']],
      found.classes.map((one) => [format.bytes(one.bytes), format.count(one.count), unreachable(one), names.get(one)]));
  }
  return list(`Classes, by bytes \u00d7 time over ${found.runs.length} runs`,
    [['Bytes \u00d7 time', true], ['Over time'], ['Bytes', true], ['Blocks', true], ['Unreachable', true], ['Class']],
    found.classes.map((one) => [one.evolution ? `${format.bytes(one.integral_byte_s)}\u00b7s` : '', one.evolution ? sparkline(one.evolution, 120, 20) : '',
      format.bytes(one.bytes), format.count(one.count), unreachable(one), names.get(one)]));
}

// The culprit first: as text has them. What a root alone holds can be nothing where two lead to it.
const rootsByReach = (found) => [...found.roots].sort((a, b) => b.led_bytes - a.led_bytes || b.retained_bytes - a.retained_bytes);

// Paths in the order of their roots.
function byReach(found) {
  const roots = rootsByReach(found);
  const rank = (one) => {
    const at = roots.findIndex((root) => sameRoot(root, one.root));
    return at < 0 ? roots.length : at;
  };
  return [...found.paths].sort((a, b) => rank(a) - rank(b));
}

function picture(found) {
  const others = found.paths.filter((one) => !rootsByReach(found).slice(0, FIRST).some((root) => sameRoot(one.root, root)));
  const total = found.totals.unreachable.bytes + found.totals.held.bytes + found.totals.untracked.bytes || 1;
  return [
    el('h3', {}, `${found.comm} `, el('span', { class: 'dim' }, `PID ${found.pid}`)),
    el('p', { class: 'help' }, found.picture.stopped ? `Stopped for ${(found.picture.pause_ns / 1e6).toFixed(1)} ms to take the picture.`
      : `Not stopped for the picture: ${found.picture.why_not_stopped ?? ''}`),
    totals(found),
    found.runs ? evolution(found.runs, found.classes, (one) => distinctNames(found.classes).get(one)) : null,
    list('Unreachable', [['Nothing points to', true], ['and with them', true], ['held from there', true], ['What']], found.leaks.map(leakRow)),
    found.paths.length ? [el('h3', { class: 'graph-title' }, 'From roots to classes'), pathGraph(byReach(found).map((one) => drawn(one, found.classes)))] : null,
    list('Roots, by what the shortest paths from them reach', [['Reached', true], ['Share', true], ['Blocks', true], ['Held alone', true], ['Root']],
      rootsByReach(found).map((root, i) => [format.bytes(root.led_bytes), [format.percent(root.led_bytes / total), bar(root.led_bytes / total)],
        format.count(root.led_blocks), format.bytes(root.retained_bytes), rootCell(root, found.paths, !i)])),
    found.paths.some((one) => one.referrers) ? [el('h3', {}, 'Referred from'), found.paths.map(referrers)] : null,
    classes(found),
    others.length ? [el('h3', {}, 'Shortest paths from other roots'), others.map((one) => path(one, false))] : null,
  ];
}

export function retentionHeader(data) {
  const [first] = data.retention;
  const title = data.retention.length > 1 ? `${data.retention.length} processes` : first.comm || `PID ${first.pid}`;
  document.title = `${title}: who holds it \u2013 leakmon`;
  return el('header', {}, brand(), el('h1', {}, title),
    el('p', { class: 'where' }, format.dateTime(Date.parse(first.time) / 1000)));
}

export function retention(data) {
  const pictures = [data.retention ?? []].flat().filter((found) => found.totals);
  if (!pictures.length) return null;
  return el('section', { id: 'retention', 'aria-labelledby': 'retention-title' },
    el('div', { class: 'title' }, el('h2', { id: 'retention-title' }, 'Who holds it')), pictures.flatMap(picture).flat(2));
}
