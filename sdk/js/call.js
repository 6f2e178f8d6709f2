// One call to the server, and what is read in its answer.

/** Begins a call, which may not be there yet. `answer` never rejects: no answer is one, too. */
export function begin(call, media) {
  const controller = new AbortController();
  const exchange = async () => {
    try {
      const [url, init] = await call;
      return await read(await fetch(url, { ...init, signal: controller.signal }), media);
    } catch (error) {
      return { event: globalThis.navigator?.onLine === false ? "offline" : "failed", error };
    }
  };
  return { answer: exchange(), abort: () => controller.abort() };
}

/** Waits for the body's last byte: an answer that breaks off is none. The page gets the response unread. */
async function read(response, media) {
  const { headers, status: http, redirected } = response;
  const copy = response.clone();
  const isProblem = (headers.get("content-type") ?? "").startsWith(media);
  const problem = isProblem ? parse(await copy.text()) : void (await copy.arrayBuffer());
  const text = (name) => headers.get(name) ?? undefined;
  return {
    event: "answered",
    http,
    redirected,
    status: text("idempotency-status"),
    lifetime: text("idempotency-key-lifetime"),
    operation: text("oncegate-operation"),
    keyKind: text("oncegate-key-kind"),
    retryAfter: text("retry-after"),
    date: text("date"),
    problem,
    response,
  };
}

function parse(text) {
  try {
    return JSON.parse(text) ?? undefined;
  } catch {
    return undefined;
  }
}
