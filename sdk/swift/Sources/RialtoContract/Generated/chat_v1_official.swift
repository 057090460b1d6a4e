// Made from rialto/chat/v1/official.proto by make generate. Do not edit.
import Foundation

extension ChatV1 {
    /// OfficialAccountService: official accounts, from which a company or a public body writes. An official account is a user with a verified mark (User.official)
    /// and a channel, whose followers are the account's. It talks with each of them in their one-to-one conversation: by a menu, by automatic replies,
    /// and by broadcasts. AdminService.PutOfficialAccount makes it. All calls need an access token, or an API key and the header Rialto-User for the user on
    /// whose behalf the call is made. The account itself and its operators may change it.
    public enum OfficialAccountService {
        /// GetOfficialAccount gives an account as the caller may see it.
        public static let getOfficialAccount = RialtoContract.Call<ChatV1.GetOfficialAccountRequest, ChatV1.OfficialAccount>("rialto.chat.v1.OfficialAccountService/GetOfficialAccount")
        /// ListOfficialAccounts gives the accounts that the caller operates, by user id, at most 100, without menus and replies.
        public static let listOfficialAccounts = RialtoContract.Call<ChatV1.ListOfficialAccountsRequest, ChatV1.ListOfficialAccountsResponse>("rialto.chat.v1.OfficialAccountService/ListOfficialAccounts")
        /// UpdateOfficialAccount replaces the menu, or the automatic replies. Operators may.
        public static let updateOfficialAccount = RialtoContract.Call<ChatV1.UpdateOfficialAccountRequest, ChatV1.OfficialAccount>("rialto.chat.v1.OfficialAccountService/UpdateOfficialAccount")
        /// SetOfficialOperator makes a user an operator or an admin of an account, or neither. Admins may.
        public static let setOfficialOperator = RialtoContract.Call<ChatV1.SetOfficialOperatorRequest, ChatV1.OfficialAccount>("rialto.chat.v1.OfficialAccountService/SetOfficialOperator")
        /// TapOfficialMenu makes an account send the reply of a menu item to the caller. A user taps at most ten in a minute.
        public static let tapOfficialMenu = RialtoContract.Call<ChatV1.TapOfficialMenuRequest, ChatV1.TapOfficialMenuResponse>("rialto.chat.v1.OfficialAccountService/TapOfficialMenu")
        /// SetFollowerLabel sets a label on followers, or takes it off. Operators may.
        public static let setFollowerLabel = RialtoContract.Call<ChatV1.SetFollowerLabelRequest, ChatV1.SetFollowerLabelResponse>("rialto.chat.v1.OfficialAccountService/SetFollowerLabel")
        /// ReplaceFollowerLabel renames a label, or deletes it, for all who have it, also for those who no longer follow. If the other label exists, the two
        /// become one. Operators may. If the call fails on the way, a retry does the rest.
        public static let replaceFollowerLabel = RialtoContract.Call<ChatV1.ReplaceFollowerLabelRequest, ChatV1.OfficialAccount>("rialto.chat.v1.OfficialAccountService/ReplaceFollowerLabel")
        /// ListOfficialFollowers gives operators a page of followers, by user id.
        public static let listOfficialFollowers = RialtoContract.Call<ChatV1.ListOfficialFollowersRequest, ChatV1.ListOfficialFollowersResponse>("rialto.chat.v1.OfficialAccountService/ListOfficialFollowers")
        /// CreateBroadcast sends a message to the followers of an account, each in the one-to-one conversation. Operators may. A retry with the same key
        /// returns the first broadcast.
        public static let createBroadcast = RialtoContract.Call<ChatV1.CreateBroadcastRequest, ChatV1.Broadcast>("rialto.chat.v1.OfficialAccountService/CreateBroadcast")
        /// GetBroadcast gives operators a broadcast with its progress.
        public static let getBroadcast = RialtoContract.Call<ChatV1.GetBroadcastRequest, ChatV1.Broadcast>("rialto.chat.v1.OfficialAccountService/GetBroadcast")
        /// ListBroadcasts gives operators a page of an account's broadcasts, the newest first.
        public static let listBroadcasts = RialtoContract.Call<ChatV1.ListBroadcastsRequest, ChatV1.ListBroadcastsResponse>("rialto.chat.v1.OfficialAccountService/ListBroadcasts")
        /// ChangeBroadcast pauses, resumes, cancels, recalls or edits a broadcast. Operators may.
        public static let changeBroadcast = RialtoContract.Call<ChatV1.ChangeBroadcastRequest, ChatV1.Broadcast>("rialto.chat.v1.OfficialAccountService/ChangeBroadcast")
    }

