import { fromJsonString } from "@bufbuild/protobuf";
import type { ServiceClient } from "./api.js";
import { serviceClient } from "./api.js";
import { MessageTransactionService, type TransactionCheck, TransactionCheckSchema } from "./gen/rialto/transaction/v1/transaction_pb.js";
import { post } from "./http.js";

export interface TransactionsOptions {
  /** Address of the deployment, as https://chat.example.com. */
  url: string;
  /** An API key; it belongs on servers, never in a browser. */
  key: string;
  fetch?: typeof fetch;
}

/** All calls of message transactions, for business servers: they prepare messages, and commit them or roll them back. */
export function transactionsApi(options: TransactionsOptions): ServiceClient<typeof MessageTransactionService> {
  const base = options.url.replace(/\/+$/, "");
  const fetchFn = options.fetch ?? fetch;
  return serviceClient(MessageTransactionService, (method, input) => post(base, method, input, options.key, fetchFn));
}

/** What a business server says of a transaction. With "unknown" it is asked again. */
export type Decision = "commit" | "roll_back" | "unknown";

/** How long ago a request of the deployment may have been signed. */
const maxAgeMs = 5 * 60_000;

/**
 * Answers a request to the webhook that setTransactionWebhook names. One that is not signed with the secret is refused. If decide fails, the server asks
 * again. It works with requests and responses of fetch.
 */
export async function answerTransactionCheck(
  request: Request,
  secret: string,
  decide: (check: TransactionCheck) => Decision | Promise<Decision>,
  nowMs: number = Date.now(),
): Promise<Response> {
  const body = await request.text();
  if (!(await isSigned(request.headers, body, secret, nowMs))) return new Response("the request is not signed with the secret of this webhook", { status: 403 });
  let check: TransactionCheck;
  try {
    check = fromJsonString(TransactionCheckSchema, body, { ignoreUnknownFields: true });
  } catch {
    return new Response("the body is not a TransactionCheck", { status: 400 });
  }
  try {
    return Response.json({ decision: await decide(check) });
  } catch {
    return new Response("the decision is not known at the moment", { status: 503 });
  }
}

async function isSigned(headers: Headers, body: string, secret: string, nowMs: number): Promise<boolean> {
  const stamp = headers.get("Rialto-Timestamp") ?? "";
  const signature = /^v1=((?:[0-9a-f]{2})+)$/.exec(headers.get("Rialto-Signature") ?? "")?.[1];
  if (!signature || !/^\d+$/.test(stamp) || Math.abs(nowMs - Number(stamp) * 1000) > maxAgeMs) return false;
  const text = new TextEncoder();
  const key = await crypto.subtle.importKey("raw", text.encode(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
  return crypto.subtle.verify("HMAC", key, Uint8Array.from(signature.match(/../g) ?? [], (b) => Number.parseInt(b, 16)), text.encode(`${stamp}.${body}`));
}
