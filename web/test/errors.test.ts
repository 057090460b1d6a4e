import { RialtoError } from "@rialto-im/client";
import { expect, test } from "vitest";
import { errorText } from "../src/errors.js";

test("a refusal is told by its reason, else by its code, else as the server says it", () => {
  expect(errorText(new RialtoError("permission_denied", "x", "muted"))).toBe("You are muted in this group for now.");
  expect(errorText(new RialtoError("permission_denied", "x", "something_new"))).toBe("You're not allowed to do that.");
  expect(errorText(new RialtoError("invalid_argument", "the server's words", "something_new"))).toBe("the server's words");
  expect(errorText({ code: "invalid_argument", reason: "text_too_long", message: "x" })).toContain("100,000");
});

test.each(["ticket_taken", "queue_empty", "bad_transfer", "bad_take", "bad_help_desk", "bad_hours", "too_many_help_desks", "no_help_desk", "no_ticket", "bad_status", "bad_subject", "help_desk_closed", "too_many_tickets", "cannot_reopen", "bad_rating", "cannot_rate", "bad_period", "ticket"])("the refusal %s of help desks has a text", (reason) => {
  expect(errorText(new RialtoError("permission_denied", "x", reason))).not.toMatch(/^(x|You're not allowed to do that\.)$/);
});
