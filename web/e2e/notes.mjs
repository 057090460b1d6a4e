// What a test sees of a browser's notifications.

/** Stands for the browser's notifications, sounds and visibility, which a test cannot see or change. */
export function stub() {
  const key = "test-notes"; // of all windows of the browser, in order
  const note = (what) => localStorage.setItem(key, JSON.stringify([...JSON.parse(localStorage.getItem(key) ?? "[]"), what]));
  window.Notification = class {
    static get permission() {
      return localStorage.getItem("test-permission") ?? "default";
    }
    static async requestPermission() {
      note(["asked"]);
      localStorage.setItem("test-permission", "granted");
      return "granted";
    }
    constructor(title, { body, tag }) {
      note(["shown", title, body]);
      Object.assign(this, { body, tag });
      (window.notes ??= []).push(this);
    }
    close() {
      note(["closed", this.body]);
    }
  };
  const { start } = OscillatorNode.prototype;
  OscillatorNode.prototype.start = function (...args) {
    localStorage.setItem("test-tones", Number(localStorage.getItem("test-tones")) + 1);
    return start.apply(this, args);
  };
  let away = false;
  Object.defineProperty(document, "visibilityState", { get: () => (away ? "hidden" : "visible") });
  document.hasFocus = () => !away && !window.aside;
  window.look = (looks, aside = false) => {
    away = !looks;
    window.aside = aside;
    document.dispatchEvent(new Event("visibilitychange"));
  };
}

/** What a browser with the stub was asked to show, in order. */
export function notesOf(page) {
  const events = () => page.evaluate(() => JSON.parse(localStorage.getItem("test-notes") ?? "[]"));
  let before = 0;
  /** What was shown and closed since the last time, once as much has happened. */
  const news = async (n) => {
    await page.waitForFunction((least) => JSON.parse(localStorage.getItem("test-notes") ?? "[]").length >= least, before + n);
    const list = (await events()).slice(before);
    before += list.length;
    return list;
  };
  return { events, news };
}
