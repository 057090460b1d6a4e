// Made from rialto/chat/v1/chat.proto by make generate. Do not edit.
import Foundation

extension ChatV1 {
    /// ChatService: conversations, their members and messages. All calls need an access token, or an API key and the
    /// header Rialto-User for the user on whose behalf the call is made.
    public enum ChatService {
        /// OpenDirect gives the one-to-one conversation with a user, made at the first call; with the caller, that of the saved messages.
        public static let openDirect = RialtoContract.Call<ChatV1.OpenDirectRequest, ChatV1.Conversation>("rialto.chat.v1.ChatService/OpenDirect")
        /// CreateGroup makes a group with the caller as owner.
        public static let createGroup = RialtoContract.Call<ChatV1.CreateGroupRequest, ChatV1.Conversation>("rialto.chat.v1.ChatService/CreateGroup")
        /// GetConversation gives one conversation as the caller sees it, also one that the caller has left.
        public static let getConversation = RialtoContract.Call<ChatV1.GetConversationRequest, ChatV1.Conversation>("rialto.chat.v1.ChatService/GetConversation")
        /// ListConversations gives the conversations that the caller is in, pinned first, then the last active first, in pages; or those that
        /// the caller has left.
        public static let listConversations = RialtoContract.Call<ChatV1.ListConversationsRequest, ChatV1.ListConversationsResponse>("rialto.chat.v1.ChatService/ListConversations")
        /// StartThread gives the thread under a message, made at the first call. The caller follows it then, and so does the message's sender when
        /// it is made. Who may write to the conversation may start one.
        public static let startThread = RialtoContract.Call<ChatV1.StartThreadRequest, ChatV1.Conversation>("rialto.chat.v1.ChatService/StartThread")
        /// ListThreads gives the threads that the caller follows and may read, the last active first, in pages.
        public static let listThreads = RialtoContract.Call<ChatV1.ListThreadsRequest, ChatV1.ListThreadsResponse>("rialto.chat.v1.ChatService/ListThreads")
        /// ListMembers gives a conversation's members, by user id, in pages; those of a thread are its followers.
        public static let listMembers = RialtoContract.Call<ChatV1.ListMembersRequest, ChatV1.ListMembersResponse>("rialto.chat.v1.ChatService/ListMembers")
        /// Invite adds users to a group. Admins and the owner may call it, and every member if the group is open. Present members are skipped.
        /// Banned users are unbanned first. Settings.who_may_add of a user decides whether the caller adds them at once; if not, they are invited,
        /// and become members when they accept. If a user lets nobody add them, the call changes nothing, and the error names those users.
        public static let invite = RialtoContract.Call<ChatV1.InviteRequest, ChatV1.Change>("rialto.chat.v1.ChatService/Invite")
        /// Remove takes members out. Admins remove members, the owner anyone. A removed user comes back by an invitation or an accepted request
        /// only, not by a link.
        public static let remove = RialtoContract.Call<ChatV1.RemoveRequest, ChatV1.Change>("rialto.chat.v1.ChatService/Remove")
        /// Ban keeps users from coming into a group, by any way, and takes out those who are members. Admins ban members and strangers, the
        /// owner anyone.
        public static let ban = RialtoContract.Call<ChatV1.BanRequest, ChatV1.Change>("rialto.chat.v1.ChatService/Ban")
        /// Unban lets users be invited, or ask to join, again. Admins may.
        public static let unban = RialtoContract.Call<ChatV1.UnbanRequest, ChatV1.Change>("rialto.chat.v1.ChatService/Unban")
        /// ListBans gives admins the banned users of a group, by user id, in pages.
        public static let listBans = RialtoContract.Call<ChatV1.ListBansRequest, ChatV1.ListBansResponse>("rialto.chat.v1.ChatService/ListBans")
        /// Leave a group. Its owner transfers or dissolves it first; a dissolved group is left by anyone.
        public static let leave = RialtoContract.Call<ChatV1.LeaveRequest, ChatV1.Change>("rialto.chat.v1.ChatService/Leave")
        /// Join an open group, or ask to join one by approval, or with the token of a link.
        public static let join = RialtoContract.Call<ChatV1.JoinRequest, ChatV1.JoinResponse>("rialto.chat.v1.ChatService/Join")
        /// ListJoinRequests gives admins the requests that wait, the oldest first, at most 200.
        public static let listJoinRequests = RialtoContract.Call<ChatV1.ListJoinRequestsRequest, ChatV1.ListJoinRequestsResponse>("rialto.chat.v1.ChatService/ListJoinRequests")
        /// AnswerJoinRequest lets a user in, or not; admins may.
        public static let answerJoinRequest = RialtoContract.Call<ChatV1.AnswerJoinRequestRequest, ChatV1.Change>("rialto.chat.v1.ChatService/AnswerJoinRequest")
        /// ListInvitations gives the caller's invitations to groups that wait for an answer, the newest first, at most 50.
        public static let listInvitations = RialtoContract.Call<ChatV1.ListInvitationsRequest, ChatV1.ListInvitationsResponse>("rialto.chat.v1.ChatService/ListInvitations")
        /// AnswerInvitation makes the caller a member of the group, or declines the invitation.
        public static let answerInvitation = RialtoContract.Call<ChatV1.AnswerInvitationRequest, ChatV1.Change>("rialto.chat.v1.ChatService/AnswerInvitation")
        /// ListGroupInvitations gives admins the users who are invited to the group and have not answered, by user id.
        public static let listGroupInvitations = RialtoContract.Call<ChatV1.ListGroupInvitationsRequest, ChatV1.ListGroupInvitationsResponse>("rialto.chat.v1.ChatService/ListGroupInvitations")
        /// CancelInvitation takes back a user's invitation to the group. Admins may, and the member who invited.
        public static let cancelInvitation = RialtoContract.Call<ChatV1.CancelInvitationRequest, ChatV1.CancelInvitationResponse>("rialto.chat.v1.ChatService/CancelInvitation")
        /// CreateJoinLink gives a token with which others join; a new one ends the old one. Admins may.
        public static let createJoinLink = RialtoContract.Call<ChatV1.CreateJoinLinkRequest, ChatV1.CreateJoinLinkResponse>("rialto.chat.v1.ChatService/CreateJoinLink")
        /// RevokeJoinLink ends the group's link. Admins may.
        public static let revokeJoinLink = RialtoContract.Call<ChatV1.RevokeJoinLinkRequest, ChatV1.RevokeJoinLinkResponse>("rialto.chat.v1.ChatService/RevokeJoinLink")
        /// PreviewJoinLink says which group a link leads to, without joining. Show it before you join.
        public static let previewJoinLink = RialtoContract.Call<ChatV1.PreviewJoinLinkRequest, ChatV1.PreviewJoinLinkResponse>("rialto.chat.v1.ChatService/PreviewJoinLink")
        /// SetRole makes a member an admin, or an admin a member; the owner may. In a channel it makes a follower an admin, too.
        public static let setRole = RialtoContract.Call<ChatV1.SetRoleRequest, ChatV1.Change>("rialto.chat.v1.ChatService/SetRole")
        /// Transfer gives the group to another member; the owner becomes an admin.
        public static let transfer = RialtoContract.Call<ChatV1.TransferRequest, ChatV1.Change>("rialto.chat.v1.ChatService/Transfer")
        /// MuteMembers keeps members, or all but admins, from writing.
        public static let muteMembers = RialtoContract.Call<ChatV1.MuteMembersRequest, ChatV1.Change>("rialto.chat.v1.ChatService/MuteMembers")
        /// UpdateGroup sets title, announcement, avatar, join policy or a channel's handle; absent fields stay.
        public static let updateGroup = RialtoContract.Call<ChatV1.UpdateGroupRequest, ChatV1.Change>("rialto.chat.v1.ChatService/UpdateGroup")
        /// SetRetention says how long a conversation's messages are kept; with a short time, they are disappearing messages. Either of the two of
        /// a one-to-one conversation may, in a group admins and the owner. It holds at once, for the messages that are there as well; what has
        /// expired is gone for good.
        public static let setRetention = RialtoContract.Call<ChatV1.SetRetentionRequest, ChatV1.Change>("rialto.chat.v1.ChatService/SetRetention")
        /// Dissolve ends the group: nobody writes any more, all may read what there is. The owner may.
        public static let dissolve = RialtoContract.Call<ChatV1.DissolveRequest, ChatV1.Change>("rialto.chat.v1.ChatService/Dissolve")
        /// Send stores a message. The answer means: durably stored.
        public static let send = RialtoContract.Call<ChatV1.SendRequest, ChatV1.SendResponse>("rialto.chat.v1.ChatService/Send")
        /// History gives messages by seq or by time, in either direction.
        public static let history = RialtoContract.Call<ChatV1.HistoryRequest, ChatV1.HistoryResponse>("rialto.chat.v1.ChatService/History")
        /// GetMessages gives some messages by their seqs, such as those that others reply to.
        public static let getMessages = RialtoContract.Call<ChatV1.GetMessagesRequest, ChatV1.GetMessagesResponse>("rialto.chat.v1.ChatService/GetMessages")
        /// ListReactions gives the users who reacted to a message with an emoji, by user id, in pages.
        public static let listReactions = RialtoContract.Call<ChatV1.ListReactionsRequest, ChatV1.ListReactionsResponse>("rialto.chat.v1.ChatService/ListReactions")
        /// ListPins gives the pinned messages of a conversation, the last pinned first, in pages of at most 100.
        public static let listPins = RialtoContract.Call<ChatV1.ListPinsRequest, ChatV1.ListPinsResponse>("rialto.chat.v1.ChatService/ListPins")
        /// ListEdits gives all versions of a message, from the first to the present one, in pages of at most 100 edits. It refuses a recalled message.
        public static let listEdits = RialtoContract.Call<ChatV1.ListEditsRequest, ChatV1.ListEditsResponse>("rialto.chat.v1.ChatService/ListEdits")
        /// ScheduleMessage stores a message that the server sends at a time. The caller must be able to write in the conversation now, and when it
        /// is sent. A repeated call with the same client_msg_id gives what is stored.
        public static let scheduleMessage = RialtoContract.Call<ChatV1.ScheduleMessageRequest, ChatV1.ScheduledMessage>("rialto.chat.v1.ChatService/ScheduleMessage")
        /// ListScheduled gives the caller's scheduled messages, the next to be sent first, in pages: those of a conversation, or all.
        public static let listScheduled = RialtoContract.Call<ChatV1.ListScheduledRequest, ChatV1.ListScheduledResponse>("rialto.chat.v1.ChatService/ListScheduled")
        /// UpdateScheduled changes the content or the time of a scheduled message that is not being sent yet.
        public static let updateScheduled = RialtoContract.Call<ChatV1.UpdateScheduledRequest, ChatV1.ScheduledMessage>("rialto.chat.v1.ChatService/UpdateScheduled")
        /// CancelScheduled deletes a scheduled message that is not being sent yet. After the answer it is not sent.
        public static let cancelScheduled = RialtoContract.Call<ChatV1.CancelScheduledRequest, ChatV1.CancelScheduledResponse>("rialto.chat.v1.ChatService/CancelScheduled")
        /// StartStreamedMessage stores a message whose text the caller writes in parts, while others read it. It counts as unread from now on. A
        /// repeated call with the same client_msg_id gives what is stored.
        public static let startStreamedMessage = RialtoContract.Call<ChatV1.StartStreamedMessageRequest, ChatV1.StartStreamedMessageResponse>("rialto.chat.v1.ChatService/StartStreamedMessage")
        /// WriteStreamedMessages shows the readers further parts of the caller's streamed messages. Nothing of them is stored for good until the
        /// messages end.
        public static let writeStreamedMessages = RialtoContract.Call<ChatV1.WriteStreamedMessagesRequest, ChatV1.WriteStreamedMessagesResponse>("rialto.chat.v1.ChatService/WriteStreamedMessages")
        /// EndStreamedMessage stores the whole text of a streamed message, or marks it as broken off. It succeeds if the message has ended already:
        /// the answer says how.
        public static let endStreamedMessage = RialtoContract.Call<ChatV1.EndStreamedMessageRequest, ChatV1.EndStreamedMessageResponse>("rialto.chat.v1.ChatService/EndStreamedMessage")
        /// StopStreamedMessage breaks off a streamed message, and tells its sender. It succeeds if the message has ended already: the answer says how.
        public static let stopStreamedMessage = RialtoContract.Call<ChatV1.StopStreamedMessageRequest, ChatV1.EndStreamedMessageResponse>("rialto.chat.v1.ChatService/StopStreamedMessage")
        /// GetStreamedMessage gives the text so far of a streamed message that the caller may read.
        public static let getStreamedMessage = RialtoContract.Call<ChatV1.GetStreamedMessageRequest, ChatV1.StreamedText>("rialto.chat.v1.ChatService/GetStreamedMessage")
        /// PreviewLink reads what a link leads to, for a text that has the link. Send the answer in the text's content, as it is; the server
        /// accepts it from this user only.
        public static let previewLink = RialtoContract.Call<ChatV1.PreviewLinkRequest, ChatV1.LinkPreview>("rialto.chat.v1.ChatService/PreviewLink")
        /// Mark moves the caller's delivered and read cursors forward; they never go back.
        public static let mark = RialtoContract.Call<ChatV1.MarkRequest, ChatV1.MarkResponse>("rialto.chat.v1.ChatService/Mark")
        /// DeleteMessages deletes messages for the caller, on all devices and for good: the others keep them. Of a conversation, a user can delete
        /// 10,000 messages so; clear the history to delete more.
        public static let deleteMessages = RialtoContract.Call<ChatV1.DeleteMessagesRequest, ChatV1.Deletion>("rialto.chat.v1.ChatService/DeleteMessages")
        /// ClearHistory deletes a conversation's history so far for the caller, on all devices and for good: the others keep it. With delete, the
        /// conversation also leaves the caller's list, until a message comes. The caller stays a member, and may be a former one.
        public static let clearHistory = RialtoContract.Call<ChatV1.ClearHistoryRequest, ChatV1.Deletion>("rialto.chat.v1.ChatService/ClearHistory")
        /// Configure sets the caller's own pin, mute, draft, archive and unread mark of a conversation; absent fields stay.
        public static let configure = RialtoContract.Call<ChatV1.ConfigureRequest, ChatV1.ConversationState>("rialto.chat.v1.ChatService/Configure")
        /// ListFolders gives the caller's folders, in their order. Folders are lists of conversations, the same on all devices of the user.
        public static let listFolders = RialtoContract.Call<ChatV1.ListFoldersRequest, ChatV1.ListFoldersResponse>("rialto.chat.v1.ChatService/ListFolders")
        /// CreateFolder makes a folder, after the others. A user has at most 20.
        public static let createFolder = RialtoContract.Call<ChatV1.CreateFolderRequest, ChatV1.Folder>("rialto.chat.v1.ChatService/CreateFolder")
        /// UpdateFolder renames a folder, and adds and removes conversations; absent fields stay.
        public static let updateFolder = RialtoContract.Call<ChatV1.UpdateFolderRequest, ChatV1.Folder>("rialto.chat.v1.ChatService/UpdateFolder")
        /// DeleteFolder deletes a folder, and no conversation. Deleting one that is gone succeeds.
        public static let deleteFolder = RialtoContract.Call<ChatV1.DeleteFolderRequest, ChatV1.DeleteFolderResponse>("rialto.chat.v1.ChatService/DeleteFolder")
        /// OrderFolders sets the order of the folders. Those that it does not name come after the others.
        public static let orderFolders = RialtoContract.Call<ChatV1.OrderFoldersRequest, ChatV1.ListFoldersResponse>("rialto.chat.v1.ChatService/OrderFolders")
        /// ListReaders says who has read a message and who has not; only its sender may ask.
        public static let listReaders = RialtoContract.Call<ChatV1.ListReadersRequest, ChatV1.ListReadersResponse>("rialto.chat.v1.ChatService/ListReaders")
        /// ListDeliveries says which users have received a message and, in a one-to-one conversation, on which types of devices; only its sender may
        /// ask. In large groups deliveries are not known (large_group).
        public static let listDeliveries = RialtoContract.Call<ChatV1.ListDeliveriesRequest, ChatV1.ListDeliveriesResponse>("rialto.chat.v1.ChatService/ListDeliveries")
        /// Sync gives what came after a device's position, in pages. Asking with a position confirms all before it, as an ack does.
        public static let sync = RialtoContract.Call<ChatV1.SyncRequest, ChatV1.SyncResponse>("rialto.chat.v1.ChatService/Sync")
    }

