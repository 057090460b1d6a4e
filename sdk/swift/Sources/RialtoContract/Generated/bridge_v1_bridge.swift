// Made from rialto/bridge/v1/bridge.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.bridge.v1.
public enum BridgeV1 {}

extension BridgeV1 {
    /// BridgeLinkService links groups with rooms of other message systems, such as channels of IRC.
    ///
    /// A bridge carries messages in both directions. It is a program with an API key of its own (rialto admin key create --bot USER --bridge NAME). An admin links a group;
    /// from then on the bridge's bot is a member of it, and the bridge receives what is written there. To end that at once, remove the bot.
    public enum BridgeLinkService {
        /// ListBridges gives the bridges of the deployment, by name.
        public static let listBridges = RialtoContract.Call<BridgeV1.ListBridgesRequest, BridgeV1.ListBridgesResponse>("rialto.bridge.v1.BridgeLinkService/ListBridges")
        /// LinkBridge links a group with a room of another system; admins and the owner may. The bridge's bot becomes a member. The bridge then asks the other system, and the
        /// link says what that answered. Linking again with the same address has a link that was refused tried again.
        public static let linkBridge = RialtoContract.Call<BridgeV1.LinkBridgeRequest, BridgeV1.BridgeLink>("rialto.bridge.v1.BridgeLinkService/LinkBridge")
        /// UnlinkBridge ends a link and removes the bridge's bot; admins and the owner may. Ending one that is gone succeeds.
        public static let unlinkBridge = RialtoContract.Call<BridgeV1.UnlinkBridgeRequest, BridgeV1.UnlinkBridgeResponse>("rialto.bridge.v1.BridgeLinkService/UnlinkBridge")
        /// ListBridgeLinks gives the links of a conversation to its members, and whether the caller may write in the other system.
        public static let listBridgeLinks = RialtoContract.Call<BridgeV1.ListBridgeLinksRequest, BridgeV1.ListBridgeLinksResponse>("rialto.bridge.v1.BridgeLinkService/ListBridgeLinks")
    }

    /// BridgeService is for bridges. All calls need the API key of a bridge, and concern its own links only. A bridge receives what is written in linked groups by
    /// ServerEventService, as its bot, stores what is written in the other system under the ids of that system, and reports what became of each message that it received.
    public enum BridgeService {
        /// PutBridge registers the bridge of the key, or changes it. Without it nobody can link a group.
        public static let putBridge = RialtoContract.Call<BridgeV1.PutBridgeRequest, BridgeV1.Bridge>("rialto.bridge.v1.BridgeService/PutBridge")
        /// ListLinkedConversations gives the links of the bridge, by conversation, in pages.
        public static let listLinkedConversations = RialtoContract.Call<BridgeV1.ListLinkedConversationsRequest, BridgeV1.ListLinkedConversationsResponse>("rialto.bridge.v1.BridgeService/ListLinkedConversations")
        /// ReportBridgeLink says whether the other system accepts a link.
        public static let reportBridgeLink = RialtoContract.Call<BridgeV1.ReportBridgeLinkRequest, BridgeV1.BridgeLink>("rialto.bridge.v1.BridgeService/ReportBridgeLink")
        /// SendBridgedMessage stores what somebody wrote, edited or recalled in the other system. The same external id gives the same entry, however often it is repeated: the
        /// first one counts. The first call for an address makes its user.
        public static let sendBridgedMessage = RialtoContract.Call<BridgeV1.SendBridgedMessageRequest, BridgeV1.SendBridgedMessageResponse>("rialto.bridge.v1.BridgeService/SendBridgedMessage")
        /// ReportDelivery says what became of a message in the other system. All members see it at the message. The last report of a bridge counts.
        public static let reportDelivery = RialtoContract.Call<BridgeV1.ReportDeliveryRequest, BridgeV1.ReportDeliveryResponse>("rialto.bridge.v1.BridgeService/ReportDelivery")
        /// PutBridgePermission stores whether a user may write in the other system, as that has answered.
        public static let putBridgePermission = RialtoContract.Call<BridgeV1.PutBridgePermissionRequest, BridgeV1.PutBridgePermissionResponse>("rialto.bridge.v1.BridgeService/PutBridgePermission")
        /// GetBridgePermission gives the stored answer; absent if there is none, or if it has ended.
        public static let getBridgePermission = RialtoContract.Call<BridgeV1.GetBridgePermissionRequest, BridgeV1.GetBridgePermissionResponse>("rialto.bridge.v1.BridgeService/GetBridgePermission")
    }