    /// OfficialAccount is a user with a verified mark and a channel.
    public struct OfficialAccount: ProtoMessage {
        /// User that the account is.
        public var user: String
        /// Channel of the account: to follow the account, call Join with it.
        public var channel: String
        /// Handle of the channel; empty: none.
        public var handle: String
        /// Disabled: it has no mark, sends no broadcast and no automatic reply.
        public var disabled: Bool
        /// Menu entries, at most 3.
        public var menu: [ChatV1.OfficialMenuEntry]
        /// Followers, about.
        public var followers: Int
        /// Following: the caller follows the account.
        public var following: Bool
        /// Role of the caller.
        public var role: ChatV1.OfficialRole
        /// Revision rises with each change.
        public var revision: String
        /// Replies, for operators.
        public var replies: ChatV1.OfficialReplies?
        /// Operators, for operators, at most 50.
        public var operators: [ChatV1.OfficialOperator]
        /// Labels of followers, for operators, at most 100.
        public var labels: [String]
        /// ChangedBy is who changed menu or replies last, for operators; 0: nobody.
        public var changedBy: String

        public init(user: String = "0", channel: String = "0", handle: String = "", disabled: Bool = false, menu: [ChatV1.OfficialMenuEntry] = [], followers: Int = 0, following: Bool = false, role: ChatV1.OfficialRole = .unspecified, revision: String = "0", replies: ChatV1.OfficialReplies? = nil, operators: [ChatV1.OfficialOperator] = [], labels: [String] = [], changedBy: String = "0") {
            self.user = user
            self.channel = channel
            self.handle = handle
            self.disabled = disabled
            self.menu = menu
            self.followers = followers
            self.following = following
            self.role = role
            self.revision = revision
            self.replies = replies
            self.operators = operators
            self.labels = labels
            self.changedBy = changedBy
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            channel = try fields.value("channel", IDCoder.self)
            handle = try fields.value("handle", TextCoder.self)
            disabled = try fields.value("disabled", BoolCoder.self)
            menu = try fields.list("menu", MessageCoder<ChatV1.OfficialMenuEntry>.self)
            followers = try fields.value("followers", IntCoder.self)
            following = try fields.value("following", BoolCoder.self)
            role = try fields.value("role", EnumCoder<ChatV1.OfficialRole>.self)
            revision = try fields.value("revision", IDCoder.self)
            replies = try fields.optional("replies", MessageCoder<ChatV1.OfficialReplies>.self)
            operators = try fields.list("operators", MessageCoder<ChatV1.OfficialOperator>.self)
            labels = try fields.list("labels", TextCoder.self)
            changedBy = try fields.value("changedBy", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("channel", channel, IDCoder.self)
            try fields.value("handle", handle, TextCoder.self)
            try fields.value("disabled", disabled, BoolCoder.self)
            try fields.list("menu", menu, MessageCoder<ChatV1.OfficialMenuEntry>.self)
            try fields.value("followers", followers, IntCoder.self)
            try fields.value("following", following, BoolCoder.self)
            try fields.value("role", role, EnumCoder<ChatV1.OfficialRole>.self)
            try fields.value("revision", revision, IDCoder.self)
            try fields.optional("replies", replies, MessageCoder<ChatV1.OfficialReplies>.self)
            try fields.list("operators", operators, MessageCoder<ChatV1.OfficialOperator>.self)
            try fields.list("labels", labels, TextCoder.self)
            try fields.value("changedBy", changedBy, IDCoder.self)
        }

    }

