// SPDX-License-Identifier: GPL-2.0-or-later
// The flame graph, roots on top: what the stacks hold, or what changed. A canvas, for there may be
// tens of thousands of frames; the one that has the focus is told to assistive technology.
import { el, oncePerFrame, segmented, themeColour } from './dom.js';
import * as format from './format.js';
import { keep } from './live.js';
import { wordsOf } from './rows.js';
import { onTheme } from './theme.js';
import { buildTree, leafOf } from './tree.js';

const ROW = 20;
const LEAST = 0.6; // pixels: what is narrower is not drawn
const HUES = 8;
const TINTS = [0, 0.14, 0.28];

function hashOf(text) {
  let hash = 5381;
  for (let i = 0; i < text.length; i++) hash = (hash * 33 ^ text.charCodeAt(i)) >>> 0;
  return hash;
}

// Between two colours, both as #rrggbb.
function mix(one, other, share) {
  const part = (colour, at) => parseInt(colour.slice(at, at + 2), 16);
  return `#${[1, 3, 5].map((at) => Math.round(part(one, at) * (1 - share) + part(other, at) * share).toString(16).padStart(2, '0')).join('')}`;
}

// The place of every node that is wide enough, below the one that is zoomed to.
function layout(top, width) {
  const boxes = [];
  const walk = (at, x, scale, depth) => {
    const wide = at.width * scale;
    if (wide < LEAST) return;
    boxes.push({ at, x, depth, wide });
    for (const child of at.list) {
      walk(child, x, scale, depth + 1);
      x += child.width * scale;
    }
  };
  const path = [];
  for (let at = top.parent; at; at = at.parent) path.unshift(at);
  path.forEach((at, depth) => boxes.push({ at, x: 0, depth, wide: width, above: true }));
  if (top.width) walk(top, 0, width / top.width, path.length);
  return boxes;
}

