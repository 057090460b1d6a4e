// Which browser the tests and pictures use.
import { existsSync } from "node:fs";

const shell = "/usr/bin/chromium-headless-shell"; // the same engine without a window, at two thirds of the CPU time

/** CHROMIUM, or what is installed. */
export const browserPath = process.env.CHROMIUM ?? (existsSync(shell) ? shell : "/usr/bin/chromium");

/** A whole browser: the headless shell shows no notifications. */
export const wholeBrowserPath = process.env.WHOLE_CHROMIUM ?? "/usr/bin/chromium";