    /// OfficialOperator is a user who acts for an account.
    public struct OfficialOperator: ProtoMessage {
        public var user: String
        public var role: ChatV1.OfficialRole

        public init(user: String = "0", role: ChatV1.OfficialRole = .unspecified) {
            self.user = user
            self.role = role
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            role = try fields.value("role", EnumCoder<ChatV1.OfficialRole>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("role", role, EnumCoder<ChatV1.OfficialRole>.self)
        }

    }

    /// OfficialMenuEntry is one at the top of a menu: an item, or a title with items under it.
    public struct OfficialMenuEntry: ProtoMessage {
        /// Item with the title. It has an action if there are no items.
        public var item: ChatV1.OfficialMenuItem?
        /// Items under the entry, at most 5.
        public var items: [ChatV1.OfficialMenuItem]

        public init(item: ChatV1.OfficialMenuItem? = nil, items: [ChatV1.OfficialMenuItem] = []) {
            self.item = item
            self.items = items
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            item = try fields.optional("item", MessageCoder<ChatV1.OfficialMenuItem>.self)
            items = try fields.list("items", MessageCoder<ChatV1.OfficialMenuItem>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("item", item, MessageCoder<ChatV1.OfficialMenuItem>.self)
            try fields.list("items", items, MessageCoder<ChatV1.OfficialMenuItem>.self)
        }

    }

    /// OfficialMenuItem has a title and an action.
    public struct OfficialMenuItem: ProtoMessage {
        /// Title in one line, of 1 to 24 characters.
        public var title: String
        public var action: Action?

        public init(title: String = "", action: Action? = nil) {
            self.title = title
            self.action = action
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            title = try fields.value("title", TextCoder.self)
            action = try Action(fields)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("title", title, TextCoder.self)
            try action?.write(to: &fields)
        }

        public enum Action: Hashable, Sendable {
            /// Url to open: https://, http:// or mailto:
            case url(String)
            /// Text that the client sends as the user, of 1 to 200 characters.
            case text(String)
            /// Reply that the account sends when a client calls TapOfficialMenu: a text, a card, a location or a custom message.
            case reply(Content)

            init?(_ fields: ProtoReader) throws {
                if let value = try fields.optional("url", TextCoder.self) {
                    self = .url(value)
                } else if let value = try fields.optional("text", TextCoder.self) {
                    self = .text(value)
                } else if let value = try fields.optional("reply", MessageCoder<Content>.self) {
                    self = .reply(value)
                } else {
                    return nil
                }
            }

            func write(to fields: inout ProtoWriter) throws {
                switch self {
                case .url(let value): try fields.optional("url", value, TextCoder.self)
                case .text(let value): try fields.optional("text", value, TextCoder.self)
                case .reply(let value): try fields.optional("reply", value, MessageCoder<Content>.self)
                }
            }
        }

    }

    /// OfficialReplies are what an account answers by itself. Each content is a text of at most 2,000 characters, a card, a location or a custom
    /// message.
    public struct OfficialReplies: ProtoMessage {
        /// Welcome is sent to a user who begins to follow, at most once a day. Absent: none.
        public var welcome: Content?
        /// Rules, in order: the first that matches answers. At most 100.
        public var rules: [ChatV1.KeywordRule]
        /// Fallback answers a message that no rule matches, at most once an hour to each user. Absent: none.
        public var fallback: Content?

        public init(welcome: Content? = nil, rules: [ChatV1.KeywordRule] = [], fallback: Content? = nil) {
            self.welcome = welcome
            self.rules = rules
            self.fallback = fallback
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            welcome = try fields.optional("welcome", MessageCoder<Content>.self)
            rules = try fields.list("rules", MessageCoder<ChatV1.KeywordRule>.self)
            fallback = try fields.optional("fallback", MessageCoder<Content>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("welcome", welcome, MessageCoder<Content>.self)
            try fields.list("rules", rules, MessageCoder<ChatV1.KeywordRule>.self)
            try fields.optional("fallback", fallback, MessageCoder<Content>.self)
        }

    }

