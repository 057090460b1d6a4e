// Made from rialto/chat/v1/message.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.chat.v1.
public enum ChatV1 {}

extension ChatV1 {
    /// Message is one entry of a conversation, as every member sees it.
    public struct Message: ProtoMessage {
        /// Conversation that the message belongs to.
        public var conversation: String
        /// Seq numbers the conversation's messages: 1, 2, 3 … without a gap.
        public var seq: Int64
        /// Id is the readable message id, as BD8U-FCQJ-LDC5-L789. Strings sort by time.
        public var id: String
        /// Sender is the user who sent it; 0 for the system.
        public var sender: String
        /// Device of the sender from which it came.
        public var device: String
        /// ClientSeq is the sender device's own number of the message, 0 when it gave none.
        public var clientSeq: Int64
        /// TimeMs is the server's time of storing, milliseconds since 1970.
        public var timeMs: Int64
        /// Counted is the running number of messages that count as unread, this one included.
        public var counted: Int64
        /// Content as it is now: that of the last edit, and absent once the message is recalled.
        public var content: Content?
        /// EditSeq is the seq of the entry with the edit whose content this is, or with which a streamed message ended; 0: there is none.
        public var editSeq: Int64
        /// EditedMs is the time of that edit, milliseconds since 1970; 0: the message was not edited, or not since it ended.
        public var editedMs: Int64
        /// RecallSeq is the seq of the entry that recalled the message; 0: not recalled.
        public var recallSeq: Int64
        /// RecalledBy is the user who recalled it: its sender, or an admin of the group; 0: a moderator of the deployment.
        public var recalledBy: String
        /// PinSeq is the seq of the last entry that pinned or unpinned the message; 0: none did.
        public var pinSeq: Int64
        public var pinned: Bool
        /// Reactions to the message; absent if there never were any.
        public var reactions: ChatV1.Reactions?
        /// Thread under the message; absent if nobody started one.
        public var thread: ChatV1.Thread?
        /// BridgeDeliveries say what became of the message in the systems with which its conversation is linked, at most one for each bridge.
        public var bridgeDeliveries: [ChatV1.BridgeDelivery]

