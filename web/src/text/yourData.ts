/** Texts of the export of one's data, and of the end of an account. */
export const yourDataEn = {
  yourData: "Your data",
  dataExport: "Download your data",
  dataExportIs: "An archive with your profile, messages, posts, comments, files and everything else that this server has of you. It takes some minutes; you can request one a day.",
  dataExportRequest: "Make an archive",
  dataExportMaking: "The archive is being made. You can leave this page.",
  dataExportDownload: "Download the archive ({size})",
  dataExportUntil: "Available until {when}",
  eraseAccount: "Delete the account",
  eraseAccountIs: "Everything that you wrote and uploaded is deleted. In conversations, others see that a message was deleted, and not what it said. Nobody can bring it back.",
  sureEraseAccount: "Your account and all your data will be deleted after a few days. Until then you can cancel it here.",
  erasePlanned: "This account will be deleted on {when}.",
  eraseCancel: "Keep the account",
  deletedAccount: "Deleted account",
  deletedAccountMessage: "The author of this message has deleted the account",
};

/** Likewise in Chinese. */
export const yourDataZh: Record<keyof typeof yourDataEn, string> = {
  yourData: "你的数据",
  dataExport: "下载你的数据",
  dataExportIs: "一个压缩包，包含你的资料、消息、动态、评论、文件，以及服务器上与你有关的所有其他数据。生成需要几分钟，每天可申请一次。",
  dataExportRequest: "生成压缩包",
  dataExportMaking: "正在生成压缩包，你可以离开此页面。",
  dataExportDownload: "下载压缩包（{size}）",
  dataExportUntil: "可下载至 {when}",
  eraseAccount: "注销账号",
  eraseAccountIs: "你发布和上传的所有内容都将被删除。在会话中，其他人只能看到消息已删除，看不到其内容。任何人都无法恢复。",
  sureEraseAccount: "你的账号和所有数据将在几天后删除。在此之前，你可以在这里取消。",
  erasePlanned: "此账号将于 {when} 注销。",
  eraseCancel: "保留账号",
  deletedAccount: "已注销的账号",
  deletedAccountMessage: "此消息的作者已注销账号",
};