    /// KeywordRule answers texts.
    public struct KeywordRule: ProtoMessage {
        public var match: ChatV1.KeywordRule.Match
        /// Keywords, 1 to 10, of 1 to 64 characters. Case, width and spaces around do not matter.
        public var keywords: [String]
        public var reply: Content?

        public init(match: ChatV1.KeywordRule.Match = .unspecified, keywords: [String] = [], reply: Content? = nil) {
            self.match = match
            self.keywords = keywords
            self.reply = reply
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            match = try fields.value("match", EnumCoder<ChatV1.KeywordRule.Match>.self)
            keywords = try fields.list("keywords", TextCoder.self)
            reply = try fields.optional("reply", MessageCoder<Content>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("match", match, EnumCoder<ChatV1.KeywordRule.Match>.self)
            try fields.list("keywords", keywords, TextCoder.self)
            try fields.optional("reply", reply, MessageCoder<Content>.self)
        }

        public enum Match: ProtoEnum {
            case unspecified
            /// Exact: the text is a keyword.
            case exact
            /// Prefix: the text begins with a keyword.
            case prefix
            /// Contains: a keyword is somewhere in the text.
            case contains
            /// A value of a later version, by its number.
            case unrecognized(Int)

            public static let values: [ProtoEnumValue<Match>] = [
                ProtoEnumValue("MATCH_UNSPECIFIED", 0, .unspecified),
                ProtoEnumValue("MATCH_EXACT", 1, .exact),
                ProtoEnumValue("MATCH_PREFIX", 2, .prefix),
                ProtoEnumValue("MATCH_CONTAINS", 3, .contains),
            ]

            public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
        }

    }

    public struct GetOfficialAccountRequest: ProtoMessage {
        /// User that the account is. Give this, the channel or the handle.
        public var user: String
        /// Handle of the account's channel.
        public var handle: String
        /// Channel of the account.
        public var channel: String

        public init(user: String = "0", handle: String = "", channel: String = "0") {
            self.user = user
            self.handle = handle
            self.channel = channel
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            handle = try fields.value("handle", TextCoder.self)
            channel = try fields.value("channel", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("handle", handle, TextCoder.self)
            try fields.value("channel", channel, IDCoder.self)
        }

    }

    public struct ListOfficialAccountsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListOfficialAccountsResponse: ProtoMessage {
        public var accounts: [ChatV1.OfficialAccount]

        public init(accounts: [ChatV1.OfficialAccount] = []) {
            self.accounts = accounts
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            accounts = try fields.list("accounts", MessageCoder<ChatV1.OfficialAccount>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("accounts", accounts, MessageCoder<ChatV1.OfficialAccount>.self)
        }

    }

    /// OfficialMenu is a whole menu.
    public struct OfficialMenu: ProtoMessage {
        /// Entries, at most 3.
        public var entries: [ChatV1.OfficialMenuEntry]

        public init(entries: [ChatV1.OfficialMenuEntry] = []) {
            self.entries = entries
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            entries = try fields.list("entries", MessageCoder<ChatV1.OfficialMenuEntry>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("entries", entries, MessageCoder<ChatV1.OfficialMenuEntry>.self)
        }

    }

    public struct UpdateOfficialAccountRequest: ProtoMessage {
        public var user: String
        /// Revision that was read; the call fails if there is a later one. 0: whatever it is.
        public var revision: String
        /// Menu; absent: as it is.
        public var menu: ChatV1.OfficialMenu?
        /// Replies; absent: as they are.
        public var replies: ChatV1.OfficialReplies?

