// A browser's side of Web Push, without its push service on the Internet: a subscription's keys, and what the server encrypted for them.
import { createDecipheriv, createECDH, hkdfSync, randomBytes } from "node:crypto";

export function subscriptionKeys() {
  const ecdh = createECDH("prime256v1");
  ecdh.generateKeys();
  return { ecdh, p256dh: ecdh.getPublicKey(), auth: randomBytes(16) };
}

/** Decrypts the body of a push as a browser does: RFC 8291, with the one record of RFC 8188. */
export function decrypt(body, { ecdh, p256dh, auth }) {
  const salt = body.subarray(0, 16);
  const sender = body.subarray(21, 21 + body[20]);
  const sealed = body.subarray(21 + body[20]);
  const shared = hkdfSync("sha256", ecdh.computeSecret(sender), auth, Buffer.concat([Buffer.from("WebPush: info\0"), p256dh, sender]), 32);
  const derive = (info, length) => Buffer.from(hkdfSync("sha256", Buffer.from(shared), salt, `Content-Encoding: ${info}\0`, length));
  const open = createDecipheriv("aes-128-gcm", derive("aes128gcm", 16), derive("nonce", 12));
  open.setAuthTag(sealed.subarray(-16));
  const padded = Buffer.concat([open.update(sealed.subarray(0, -16)), open.final()]);
  return padded.subarray(0, padded.lastIndexOf(2)).toString(); // 2 ends the text, zeros pad it
}
