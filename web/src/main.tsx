import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App.js";
import { client, drafts } from "./client.js";
import { getLocale, setLocale } from "./i18n.js";
import "./style.css";
import { applyTheme } from "./theme.js";

applyTheme();
setLocale(getLocale());
// The page itself starts without a network, too.
if (import.meta.env.PROD && "serviceWorker" in navigator) navigator.serviceWorker.register("/sw.js").catch(() => {});

if (await client.start()) void drafts.restore();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
