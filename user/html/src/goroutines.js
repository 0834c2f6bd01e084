// SPDX-License-Identifier: GPL-2.0-or-later
// Goroutines and threads: in the shape of user/schema/threads.schema.json.
import { el } from './dom.js';
import { stackList } from './detail.js';
import * as format from './format.js';
import { brand } from './header.js';
import { sparkline } from './spark.js';
import { liveThreads, plainStack, threads } from './threads.js';

const SUSPECT = ['leaking', 'growing'];
const own = (frames) => frames.findIndex(({ function: name }) => name && !/^(runtime\.|internal\/)|\.runtime_/.test(name));
const placeOf = ({ frames }) => plainStack(frames)[Math.max(own(frames), 0)];

function place(stack, before) {
  const found = placeOf(stack);
  if (!found) return null;
  const [, base = ''] = /([^/]*)$/.exec(found.source) ?? [];
  return [before, el('code', {}, found.name), base ? el('span', { class: 'source' }, base) : null];
}

function growth({ count, first_count: first, since_ms: since, come, gone, verdict }) {
  if (first === null || (first === count && !come)) return null;
  const moved = gone === null ? '' : gone ? `: ${format.count(come)} came, ${format.count(gone)} left` : ': none has ended';
  return [el('strong', { class: count > first ? 'more' : 'less' }, ` ${format.count(count - first, true)} in ${format.duration(since / 1000)}`), moved,
    verdict ? [' ', el('span', { class: `verdict is-${verdict}` }, verdict)] : null];
}

const waits = ({ longest_wait_ms: most, shortest_wait_ms: least }) => (most === null ? null
  : el('p', { class: 'help' }, `Waiting for at least ${format.duration(least / 1000)}${most - least > 1000 ? ` to ${format.duration(most / 1000)}` : ''}`));

function group(found) {
  return el('details', { open: SUSPECT.includes(found.verdict) },
    el('summary', {}, el('strong', {}, format.many(found.count, 'goroutine')), ` [${found.state}]`,
      place(found.waits_at, ' at '), place(found.created_by, ', created by '), growth(found),
      found.evolution ? sparkline(found.evolution, 120, 18) : null),
    waits(found),
    found.waits_at.frames.length ? [el('p', { class: 'help' }, 'Waits at'), stackList(plainStack(found.waits_at.frames))] : null,
    found.created_by.frames.length ? [el('p', { class: 'help' }, 'Created by'), stackList(plainStack(found.created_by.frames))] : null);
}

function process({ pid, comm, goroutines: found }) {
  const { times = [] } = found;
  const sorted = [...found.groups].sort((a, b) => SUSPECT.includes(b.verdict) - SUSPECT.includes(a.verdict));
  return el('section', { 'aria-label': `Goroutines of ${comm}` },
    el('div', { class: 'title' }, el('h2', {}, `${comm} `, el('span', { class: 'dim' }, `PID ${pid}, Go ${found.version}`))),
    found.cannot_tell ? el('p', { class: 'note' }, found.cannot_tell) : null,
    el('p', {}, `${format.many(found.count, 'goroutine')} in ${format.many(found.groups.length + (found.left_groups ?? 0), 'group')}; `
      + `${format.count(found.system)} of the runtime's own; their stacks: ${format.bytes(found.stack_bytes)}`,
      times.length > 1 ? `; ${format.many(times.length, 'reading')} from ${format.dateTime(Date.parse(times[0]) / 1000)}` : ''),
    found.unread ? el('p', { class: 'note' }, `Inexact: ${format.many(found.unread, 'goroutine')} could not be read.`) : null,
    sorted.map(group));
}

export function goroutines(data) {
  const found = data.processes.filter((one) => one.goroutines);
  return [el('header', {}, brand(), el('h1', {}, found.length ? 'Goroutines' : 'Threads'),
    el('p', { class: 'where' }, format.dateTime(Date.parse(data.time) / 1000), data.since ? `, since ${data.since}` : '')),
  ...found.map(process), threads(data), liveThreads(data)];
}
