import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore, type FormEvent } from "react";
import { setLocale, useLocale } from "../locale.js";
import { AuditPage } from "./AuditPage.js";
import { ComparisonsPage } from "./ComparisonsPage.js";
import { CachesPage } from "./CachesPage.js";
import { callsWith, isSignedOut, isUnknownKey, OperatorRole, storedKey, type Operator } from "./calls.js";
import { FeaturesPage } from "./FeaturesPage.js";
import { JobsPage } from "./JobsPage.js";
import { LimitsPage } from "./LimitsPage.js";
import { ModerationPage } from "./ModerationPage.js";
import { NodesPage } from "./NodesPage.js";
import type { PageProps } from "./pageProps.js";
import { RankingPage } from "./RankingPage.js";
import { useText, type Key } from "./text.js";
import { VideosPage } from "./VideosPage.js";

const pages = { nodes: NodesPage, limits: LimitsPage, caches: CachesPage, jobs: JobsPage, stores: ComparisonsPage, videos: VideosPage, features: FeaturesPage, ranking: RankingPage, moderation: ModerationPage, audit: AuditPage };
type Page = keyof typeof pages;
const names = Object.keys(pages) as Page[];

function onHash(f: () => void): () => void {
  addEventListener("hashchange", f);
  return () => removeEventListener("hashchange", f);
}

/** The pages that a role may open, the first one first. */
export function pagesOf(role: OperatorRole): Page[] {
  if (role === OperatorRole.MODERATOR) return ["moderation"];
  return names.filter((n) => n !== "moderation" || role === OperatorRole.OPERATOR);
}

function usePage(open: Page[]): Page {
  const hash = useSyncExternalStore(onHash, () => location.hash.slice(1));
  return open.find((n) => n === hash) ?? open[0]!;
}

const roleNames: Record<OperatorRole, Key> = {
  [OperatorRole.UNSPECIFIED]: "none",
  [OperatorRole.AUDITOR]: "roleAuditor",
  [OperatorRole.OPERATOR]: "roleOperator",
  [OperatorRole.MODERATOR]: "roleModerator",
};

/** The operators' console. */
export function Console() {
  const [key, setKey] = useState(storedKey.get);
  const [operator, setOperator] = useState<Operator>();
  const [error, setError] = useState<unknown>();
  const calls = useMemo(() => callsWith(key), [key]);
  const signOut = useCallback((why?: unknown) => {
    storedKey.clear();
    setKey("");
    setOperator(undefined);
    setError(why);
  }, []);
  useEffect(() => {
    if (!key) return;
    const ended = new AbortController();
    calls.operation.getOperator({}, { signal: ended.signal }).then(
      (o) => {
        storedKey.set(key);
        setOperator(o);
        setError(undefined);
      },
      (err: unknown) => !ended.signal.aborted && (isSignedOut(err) ? signOut(err) : setError(err)),
    );
    return () => ended.abort();
  }, [key, calls, signOut]);
  const fail = useCallback((err: unknown) => {
    if (isSignedOut(err)) signOut(err);
    return err instanceof Error ? err.message : String(err);
  }, [signOut]);
  if (!operator) return <SignIn error={error} onKey={setKey} />;
  return <Shell operator={operator} calls={calls} fail={fail} onSignOut={() => signOut()} />;
}

function SignIn({ error, onKey }: { error: unknown; onKey: (key: string) => void }) {
  const t = useText();
  const why = isUnknownKey(error) ? t("keyUnknown") : error instanceof Error ? error.message : "";
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const field = e.currentTarget.elements.namedItem("key") as HTMLInputElement;
    onKey(field.value.trim());
    field.value = "";
  };
  return (
    <main className="sign-in">
      <h1>{t("title")}</h1>
      <form className="stack" onSubmit={submit}>
        <label>
          {t("key")}
          <input type="password" name="key" autoComplete="off" required />
        </label>
        <small>{t("keyHint")}</small>
        {why && <p className="error" role="alert">{why}</p>}
        <button className="primary">{t("signIn")}</button>
      </form>
      <Language />
    </main>
  );
}

function Language() {
  const t = useText();
  const l = useLocale();
  return (
    <button className="link" lang={l === "en" ? "zh-CN" : "en"} onClick={() => setLocale(l === "en" ? "zh" : "en")}>
      {t("language")}
    </button>
  );
}

/** The links to the pages. Where they do not fit side by side, the one to the current page is scrolled into view. */
function Sections({ open, page }: { open: Page[]; page: Page }) {
  const t = useText();
  const current = useRef<HTMLAnchorElement>(null);
  useEffect(() => {
    current.current?.scrollIntoView({ block: "nearest", inline: "center" }); // it returns a promise in new browsers, which is no cleanup
  }, [page]);
  return (
    <nav aria-label={t("sections")}>
      {open.map((n) => (
        <a key={n} ref={n === page ? current : undefined} href={`#${n}`} aria-current={n === page ? "page" : undefined}>
          {t(n)}
        </a>
      ))}
    </nav>
  );
}

function Shell({ operator, onSignOut, ...rest }: { operator: Operator; onSignOut: () => void } & Omit<PageProps, "mayChange">) {
  const t = useText();
  const open = pagesOf(operator.role);
  const page = usePage(open);
  const Shown = pages[page];
  const mayChange = operator.role === OperatorRole.OPERATOR;
  return (
    <div className="console">
      <header>
        <strong>{t("title")}</strong>
        {open.length > 1 && <Sections open={open} page={page} />}
        <span className="who">
          <bdi>{operator.name}</bdi> · {t(roleNames[operator.role])}
        </span>
        <Language />
        <button className="link" onClick={onSignOut}>{t("signOut")}</button>
      </header>
      <main>
        <h1>{t(page)}</h1>
        <Shown {...rest} mayChange={mayChange} />
      </main>
    </div>
  );
}
