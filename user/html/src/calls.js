// SPDX-License-Identifier: GPL-2.0-or-later
// One function, what calls it and what it calls, each with what its call stacks hold: two trees.
import { el, select } from './dom.js';
import * as format from './format.js';

const FUNCTIONS = 200;
const ROWS = 12;
const OPEN = 3; // steps that are open at once where there is but one way

const heldBy = (state) => (site) => site.series[state.measure][state.to];

// Every function with what its stacks hold, each stack counted once.
function functions(sites, held) {
  const found = new Map();
  for (const site of sites) {
    const value = held(site);
    if (!value) continue;
    for (const frame of new Map(site.stack.map((one) => [one.key, one])).values()) {
      const one = found.get(frame.key);
      if (one) one.total += value;
      else found.set(frame.key, { frame, total: value });
    }
  }
  return [...found.values()].sort((a, b) => b.total - a.total);
}

// Stacks at a frame of theirs, by the next frame: step 1 is towards the root.
function next(at, step, held) {
  const groups = new Map();
  for (const [site, index] of at) {
    const frame = site.stack[index + step];
    if (!frame) continue;
    const group = groups.get(frame.key) ?? { frame, total: 0, at: [] };
    group.total += held(site);
    group.at.push([site, index + step]);
    groups.set(frame.key, group);
  }
  return [...groups.values()].sort((a, b) => b.total - a.total);
}

function line({ frame, total }, all, state) {
  return [el('span', { class: 'number' }, format.amount(total, state.measure)), el('span', { class: 'number dim' }, format.percent(total / all)),
    el('span', { class: 'function' }, frame.name), frame.sourceShort ? el('span', { class: 'source', title: frame.source }, ` ${frame.sourceShort}`) : null];
}

function tree(at, step, all, state, depth = 0) {
  const groups = next(at, step, heldBy(state));
  return [groups.slice(0, ROWS).map((group) => {
    const further = group.at.some(([site, index]) => site.stack[index + step]);
    if (!further) return el('p', { class: 'call' }, line(group, all, state));
    const details = el('details', { class: 'call' }, el('summary', {}, line(group, all, state)));
    // Deep trees are made as they are opened.
    const fill = () => details.children.length === 1 && details.append(...tree(group.at, step, all, state, depth + 1).flat().filter(Boolean));
    details.addEventListener('toggle', () => details.open && fill());
    if (groups.length === 1 && depth < OPEN) {
      details.open = true;
      fill();
    }
    return details;
  }), groups.length > ROWS ? el('p', { class: 'note' }, `and ${format.count(groups.length - ROWS)} more`) : null];
}

export function calls(model, state, view) {
  const body = el('div', { class: 'calls' });
  const choice = el('div', {});
  const side = (title, at, step, all) => {
    const rows = tree(at, step, all, state).flat().filter(Boolean);
    return el('div', {}, el('h3', {}, title), rows.length ? rows : el('p', { class: 'help' }, 'none'));
  };
  function show() {
    const list = functions(view.sites, heldBy(state));
    const { key } = list.find(({ frame }) => frame.key === state.calls)?.frame
      ?? [...view.sites].sort((a, b) => heldBy(state)(b) - heldBy(state)(a))[0]?.title ?? {};
    const chosen = list.find(({ frame }) => frame.key === key) ?? list[0];
    choice.replaceChildren();
    body.replaceChildren(chosen ? '' : el('p', { class: 'help' }, 'Nothing matches.'));
    if (!chosen) return;
    const offered = list.slice(0, FUNCTIONS);
    if (!offered.includes(chosen)) offered.push(chosen);
    choice.append(select('Function', offered.map(({ frame, total }) => [frame.key, `${frame.name}  \u00b7  ${format.amount(total, state.measure)}`]),
      chosen.frame.key, (calls_) => state.set({ calls: calls_ })));
    // Of a function that calls itself, the outermost and the innermost.
    const holding = view.sites.filter((site) => heldBy(state)(site)).map((site) => [site, site.stack.map((frame) => frame.key)]);
    const at = (find) => holding.map(([site, keys]) => [site, find(keys)]).filter(([, index]) => index >= 0);
    body.replaceChildren(side('Callers', at((keys) => keys.lastIndexOf(chosen.frame.key)), 1, chosen.total),
      side('Callees', at((keys) => keys.indexOf(chosen.frame.key)), -1, chosen.total));
  }
  state.listen((changed) => !(changed.size === 1 && changed.has('flame')) && show());
  view.showCalls = (site) => {
    state.set({ calls: site.title.key ?? site.stack[site.titleAt].key });
    document.getElementById('calls').scrollIntoView({ block: 'start' });
  };
  show();
  return el('section', { id: 'calls', 'aria-labelledby': 'calls-title' },
    el('div', { class: 'title' }, el('h2', { id: 'calls-title' }, 'Callers and callees'), choice,
      el('p', { class: 'help' }, 'What the call stacks through one function hold')), body);
}
