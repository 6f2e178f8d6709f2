// A body as it is sent: taken once, so that every send has the same bytes whatever the page does with its objects
// meanwhile, and compared by what it says.
//
// `takePayload` copies in the caller's own task. What has to be read (files) is read later, by `load`, once.

import { canonical } from "./canonical.js";
import { OncegateError } from "./error.js";
import { drawHex } from "./random.js";

const FORM = "application/x-www-form-urlencoded";
const SENTENCE = "body must be a string, a plain object or array, URLSearchParams, FormData, a Blob, an ArrayBuffer or a typed array";

/** `{ contentType, parts, load }`: `parts` are the strings, bytes and files that tell payloads apart, and `load` gives what `fetch` takes. */
export function takePayload(body, type, ignore) {
  if (body === undefined || body === null) return whole(undefined, [], undefined, ignore);
  if (typeof body === "string") return takeText(body, type, ignore);
  if (body instanceof URLSearchParams) return takeSearch(new URLSearchParams(body), ignore);
  if (body instanceof FormData) return takeForm(copyOf(body), ignore);
  if (body instanceof Blob) return { ...whole(body, [body], body.type, ignore), load: () => bytesOf(body) };
  if (body instanceof ArrayBuffer) return takeBytes(new Uint8Array(body), ignore);
  if (ArrayBuffer.isView(body)) return takeBytes(new Uint8Array(body.buffer, body.byteOffset, body.byteLength), ignore);
  if (isPlain(body)) return takeText(JSON.stringify(body), "application/json", ignore);
  if (body instanceof ReadableStream || typeof body[Symbol.asyncIterator] === "function") {
    throw new OncegateError("body_is_stream", "a stream can be read only once, and a payment may have to be sent again: read it first, for example with await new Response(stream).arrayBuffer()");
  }
  throw new OncegateError("body_unsupported", SENTENCE);
}

/** The parts as bytes, files included. */
export function bytesOfParts(parts) {
  return Promise.all(parts.map((part) => (typeof part === "string" ? new TextEncoder().encode(part) : bytesOf(part))));
}

/** Whether two lists of parts say the same, as far as that can be seen without reading files. */
export function areEqual(a, b) {
  return a.length === b.length && a.every((part, index) => isEqual(part, b[index]));
}

function takeText(text, type = "", ignore) {
  const media = mediaOf(type);
  if (media === FORM) return { ...takeSearch(new URLSearchParams(text), ignore), contentType: type, load: () => text };
  if (media !== "application/json" && !media.endsWith("+json")) return whole(text, [text], undefined, ignore);
  return { contentType: type, parts: [canonical(text, ignore)], load: () => text };
}

function takeSearch(search, ignore) {
  const text = String(search);
  return { contentType: `${FORM};charset=UTF-8`, parts: entries(search, ignore), load: () => text };
}

/** One boundary for all sends: the form is written once. Not by `new Response(form)`: WebKit cannot read files out of that. */
function takeForm(form, ignore) {
  const boundary = `----${drawHex()}`;
  return { contentType: `multipart/form-data; boundary=${boundary}`, parts: entries(form, ignore), load: () => bytesOf(new Blob(written(form, boundary))) };
}

/** A form as browsers write it. */
function written(form, boundary) {
  const chunks = [];
  for (const [name, value] of form) {
    chunks.push(`--${boundary}\r\nContent-Disposition: form-data; name="${quoted(lines(name))}"`);
    if (typeof value === "string") chunks.push("\r\n\r\n", lines(value), "\r\n");
    else chunks.push(`; filename="${quoted(value.name)}"\r\nContent-Type: ${value.type || "application/octet-stream"}\r\n\r\n`, value, "\r\n");
  }
  return [...chunks, `--${boundary}--\r\n`];
}

const lines = (text) => text.replace(/\r\n?|\n/g, "\r\n");
const quoted = (text) => text.replace(/[\r\n"]/g, encodeURIComponent);

function takeBytes(view, ignore) {
  const bytes = view.slice();
  return whole(bytes, [bytes], undefined, ignore);
}

/** A body without members: there is nothing in it to ignore. */
function whole(body, parts, contentType, ignore) {
  if (ignore.length > 0) {
    throw new OncegateError("ignore_unsupported", "ignore names members of JSON and fields of forms; this body is neither");
  }
  return { contentType, parts, load: () => body };
}

function entries(form, ignore) {
  return [...form].filter(([name]) => !ignore.includes(name)).flatMap(([name, value]) => [name, value]);
}

function copyOf(form) {
  const copy = new FormData();
  for (const [name, value] of form) copy.append(name, value);
  return copy;
}

async function bytesOf(source) {
  if (source instanceof Uint8Array) return source;
  try {
    return new Uint8Array(await source.arrayBuffer());
  } catch (cause) {
    throw new OncegateError("body_unreadable", "a file of the body cannot be read (any more); have it chosen again", { cause });
  }
}

function isPlain(value) {
  const prototype = Object.getPrototypeOf(value);
  return typeof value === "object" && (Array.isArray(value) || prototype === Object.prototype || prototype === null);
}

function isEqual(a, b) {
  if (a instanceof Uint8Array && b instanceof Uint8Array) return a.length === b.length && a.every((byte, index) => byte === b[index]);
  if (a instanceof Blob && b instanceof Blob) return ["size", "type", "name", "lastModified"].every((name) => a[name] === b[name]);
  return a === b;
}

export function mediaOf(type) {
  return (type ?? "").split(";")[0].trim().toLowerCase();
}
