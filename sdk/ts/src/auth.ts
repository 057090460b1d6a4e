import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Invoke } from "./api.js";
import { RialtoError, SecondFactorNeeded, isOffline } from "./errors.js";
import { ModerationService } from "./gen/rialto/moderation/v1/moderation_pb.js";
import { AccountService, type ClientSchema, type ContactKind, type Session } from "./gen/rialto/account/v1/account_pb.js";
import { signWithPasskey, type PasskeyLogin } from "./passkeys.js";
import type { Store } from "./storage.js";

/** Login is who is logged in on this device, and with which tokens. */
export interface Login {
  user: string;
  device: string;
  session: string;
  /** What the device's number is stored under: the handle, or the passkey. */
  handle: string;
  accessToken: string;
  expiresMs: number;
  refreshToken: string;
}

/** The ways to log in that a server has besides the password. */
export interface LoginMethods {
  /** It sends codes: requestCode, then logInWithCode. */
  code: boolean;
  /** Where it sends codes for resetPassword: requestPasswordReset. */
  resets: ContactKind[];
  /** Passkeys work on this page: logInWithPasskey. */
  passkeys: boolean;
}

export type ClientInfo = Omit<MessageInitShape<typeof ClientSchema>, "$typeName" | "device" | "deviceKey">;

const sessionKey = "login";
const deviceName = (handle: string) => `device/${handle}`;
const deviceKeyName = (handle: string) => `device_key/${handle}`;
/** An access token is renewed this long before it ends. */
const renewBeforeMs = 60_000;

export interface AuthDeps {
  /** A call by HTTP with the given token, or none. */
  invoke: (token?: string) => Invoke;
  store: Store;
  lockName: string;
  now: () => number;
  /** The login was ended by the server or in another tab. */
  onEnded: () => void;
}

/**
 * Auth owns the tokens. A refresh token is good once, so one refresh runs at a time: within this client by sharing the
 * promise, and over the tabs of a browser by a Web Lock, under which the stored login is read again first.
 */
export class Auth {
  private login: Login | undefined;
  private refreshing: Promise<Login> | undefined;

  constructor(private readonly deps: AuthDeps) {}

  get current(): Login | undefined {
    return this.login;
  }

  async load(): Promise<Login | undefined> {
    this.login = await this.deps.store.get<Login>("meta", sessionKey);
    return this.login;
  }

  async register(handle: string, password: string, displayName: string, info: ClientInfo): Promise<Login> {
    const client = { ...info, device: "0" };
    return this.keep(handle, await this.deps.invoke()(AccountService.method.register, { handle, password, displayName, client }));
  }

  async logIn(handle: string, password: string, info: ClientInfo): Promise<Login> {
    const client = await this.known(handle, info);
    return this.enter(handle, await this.deps.invoke()(AccountService.method.login, { handle, password, client }));
  }

  async loginMethods(): Promise<LoginMethods> {
    const { code, resets, passkeys } = await this.deps.invoke()(AccountService.method.getLoginMethods, {});
    return { code, resets, passkeys };
  }

  async requestCode(handle: string): Promise<void> {
    await this.deps.invoke()(AccountService.method.requestCode, { handle });
  }

  /** Appeals against a ban, with the token of the refusal. */
  async appealBan(appealToken: string, text: string): Promise<void> {
    await this.deps.invoke()(ModerationService.method.appealBan, { appealToken, text });
  }

  async logInWithCode(handle: string, code: string, info: ClientInfo): Promise<Login> {
    const client = await this.known(handle, info);
    return this.enter(handle, await this.deps.invoke()(AccountService.method.loginWithCode, { handle, code, client }));
  }

  async logInWithSecondFactor(handle: string, challenge: string, code: string, info: ClientInfo): Promise<Login> {
    const client = await this.known(handle, info);
    return this.keep(handle, await this.deps.invoke()(AccountService.method.loginWithSecondFactor, { challenge, code, client }));
  }

  async logInWithPasskey(how: PasskeyLogin, info: ClientInfo): Promise<Login> {
    const { options } = await this.deps.invoke()(AccountService.method.startPasskeyLogin, {});
    const credential = await signWithPasskey(options, how);
    const name = `passkey/${JSON.parse(credential).id}`; // of whom it is, only the server knows yet
    return this.keep(name, await this.deps.invoke()(AccountService.method.loginWithPasskey, { credential, client: await this.known(name, info) }));
  }

