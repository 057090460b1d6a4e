// Made from rialto/operation/v1/interchange.proto by make generate. Do not edit.
import Foundation

extension OperationV1 {
    /// InterchangeService imports users, videos, posts, comments, likes, conversations and messages with their original times, and exports everything; rialto import and rialto export are
    /// its clients (docs/operating/import-export.md). All calls need a key with the role operator.
    ///
    /// An import of a conversation begins with ImportConversation, and ends with EndImport. Between them nobody else writes to it, and nothing of it is
    /// pushed: clients are refused with importing, and send again later. All calls may be repeated: what is stored is not stored again.
    public enum InterchangeService {
        /// ImportUsers creates or updates users by their external ids, as AdminService.PutUser does. A user who cannot be stored is refused by itself.
        public static let importUsers = RialtoContract.Call<OperationV1.ImportUsersRequest, OperationV1.ImportUsersResponse>("rialto.operation.v1.InterchangeService/ImportUsers")
        /// ImportConversation creates a conversation for an import, or finds it. A one-to-one conversation that has messages of its own is refused with has_history.
        public static let importConversation = RialtoContract.Call<OperationV1.ImportConversationRequest, OperationV1.ImportConversationResponse>("rialto.operation.v1.InterchangeService/ImportConversation")
        /// ImportEntries appends entries in order. The answer has a result for each: one that is refused does not stop the others. An entry with an earlier time
        /// than the conversation's last one is refused with time_order.
        public static let importEntries = RialtoContract.Call<OperationV1.ImportEntriesRequest, OperationV1.ImportEntriesResponse>("rialto.operation.v1.InterchangeService/ImportEntries")
        /// EndImport makes everything that was imported read for all members, and lets them write.
        public static let endImport = RialtoContract.Call<OperationV1.EndImportRequest, OperationV1.EndImportResponse>("rialto.operation.v1.InterchangeService/EndImport")
        /// ImportFile returns an address to which the file of a user is uploaded by PUT.
        public static let importFile = RialtoContract.Call<OperationV1.ImportFileRequest, OperationV1.ImportFileResponse>("rialto.operation.v1.InterchangeService/ImportFile")
        /// CompleteFile completes an upload after its PUT. With avatar, the file becomes the picture of its owner.
        public static let completeFile = RialtoContract.Call<OperationV1.CompleteFileRequest, OperationV1.CompleteFileResponse>("rialto.operation.v1.InterchangeService/CompleteFile")
        /// ExportUsers gives users by their ids, in pages.
        public static let exportUsers = RialtoContract.Call<OperationV1.ExportUsersRequest, OperationV1.ExportUsersResponse>("rialto.operation.v1.InterchangeService/ExportUsers")
        /// ImportRelations stores what users have set about others: friendships, requests, blocks, follows, mutes and names. Nobody is notified. A relation that cannot be
        /// stored is refused by itself.
        public static let importRelations = RialtoContract.Call<OperationV1.ImportRelationsRequest, OperationV1.ImportRelationsResponse>("rialto.operation.v1.InterchangeService/ImportRelations")
        /// ExportRelations gives what users have set about others, by the ids of both, in pages.
        public static let exportRelations = RialtoContract.Call<OperationV1.ExportRelationsRequest, OperationV1.ExportRelationsResponse>("rialto.operation.v1.InterchangeService/ExportRelations")
        /// ImportVideos makes videos from uploads. All of these calls answer with a result for each: one that is refused does not stop the others. Nobody is notified.
        public static let importVideos = RialtoContract.Call<OperationV1.ImportVideosRequest, OperationV1.ImportVideosResponse>("rialto.operation.v1.InterchangeService/ImportVideos")
        /// ExportVideos gives videos whose files are there by their ids, in pages.
        public static let exportVideos = RialtoContract.Call<OperationV1.ExportVideosRequest, OperationV1.ExportVideosResponse>("rialto.operation.v1.InterchangeService/ExportVideos")
        /// ImportPosts publishes posts, and their later versions, with their original times.
        public static let importPosts = RialtoContract.Call<OperationV1.ImportPostsRequest, OperationV1.ImportPostsResponse>("rialto.operation.v1.InterchangeService/ImportPosts")
        /// ExportPosts gives the versions of posts by their ids, in pages.
        public static let exportPosts = RialtoContract.Call<OperationV1.ExportPostsRequest, OperationV1.ExportPostsResponse>("rialto.operation.v1.InterchangeService/ExportPosts")
        /// ImportComments creates comments on posts that were imported, with their original times.
        public static let importComments = RialtoContract.Call<OperationV1.ImportCommentsRequest, OperationV1.ImportCommentsResponse>("rialto.operation.v1.InterchangeService/ImportComments")
        /// ExportComments gives comments by their ids, in pages.
        public static let exportComments = RialtoContract.Call<OperationV1.ExportCommentsRequest, OperationV1.ExportCommentsResponse>("rialto.operation.v1.InterchangeService/ExportComments")
        /// ImportLikes stores likes and favourites of posts and comments that were imported, with their original times.
        public static let importLikes = RialtoContract.Call<OperationV1.ImportLikesRequest, OperationV1.ImportLikesResponse>("rialto.operation.v1.InterchangeService/ImportLikes")
        /// ExportLikes gives likes and favourites by kinds and subjects, in pages.
        public static let exportLikes = RialtoContract.Call<OperationV1.ExportLikesRequest, OperationV1.ExportLikesResponse>("rialto.operation.v1.InterchangeService/ExportLikes")
        /// ListImports gives conversations whose import has not ended, by their ids, in pages. Nobody but an import writes to them until EndImport.
        public static let listImports = RialtoContract.Call<OperationV1.ListImportsRequest, OperationV1.ListImportsResponse>("rialto.operation.v1.InterchangeService/ListImports")
        /// ExportConversations gives conversations by their ids, in pages. Tickets of help desks are left out.
        public static let exportConversations = RialtoContract.Call<OperationV1.ExportConversationsRequest, OperationV1.ExportConversationsResponse>("rialto.operation.v1.InterchangeService/ExportConversations")
        /// ExportEntries gives the entries of a conversation as they are stored, in pages. What was recalled or has expired has no content.
        public static let exportEntries = RialtoContract.Call<OperationV1.ExportEntriesRequest, OperationV1.ExportEntriesResponse>("rialto.operation.v1.InterchangeService/ExportEntries")
        /// ExportFile returns an address of a file, good for some minutes.
        public static let exportFile = RialtoContract.Call<OperationV1.ExportFileRequest, OperationV1.ExportFileResponse>("rialto.operation.v1.InterchangeService/ExportFile")
    }