        public init(conversation: String = "0", seq: Int64 = 0, id: String = "", sender: String = "0", device: String = "0", clientSeq: Int64 = 0, timeMs: Int64 = 0, counted: Int64 = 0, content: Content? = nil, editSeq: Int64 = 0, editedMs: Int64 = 0, recallSeq: Int64 = 0, recalledBy: String = "0", pinSeq: Int64 = 0, pinned: Bool = false, reactions: ChatV1.Reactions? = nil, thread: ChatV1.Thread? = nil, bridgeDeliveries: [ChatV1.BridgeDelivery] = []) {
            self.conversation = conversation
            self.seq = seq
            self.id = id
            self.sender = sender
            self.device = device
            self.clientSeq = clientSeq
            self.timeMs = timeMs
            self.counted = counted
            self.content = content
            self.editSeq = editSeq
            self.editedMs = editedMs
            self.recallSeq = recallSeq
            self.recalledBy = recalledBy
            self.pinSeq = pinSeq
            self.pinned = pinned
            self.reactions = reactions
            self.thread = thread
            self.bridgeDeliveries = bridgeDeliveries
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            id = try fields.value("id", TextCoder.self)
            sender = try fields.value("sender", IDCoder.self)
            device = try fields.value("device", IDCoder.self)
            clientSeq = try fields.value("clientSeq", Int64Coder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            counted = try fields.value("counted", Int64Coder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
            editSeq = try fields.value("editSeq", Int64Coder.self)
            editedMs = try fields.value("editedMs", Int64Coder.self)
            recallSeq = try fields.value("recallSeq", Int64Coder.self)
            recalledBy = try fields.value("recalledBy", IDCoder.self)
            pinSeq = try fields.value("pinSeq", Int64Coder.self)
            pinned = try fields.value("pinned", BoolCoder.self)
            reactions = try fields.optional("reactions", MessageCoder<ChatV1.Reactions>.self)
            thread = try fields.optional("thread", MessageCoder<ChatV1.Thread>.self)
            bridgeDeliveries = try fields.list("bridgeDeliveries", MessageCoder<ChatV1.BridgeDelivery>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("id", id, TextCoder.self)
            try fields.value("sender", sender, IDCoder.self)
            try fields.value("device", device, IDCoder.self)
            try fields.value("clientSeq", clientSeq, Int64Coder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("counted", counted, Int64Coder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
            try fields.value("editSeq", editSeq, Int64Coder.self)
            try fields.value("editedMs", editedMs, Int64Coder.self)
            try fields.value("recallSeq", recallSeq, Int64Coder.self)
            try fields.value("recalledBy", recalledBy, IDCoder.self)
            try fields.value("pinSeq", pinSeq, Int64Coder.self)
            try fields.value("pinned", pinned, BoolCoder.self)
            try fields.optional("reactions", reactions, MessageCoder<ChatV1.Reactions>.self)
            try fields.optional("thread", thread, MessageCoder<ChatV1.Thread>.self)
            try fields.list("bridgeDeliveries", bridgeDeliveries, MessageCoder<ChatV1.BridgeDelivery>.self)
        }

    }

    /// BridgeDelivery is what became of a message in another system: it has an external_id there, or was refused for a reason.
    public struct BridgeDelivery: ProtoMessage {
        /// Bridge is the name of the bridge.
        public var bridge: String
        /// Seq of the entry with the report. Of two of a bridge, the one with the higher seq is newer. From the server only.
        public var seq: Int64
        /// ExternalId of the message there; empty: it was refused.
        public var externalId: String
        /// Reason of the refusal for programs, such as not_voiced.
        public var reason: String
        /// Text that tells the sender why.
        public var text: String

        public init(bridge: String = "", seq: Int64 = 0, externalId: String = "", reason: String = "", text: String = "") {
            self.bridge = bridge
            self.seq = seq
            self.externalId = externalId
            self.reason = reason
            self.text = text
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            bridge = try fields.value("bridge", TextCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            externalId = try fields.value("externalId", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            text = try fields.value("text", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("bridge", bridge, TextCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("externalId", externalId, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("text", text, TextCoder.self)
        }

    }

    /// Thread under a message: a conversation of its own with the replies.
    public struct Thread: ProtoMessage {
        /// Conversation of kind thread.
        public var conversation: String
        /// Replies that were not recalled and have not expired.
        public var replies: Int
        /// LastReplyMs is the time of the newest reply, milliseconds since 1970; 0: there is none.
        public var lastReplyMs: Int64

        public init(conversation: String = "0", replies: Int = 0, lastReplyMs: Int64 = 0) {
            self.conversation = conversation
            self.replies = replies
            self.lastReplyMs = lastReplyMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            replies = try fields.value("replies", IntCoder.self)
            lastReplyMs = try fields.value("lastReplyMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("replies", replies, IntCoder.self)
            try fields.value("lastReplyMs", lastReplyMs, Int64Coder.self)
        }

    }

    /// Streamed is the content of a message while its sender writes it in parts.
    public struct Streamed: ProtoMessage {
        public var whoMayStop: ChatV1.WhoMayStop

        public init(whoMayStop: ChatV1.WhoMayStop = .unspecified) {
            self.whoMayStop = whoMayStop
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            whoMayStop = try fields.value("whoMayStop", EnumCoder<ChatV1.WhoMayStop>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("whoMayStop", whoMayStop, EnumCoder<ChatV1.WhoMayStop>.self)
        }

    }

    /// BrokenOff says why a streamed message ends early.
    public struct BrokenOff: ProtoMessage {
        public var cause: ChatV1.BrokenOff.Cause
        public var by: String

        public init(cause: ChatV1.BrokenOff.Cause = .unspecified, by: String = "0") {
            self.cause = cause
            self.by = by
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            cause = try fields.value("cause", EnumCoder<ChatV1.BrokenOff.Cause>.self)
            by = try fields.value("by", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("cause", cause, EnumCoder<ChatV1.BrokenOff.Cause>.self)
            try fields.value("by", by, IDCoder.self)
        }

        public enum Cause: ProtoEnum {
            case unspecified
            /// Stopped: by has stopped it.
            case stopped
            /// Failed: its sender could not go on, and said so.
            case failed
            /// Lost: nothing more came from its sender, or the server that had the text failed. Then the end of what was shown may be missing.
            case lost
            /// Denied: its sender may no longer write in the conversation.
            case denied
            /// Held: a moderator decides about its text. If it is allowed, an edit has it.
            case held
            /// A value of a later version, by its number.
            case unrecognized(Int)

            public static let values: [ProtoEnumValue<Cause>] = [
                ProtoEnumValue("CAUSE_UNSPECIFIED", 0, .unspecified),
                ProtoEnumValue("CAUSE_STOPPED", 1, .stopped),
                ProtoEnumValue("CAUSE_FAILED", 2, .failed),
                ProtoEnumValue("CAUSE_LOST", 3, .lost),
                ProtoEnumValue("CAUSE_DENIED", 4, .denied),
                ProtoEnumValue("CAUSE_HELD", 5, .held),
            ]

            public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
        }

    }

    /// LinkPreview shows where a link leads. ChatService.PreviewLink makes it, and the server refuses any other.
    public struct LinkPreview: ProtoMessage {
        /// Url as it is written in the text. Show its host: the page chose the title and the site's name.
        public var url: String
        public var title: String
        public var description: String
        public var siteName: String
        /// Picture is an upload, a JPEG of at most 640 pixels in width and height; 0: none.
        public var picture: String
        /// Width and height of the picture in pixels.
        public var width: Int
        public var height: Int
        /// Signature of the server over the other fields and the user who asked for the preview.
        public var signature: Foundation.Data

        public init(url: String = "", title: String = "", description: String = "", siteName: String = "", picture: String = "0", width: Int = 0, height: Int = 0, signature: Foundation.Data = Foundation.Data()) {
            self.url = url
            self.title = title
            self.description = description
            self.siteName = siteName
            self.picture = picture
            self.width = width
            self.height = height
            self.signature = signature
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            url = try fields.value("url", TextCoder.self)
            title = try fields.value("title", TextCoder.self)
            description = try fields.value("description", TextCoder.self)
            siteName = try fields.value("siteName", TextCoder.self)
            picture = try fields.value("picture", IDCoder.self)
            width = try fields.value("width", IntCoder.self)
            height = try fields.value("height", IntCoder.self)
            signature = try fields.value("signature", BytesCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("url", url, TextCoder.self)
            try fields.value("title", title, TextCoder.self)
            try fields.value("description", description, TextCoder.self)
            try fields.value("siteName", siteName, TextCoder.self)
            try fields.value("picture", picture, IDCoder.self)
            try fields.value("width", width, IntCoder.self)
            try fields.value("height", height, IntCoder.self)
            try fields.value("signature", signature, BytesCoder.self)
        }

    }

    /// Mention names members of the group in a text or a caption. It has exactly one of user, role and everybody.
    public struct Mention: ProtoMessage {
        /// Start and length of the part of the text that names them, in characters (Unicode code points). Mentions do not overlap.
        public var start: Int
        public var length: Int
        /// User is a member.
        public var user: String
        /// Role admin: the admins and the owner.
        public var role: ChatV1.Role
        /// Everybody: all members. Admins and the owner may.
        public var everybody: Bool
        /// Users whom a role names, at most 100; from the server only, and in the first mention of the role. They are those of the time of sending.
        public var users: [String]

        public init(start: Int = 0, length: Int = 0, user: String = "0", role: ChatV1.Role = .unspecified, everybody: Bool = false, users: [String] = []) {
            self.start = start
            self.length = length
            self.user = user
            self.role = role
            self.everybody = everybody
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            start = try fields.value("start", IntCoder.self)
            length = try fields.value("length", IntCoder.self)
            user = try fields.value("user", IDCoder.self)
            role = try fields.value("role", EnumCoder<ChatV1.Role>.self)
            everybody = try fields.value("everybody", BoolCoder.self)
            users = try fields.list("users", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("start", start, IntCoder.self)
            try fields.value("length", length, IntCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("role", role, EnumCoder<ChatV1.Role>.self)
            try fields.value("everybody", everybody, BoolCoder.self)
            try fields.list("users", users, IDCoder.self)
        }

    }

    /// Ref names an earlier message of the same conversation, by one of the two. The server stores the seq.
    public struct Ref: ProtoMessage {
        public var seq: Int64
        /// ClientSeq of a message that the same device has sent, perhaps without knowing its seq yet.
        public var clientSeq: Int64

        public init(seq: Int64 = 0, clientSeq: Int64 = 0) {
            self.seq = seq
            self.clientSeq = clientSeq
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            seq = try fields.value("seq", Int64Coder.self)
            clientSeq = try fields.value("clientSeq", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("clientSeq", clientSeq, Int64Coder.self)
        }

    }

    /// Edit replaces the content of a message of one's own. Texts become texts; of other kinds only the caption changes.
    public struct Edit: ProtoMessage {
        public var target: ChatV1.Ref?
        /// Content of a message: in requests the new one; from the server the present one of target, absent once that is edited again or recalled.
        public var content: Content?
        /// Ends: the content is that with which a streamed message ended. Show no mark of an edit for it. From the server only, once for a message.
        public var ends: Bool

        public init(target: ChatV1.Ref? = nil, content: Content? = nil, ends: Bool = false) {
            self.target = target
            self.content = content
            self.ends = ends
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            target = try fields.optional("target", MessageCoder<ChatV1.Ref>.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
            ends = try fields.value("ends", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("target", target, MessageCoder<ChatV1.Ref>.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
            try fields.value("ends", ends, BoolCoder.self)
        }

    }

    /// Recall takes a message back: nobody sees its content any more. Its sender may within the server's time limit (24 hours by default),
    /// in a group admins may take back the messages of members, and the owner everybody's, at any time.
    public struct Recall: ProtoMessage {
        public var target: ChatV1.Ref?

        public init(target: ChatV1.Ref? = nil) {
            self.target = target
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            target = try fields.optional("target", MessageCoder<ChatV1.Ref>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("target", target, MessageCoder<ChatV1.Ref>.self)
        }

    }

    /// Reaction adds a user's emoji to a message, or removes it.
    public struct Reaction: ProtoMessage {
        public var target: ChatV1.Ref?
        /// Emoji of at most 32 bytes, without spaces, control, text-direction and invisible characters.
        public var emoji: String
        public var remove: Bool
        /// Reactions of target now; from the server only.
        public var reactions: ChatV1.Reactions?

        public init(target: ChatV1.Ref? = nil, emoji: String = "", remove: Bool = false, reactions: ChatV1.Reactions? = nil) {
            self.target = target
            self.emoji = emoji
            self.remove = remove
            self.reactions = reactions
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            target = try fields.optional("target", MessageCoder<ChatV1.Ref>.self)
            emoji = try fields.value("emoji", TextCoder.self)
            remove = try fields.value("remove", BoolCoder.self)
            reactions = try fields.optional("reactions", MessageCoder<ChatV1.Reactions>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("target", target, MessageCoder<ChatV1.Ref>.self)
            try fields.value("emoji", emoji, TextCoder.self)
            try fields.value("remove", remove, BoolCoder.self)
            try fields.optional("reactions", reactions, MessageCoder<ChatV1.Reactions>.self)
        }

    }

    /// Reactions to a message. Of two, the one with the higher version is newer.
    public struct Reactions: ProtoMessage {
        public var version: Int64
        /// Counts of users, in the order in which each emoji was used first. At most 50.
        public var counts: [ChatV1.ReactionCount]
        /// Mine are the emoji that the caller reacted with. Updates leave it out: a client knows them from the user's own reactions.
        public var mine: [String]

        public init(version: Int64 = 0, counts: [ChatV1.ReactionCount] = [], mine: [String] = []) {
            self.version = version
            self.counts = counts
            self.mine = mine
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            version = try fields.value("version", Int64Coder.self)
            counts = try fields.list("counts", MessageCoder<ChatV1.ReactionCount>.self)
            mine = try fields.list("mine", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("version", version, Int64Coder.self)
            try fields.list("counts", counts, MessageCoder<ChatV1.ReactionCount>.self)
            try fields.list("mine", mine, TextCoder.self)
        }

    }

    public struct ReactionCount: ProtoMessage {
        public var emoji: String
        public var count: Int

        public init(emoji: String = "", count: Int = 0) {
            self.emoji = emoji
            self.count = count
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            emoji = try fields.value("emoji", TextCoder.self)
            count = try fields.value("count", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("emoji", emoji, TextCoder.self)
            try fields.value("count", count, IntCoder.self)
        }

    }

    /// Pin marks a message for all members, or removes the mark. In a group, admins and the owner may.
    public struct Pin: ProtoMessage {
        public var target: ChatV1.Ref?
        public var remove: Bool

        public init(target: ChatV1.Ref? = nil, remove: Bool = false) {
            self.target = target
            self.remove = remove
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            target = try fields.optional("target", MessageCoder<ChatV1.Ref>.self)
            remove = try fields.value("remove", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("target", target, MessageCoder<ChatV1.Ref>.self)
            try fields.value("remove", remove, BoolCoder.self)
        }

    }

    /// ThreadStart says that a user started the thread under a message. It is written by the server only, once for a thread.
    public struct ThreadStart: ProtoMessage {
        public var target: ChatV1.Ref?
        /// Conversation of kind thread.
        public var conversation: String

        public init(target: ChatV1.Ref? = nil, conversation: String = "0") {
            self.target = target
            self.conversation = conversation
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            target = try fields.optional("target", MessageCoder<ChatV1.Ref>.self)
            conversation = try fields.value("conversation", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("target", target, MessageCoder<ChatV1.Ref>.self)
            try fields.value("conversation", conversation, IDCoder.self)
        }

    }

    /// BridgeReport says what became of a message in another system.
    public struct BridgeReport: ProtoMessage {
        public var target: ChatV1.Ref?
        public var delivery: ChatV1.BridgeDelivery?

        public init(target: ChatV1.Ref? = nil, delivery: ChatV1.BridgeDelivery? = nil) {
            self.target = target
            self.delivery = delivery
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            target = try fields.optional("target", MessageCoder<ChatV1.Ref>.self)
            delivery = try fields.optional("delivery", MessageCoder<ChatV1.BridgeDelivery>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("target", target, MessageCoder<ChatV1.Ref>.self)
            try fields.optional("delivery", delivery, MessageCoder<ChatV1.BridgeDelivery>.self)
        }

    }

    /// Media is an uploaded file.
    public struct Media: ProtoMessage {
        /// Upload is the id that MediaService.CreateUpload gave.
        public var upload: String
        /// Name for display. This and what follows is the sender's word; what is true stands in the download's headers.
        public var name: String
        public var mimeType: String
        public var size: Int64
        /// Width and height in pixels, of images and videos.
        public var width: Int
        public var height: Int
        /// DurationMs of voice and video.
        public var durationMs: Int
        /// Caption of at most 2,000 characters.
        public var caption: String
        /// Waveform of a voice message: at most 64 samples of its loudness, a byte each, evenly over its duration.
        public var waveform: Foundation.Data
        /// Poster of a video: an upload with a picture to show until it plays. 0: none.
        public var poster: String

        public init(upload: String = "0", name: String = "", mimeType: String = "", size: Int64 = 0, width: Int = 0, height: Int = 0, durationMs: Int = 0, caption: String = "", waveform: Foundation.Data = Foundation.Data(), poster: String = "0") {
            self.upload = upload
            self.name = name
            self.mimeType = mimeType
            self.size = size
            self.width = width
            self.height = height
            self.durationMs = durationMs
            self.caption = caption
            self.waveform = waveform
            self.poster = poster
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            mimeType = try fields.value("mimeType", TextCoder.self)
            size = try fields.value("size", Int64Coder.self)
            width = try fields.value("width", IntCoder.self)
            height = try fields.value("height", IntCoder.self)
            durationMs = try fields.value("durationMs", IntCoder.self)
            caption = try fields.value("caption", TextCoder.self)
            waveform = try fields.value("waveform", BytesCoder.self)
            poster = try fields.value("poster", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("mimeType", mimeType, TextCoder.self)
            try fields.value("size", size, Int64Coder.self)
            try fields.value("width", width, IntCoder.self)
            try fields.value("height", height, IntCoder.self)
            try fields.value("durationMs", durationMs, IntCoder.self)
            try fields.value("caption", caption, TextCoder.self)
            try fields.value("waveform", waveform, BytesCoder.self)
            try fields.value("poster", poster, IDCoder.self)
        }

    }

    /// Album is up to ten images and videos with one caption. Their own captions are empty.
    public struct Album: ProtoMessage {
        public var items: [ChatV1.AlbumItem]
        /// Caption of at most 2,000 characters.
        public var caption: String

        public init(items: [ChatV1.AlbumItem] = [], caption: String = "") {
            self.items = items
            self.caption = caption
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            items = try fields.list("items", MessageCoder<ChatV1.AlbumItem>.self)
            caption = try fields.value("caption", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("items", items, MessageCoder<ChatV1.AlbumItem>.self)
            try fields.value("caption", caption, TextCoder.self)
        }

    }

    public struct AlbumItem: ProtoMessage {
        public var kind: Kind?

        public init(kind: Kind? = nil) {
            self.kind = kind
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try Kind(fields)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try kind?.write(to: &fields)
        }

        public enum Kind: Hashable, Sendable {
            case image(ChatV1.Media)
            case video(ChatV1.Media)

            init?(_ fields: ProtoReader) throws {
                if let value = try fields.optional("image", MessageCoder<ChatV1.Media>.self) {
                    self = .image(value)
                } else if let value = try fields.optional("video", MessageCoder<ChatV1.Media>.self) {
                    self = .video(value)
                } else {
                    return nil
                }
            }

            func write(to fields: inout ProtoWriter) throws {
                switch self {
                case .image(let value): try fields.optional("image", value, MessageCoder<ChatV1.Media>.self)
                case .video(let value): try fields.optional("video", value, MessageCoder<ChatV1.Media>.self)
                }
            }
        }

    }

    /// Forward shows messages of a conversation to another. It refers to them: once one is edited, recalled or expired, the forward shows that, too.
    public struct Forward: ProtoMessage {
        /// Title makes it one card. Without one, its messages are shown one after the other. At most 2,000 characters.
        public var title: String
        /// Conversation and seqs, 1 to 100, of messages that the sender may read. Of a forward among them, its items are forwarded.
        public var conversation: String
        public var seqs: [Int64]
        /// Items are the messages, from the server only.
        public var items: [ChatV1.Forwarded]

        public init(title: String = "", conversation: String = "0", seqs: [Int64] = [], items: [ChatV1.Forwarded] = []) {
            self.title = title
            self.conversation = conversation
            self.seqs = seqs
            self.items = items
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            title = try fields.value("title", TextCoder.self)
            conversation = try fields.value("conversation", IDCoder.self)
            seqs = try fields.list("seqs", Int64Coder.self)
            items = try fields.list("items", MessageCoder<ChatV1.Forwarded>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("title", title, TextCoder.self)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.list("seqs", seqs, Int64Coder.self)
            try fields.list("items", items, MessageCoder<ChatV1.Forwarded>.self)
        }

    }

    public struct Forwarded: ProtoMessage {
        /// Conversation and seq of the message, where its author sent it. They give no right to read it there.
        public var conversation: String
        public var seq: Int64
        public var sender: String
        public var timeMs: Int64
        /// Content as it is now; absent once the message is recalled, or has expired.
        public var content: Content?

        public init(conversation: String = "0", seq: Int64 = 0, sender: String = "0", timeMs: Int64 = 0, content: Content? = nil) {
            self.conversation = conversation
            self.seq = seq
            self.sender = sender
            self.timeMs = timeMs
            self.content = content
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            sender = try fields.value("sender", IDCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("sender", sender, IDCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
        }

    }

    public struct Location: ProtoMessage {
        /// Latitude and longitude in degrees, WGS 84.
        public var latitude: Double
        public var longitude: Double
        /// Label is the name of the place.
        public var label: String
        /// Accuracy is a radius in metres; 0: unknown.
        public var accuracy: Double
        public var address: String

        public init(latitude: Double = 0, longitude: Double = 0, label: String = "", accuracy: Double = 0, address: String = "") {
            self.latitude = latitude
            self.longitude = longitude
            self.label = label
            self.accuracy = accuracy
            self.address = address
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            latitude = try fields.value("latitude", DoubleCoder.self)
            longitude = try fields.value("longitude", DoubleCoder.self)
            label = try fields.value("label", TextCoder.self)
            accuracy = try fields.value("accuracy", DoubleCoder.self)
            address = try fields.value("address", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("latitude", latitude, DoubleCoder.self)
            try fields.value("longitude", longitude, DoubleCoder.self)
            try fields.value("label", label, TextCoder.self)
            try fields.value("accuracy", accuracy, DoubleCoder.self)
            try fields.value("address", address, TextCoder.self)
        }

    }

    /// Card refers to a link, a user or a group, or to nothing. Of url, user and group at most one is set.
    public struct Card: ProtoMessage {
        public var title: String
        public var text: String
        public var url: String
        /// Picture is an upload; 0: none.
        public var picture: String
        public var user: String
        /// Group that readers may ask to join, or join. The card gives no right to.
        public var group: String

        public init(title: String = "", text: String = "", url: String = "", picture: String = "0", user: String = "0", group: String = "0") {
            self.title = title
            self.text = text
            self.url = url
            self.picture = picture
            self.user = user
            self.group = group
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            title = try fields.value("title", TextCoder.self)
            text = try fields.value("text", TextCoder.self)
            url = try fields.value("url", TextCoder.self)
            picture = try fields.value("picture", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
            group = try fields.value("group", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("title", title, TextCoder.self)
            try fields.value("text", text, TextCoder.self)
            try fields.value("url", url, TextCoder.self)
            try fields.value("picture", picture, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("group", group, IDCoder.self)
        }

    }

    /// Custom is opaque to the server: at most 64 KiB of data, and a type.
    public struct Custom: ProtoMessage {
        /// Type of the data, such as app.example/poll. Begin it with a name that you own.
        public var type: String
        public var data: Foundation.Data
        /// Fallback is what clients show that do not know the type: lists, quotes and notifications show it too. At most 2,000 characters.
        public var fallback: String

        public init(type: String = "", data: Foundation.Data = Foundation.Data(), fallback: String = "") {
            self.type = type
            self.data = data
            self.fallback = fallback
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            type = try fields.value("type", TextCoder.self)
            data = try fields.value("data", BytesCoder.self)
            fallback = try fields.value("fallback", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("type", type, TextCoder.self)
            try fields.value("data", data, BytesCoder.self)
            try fields.value("fallback", fallback, TextCoder.self)
        }

    }

    /// Control is a change of the conversation. It is ordered with the messages.
    public struct Control: ProtoMessage {
        public var action: ChatV1.Control.Action
        public var actor: String
        public var users: [String]
        public var text: String
        public var role: ChatV1.Role
        public var untilMs: Int64
        public var joinPolicy: ChatV1.JoinPolicy
        public var upload: String
        /// PrevAccess is the seq of the control entry before this one that changed who may read or write.
        public var prevAccess: Int64
        /// RetentionDays is in entries that were stored before retention_seconds existed.
        public var retentionDays: Int
        public var retentionSeconds: Int
        /// TicketVersion of a ticket's entry rises from entry to entry.
        public var ticketVersion: Int64
        public var ticketStatus: ChatV1.TicketStatus
        /// Importing, of a created conversation: its history is being imported. Up to the next entry with the action access, nobody can write.
        public var importing: Bool

        public init(action: ChatV1.Control.Action = .unspecified, actor: String = "0", users: [String] = [], text: String = "", role: ChatV1.Role = .unspecified, untilMs: Int64 = 0, joinPolicy: ChatV1.JoinPolicy = .unspecified, upload: String = "0", prevAccess: Int64 = 0, retentionDays: Int = 0, retentionSeconds: Int = 0, ticketVersion: Int64 = 0, ticketStatus: ChatV1.TicketStatus = .unspecified, importing: Bool = false) {
            self.action = action
            self.actor = actor
            self.users = users
            self.text = text
            self.role = role
            self.untilMs = untilMs
            self.joinPolicy = joinPolicy
            self.upload = upload
            self.prevAccess = prevAccess
            self.retentionDays = retentionDays
            self.retentionSeconds = retentionSeconds
            self.ticketVersion = ticketVersion
            self.ticketStatus = ticketStatus
            self.importing = importing
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            action = try fields.value("action", EnumCoder<ChatV1.Control.Action>.self)
            actor = try fields.value("actor", IDCoder.self)
            users = try fields.list("users", IDCoder.self)
            text = try fields.value("text", TextCoder.self)
            role = try fields.value("role", EnumCoder<ChatV1.Role>.self)
            untilMs = try fields.value("untilMs", Int64Coder.self)
            joinPolicy = try fields.value("joinPolicy", EnumCoder<ChatV1.JoinPolicy>.self)
            upload = try fields.value("upload", IDCoder.self)
            prevAccess = try fields.value("prevAccess", Int64Coder.self)
            retentionDays = try fields.value("retentionDays", IntCoder.self)
            retentionSeconds = try fields.value("retentionSeconds", IntCoder.self)
            ticketVersion = try fields.value("ticketVersion", Int64Coder.self)
            ticketStatus = try fields.value("ticketStatus", EnumCoder<ChatV1.TicketStatus>.self)
            importing = try fields.value("importing", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("action", action, EnumCoder<ChatV1.Control.Action>.self)
            try fields.value("actor", actor, IDCoder.self)
            try fields.list("users", users, IDCoder.self)
            try fields.value("text", text, TextCoder.self)
            try fields.value("role", role, EnumCoder<ChatV1.Role>.self)
            try fields.value("untilMs", untilMs, Int64Coder.self)
            try fields.value("joinPolicy", joinPolicy, EnumCoder<ChatV1.JoinPolicy>.self)
            try fields.value("upload", upload, IDCoder.self)
            try fields.value("prevAccess", prevAccess, Int64Coder.self)
            try fields.value("retentionDays", retentionDays, IntCoder.self)
            try fields.value("retentionSeconds", retentionSeconds, IntCoder.self)
            try fields.value("ticketVersion", ticketVersion, Int64Coder.self)
            try fields.value("ticketStatus", ticketStatus, EnumCoder<ChatV1.TicketStatus>.self)
            try fields.value("importing", importing, BoolCoder.self)
        }

        public enum Action: ProtoEnum {
            case unspecified
            /// Created: users are the two of a one-to-one conversation, or a group's first members besides its owner, who is actor; text is
            /// the title.
            case created
            /// Joined: users came in.
            case joined
            /// Left: users left by themselves.
            case left
            /// Removed: users were removed by actor.
            case removed
            /// Role: users now have role.
            case role
            /// Renamed: text is the new title.
            case renamed
            /// Announced: text is the new announcement.
            case announced
            /// Muted: users may not write until until_ms (0: unmuted). No users: all but admins.
            case muted
            /// Transferred: users[0] is the new owner.
            case transferred
            case dissolved
            /// Join policy is now join_policy.
            case joinPolicy
            /// Access: here it changed who may write (a block in a one-to-one conversation). Says no more, and is in histories only: in no
            /// stream, and never a last message. Show nothing for it.
            case access
            /// Avatar: upload is the new picture.
            case avatar
            /// Large: from here on read from the conversation alone; users is empty.
            case large
            /// Small: from here on again by inbox.
            case small
            /// Retention: messages are now kept for retention_seconds (0: as the server keeps them).
            case retention
            /// Banned: users may not come in. Those who were members are removed by the next entry.
            case banned
            /// Unbanned: users may be invited, or ask to join, again.
            case unbanned
            /// Ticket: the ticket of a help desk now has ticket_status; users has the agent who serves it, or is empty. Actor is who did it, 0 for the
            /// server. Nobody can write while it is resolved.
            case ticket
            /// A value of a later version, by its number.
            case unrecognized(Int)

            public static let values: [ProtoEnumValue<Action>] = [
                ProtoEnumValue("ACTION_UNSPECIFIED", 0, .unspecified),
                ProtoEnumValue("ACTION_CREATED", 1, .created),
                ProtoEnumValue("ACTION_JOINED", 2, .joined),
                ProtoEnumValue("ACTION_LEFT", 3, .left),
                ProtoEnumValue("ACTION_REMOVED", 4, .removed),
                ProtoEnumValue("ACTION_ROLE", 5, .role),
                ProtoEnumValue("ACTION_RENAMED", 6, .renamed),
                ProtoEnumValue("ACTION_ANNOUNCED", 7, .announced),
                ProtoEnumValue("ACTION_MUTED", 8, .muted),
                ProtoEnumValue("ACTION_TRANSFERRED", 9, .transferred),
                ProtoEnumValue("ACTION_DISSOLVED", 10, .dissolved),
                ProtoEnumValue("ACTION_JOIN_POLICY", 11, .joinPolicy),
                ProtoEnumValue("ACTION_ACCESS", 12, .access),
                ProtoEnumValue("ACTION_AVATAR", 13, .avatar),
                ProtoEnumValue("ACTION_LARGE", 14, .large),
                ProtoEnumValue("ACTION_SMALL", 15, .small),
                ProtoEnumValue("ACTION_RETENTION", 16, .retention),
                ProtoEnumValue("ACTION_BANNED", 17, .banned),
                ProtoEnumValue("ACTION_UNBANNED", 18, .unbanned),
                ProtoEnumValue("ACTION_TICKET", 19, .ticket),
            ]

            public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
        }

    }

    /// WhoMayStop names those who may end a streamed message that another user writes (ChatService.StopStreamedMessage). In a one-to-one
    /// conversation the other user counts as an admin.
    public enum WhoMayStop: ProtoEnum {
        /// Unspecified: all members.
        case unspecified
        /// Admins and the owner of the group.
        case admins
        case nobody
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<WhoMayStop>] = [
            ProtoEnumValue("WHO_MAY_STOP_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("WHO_MAY_STOP_ADMINS", 1, .admins),
            ProtoEnumValue("WHO_MAY_STOP_NOBODY", 2, .nobody),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// TicketStatus is where a ticket of a help desk is.
    public enum TicketStatus: ProtoEnum {
        case unspecified
        /// Waiting in the queue of its desk.
        case waiting
        /// Active: an agent serves it.
        case active
        /// Resolved: nobody can write in its conversation, until the customer or an agent reopens it.
        case resolved
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<TicketStatus>] = [
            ProtoEnumValue("TICKET_STATUS_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("TICKET_STATUS_WAITING", 1, .waiting),
            ProtoEnumValue("TICKET_STATUS_ACTIVE", 2, .active),
            ProtoEnumValue("TICKET_STATUS_RESOLVED", 3, .resolved),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    public enum Role: ProtoEnum {
        case unspecified
        case member
        case admin
        case owner
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<Role>] = [
            ProtoEnumValue("ROLE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("ROLE_MEMBER", 1, .member),
            ProtoEnumValue("ROLE_ADMIN", 2, .admin),
            ProtoEnumValue("ROLE_OWNER", 3, .owner),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    public enum JoinPolicy: ProtoEnum {
        case unspecified
        /// Invite: members are added by admins and the owner only.
        case invite
        /// Open: anyone who knows the conversation joins.
        case open
        /// Approval: joining asks an admin.
        case approval
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<JoinPolicy>] = [
            ProtoEnumValue("JOIN_POLICY_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("JOIN_POLICY_INVITE", 1, .invite),
            ProtoEnumValue("JOIN_POLICY_OPEN", 2, .open),
            ProtoEnumValue("JOIN_POLICY_APPROVAL", 3, .approval),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