    /// Conversation as the caller sees it: one who left sees it as it was then.
    public struct Conversation: ProtoMessage {
        public var id: String
        public var kind: ChatV1.ConversationKind
        /// Title of a group; empty in a one-to-one conversation.
        public var title: String
        public var announcement: String
        public var avatar: String
        public var joinPolicy: ChatV1.JoinPolicy
        public var memberCount: Int
        /// Peer is the other user of a one-to-one conversation; the caller, where that is of the saved messages.
        public var peer: String
        /// Role of the caller.
        public var role: ChatV1.Role
        /// LastSeq is the seq of last_message, the newest entry that the caller may read and that is shown: edits, recalls, reactions, pins and
        /// changes of access are passed over, so that the newest entry of the log may have a higher seq.
        public var lastSeq: Int64
        /// JoinSeq is the seq from which on the caller may read: since joining, and of that what has not expired and was not cleared. It is last_seq + 1 where
        /// all has.
        public var joinSeq: Int64
        /// LastMessage is the entry at last_seq, a control entry among them; absent where it has expired. Where the newest ones cannot be read,
        /// since the server's store is damaged, last_seq is that of the newest before them.
        public var lastMessage: ChatV1.Message?
        /// State is the caller's own.
        public var state: ChatV1.ConversationState?
        /// Unread = messages that count after the caller's read cursor and are not the caller's own.
        public var unread: Int64
        /// Peer's cursors, in a one-to-one conversation; 0 while one of the two has blocked the other.
        public var peerDeliveredSeq: Int64
        public var peerReadSeq: Int64
        /// Large: it is not in the sync stream; see the protocol.
        public var large: Bool
        /// MutedAll: only admins may write.
        public var mutedAll: Bool
        public var dissolved: Bool
        /// LeaveSeq is the last seq that a former member may read; 0 for members.
        public var leaveSeq: Int64
        /// MutedUntilMs: the caller alone may not write before this time.
        public var mutedUntilMs: Int64
        /// Channel: a group with up to a million followers, in which only admins and the owner write. It is always large, and muted_all is true.
        public var channel: Bool
        /// Handle of a channel, by which users find it while its join policy is open; empty for none.
        public var handle: String
        /// RetentionSeconds that were set for this conversation; 0: none were.
        public var retentionSeconds: Int
        /// KeptSeconds is the age at which messages expire, by the conversation's setting or the server's; 0: never.
        public var keptSeconds: Int
        /// Mentions are the seqs of the unread messages that mention the caller, the lowest first, at most 100.
        public var mentions: [Int64]
        /// Parent is the conversation that a thread belongs to; 0 for other kinds.
        public var parent: String
        /// RootSeq is the seq, in parent, of the message that a thread is under.
        public var rootSeq: Int64
        /// Root is that message as it is now; absent where it has expired, and for other kinds.
        public var root: ChatV1.Message?
        /// Notices: the channel is one of system notices; UNSPECIFIED for other conversations.
        public var notices: ChatV1.Notices
        /// Ticket: the group is a ticket of a help desk, whose id is that of the conversation. Agents read it from its first entry.
        public var ticket: Bool

