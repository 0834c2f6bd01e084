// SPDX-License-Identifier: GPL-2.0-or-later
// The ledger, and what was lost on the way.
import { el } from './dom.js';
import * as format from './format.js';

const term = (value, label, kind) => el('div', { class: `term${kind ? ` is-${kind}` : ''}` }, el('strong', {}, format.count(value)), el('span', {}, label));
const operator = (text) => el('span', { class: 'operator' }, text);

const dropped = (ledger) => Object.values(ledger.dropped).reduce((sum, count) => sum + count, 0);

const NOTES = [
  ['untracked_frees', 'frees of blocks from before the attach'],
  ['inherited_frees', 'frees by a child of what its parent had allocated'],
  ['filtered', 'allocations outside --min-size and --max-size'],
  ['unsampled', 'allocations that the sample left out'],
  ['failed', 'calls that gave no memory'],
  ['abandoned', 'calls that never returned'],
];

function equation(ledger) {
  return el('div', { class: 'equation', role: 'group', 'aria-label': 'The books' },
    term(ledger.allocations, 'allocations'), operator('='), term(ledger.frees, 'frees'), operator('+'),
    term(ledger.outstanding, 'outstanding'), operator('+'), term(ledger.purged, 'purged'), operator('+'),
    term(dropped(ledger), 'dropped', dropped(ledger) ? 'warning' : ''));
}

function losses(list) {
  if (!list.length) return el('p', {}, 'Nothing was lost.');
  return el('table', { class: 'plain-table' },
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'What'), el('th', { scope: 'col' }, 'Cause'), el('th', { scope: 'col', class: 'number' }, 'Count'), el('th', { scope: 'col' }, 'What to do'))),
    el('tbody', {}, list.map((loss) => el('tr', {}, el('td', {}, loss.kind), el('td', {}, loss.cause.replaceAll('_', ' ')),
      el('td', { class: 'number' }, format.count(loss.count)), el('td', {}, loss.advice)))));
}

function mappings(books) {
  return el('p', {}, `Mappings: ${format.bytes(books.mapped_bytes)} mapped = ${format.bytes(books.unmapped_bytes)} unmapped + ` +
    `${format.bytes(books.outstanding_bytes)} outstanding in ${format.many(books.ranges, 'range')} + ${format.bytes(books.purged_bytes)} purged`,
  books.events_lost ? `; ${format.many(books.events_lost, 'event')} lost` : '');
}

function part(data, title) {
  const notes = NOTES.filter(([key]) => data.ledger[key]).map(([key, text]) => `${format.count(data.ledger[key])} ${text}`);
  return [title ? el('h3', {}, title) : null, equation(data.ledger),
    notes.length ? el('p', { class: 'help' }, `Beside the books: ${notes.join('; ')}.`) : null,
    data.mappings ? mappings(data.mappings) : null, losses(data.losses)];
}

export function books(data) {
  if (data.kind !== 'diff' && !data.ledger) return null;
  const cost = data.cost ? el('p', { class: 'help' }, `leakmon itself: ${data.cost.cpu_s.toFixed(2)} s of CPU time, ${format.bytes(data.cost.rss_bytes)} of memory.`) : null;
  return el('section', { id: 'books', 'aria-labelledby': 'books-title' },
    el('div', { class: 'title' }, el('h2', { id: 'books-title' }, 'Ledger and losses')),
    data.kind === 'diff' ? [...part(data.before, 'Before'), ...part(data.after, 'After')] : part(data, null), cost);
}
