// SPDX-License-Identifier: GPL-2.0-or-later
// Dead threads: in a report's processes, in the shape of user/schema/report.schema.json.
import { el } from './dom.js';
import { stackList } from './detail.js';
import * as format from './format.js';

const plainFrame = (frame) => ({
  name: frame.function ?? (frame.module ? `${format.fileName(frame.module)}+0x${(frame.module_offset ?? 0).toString(16)}` : `0x${frame.address.toString(16)}`),
  named: Boolean(frame.function), why: frame.why, inlined: frame.inlined, module: frame.module,
  moduleName: frame.module ? format.fileName(frame.module) : '', source: frame.file ? [frame.file, frame.line].filter(Boolean).join(':') : '',
});

export const plainStack = (frames) => (frames ?? []).map(plainFrame);

const ended = (found) => (found.oldest_ms === null || found.oldest_ms === undefined ? ''
  : ` \u00b7 the oldest ended ${format.duration(found.oldest_ms / 1000)} ago`);

function holding(found) {
  const heap = found.heap_count ? ` and ${format.bytes(found.heap_bytes)} of heap in ${format.many(found.heap_count, 'block')}` : '';
  return `stacks: ${format.bytes(found.stack_bytes)} mapped, ${format.bytes(found.resident_bytes)} resident${heap}`;
}

function group(found) {
  const [start] = plainStack(found.start_routine?.frames);
  return el('details', { open: true },
    el('summary', {}, el('strong', {}, format.many(found.count, 'thread')), ' that ran ', el('code', {}, start?.name ?? 'an unknown function'),
      start?.source ? el('span', { class: 'source' }, start.source) : null,
      el('span', { class: 'dim' }, ` \u00b7 ${holding(found)}${ended(found)}`,
        found.before_attach ? ` \u00b7 ${format.count(found.before_attach)} ended before the attach` : '')),
    el('p', { class: 'help' }, 'Created by'), stackList(plainStack(found.frames)));
}

const since = (threads) => (threads.created === undefined ? ''
  : `; since the attach ${format.count(threads.created)} created, ${format.count(threads.joined)} joined, ${format.count(threads.detached)} detached`);

function process({ pid, comm, host, threads }) {
  return el('div', {},
    el('h3', {}, `${comm} `, el('span', { class: 'dim' }, `PID ${pid}${host ? ` on ${host}` : ''}`)),
    el('p', {}, threads.alive === null ? '' : `${format.count(threads.alive)} alive, `,
      el('strong', { class: threads.dead ? 'more' : null }, `${format.count(threads.dead)} dead and not joined`), since(threads)),
    threads.cannot_tell ? el('p', { class: 'note' }, threads.cannot_tell) : null,
    (threads.groups ?? []).map(group));
}

function changedGroup(row) {
  const [start] = plainStack(row.start_routine?.frames);
  const { count, stack_bytes: stacks } = row;
  return el('details', {},
    el('summary', {}, el('span', { class: `verdict is-${row.state}` }, row.state), ' ',
      el('strong', { class: count.difference > 0 ? 'more' : 'less' }, `${format.count(count.difference, true)} threads`),
      ` (${format.count(count.before)} \u2192 ${format.count(count.after)}) that ran `, el('code', {}, start?.name ?? 'an unknown function'),
      start?.source ? el('span', { class: 'source' }, start.source) : null,
      el('span', { class: 'dim' }, ` \u00b7 ${format.bytes(stacks.difference, true)} of stacks in ${row.comm}`)),
    el('p', { class: 'help' }, 'Created by'), stackList(plainStack(row.frames)));
}

// Of a difference: user/schema/diff.schema.json.
export function changedThreads(data) {
  if (!data.dead_threads?.length) return null;
  return el('section', { id: 'threads', 'aria-labelledby': 'threads-title' },
    el('div', { class: 'title' }, el('h2', { id: 'threads-title' }, 'Dead threads')), data.dead_threads.map(changedGroup));
}

// Where nobody followed threads, `dead` is null.
export function threads(data) {
  const followed = (data.processes ?? []).filter((one) => typeof one.threads?.dead === 'number');
  if (!followed.length) return null;
  return el('section', { id: 'threads', 'aria-labelledby': 'threads-title' },
    el('div', { class: 'title' }, el('h2', { id: 'threads-title' }, 'Dead threads')), followed.map(process));
}

function liveGroup(found) {
  const [start] = plainStack(found.start_routine?.frames);
  const waits = found.waits?.[0];
  return el('details', {},
    el('summary', {}, el('strong', {}, found.main ? 'The main thread' : format.many(found.count, 'thread')),
      found.main ? null : [' that run ', el('code', {}, start?.name ?? 'an unknown function')],
      typeof found.first_count === 'number' && found.first_count !== found.count
        ? el('strong', { class: found.count > found.first_count ? 'more' : 'less' }, ` ${format.count(found.count - found.first_count, true)}`) : null,
      el('span', { class: 'dim' }, waits?.label ? ` \u00b7 ${format.count(waits.count)} in ${waits.label}` : '',
        found.before_attach ? ' \u00b7 from before the attach' : '')),
    found.frames?.length ? [el('p', { class: 'help' }, 'Created by'), stackList(plainStack(found.frames))] : null,
    waits?.frames?.length ? [el('p', { class: 'help' }, 'Waits at'), stackList(plainStack(waits.frames))] : null);
}

// Of `leakmon threads`: user/schema/threads.schema.json.
export function liveThreads(data) {
  const found = (data.processes ?? []).filter((one) => one.threads?.live?.length);
  if (!found.length) return null;
  return el('section', { id: 'live-threads', 'aria-labelledby': 'live-threads-title' },
    el('div', { class: 'title' }, el('h2', { id: 'live-threads-title' }, 'Live threads')),
    found.map(({ pid, comm, threads: { live } }) => el('div', {},
      el('h3', {}, `${comm} `, el('span', { class: 'dim' }, `PID ${pid}`)), live.map(liveGroup))));
}
