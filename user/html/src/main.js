// SPDX-License-Identifier: GPL-2.0-or-later
import { el } from './dom.js';
import { ledger } from './ledger.js';
import { comparison, evolution } from './chart.js';
import { fleet } from './fleet.js';
import { flame } from './flame.js';
import { calls } from './calls.js';
import { diagnosis, storedAnswers } from './diagnosis.js';
import { diffHeader, reportHeader } from './header.js';
import { changedMemory, memoryHeader, memorySection } from './memory.js';
import { decode } from './model.js';
import { home } from './home.js';
import { follow, keep, keptOf, restore } from './live.js';
import { profile } from './profile.js';
import { retention, retentionHeader } from './retention.js';
import { makeRows, visibleSites } from './rows.js';
import { makeState } from './state.js';
import { table } from './table.js';
import { threadsPage } from './tasks.js';
import { changedThreads, threads } from './threads.js';
import { toolbar } from './toolbar.js';

// What the views share beside the state: the sites and rows that it leaves, and how they reach
// one another.
function makeView(model, state) {
  const view = { reveal() {}, focusFlame() {} };
  const refresh = () => {
    view.sites = visibleSites(model, state);
    view.rows = makeRows(model, state, view.sites);
  };
  refresh();
  state.listen((changed) => ['query', 'group', 'process', 'family'].some((key) => changed.has(key)) && refresh());
  return view;
}

// By what stays the same from report to report: places in lists do not.
function choicesOf(model, { from, to, query, group, process, measure, family, flame, calls: chosen }) {
  const pid = model.processes[process]?.pid;
  const all = from === 0 && to === model.last;
  return { query, group, measure, family, flame, calls: chosen, pid, from: all ? null : model.times[from], to: to === model.last ? null : model.times[to] };
}

function choicesKept(model) {
  const { query, group, measure, family, flame, calls: chosen, pid, from, to } = keptOf('choices') ?? {};
  if (query === undefined) return {};
  const process = model.processes.findIndex((one) => one.pid === pid);
  const at = (time, otherwise) => (time === null ? otherwise : Math.max(model.times.findIndex((one) => one >= time), 0));
  return {
    query, group, measure, flame, calls: chosen, process: process < 0 ? '' : String(process), from: at(from, 0), to: at(to, model.last),
    ...(model.families.some(({ name }) => name === family) ? { family } : {}),
  };
}

function sections(model) {
  const { data } = model;
  const diff = model.kind === 'diff';
  model.family = (model.families.find(({ overlaps }) => !overlaps) ?? model.families[0])?.name ?? 'heap';
  const state = makeState({
    from: 0, to: model.last, query: '', group: data.by ?? 'site', process: '', measure: 'bytes',
    family: model.family, flame: diff ? 'change' : 'retained', calls: '', ...choicesKept(model),
  });
  keep('choices', () => choicesOf(model, state), () => {});
  const view = makeView(model, state);
  return [
    diff ? diffHeader(model) : reportHeader(model),
    ...storedAnswers(data),
    diff ? null : fleet(data),
    toolbar(model, state),
    model.evolves ? evolution(model, state, view) : diff ? comparison(model, state) : null,
    table(model, state, view), flame(model, state, view), diff ? null : calls(model, state, view),
    diff ? changedMemory(data) : memorySection(data),
    diff ? changedThreads(data) : threads(data), retention(data), ledger(data),
  ];
}

const data = JSON.parse(document.getElementById('data').textContent);
const PAGES = {
  retention: () => [retentionHeader(data), retention(data)],
  triage: () => home(data),
  profile: () => { const [header, ...rest] = profile(data); return [header, ...storedAnswers(data), ...rest]; },
  diagnosis: () => diagnosis(data),
  threads: () => threadsPage(data),
  memory: () => [memoryHeader(data), memorySection(data)],
};
const parts = (PAGES[data.kind] ?? (() => sections(decode(data))))();
const live = el('p', { class: 'live', role: 'status', hidden: true });
document.getElementById('page').append(live, ...parts.filter(Boolean),
  el('footer', {}, `Made by leakmon ${data.version}. This page holds all it shows, and loads nothing from elsewhere.`));
restore();
// What the server says stands behind the page.
addEventListener('load', () => follow(live));
