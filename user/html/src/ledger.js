// SPDX-License-Identifier: GPL-2.0-or-later
// The ledger, and what was lost on the way.
import { el, prose } from './dom.js';
import * as format from './format.js';

const term = (value, label, kind) => el('div', { class: `term${kind ? ` is-${kind}` : ''}` }, el('strong', {}, value), el('span', {}, label));
const operator = (text) => el('span', { class: 'operator' }, text);

// By cause, a figure is an object.
const total = (figure) => (typeof figure === 'object' ? Object.values(figure).reduce((sum, count) => sum + count, 0) : figure);
const written = (term, ledger) => (term.figure.endsWith('_bytes') ? format.bytes : format.count)(total(ledger[term.figure]));

const unitless = (label) => label.replace(/^bytes /, '');

function equation(family, ledger) {
  const terms = family.terms.filter(({ place }) => place === 'sum' || place === 'part');
  return el('div', { class: 'equation', role: 'group', 'aria-label': `Ledger: ${family.title}` }, terms.flatMap((each, i) => [
    i ? operator(i === 1 ? '=' : '+') : null,
    term(written(each, ledger), unitless(each.label), each.figure === 'dropped' && total(ledger.dropped) ? 'warning' : ''),
  ]));
}

function beside(family, ledger) {
  const notes = family.terms.filter(({ figure, place }) => (place === 'beside' || place === 'lost') && ledger[figure])
    .map((each) => `${written(each, ledger)} ${unitless(each.label)}`);
  return notes.length ? el('p', { class: 'help' }, `Beside it: ${notes.join('; ')}.`) : null;
}

function losses(list) {
  if (!list.length) return el('p', {}, 'Nothing was lost.');
  return el('table', { class: 'plain-table' },
    el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'What'), el('th', { scope: 'col' }, 'Cause'), el('th', { scope: 'col', class: 'number' }, 'Count'), el('th', { scope: 'col' }, 'What to do'))),
    el('tbody', {}, list.map((loss) => el('tr', {}, el('td', { 'data-head': 'What' }, loss.kind), el('td', { 'data-head': 'Cause' }, loss.cause.replaceAll('_', ' ')),
      el('td', { class: 'number', 'data-head': 'Count' }, format.count(loss.count)), el('td', { class: 'late', 'data-head': 'What to do' }, prose(loss.advice))))));
}

function part(data, families, title) {
  return [title ? el('h3', {}, title) : null,
    ...families.filter(({ section, terms }) => terms.length && data[section])
      .flatMap((family) => [equation(family, data[family.section]), beside(family, data[family.section])]),
    losses(data.losses)];
}

export function ledger(data) {
  if (data.kind !== 'diff' && !data.ledger) return null;
  const cost = data.cost ? el('p', { class: 'help' }, `leakmon itself: ${data.cost.cpu_s.toFixed(2)} s of CPU time, ${format.bytes(data.cost.rss_bytes)} of memory.`) : null;
  return el('section', { id: 'ledger', 'aria-labelledby': 'ledger-title' },
    el('div', { class: 'title' }, el('h2', { id: 'ledger-title' }, 'Ledger and losses')),
    data.kind === 'diff' ? [...part(data.before, data.families, 'Before'), ...part(data.after, data.families, 'After')] : part(data, data.families, null), cost);
}
