import { create, fromBinary, fromJson, toJson, type DescMessage, type DescMethodUnary, type JsonValue, type MessageInitShape, type MessageShape } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { methodPath, type CallOptions } from "./api.js";
import { RialtoError, type Ban } from "./errors.js";
import { ErrorSchema } from "./gen/rialto/gateway/v1/gateway_pb.js";

/** How long a call may take before it counts as lost. */
const callTimeoutMs = 20_000;
const probeTimeoutMs = 5_000;

/** Makes a call by HTTP POST with JSON. */
export async function post<I extends DescMessage, O extends DescMessage>(
  base: string,
  method: DescMethodUnary<I, O>,
  input: MessageInitShape<I>,
  token: string | undefined,
  fetchFn: typeof fetch,
  { signal, keepalive = false, waitMs = 0 }: CallOptions = {},
): Promise<MessageShape<O>> {
  const timeout = AbortSignal.timeout(callTimeoutMs + waitMs);
  const headers: Record<string, string> = { "Content-Type": "application/json", "Connect-Protocol-Version": "1" };
  if (token) headers["Authorization"] = `Bearer ${token}`;
  let res: Response;
  let text: string;
  try {
    res = await fetchFn(base + methodPath(method), {
      method: "POST",
      headers,
      body: JSON.stringify(toJson(method.input, create(method.input, input))),
      keepalive,
      signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
    });
    text = await res.text();
  } catch {
    if (signal?.aborted) throw canceled();
    throw await unreachable(base, fetchFn);
  }
  if (!res.ok) throw httpError(res, text);
  try {
    return fromJson(method.output, JSON.parse(text) as JsonValue, { ignoreUnknownFields: true });
  } catch {
    throw new RialtoError("internal", "the answer is not one of this protocol", "bad_answer");
  }
}

function canceled(): RialtoError {
  return new RialtoError("canceled", "the call was cancelled", "canceled");
}

/**
 * A browser does not tell a page whether the network failed or the server refused the page's origin. A request whose answer the page
 * cannot read shows it: it gets through unless the server is not reachable.
 */
async function unreachable(base: string, fetchFn: typeof fetch): Promise<RialtoError> {
  const page = (globalThis as { location?: { origin: string } }).location?.origin;
  if (page && page !== new URL(base).origin) {
    const answers = await fetchFn(base, { method: "HEAD", mode: "no-cors", signal: AbortSignal.timeout(probeTimeoutMs) }).then(
      () => true,
      () => false,
    );
    // Still one that may pass: a proxy that answers for the server while it is away does so without CORS headers, too.
    if (answers) return new RialtoError("unavailable", `${base} answers, but not to pages of ${page} (CORS): add ${page} to its setting gateway.origins`, "origin", 1_000);
  }
  return new RialtoError("unavailable", `${base} is not reachable`, "offline", 1_000);
}

interface ConnectError {
  code?: string;
  message?: string;
  details?: { type?: string; value?: string; debug?: { reason?: string; retryMs?: number } }[];
}

function httpError(res: Response, text: string): RialtoError {
  let body: ConnectError = {};
  try {
    body = JSON.parse(text) as ConnectError;
  } catch {
    // Not from Rialto but from something on the way, as a proxy: the status has to do.
  }
  const code = body.code ?? codeOfStatus(res.status);
  let reason = "";
  let ban: Ban | undefined;
  let retryMs = Number(res.headers.get("Retry-After") ?? 0) * 1_000 || 0;
  for (const detail of body.details ?? []) {
    if (detail.type === ErrorSchema.typeName && detail.value) {
      const e = fromBinary(ErrorSchema, base64Decode(detail.value));
      reason = e.reason;
      retryMs = e.retryMs || retryMs;
      if (e.ban) ban = { endsMs: Number(e.ban.endsMs), explanation: e.ban.explanation, appealToken: e.ban.appealToken };
    } else {
      reason = detail.debug?.reason ?? reason;
      retryMs = detail.debug?.retryMs ?? retryMs;
    }
  }
  if (code === "unavailable" && retryMs === 0) retryMs = 1_000;
  return new RialtoError(code, body.message ?? `the server answered ${res.status}`, reason, retryMs, ban);
}

/** The code of an answer that names none. */
export function codeOfStatus(status: number): string {
  if (status === 401) return "unauthenticated";
  if (status === 403) return "permission_denied";
  if (status === 404) return "not_found";
  if (status === 429) return "resource_exhausted";
  if (status >= 500) return "unavailable";
  return "invalid_argument";
}
