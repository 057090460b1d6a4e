import { expect, test } from "vitest";
import { digitsOf, minorOf, money, mostPriceMinor, typedPrice } from "../src/money.js";

test("a price is whole units of the smallest coin", () => {
  expect(["12.90", "12,9", "12", " 0.05 ", "0"].map((p) => minorOf(p, "EUR"))).toEqual([1290, 1290, 1200, 5, 0]);
  expect([minorOf("1200", "JPY"), minorOf("1.234", "KWD")]).toEqual([1200, 1234]);
  for (const bad of ["", "x", "-1", "1.234", "1.2.3", "1,000.00", "12.", ".5", "1e3", "12 3"]) expect(minorOf(bad, "EUR"), bad).toBeUndefined();
  expect(minorOf("1.5", "JPY")).toBeUndefined();
  expect([minorOf("9999999999.99", "EUR"), minorOf("10000000000", "EUR")]).toEqual([mostPriceMinor, undefined]);
});

test("what is typed again is what was stored", () => {
  for (const [minor, currency] of [[1290, "EUR"], [5, "USD"], [1200, "JPY"], [1234, "KWD"], [mostPriceMinor, "CNY"]] as const) expect(minorOf(typedPrice(minor, currency), currency)).toBe(minor);
});

test("a price is shown with its currency, also one that the browser does not know", () => {
  expect(money(1290n, "EUR", "en")).toMatch(/€\s?12\.90/);
  expect(money(1200n, "JPY", "en")).toMatch(/¥\s?1,200/);
  expect(money(100n, "XQZ", "en")).toMatch(/XQZ\s?1\.00/);
  expect([digitsOf("EUR"), digitsOf("JPY"), digitsOf("KWD")]).toEqual([2, 0, 3]);
});
