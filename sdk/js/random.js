// What is drawn at random, also by pages without https: those have no `crypto.randomUUID`.

/** 64 hexadecimal digits of the host's cryptographic source. */
export function drawHex() {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