export function flame(model, state, view) {
  const diff = model.kind === 'diff';
  const several = new Set(model.sites.map((site) => site.process ?? site.comm)).size > 1;
  const canvas = el('canvas', { id: 'flame-canvas', tabindex: '0', role: 'application', 'aria-roledescription': 'flame graph', 'aria-describedby': 'flame-help' });
  const status = el('p', { class: 'readout', id: 'flame-status', 'aria-live': 'polite' });
  const tip = el('div', { class: 'tip', hidden: true });
  const reset = el('button', { type: 'button', class: 'plain', id: 'flame-reset', onclick: () => zoom(root) }, 'Reset zoom');
  let root, top, focus, boxes = [], colours = {};

  const key = el('p', { class: 'key' }, el('span', { class: 'swatch is-more' }), 'grew ', el('span', { class: 'swatch is-less' }), 'shrank ',
    el('span', { class: 'swatch is-same' }), 'same');

  const retained = () => state.flame === 'retained';

  function colourOf(at) {
    if (!at.parent) return colours.root;
    if (retained()) return colours.modules[hashOf(at.frame?.module ?? at.name) % HUES][hashOf(at.name) % TINTS.length];
    if (!at.change) return colours.same;
    const share = Math.sqrt(Math.abs(at.change) / Math.max(root.most, 1));
    const steps = at.change > 0 ? colours.more : colours.less;
    return steps[Math.min(steps.length - 1, Math.floor(share * steps.length))];
  }

  function readColours() {
    const list = (name, count) => Array.from({ length: count }, (_, i) => themeColour(`${name}-${i + 1}`));
    colours = { root: themeColour('flame-root'), same: themeColour('flame-same'), modules: list('flame', HUES).map((colour) => TINTS.map((share) => mix(colour, themeColour('panel'), share))), more: list('more', 5), less: list('less', 5),
      text: themeColour('flame-text'), edge: themeColour('panel'), found: themeColour('found'), foundText: themeColour('found-text'), focus: themeColour('text') };
  }

  const found = (at, words) => words.length && at.frame &&
    words.some((word) => `${at.name}\n${at.frame.source}\n${at.frame.module}`.toLowerCase().includes(word));

  function draw() {
    const width = canvas.parentNode.clientWidth;
    const words = wordsOf(state.query);
    boxes = layout(top, width);
    const rows = boxes.reduce((most, box) => Math.max(most, box.depth), 0) + 1;
    const ratio = devicePixelRatio || 1;
    const context = canvas.getContext('2d');
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(rows * ROW * ratio);
    canvas.style.height = `${rows * ROW}px`;
    context.scale(ratio, ratio);
    context.font = '12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
    context.textBaseline = 'middle';
    const letter = context.measureText('m').width;
    for (const box of boxes) {
      const y = box.depth * ROW;
      context.globalAlpha = box.above ? 0.55 : 1;
      const marked = found(box.at, words);
      context.fillStyle = marked ? colours.found : colourOf(box.at);
      context.fillRect(box.x, y, Math.max(box.wide - 1, 0.5), ROW - 1);
      if (box.wide > 3 * letter) {
        const room = Math.floor((box.wide - 8) / letter);
        const text = box.at.name.length > room ? `${box.at.name.slice(0, Math.max(room - 1, 0))}\u2026` : box.at.name;
        context.fillStyle = marked ? colours.foundText : colours.text;
        if (room > 1) context.fillText(text, box.x + 4, y + ROW / 2);
      }
      if (box.at === focus && document.activeElement === canvas) {
        context.strokeStyle = colours.focus;
        context.lineWidth = 2;
        context.strokeRect(box.x + 1, y + 1, Math.max(box.wide - 3, 1), ROW - 3);
      }
    }
    context.globalAlpha = 1;
    reset.hidden = top === root;
  }

  function sentence(at) {
    const share = retained() ? at.after / (root.after || 1) : null;
    const value = retained() ? `${format.amount(at.after, state.measure)}, ${format.percent(share)} of all`
      : `${format.amount(at.change, state.measure, true)} (${format.amount(at.before, state.measure)} \u2192 ${format.amount(at.after, state.measure)})`;
    const place = [at.frame?.source, at.frame?.moduleName && `[${at.frame.moduleName}]`].filter(Boolean).join(' ');
    return `${at.name}: ${value}${place ? `  \u00b7  ${place}` : ''}`;
  }

  function say() {
    status.textContent = sentence(focus);
    canvas.setAttribute('aria-label', sentence(focus));
  }

  function focusOn(at) {
    focus = at;
    say();
    redraw();
  }

  function zoom(at) {
    top = at;
    focusOn(at);
  }

  function rebuild() {
    root = buildTree(view.sites, { measure: state.measure, from: state.from, to: state.to, retained: retained(), severalProcesses: several });
    root.most = Math.abs(root.change);
    const widest = (at) => {
      root.most = Math.max(root.most, Math.abs(at.change));
      at.list.forEach(widest);
    };
    if (!retained()) widest(root);
    top = focus = root;
    key.hidden = retained();
    say();
    redraw();
  }

  const boxAt = (event) => {
    const x = event.offsetX, depth = Math.floor(event.offsetY / ROW);
    return boxes.find((box) => box.depth === depth && x >= box.x && x < box.x + box.wide);
  };
  canvas.addEventListener('click', (event) => {
    const box = boxAt(event);
    if (box) zoom(box.at);
  });
  canvas.addEventListener('pointermove', (event) => {
    const box = boxAt(event);
    tip.hidden = !box;
    canvas.style.cursor = box ? 'pointer' : 'default';
    if (!box) return;
    tip.textContent = sentence(box.at);
    tip.style.left = `${Math.min(event.offsetX + 12, canvas.clientWidth - tip.offsetWidth - 4)}px`;
    tip.style.top = `${event.offsetY + 18}px`;
  });
  canvas.addEventListener('pointerleave', () => (tip.hidden = true));
  canvas.addEventListener('focus', () => redraw());
  canvas.addEventListener('blur', () => redraw());

  const sibling = (step) => {
    const list = focus.parent?.list ?? [focus];
    return list[list.indexOf(focus) + step] ?? focus;
  };
  const widestChild = () => focus.list.reduce((most, child) => (child.width > (most?.width ?? 0) ? child : most), null) ?? focus;
  const keys = {
    ArrowUp: () => focusOn(focus.parent ?? focus),
    ArrowDown: () => focusOn(widestChild()),
    ArrowLeft: () => focusOn(sibling(-1)),
    ArrowRight: () => focusOn(sibling(1)),
    Enter: () => zoom(focus),
    Home: () => focusOn(root),
    Backspace: () => zoom(top.parent ?? root),
    Escape: () => zoom(root),
  };
  canvas.addEventListener('keydown', (event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });

  view.focusFlame = (site) => {
    const leaf = leafOf(root, site, several);
    if (!leaf) return;
    top = leaf.parent ?? leaf;
    focus = leaf;
    say();
    redraw();
    document.getElementById('flame').scrollIntoView({ block: 'start' });
    canvas.focus({ preventScroll: true });
  };

  const redraw = oncePerFrame(draw);
  keep('flame', () => {
    const names = [];
    for (let at = top; at.parent; at = at.parent) names.unshift(at.name);
    return names;
  }, (names) => {
    let at = root;
    for (const name of names) at = at?.list.find((child) => child.name === name);
    if (at && at !== root) zoom(at);
  });
  onTheme(() => {
    readColours();
    redraw();
  });
  state.listen((changed) => !(changed.size === 1 && changed.has('calls')) && rebuild());
  const choice = diff || model.evolves
    ? segmented('What the flame graph shows', [['retained', diff ? 'After' : 'Held'], ['change', diff ? 'Difference' : 'Change']], state.flame, (flame_) => state.set({ flame: flame_ }))
    : null;
  requestAnimationFrame(() => {
    readColours();
    rebuild();
    new ResizeObserver(redraw).observe(canvas.parentNode);
  });
  return el('section', { id: 'flame', 'aria-labelledby': 'flame-title' },
    el('div', { class: 'title' }, el('h2', { id: 'flame-title' }, 'Flame graph'), choice, reset,
      el('p', { class: 'help', id: 'flame-help' }, 'Click or Enter zooms, arrows move, Backspace goes up, Esc resets. The search marks frames.')),
    status,
    el('div', { class: 'canvas' }, canvas, tip),
    key);
}
