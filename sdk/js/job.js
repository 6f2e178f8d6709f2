// A request as it goes its way: checked, completed and copied.

import { OncegateError } from "./error.js";
import { mediaOf, takePayload } from "./payload.js";
import { nameRoute } from "./route.js";

const ENDPOINT = "/.oncegate/v1/operations";

/** A request that is to be sent. */
export function toJob(request, settings) {
  const headers = takeHeaders(request.headers);
  const payload = takePayload(request.body, headers.get("content-type") ?? undefined, takeIgnore(request.ignore));
  const target = takeTarget(request, { method: String(request.method ?? "POST").toUpperCase(), body: payload.parts.length > 0 ? "" : undefined });
  return {
    ...takeQuestion(request, settings, "submit", target.url, headers),
    method: target.method,
    parts: [target.method, target.url, mediaOf(headers.get("content-type") ?? payload.contentType), ...payload.parts],
    /** Reads what has to be read. */
    async load() {
      this.body = await payload.load();
      if (payload.contentType && !headers.has("content-type")) headers.set("content-type", payload.contentType);
    },
  };
}

/** A question about an intent, which sends nothing: `wish` is `lookup` or `cancel`. */
export function toQuestion(request, settings, wish) {
  if (request.intent === undefined) throw new OncegateError("intent_missing", "without an intent there is nothing to look up or to cancel");
  return { ...takeQuestion(request, settings, wish, takeTarget(request, {}).url, takeHeaders(request.headers)), method: request.method, parts: [], load() {} };
}

/** What `fetch` takes for an act of a job: under its key, or, later, under the token that stands for it. */
export function toCall(job, { act, key, sends }) {
  if (!job.token) return underKey(job, act, key);
  return job.token.take(job, key, act === "send" ? sends - 1 : sends).then((token) => underKey(job, act, token));
}

function underKey(job, act, key) {
  const { headers, credentials } = job;
  if (act === "send") {
    headers.set("idempotency-key", key);
    return [job.url, { method: job.method, headers, credentials, body: job.body }];
  }
  // All headers go along: what lets the request pass to the gate should let the question pass, too.
  const asking = new Headers(headers);
  asking.delete("content-type");
  asking.set("idempotency-key", job.generatedKey ?? key);
  const url = new URL(act === "cancel" ? `${ENDPOINT}/cancel` : ENDPOINT, job.url);
  nameRoute(url, job);
  return [url.href, { method: act === "cancel" ? "POST" : "GET", headers: asking, credentials, cache: "no-store" }];
}

function takeQuestion({ intent, route, generatedKey, token, credentials, signal }, settings, wish, url, headers) {
  if (intent !== undefined && (typeof intent !== "string" || intent === "")) {
    throw new OncegateError("intent_invalid", "intent must be a string that names what the customer wants, such as a cart's number");
  }
  return { ...settings, wish, intent, url, origin: new URL(url).origin, headers, route, generatedKey, token, credentials, signal };
}

function takeHeaders(given) {
  const headers = new Headers(given);
  if (headers.has("idempotency-key")) {
    throw new OncegateError("header_reserved", "leave Idempotency-Key out of headers; it is made from the intent");
  }
  return headers;
}

/** Throws for what fetch would refuse on every send: a mistake is not a network error. */
function takeTarget({ url, credentials }, init) {
  try {
    return new Request(new URL(url, globalThis.document?.baseURI), { ...init, credentials });
  } catch (cause) {
    throw new OncegateError("request_invalid", cause.message, { cause });
  }
}

function takeIgnore(ignore = []) {
  if (Array.isArray(ignore) && ignore.every((name) => typeof name === "string")) return ignore;
  throw new OncegateError("ignore_invalid", "ignore must be a list of texts");
}
