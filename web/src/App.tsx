import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { Router } from "wouter";
import { client, useClient } from "./client.js";
import { Auth } from "./components/Auth.js";
import { go, path, useAppLocation } from "./routes.js";

const loadShell = () => import("./Shell.js");
const Shell = lazy(() => loadShell().then((m) => ({ default: m.Shell })));

export function App() {
  const c = useClient();
  const [notice, setNotice] = useState<string>();
  const signedOut = c.connection === "signed-out";
  const wasIn = useRef(!signedOut);
  useEffect(() => client.on("ended", ({ reason }) => setNotice(reason)), []);
  useEffect(() => void loadShell().catch(() => {}), []); // while one signs in; it is loaded again when it is needed
  useEffect(() => {
    // The next who signs in has nothing to do with where this one was. Who opened a shared address gets there by signing in.
    if (signedOut && wasIn.current) go(path.chats, { replace: true });
    if (!signedOut) setNotice(undefined);
    wasIn.current = !signedOut;
  }, [signedOut]);
  return <Router hook={useAppLocation}>{signedOut ? <Auth notice={notice} /> : <Suspense><Shell /></Suspense>}</Router>;
}
