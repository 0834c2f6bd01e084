// SPDX-License-Identifier: GPL-2.0-or-later
// What the reader chose. Views subscribe; whoever changes something says what.

export function makeState(initial) {
  const listeners = [];
  const state = {
    ...initial,
    set(change) {
      const changed = Object.keys(change).filter((key) => state[key] !== change[key]);
      if (!changed.length) return;
      Object.assign(state, change);
      for (const listener of listeners) listener(new Set(changed));
    },
    listen(listener) {
      listeners.push(listener);
    },
  };
  return state;
}
