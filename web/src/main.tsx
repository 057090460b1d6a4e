import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App.js";
import { client, drafts } from "./client.js";
import { Sorry, Trouble } from "./components/Trouble.js";
import { getLocale, setLocale } from "./i18n.js";
import "./style.css";
import { applyTheme } from "./theme.js";

applyTheme();
setLocale(getLocale());
// The page itself starts without a network, too.
if (import.meta.env.PROD && "serviceWorker" in navigator) navigator.serviceWorker.register("/sw.js").catch(() => {});

// A file that is dropped beside a chat must not take the page's place.
for (const event of ["dragover", "drop"]) window.addEventListener(event, (e) => (e as DragEvent).dataTransfer?.types.includes("Files") && e.preventDefault());

const root = createRoot(document.getElementById("root")!);
try {
  if (await client.start()) void drafts.restore();
  root.render(
    <StrictMode>
      <Trouble>
        <App />
      </Trouble>
    </StrictMode>,
  );
} catch (err) {
  console.error(err);
  root.render(<Sorry text="errStorage" />);
}
