import type { StoreDifference } from "./calls.js";
import type { Values } from "../locale.js";

export const differenceEn = {
  differsFileMissing: "Its file {file} is missing.",
  differsFileSize: "Its file {file} has {size} bytes, and not {want}.",
  differsFileChanged: "Its file {file} has other bytes than were stored.",
  differsFileUnreadable: "Its file {file} cannot be read: {error}",
  differsFileUnreferenced: "No row names this file of {size} bytes, stored on {date}.",
  differsQuota: "{used} bytes and {unfinished} unfinished uploads are counted, and there are {want_used} and {want_unfinished}.",
  differsCount: "{counted} were counted, and the set has {members}.",
  differsSetTooLarge: "The set is so large that it could not be counted within {minutes} minutes.",
  differsInbox: "The stream lacks {count} messages of conversation {conversation}, the first of which is {first}.",
  differsIndexUser: "The search index lacks the user, or has another name.",
  differsIndexPost: "The search index lacks the post or its video, or has another text.",
  differsIndexGroup: "The search index lacks the group, or has another title.",
  differsIndexMessage: "The search index lacks messages, or has other texts of them; the first is number {first}.",
  differsOthers: "At least {others} other files differ too.",
  unrepairable: "It cannot be repaired from here: put it back from a backup.",
};

export const differenceZh: Record<keyof typeof differenceEn, string> = {
  differsFileMissing: "文件 {file} 缺失。",
  differsFileSize: "文件 {file} 有 {size} 字节，应为 {want} 字节。",
  differsFileChanged: "文件 {file} 的内容与存储时不同。",
  differsFileUnreadable: "文件 {file} 无法读取：{error}",
  differsFileUnreferenced: "没有记录引用该文件（{size} 字节，存储于 {date}）。",
  differsQuota: "记录为 {used} 字节、{unfinished} 个未完成的上传，实际为 {want_used} 字节、{want_unfinished} 个。",
  differsCount: "计数为 {counted}，集合实际有 {members} 个成员。",
  differsSetTooLarge: "集合过大，{minutes} 分钟内无法统计完。",
  differsInbox: "消息流缺少会话 {conversation} 的 {count} 条消息，首条为第 {first} 条。",
  differsIndexUser: "搜索索引缺少该用户，或名称不一致。",
  differsIndexPost: "搜索索引缺少该动态或其视频，或文字不一致。",
  differsIndexGroup: "搜索索引缺少该群，或名称不一致。",
  differsIndexMessage: "搜索索引缺少消息，或文字不一致；首条为第 {first} 条。",
  differsOthers: "另有至少 {others} 个文件不一致。",
  unrepairable: "无法在此修复：请从备份恢复。",
};

type DifferenceKey = keyof typeof differenceEn;

/** The text of each reason. */
export const differenceTexts: Record<string, DifferenceKey> = {
  file_missing: "differsFileMissing",
  file_size: "differsFileSize",
  file_changed: "differsFileChanged",
  file_unreadable: "differsFileUnreadable",
  file_unreferenced: "differsFileUnreferenced",
  quota_wrong: "differsQuota",
  count_wrong: "differsCount",
  set_too_large: "differsSetTooLarge",
  inbox_lacks: "differsInbox",
  index_lacks_user: "differsIndexUser",
  index_lacks_post: "differsIndexPost",
  index_lacks_group: "differsIndexGroup",
  index_lacks_message: "differsIndexMessage",
};

/** What differs, in the console's language; in the server's words if it is of a later release. */
export function describeDifference(d: Pick<StoreDifference, "reason" | "values" | "what" | "unrepairable">, t: (key: DifferenceKey, values?: Values) => string): string {
  const key = differenceTexts[d.reason];
  if (!key) return d.what;
  const texts = [t(key, d.values)];
  if (d.values["others"]) texts.push(t("differsOthers", d.values));
  if (d.unrepairable) texts.push(t("unrepairable"));
  return texts.join(" ");
}