        public init(user: String = "0", revision: String = "0", menu: ChatV1.OfficialMenu? = nil, replies: ChatV1.OfficialReplies? = nil) {
            self.user = user
            self.revision = revision
            self.menu = menu
            self.replies = replies
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            revision = try fields.value("revision", IDCoder.self)
            menu = try fields.optional("menu", MessageCoder<ChatV1.OfficialMenu>.self)
            replies = try fields.optional("replies", MessageCoder<ChatV1.OfficialReplies>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("revision", revision, IDCoder.self)
            try fields.optional("menu", menu, MessageCoder<ChatV1.OfficialMenu>.self)
            try fields.optional("replies", replies, MessageCoder<ChatV1.OfficialReplies>.self)
        }

    }

    public struct SetOfficialOperatorRequest: ProtoMessage {
        /// User that the account is.
        public var user: String
        public var `operator`: String
        /// Role; unspecified: the user no longer acts for the account.
        public var role: ChatV1.OfficialRole

        public init(user: String = "0", `operator`: String = "0", role: ChatV1.OfficialRole = .unspecified) {
            self.user = user
            self.`operator` = `operator`
            self.role = role
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            `operator` = try fields.value("operator", IDCoder.self)
            role = try fields.value("role", EnumCoder<ChatV1.OfficialRole>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("operator", `operator`, IDCoder.self)
            try fields.value("role", role, EnumCoder<ChatV1.OfficialRole>.self)
        }

    }

    public struct TapOfficialMenuRequest: ProtoMessage {
        /// User that the account is.
        public var user: String
        /// Entry, from 0.
        public var entry: Int
        /// Item under the entry, from 1; 0: the entry itself.
        public var item: Int
        /// Key of this tap, 1 to 40 of a-z, A-Z, 0-9, - and _, so that a retry is harmless.
        public var key: String

        public init(user: String = "0", entry: Int = 0, item: Int = 0, key: String = "") {
            self.user = user
            self.entry = entry
            self.item = item
            self.key = key
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            entry = try fields.value("entry", IntCoder.self)
            item = try fields.value("item", IntCoder.self)
            key = try fields.value("key", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("entry", entry, IntCoder.self)
            try fields.value("item", item, IntCoder.self)
            try fields.value("key", key, TextCoder.self)
        }

    }

    public struct TapOfficialMenuResponse: ProtoMessage {
        /// Conversation in which the reply comes.
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

    public struct SetFollowerLabelRequest: ProtoMessage {
        /// User that the account is.
        public var user: String
        /// Followers, at most 200. Who does not follow is left out.
        public var followers: [String]
        /// Label in one line, of 1 to 32 characters.
        public var label: String
        /// Remove the label.
        public var remove: Bool

        public init(user: String = "0", followers: [String] = [], label: String = "", remove: Bool = false) {
            self.user = user
            self.followers = followers
            self.label = label
            self.remove = remove
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            followers = try fields.list("followers", IDCoder.self)
            label = try fields.value("label", TextCoder.self)
            remove = try fields.value("remove", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.list("followers", followers, IDCoder.self)
            try fields.value("label", label, TextCoder.self)
            try fields.value("remove", remove, BoolCoder.self)
        }

    }

    public struct SetFollowerLabelResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ReplaceFollowerLabelRequest: ProtoMessage {
        /// User that the account is.
        public var user: String
        /// Label that is replaced. One that nobody has is as good as replaced.
        public var label: String
        /// Replacement, a label in one line, of 1 to 32 characters; empty: the label is deleted.
        public var replacement: String

        public init(user: String = "0", label: String = "", replacement: String = "") {
            self.user = user
            self.label = label
            self.replacement = replacement
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            label = try fields.value("label", TextCoder.self)
            replacement = try fields.value("replacement", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("label", label, TextCoder.self)
            try fields.value("replacement", replacement, TextCoder.self)
        }

    }