    /// InterchangeUser is a user in an import or an export.
    public struct InterchangeUser: ProtoMessage {
        /// User is the id here; from the server only.
        public var user: String
        /// ExternalId of 1 to 128 bytes; in exports "" for users who registered here.
        public var externalId: String
        /// Handle; in an import one that is taken, or not valid, is replaced by another.
        public var handle: String
        public var displayName: String
        public var bio: String
        /// Avatar is an upload; in exports only.
        public var avatar: String
        /// Settings of the user; absent: none. In an import they are stored for a user who has none here.
        public var settings: AccountV1.Settings?

        public init(user: String = "0", externalId: String = "", handle: String = "", displayName: String = "", bio: String = "", avatar: String = "0", settings: AccountV1.Settings? = nil) {
            self.user = user
            self.externalId = externalId
            self.handle = handle
            self.displayName = displayName
            self.bio = bio
            self.avatar = avatar
            self.settings = settings
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            externalId = try fields.value("externalId", TextCoder.self)
            handle = try fields.value("handle", TextCoder.self)
            displayName = try fields.value("displayName", TextCoder.self)
            bio = try fields.value("bio", TextCoder.self)
            avatar = try fields.value("avatar", IDCoder.self)
            settings = try fields.optional("settings", MessageCoder<AccountV1.Settings>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("externalId", externalId, TextCoder.self)
            try fields.value("handle", handle, TextCoder.self)
            try fields.value("displayName", displayName, TextCoder.self)
            try fields.value("bio", bio, TextCoder.self)
            try fields.value("avatar", avatar, IDCoder.self)
            try fields.optional("settings", settings, MessageCoder<AccountV1.Settings>.self)
        }

    }

