// Strings by name, as the engine wants them: never throws, and keeps in memory what the browser
// does not keep (no storage, blocked, full). What is in memory is newer than what is in storage.

export function openStorage(chosen) {
  const memory = new Map();
  const real = () => (chosen === undefined ? globalThis.localStorage : chosen);
  return {
    get(name) {
      if (memory.has(name)) return memory.get(name);
      try {
        return real()?.getItem(name) ?? undefined;
      } catch {
        return undefined;
      }
    },
    set(name, value) {
      try {
        real().setItem(name, value);
        memory.delete(name);
        return true;
      } catch {
        memory.set(name, value);
        return false;
      }
    },
    names() {
      const names = new Set(memory.keys());
      try {
        const storage = real();
        for (let index = 0; index < storage.length; index++) names.add(storage.key(index));
      } catch {
        // Then there are only the names in memory.
      }
      return [...names];
    },
  };
}