    /// BridgeAdminService is for moderators: all calls need a key with the role moderator or operator. Each removal is in the audit log.
    public enum BridgeAdminService {
        /// FindBridgeLinks gives the links of a bridge, by conversation, in pages: those of all groups, or those that a user made.
        public static let findBridgeLinks = RialtoContract.Call<BridgeV1.FindBridgeLinksRequest, BridgeV1.FindBridgeLinksResponse>("rialto.bridge.v1.BridgeAdminService/FindBridgeLinks")
        /// RemoveBridgeLink ends a link, and the bridge's bot leaves the group. An admin of the group may link it again. After an error, repeat it: it continues where it ended. Once the link is removed, the answer is no_link.
        public static let removeBridgeLink = RialtoContract.Call<BridgeV1.RemoveBridgeLinkRequest, BridgeV1.RemoveBridgeLinkResponse>("rialto.bridge.v1.BridgeAdminService/RemoveBridgeLink")
    }

    /// Bridge is a registered bridge, and what it carries to the other system. What it does not carry is not seen there.
    public struct Bridge: ProtoMessage {
        /// Name of 1 to 32 lower-case letters, digits and hyphens, such as irc. It is that of the API key.
        public var name: String
        /// DisplayName of 1 to 64 characters, such as Libera.Chat.
        public var displayName: String
        /// Bot is the user who becomes a member of linked groups.
        public var bot: String
        /// Edits, recalls, reactions and files are carried.
        public var edits: Bool
        public var recalls: Bool
        public var reactions: Bool
        public var files: Bool

        public init(name: String = "", displayName: String = "", bot: String = "0", edits: Bool = false, recalls: Bool = false, reactions: Bool = false, files: Bool = false) {
            self.name = name
            self.displayName = displayName
            self.bot = bot
            self.edits = edits
            self.recalls = recalls
            self.reactions = reactions
            self.files = files
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            displayName = try fields.value("displayName", TextCoder.self)
            bot = try fields.value("bot", IDCoder.self)
            edits = try fields.value("edits", BoolCoder.self)
            recalls = try fields.value("recalls", BoolCoder.self)
            reactions = try fields.value("reactions", BoolCoder.self)
            files = try fields.value("files", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("displayName", displayName, TextCoder.self)
            try fields.value("bot", bot, IDCoder.self)
            try fields.value("edits", edits, BoolCoder.self)
            try fields.value("recalls", recalls, BoolCoder.self)
            try fields.value("reactions", reactions, BoolCoder.self)
            try fields.value("files", files, BoolCoder.self)
        }

    }

    public struct BridgeLink: ProtoMessage {
        public var bridge: String
        public var conversation: String
        /// Address of the room in the other system, such as #rialto.
        public var address: String
        public var state: BridgeV1.BridgeLinkState
        /// Reason for programs, if it was refused, such as banned.
        public var reason: String
        /// Text that says why, for people.
        public var text: String
        /// LinkedBy is the admin who linked it.
        public var linkedBy: String
        public var createdMs: Int64
        /// Permission of the caller in the other system; in answers of ListBridgeLinks, absent if it is not known.
        public var permission: BridgeV1.BridgePermission?
        /// Room is the address in the bridge's own form, in which all spellings of a room are the same; empty until the bridge has reported it.
        public var room: String