    public struct ListOfficialFollowersRequest: ProtoMessage {
        /// User that the account is.
        public var user: String
        /// Label that they have; empty: all followers.
        public var label: String
        /// Limit, at most 200; 0: 100.
        public var limit: Int
        /// Page is next of the last answer; empty: the first.
        public var page: String

        public init(user: String = "0", label: String = "", limit: Int = 0, page: String = "") {
            self.user = user
            self.label = label
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            label = try fields.value("label", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("label", label, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListOfficialFollowersResponse: ProtoMessage {
        public var followers: [ChatV1.OfficialFollower]
        /// Next page; empty: this is the last. A page may have fewer than the limit.
        public var next: String

        public init(followers: [ChatV1.OfficialFollower] = [], next: String = "") {
            self.followers = followers
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            followers = try fields.list("followers", MessageCoder<ChatV1.OfficialFollower>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("followers", followers, MessageCoder<ChatV1.OfficialFollower>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// OfficialFollower of an account.
    public struct OfficialFollower: ProtoMessage {
        public var user: String
        /// Labels, at most 20.
        public var labels: [String]

        public init(user: String = "0", labels: [String] = []) {
            self.user = user
            self.labels = labels
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            labels = try fields.list("labels", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.list("labels", labels, TextCoder.self)
        }

    }

    /// BroadcastAudience says which followers get a broadcast: all, or those who have one of the labels and one of the languages.
    public struct BroadcastAudience: ProtoMessage {
        /// Labels, at most 10; empty: any.
        public var labels: [String]
        /// Languages as en or zh, by the user's Settings.locale, at most 10; empty: any.
        public var languages: [String]

        public init(labels: [String] = [], languages: [String] = []) {
            self.labels = labels
            self.languages = languages
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            labels = try fields.list("labels", TextCoder.self)
            languages = try fields.list("languages", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("labels", labels, TextCoder.self)
            try fields.list("languages", languages, TextCoder.self)
        }

    }

    /// Broadcast is one message for many followers.
    public struct Broadcast: ProtoMessage {
        public var id: String
        /// Account that sends it.
        public var account: String
        /// Author is the operator who made it.
        public var author: String
        public var content: Content?
        public var audience: ChatV1.BroadcastAudience?
        /// Waves, as the part of the followers in percent that has been reached when each ends: rising, the last is 100.
        public var waves: [Int]
        /// WaveSeconds between the end of a wave and the next.
        public var waveSeconds: Int
        /// PerMinute is the most messages in a minute.
        public var perMinute: Int
        public var state: ChatV1.Broadcast.State
        /// Wave that is sent, or will be next, from 0.
        public var wave: Int
        /// DueMs is when more will be sent, while it is running.
        public var dueMs: Int64
        /// Sent to so many followers.
        public var sent: Int
        /// Failed for so many: they have blocked the account, for instance.
        public var failed: Int
        /// Revision rises with each edit, and with the recall.
        public var revision: Int
        /// Updating: an edit or the recall has not reached all copies yet.
        public var updating: Bool
        public var createdMs: Int64
        /// ChangedBy is the operator who changed it last; 0: nobody.
        public var changedBy: String

        public init(id: String = "0", account: String = "0", author: String = "0", content: Content? = nil, audience: ChatV1.BroadcastAudience? = nil, waves: [Int] = [], waveSeconds: Int = 0, perMinute: Int = 0, state: ChatV1.Broadcast.State = .unspecified, wave: Int = 0, dueMs: Int64 = 0, sent: Int = 0, failed: Int = 0, revision: Int = 0, updating: Bool = false, createdMs: Int64 = 0, changedBy: String = "0") {
            self.id = id
            self.account = account
            self.author = author
            self.content = content
            self.audience = audience
            self.waves = waves
            self.waveSeconds = waveSeconds
            self.perMinute = perMinute
            self.state = state
            self.wave = wave
            self.dueMs = dueMs
            self.sent = sent
            self.failed = failed
            self.revision = revision
            self.updating = updating
            self.createdMs = createdMs
            self.changedBy = changedBy
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            account = try fields.value("account", IDCoder.self)
            author = try fields.value("author", IDCoder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
            audience = try fields.optional("audience", MessageCoder<ChatV1.BroadcastAudience>.self)
            waves = try fields.list("waves", IntCoder.self)
            waveSeconds = try fields.value("waveSeconds", IntCoder.self)
            perMinute = try fields.value("perMinute", IntCoder.self)
            state = try fields.value("state", EnumCoder<ChatV1.Broadcast.State>.self)
            wave = try fields.value("wave", IntCoder.self)
            dueMs = try fields.value("dueMs", Int64Coder.self)
            sent = try fields.value("sent", IntCoder.self)
            failed = try fields.value("failed", IntCoder.self)
            revision = try fields.value("revision", IntCoder.self)
            updating = try fields.value("updating", BoolCoder.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            changedBy = try fields.value("changedBy", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("account", account, IDCoder.self)
            try fields.value("author", author, IDCoder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
            try fields.optional("audience", audience, MessageCoder<ChatV1.BroadcastAudience>.self)
            try fields.list("waves", waves, IntCoder.self)
            try fields.value("waveSeconds", waveSeconds, IntCoder.self)
            try fields.value("perMinute", perMinute, IntCoder.self)
            try fields.value("state", state, EnumCoder<ChatV1.Broadcast.State>.self)
            try fields.value("wave", wave, IntCoder.self)
            try fields.value("dueMs", dueMs, Int64Coder.self)
            try fields.value("sent", sent, IntCoder.self)
            try fields.value("failed", failed, IntCoder.self)
            try fields.value("revision", revision, IntCoder.self)
            try fields.value("updating", updating, BoolCoder.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.value("changedBy", changedBy, IDCoder.self)
        }

        public enum State: ProtoEnum {
            case unspecified
            /// Running: sending, or waiting for its start or for the next wave.
            case running
            case paused
            case done
            case cancelled
            /// Recalled: nothing more is sent, and what was sent is taken back.
            case recalled
            /// A value of a later version, by its number.
            case unrecognized(Int)

            public static let values: [ProtoEnumValue<State>] = [
                ProtoEnumValue("STATE_UNSPECIFIED", 0, .unspecified),
                ProtoEnumValue("STATE_RUNNING", 1, .running),
                ProtoEnumValue("STATE_PAUSED", 2, .paused),
                ProtoEnumValue("STATE_DONE", 3, .done),
                ProtoEnumValue("STATE_CANCELLED", 4, .cancelled),
                ProtoEnumValue("STATE_RECALLED", 5, .recalled),
            ]

            public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
        }

    }

    public struct CreateBroadcastRequest: ProtoMessage {
        /// User that the account is.
        public var user: String
        /// Key of 1 to 64 bytes, so that a retry is harmless.
        public var key: String
        /// Content: a text of at most 2,000 characters, a card, a location or a custom message.
        public var content: Content?
        public var audience: ChatV1.BroadcastAudience?
        /// Waves, at most 10; empty: one.
        public var waves: [Int]
        /// WaveSeconds, at most 604,800 (a week).
        public var waveSeconds: Int
        /// PerMinute, at most 60,000; 0: as fast as the deployment allows.
        public var perMinute: Int
        /// StartMs is when the first wave begins, at most a year ahead; 0: now.
        public var startMs: Int64

        public init(user: String = "0", key: String = "", content: Content? = nil, audience: ChatV1.BroadcastAudience? = nil, waves: [Int] = [], waveSeconds: Int = 0, perMinute: Int = 0, startMs: Int64 = 0) {
            self.user = user
            self.key = key
            self.content = content
            self.audience = audience
            self.waves = waves
            self.waveSeconds = waveSeconds
            self.perMinute = perMinute
            self.startMs = startMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            key = try fields.value("key", TextCoder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
            audience = try fields.optional("audience", MessageCoder<ChatV1.BroadcastAudience>.self)
            waves = try fields.list("waves", IntCoder.self)
            waveSeconds = try fields.value("waveSeconds", IntCoder.self)
            perMinute = try fields.value("perMinute", IntCoder.self)
            startMs = try fields.value("startMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("key", key, TextCoder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
            try fields.optional("audience", audience, MessageCoder<ChatV1.BroadcastAudience>.self)
            try fields.list("waves", waves, IntCoder.self)
            try fields.value("waveSeconds", waveSeconds, IntCoder.self)
            try fields.value("perMinute", perMinute, IntCoder.self)
            try fields.value("startMs", startMs, Int64Coder.self)
        }

    }

    public struct GetBroadcastRequest: ProtoMessage {
        public var broadcast: String

        public init(broadcast: String = "0") {
            self.broadcast = broadcast
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            broadcast = try fields.value("broadcast", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("broadcast", broadcast, IDCoder.self)
        }

    }

    public struct ListBroadcastsRequest: ProtoMessage {
        /// User that the account is.
        public var user: String
        /// Limit, at most 50; 0: 20.
        public var limit: Int
        /// Page is next of the last answer; empty: the first.
        public var page: String

        public init(user: String = "0", limit: Int = 0, page: String = "") {
            self.user = user
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListBroadcastsResponse: ProtoMessage {
        public var broadcasts: [ChatV1.Broadcast]
        /// Next page; empty: this is the last.
        public var next: String

        public init(broadcasts: [ChatV1.Broadcast] = [], next: String = "") {
            self.broadcasts = broadcasts
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            broadcasts = try fields.list("broadcasts", MessageCoder<ChatV1.Broadcast>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("broadcasts", broadcasts, MessageCoder<ChatV1.Broadcast>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct ChangeBroadcastRequest: ProtoMessage {
        public var broadcast: String
        public var action: ChatV1.ChangeBroadcastRequest.Action
        public var content: Content?

        public init(broadcast: String = "0", action: ChatV1.ChangeBroadcastRequest.Action = .unspecified, content: Content? = nil) {
            self.broadcast = broadcast
            self.action = action
            self.content = content
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            broadcast = try fields.value("broadcast", IDCoder.self)
            action = try fields.value("action", EnumCoder<ChatV1.ChangeBroadcastRequest.Action>.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("broadcast", broadcast, IDCoder.self)
            try fields.value("action", action, EnumCoder<ChatV1.ChangeBroadcastRequest.Action>.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
        }

        public enum Action: ProtoEnum {
            case unspecified
            case pause
            case resume
            /// Cancel: nothing more is sent.
            case cancel
            /// Recall: cancel, and take back what was sent, as far as messages can still be recalled.
            case recall
            /// Edit: content replaces that of all copies, and of those not sent yet. A text is replaced by a text.
            case edit
            /// A value of a later version, by its number.
            case unrecognized(Int)

            public static let values: [ProtoEnumValue<Action>] = [
                ProtoEnumValue("ACTION_UNSPECIFIED", 0, .unspecified),
                ProtoEnumValue("ACTION_PAUSE", 1, .pause),
                ProtoEnumValue("ACTION_RESUME", 2, .resume),
                ProtoEnumValue("ACTION_CANCEL", 3, .cancel),
                ProtoEnumValue("ACTION_RECALL", 4, .recall),
                ProtoEnumValue("ACTION_EDIT", 5, .edit),
            ]

            public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
        }

    }

    /// OfficialRole of a user who acts for an account.
    public enum OfficialRole: ProtoEnum {
        /// None: the user does not act for the account.
        case unspecified
        /// Operator: changes menu, replies and labels, and sends broadcasts.
        case `operator`
        /// Admin: names operators, too. The account itself is one.
        case admin
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<OfficialRole>] = [
            ProtoEnumValue("OFFICIAL_ROLE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("OFFICIAL_ROLE_OPERATOR", 1, .`operator`),
            ProtoEnumValue("OFFICIAL_ROLE_ADMIN", 2, .admin),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
