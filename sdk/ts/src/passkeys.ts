import { RialtoError } from "./errors.js";

/** How to ask for a passkey at a login. */
export interface PasskeyLogin {
  /** Offers passkeys among the suggestions of the input field with autocomplete="username webauthn", without a dialog, until one is chosen. */
  suggest?: boolean;
  /** Ends the wait. */
  signal?: AbortSignal;
}

/** Whether this browser can use passkeys. It can in pages with TLS, and in those of localhost. */
export function hasPasskeys(): boolean {
  return typeof PublicKeyCredential !== "undefined" && typeof navigator !== "undefined" && !!navigator.credentials;
}

/** Whether this browser can offer passkeys among the suggestions of an input field. */
export async function suggestsPasskeys(): Promise<boolean> {
  return hasPasskeys() && ((await PublicKeyCredential.isConditionalMediationAvailable?.()) ?? false);
}

/** Has an authenticator create a passkey with the options of StartPasskey. Returns what AddPasskey takes. */
export async function createPasskey(options: string): Promise<string> {
  const o = JSON.parse(options);
  const publicKey: PublicKeyCredentialCreationOptions = { ...o, challenge: bytes(o.challenge), user: { ...o.user, id: bytes(o.user.id) }, excludeCredentials: (o.excludeCredentials ?? []).map(described) };
  const credential = await asked(() => navigator.credentials.create({ publicKey }));
  const response = credential.response as AuthenticatorAttestationResponse;
  return sent(credential, { attestationObject: text(response.attestationObject), transports: response.getTransports?.() ?? [] });
}

/** Has an authenticator sign in with the options of StartPasskeyLogin. Returns what LoginWithPasskey takes. */
export async function signWithPasskey(options: string, { suggest, signal }: PasskeyLogin = {}): Promise<string> {
  const o = JSON.parse(options);
  const publicKey: PublicKeyCredentialRequestOptions = { ...o, challenge: bytes(o.challenge), allowCredentials: (o.allowCredentials ?? []).map(described) };
  const credential = await asked(() => navigator.credentials.get({ publicKey, ...(suggest ? { mediation: "conditional" as const } : {}), ...(signal ? { signal } : {}) }));
  const response = credential.response as AuthenticatorAssertionResponse;
  return sent(credential, { authenticatorData: text(response.authenticatorData), signature: text(response.signature), ...(response.userHandle ? { userHandle: text(response.userHandle) } : {}) });
}

/** What went wrong in the browser, by the name of its error. */
const refusals: Record<string, [code: string, message: string, reason: string]> = {
  InvalidStateError: ["already_exists", "this device has a passkey of this account already", "passkey_exists"],
  SecurityError: ["permission_denied", "passkeys of this server do not work on this page", "passkeys_unavailable"],
};

async function asked(ask: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  if (!hasPasskeys()) throw new RialtoError("permission_denied", "this browser has no passkeys, or the page has no TLS", "passkeys_unavailable");
  let credential: Credential | null = null;
  try {
    credential = await ask();
  } catch (err) {
    const [code, message, reason] = refusals[(err as { name?: string }).name ?? ""] ?? ["canceled", "no passkey was given", "passkey_canceled"];
    throw new RialtoError(code, message, reason);
  }
  if (!credential) throw new RialtoError("canceled", "no passkey was given", "passkey_canceled");
  return credential as PublicKeyCredential;
}

/** The JSON of a credential. The toJSON of browsers is newer than passkeys, and that of some password managers fails. */
function sent(credential: PublicKeyCredential, response: Record<string, unknown>): string {
  const id = text(credential.rawId);
  return JSON.stringify({ id, rawId: id, type: credential.type, response: { clientDataJSON: text(credential.response.clientDataJSON), ...response }, clientExtensionResults: {} });
}

function described(d: { id: string; type: "public-key" }): PublicKeyCredentialDescriptor {
  return { ...d, id: bytes(d.id) };
}

function bytes(base64url: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64url.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}

function text(buffer: ArrayBuffer): string {
  return btoa(Array.from(new Uint8Array(buffer), (b) => String.fromCharCode(b)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
