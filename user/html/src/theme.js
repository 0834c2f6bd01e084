// SPDX-License-Identifier: GPL-2.0-or-later
// Dark or light: as the system has it, until the reader chooses.
import { el } from './dom.js';

const dark = matchMedia('(prefers-color-scheme: dark)');
const listeners = [];

const current = () => document.documentElement.dataset.theme ?? (dark.matches ? 'dark' : 'light');
const tell = () => listeners.forEach((listener) => listener());

export const onTheme = (listener) => listeners.push(listener);

export function themeButton() {
  const button = el('button', { class: 'plain', type: 'button', id: 'theme' });
  const label = () => {
    button.textContent = current() === 'dark' ? '\u2600 Light' : '\u263e Dark';
    button.setAttribute('aria-label', `Use the ${current() === 'dark' ? 'light' : 'dark'} theme`);
  };
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = current() === 'dark' ? 'light' : 'dark';
    label();
    tell();
  });
  dark.addEventListener('change', () => {
    label();
    tell();
  });
  // Paper is white.
  let before;
  addEventListener('beforeprint', () => {
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = 'light';
    tell();
  });
  addEventListener('afterprint', () => {
    if (before) document.documentElement.dataset.theme = before;
    else delete document.documentElement.dataset.theme;
    tell();
  });
  label();
  return button;
}
