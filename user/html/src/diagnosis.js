// SPDX-License-Identifier: GPL-2.0-or-later
// The answer of `leakmon diagnose`, as text has it, and the evidence behind it.
import { stackList } from './detail.js';
import { el, prose } from './dom.js';
import * as format from './format.js';
import { brand } from './header.js';
import { pathGraph } from './graph.js';
import { className, drawn } from './retention.js';
import { plainStack } from './threads.js';

const CALM = ['no-leak', 'unknown'];

function process(found) {
  const stack = plainStack(found.code?.frames ?? found.sampled?.frames);
  const parts = [
    stack.length ? [el('h3', {}, 'Code'), stackList(stack)] : null,
    found.classes.length ? [el('h3', {}, 'Classes that became more'), el('ul', {}, found.classes.map((one) => el('li', {}, typeof one.class === 'object' ? className(one.class) : className(one))))] : null,
    found.holder?.steps ? [el('h3', {}, 'Holder'), pathGraph([drawn(found.holder, [])])] : null,
  ].filter(Boolean);
  if (!parts.length) return null;
  return el('section', {}, el('div', { class: 'title' }, el('h2', {}, found.comm, el('span', { class: 'dim' }, ` PID ${found.pid}`))), parts.flat(2));
}

// Answers that a recording has (record --diagnose), the latest first.
export function storedAnswers(data) {
  return [...data.diagnoses ?? []].reverse().map((one) => el('section', { class: 'stored' },
    el('p', { class: 'help' }, `Diagnosis of ${one.comm} (PID ${one.pid}), ${format.dateTime(Date.parse(one.time) / 1000)}, because ${one.because}:`),
    el('pre', { class: one.text[0]?.includes(': leaks:') || one.text[0]?.includes(': grows:') ? 'answer' : 'answer is-calm' }, prose(one.text.join('\n')))));
}

export function diagnosis(data) {
  const title = data.processes.length === 1 ? data.processes[0].comm : format.many(data.processes.length, 'process').replace('processs', 'processes');
  const calm = data.processes.every(({ verdict }) => CALM.includes(verdict));
  document.title = `${title}: diagnosis \u2013 leakmon`;
  return [
    el('header', {}, brand(), el('h1', {}, title), el('p', { class: 'where' }, format.dateTime(Date.parse(data.time) / 1000)),
      el('pre', { class: calm ? 'answer is-calm' : 'answer' }, prose(data.answer.join('\n').trimEnd()))),
    ...data.processes.map(process),
  ];
}
