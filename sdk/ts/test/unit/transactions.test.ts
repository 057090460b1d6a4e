import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { answerTransactionCheck, transactionsApi, type Decision } from "../../src/index.js";

const secret = "0123456789abcdef";
const at = 1_700_000_000;

/** A request as the server posts it. */
function request(body: string, by = secret, seconds = at): Request {
  const signature = "v1=" + createHmac("sha256", by).update(`${seconds}.${body}`).digest("hex");
  return new Request("http://127.0.0.1:1/", { method: "POST", body, headers: { "Rialto-Timestamp": String(seconds), "Rialto-Signature": signature } });
}

async function answer(r: Request, decide: () => Decision): Promise<string> {
  const res = await answerTransactionCheck(r, secret, decide, at * 1000);
  return res.status === 200 ? await res.text() : String(res.status);
}

test("a check is answered if it is signed with the secret, and not old", async () => {
  const body = JSON.stringify({ id: "7", reference: "order 7", preparedMs: "1", attempt: 1, later: true });
  const asked: string[] = [];
  const res = await answerTransactionCheck(request(body), secret, (check) => (asked.push(`${check.id} ${check.reference}`), "commit"), at * 1000);
  expect(await res.json()).toEqual({ decision: "commit" });
  expect(asked).toEqual(["7 order 7"]);
  const never = () => {
    throw new Error("it is asked");
  };
  expect(await answer(request(body, "another secret of 16"), never)).toBe("403");
  expect(await answer(request(body, secret, at - 301), never)).toBe("403");
  expect(await answer(new Request("http://127.0.0.1:1/", { method: "POST", body }), never)).toBe("403");
  expect(await answer(request("no JSON"), never)).toBe("400");
  expect(await answer(request(body), never)).toBe("503");
});

test("the calls of transactions have the key", async () => {
  const asked: unknown[] = [];
  const fetchFn = (async (url: string, init: RequestInit) => {
    asked.push(url, (init.headers as Record<string, string>)["Authorization"], JSON.parse(init.body as string));
    return new Response(JSON.stringify({ id: "7", state: "MESSAGE_TRANSACTION_STATE_SENT" }));
  }) as typeof fetch;
  const shop = transactionsApi({ url: "http://127.0.0.1:1/", key: "rk_good", fetch: fetchFn });
  expect((await shop.commitMessages({ id: "7" })).id).toBe("7");
  expect(asked).toEqual(["http://127.0.0.1:1/rialto.transaction.v1.MessageTransactionService/CommitMessages", "Bearer rk_good", { id: "7" }]);
});
