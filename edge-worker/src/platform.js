// What the gate has the platform do, each in one crossing between wasm and JavaScript: a crossing costs more than most of
// what is done on either side of it. Nothing is decided here.
//
// Header fields cross as JSON text: into wasm as pairs of names and values, out of it as the platform takes them. Marks cross as lines, since no header field has a line break.

const pairs = (headers) => JSON.stringify([...headers]);

// Futures in wasm queue several tasks for each request. The platform's own function goes through C++ for each of them, a
// promise's reaction does not.
const done = Promise.resolve();
globalThis.queueMicrotask = (task) => void done.then(task);

/** Method, URL and header fields of a request. */
export const head = (request) => `${request.method}\n${request.url}\n${pairs(request.headers)}`;

/**
 * Method, URL and message of a call to an object, and the header fields that came with the message. Where they travelled as header fields
 * of their own, as in version 1 of the messages, they are brought together here.
 */
export const told = ({ method, url, headers }) => {
  const message = headers.get("oncegate-message") ?? "";
  const enclosed = headers.get("oncegate-fields") ?? JSON.stringify([...headers].filter(([name]) => name !== "oncegate-message"));
  return `${method}\n${url}\n${message}\n${enclosed}`;
};

/** The bytes, to be copied into wasm. */
export const bytes = (buffer) => new Uint8Array(buffer);

/** As many bytes that nobody can foretell. */
export const random = (length) => crypto.getRandomValues(new Uint8Array(length));

/** An object by its name. */
export const object = (env, binding, name, jurisdiction, locationHint) => {
  const objects = jurisdiction === undefined ? env[binding] : env[binding].jurisdiction(jurisdiction);
  return objects.getByName(name, locationHint === undefined ? undefined : { locationHint });
};

/** What is bound under a name. */
export const bound = (env, name) => env[name];

/**
 * Sends a request, to a binding or to whom its URL names. Redirects come back as they are, and the answer's content coding
 * is left alone; that is said with the call, since the platform does not heed it in a request.
 *
 * The platform panics when an answer below 200 is touched, and takes the isolate with it.
 */
export const send = async (service, url, method, headers, body) => {
  const fields = typeof headers === "string" ? JSON.parse(headers) : headers;
  const init = { method, headers: fields, body, redirect: "manual", encodeResponseBody: "manual" };
  const response = await (service === undefined ? fetch(url, init) : service.fetch(url, init));
  if (response.status < 200) {
    throw new Error(`status ${response.status} is no answer`);
  }
  return response;
};

/** What a promise comes to, or `undefined` if it takes longer. It goes on either way. */
export const within = (limit, promise) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, limit);
    const ended = (end) => (value) => {
      clearTimeout(timer);
      end(value);
    };
    promise.then(ended(resolve), ended(reject));
  });

/** The status and these header fields of an answer; a line is empty if there is no such field. */
export const marks = (response, names) => {
  const { headers } = response;
  return names.split("\n").reduce((lines, name) => `${lines}\n${headers.get(name) ?? ""}`, `${response.status}`);
};

/** Header fields of an answer. */
export const fields = (response) => pairs(response.headers);

/** An answer of these bytes, or this stream; it is coded as its header says already. */
export const respond = (status, headers, body) =>
  new Response(body, { status, headers: JSON.parse(headers), encodeBody: "manual" });

/** The same answer with these header fields set, and others added. */
export const changed = (response, set, added) => {
  const { status, headers, body } = response;
  const all = new Headers(headers);
  new Headers(JSON.parse(set)).forEach((value, name) => all.set(name, value));
  new Headers(JSON.parse(added)).forEach((value, name) => all.append(name, value));
  return new Response(body, { status, headers: all, encodeBody: "manual" });
};

/** What JSON says of a value just as it is. The rest of what a message can be would be something else on arrival, or nothing. */
const isPlain = (value) => {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || value === null) return value === null || typeof value === "string" || typeof value === "boolean";
  return Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
};

const written = (body) =>
  JSON.stringify(body, function (name, value) {
    if (!isPlain(this[name])) throw new TypeError("not JSON");
    return value;
  });

/** The type and the bytes of a message's body. Throws if it is neither text, nor bytes, nor JSON. */
export const carried = (body) => {
  if (body instanceof ArrayBuffer) return ["application/octet-stream", body];
  if (ArrayBuffer.isView(body)) {
    const { buffer, byteOffset, byteLength } = body;
    return ["application/octet-stream", buffer.slice(byteOffset, byteOffset + byteLength)];
  }
  if (typeof body !== "string") return ["application/json", new TextEncoder().encode(written(body)).buffer];
  if (!body.isWellFormed()) throw new TypeError("not text");
  return ["text/plain;charset=UTF-8", new TextEncoder().encode(body).buffer];
};

/** A request that nobody has sent. */
export const request = (url, method, headers, body) => new Request(url, { method, headers: JSON.parse(headers), body });