        public init(bridge: String = "", conversation: String = "0", address: String = "", state: BridgeV1.BridgeLinkState = .unspecified, reason: String = "", text: String = "", linkedBy: String = "0", createdMs: Int64 = 0, permission: BridgeV1.BridgePermission? = nil, room: String = "") {
            self.bridge = bridge
            self.conversation = conversation
            self.address = address
            self.state = state
            self.reason = reason
            self.text = text
            self.linkedBy = linkedBy
            self.createdMs = createdMs
            self.permission = permission
            self.room = room
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            bridge = try fields.value("bridge", TextCoder.self)
            conversation = try fields.value("conversation", IDCoder.self)
            address = try fields.value("address", TextCoder.self)
            state = try fields.value("state", EnumCoder<BridgeV1.BridgeLinkState>.self)
            reason = try fields.value("reason", TextCoder.self)
            text = try fields.value("text", TextCoder.self)
            linkedBy = try fields.value("linkedBy", IDCoder.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            permission = try fields.optional("permission", MessageCoder<BridgeV1.BridgePermission>.self)
            room = try fields.value("room", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("bridge", bridge, TextCoder.self)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("address", address, TextCoder.self)
            try fields.value("state", state, EnumCoder<BridgeV1.BridgeLinkState>.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("text", text, TextCoder.self)
            try fields.value("linkedBy", linkedBy, IDCoder.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.optional("permission", permission, MessageCoder<BridgeV1.BridgePermission>.self)
            try fields.value("room", room, TextCoder.self)
        }

    }

    /// BridgePermission is whether a user may write in the other system.
    public struct BridgePermission: ProtoMessage {
        public var allowed: Bool
        /// Reason for programs, if it is not allowed, such as not_voiced.
        public var reason: String
        /// Text that says why, for people.
        public var text: String
        /// UntilMs is when the answer ends, milliseconds since 1970. After it the other system is asked again.
        public var untilMs: Int64

        public init(allowed: Bool = false, reason: String = "", text: String = "", untilMs: Int64 = 0) {
            self.allowed = allowed
            self.reason = reason
            self.text = text
            self.untilMs = untilMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            allowed = try fields.value("allowed", BoolCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            text = try fields.value("text", TextCoder.self)
            untilMs = try fields.value("untilMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("allowed", allowed, BoolCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("text", text, TextCoder.self)
            try fields.value("untilMs", untilMs, Int64Coder.self)
        }

    }

    public struct ListBridgesRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListBridgesResponse: ProtoMessage {
        /// Bridges, at most 100.
        public var bridges: [BridgeV1.Bridge]

        public init(bridges: [BridgeV1.Bridge] = []) {
            self.bridges = bridges
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            bridges = try fields.list("bridges", MessageCoder<BridgeV1.Bridge>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("bridges", bridges, MessageCoder<BridgeV1.Bridge>.self)
        }

    }

    public struct LinkBridgeRequest: ProtoMessage {
        public var conversation: String
        public var bridge: String
        /// Address of 1 to 255 bytes in one line. A room of the other system is linked with one conversation.
        public var address: String

        public init(conversation: String = "0", bridge: String = "", address: String = "") {
            self.conversation = conversation
            self.bridge = bridge
            self.address = address
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            bridge = try fields.value("bridge", TextCoder.self)
            address = try fields.value("address", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("bridge", bridge, TextCoder.self)
            try fields.value("address", address, TextCoder.self)
        }

    }

    public struct UnlinkBridgeRequest: ProtoMessage {
        public var conversation: String
        public var bridge: String

        public init(conversation: String = "0", bridge: String = "") {
            self.conversation = conversation
            self.bridge = bridge
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            bridge = try fields.value("bridge", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("bridge", bridge, TextCoder.self)
        }

    }

    public struct UnlinkBridgeResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListBridgeLinksRequest: ProtoMessage {
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

    public struct ListBridgeLinksResponse: ProtoMessage {
        /// Links, at most 5.
        public var links: [BridgeV1.BridgeLink]
        /// Bridges of these links, in the same order.
        public var bridges: [BridgeV1.Bridge]

        public init(links: [BridgeV1.BridgeLink] = [], bridges: [BridgeV1.Bridge] = []) {
            self.links = links
            self.bridges = bridges
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            links = try fields.list("links", MessageCoder<BridgeV1.BridgeLink>.self)
            bridges = try fields.list("bridges", MessageCoder<BridgeV1.Bridge>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("links", links, MessageCoder<BridgeV1.BridgeLink>.self)
            try fields.list("bridges", bridges, MessageCoder<BridgeV1.Bridge>.self)
        }

    }

    public struct PutBridgeRequest: ProtoMessage {
        public var displayName: String
        /// Edits, recalls, reactions and files are carried to the other system.
        public var edits: Bool
        public var recalls: Bool
        public var reactions: Bool
        public var files: Bool

        public init(displayName: String = "", edits: Bool = false, recalls: Bool = false, reactions: Bool = false, files: Bool = false) {
            self.displayName = displayName
            self.edits = edits
            self.recalls = recalls
            self.reactions = reactions
            self.files = files
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            displayName = try fields.value("displayName", TextCoder.self)
            edits = try fields.value("edits", BoolCoder.self)
            recalls = try fields.value("recalls", BoolCoder.self)
            reactions = try fields.value("reactions", BoolCoder.self)
            files = try fields.value("files", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("displayName", displayName, TextCoder.self)
            try fields.value("edits", edits, BoolCoder.self)
            try fields.value("recalls", recalls, BoolCoder.self)
            try fields.value("reactions", reactions, BoolCoder.self)
            try fields.value("files", files, BoolCoder.self)
        }

    }

    public struct ListLinkedConversationsRequest: ProtoMessage {
        /// Limit of 1 to 200; 0 is 50.
        public var limit: Int
        /// After is the conversation of the last link of the page before; 0: the first page.
        public var after: String

        public init(limit: Int = 0, after: String = "0") {
            self.limit = limit
            self.after = after
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            limit = try fields.value("limit", IntCoder.self)
            after = try fields.value("after", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("after", after, IDCoder.self)
        }

    }

    public struct ListLinkedConversationsResponse: ProtoMessage {
        public var links: [BridgeV1.BridgeLink]
        /// More: there are further ones.
        public var more: Bool

        public init(links: [BridgeV1.BridgeLink] = [], more: Bool = false) {
            self.links = links
            self.more = more
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            links = try fields.list("links", MessageCoder<BridgeV1.BridgeLink>.self)
            more = try fields.value("more", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("links", links, MessageCoder<BridgeV1.BridgeLink>.self)
            try fields.value("more", more, BoolCoder.self)
        }

    }

    public struct ReportBridgeLinkRequest: ProtoMessage {
        public var conversation: String
        /// State is active or refused.
        public var state: BridgeV1.BridgeLinkState
        /// Reason of 1 to 64 letters, digits and underscores, if it is refused.
        public var reason: String
        /// Text of at most 500 characters.
        public var text: String
        /// Room of an active link: the address in a form in which all spellings of a room are the same, of 1 to 255 bytes in one line. If another group is linked with that
        /// room, the link is refused with the reason room_taken, as the answer says. Empty: as reported before; if never, addresses are compared as they are written.
        public var room: String

        public init(conversation: String = "0", state: BridgeV1.BridgeLinkState = .unspecified, reason: String = "", text: String = "", room: String = "") {
            self.conversation = conversation
            self.state = state
            self.reason = reason
            self.text = text
            self.room = room
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            state = try fields.value("state", EnumCoder<BridgeV1.BridgeLinkState>.self)
            reason = try fields.value("reason", TextCoder.self)
            text = try fields.value("text", TextCoder.self)
            room = try fields.value("room", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("state", state, EnumCoder<BridgeV1.BridgeLinkState>.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("text", text, TextCoder.self)
            try fields.value("room", room, TextCoder.self)
        }

    }

    /// BridgedSender is somebody in the other system.
    public struct BridgedSender: ProtoMessage {
        /// Address of 1 to 255 bytes in one line, which is always the same for the same person, such as an account name.
        public var address: String
        /// Name to show, of 1 to 64 characters; empty: as before, or the address at first.
        public var name: String

        public init(address: String = "", name: String = "") {
            self.address = address
            self.name = name
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            address = try fields.value("address", TextCoder.self)
            name = try fields.value("name", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("address", address, TextCoder.self)
            try fields.value("name", name, TextCoder.self)
        }

    }

    public struct SendBridgedMessageRequest: ProtoMessage {
        public var conversation: String
        /// ExternalId of 1 to 255 bytes: that of this message, edit or recall in the other system. It is unique in the linked room.
        public var externalId: String
        /// Sender of a message. An edit and a recall are made by the sender of their target.
        public var sender: BridgeV1.BridgedSender?
        /// Exactly one.
        public var entry: Entry?
        /// ReplyTo is the external id of a message that this one answers, also of one from here. If it is not known, the message is no reply.
        public var replyTo: String

        public init(conversation: String = "0", externalId: String = "", sender: BridgeV1.BridgedSender? = nil, entry: Entry? = nil, replyTo: String = "") {
            self.conversation = conversation
            self.externalId = externalId
            self.sender = sender
            self.entry = entry
            self.replyTo = replyTo
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            externalId = try fields.value("externalId", TextCoder.self)
            sender = try fields.optional("sender", MessageCoder<BridgeV1.BridgedSender>.self)
            entry = try Entry(fields)
            replyTo = try fields.value("replyTo", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("externalId", externalId, TextCoder.self)
            try fields.optional("sender", sender, MessageCoder<BridgeV1.BridgedSender>.self)
            try entry?.write(to: &fields)
            try fields.value("replyTo", replyTo, TextCoder.self)
        }

        public enum Entry: Hashable, Sendable {
            /// Text of a message.
            case text(String)
            case edit(BridgeV1.BridgedEdit)
            case recall(BridgeV1.BridgedRecall)

            init?(_ fields: ProtoReader) throws {
                if let value = try fields.optional("text", TextCoder.self) {
                    self = .text(value)
                } else if let value = try fields.optional("edit", MessageCoder<BridgeV1.BridgedEdit>.self) {
                    self = .edit(value)
                } else if let value = try fields.optional("recall", MessageCoder<BridgeV1.BridgedRecall>.self) {
                    self = .recall(value)
                } else {
                    return nil
                }
            }

            func write(to fields: inout ProtoWriter) throws {
                switch self {
                case .text(let value): try fields.optional("text", value, TextCoder.self)
                case .edit(let value): try fields.optional("edit", value, MessageCoder<BridgeV1.BridgedEdit>.self)
                case .recall(let value): try fields.optional("recall", value, MessageCoder<BridgeV1.BridgedRecall>.self)
                }
            }
        }

    }

    /// BridgedEdit replaces the text of a message that came over the same bridge.
    public struct BridgedEdit: ProtoMessage {
        /// Target is its external id.
        public var target: String
        public var text: String

        public init(target: String = "", text: String = "") {
            self.target = target
            self.text = text
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            target = try fields.value("target", TextCoder.self)
            text = try fields.value("text", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("target", target, TextCoder.self)
            try fields.value("text", text, TextCoder.self)
        }

    }

    /// BridgedRecall takes back a message that came over the same bridge.
    public struct BridgedRecall: ProtoMessage {
        /// Target is its external id.
        public var target: String

        public init(target: String = "") {
            self.target = target
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            target = try fields.value("target", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("target", target, TextCoder.self)
        }

    }

    public struct SendBridgedMessageResponse: ProtoMessage {
        /// Seq of the entry. Of a message from here, whose delivery was reported with this external id, it is the message's own.
        public var seq: Int64
        /// Id is the readable id.
        public var id: String
        /// Duplicate: it was stored before.
        public var duplicate: Bool
        /// Sender is the user of the address; 0 for an edit and a recall.
        public var sender: String

        public init(seq: Int64 = 0, id: String = "", duplicate: Bool = false, sender: String = "0") {
            self.seq = seq
            self.id = id
            self.duplicate = duplicate
            self.sender = sender
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            seq = try fields.value("seq", Int64Coder.self)
            id = try fields.value("id", TextCoder.self)
            duplicate = try fields.value("duplicate", BoolCoder.self)
            sender = try fields.value("sender", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("id", id, TextCoder.self)
            try fields.value("duplicate", duplicate, BoolCoder.self)
            try fields.value("sender", sender, IDCoder.self)
        }

    }

    public struct ReportDeliveryRequest: ProtoMessage {
        public var conversation: String
        /// Seq of the message.
        public var seq: Int64
        /// ExternalId of 1 to 255 bytes that the message has in the other system: it was delivered. Empty: it was refused, and there is a reason.
        public var externalId: String
        /// Reason of 1 to 64 letters, digits and underscores, such as not_voiced.
        public var reason: String
        /// Text of at most 500 characters that tells the sender why.
        public var text: String

        public init(conversation: String = "0", seq: Int64 = 0, externalId: String = "", reason: String = "", text: String = "") {
            self.conversation = conversation
            self.seq = seq
            self.externalId = externalId
            self.reason = reason
            self.text = text
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            externalId = try fields.value("externalId", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            text = try fields.value("text", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("externalId", externalId, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("text", text, TextCoder.self)
        }

    }

    public struct ReportDeliveryResponse: ProtoMessage {
        /// Seq of the entry with the report.
        public var seq: Int64

        public init(seq: Int64 = 0) {
            self.seq = seq
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            seq = try fields.value("seq", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("seq", seq, Int64Coder.self)
        }

    }

    public struct PutBridgePermissionRequest: ProtoMessage {
        public var conversation: String
        /// User whom the answer concerns; 0: everybody who has no answer of their own.
        public var user: String
        /// Permission with an end in at most 24 hours.
        public var permission: BridgeV1.BridgePermission?

        public init(conversation: String = "0", user: String = "0", permission: BridgeV1.BridgePermission? = nil) {
            self.conversation = conversation
            self.user = user
            self.permission = permission
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
            permission = try fields.optional("permission", MessageCoder<BridgeV1.BridgePermission>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.optional("permission", permission, MessageCoder<BridgeV1.BridgePermission>.self)
        }

    }

    public struct PutBridgePermissionResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct GetBridgePermissionRequest: ProtoMessage {
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

    public struct GetBridgePermissionResponse: ProtoMessage {
        public var permission: BridgeV1.BridgePermission?

        public init(permission: BridgeV1.BridgePermission? = nil) {
            self.permission = permission
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            permission = try fields.optional("permission", MessageCoder<BridgeV1.BridgePermission>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("permission", permission, MessageCoder<BridgeV1.BridgePermission>.self)
        }

    }

    public struct FindBridgeLinksRequest: ProtoMessage {
        public var bridge: String
        /// LinkedBy is the user who made them; 0: all.
        public var linkedBy: String
        /// Limit of 1 to 200; 0 is 50.
        public var limit: Int
        /// After is the conversation of the last link of the page before; 0: the first page.
        public var after: String

        public init(bridge: String = "", linkedBy: String = "0", limit: Int = 0, after: String = "0") {
            self.bridge = bridge
            self.linkedBy = linkedBy
            self.limit = limit
            self.after = after
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            bridge = try fields.value("bridge", TextCoder.self)
            linkedBy = try fields.value("linkedBy", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            after = try fields.value("after", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("bridge", bridge, TextCoder.self)
            try fields.value("linkedBy", linkedBy, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("after", after, IDCoder.self)
        }

    }

    public struct FindBridgeLinksResponse: ProtoMessage {
        public var links: [BridgeV1.BridgeLink]
        /// More: there are further ones.
        public var more: Bool
        /// Total is how many links the bridge has, of at most 10,000.
        public var total: Int

        public init(links: [BridgeV1.BridgeLink] = [], more: Bool = false, total: Int = 0) {
            self.links = links
            self.more = more
            self.total = total
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            links = try fields.list("links", MessageCoder<BridgeV1.BridgeLink>.self)
            more = try fields.value("more", BoolCoder.self)
            total = try fields.value("total", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("links", links, MessageCoder<BridgeV1.BridgeLink>.self)
            try fields.value("more", more, BoolCoder.self)
            try fields.value("total", total, IntCoder.self)
        }

    }

    public struct RemoveBridgeLinkRequest: ProtoMessage {
        public var bridge: String
        public var conversation: String
        /// Reason for the audit log, of at most 500 characters.
        public var reason: String

        public init(bridge: String = "", conversation: String = "0", reason: String = "") {
            self.bridge = bridge
            self.conversation = conversation
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            bridge = try fields.value("bridge", TextCoder.self)
            conversation = try fields.value("conversation", IDCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("bridge", bridge, TextCoder.self)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct RemoveBridgeLinkResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public enum BridgeLinkState: ProtoEnum {
        case unspecified
        /// Pending: the other system has not answered yet.
        case pending
        case active
        /// Refused: reason and text say why. Nothing is carried.
        case refused
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<BridgeLinkState>] = [
            ProtoEnumValue("BRIDGE_LINK_STATE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("BRIDGE_LINK_STATE_PENDING", 1, .pending),
            ProtoEnumValue("BRIDGE_LINK_STATE_ACTIVE", 2, .active),
            ProtoEnumValue("BRIDGE_LINK_STATE_REFUSED", 3, .refused),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
