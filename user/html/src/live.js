// SPDX-License-Identifier: GPL-2.0-or-later
// `leakmon --listen` serves this page anew with each report. The page then asks for the next one,
// and goes on with it where its reader is: search, choices, open rows, zoom, scrolling, focus.
const KEY = 'leakmon-place';
const parts = [];

function taken() {
  try {
    const text = sessionStorage.getItem(KEY);
    sessionStorage.removeItem(KEY);
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
const place = taken();

// What a part of the page was left as, before it is made; undefined: this is the first report.
export const keptOf = (name) => place[name];

// A part whose place is kept: save() gives something that JSON can hold, load() gets it back once
// all of the page is there.
export function keep(name, save, load) {
  parts.push([name, save, load]);
}

// Figures in a summary change from report to report; its words tell which one it is.
function openings() {
  const seen = new Map();
  return [...document.querySelectorAll('#page details')].map((details) => {
    const words = details.dataset.key ?? details.querySelector('summary')?.textContent.replace(/[+~\-]?[\d.,]+ ?[KMGT]?i?[B%]?/g, '') ?? '';
    const nth = (seen.get(words) ?? 0) + 1;
    seen.set(words, nth);
    return [details, `${words}#${nth}`];
  });
}
function reopen(open) {
  const known = new Set(open);
  for (const [details, key] of openings()) details.open = known.has(key);
}
// Rows of home have their evidence, and what opens in it, when they are open themselves.
keep('open', () => openings().filter(([details]) => details.open).map(([, key]) => key), (open) => {
  reopen(open);
  setTimeout(() => reopen(open), 50);
});
keep('scroll', () => [scrollX, scrollY], ([x, y]) => scrollTo({ left: x, top: y, behavior: 'instant' }));
keep('focus', () => {
  const { id, dataset, selectionStart, selectionEnd } = document.activeElement ?? {};
  return { id, key: dataset?.key, selection: selectionStart === undefined ? null : [selectionStart, selectionEnd] };
}, ({ id, key, selection }) => {
  const found = (id && document.getElementById(id)) || (key && document.querySelector(`.expand[data-key="${CSS.escape(key)}"]`));
  found?.focus({ preventScroll: true });
  if (selection && found?.setSelectionRange) found.setSelectionRange(...selection);
});

export function restore() {
  const load = () => {
    for (const [name, , loadPart] of parts) if (place[name] !== undefined) loadPart(place[name]);
  };
  // Tables and graphs are drawn in the next frame.
  if (Object.keys(place).length) requestAnimationFrame(() => requestAnimationFrame(load));
}

// Nobody is interrupted who selects, drags, types or chooses.
let pressed = false;
addEventListener('pointerdown', () => (pressed = true));
for (const name of ['pointerup', 'pointercancel']) addEventListener(name, () => (pressed = false));
let typed = 0;
addEventListener('input', () => (typed = performance.now()));
const busy = () => pressed || document.hidden || String(getSelection()) || document.activeElement?.tagName === 'SELECT' || performance.now() - typed < 1000;

function go() {
  const left = Object.fromEntries(parts.map(([name, save]) => [name, save()]));
  try {
    sessionStorage.setItem(KEY, JSON.stringify(left));
  } catch {
    return; // without a place to keep it, the page stays as it is
  }
  location.reload();
}

async function look(shown, status) {
  if (busy()) return;
  try {
    const answer = await fetch(location.href, { cache: 'no-store' });
    const text = await answer.text();
    status.textContent = 'live';
    status.classList.remove('is-late');
    if (answer.ok && text.includes('id="data"') && !text.includes(shown) && !busy()) go();
  } catch {
    status.textContent = 'leakmon has ended: the last report';
    status.classList.add('is-late');
  }
}

export function follow(status) {
  const interval = Number(document.querySelector('meta[name="leakmon-interval"]')?.content);
  if (!(interval > 0) || !location.protocol.startsWith('http')) return;
  const shown = document.getElementById('data').textContent;
  status.hidden = false;
  status.textContent = 'live';
  setInterval(() => look(shown, status), Math.max(interval, 1000));
}
