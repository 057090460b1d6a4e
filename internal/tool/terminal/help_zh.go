package terminal

// The help in Chinese, by the names of commands. The words of arguments stay as they are typed.

const chineseIntroduction = "输入的一行会发送到打开的会话。以 \\ 结尾的行与下一行相连；以 // 开头的行发送以 / 开头的文字。\n" +
	"SEQ 是消息的编号，显示为 #12。Tab 键补全命令、@用户名、标题和文件。NO_COLOR=1 关闭颜色。\n"

var chineseSections = map[string]string{"Chats": "会话", "People": "联系人", "Groups": "群组", "Posts": "动态", "Help desks": "客服", "You": "我"}

var chineseHelp = map[string]string{
	// Chats
	"chats": "列出会话：编号、未读数、置顶（^）、免打扰（-）", "folders": "列出分组；把打开的会话放入分组，或调整分组的顺序", "open": "打开会话",
	"saved": "打开收藏的消息，即与自己的会话", "close": "关闭会话，之后的消息不会标为已读", "history": "显示最近 N 条消息（20），或从某天起的消息，如 2026-01-31",
	"more": "再显示 N 条更早的消息（20）", "readers": "列出谁读过你的最后一条消息，或 SEQ 的消息", "delivered": "列出谁收到了消息，在哪些设备上",
	"reply": "回复 SEQ 的消息，或你最后一条消息，无论是否已发出", "thread": "打开一条消息的话题；/threads", "threads": "列出关注的话题，或打开一个", "draft": "显示会话的草稿（各设备同步），或发送、删除、替换它",
	"edit":   "修改你最后一条消息或 SEQ 的消息的文字",
	"recall": "为所有人撤回消息", "stop": "停止正在生成的消息", "react": "用表情回应消息；/unreact", "reactions": "列出谁回应了消息", "edits": "列出消息修改前的各个版本",
	"file": "发送文件、图片或视频", "album": "把最多 10 张图片和视频作为一条消息发送", "voice": "把录音作为语音消息发送", "forward": "把消息转发到另一个会话，写法同 /open",
	"location": "发送位置", "save": "保存 SEQ 的消息的文件，或相册的全部文件", "keep": "为所有人设置消息保留多久（1h、7d）", "pin": "置顶会话，或为所有人置顶 SEQ 的消息；/unpin",
	"pins": "列出置顶的消息", "forget": "只为自己删除消息", "clear": "只为自己清空聊天记录", "delete": "只为自己删除会话，有新消息时会再出现", "unread": "把会话标为未读并关闭",
	"mute": "会话未打开时不显示其消息，或不看某人的动态；/unmute", "archive": "归档，不再列出；/unarchive、/chats all",
	"later": "定时发送（2h 后，或 15:04），也可以用 /later 2h /file PATH；/scheduled", "scheduled": "列出定时发送的消息；/reschedule、/cancel N", "reschedule": "修改发送时间和内容",
	"menu": "显示公众号的菜单，或选择其中一项",
	// People
	"find": "按昵称或用户名找人", "search": "搜索全部；条件：from:@handle、in:@handle、kind:file、type:image、after:2026-01-31、has:link", "who": "显示用户的资料和在线状态",
	"friends": "列出好友、申请和黑名单", "add": "发送好友申请", "accept": "接受申请；/decline", "unfriend": "删除好友", "remark": "设置好友备注", "org": "列出你的组织、组织结构，或按姓名找成员",
	"organize": "修改组织：部门、成员、邀请、群；不带参数则列出用法", "block": "拉黑；/unblock",
	// Groups
	"group": "创建群组", "channel": "创建、关注或取消关注频道", "official": "显示或修改公众号：菜单、回复、标签；不带参数则列出用法", "broadcast": "向公众号的关注者发送文字；选项：waves:1,10,100 every:1h label:vip", "broadcasts": "列出你运营的公众号或其群发，或用 pause、resume、cancel、recall 处理一个",
	"deskstats": "向客服人员显示排队情况和最近几天（7）解决的工单",
	"room":      "聊天室，消息不会保存；单独输入 /room 可列出管理员的操作", "info": "显示名称、公告、人数和加入方式", "members": "列出成员", "invite": "添加成员；不是好友的人会收到邀请",
	"invited": "列出尚未答复的邀请；/uninvite", "remove": "移除成员", "ban": "移除成员并禁止再加入；/unban、/bans", "bans": "列出被禁止加入的人", "leave": "退出群组", "rename": "修改名称",
	"announce": "设置或清除公告", "role": "修改成员的角色", "transfer": "转让群主；工单则转给客服人员或另一个客服台", "silence": "全员禁言，或禁言一人一段时间（1h）；/unsilence",
	"policy": "设置谁可以加入", "link": "生成新的加入码，旧的失效；/unlink", "unlink": "撤销加入码", "join": "用加入码、链接或编号加入群组，用 @用户名 加入频道；/preview", "preview": "加入前查看加入码或链接指向的群组：名称、人数、由谁批准", "invitations": "列出群组和组织的邀请，或答复一个",
	"requests": "列出加入申请；/admit、/refuse", "dissolve": "为所有成员解散群组",
	// Posts
	"feed": "显示所关注的人的最新动态，或更早的", "foryou": "显示为你推荐的动态和理由；more 显示后面的", "less": "30 天内 /foryou 不显示 N 的作者的动态，之后少显示", "hot": "显示热门动态，或今天、本周获赞最多的",
	"profile": "显示某人或自己的动态和数量", "liked": "显示赞过的动态；/favourites、/viewed [clear]", "post": "发布动态；选项：title: cover: image: link: goods: to:friends to:@a except:@a",
	"repost": "转发动态并附上评论；N 是上一个列表中的编号", "editpost": "修改你的动态；/versions N 显示以前的版本", "deletepost": "为所有人删除你的动态", "comments": "显示评论，最新的在前，或按其他顺序",
	"comment": "评论动态，或按编号回复评论", "editcomment": "修改你的评论；/deletecomment N.M", "like": "赞动态或评论；/unlike", "likers": "显示谁赞过", "favourite": "收藏动态；/unfavourite",
	"share": "把动态或用户的卡片发到会话，写法同 /open", "notifications": "显示与你有关的通知，或标为已读", "notify": "选择接收哪些通知，以及谁的新动态", "decisions": "列出管理员对你的处理；确认警告，或申诉",
	"follow": "关注用户；/unfollow",
	// Help desks
	"desks": "列出客服台：代号、名称、营业时间", "ticket": "向客服台提交工单，用其代号", "tickets": "列出你的工单；客服人员可列出客服台的工单", "take": "领取客服台的下一个工单，或 N；/transfer",
	"resolve": "把打开的工单或 N 标为已解决；/reopen", "rate": "评价已解决的工单",
	// You
	"me": "显示你的资料和设置", "name": "修改别人看到的昵称", "bio": "修改个人简介", "avatar": "更换头像", "presence": "别人看到的状态：按设备自动、请勿打扰或离线", "status": "设置个人状态，可限时（2h），或清除",
	"visible": "设置谁能看到你在线", "addable": "设置谁可以把你加入群组，其他人只能邀请", "hide": "不让别人看到你已读", "previews": "是否为你发送的链接显示预览", "personalization": "/foryou 是否按你的阅读推荐", "password": "修改密码", "sessions": "列出已登录的设备；/revoke N 让其中一个退出",
	"logout": "退出登录，或退出所有设备", "quit": "离开，但保持登录", "help": "显示本说明",
}
