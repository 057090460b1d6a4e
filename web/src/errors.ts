import { getLocale, translate, type Key } from "./i18n.js";

/** Refusals that a person meets, by the server's reason or code. The others are shown as the server says them. */
const known: Record<string, Key> = {
  bad_login: "errLogin",
  bad_code: "errCode",
  no_codes: "errNoCodes",
  too_many_logins: "errLogins",
  handle_taken: "errHandleTaken",
  reserved_handle: "errHandleTaken",
  bad_handle: "errHandle",
  bad_password: "errPassword",
  weak_password: "errWeakPassword",
  bad_name: "errName",
  bad_bio: "errBio",
  bad_title: "errTitle",
  bad_announcement: "errAnnouncement",
  bad_link: "errLink",
  blocked: "errBlocked",
  banned: "errBanned",
  removed: "errRemoved",
  may_not_add: "errMayNotAdd",
  folder_exists: "errFolderExists",
  folder_full: "errFolderFull",
  no_invitation: "errNoInvitation",
  muted: "errMuted",
  too_fast: "errRoomFast",
  room_busy: "errRoomBusy",
  changed_meanwhile: "errOfficialChanged",
  too_many_taps: "errTaps",
  no_room: "errNoRoom",
  organization_forbids: "errOrganizationForbids",
  follows_department: "errFollowsDepartment",
  not_in_organization: "errNotInOrganization",
  department_not_empty: "errDepartmentNotEmpty",
  dissolved: "dissolvedNote",
  notices: "errNotices",
  too_many_followers: "errManyFollowers",
  owner_stays: "errOwnerStays",
  group_full: "errGroupFull",
  no_conversation: "errGone",
  no_friend: "errNotFriend",
  text_too_long: "errTooLong",
  no_file: "errFileGone",
  no_upload: "errFileGone",
  bad_size: "errFileSize",
  not_an_image: "errNotImage",
  bad_image: "errBadImage",
  unavailable: "errOffline",
  resource_exhausted: "errTooMuch",
  permission_denied: "errDenied",
  internal: "errServer",
};

/** What a view shows of an error: in one's own language where it is a common one, else as the server said it. */
export function errorText(err: unknown): string {
  const { code = "", reason = "" } = err as { code?: string; reason?: string };
  const key = known[reason] ?? known[code];
  if (key) return translate(getLocale(), key);
  return err instanceof Error ? err.message : (err as { message?: string }).message ?? String(err);
}
