// SPDX-License-Identifier: GPL-2.0-or-later
// Goroutines, threads of a JVM and of Python, and threads: in the shape of user/schema/threads.schema.json.
import { el } from './dom.js';
import { stackList } from './detail.js';
import * as format from './format.js';
import { brand } from './header.js';
import { sparkline } from './spark.js';
import { liveThreads, plainStack, threads } from './threads.js';

const SUSPECT = ['leaking', 'growing'];
// Of Go's and Java's own, a caller is of more interest.
const own = (frames) => frames.findIndex(({ function: name }) => name && !/^(runtime\.|internal\/|(javax?|jdk|(com\.)?sun)\.)|\.runtime_/.test(name));
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

function group(found, noun) {
  return el('details', { open: SUSPECT.includes(found.verdict) },
    el('summary', {}, el('strong', {}, format.many(found.count, noun)), ` [${found.state}]`,
      place(found.waits_at, ' at '), place(found.created_by, ', created by '), growth(found),
      found.evolution ? sparkline(found.evolution, 120, 18) : null),
    waits(found),
    found.waits_at.frames.length ? [el('p', { class: 'help' }, 'Waits at'), stackList(plainStack(found.waits_at.frames))] : null,
    found.created_by.frames.length ? [el('p', { class: 'help' }, 'Created by'), stackList(plainStack(found.created_by.frames))] : null);
}

const section = (title, { pid, comm }, runtime, ...parts) => el('section', { 'aria-label': `${title} of ${comm}` },
  el('div', { class: 'title' }, el('h2', {}, `${title} of ${comm} `, el('span', { class: 'dim' }, `PID ${pid}, ${runtime}`))), ...parts);

function tasks(process, found, noun, runtime) {
  const { times = [] } = found;
  const sorted = [...found.groups].sort((a, b) => SUSPECT.includes(b.verdict) - SUSPECT.includes(a.verdict));
  return section(`${noun[0].toUpperCase()}${noun.slice(1)}s`, process, `${runtime} ${found.version ?? ''}`,
    found.cannot_tell ? el('p', { class: 'note' }, found.cannot_tell) : null,
    el('p', {}, `${format.many(found.count, noun)} in ${format.many(found.groups.length + (found.left_groups ?? 0), 'group')}; `,
      found.system ? `${format.count(found.system)} of the runtime's own; ` : '', `their stacks: ${format.bytes(found.stack_bytes)}`,
      times.length > 1 ? `; ${format.many(times.length, 'reading')} from ${format.dateTime(Date.parse(times[0]) / 1000)}` : ''),
    found.unread ? el('p', { class: 'note' }, `Inexact: ${format.many(found.unread, noun)} could not be read.`) : null,
    found.moved ? el('p', { class: 'note' }, 'Inexact: a collection came between, and some may be missing.') : null,
    sorted.map((one) => group(one, noun)));
}

function javaGroup({ name, group: of, state, daemon, count, frames }) {
  return el('details', {},
    el('summary', {}, el('strong', {}, format.many(count, 'thread')), ' ', el('code', {}, name), ` [${state}${daemon ? ', daemon' : ''}]`,
      of ? [' of group ', el('code', {}, of)] : null, place({ frames }, ' at ')),
    frames.length ? stackList(plainStack(frames)) : el('p', { class: 'help' }, 'It ran, or its stack could not be read'));
}

const javaLocal = ({ class: name, thread, virtual, count }) => el('li', {}, `${format.count(count)} of class `, el('code', {}, name),
  virtual ? ', of virtual threads' : [', of thread ', el('code', {}, thread)]);

function javaThreads(process, found) {
  const { gone_local_values: gone = 0 } = found;
  return section('Java threads', process, `JVM ${found.version ?? ''}`,
    found.cannot_tell ? el('p', { class: 'note' }, found.cannot_tell)
      : el('p', {}, `${format.many(found.count, 'thread')} in ${format.many(found.groups.length, 'group')}, ${format.count(found.daemons)} of them daemons`, found.ended === undefined ? null : `; ${format.count(found.ended)} have ended since the start`),
    gone ? [el('p', { class: 'note' }, `${format.many(gone, 'value')} of ThreadLocals that are gone: without remove(), they live as long as their thread`),
      el('ul', {}, found.gone_locals.map(javaLocal))] : null,
    found.groups.map(javaGroup));
}

function pythonThreads(process, found) {
  return section('Python threads', process, `CPython ${found.version ?? ''}`,
    found.cannot_tell ? el('p', { class: 'note' }, found.cannot_tell) : null,
    found.groups.map(({ count, frames }) => el('details', {},
      el('summary', {}, el('strong', {}, format.many(count, 'thread')), place({ frames }, ' at ')), stackList(plainStack(frames)))));
}

const KINDS = {
  goroutines: (process, found) => tasks(process, found, 'goroutine', 'Go'),
  virtual_threads: (process, found) => tasks(process, found, 'virtual thread', 'JVM'),
  java_threads: javaThreads,
  python: pythonThreads,
};

const sections = (process) => Object.entries(KINDS).map(([key, show]) => (process[key] ? show(process, process[key]) : null));

export function threadsPage(data) {
  const goroutines = data.processes.some((one) => one.goroutines);
  return [el('header', {}, brand(), el('h1', {}, goroutines ? 'Goroutines' : 'Threads'),
    el('p', { class: 'where' }, format.dateTime(Date.parse(data.time) / 1000), data.since ? `, since ${data.since}` : '')),
  ...data.processes.flatMap(sections), threads(data), liveThreads(data)];
}
