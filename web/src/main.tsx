import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App.js";
import { client } from "./client.js";
import { getLocale, setLocale } from "./i18n.js";
import "./style.css";
import { applyTheme } from "./theme.js";

applyTheme();
setLocale(getLocale());
// The page itself starts without a network, too.
if (import.meta.env.PROD && "serviceWorker" in navigator) navigator.serviceWorker.register("/sw.js").catch(() => {});

await client.start();
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
