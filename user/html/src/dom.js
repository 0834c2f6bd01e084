// SPDX-License-Identifier: GPL-2.0-or-later
// Elements. Text is always text: nothing here parses HTML, and nothing may.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const el = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

// Text with `commands` in it.
export const prose = (text) => text.split('`').map((part, i) => (i % 2 ? el('code', {}, part) : part));

// A colour of the current theme, as style.css names it.
export const themeColour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Calls at most once per frame, however often it was asked to.
export function oncePerFrame(call) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      call();
    });
  };
}

// Of several choices one: a radio group that looks like one control.
export function segmented(label, choices, chosen, onChoose) {
  const name = `choice-${segmented.count = (segmented.count ?? 0) + 1}`;
  return el('fieldset', { class: 'segmented' },
    el('legend', { class: 'unseen' }, label),
    choices.map(([value, text, title]) => el('label', { title },
      el('input', { type: 'radio', name, value, checked: value === chosen, onchange: () => onChoose(value) }),
      el('span', {}, text))));
}

export function select(label, choices, chosen, onChoose) {
  const list = el('select', { onchange: () => onChoose(list.value) },
    choices.map(([value, text]) => el('option', { value, selected: value === chosen }, text)));
  return el('label', { class: 'choice' }, el('span', {}, label), list);
}
