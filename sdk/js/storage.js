// Strings by name, as the engine wants them: never throws, and keeps in memory what the browser
// does not keep (no storage, blocked, full, cleared while the page lives). What could not be written
// is newer than what is in storage; what is only missing there is put back.

export function openStorage(chosen) {
  const unwritten = new Map();
  const known = new Map();
  const real = () => (chosen === undefined ? globalThis.localStorage : chosen);

  /** The engine removes nothing, so an entry that is gone was cleared by somebody else: a key must not change by that. */
  function restore(name) {
    const value = known.get(name);
    if (value !== undefined) real().setItem(name, value);
    return value;
  }

  return {
    get(name) {
      if (unwritten.has(name)) return unwritten.get(name);
      try {
        const stored = real()?.getItem(name) ?? restore(name);
        if (stored !== undefined) known.set(name, stored);
        return stored;
      } catch {
        return known.get(name);
      }
    },
    set(name, value) {
      known.set(name, value);
      try {
        real().setItem(name, value);
        unwritten.delete(name);
        return true;
      } catch {
        unwritten.set(name, value);
        return false;
      }
    },
    names() {
      const names = new Set(known.keys());
      try {
        const storage = real();
        for (let index = 0; index < storage.length; index++) names.add(storage.key(index));
      } catch {
        // Then there are only the names that are known.
      }
      return [...names];
    },
  };
}
