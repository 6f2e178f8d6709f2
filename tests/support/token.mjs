// One-time tokens, made from what core/src/token.rs says of them: a second implementation, which can also lie.

const short = async (kind, text) => {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${kind}\n${text}`));
  return new Uint8Array(digest).slice(0, 16);
};

const base64url = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** A token as the gate of `secret` ("name=secret") would have issued it `agoMs` ago, for nobody in particular. */
export async function makeToken({ secret, scope, route, agoMs = 0, ttlMs = 300_000, keyTtlMs = 604_800_000 }) {
  const [name, value] = secret.split(/=(.*)/s);
  const bytes = new Uint8Array(64);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(Date.now() - agoMs));
  view.setUint32(8, ttlMs / 1_000);
  view.setUint32(12, keyTtlMs / 1_000);
  bytes.set(crypto.getRandomValues(new Uint8Array(16)), 16);
  bytes.set(await short("scope", scope), 32);
  bytes.set(await short("route", route), 48);
  const text = `t1.${name}.${base64url(bytes)}`;
  const key = await crypto.subtle.importKey("raw", new TextEncoder().encode(value), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const tag = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(`oncegate-token-v1\n${text}`));
  return `${text}.${base64url(new Uint8Array(tag))}`;
}
