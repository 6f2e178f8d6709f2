// A request as the engine takes it: checked, completed and copied, so that every send has the same
// bytes whatever the page does with its objects meanwhile.

import { now } from "./clock.js";

export function toJob(request, settings, storage) {
  const { body, bytes, contentType } = takeBody(request.body);
  const headers = new Headers(request.headers);
  if (headers.has("idempotency-key")) {
    throw new TypeError("oncegate: leave Idempotency-Key out of headers; it is made from the intent");
  }
  if (contentType && !headers.has("content-type")) headers.set("content-type", contentType);
  const init = { method: String(request.method ?? "POST").toUpperCase(), headers, body };
  // Throws for what fetch would refuse on every send: a mistake is not a network error.
  const { url, method } = new Request(new URL(request.url, globalThis.document?.baseURI), init);
  const cancelUrl = new URL("/.oncegate/v1/operations/cancel", url).href;
  // All headers go along with a cancellation: what lets the request pass to the gate should let it pass, too.
  const call = (cancels, signal) => (cancels ? fetch(cancelUrl, { method: "POST", headers, signal }) : fetch(url, { ...init, signal }));
  return { ...settings, storage, now, intent: takeIntent(request.intent), url, method, fetch: call, headers, bytes };
}

function takeIntent(intent) {
  if (intent === undefined || (typeof intent === "string" && intent !== "")) return intent;
  throw new TypeError("oncegate: intent must be a string that names what the customer wants, such as a cart's number");
}

function takeBody(body) {
  if (body === undefined || body === null) return { bytes: new Uint8Array() };
  if (typeof body === "string") return { body, bytes: new TextEncoder().encode(body) };
  if (body instanceof URLSearchParams) {
    return { ...takeBody(String(body)), contentType: "application/x-www-form-urlencoded;charset=UTF-8" };
  }
  if (body instanceof ArrayBuffer) return takeBytes(new Uint8Array(body));
  if (ArrayBuffer.isView(body)) return takeBytes(new Uint8Array(body.buffer, body.byteOffset, body.byteLength));
  throw new TypeError("oncegate: body must be a string, URLSearchParams, an ArrayBuffer or a typed array: it may have to be sent again, byte for byte");
}

function takeBytes(view) {
  const bytes = view.slice();
  return { body: bytes, bytes };
}
