// The senders of webhooks: how each signs what it sends, by its own description, with node's cryptography or with openssl's program.

import { execFileSync } from "node:child_process";
import { createCipheriv, createHmac, createPrivateKey, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const secrets = {
  stripe: "whsec_0123456789abcdef",
  next: "whsec_fedcba9876543210",
  github: "It's a Secret to Everybody",
  standard: randomBytes(24),
  apiv3: randomBytes(16).toString("hex"),
  provider: "the provider's secret",
};

const rsa = () => generateKeyPairSync("rsa", { modulusLength: 2048, publicKeyEncoding: { type: "spki", format: "pem" }, privateKeyEncoding: { type: "pkcs8", format: "pem" } });
export const [alipayKey, wechatKey, nextWechatKey] = [rsa(), rsa(), rsa()];
export const ed25519 = generateKeyPairSync("ed25519");
export const ed25519Public = `whpk_${ed25519.publicKey.export({ format: "jwk" }).x.replaceAll("-", "+").replaceAll("_", "/")}=`;

export const seconds = (offset = 0) => String(Math.floor(Date.now() / 1000) + offset);
export const hmac = (secret, text, hash = "sha256", encoding = "hex") => createHmac(hash, secret).update(text).digest(encoding);
const rsaSign = (key, text) => sign("sha256", Buffer.from(text), createPrivateKey(key)).toString("base64");

/** What openssl's program says of these bytes. */
export function openssl(args, input, key) {
  const folder = mkdtempSync(join(tmpdir(), "oncegate-key-"));
  try {
    const files = { KEY: join(folder, "key.pem"), TEXT: join(folder, "text") };
    if (key) writeFileSync(files.KEY, key);
    writeFileSync(files.TEXT, input);
    const program = process.env.ONCEGATE_OPENSSL ?? "openssl";
    return execFileSync(program, args.map((arg) => files[arg] ?? arg), { input, stdio: ["pipe", "pipe", "ignore"] });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
export const opensslHmac = (secret, text) => openssl(["dgst", "-sha256", "-hmac", secret, "-r"], text).toString().split(" ")[0];
export const opensslHmacOfBytes = (secret, text) => openssl(["dgst", "-sha256", "-mac", "HMAC", "-macopt", `hexkey:${secret.toString("hex")}`, "-binary"], text).toString("base64");
export const opensslEd25519 = (key, text) => openssl(["pkeyutl", "-sign", "-rawin", "-inkey", "KEY", "-in", "TEXT"], text, key).toString("base64");
export const opensslRsa = (key, text) => openssl(["dgst", "-sha256", "-sign", "KEY", "-binary"], text, key).toString("base64");

const json = { "content-type": "application/json" };

export function stripe(event, { secret = secrets.stripe, time = seconds(), mac = hmac, body = JSON.stringify(event) } = {}) {
  return { path: "/hooks/stripe", body, headers: { ...json, "stripe-signature": `t=${time},v1=${mac(secret, `${time}.${body}`)}` } };
}

export function github(event, { id, secret = secrets.github, mac = hmac, body = JSON.stringify(event) } = {}) {
  return { path: "/hooks/github", body, headers: { ...json, "x-github-delivery": id, "x-github-event": "push", "x-hub-signature-256": `sha256=${mac(secret, body)}` } };
}

const hmacOfBytes = (secret, text) => hmac(secret, text, "sha256", "base64");
const ed25519Sign = (key, text) => sign(null, Buffer.from(text), key).toString("base64");
const pem = (key) => key.export({ type: "pkcs8", format: "pem" });

export function standard(event, options = {}) {
  const { id, secret = secrets.standard, time = seconds(), asymmetric = false, key = pem(ed25519.privateKey), mac = hmacOfBytes, signer = ed25519Sign, body = JSON.stringify(event) } = options;
  const text = `${id}.${time}.${body}`;
  const signature = asymmetric ? `v1a,${signer(key, text)}` : `v1,${mac(secret, text)}`;
  return { path: "/hooks/standard", body, headers: { ...json, "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signature } };
}

/** `resource` is what is encrypted. */
export function wechat(resource, options = {}) {
  const { id = "note", type = "TRANSACTION.SUCCESS", key = wechatKey.privateKey, serial = "PUB_KEY_ID_1", time = seconds(), apiv3 = secrets.apiv3, signer = rsaSign, algorithm = "AEAD_AES_256_GCM" } = options;
  const [nonce, context] = [randomBytes(6).toString("hex"), "transaction"];
  const cipher = createCipheriv("aes-256-gcm", apiv3, nonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(JSON.stringify(resource)), cipher.final(), cipher.getAuthTag()]);
  const body = JSON.stringify({
    id, event_type: type, create_time: "2026-11-30T16:00:00+08:00", resource_type: "encrypt-resource", summary: "支付成功",
    resource: { original_type: "transaction", algorithm, ciphertext: sealed.toString("base64"), associated_data: context, nonce },
  });
  const headers = { "wechatpay-timestamp": time, "wechatpay-nonce": nonce, "wechatpay-serial": serial, "wechatpay-signature": signer(key, `${time}\n${nonce}\n${body}\n`) };
  return { path: "/hooks/wechat", body, headers: { ...json, ...headers } };
}

/** China's time, as Alipay writes it. */
export const chinaTime = (offsetS = 0) => new Date(Date.now() + (8 * 3600 + offsetS) * 1000).toISOString().slice(0, 19).replace("T", " ");

export function alipay(fields, { key = alipayKey.privateKey, signer = rsaSign, order = (names) => names } = {}) {
  const usual = { notify_time: chinaTime(), notify_type: "trade_status_sync", subject: "大乐 2+1", charset: "utf-8", version: "1.0" };
  const all = Object.fromEntries(Object.entries({ ...usual, ...fields }).filter(([, value]) => value !== undefined));
  const text = Object.keys(all).sort().map((name) => `${name}=${all[name]}`).join("&");
  const signed = { ...all, sign_type: "RSA2", sign: signer(key, text) };
  const body = new URLSearchParams(order(Object.entries(signed))).toString();
  return { path: "/hooks/alipay", body, headers: { "content-type": "application/x-www-form-urlencoded; charset=utf-8" } };
}

/** The shop's own payment provider: a form with a signature in it, and one of the whole body in the header. */
export function provider({ pay_no, order_no, amount_cents }, { id, secret = secrets.provider, mac = hmac } = {}) {
  const sign = hmac(secret, `${pay_no}\n${order_no}\n${amount_cents}`);
  const body = new URLSearchParams({ pay_no, order_no, amount_cents, sign }).toString();
  const headers = { "x-provider-event": id, "x-provider-signature": mac(secret, `${id}.${body}`) };
  return { path: "/callbacks/payment", body, headers: { "content-type": "application/x-www-form-urlencoded", ...headers } };
}

const ROUTES = ["stripe", "github", "standard", "wechat", "alipay"];

/** The gate's settings for all of them; `more` goes into each route. */
export function settings(more = "", orders = "") {
  const route = (sender) => `{ name = "${sender}", methods = ["POST"], path = "/hooks/${sender}", origin = "ledger", webhook = { sender = "${sender}" }, ${more} }`;
  const hmac = `{ header = "X-Provider-Signature", signed = "{id}.{body}", id_header = "X-Provider-Event", success = "success", fail = "fail" }`;
  const shop = `{ name = "provider", methods = ["POST"], path = "/callbacks/payment", origin = "ledger", webhook = { sender = "hmac", hmac = ${hmac} }, ${more} }`;
  const day = (days) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
  return {
    ROUTES: `[${[...ROUTES.map(route), shop, ...(orders ? [orders] : [])].join(", ")}]`,
    WEBHOOK_SECRETS: JSON.stringify({
      stripe: [
        { name: "retired", secret: "whsec_retired_12345678", not_after: day(-1) },
        { name: "now", secret: secrets.stripe, not_after: day(9) },
        { name: "next", secret: secrets.next, not_after: day(20) },
      ],
      github: [{ name: "now", secret: secrets.github }],
      standard: [{ name: "now", secret: `whsec_${secrets.standard.toString("base64")}` }, { name: "ed", public_key: ed25519Public }],
      wechat: [
        { name: "apiv3", secret: secrets.apiv3 },
        { name: "one", public_key: wechatKey.publicKey, serial: "PUB_KEY_ID_1" },
        { name: "two", public_key: nextWechatKey.publicKey, serial: "PUB_KEY_ID_2" },
      ],
      alipay: [{ name: "now", public_key: alipayKey.publicKey }],
      provider: [{ name: "now", secret: secrets.provider }],
    }),
  };
}
