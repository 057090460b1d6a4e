/** What a refused user is told of a ban. */
export interface Ban {
  /** When it ends, in milliseconds since 1970; 0: never. */
  readonly endsMs: number;
  /** By a moderator; may be empty. */
  readonly explanation: string;
  /** What to give to Client.appealBan, for an hour; empty: the user may not appeal. */
  readonly appealToken: string;
}

/**
 * RialtoError is every error that the server answers, and those of the way there. `code` is as in Connect; `reason` is a
 * stable word for programs; `retryMs` above 0 says that the same request may succeed after that long.
 */
export class RialtoError extends Error {
  readonly code: string;
  readonly reason: string;
  readonly retryMs: number;
  /** With the reasons account_banned and address_banned only. */
  readonly ban: Ban | undefined;

  constructor(code: string, message: string, reason = "", retryMs = 0, ban?: Ban) {
    super(message);
    this.name = "RialtoError";
    this.code = code;
    this.reason = reason;
    this.retryMs = retryMs;
    this.ban = ban;
  }
}

/** The first factor of a login was right, and the account needs a second one: complete the login with logInWithSecondFactor. */
export class SecondFactorNeeded extends RialtoError {
  /** What to give to logInWithSecondFactor. It is as secret as a password. */
  readonly challenge: string;
  /** When the challenge ends, by the server's clock. */
  readonly expiresMs: number;

  constructor(challenge: string, expiresMs: number) {
    super("unauthenticated", "this account needs a second factor", "second_factor_needed");
    this.name = "SecondFactorNeeded";
    this.challenge = challenge;
    this.expiresMs = expiresMs;
  }
}

/** The server was not reached, or its answer was lost: whether the request took effect is not known. */
export function isOffline(err: unknown): boolean {
  return err instanceof RialtoError && err.code === "unavailable";
}

/** The server refuses for good: there is no such thing, or none that this user may read. Another error, as of too many calls, may pass. */
export function isRefused(err: unknown): boolean {
  return err instanceof RialtoError && (err.code === "not_found" || err.code === "permission_denied");
}

export function asError(err: unknown): RialtoError {
  if (err instanceof RialtoError) return err;
  return new RialtoError("unknown", err instanceof Error ? err.message : String(err));
}
