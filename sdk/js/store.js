// What is kept of intents: one install secret, one record for each intent, and the log.
//
// Every record is read anew before it is used: other tabs write the same ones.

import { drawHex } from "./random.js";

const SECRET = "oncegate:secret";
const INTENT = "oncegate:intent:";
const LOG = "oncegate:log";

export class Store {
  #storage;

  constructor(storage) {
    this.#storage = storage;
  }

  /** Whether there is a secret already. */
  hasSecret() {
    return isSecret(this.#storage.get(SECRET));
  }

  /** The install secret, made if there is none. What is there after writing counts: another tab may have been first. */
  secret() {
    if (!this.hasSecret()) this.#storage.set(SECRET, drawHex());
    return this.#storage.get(SECRET);
  }

  record(intent) {
    return parse(this.#storage.get(INTENT + intent));
  }

  /** `false` if the record will not survive the page. */
  write(intent, record) {
    return this.#storage.set(INTENT + intent, JSON.stringify(record));
  }

  intents() {
    const names = this.#storage.names();
    return names.filter((name) => name.startsWith(INTENT)).map((name) => name.slice(INTENT.length));
  }

  log() {
    const entries = parse(this.#storage.get(LOG));
    return Array.isArray(entries) ? entries : [];
  }

  writeLog(entries) {
    this.#storage.set(LOG, JSON.stringify(entries));
  }
}

function isSecret(text) {
  return /^[0-9a-f]{64}$/.test(text ?? "");
}

/** What is not there is not parsed: a page's first exception takes a millisecond. */
function parse(text) {
  if (!text) return undefined;
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}
