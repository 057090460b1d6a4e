/** What the app says in English of a message's versions and reactions, and of finding one by its day. */
export const messagesEn = {
  edited: "edited",
  react: "React",
  reacted: "{emoji}, {n}",
  editHistory: "Edit history",
  originalAt: "Original · {when}",
  editedAt: "Edited · {when}",
  editCaption: "Edit caption",
  whoReacted: "Who reacted",
  readByCount: "Read by {n}",
  goToDate: "Go to date",
  date: "Date",
  goThere: "Go",
  nothingSince: "There are no messages from that day or later.",
  invited: "Invited",
  invitedByWhom: "invited by {who}",
  cancelInvitation: "Cancel invitation",
};

/** Likewise in Chinese. */
export const messagesZh: Record<keyof typeof messagesEn, string> = {
  edited: "已编辑",
  react: "添加表情回应",
  reacted: "{emoji}，{n}",
  editHistory: "编辑记录",
  originalAt: "原文 · {when}",
  editedAt: "编辑于 {when}",
  editCaption: "编辑说明文字",
  whoReacted: "谁做了回应",
  readByCount: "{n} 人已读",
  goToDate: "跳转到日期",
  date: "日期",
  goThere: "跳转",
  nothingSince: "那天及以后没有消息。",
  invited: "已邀请",
  invitedByWhom: "由{who}邀请",
  cancelInvitation: "撤销邀请",
};