    public struct ImportUsersRequest: ProtoMessage {
        /// Users, at most 100.
        public var users: [OperationV1.InterchangeUser]

        public init(users: [OperationV1.InterchangeUser] = []) {
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            users = try fields.list("users", MessageCoder<OperationV1.InterchangeUser>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("users", users, MessageCoder<OperationV1.InterchangeUser>.self)
        }

    }

    public struct ImportUsersResponse: ProtoMessage {
        /// Results, one for each user.
        public var results: [OperationV1.ImportedUser]

        public init(results: [OperationV1.ImportedUser] = []) {
            self.results = results
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            results = try fields.list("results", MessageCoder<OperationV1.ImportedUser>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("results", results, MessageCoder<OperationV1.ImportedUser>.self)
        }

    }

    public struct ImportedUser: ProtoMessage {
        /// User is the id, 0 if the user was refused.
        public var user: String
        /// Reason and message of the refusal.
        public var reason: String
        public var message: String

        public init(user: String = "0", reason: String = "", message: String = "") {
            self.user = user
            self.reason = reason
            self.message = message
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            message = try fields.value("message", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("message", message, TextCoder.self)
        }

    }

    /// InterchangeRelation is what a user has set about another, in an import or an export.
    public struct InterchangeRelation: ProtoMessage {
        public var owner: String
        public var other: String
        /// Friend: the two are friends. Both relations say so.
        public var friend: Bool
        /// Requested: the owner has asked the other to be a friend.
        public var requested: Bool
        /// Asked: the other has asked the owner.
        public var asked: Bool
        public var blocked: Bool
        public var following: Bool
        /// Muted: posts of the other are not in the owner's home timeline.
        public var muted: Bool
        /// Remark is the owner's name for the other.
        public var remark: String
        /// Message of the request.
        public var message: String

        public init(owner: String = "0", other: String = "0", friend: Bool = false, requested: Bool = false, asked: Bool = false, blocked: Bool = false, following: Bool = false, muted: Bool = false, remark: String = "", message: String = "") {
            self.owner = owner
            self.other = other
            self.friend = friend
            self.requested = requested
            self.asked = asked
            self.blocked = blocked
            self.following = following
            self.muted = muted
            self.remark = remark
            self.message = message
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            owner = try fields.value("owner", IDCoder.self)
            other = try fields.value("other", IDCoder.self)
            friend = try fields.value("friend", BoolCoder.self)
            requested = try fields.value("requested", BoolCoder.self)
            asked = try fields.value("asked", BoolCoder.self)
            blocked = try fields.value("blocked", BoolCoder.self)
            following = try fields.value("following", BoolCoder.self)
            muted = try fields.value("muted", BoolCoder.self)
            remark = try fields.value("remark", TextCoder.self)
            message = try fields.value("message", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("owner", owner, IDCoder.self)
            try fields.value("other", other, IDCoder.self)
            try fields.value("friend", friend, BoolCoder.self)
            try fields.value("requested", requested, BoolCoder.self)
            try fields.value("asked", asked, BoolCoder.self)
            try fields.value("blocked", blocked, BoolCoder.self)
            try fields.value("following", following, BoolCoder.self)
            try fields.value("muted", muted, BoolCoder.self)
            try fields.value("remark", remark, TextCoder.self)
            try fields.value("message", message, TextCoder.self)
        }

    }

    public struct ImportRelationsRequest: ProtoMessage {
        /// Relations, at most 100.
        public var relations: [OperationV1.InterchangeRelation]

        public init(relations: [OperationV1.InterchangeRelation] = []) {
            self.relations = relations
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            relations = try fields.list("relations", MessageCoder<OperationV1.InterchangeRelation>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("relations", relations, MessageCoder<OperationV1.InterchangeRelation>.self)
        }

    }

    public struct ImportRelationsResponse: ProtoMessage {
        /// Results, one for each relation.
        public var results: [OperationV1.ImportedRelation]

