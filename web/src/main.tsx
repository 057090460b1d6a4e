import { RialtoProvider } from "@rialto-im/client/react";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App.js";
import { client, drafts } from "./client.js";
import { ErrorPage, ErrorBoundary } from "./components/ErrorBoundary.js";
import { runExtension } from "./extensions.js";
import { getLocale, setLocale } from "./i18n.js";
import { redirectOld } from "./routes.js";
import { storage } from "./storage.js";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/touch.css";
import { applyTheme } from "./theme.js";

redirectOld();
applyTheme();
setLocale(getLocale());
// The page itself starts without a network, too.
if (import.meta.env.PROD && "serviceWorker" in navigator) addEventListener("load", () => void navigator.serviceWorker.register("/sw.js").catch(() => {}));

// A newer version of the app has replaced the files that this page would load for a route: the page is loaded again, once.
addEventListener("vite:preloadError", (e) => {
  if (!navigator.onLine || storage.getItem("reloaded") === import.meta.url) return;
  storage.setItem("reloaded", import.meta.url);
  e.preventDefault();
  location.reload();
});

// Views and impressions that were not recorded yet are, before the page may go.
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "hidden" || !client.me) return;
  void client.recordViews();
  void client.recordImpressions();
});

// A file that is dropped beside a chat must not take the page's place.
for (const event of ["dragover", "drop"]) window.addEventListener(event, (e) => (e as DragEvent).dataTransfer?.types.includes("Files") && e.preventDefault());

const root = createRoot(document.getElementById("root")!);
try {
  const [signedIn] = await Promise.all([client.start(), runExtension(client)]);
  if (signedIn) void drafts.restore();
  root.render(
    <StrictMode>
      <RialtoProvider client={client}>
        <ErrorBoundary>
          <App />
        </ErrorBoundary>
      </RialtoProvider>
    </StrictMode>,
  );
} catch (err) {
  console.error(err);
  root.render(<ErrorPage text="errStorage" />);
}
