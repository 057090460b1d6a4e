import { Backoff } from "./backoff.js";
import { asError, isOffline } from "./errors.js";
import type { Context } from "./operations/context.js";

/** So often a request is sent whose answer was lost. */
const mostTries = 4;
const retryBaseMs = 500;

/** Sends a request that may be repeated, and again while its answer is lost and the user is the same. */
export async function resend<T>(client: Context, send: () => Promise<T>): Promise<T> {
  const user = client.me();
  const backoff = new Backoff(client.options.random, retryBaseMs);
  for (;;) {
    try {
      return await send();
    } catch (err) {
      if (!isOffline(err) || backoff.attempts === mostTries - 1) throw err;
      const wait = backoff.next(asError(err).retryMs);
      await new Promise((resolve) => setTimeout(resolve, wait));
      if (client.me() !== user) throw err;
    }
  }
}
