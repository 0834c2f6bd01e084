// SPDX-License-Identifier: GPL-2.0-or-later
// What is shown, of everything: search, grouping, process, family, measure.
import { el, segmented, select } from './dom.js';
import { GROUPS, containerName, processName } from './rows.js';

function processChoice(model, state) {
  if (model.processes.length < 2 || model.kind === 'diff') return null;
  const choices = model.processes.map((process, i) => [String(i), `${processName(process)}${process.exited ? ', ended' : ''}`]);
  return select('Process', [['', 'all'], ...choices], state.process, (process) => state.set({ process }));
}

function groupChoice(model, state) {
  const useful = GROUPS.filter(([key]) => (key !== 'process' || model.processes.length > 1) &&
    (key !== 'host' || model.data.builds) && (key !== 'container' || new Set(model.processes.map(containerName)).size > 1));
  return select('Group by', useful, state.group, (group) => state.set({ group }));
}

function familyChoice(model, state) {
  if (model.families.length < 2) return null;
  return segmented('Kind of memory', model.families.map(({ name, title }) => [name, title]), state.family, (family) => state.set({ family }));
}

export function toolbar(model, state) {
  let timer;
  const search = el('input', { type: 'search', id: 'search', placeholder: 'Function, file, module, verdict \u2026', 'aria-label': 'Search', value: state.query || null, autocomplete: 'off', spellcheck: 'false' });
  search.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => state.set({ query: search.value.trim() }), 80);
  });
  addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target.closest?.('input, select')) return;
    event.preventDefault();
    search.focus();
    search.select();
  });
  return el('div', { class: 'toolbar', role: 'search', 'aria-label': 'What is shown' },
    el('div', { class: 'search' }, search, el('kbd', { 'aria-hidden': 'true' }, '/')),
    groupChoice(model, state), processChoice(model, state), familyChoice(model, state),
    segmented('Measure', [['bytes', 'Bytes'], ['blocks', 'Blocks']], state.measure, (measure) => state.set({ measure })));
}
