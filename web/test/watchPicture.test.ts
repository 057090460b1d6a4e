import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { watchPicture } from "../src/watchPicture.js";

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("innerHeight", 700);
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A picture that is not there yet, at a place of the page. */
const picture = (loading: "eager" | "lazy", top: number) => ({ complete: false, loading, top, getBoundingClientRect: function () { return { top: this.top, bottom: this.top + 100 } as DOMRect; } });

test("the edge of a picture that does not come is checked every five seconds, until the picture is there", () => {
  const [img, checkEdge] = [picture("eager", 900), vi.fn()];
  watchPicture(img, checkEdge);
  vi.advanceTimersByTime(4_999);
  expect(checkEdge).toHaveBeenCalledTimes(0);
  vi.advanceTimersByTime(5_001);
  expect(checkEdge).toHaveBeenCalledTimes(2);
  img.complete = true;
  vi.advanceTimersByTime(5_000);
  expect([checkEdge.mock.calls.length, vi.getTimerCount()]).toEqual([2, 0]);
});

test("a picture that is loaded once it comes into view is not waited for before", () => {
  const [img, checkEdge] = [picture("lazy", 900), vi.fn()];
  const stop = watchPicture(img, checkEdge);
  vi.advanceTimersByTime(20_000);
  expect(checkEdge).toHaveBeenCalledTimes(0);
  img.top = -50;
  vi.advanceTimersByTime(5_000);
  expect(checkEdge).toHaveBeenCalledTimes(1);
  stop();
  vi.advanceTimersByTime(20_000);
  expect(checkEdge).toHaveBeenCalledTimes(1);
});