        public init(id: String = "0", kind: ChatV1.ConversationKind = .unspecified, title: String = "", announcement: String = "", avatar: String = "0", joinPolicy: ChatV1.JoinPolicy = .unspecified, memberCount: Int = 0, peer: String = "0", role: ChatV1.Role = .unspecified, lastSeq: Int64 = 0, joinSeq: Int64 = 0, lastMessage: ChatV1.Message? = nil, state: ChatV1.ConversationState? = nil, unread: Int64 = 0, peerDeliveredSeq: Int64 = 0, peerReadSeq: Int64 = 0, large: Bool = false, mutedAll: Bool = false, dissolved: Bool = false, leaveSeq: Int64 = 0, mutedUntilMs: Int64 = 0, channel: Bool = false, handle: String = "", retentionSeconds: Int = 0, keptSeconds: Int = 0, mentions: [Int64] = [], parent: String = "0", rootSeq: Int64 = 0, root: ChatV1.Message? = nil, notices: ChatV1.Notices = .unspecified, ticket: Bool = false) {
            self.id = id
            self.kind = kind
            self.title = title
            self.announcement = announcement
            self.avatar = avatar
            self.joinPolicy = joinPolicy
            self.memberCount = memberCount
            self.peer = peer
            self.role = role
            self.lastSeq = lastSeq
            self.joinSeq = joinSeq
            self.lastMessage = lastMessage
            self.state = state
            self.unread = unread
            self.peerDeliveredSeq = peerDeliveredSeq
            self.peerReadSeq = peerReadSeq
            self.large = large
            self.mutedAll = mutedAll
            self.dissolved = dissolved
            self.leaveSeq = leaveSeq
            self.mutedUntilMs = mutedUntilMs
            self.channel = channel
            self.handle = handle
            self.retentionSeconds = retentionSeconds
            self.keptSeconds = keptSeconds
            self.mentions = mentions
            self.parent = parent
            self.rootSeq = rootSeq
            self.root = root
            self.notices = notices
            self.ticket = ticket
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            kind = try fields.value("kind", EnumCoder<ChatV1.ConversationKind>.self)
            title = try fields.value("title", TextCoder.self)
            announcement = try fields.value("announcement", TextCoder.self)
            avatar = try fields.value("avatar", IDCoder.self)
            joinPolicy = try fields.value("joinPolicy", EnumCoder<ChatV1.JoinPolicy>.self)
            memberCount = try fields.value("memberCount", IntCoder.self)
            peer = try fields.value("peer", IDCoder.self)
            role = try fields.value("role", EnumCoder<ChatV1.Role>.self)
            lastSeq = try fields.value("lastSeq", Int64Coder.self)
            joinSeq = try fields.value("joinSeq", Int64Coder.self)
            lastMessage = try fields.optional("lastMessage", MessageCoder<ChatV1.Message>.self)
            state = try fields.optional("state", MessageCoder<ChatV1.ConversationState>.self)
            unread = try fields.value("unread", Int64Coder.self)
            peerDeliveredSeq = try fields.value("peerDeliveredSeq", Int64Coder.self)
            peerReadSeq = try fields.value("peerReadSeq", Int64Coder.self)
            large = try fields.value("large", BoolCoder.self)
            mutedAll = try fields.value("mutedAll", BoolCoder.self)
            dissolved = try fields.value("dissolved", BoolCoder.self)
            leaveSeq = try fields.value("leaveSeq", Int64Coder.self)
            mutedUntilMs = try fields.value("mutedUntilMs", Int64Coder.self)
            channel = try fields.value("channel", BoolCoder.self)
            handle = try fields.value("handle", TextCoder.self)
            retentionSeconds = try fields.value("retentionSeconds", IntCoder.self)
            keptSeconds = try fields.value("keptSeconds", IntCoder.self)
            mentions = try fields.list("mentions", Int64Coder.self)
            parent = try fields.value("parent", IDCoder.self)
            rootSeq = try fields.value("rootSeq", Int64Coder.self)
            root = try fields.optional("root", MessageCoder<ChatV1.Message>.self)
            notices = try fields.value("notices", EnumCoder<ChatV1.Notices>.self)
            ticket = try fields.value("ticket", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("kind", kind, EnumCoder<ChatV1.ConversationKind>.self)
            try fields.value("title", title, TextCoder.self)
            try fields.value("announcement", announcement, TextCoder.self)
            try fields.value("avatar", avatar, IDCoder.self)
            try fields.value("joinPolicy", joinPolicy, EnumCoder<ChatV1.JoinPolicy>.self)
            try fields.value("memberCount", memberCount, IntCoder.self)
            try fields.value("peer", peer, IDCoder.self)
            try fields.value("role", role, EnumCoder<ChatV1.Role>.self)
            try fields.value("lastSeq", lastSeq, Int64Coder.self)
            try fields.value("joinSeq", joinSeq, Int64Coder.self)
            try fields.optional("lastMessage", lastMessage, MessageCoder<ChatV1.Message>.self)
            try fields.optional("state", state, MessageCoder<ChatV1.ConversationState>.self)
            try fields.value("unread", unread, Int64Coder.self)
            try fields.value("peerDeliveredSeq", peerDeliveredSeq, Int64Coder.self)
            try fields.value("peerReadSeq", peerReadSeq, Int64Coder.self)
            try fields.value("large", large, BoolCoder.self)
            try fields.value("mutedAll", mutedAll, BoolCoder.self)
            try fields.value("dissolved", dissolved, BoolCoder.self)
            try fields.value("leaveSeq", leaveSeq, Int64Coder.self)
            try fields.value("mutedUntilMs", mutedUntilMs, Int64Coder.self)
            try fields.value("channel", channel, BoolCoder.self)
            try fields.value("handle", handle, TextCoder.self)
            try fields.value("retentionSeconds", retentionSeconds, IntCoder.self)
            try fields.value("keptSeconds", keptSeconds, IntCoder.self)
            try fields.list("mentions", mentions, Int64Coder.self)
            try fields.value("parent", parent, IDCoder.self)
            try fields.value("rootSeq", rootSeq, Int64Coder.self)
            try fields.optional("root", root, MessageCoder<ChatV1.Message>.self)
            try fields.value("notices", notices, EnumCoder<ChatV1.Notices>.self)
            try fields.value("ticket", ticket, BoolCoder.self)
        }

    }

    /// ConversationState is one user's own view of a conversation; it travels in the user's sync stream.
    public struct ConversationState: ProtoMessage {
        public var conversation: String
        public var pinned: Bool
        /// Muted: no notification except of messages that mention the user, and not in the badge.
        public var muted: Bool
        /// Archived: not in the badge.
        public var archived: Bool
        public var draft: String
        public var readSeq: Int64
        /// ReadCounted is the running number (Message.counted) at read_seq: unread = last counted - read_counted.
        public var readCounted: Int64
        /// MarkedUnread: the user wants to come back to it. Any move of the read cursor clears it. It counts nothing.
        public var markedUnread: Bool

        public init(conversation: String = "0", pinned: Bool = false, muted: Bool = false, archived: Bool = false, draft: String = "", readSeq: Int64 = 0, readCounted: Int64 = 0, markedUnread: Bool = false) {
            self.conversation = conversation
            self.pinned = pinned
            self.muted = muted
            self.archived = archived
            self.draft = draft
            self.readSeq = readSeq
            self.readCounted = readCounted
            self.markedUnread = markedUnread
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            pinned = try fields.value("pinned", BoolCoder.self)
            muted = try fields.value("muted", BoolCoder.self)
            archived = try fields.value("archived", BoolCoder.self)
            draft = try fields.value("draft", TextCoder.self)
            readSeq = try fields.value("readSeq", Int64Coder.self)
            readCounted = try fields.value("readCounted", Int64Coder.self)
            markedUnread = try fields.value("markedUnread", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("pinned", pinned, BoolCoder.self)
            try fields.value("muted", muted, BoolCoder.self)
            try fields.value("archived", archived, BoolCoder.self)
            try fields.value("draft", draft, TextCoder.self)
            try fields.value("readSeq", readSeq, Int64Coder.self)
            try fields.value("readCounted", readCounted, Int64Coder.self)
            try fields.value("markedUnread", markedUnread, BoolCoder.self)
        }

    }

    public struct OpenDirectRequest: ProtoMessage {
        public var user: String

