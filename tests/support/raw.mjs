// HTTP as it is on the wire: nothing decoded, nothing followed, nothing joined.

import http from "node:http";
import net from "node:net";

const routed = { "content-type": "application/json" };

/**
 * Sends one request and reads what comes, to its end or to where it breaks: { status, headers, all(name), bytes, whole }.
 * `onHead` is called as soon as the answer has begun.
 */
export function call(base, path, { method = "POST", key, headers = {}, body = "{}", onHead } = {}) {
  return new Promise((resolve, reject) => {
    const options = { method, agent: false, headers: { ...routed, ...(key && { "idempotency-key": key }), ...headers } };
    const request = http.request(new URL(path, base), options, (response) => {
      onHead?.(response);
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("error", () => {});
      response.on("close", () => resolve(answer(response, Buffer.concat(chunks))));
    });
    request.on("error", reject);
    request.end(method === "GET" ? undefined : body);
  });
}

function answer(response, bytes) {
  const { statusCode: status, headers, rawHeaders } = response;
  const all = (name) => rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1].toLowerCase() === name);
  const says = headers["idempotency-status"];
  return { status, headers, all, bytes, says, whole: response.complete, json: () => JSON.parse(bytes.toString()) };
}

/** Opens a connection, writes `head` and gives the socket: for what no HTTP client would send. */
export function connect(base, head) {
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const socket = net.connect(Number(port), hostname, () => socket.write(head, () => resolve(socket)));
    socket.on("error", reject);
  });
}

/** Writes an answer to `request` byte by byte, whatever HTTP says to it, and closes the connection. */
export function answerRaw(request, text) {
  request.socket.end(text);
}