  async requestPasswordReset(handle: string, kind: ContactKind, info: ClientInfo): Promise<void> {
    await this.deps.invoke()(AccountService.method.requestPasswordReset, { handle, kind, client: await this.known(handle, info) });
  }

  async resetPassword(handle: string, code: string, newPassword: string, info: ClientInfo): Promise<void> {
    await this.deps.invoke()(AccountService.method.resetPassword, { handle, code, newPassword, client: await this.known(handle, info) });
  }

  /** Keeps the session of a login, unless there is none yet. */
  private enter(handle: string, s: Session): Promise<Login> {
    if (s.secondFactor) throw new SecondFactorNeeded(s.secondFactor.challenge, Number(s.secondFactor.expiresMs));
    return this.keep(handle, s);
  }

  /** Says that this device had a session of the user before, where it had. */
  private async known(handle: string, info: ClientInfo) {
    const device = (await this.deps.store.get<string>("meta", deviceName(handle))) ?? "0";
    const deviceKey = (await this.deps.store.get<string>("meta", deviceKeyName(handle))) ?? "";
    return { ...info, device, deviceKey };
  }

  /** Takes over a session that came from elsewhere, as by AdminService.CreateSession. */
  adopt(session: Session, handle = ""): Promise<Login> {
    return this.keep(handle, session);
  }

  private async keep(handle: string, s: Session): Promise<Login> {
    const login: Login = {
      user: s.user,
      device: s.device,
      session: s.session,
      handle,
      accessToken: s.accessToken,
      expiresMs: Number(s.expiresMs),
      refreshToken: s.refreshToken,
    };
    await this.deps.store.write([
      { table: "meta", key: sessionKey, value: login },
      { table: "meta", key: deviceName(handle), value: s.device },
      { table: "meta", key: deviceKeyName(handle), value: s.deviceKey },
    ]);
    this.login = login;
    return login;
  }

  /** An access token that is still good for a while, as far as the clocks agree. */
  async token(): Promise<string> {
    if (!this.login) throw new RialtoError("unauthenticated", "not logged in", "logged_out");
    if (this.login.expiresMs - this.deps.now() > renewBeforeMs) return this.login.accessToken;
    return (await this.refresh(this.login.accessToken)).accessToken;
  }

  /** Renews the login, unless that was done since `stale` was its access token. */
  refresh(stale: string): Promise<Login> {
    this.refreshing ??= this.locked(() => this.renew(stale)).finally(() => (this.refreshing = undefined));
    return this.refreshing;
  }

  private async renew(stale: string): Promise<Login> {
    const stored = await this.deps.store.get<Login>("meta", sessionKey);
    if (!stored || (this.login && stored.user !== this.login.user)) {
      this.end();
      throw new RialtoError("unauthenticated", "logged out in another window", "logged_out");
    }
    if (stored.accessToken !== stale) return (this.login = stored);
    try {
      return await this.keep(stored.handle, await this.exchange(stored.refreshToken));
    } catch (err) {
      if (err instanceof RialtoError && (err.code === "unauthenticated" || err.code === "permission_denied")) {
        await this.forget();
        this.end();
      }
      throw err;
    }
  }

  /** An answer that got lost has used the token up; the server gives it again for a few seconds, so ask again at once. */
  private async exchange(refreshToken: string): Promise<Session> {
    const call = () => this.deps.invoke()(AccountService.method.refresh, { refreshToken });
    try {
      return await call();
    } catch (err) {
      if (!isOffline(err)) throw err;
      return call();
    }
  }

  private locked<T>(work: () => Promise<T>): Promise<T> {
    const locks = typeof navigator === "undefined" ? undefined : navigator.locks;
    return locks ? (locks.request(this.deps.lockName, work) as Promise<T>) : work();
  }

  /** The login ended elsewhere: in another window, or by the server. What is stored stays: it may be of a later login. */
  end(): void {
    this.login = undefined;
    this.deps.onEnded();
  }

  /** Whether the login is still the stored one, and no other window has ended it. */
  async holds(login: Login): Promise<boolean> {
    return (await this.deps.store.get<Login>("meta", sessionKey))?.user === login.user;
  }

  /** Drops the login here; the device's number and key stay, for the next login. */
  async forget(): Promise<void> {
    this.login = undefined;
    await this.deps.store.write([{ table: "meta", key: sessionKey }]);
  }
}