        public init(user: String = "0") {
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct CreateGroupRequest: ProtoMessage {
        /// Title of 1 to 100 characters.
        public var title: String
        /// Members besides the caller, at most 500. Those whom the caller may not add are invited, as by Invite.
        public var members: [String]
        /// JoinPolicy; by default invite.
        public var joinPolicy: ChatV1.JoinPolicy
        /// Key, where given, makes a retry harmless: at most 64 bytes, unique per caller.
        public var key: String
        /// Channel: make a channel. It begins without members; followers join it, by a link or, with the open policy, by its id.
        public var channel: Bool
        /// Notices: make a channel of system notices, which the caller owns and alone writes to. It needs an API key, channel, key, and the join policy invite.
        /// There is one for everybody, else notices_exist, and any number for segments.
        public var notices: ChatV1.Notices

        public init(title: String = "", members: [String] = [], joinPolicy: ChatV1.JoinPolicy = .unspecified, key: String = "", channel: Bool = false, notices: ChatV1.Notices = .unspecified) {
            self.title = title
            self.members = members
            self.joinPolicy = joinPolicy
            self.key = key
            self.channel = channel
            self.notices = notices
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            title = try fields.value("title", TextCoder.self)
            members = try fields.list("members", IDCoder.self)
            joinPolicy = try fields.value("joinPolicy", EnumCoder<ChatV1.JoinPolicy>.self)
            key = try fields.value("key", TextCoder.self)
            channel = try fields.value("channel", BoolCoder.self)
            notices = try fields.value("notices", EnumCoder<ChatV1.Notices>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("title", title, TextCoder.self)
            try fields.list("members", members, IDCoder.self)
            try fields.value("joinPolicy", joinPolicy, EnumCoder<ChatV1.JoinPolicy>.self)
            try fields.value("key", key, TextCoder.self)
            try fields.value("channel", channel, BoolCoder.self)
            try fields.value("notices", notices, EnumCoder<ChatV1.Notices>.self)
        }

    }

    public struct GetConversationRequest: ProtoMessage {
        public var conversation: String

        public init(conversation: String = "0") {
            self.conversation = conversation
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
        }

    }

    public struct ListConversationsRequest: ProtoMessage {
        /// Limit of 1 to 200; 0 means 50.
        public var limit: Int
        /// Page token of the page before.
        public var page: String
        /// Former: list the conversations that the caller has left, or was removed from, instead; the last active first.
        public var former: Bool

        public init(limit: Int = 0, page: String = "", former: Bool = false) {
            self.limit = limit
            self.page = page
            self.former = former
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
            former = try fields.value("former", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
            try fields.value("former", former, BoolCoder.self)
        }

    }

    public struct ListConversationsResponse: ProtoMessage {
        public var conversations: [ChatV1.Conversation]
        /// Next page's token; empty at the end.
        public var next: String
        /// Badge is the sum of unread over conversations, and followed threads, that are neither muted nor archived. Where more than 100 of them have unread messages,
        /// it is that of the 100 that were active last, and so at least 100.
        public var badge: Int64

        public init(conversations: [ChatV1.Conversation] = [], next: String = "", badge: Int64 = 0) {
            self.conversations = conversations
            self.next = next
            self.badge = badge
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversations = try fields.list("conversations", MessageCoder<ChatV1.Conversation>.self)
            next = try fields.value("next", TextCoder.self)
            badge = try fields.value("badge", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("conversations", conversations, MessageCoder<ChatV1.Conversation>.self)
            try fields.value("next", next, TextCoder.self)
            try fields.value("badge", badge, Int64Coder.self)
        }

    }

    public struct StartThreadRequest: ProtoMessage {
        public var conversation: String
        /// Seq of a message that the caller may read.
        public var seq: Int64

        public init(conversation: String = "0", seq: Int64 = 0) {
            self.conversation = conversation
            self.seq = seq
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
        }

    }

    public struct ListThreadsRequest: ProtoMessage {
        /// Limit of 1 to 200; 0 means 50.
        public var limit: Int
        /// Page token of the page before.
        public var page: String

        public init(limit: Int = 0, page: String = "") {
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListThreadsResponse: ProtoMessage {
        /// Threads, with unread of each.
        public var threads: [ChatV1.Conversation]
        /// Next page's token; empty at the end.
        public var next: String

        public init(threads: [ChatV1.Conversation] = [], next: String = "") {
            self.threads = threads
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            threads = try fields.list("threads", MessageCoder<ChatV1.Conversation>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("threads", threads, MessageCoder<ChatV1.Conversation>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct Member: ProtoMessage {
        public var user: String
        public var role: ChatV1.Role
        /// JoinSeq is the entry by which the member came in.
        public var joinSeq: Int64
        /// MutedUntilMs: may not write before this time.
        public var mutedUntilMs: Int64

        public init(user: String = "0", role: ChatV1.Role = .unspecified, joinSeq: Int64 = 0, mutedUntilMs: Int64 = 0) {
            self.user = user
            self.role = role
            self.joinSeq = joinSeq
            self.mutedUntilMs = mutedUntilMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            role = try fields.value("role", EnumCoder<ChatV1.Role>.self)
            joinSeq = try fields.value("joinSeq", Int64Coder.self)
            mutedUntilMs = try fields.value("mutedUntilMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("role", role, EnumCoder<ChatV1.Role>.self)
            try fields.value("joinSeq", joinSeq, Int64Coder.self)
            try fields.value("mutedUntilMs", mutedUntilMs, Int64Coder.self)
        }

    }

    public struct ListMembersRequest: ProtoMessage {
        public var conversation: String
        /// Limit of 1 to 200; 0 means 50.
        public var limit: Int
        /// Page is the next of the page before; empty for the first.
        public var page: String

        public init(conversation: String = "0", limit: Int = 0, page: String = "") {
            self.conversation = conversation
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListMembersResponse: ProtoMessage {
        public var members: [ChatV1.Member]
        /// Next page's token; empty at the end.
        public var next: String

        public init(members: [ChatV1.Member] = [], next: String = "") {
            self.members = members
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            members = try fields.list("members", MessageCoder<ChatV1.Member>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("members", members, MessageCoder<ChatV1.Member>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// Change says where in the order a change of a conversation stands; seq 0 when nothing changed.
    public struct Change: ProtoMessage {
        public var seq: Int64
        /// Invited are the users of Invite who were invited instead of added: they read nothing of the group before they accept.
        public var invited: [String]

        public init(seq: Int64 = 0, invited: [String] = []) {
            self.seq = seq
            self.invited = invited
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            seq = try fields.value("seq", Int64Coder.self)
            invited = try fields.list("invited", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.list("invited", invited, IDCoder.self)
        }

    }

    public struct InviteRequest: ProtoMessage {
        public var conversation: String
        /// Users, at most 500.
        public var users: [String]

        public init(conversation: String = "0", users: [String] = []) {
            self.conversation = conversation
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            users = try fields.list("users", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.list("users", users, IDCoder.self)
        }

    }

    public struct RemoveRequest: ProtoMessage {
        public var conversation: String
        /// Users, at most 500.
        public var users: [String]

        public init(conversation: String = "0", users: [String] = []) {
            self.conversation = conversation
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            users = try fields.list("users", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.list("users", users, IDCoder.self)
        }

    }

    public struct BanRequest: ProtoMessage {
        public var conversation: String
        /// Users, at most 500, members or not.
        public var users: [String]

        public init(conversation: String = "0", users: [String] = []) {
            self.conversation = conversation
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            users = try fields.list("users", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.list("users", users, IDCoder.self)
        }

    }

    public struct UnbanRequest: ProtoMessage {
        public var conversation: String
        /// Users, at most 500; those who are not banned are left out.
        public var users: [String]

        public init(conversation: String = "0", users: [String] = []) {
            self.conversation = conversation
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            users = try fields.list("users", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.list("users", users, IDCoder.self)
        }

    }

    public struct ListBansRequest: ProtoMessage {
        public var conversation: String
        /// Limit of 1 to 200; 0 means 50.
        public var limit: Int
        /// Page is the next of the page before; empty for the first.
        public var page: String

        public init(conversation: String = "0", limit: Int = 0, page: String = "") {
            self.conversation = conversation
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListBansResponse: ProtoMessage {
        public var users: [String]
        /// Next page's token; empty at the end.
        public var next: String

        public init(users: [String] = [], next: String = "") {
            self.users = users
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            users = try fields.list("users", IDCoder.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("users", users, IDCoder.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct LeaveRequest: ProtoMessage {
        public var conversation: String

        public init(conversation: String = "0") {
            self.conversation = conversation
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
        }

    }

    public struct JoinRequest: ProtoMessage {
        public var conversation: String
        /// Token of a join link; then conversation may be 0.
        public var token: String
        /// Message to the admins, of at most 500 characters, where joining needs approval.
        public var message: String
        /// Handle of a channel; then conversation may be 0.
        public var handle: String

        public init(conversation: String = "0", token: String = "", message: String = "", handle: String = "") {
            self.conversation = conversation
            self.token = token
            self.message = message
            self.handle = handle
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            token = try fields.value("token", TextCoder.self)
            message = try fields.value("message", TextCoder.self)
            handle = try fields.value("handle", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("token", token, TextCoder.self)
            try fields.value("message", message, TextCoder.self)
            try fields.value("handle", handle, TextCoder.self)
        }

    }

    public struct JoinResponse: ProtoMessage {
        /// Joined: the caller is a member now; otherwise admins were asked.
        public var joined: Bool
        public var conversation: String

        public init(joined: Bool = false, conversation: String = "0") {
            self.joined = joined
            self.conversation = conversation
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            joined = try fields.value("joined", BoolCoder.self)
            conversation = try fields.value("conversation", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("joined", joined, BoolCoder.self)
            try fields.value("conversation", conversation, IDCoder.self)
        }

    }

    public struct ListJoinRequestsRequest: ProtoMessage {
        public var conversation: String

        public init(conversation: String = "0") {
            self.conversation = conversation
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
        }

    }

    public struct ListJoinRequestsResponse: ProtoMessage {
        public var requests: [ChatV1.ListJoinRequestsResponse.Request]

        public init(requests: [ChatV1.ListJoinRequestsResponse.Request] = []) {
            self.requests = requests
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            requests = try fields.list("requests", MessageCoder<ChatV1.ListJoinRequestsResponse.Request>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("requests", requests, MessageCoder<ChatV1.ListJoinRequestsResponse.Request>.self)
        }

        public struct Request: ProtoMessage {
            public var user: String
            public var message: String
            public var timeMs: Int64

            public init(user: String = "0", message: String = "", timeMs: Int64 = 0) {
                self.user = user
                self.message = message
                self.timeMs = timeMs
            }

            public init(from decoder: any Decoder) throws {
                let fields = try ProtoReader(decoder)
                user = try fields.value("user", IDCoder.self)
                message = try fields.value("message", TextCoder.self)
                timeMs = try fields.value("timeMs", Int64Coder.self)
            }

            public func encode(to encoder: any Encoder) throws {
                var fields = ProtoWriter(encoder)
                try fields.value("user", user, IDCoder.self)
                try fields.value("message", message, TextCoder.self)
                try fields.value("timeMs", timeMs, Int64Coder.self)
            }

        }

    }

    public struct AnswerJoinRequestRequest: ProtoMessage {
        public var conversation: String
        public var user: String
        public var accept: Bool

        public init(conversation: String = "0", user: String = "0", accept: Bool = false) {
            self.conversation = conversation
            self.user = user
            self.accept = accept
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
            accept = try fields.value("accept", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("accept", accept, BoolCoder.self)
        }

    }

    public struct ListInvitationsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListInvitationsResponse: ProtoMessage {
        public var invitations: [ChatV1.Invitation]

        public init(invitations: [ChatV1.Invitation] = []) {
            self.invitations = invitations
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            invitations = try fields.list("invitations", MessageCoder<ChatV1.Invitation>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("invitations", invitations, MessageCoder<ChatV1.Invitation>.self)
        }

    }

    /// Invitation of a user to a group. It shows the group's title and nothing else of it.
    public struct Invitation: ProtoMessage {
        public var conversation: String
        public var title: String
        /// Inviter is the member who invited the user.
        public var inviter: String
        public var timeMs: Int64

        public init(conversation: String = "0", title: String = "", inviter: String = "0", timeMs: Int64 = 0) {
            self.conversation = conversation
            self.title = title
            self.inviter = inviter
            self.timeMs = timeMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            title = try fields.value("title", TextCoder.self)
            inviter = try fields.value("inviter", IDCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("title", title, TextCoder.self)
            try fields.value("inviter", inviter, IDCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
        }

    }

    public struct AnswerInvitationRequest: ProtoMessage {
        public var conversation: String
        public var accept: Bool

        public init(conversation: String = "0", accept: Bool = false) {
            self.conversation = conversation
            self.accept = accept
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            accept = try fields.value("accept", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("accept", accept, BoolCoder.self)
        }

    }

    public struct ListGroupInvitationsRequest: ProtoMessage {
        public var conversation: String
        /// Limit of 1 to 200; 0: 50.
        public var limit: Int
        /// Page: next of the page before; empty for the first.
        public var page: String

        public init(conversation: String = "0", limit: Int = 0, page: String = "") {
            self.conversation = conversation
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    /// GroupInvitation is an invitation that a user has not answered, as the group's admins see it.
    public struct GroupInvitation: ProtoMessage {
        public var user: String
        /// Inviter is the member who invited the user.
        public var inviter: String
        public var timeMs: Int64

        public init(user: String = "0", inviter: String = "0", timeMs: Int64 = 0) {
            self.user = user
            self.inviter = inviter
            self.timeMs = timeMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            inviter = try fields.value("inviter", IDCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("inviter", inviter, IDCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
        }

    }

    public struct ListGroupInvitationsResponse: ProtoMessage {
        public var invitations: [ChatV1.GroupInvitation]
        /// Next is empty on the last page.
        public var next: String

        public init(invitations: [ChatV1.GroupInvitation] = [], next: String = "") {
            self.invitations = invitations
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            invitations = try fields.list("invitations", MessageCoder<ChatV1.GroupInvitation>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("invitations", invitations, MessageCoder<ChatV1.GroupInvitation>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct CancelInvitationRequest: ProtoMessage {
        public var conversation: String
        public var user: String

        public init(conversation: String = "0", user: String = "0") {
            self.conversation = conversation
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct CancelInvitationResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct CreateJoinLinkRequest: ProtoMessage {
        public var conversation: String
        /// UntilMs: the link ends at this time; 0: when it is revoked.
        public var untilMs: Int64

        public init(conversation: String = "0", untilMs: Int64 = 0) {
            self.conversation = conversation
            self.untilMs = untilMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            untilMs = try fields.value("untilMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("untilMs", untilMs, Int64Coder.self)
        }

    }

    public struct CreateJoinLinkResponse: ProtoMessage {
        public var token: String

        public init(token: String = "") {
            self.token = token
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            token = try fields.value("token", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("token", token, TextCoder.self)
        }

    }

    public struct RevokeJoinLinkRequest: ProtoMessage {
        public var conversation: String

        public init(conversation: String = "0") {
            self.conversation = conversation
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
        }

    }

    public struct RevokeJoinLinkResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct PreviewJoinLinkRequest: ProtoMessage {
        /// Token of a link, or
        public var token: String
        /// conversation: a group that is open, or that anybody may ask to join; or
        public var conversation: String
        /// handle of an open channel.
        public var handle: String

        public init(token: String = "", conversation: String = "0", handle: String = "") {
            self.token = token
            self.conversation = conversation
            self.handle = handle
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            token = try fields.value("token", TextCoder.self)
            conversation = try fields.value("conversation", IDCoder.self)
            handle = try fields.value("handle", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("token", token, TextCoder.self)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("handle", handle, TextCoder.self)
        }

    }

    public struct PreviewJoinLinkResponse: ProtoMessage {
        public var conversation: String
        public var title: String
        public var memberCount: Int
        /// Member: the caller is in the group already.
        public var member: Bool
        public var announcement: String
        /// Channel: joining means to follow it; member_count counts its followers as well.
        public var channel: Bool
        /// Handle of a channel; empty for none.
        public var handle: String

        public init(conversation: String = "0", title: String = "", memberCount: Int = 0, member: Bool = false, announcement: String = "", channel: Bool = false, handle: String = "") {
            self.conversation = conversation
            self.title = title
            self.memberCount = memberCount
            self.member = member
            self.announcement = announcement
            self.channel = channel
            self.handle = handle
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            title = try fields.value("title", TextCoder.self)
            memberCount = try fields.value("memberCount", IntCoder.self)
            member = try fields.value("member", BoolCoder.self)
            announcement = try fields.value("announcement", TextCoder.self)
            channel = try fields.value("channel", BoolCoder.self)
            handle = try fields.value("handle", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("title", title, TextCoder.self)
            try fields.value("memberCount", memberCount, IntCoder.self)
            try fields.value("member", member, BoolCoder.self)
            try fields.value("announcement", announcement, TextCoder.self)
            try fields.value("channel", channel, BoolCoder.self)
            try fields.value("handle", handle, TextCoder.self)
        }

    }

    public struct PreviewLinkRequest: ProtoMessage {
        /// Url that begins with http:// or https://, at most 2,000 characters, as it is written in the text.
        public var url: String

        public init(url: String = "") {
            self.url = url
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            url = try fields.value("url", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("url", url, TextCoder.self)
        }

    }

    public struct SetRoleRequest: ProtoMessage {
        public var conversation: String
        public var user: String
        /// Role member or admin.
        public var role: ChatV1.Role

        public init(conversation: String = "0", user: String = "0", role: ChatV1.Role = .unspecified) {
            self.conversation = conversation
            self.user = user
            self.role = role
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
            role = try fields.value("role", EnumCoder<ChatV1.Role>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("role", role, EnumCoder<ChatV1.Role>.self)
        }

    }

    public struct TransferRequest: ProtoMessage {
        public var conversation: String
        public var user: String

        public init(conversation: String = "0", user: String = "0") {
            self.conversation = conversation
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct MuteMembersRequest: ProtoMessage {
        public var conversation: String
        /// Users to mute; none: all but admins and owner.
        public var users: [String]
        /// UntilMs is a time; 0 unmutes.
        public var untilMs: Int64

        public init(conversation: String = "0", users: [String] = [], untilMs: Int64 = 0) {
            self.conversation = conversation
            self.users = users
            self.untilMs = untilMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            users = try fields.list("users", IDCoder.self)
            untilMs = try fields.value("untilMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.list("users", users, IDCoder.self)
            try fields.value("untilMs", untilMs, Int64Coder.self)
        }

    }

    public struct UpdateGroupRequest: ProtoMessage {
        public var conversation: String
        /// Title of 1 to 100 characters.
        public var title: String?
        /// Announcement of at most 2,000 characters.
        public var announcement: String?
        /// Avatar is a completed upload of the caller's own, a picture; 0 takes it away.
        public var avatar: String?
        public var joinPolicy: ChatV1.JoinPolicy?
        /// Handle of a channel, by the rules of users' handles, unique among channels; empty takes it away. The owner may.
        public var handle: String?

        public init(conversation: String = "0", title: String? = nil, announcement: String? = nil, avatar: String? = nil, joinPolicy: ChatV1.JoinPolicy? = nil, handle: String? = nil) {
            self.conversation = conversation
            self.title = title
            self.announcement = announcement
            self.avatar = avatar
            self.joinPolicy = joinPolicy
            self.handle = handle
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            title = try fields.optional("title", TextCoder.self)
            announcement = try fields.optional("announcement", TextCoder.self)
            avatar = try fields.optional("avatar", IDCoder.self)
            joinPolicy = try fields.optional("joinPolicy", EnumCoder<ChatV1.JoinPolicy>.self)
            handle = try fields.optional("handle", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.optional("title", title, TextCoder.self)
            try fields.optional("announcement", announcement, TextCoder.self)
            try fields.optional("avatar", avatar, IDCoder.self)
            try fields.optional("joinPolicy", joinPolicy, EnumCoder<ChatV1.JoinPolicy>.self)
            try fields.optional("handle", handle, TextCoder.self)
        }

    }

    public struct SetRetentionRequest: ProtoMessage {
        public var conversation: String
        /// Seconds of 60 to 3,153,600,000 (36,500 days), and no more than the server keeps messages; 0: as the server keeps them.
        public var seconds: Int

        public init(conversation: String = "0", seconds: Int = 0) {
            self.conversation = conversation
            self.seconds = seconds
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seconds = try fields.value("seconds", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seconds", seconds, IntCoder.self)
        }

    }

    public struct DissolveRequest: ProtoMessage {
        public var conversation: String

        public init(conversation: String = "0") {
            self.conversation = conversation
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
        }

    }

    public struct SendRequest: ProtoMessage {
        public var conversation: String
        /// ClientSeq counts the device's messages up from 1, over all conversations. A retry repeats it.
        public var clientSeq: Int64
        /// ClientMsgId, of at most 64 bytes, is given instead of client_seq by senders that do not number their messages.
        public var clientMsgId: String
        public var content: Content?
        /// PrevClientSeq is the client_seq of the device's previous message in this conversation: this one is stored only after that. If that does
        /// not arrive in time, the answer is missing_previous. 0: not checked.
        public var prevClientSeq: Int64

        public init(conversation: String = "0", clientSeq: Int64 = 0, clientMsgId: String = "", content: Content? = nil, prevClientSeq: Int64 = 0) {
            self.conversation = conversation
            self.clientSeq = clientSeq
            self.clientMsgId = clientMsgId
            self.content = content
            self.prevClientSeq = prevClientSeq
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            clientSeq = try fields.value("clientSeq", Int64Coder.self)
            clientMsgId = try fields.value("clientMsgId", TextCoder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
            prevClientSeq = try fields.value("prevClientSeq", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("clientSeq", clientSeq, Int64Coder.self)
            try fields.value("clientMsgId", clientMsgId, TextCoder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
            try fields.value("prevClientSeq", prevClientSeq, Int64Coder.self)
        }

    }

    public struct SendResponse: ProtoMessage {
        public var id: String
        public var seq: Int64
        public var timeMs: Int64
        public var counted: Int64
        /// Duplicate: it had been stored before; the answer is that of the first time.
        public var duplicate: Bool

        public init(id: String = "", seq: Int64 = 0, timeMs: Int64 = 0, counted: Int64 = 0, duplicate: Bool = false) {
            self.id = id
            self.seq = seq
            self.timeMs = timeMs
            self.counted = counted
            self.duplicate = duplicate
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", TextCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            counted = try fields.value("counted", Int64Coder.self)
            duplicate = try fields.value("duplicate", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, TextCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("counted", counted, Int64Coder.self)
            try fields.value("duplicate", duplicate, BoolCoder.self)
        }

    }

    public struct HistoryRequest: ProtoMessage {
        public var conversation: String
        /// Before: the messages below this seq, newest first page; 0 with after 0: the newest.
        public var before: Int64
        /// After: the messages above this seq, oldest first.
        public var after: Int64
        /// TimeMs: the messages from this time on; only with before and after 0.
        public var timeMs: Int64
        /// Limit of 1 to 200; 0 means 50.
        public var limit: Int

        public init(conversation: String = "0", before: Int64 = 0, after: Int64 = 0, timeMs: Int64 = 0, limit: Int = 0) {
            self.conversation = conversation
            self.before = before
            self.after = after
            self.timeMs = timeMs
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            before = try fields.value("before", Int64Coder.self)
            after = try fields.value("after", Int64Coder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("before", before, Int64Coder.self)
            try fields.value("after", after, Int64Coder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct HistoryResponse: ProtoMessage {
        /// Messages in rising seq order, whatever the direction.
        public var messages: [ChatV1.Message]
        /// More: there is more in the direction asked for.
        public var more: Bool
        /// Unreadable are the seqs of this page that the server cannot read, since its store is damaged: show that one is missing there.
        public var unreadable: [Int64]

        public init(messages: [ChatV1.Message] = [], more: Bool = false, unreadable: [Int64] = []) {
            self.messages = messages
            self.more = more
            self.unreadable = unreadable
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            messages = try fields.list("messages", MessageCoder<ChatV1.Message>.self)
            more = try fields.value("more", BoolCoder.self)
            unreadable = try fields.list("unreadable", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("messages", messages, MessageCoder<ChatV1.Message>.self)
            try fields.value("more", more, BoolCoder.self)
            try fields.list("unreadable", unreadable, Int64Coder.self)
        }

    }

    public struct GetMessagesRequest: ProtoMessage {
        public var conversation: String
        /// Seqs, 1 to 200. Messages that the caller may not read, or that have expired, are left out of the answer.
        public var seqs: [Int64]

        public init(conversation: String = "0", seqs: [Int64] = []) {
            self.conversation = conversation
            self.seqs = seqs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seqs = try fields.list("seqs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.list("seqs", seqs, Int64Coder.self)
        }

    }

    public struct GetMessagesResponse: ProtoMessage {
        /// Messages in rising seq order.
        public var messages: [ChatV1.Message]
        /// More: the answer ended at about 1 MiB. Ask again for the seqs above that of the last message.
        public var more: Bool

        public init(messages: [ChatV1.Message] = [], more: Bool = false) {
            self.messages = messages
            self.more = more
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            messages = try fields.list("messages", MessageCoder<ChatV1.Message>.self)
            more = try fields.value("more", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("messages", messages, MessageCoder<ChatV1.Message>.self)
            try fields.value("more", more, BoolCoder.self)
        }

    }

    public struct ListReactionsRequest: ProtoMessage {
        public var conversation: String
        public var seq: Int64
        public var emoji: String
        /// Limit of 1 to 200; 0 means 50.
        public var limit: Int
        /// Page is the next of the page before; empty for the first.
        public var page: String

        public init(conversation: String = "0", seq: Int64 = 0, emoji: String = "", limit: Int = 0, page: String = "") {
            self.conversation = conversation
            self.seq = seq
            self.emoji = emoji
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            emoji = try fields.value("emoji", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("emoji", emoji, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListReactionsResponse: ProtoMessage {
        public var users: [String]
        /// Next page's token; empty at the end.
        public var next: String

        public init(users: [String] = [], next: String = "") {
            self.users = users
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            users = try fields.list("users", IDCoder.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("users", users, IDCoder.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct ListPinsRequest: ProtoMessage {
        public var conversation: String
        /// Page: the next of the page before; empty for the first.
        public var page: String

        public init(conversation: String = "0", page: String = "") {
            self.conversation = conversation
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListPinsResponse: ProtoMessage {
        public var messages: [ChatV1.Message]
        /// Next page's token; empty at the end. A page also ends at about 1 MiB.
        public var next: String

        public init(messages: [ChatV1.Message] = [], next: String = "") {
            self.messages = messages
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            messages = try fields.list("messages", MessageCoder<ChatV1.Message>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("messages", messages, MessageCoder<ChatV1.Message>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct ListEditsRequest: ProtoMessage {
        public var conversation: String
        public var seq: Int64
        /// Page: the next of the page before; empty for the first.
        public var page: String

        public init(conversation: String = "0", seq: Int64 = 0, page: String = "") {
            self.conversation = conversation
            self.seq = seq
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListEditsResponse: ProtoMessage {
        /// Versions of the message: content, and edit_seq and edited_ms where it is not the first.
        public var versions: [ChatV1.Message]
        /// Next page's token; empty at the end. A page also ends at about 1 MiB.
        public var next: String

        public init(versions: [ChatV1.Message] = [], next: String = "") {
            self.versions = versions
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            versions = try fields.list("versions", MessageCoder<ChatV1.Message>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("versions", versions, MessageCoder<ChatV1.Message>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct MarkRequest: ProtoMessage {
        public var conversation: String
        /// DeliveredSeq: a device of the caller has all up to here. 0 leaves it.
        public var deliveredSeq: Int64
        /// ReadSeq: the caller has seen all up to here. 0 leaves it.
        public var readSeq: Int64

        public init(conversation: String = "0", deliveredSeq: Int64 = 0, readSeq: Int64 = 0) {
            self.conversation = conversation
            self.deliveredSeq = deliveredSeq
            self.readSeq = readSeq
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            deliveredSeq = try fields.value("deliveredSeq", Int64Coder.self)
            readSeq = try fields.value("readSeq", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("deliveredSeq", deliveredSeq, Int64Coder.self)
            try fields.value("readSeq", readSeq, Int64Coder.self)
        }

    }

    public struct MarkResponse: ProtoMessage {
        public var state: ChatV1.ConversationState?

        public init(state: ChatV1.ConversationState? = nil) {
            self.state = state
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            state = try fields.optional("state", MessageCoder<ChatV1.ConversationState>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("state", state, MessageCoder<ChatV1.ConversationState>.self)
        }

    }

    public struct DeleteMessagesRequest: ProtoMessage {
        public var conversation: String
        /// Seqs, 1 to 100. What is no message that the caller may read is left out.
        public var seqs: [Int64]

        public init(conversation: String = "0", seqs: [Int64] = []) {
            self.conversation = conversation
            self.seqs = seqs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seqs = try fields.list("seqs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.list("seqs", seqs, Int64Coder.self)
        }

    }

    public struct ClearHistoryRequest: ProtoMessage {
        public var conversation: String
        /// ThroughSeq: what is deleted ends with this entry, so that nothing is deleted that the caller has not seen. 0, or more than the last
        /// seq: all that there is.
        public var throughSeq: Int64
        /// Delete: take the conversation off the list, unless there is a message after through_seq.
        public var delete: Bool

        public init(conversation: String = "0", throughSeq: Int64 = 0, delete: Bool = false) {
            self.conversation = conversation
            self.throughSeq = throughSeq
            self.delete = delete
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            throughSeq = try fields.value("throughSeq", Int64Coder.self)
            delete = try fields.value("delete", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("throughSeq", throughSeq, Int64Coder.self)
            try fields.value("delete", delete, BoolCoder.self)
        }

    }

    /// Deletion is what a user deleted of a conversation for themself.
    public struct Deletion: ProtoMessage {
        public var conversation: String
        /// ThroughSeq: entries up to here are deleted, and count as read. The conversation's join_seq is above it. 0: none are.
        public var throughSeq: Int64
        /// ThroughCounted is the running number (Message.counted) at through_seq.
        public var throughCounted: Int64
        /// Deleted: the conversation is not on the list, until a message comes.
        public var deleted: Bool
        /// Seqs of messages that were deleted one by one. Where there are some, the fields above are 0: they change nothing.
        public var seqs: [Int64]

        public init(conversation: String = "0", throughSeq: Int64 = 0, throughCounted: Int64 = 0, deleted: Bool = false, seqs: [Int64] = []) {
            self.conversation = conversation
            self.throughSeq = throughSeq
            self.throughCounted = throughCounted
            self.deleted = deleted
            self.seqs = seqs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            throughSeq = try fields.value("throughSeq", Int64Coder.self)
            throughCounted = try fields.value("throughCounted", Int64Coder.self)
            deleted = try fields.value("deleted", BoolCoder.self)
            seqs = try fields.list("seqs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("throughSeq", throughSeq, Int64Coder.self)
            try fields.value("throughCounted", throughCounted, Int64Coder.self)
            try fields.value("deleted", deleted, BoolCoder.self)
            try fields.list("seqs", seqs, Int64Coder.self)
        }

    }

    public struct ConfigureRequest: ProtoMessage {
        public var conversation: String
        public var pinned: Bool?
        public var muted: Bool?
        public var archived: Bool?
        /// Draft of at most 100,000 characters; empty clears it.
        public var draft: String?
        /// MarkedUnread, as in ConversationState.
        public var markedUnread: Bool?

        public init(conversation: String = "0", pinned: Bool? = nil, muted: Bool? = nil, archived: Bool? = nil, draft: String? = nil, markedUnread: Bool? = nil) {
            self.conversation = conversation
            self.pinned = pinned
            self.muted = muted
            self.archived = archived
            self.draft = draft
            self.markedUnread = markedUnread
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            pinned = try fields.optional("pinned", BoolCoder.self)
            muted = try fields.optional("muted", BoolCoder.self)
            archived = try fields.optional("archived", BoolCoder.self)
            draft = try fields.optional("draft", TextCoder.self)
            markedUnread = try fields.optional("markedUnread", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.optional("pinned", pinned, BoolCoder.self)
            try fields.optional("muted", muted, BoolCoder.self)
            try fields.optional("archived", archived, BoolCoder.self)
            try fields.optional("draft", draft, TextCoder.self)
            try fields.optional("markedUnread", markedUnread, BoolCoder.self)
        }

    }

    /// Folder of a user's conversations.
    public struct Folder: ProtoMessage {
        public var id: String
        public var name: String
        /// Conversations, by id, at most 200. Some may be former ones of the user.
        public var conversations: [String]

        public init(id: String = "0", name: String = "", conversations: [String] = []) {
            self.id = id
            self.name = name
            self.conversations = conversations
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            conversations = try fields.list("conversations", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.list("conversations", conversations, IDCoder.self)
        }

    }

    public struct ListFoldersRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListFoldersResponse: ProtoMessage {
        public var folders: [ChatV1.Folder]

        public init(folders: [ChatV1.Folder] = []) {
            self.folders = folders
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            folders = try fields.list("folders", MessageCoder<ChatV1.Folder>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("folders", folders, MessageCoder<ChatV1.Folder>.self)
        }

    }

    public struct CreateFolderRequest: ProtoMessage {
        /// Name of 1 to 32 characters, which no other folder of the user has.
        public var name: String
        /// Conversations, at most 200, which the user is or was in.
        public var conversations: [String]

        public init(name: String = "", conversations: [String] = []) {
            self.name = name
            self.conversations = conversations
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            conversations = try fields.list("conversations", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.list("conversations", conversations, IDCoder.self)
        }

    }

    public struct UpdateFolderRequest: ProtoMessage {
        public var id: String
        /// Name of 1 to 32 characters, which no other folder of the user has.
        public var name: String?
        /// Add conversations, at most 200, which the user is or was in.
        public var add: [String]
        /// Remove conversations, at most 200.
        public var remove: [String]

        public init(id: String = "0", name: String? = nil, add: [String] = [], remove: [String] = []) {
            self.id = id
            self.name = name
            self.add = add
            self.remove = remove
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            name = try fields.optional("name", TextCoder.self)
            add = try fields.list("add", IDCoder.self)
            remove = try fields.list("remove", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.optional("name", name, TextCoder.self)
            try fields.list("add", add, IDCoder.self)
            try fields.list("remove", remove, IDCoder.self)
        }

    }

    public struct DeleteFolderRequest: ProtoMessage {
        public var id: String

        public init(id: String = "0") {
            self.id = id
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
        }

    }

    public struct DeleteFolderResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct OrderFoldersRequest: ProtoMessage {
        /// Ids of folders, at most 20, in the new order.
        public var ids: [String]

        public init(ids: [String] = []) {
            self.ids = ids
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            ids = try fields.list("ids", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("ids", ids, IDCoder.self)
        }

    }

    public struct ListReadersRequest: ProtoMessage {
        public var conversation: String
        public var seq: Int64
        /// Limit of 1 to 200; 0 means 50.
        public var limit: Int
        /// Page is the next of the page before; empty for the first.
        public var page: String
        /// Unread: list those who have not.
        public var unread: Bool

        public init(conversation: String = "0", seq: Int64 = 0, limit: Int = 0, page: String = "", unread: Bool = false) {
            self.conversation = conversation
            self.seq = seq
            self.limit = limit
            self.page = page
            self.unread = unread
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
            unread = try fields.value("unread", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
            try fields.value("unread", unread, BoolCoder.self)
        }

    }

    public struct ListReadersResponse: ProtoMessage {
        public var users: [String]
        /// Next page's token; empty at the end. Each page looks at a bounded number of members, so that a page before the end may have fewer
        /// users than the limit, or none.
        public var next: String

        public init(users: [String] = [], next: String = "") {
            self.users = users
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            users = try fields.list("users", IDCoder.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("users", users, IDCoder.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct ListDeliveriesRequest: ProtoMessage {
        public var conversation: String
        public var seq: Int64
        /// Limit of 1 to 200; 0 means 50.
        public var limit: Int
        /// Page is the next of the page before; empty for the first.
        public var page: String
        /// Undelivered: list those who have not received it.
        public var undelivered: Bool

        public init(conversation: String = "0", seq: Int64 = 0, limit: Int = 0, page: String = "", undelivered: Bool = false) {
            self.conversation = conversation
            self.seq = seq
            self.limit = limit
            self.page = page
            self.undelivered = undelivered
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
            undelivered = try fields.value("undelivered", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
            try fields.value("undelivered", undelivered, BoolCoder.self)
        }

    }

    public struct ListDeliveriesResponse: ProtoMessage {
        public var users: [String]
        /// Next page's token; empty at the end. A page before the end may have fewer users than the limit, or none.
        public var next: String
        /// Devices of the other user of a one-to-one conversation, by type, on every page. Empty if the caller may not see that user's presence, or the
        /// user hides read receipts.
        public var devices: [ChatV1.DeviceDelivery]

        public init(users: [String] = [], next: String = "", devices: [ChatV1.DeviceDelivery] = []) {
            self.users = users
            self.next = next
            self.devices = devices
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            users = try fields.list("users", IDCoder.self)
            next = try fields.value("next", TextCoder.self)
            devices = try fields.list("devices", MessageCoder<ChatV1.DeviceDelivery>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("users", users, IDCoder.self)
            try fields.value("next", next, TextCoder.self)
            try fields.list("devices", devices, MessageCoder<ChatV1.DeviceDelivery>.self)
        }

    }

    /// DeviceDelivery says whether one of a user's devices of a type has a message.
    public struct DeviceDelivery: ProtoMessage {
        /// Type as the client gave it at the login: phone, desktop, web…
        public var type: String
        public var delivered: Bool

        public init(type: String = "", delivered: Bool = false) {
            self.type = type
            self.delivered = delivered
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            type = try fields.value("type", TextCoder.self)
            delivered = try fields.value("delivered", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("type", type, TextCoder.self)
            try fields.value("delivered", delivered, BoolCoder.self)
        }

    }

    /// Position of a device in its user's sync stream.
    public struct Position: ProtoMessage {
        public var epoch: Int
        public var seq: Int64

        public init(epoch: Int = 0, seq: Int64 = 0) {
            self.epoch = epoch
            self.seq = seq
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            epoch = try fields.value("epoch", IntCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("epoch", epoch, IntCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
        }

    }

    public struct SyncRequest: ProtoMessage {
        /// Position of the last event that the device has; empty for a new device.
        public var after: ChatV1.Position?
        /// Limit of 1 to 2,000; 0 means 500.
        public var limit: Int
        /// WaitMs makes the answer wait until an event comes, if there is none after the position: long polling. At most 25,000; higher values
        /// count as 25,000. Only in calls by HTTP with the token of a session: a socket is pushed its events.
        public var waitMs: Int
        /// Large are large groups as far as the device has them, at most 500, in a request that waits. If one of them has come further, the answer does
        /// not wait.
        public var large: [ChatV1.LargeTail]

        public init(after: ChatV1.Position? = nil, limit: Int = 0, waitMs: Int = 0, large: [ChatV1.LargeTail] = []) {
            self.after = after
            self.limit = limit
            self.waitMs = waitMs
            self.large = large
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            after = try fields.optional("after", MessageCoder<ChatV1.Position>.self)
            limit = try fields.value("limit", IntCoder.self)
            waitMs = try fields.value("waitMs", IntCoder.self)
            large = try fields.list("large", MessageCoder<ChatV1.LargeTail>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("after", after, MessageCoder<ChatV1.Position>.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("waitMs", waitMs, IntCoder.self)
            try fields.list("large", large, MessageCoder<ChatV1.LargeTail>.self)
        }

    }

    public struct SyncResponse: ProtoMessage {
        public var events: [ChatV1.Event]
        /// Next is the position to ask with for the next page, or to wait at when more is false.
        public var next: ChatV1.Position?
        public var more: Bool
        /// Reset: what came after the position is no longer whole here. The device drops its lists, reads ListConversations and
        /// History, and goes on from next. No events are given.
        public var reset: Bool
        /// Large groups, and how far each has come; given on the last page.
        public var large: [ChatV1.LargeTail]

        public init(events: [ChatV1.Event] = [], next: ChatV1.Position? = nil, more: Bool = false, reset: Bool = false, large: [ChatV1.LargeTail] = []) {
            self.events = events
            self.next = next
            self.more = more
            self.reset = reset
            self.large = large
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            events = try fields.list("events", MessageCoder<ChatV1.Event>.self)
            next = try fields.optional("next", MessageCoder<ChatV1.Position>.self)
            more = try fields.value("more", BoolCoder.self)
            reset = try fields.value("reset", BoolCoder.self)
            large = try fields.list("large", MessageCoder<ChatV1.LargeTail>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("events", events, MessageCoder<ChatV1.Event>.self)
            try fields.optional("next", next, MessageCoder<ChatV1.Position>.self)
            try fields.value("more", more, BoolCoder.self)
            try fields.value("reset", reset, BoolCoder.self)
            try fields.list("large", large, MessageCoder<ChatV1.LargeTail>.self)
        }

    }

    public struct LargeTail: ProtoMessage {
        public var conversation: String
        /// LastSeq is the seq of the group's newest entry.
        public var lastSeq: Int64

        public init(conversation: String = "0", lastSeq: Int64 = 0) {
            self.conversation = conversation
            self.lastSeq = lastSeq
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            lastSeq = try fields.value("lastSeq", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("lastSeq", lastSeq, Int64Coder.self)
        }

    }

    /// Event is one step of a user's sync stream.
    public struct Event: ProtoMessage {
        /// Epoch and seq are the position of this event. Both are 0 in a push of a large group's message, which is outside the stream.
        public var epoch: Int
        public var seq: Int64
        /// Prev is the seq of the event before this one in the stream: a device whose last is another has a gap, and syncs.
        public var prev: Int64
        public var body: Body?

        public init(epoch: Int = 0, seq: Int64 = 0, prev: Int64 = 0, body: Body? = nil) {
            self.epoch = epoch
            self.seq = seq
            self.prev = prev
            self.body = body
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            epoch = try fields.value("epoch", IntCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            prev = try fields.value("prev", Int64Coder.self)
            body = try Body(fields)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("epoch", epoch, IntCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("prev", prev, Int64Coder.self)
            try body?.write(to: &fields)
        }

        public enum Body: Hashable, Sendable {
            case message(ChatV1.Message)
            /// The user's own state of a conversation changed.
            case conversation(ChatV1.ConversationState)
            /// Another member's cursors moved (one-to-one conversations).
            case mark(ChatV1.MemberMark)
            /// Friends, requests, blocks or follows changed.
            case relation(ChatV1.Relation)
            /// A profile of a friend, or one's own, changed.
            case profile(ChatV1.ProfileChange)
            /// Somebody asked to join a group that one manages, or was answered.
            case joinRequests(ChatV1.JoinRequests)
            /// A message that the server cannot read at the moment, since its store is damaged.
            case unreadable(ChatV1.Unreadable)
            /// The user's own settings changed.
            case settings(ChatV1.SettingsChange)
            /// The user began or ended to follow a channel.
            case follow(ChatV1.FollowChange)
            /// The user deleted something for themself.
            case deletion(ChatV1.Deletion)
            /// The user was invited to a group or an organization, or answered an invitation.
            case invitations(ChatV1.InvitationsChange)
            /// The user's folders changed.
            case folders(ChatV1.FoldersChange)
            /// A ticket changed: the user's own, or one of a desk whose agent the user is.
            case ticket(ChatV1.Ticket)

            init?(_ fields: ProtoReader) throws {
                if let value = try fields.optional("message", MessageCoder<ChatV1.Message>.self) {
                    self = .message(value)
                } else if let value = try fields.optional("conversation", MessageCoder<ChatV1.ConversationState>.self) {
                    self = .conversation(value)
                } else if let value = try fields.optional("mark", MessageCoder<ChatV1.MemberMark>.self) {
                    self = .mark(value)
                } else if let value = try fields.optional("relation", MessageCoder<ChatV1.Relation>.self) {
                    self = .relation(value)
                } else if let value = try fields.optional("profile", MessageCoder<ChatV1.ProfileChange>.self) {
                    self = .profile(value)
                } else if let value = try fields.optional("joinRequests", MessageCoder<ChatV1.JoinRequests>.self) {
                    self = .joinRequests(value)
                } else if let value = try fields.optional("unreadable", MessageCoder<ChatV1.Unreadable>.self) {
                    self = .unreadable(value)
                } else if let value = try fields.optional("settings", MessageCoder<ChatV1.SettingsChange>.self) {
                    self = .settings(value)
                } else if let value = try fields.optional("follow", MessageCoder<ChatV1.FollowChange>.self) {
                    self = .follow(value)
                } else if let value = try fields.optional("deletion", MessageCoder<ChatV1.Deletion>.self) {
                    self = .deletion(value)
                } else if let value = try fields.optional("invitations", MessageCoder<ChatV1.InvitationsChange>.self) {
                    self = .invitations(value)
                } else if let value = try fields.optional("folders", MessageCoder<ChatV1.FoldersChange>.self) {
                    self = .folders(value)
                } else if let value = try fields.optional("ticket", MessageCoder<ChatV1.Ticket>.self) {
                    self = .ticket(value)
                } else {
                    return nil
                }
            }

            func write(to fields: inout ProtoWriter) throws {
                switch self {
                case .message(let value): try fields.optional("message", value, MessageCoder<ChatV1.Message>.self)
                case .conversation(let value): try fields.optional("conversation", value, MessageCoder<ChatV1.ConversationState>.self)
                case .mark(let value): try fields.optional("mark", value, MessageCoder<ChatV1.MemberMark>.self)
                case .relation(let value): try fields.optional("relation", value, MessageCoder<ChatV1.Relation>.self)
                case .profile(let value): try fields.optional("profile", value, MessageCoder<ChatV1.ProfileChange>.self)
                case .joinRequests(let value): try fields.optional("joinRequests", value, MessageCoder<ChatV1.JoinRequests>.self)
                case .unreadable(let value): try fields.optional("unreadable", value, MessageCoder<ChatV1.Unreadable>.self)
                case .settings(let value): try fields.optional("settings", value, MessageCoder<ChatV1.SettingsChange>.self)
                case .follow(let value): try fields.optional("follow", value, MessageCoder<ChatV1.FollowChange>.self)
                case .deletion(let value): try fields.optional("deletion", value, MessageCoder<ChatV1.Deletion>.self)
                case .invitations(let value): try fields.optional("invitations", value, MessageCoder<ChatV1.InvitationsChange>.self)
                case .folders(let value): try fields.optional("folders", value, MessageCoder<ChatV1.FoldersChange>.self)
                case .ticket(let value): try fields.optional("ticket", value, MessageCoder<ChatV1.Ticket>.self)
                }
            }
        }

    }

    /// SettingsChange: read the settings again with GetSettings.
    public struct SettingsChange: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    /// FollowChange: the user began to follow a channel, on whichever device, or no longer follows it: by leaving, or removed by an admin.
    public struct FollowChange: ProtoMessage {
        public var conversation: String
        public var follows: Bool

        public init(conversation: String = "0", follows: Bool = false) {
            self.conversation = conversation
            self.follows = follows
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            follows = try fields.value("follows", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("follows", follows, BoolCoder.self)
        }

    }

    /// Unreadable is a message that is stored and that the server cannot read: show that one is missing there. It comes as a message, in an
    /// event of its own, if the store is repaired.
    public struct Unreadable: ProtoMessage {
        public var conversation: String
        public var seq: Int64

        public init(conversation: String = "0", seq: Int64 = 0) {
            self.conversation = conversation
            self.seq = seq
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
        }

    }

    /// JoinRequests of a group are told to its admins as they change; ListJoinRequests gives them.
    public struct JoinRequests: ProtoMessage {
        public var conversation: String
        /// Waiting requests, this one among them.
        public var waiting: Int
        /// User who asked; 0 where one was answered.
        public var user: String

        public init(conversation: String = "0", waiting: Int = 0, user: String = "0") {
            self.conversation = conversation
            self.waiting = waiting
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            waiting = try fields.value("waiting", IntCoder.self)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("waiting", waiting, IntCoder.self)
            try fields.value("user", user, IDCoder.self)
        }

    }

    /// FoldersChange: read the folders again with ListFolders.
    public struct FoldersChange: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    /// InvitationsChange: read the invitations again with ListInvitations, or ListOrganizationInvitations if it has an organization.
    public struct InvitationsChange: ProtoMessage {
        /// Conversation of the group, or 0.
        public var conversation: String
        /// Inviter who invited the user; 0 where the invitation is over: the user answered, it was taken back, or newer ones took its place.
        public var inviter: String
        /// Organization that the user was invited to, or 0.
        public var organization: String

        public init(conversation: String = "0", inviter: String = "0", organization: String = "0") {
            self.conversation = conversation
            self.inviter = inviter
            self.organization = organization
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            inviter = try fields.value("inviter", IDCoder.self)
            organization = try fields.value("organization", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("inviter", inviter, IDCoder.self)
            try fields.value("organization", organization, IDCoder.self)
        }

    }

    public struct MemberMark: ProtoMessage {
        public var conversation: String
        public var user: String
        public var deliveredSeq: Int64
        public var readSeq: Int64

        public init(conversation: String = "0", user: String = "0", deliveredSeq: Int64 = 0, readSeq: Int64 = 0) {
            self.conversation = conversation
            self.user = user
            self.deliveredSeq = deliveredSeq
            self.readSeq = readSeq
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
            deliveredSeq = try fields.value("deliveredSeq", Int64Coder.self)
            readSeq = try fields.value("readSeq", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("deliveredSeq", deliveredSeq, Int64Coder.self)
            try fields.value("readSeq", readSeq, Int64Coder.self)
        }

    }

    /// Relation between the owner of the stream and a user, as it is now.
    public struct Relation: ProtoMessage {
        public var user: String
        public var friend: Bool
        /// Requested: the owner has asked to be friends, and waits.
        public var requested: Bool
        /// Asked: the user has asked the owner.
        public var asked: Bool
        public var blocked: Bool
        public var following: Bool
        /// Remark is the owner's own name for a friend.
        public var remark: String
        /// Message of a request.
        public var message: String
        /// Muted: the owner's home timeline leaves out the user's posts.
        public var muted: Bool

        public init(user: String = "0", friend: Bool = false, requested: Bool = false, asked: Bool = false, blocked: Bool = false, following: Bool = false, remark: String = "", message: String = "", muted: Bool = false) {
            self.user = user
            self.friend = friend
            self.requested = requested
            self.asked = asked
            self.blocked = blocked
            self.following = following
            self.remark = remark
            self.message = message
            self.muted = muted
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            friend = try fields.value("friend", BoolCoder.self)
            requested = try fields.value("requested", BoolCoder.self)
            asked = try fields.value("asked", BoolCoder.self)
            blocked = try fields.value("blocked", BoolCoder.self)
            following = try fields.value("following", BoolCoder.self)
            remark = try fields.value("remark", TextCoder.self)
            message = try fields.value("message", TextCoder.self)
            muted = try fields.value("muted", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("friend", friend, BoolCoder.self)
            try fields.value("requested", requested, BoolCoder.self)
            try fields.value("asked", asked, BoolCoder.self)
            try fields.value("blocked", blocked, BoolCoder.self)
            try fields.value("following", following, BoolCoder.self)
            try fields.value("remark", remark, TextCoder.self)
            try fields.value("message", message, TextCoder.self)
            try fields.value("muted", muted, BoolCoder.self)
        }

    }

    public struct ProfileChange: ProtoMessage {
        public var user: String

        public init(user: String = "0") {
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
        }

    }

    public struct ScheduleMessageRequest: ProtoMessage {
        public var conversation: String
        /// ClientMsgId of 1 to 64 bytes, new for each message of the device. The message is sent with it, so never twice.
        public var clientMsgId: String
        /// Content as in Send, without files, edits and the like.
        public var content: Content?
        /// SendMs is when to send it: later than now, at most a year from now.
        public var sendMs: Int64

        public init(conversation: String = "0", clientMsgId: String = "", content: Content? = nil, sendMs: Int64 = 0) {
            self.conversation = conversation
            self.clientMsgId = clientMsgId
            self.content = content
            self.sendMs = sendMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            clientMsgId = try fields.value("clientMsgId", TextCoder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
            sendMs = try fields.value("sendMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("clientMsgId", clientMsgId, TextCoder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
            try fields.value("sendMs", sendMs, Int64Coder.self)
        }

    }

    public struct ScheduledMessage: ProtoMessage {
        public var id: String
        public var conversation: String
        public var clientMsgId: String
        public var content: Content?
        public var sendMs: Int64
        /// Failed is the reason why it could not be sent: it stays until it is changed or cancelled. Empty: it waits.
        public var failed: String

        public init(id: String = "0", conversation: String = "0", clientMsgId: String = "", content: Content? = nil, sendMs: Int64 = 0, failed: String = "") {
            self.id = id
            self.conversation = conversation
            self.clientMsgId = clientMsgId
            self.content = content
            self.sendMs = sendMs
            self.failed = failed
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            conversation = try fields.value("conversation", IDCoder.self)
            clientMsgId = try fields.value("clientMsgId", TextCoder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
            sendMs = try fields.value("sendMs", Int64Coder.self)
            failed = try fields.value("failed", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("clientMsgId", clientMsgId, TextCoder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
            try fields.value("sendMs", sendMs, Int64Coder.self)
            try fields.value("failed", failed, TextCoder.self)
        }

    }

    public struct ListScheduledRequest: ProtoMessage {
        /// Conversation; 0 for all.
        public var conversation: String
        /// Limit of 1 to 100; 0 means 100.
        public var limit: Int
        /// Page: the next of the page before; empty for the first.
        public var page: String

        public init(conversation: String = "0", limit: Int = 0, page: String = "") {
            self.conversation = conversation
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListScheduledResponse: ProtoMessage {
        public var messages: [ChatV1.ScheduledMessage]
        /// Next page's token; empty at the end. A page also ends at about 1 MiB.
        public var next: String

        public init(messages: [ChatV1.ScheduledMessage] = [], next: String = "") {
            self.messages = messages
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            messages = try fields.list("messages", MessageCoder<ChatV1.ScheduledMessage>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("messages", messages, MessageCoder<ChatV1.ScheduledMessage>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct UpdateScheduledRequest: ProtoMessage {
        public var id: String
        /// Content; absent: as it is.
        public var content: Content?
        /// SendMs; 0: as it is.
        public var sendMs: Int64

        public init(id: String = "0", content: Content? = nil, sendMs: Int64 = 0) {
            self.id = id
            self.content = content
            self.sendMs = sendMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
            sendMs = try fields.value("sendMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
            try fields.value("sendMs", sendMs, Int64Coder.self)
        }

    }

    public struct CancelScheduledRequest: ProtoMessage {
        public var id: String

        public init(id: String = "0") {
            self.id = id
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
        }

    }

    public struct CancelScheduledResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public enum ConversationKind: ProtoEnum {
        case unspecified
        case direct
        case group
        /// The replies under one message of another conversation. Its members are those who follow it.
        case thread
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<ConversationKind>] = [
            ProtoEnumValue("CONVERSATION_KIND_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("CONVERSATION_KIND_DIRECT", 1, .direct),
            ProtoEnumValue("CONVERSATION_KIND_GROUP", 2, .group),
            ProtoEnumValue("CONVERSATION_KIND_THREAD", 3, .thread),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// Notices: who follows a channel of system notices, without joining. Its followers can mute it and not leave it.
    public enum Notices: ProtoEnum {
        case unspecified
        /// Every user, from their registration on: what was said before, they do not see.
        case everybody
        /// The users whom the channel's owner adds with Invite and takes away with Remove. They read the whole channel.
        case segment
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<Notices>] = [
            ProtoEnumValue("NOTICES_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("NOTICES_EVERYBODY", 1, .everybody),
            ProtoEnumValue("NOTICES_SEGMENT", 2, .segment),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
