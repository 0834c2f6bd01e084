// SPDX-License-Identifier: GPL-2.0-or-later
// Dead threads, in the shape of `leakmon threads --format json`.
import { el } from './dom.js';
import { stackList } from './detail.js';
import * as format from './format.js';

const plainFrame = (frame) => ({
  name: frame.function ?? (frame.module ? `${format.fileName(frame.module)}+0x${(frame.module_offset ?? 0).toString(16)}` : `0x${frame.address.toString(16)}`),
  named: Boolean(frame.function), why: frame.why, inlined: frame.inlined, module: frame.module,
  moduleName: frame.module ? format.fileName(frame.module) : '', source: frame.file ? `${frame.file}:${frame.line}` : '',
});

export const plainStack = (frames) => (frames ?? []).map(plainFrame);

function group(found) {
  const [start] = plainStack(found.start_routine?.frames);
  const stacks = format.bytes(found.stack_bytes);
  return el('details', { open: true },
    el('summary', {}, el('strong', {}, format.many(found.count, 'thread')), ' that ran ', el('code', {}, start?.name ?? 'an unknown function'),
      start?.source ? el('span', { class: 'source' }, start.source) : null,
      el('span', { class: 'dim' }, ` \u00b7 stacks: ${stacks} mapped, ${format.bytes(found.resident_bytes)} resident` +
        (found.oldest_ms === null ? '' : ` \u00b7 oldest ended ${format.duration(found.oldest_ms / 1000)} ago`))),
    el('p', { class: 'help' }, 'Created by'), stackList(plainStack(found.frames)));
}

function process({ pid, comm, threads }) {
  return el('div', {},
    el('h3', {}, `${comm} `, el('span', { class: 'dim' }, `PID ${pid}`)),
    el('p', {}, `${format.count(threads.alive)} alive, `, el('strong', { class: threads.dead ? 'more' : null }, `${format.count(threads.dead)} dead and not joined`),
      `; ${format.count(threads.created)} created, ${format.count(threads.joined)} joined, ${format.count(threads.detached)} detached since the attach`),
    threads.cannot_tell ? el('p', { class: 'note' }, threads.cannot_tell) : null,
    (threads.groups ?? []).map(group));
}

export function threads(data) {
  const processes = (data.threads ?? []).filter((one) => one.threads);
  if (!processes.length) return null;
  return el('section', { id: 'threads', 'aria-labelledby': 'threads-title' },
    el('div', { class: 'title' }, el('h2', { id: 'threads-title' }, 'Dead threads')), processes.map(process));
}
