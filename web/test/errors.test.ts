import { RialtoError } from "@rialto-im/client";
import { expect, test } from "vitest";
import protocol from "../../docs/protocol.md?raw";
import format from "../../internal/platform/subtitle/format.go?raw";
import subtitle from "../../internal/platform/subtitle/subtitle.go?raw";
import service from "../../internal/service/video/subtitles.go?raw";
import { errorText, known } from "../src/errors.js";
import { comes } from "../src/format.js";
import { dictionaries } from "../src/i18n.js";
import { subtitlesError } from "../src/subtitlesError.js";

test("a refusal is told by its reason, else by its code, else as the server says it", () => {
  expect(errorText(new RialtoError("permission_denied", "x", "muted"))).toBe(
    "You can't write here now: you are muted, only admins or moderators may write, or the ticket is resolved.",
  );
  expect(errorText(new RialtoError("permission_denied", "x", "something_new"))).toBe("You're not allowed to do that.");
  expect(errorText(new RialtoError("invalid_argument", "the server's words", "something_new"))).toBe("the server's words");
  expect(errorText({ code: "invalid_argument", reason: "text_too_long", message: "x" })).toContain("100,000");
});

/** Reasons for programs, for operators and for those who call the API with a key: nobody meets them in the app. */
const forPrograms = `
  auth_again bad_action bad_batch bad_change bad_channel bad_client bad_count bad_position bad_draft bad_engagement bad_external_id bad_frame bad_history bad_id bad_join_policy bad_json
  bad_key bad_likes bad_limit bad_messaging bad_notices bad_page bad_payload bad_previous bad_ref bad_restriction bad_room_message bad_scheme bad_seqs
  bad_tag bad_tag_page bad_type bad_url bad_window built_in_tag bus_bad_subject bus_subjects bus_too_large busy compressed group_key_used growing id_reuse
  ids_used_up needs_key no_change no_client_id no_content no_device no_key no_method no_session no_tag not_a_socket not_uploaded notices_exist origin
  request_too_large rule_taken sequence_memory subprotocol tag_fixed tags_full token_in_url too_many_calls too_many_connections too_many_elements
  too_many_lists too_many_official_accounts too_many_posts too_many_requests too_many_sends too_much bad_push_settings bad_push_subscription no_push_provider too_many_push_subscriptions two_client_ids unread_answers upload_not_complete url_expired
  wrong_type bad_checksum bad_chunk bad_clock bad_concat bad_metadata bad_offset bad_part bad_part_size bad_parts bad_signature final_upload not_multipart not_supported
  bad_purpose parts_missing upload_complete wrong_checksum wrong_method wrong_offset wrong_protocol wrong_version bad_end bad_note ended too_many_streamed wait_on_socket
  bad_consumer bad_cursor bad_filter bad_secret bad_seek bad_share bad_stomp bot_fixed cursor_outdated events_off has_webhook no_audit no_consumer no_dead_events not_your_consumer
  too_many_consumers too_many_waiting bad_transaction committed no_transaction reference_reused rolled_back too_many_transactions
  bad_model no_model too_few_examples appeal_decided bad_ban bad_decision bad_list bad_words case_decided no_appeal no_ban no_case no_moderator no_target no_word_list too_many_words
  bad_edge_report bad_reason backup_off backup_running backup_shared no_backup no_comparison bad_job_state console_key finished no_difference no_job no_operator no_queue no_role not_finished
  bad_time has_history import_ended time_order too_many_limits
  address_linked already_linked bad_bridge bad_link_state bad_permission bridge_taken external_id_taken no_bridge no_bridge_key not_bridged not_linkable not_linked too_many_bridged_users
  too_many_bridges too_many_links bad_room no_link too_many_links_of_user
`.trim().split(/\s+/);
/** Codes that say enough to a person: whatever the reason, what helps is to try again, or to sign in again. */
const tellingCodes = ["internal", "unavailable", "unauthenticated"];

/** The reasons of the protocol, which are all that the server sends (internal/tool/archtest), with their codes. */
const reasons = [...protocol.slice(protocol.indexOf("### Reasons")).matchAll(/^\| `(\w+)` \| (\w+) \|/gm)].map(([, reason = "", code = ""]) => ({ reason, code }));

test("each reason that a person can meet has a text in each language", () => {
  expect(reasons.length).toBeGreaterThan(200);
  const silent = reasons.filter(({ reason, code }) => !known[reason] && !tellingCodes.includes(code) && !forPrograms.includes(reason));
  expect(silent).toEqual([]);
  for (const key of Object.values(known)) expect(dictionaries.zh[key], key).toMatch(/\p{Script=Han}/u);
});

test("the app knows no reason that the server does not send", () => {
  const sent = new Set(reasons.flatMap(({ reason, code }) => [reason, code]));
  expect([...Object.keys(known), ...forPrograms].filter((r) => !sent.has(r))).toEqual([]);
  expect(forPrograms.filter((r) => known[r])).toEqual([]);
});

test("a text says what only the server knows", () => {
  expect(errorText(new RialtoError("invalid_argument", "there is no column ag", "bad_csv"))).toBe("The CSV is not as it should be: there is no column ag.");
});

test("what is wrong with subtitles is said in one's own language, with its line and its limit", () => {
  expect(subtitlesError("line 2: a line has at most 500 characters", "zh")).toBe("第 2 行：一行最多 500 个字符");
  expect(errorText(new RialtoError("invalid_argument", "line 2: times are at most 24 hours", "bad_subtitles"))).toBe("This file can't be used as subtitles: line 2: times are at most 24 hours");
  expect(subtitlesError("something new", "zh")).toBe("something new");
  const words = [...(subtitle + format + service).matchAll(/(?:\bbad\((?:i|index), |\bbad\(|"bad_subtitles", )(?:fmt\.Sprintf\()?"([^"]+)"/g)].map(([, text = ""]) => text).filter((text) => !text.startsWith("line %d"));
  expect(words.length).toBe(11);
  for (const text of words) expect(subtitlesError(text.replaceAll("%d", "7"), "zh"), text).toMatch(/^[^a-z]*\p{Script=Han}/u);
});

test("when a quota is used up, it says when more is possible", () => {
  const retryMs = 26 * 3_600_000;
  const said = errorText(new RialtoError("resource_exhausted", "x", "post_quota", retryMs));
  expect(said).toBe(`You have published very many posts today. The next one is possible from ${comes(Date.now() + retryMs, "en")}.`);
  expect(said).toMatch(/day.* \d/); // the day of the week, and the time
});
