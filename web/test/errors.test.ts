import { RialtoError } from "@rialto-im/client";
import { expect, test } from "vitest";
import { errorText } from "../src/errors.js";

test("a refusal is told by its reason, else by its code, else as the server says it", () => {
  expect(errorText(new RialtoError("permission_denied", "x", "muted"))).toBe("You are muted in this group for now.");
  expect(errorText(new RialtoError("permission_denied", "x", "something_new"))).toBe("You're not allowed to do that.");
  expect(errorText(new RialtoError("invalid_argument", "the server's words", "something_new"))).toBe("the server's words");
  expect(errorText({ code: "invalid_argument", reason: "text_too_long", message: "x" })).toContain("100,000");
});
