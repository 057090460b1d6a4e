import type { ComponentProps } from "react";
import { Tip, type Side } from "./Tip.js";

/** A button that shows an icon. Its label is for screen readers, and a tip for all others. */
export function IconButton({ label, side = "bottom", className = "", ...props }: ComponentProps<"button"> & { label: string; side?: Side }) {
  return <Tip label={label} side={side}><button type="button" className={`icon ${className}`} aria-label={label} {...props} /></Tip>;
}
