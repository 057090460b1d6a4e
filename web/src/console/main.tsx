import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { getLocale, setLocale } from "../locale.js";
import "../styles/tokens.css";
import "../styles/base.css";
import { applyTheme } from "../theme.js";
import { Console } from "./Console.js";
import "./console.css";

applyTheme();
setLocale(getLocale());
createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <Console />
  </StrictMode>,
);