        public init(results: [OperationV1.ImportedRelation] = []) {
            self.results = results
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            results = try fields.list("results", MessageCoder<OperationV1.ImportedRelation>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("results", results, MessageCoder<OperationV1.ImportedRelation>.self)
        }

    }

    public struct ImportedRelation: ProtoMessage {
        /// Reason and message of the refusal; "" if the relation is stored.
        public var reason: String
        public var message: String

        public init(reason: String = "", message: String = "") {
            self.reason = reason
            self.message = message
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            reason = try fields.value("reason", TextCoder.self)
            message = try fields.value("message", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("message", message, TextCoder.self)
        }

    }

    public struct ExportRelationsRequest: ProtoMessage {
        /// AfterOwner and after_other are of the last relation of the page before; 0: the first page.
        public var afterOwner: String
        public var afterOther: String
        /// Limit, at most 500; 0 is 500.
        public var limit: Int

        public init(afterOwner: String = "0", afterOther: String = "0", limit: Int = 0) {
            self.afterOwner = afterOwner
            self.afterOther = afterOther
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            afterOwner = try fields.value("afterOwner", IDCoder.self)
            afterOther = try fields.value("afterOther", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("afterOwner", afterOwner, IDCoder.self)
            try fields.value("afterOther", afterOther, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ExportRelationsResponse: ProtoMessage {
        public var relations: [OperationV1.InterchangeRelation]

        public init(relations: [OperationV1.InterchangeRelation] = []) {
            self.relations = relations
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            relations = try fields.list("relations", MessageCoder<OperationV1.InterchangeRelation>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("relations", relations, MessageCoder<OperationV1.InterchangeRelation>.self)
        }

    }

    public struct ImportConversationRequest: ProtoMessage {
        /// Key of 1 to 128 bytes names the conversation in the source. The same key finds it again.
        public var key: String
        /// Title of a group, of 1 to 100 characters.
        public var title: String
        /// Owner of a group; the first of the two users of a one-to-one conversation.
        public var owner: String
        /// Members of a group from its beginning, besides its owner; the second user of a one-to-one conversation. They read all of it.
        public var members: [String]
        /// Direct: a one-to-one conversation. Its key is not used.
        public var direct: Bool
        public var joinPolicy: ChatV1.JoinPolicy
        /// Channel: only the owner and admins post.
        public var channel: Bool
        /// TimeMs of its creation, milliseconds since 1970, at most now.
        public var timeMs: Int64
        /// Parent makes it the thread under a message: of that conversation, with the key root. Without other fields but owner, who started it, members, who follow it, and time_ms.
        public var parent: String
        public var root: String

        public init(key: String = "", title: String = "", owner: String = "0", members: [String] = [], direct: Bool = false, joinPolicy: ChatV1.JoinPolicy = .unspecified, channel: Bool = false, timeMs: Int64 = 0, parent: String = "0", root: String = "") {
            self.key = key
            self.title = title
            self.owner = owner
            self.members = members
            self.direct = direct
            self.joinPolicy = joinPolicy
            self.channel = channel
            self.timeMs = timeMs
            self.parent = parent
            self.root = root
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            key = try fields.value("key", TextCoder.self)
            title = try fields.value("title", TextCoder.self)
            owner = try fields.value("owner", IDCoder.self)
            members = try fields.list("members", IDCoder.self)
            direct = try fields.value("direct", BoolCoder.self)
            joinPolicy = try fields.value("joinPolicy", EnumCoder<ChatV1.JoinPolicy>.self)
            channel = try fields.value("channel", BoolCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            parent = try fields.value("parent", IDCoder.self)
            root = try fields.value("root", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("key", key, TextCoder.self)
            try fields.value("title", title, TextCoder.self)
            try fields.value("owner", owner, IDCoder.self)
            try fields.list("members", members, IDCoder.self)
            try fields.value("direct", direct, BoolCoder.self)
            try fields.value("joinPolicy", joinPolicy, EnumCoder<ChatV1.JoinPolicy>.self)
            try fields.value("channel", channel, BoolCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("parent", parent, IDCoder.self)
            try fields.value("root", root, TextCoder.self)
        }

    }

    public struct ImportConversationResponse: ProtoMessage {
        public var conversation: String
        /// Ended: its import has ended; further entries are refused.
        public var ended: Bool

        public init(conversation: String = "0", ended: Bool = false) {
            self.conversation = conversation
            self.ended = ended
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            ended = try fields.value("ended", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("ended", ended, BoolCoder.self)
        }

    }

    /// ImportEntry is a message, an update of one, or a control entry.
    public struct ImportEntry: ProtoMessage {
        /// Key of 1 to 128 bytes names it in the source, unique in the conversation. Messages keep it as their external_id.
        public var key: String
        /// TimeMs is the original time, milliseconds since 1970, at most now.
        public var timeMs: Int64
        /// Sender; of a control entry, its actor.
        public var sender: String
        /// Content as of chat. References to earlier messages are empty: target names them. Without a kind, it is a message that was recalled before the export.
        public var content: Content?
        /// Target is the key of the message that this entry replies to or changes.
        public var target: String

        public init(key: String = "", timeMs: Int64 = 0, sender: String = "0", content: Content? = nil, target: String = "") {
            self.key = key
            self.timeMs = timeMs
            self.sender = sender
            self.content = content
            self.target = target
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            key = try fields.value("key", TextCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            sender = try fields.value("sender", IDCoder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
            target = try fields.value("target", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("key", key, TextCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("sender", sender, IDCoder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
            try fields.value("target", target, TextCoder.self)
        }

    }

    public struct ImportEntriesRequest: ProtoMessage {
        public var conversation: String
        /// Entries, at most 200.
        public var entries: [OperationV1.ImportEntry]

        public init(conversation: String = "0", entries: [OperationV1.ImportEntry] = []) {
            self.conversation = conversation
            self.entries = entries
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            entries = try fields.list("entries", MessageCoder<OperationV1.ImportEntry>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.list("entries", entries, MessageCoder<OperationV1.ImportEntry>.self)
        }

    }

    public struct ImportEntriesResponse: ProtoMessage {
        public var results: [OperationV1.ImportedEntry]

        public init(results: [OperationV1.ImportedEntry] = []) {
            self.results = results
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            results = try fields.list("results", MessageCoder<OperationV1.ImportedEntry>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("results", results, MessageCoder<OperationV1.ImportedEntry>.self)
        }

    }

    public struct ImportedEntry: ProtoMessage {
        /// Seq of the entry, 0 if it was refused.
        public var seq: Int64
        /// Duplicate: it was stored before.
        public var duplicate: Bool
        public var reason: String
        public var message: String
        /// LostReply: the message that this one replies to is not there, so that it is stored as one that replies to nothing.
        public var lostReply: Bool

        public init(seq: Int64 = 0, duplicate: Bool = false, reason: String = "", message: String = "", lostReply: Bool = false) {
            self.seq = seq
            self.duplicate = duplicate
            self.reason = reason
            self.message = message
            self.lostReply = lostReply
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            seq = try fields.value("seq", Int64Coder.self)
            duplicate = try fields.value("duplicate", BoolCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            message = try fields.value("message", TextCoder.self)
            lostReply = try fields.value("lostReply", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("duplicate", duplicate, BoolCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("message", message, TextCoder.self)
            try fields.value("lostReply", lostReply, BoolCoder.self)
        }

    }

    public struct ListImportsRequest: ProtoMessage {
        /// After is the last conversation of the page before; 0: the first page.
        public var after: String
        /// Limit, at most 500; 0 is 500.
        public var limit: Int

        public init(after: String = "0", limit: Int = 0) {
            self.after = after
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            after = try fields.value("after", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("after", after, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListImportsResponse: ProtoMessage {
        public var conversations: [String]

        public init(conversations: [String] = []) {
            self.conversations = conversations
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversations = try fields.list("conversations", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("conversations", conversations, IDCoder.self)
        }

    }

    public struct EndImportRequest: ProtoMessage {
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

    public struct EndImportResponse: ProtoMessage {
        /// Counted messages of the conversation.
        public var messages: Int64

        public init(messages: Int64 = 0) {
            self.messages = messages
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            messages = try fields.value("messages", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("messages", messages, Int64Coder.self)
        }

    }

    public struct ImportFileRequest: ProtoMessage {
        /// Owner is the user who sent it.
        public var owner: String
        public var name: String
        /// Size in bytes.
        public var size: Int64

        public init(owner: String = "0", name: String = "", size: Int64 = 0) {
            self.owner = owner
            self.name = name
            self.size = size
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            owner = try fields.value("owner", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            size = try fields.value("size", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("owner", owner, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("size", size, Int64Coder.self)
        }

    }

    public struct ImportFileResponse: ProtoMessage {
        public var upload: String
        public var url: String

        public init(upload: String = "0", url: String = "") {
            self.upload = upload
            self.url = url
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
            url = try fields.value("url", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
            try fields.value("url", url, TextCoder.self)
        }

    }

    public struct CompleteFileRequest: ProtoMessage {
        public var owner: String
        public var upload: String
        public var avatar: Bool

        public init(owner: String = "0", upload: String = "0", avatar: Bool = false) {
            self.owner = owner
            self.upload = upload
            self.avatar = avatar
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            owner = try fields.value("owner", IDCoder.self)
            upload = try fields.value("upload", IDCoder.self)
            avatar = try fields.value("avatar", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("owner", owner, IDCoder.self)
            try fields.value("upload", upload, IDCoder.self)
            try fields.value("avatar", avatar, BoolCoder.self)
        }

    }

    public struct CompleteFileResponse: ProtoMessage {
        public var mimeType: String
        public var width: Int
        public var height: Int

        public init(mimeType: String = "", width: Int = 0, height: Int = 0) {
            self.mimeType = mimeType
            self.width = width
            self.height = height
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            mimeType = try fields.value("mimeType", TextCoder.self)
            width = try fields.value("width", IntCoder.self)
            height = try fields.value("height", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("mimeType", mimeType, TextCoder.self)
            try fields.value("width", width, IntCoder.self)
            try fields.value("height", height, IntCoder.self)
        }

    }

    public struct ExportUsersRequest: ProtoMessage {
        /// After is the last user of the page before; 0: the first page.
        public var after: String
        /// Limit, at most 500; 0 is 500.
        public var limit: Int

        public init(after: String = "0", limit: Int = 0) {
            self.after = after
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            after = try fields.value("after", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("after", after, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ExportUsersResponse: ProtoMessage {
        public var users: [OperationV1.InterchangeUser]
        /// Total number of users at present; with the first page only.
        public var total: Int64

        public init(users: [OperationV1.InterchangeUser] = [], total: Int64 = 0) {
            self.users = users
            self.total = total
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            users = try fields.list("users", MessageCoder<OperationV1.InterchangeUser>.self)
            total = try fields.value("total", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("users", users, MessageCoder<OperationV1.InterchangeUser>.self)
            try fields.value("total", total, Int64Coder.self)
        }

    }

    public struct ExportConversationsRequest: ProtoMessage {
        public var after: String
        public var limit: Int
        /// Threads: list threads; otherwise all others.
        public var threads: Bool

        public init(after: String = "0", limit: Int = 0, threads: Bool = false) {
            self.after = after
            self.limit = limit
            self.threads = threads
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            after = try fields.value("after", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            threads = try fields.value("threads", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("after", after, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("threads", threads, BoolCoder.self)
        }

    }

    public struct ExportConversationsResponse: ProtoMessage {
        public var conversations: [OperationV1.InterchangeConversation]
        public var total: Int64

        public init(conversations: [OperationV1.InterchangeConversation] = [], total: Int64 = 0) {
            self.conversations = conversations
            self.total = total
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversations = try fields.list("conversations", MessageCoder<OperationV1.InterchangeConversation>.self)
            total = try fields.value("total", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("conversations", conversations, MessageCoder<OperationV1.InterchangeConversation>.self)
            try fields.value("total", total, Int64Coder.self)
        }

    }

    /// InterchangeConversation is a conversation in an export. Its members, and all that changed, are in its entries.
    public struct InterchangeConversation: ProtoMessage {
        public var conversation: String
        /// Key with which it was imported; "" for others.
        public var key: String
        public var direct: Bool
        public var channel: Bool
        /// Parent and root of a thread: the conversation and the seq of the message.
        public var parent: String
        public var rootSeq: Int64
        /// LastSeq of its entries.
        public var lastSeq: Int64

        public init(conversation: String = "0", key: String = "", direct: Bool = false, channel: Bool = false, parent: String = "0", rootSeq: Int64 = 0, lastSeq: Int64 = 0) {
            self.conversation = conversation
            self.key = key
            self.direct = direct
            self.channel = channel
            self.parent = parent
            self.rootSeq = rootSeq
            self.lastSeq = lastSeq
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            key = try fields.value("key", TextCoder.self)
            direct = try fields.value("direct", BoolCoder.self)
            channel = try fields.value("channel", BoolCoder.self)
            parent = try fields.value("parent", IDCoder.self)
            rootSeq = try fields.value("rootSeq", Int64Coder.self)
            lastSeq = try fields.value("lastSeq", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("key", key, TextCoder.self)
            try fields.value("direct", direct, BoolCoder.self)
            try fields.value("channel", channel, BoolCoder.self)
            try fields.value("parent", parent, IDCoder.self)
            try fields.value("rootSeq", rootSeq, Int64Coder.self)
            try fields.value("lastSeq", lastSeq, Int64Coder.self)
        }

    }

    public struct ExportEntriesRequest: ProtoMessage {
        public var conversation: String
        /// After is a seq; 0: from the first on.
        public var after: Int64
        /// Limit, at most 500; 0 is 500. A page also ends after 512 KiB.
        public var limit: Int

        public init(conversation: String = "0", after: Int64 = 0, limit: Int = 0) {
            self.conversation = conversation
            self.after = after
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            after = try fields.value("after", Int64Coder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("after", after, Int64Coder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ExportEntriesResponse: ProtoMessage {
        public var entries: [OperationV1.ExportedEntry]
        /// More entries follow the last one.
        public var more: Bool
        /// Next is the seq after which they follow.
        public var next: Int64

        public init(entries: [OperationV1.ExportedEntry] = [], more: Bool = false, next: Int64 = 0) {
            self.entries = entries
            self.more = more
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            entries = try fields.list("entries", MessageCoder<OperationV1.ExportedEntry>.self)
            more = try fields.value("more", BoolCoder.self)
            next = try fields.value("next", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("entries", entries, MessageCoder<OperationV1.ExportedEntry>.self)
            try fields.value("more", more, BoolCoder.self)
            try fields.value("next", next, Int64Coder.self)
        }

    }

    public struct ExportedEntry: ProtoMessage {
        public var seq: Int64
        public var timeMs: Int64
        public var sender: String
        public var content: Content?

        public init(seq: Int64 = 0, timeMs: Int64 = 0, sender: String = "0", content: Content? = nil) {
            self.seq = seq
            self.timeMs = timeMs
            self.sender = sender
            self.content = content
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            seq = try fields.value("seq", Int64Coder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            sender = try fields.value("sender", IDCoder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("sender", sender, IDCoder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
        }

    }

    public struct ExportFileRequest: ProtoMessage {
        public var upload: String

        public init(upload: String = "0") {
            self.upload = upload
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
        }

    }

    public struct ExportFileResponse: ProtoMessage {
        public var url: String
        public var owner: String
        public var name: String
        public var mimeType: String
        public var size: Int64

        public init(url: String = "", owner: String = "0", name: String = "", mimeType: String = "", size: Int64 = 0) {
            self.url = url
            self.owner = owner
            self.name = name
            self.mimeType = mimeType
            self.size = size
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            url = try fields.value("url", TextCoder.self)
            owner = try fields.value("owner", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            mimeType = try fields.value("mimeType", TextCoder.self)
            size = try fields.value("size", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("url", url, TextCoder.self)
            try fields.value("owner", owner, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("mimeType", mimeType, TextCoder.self)
            try fields.value("size", size, Int64Coder.self)
        }

    }

}
