// Made from rialto/chat/v1/streamed.proto by make generate. Do not edit.
import Foundation

extension ChatV1 {
    /// StreamedText is the text of a message that its sender is still writing, or what was added to it. Offset and lengths count characters
    /// (Unicode code points).
    public struct StreamedText: ProtoMessage {
        public var conversation: String
        public var seq: Int64
        /// Offset in the text at which this begins: keep the characters before it, and replace all after them. If it is above the length of what
        /// you have, ask for the whole text.
        public var offset: Int
        public var text: String
        public var state: ChatV1.WritingState
        /// Note on what the sender does, to be shown beside the state, such as the name of a tool.
        public var note: String
        /// Ended: the message has ended, and is read as any other. Its end is an event in the stream.
        public var ended: Bool

        public init(conversation: String = "0", seq: Int64 = 0, offset: Int = 0, text: String = "", state: ChatV1.WritingState = .unspecified, note: String = "", ended: Bool = false) {
            self.conversation = conversation
            self.seq = seq
            self.offset = offset
            self.text = text
            self.state = state
            self.note = note
            self.ended = ended
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            offset = try fields.value("offset", IntCoder.self)
            text = try fields.value("text", TextCoder.self)
            state = try fields.value("state", EnumCoder<ChatV1.WritingState>.self)
            note = try fields.value("note", TextCoder.self)
            ended = try fields.value("ended", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("offset", offset, IntCoder.self)
            try fields.value("text", text, TextCoder.self)
            try fields.value("state", state, EnumCoder<ChatV1.WritingState>.self)
            try fields.value("note", note, TextCoder.self)
            try fields.value("ended", ended, BoolCoder.self)
        }

    }

    public struct StartStreamedMessageRequest: ProtoMessage {
        public var conversation: String
        /// ClientMsgId of 1 to 64 bytes, new for each message of the device.
        public var clientMsgId: String
        /// ReplyTo is the message that this one answers, by its seq; absent for none.
        public var replyTo: ChatV1.Ref?
        public var whoMayStop: ChatV1.WhoMayStop

        public init(conversation: String = "0", clientMsgId: String = "", replyTo: ChatV1.Ref? = nil, whoMayStop: ChatV1.WhoMayStop = .unspecified) {
            self.conversation = conversation
            self.clientMsgId = clientMsgId
            self.replyTo = replyTo
            self.whoMayStop = whoMayStop
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            clientMsgId = try fields.value("clientMsgId", TextCoder.self)
            replyTo = try fields.optional("replyTo", MessageCoder<ChatV1.Ref>.self)
            whoMayStop = try fields.value("whoMayStop", EnumCoder<ChatV1.WhoMayStop>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("clientMsgId", clientMsgId, TextCoder.self)
            try fields.optional("replyTo", replyTo, MessageCoder<ChatV1.Ref>.self)
            try fields.value("whoMayStop", whoMayStop, EnumCoder<ChatV1.WhoMayStop>.self)
        }

    }

    public struct StartStreamedMessageResponse: ProtoMessage {
        public var seq: Int64
        /// Id is the readable message id.
        public var id: String
        public var timeMs: Int64
        public var counted: Int64
        /// Duplicate: an earlier call had stored it.
        public var duplicate: Bool
        /// Length of the text so far: go on from there.
        public var length: Int
        /// Ended: the message has ended already; EndStreamedMessage says how.
        public var ended: Bool

        public init(seq: Int64 = 0, id: String = "", timeMs: Int64 = 0, counted: Int64 = 0, duplicate: Bool = false, length: Int = 0, ended: Bool = false) {
            self.seq = seq
            self.id = id
            self.timeMs = timeMs
            self.counted = counted
            self.duplicate = duplicate
            self.length = length
            self.ended = ended
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            seq = try fields.value("seq", Int64Coder.self)
            id = try fields.value("id", TextCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            counted = try fields.value("counted", Int64Coder.self)
            duplicate = try fields.value("duplicate", BoolCoder.self)
            length = try fields.value("length", IntCoder.self)
            ended = try fields.value("ended", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("id", id, TextCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("counted", counted, Int64Coder.self)
            try fields.value("duplicate", duplicate, BoolCoder.self)
            try fields.value("length", length, IntCoder.self)
            try fields.value("ended", ended, BoolCoder.self)
        }

    }

    public struct WriteStreamedMessagesRequest: ProtoMessage {
        /// Parts of at most 100 messages, one of each.
        public var parts: [ChatV1.StreamedPart]

        public init(parts: [ChatV1.StreamedPart] = []) {
            self.parts = parts
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            parts = try fields.list("parts", MessageCoder<ChatV1.StreamedPart>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("parts", parts, MessageCoder<ChatV1.StreamedPart>.self)
        }

    }

    /// StreamedPart adds to a message. Without text, state and note it says that its sender is still at work.
    public struct StreamedPart: ProtoMessage {
        public var conversation: String
        public var seq: Int64
        /// Offset of text in the message: the length of what was sent before. What the server has of it already must be the same.
        public var offset: Int
        public var text: String
        public var state: ChatV1.WritingState
        /// Note in one line, of at most 100 characters.
        public var note: String

        public init(conversation: String = "0", seq: Int64 = 0, offset: Int = 0, text: String = "", state: ChatV1.WritingState = .unspecified, note: String = "") {
            self.conversation = conversation
            self.seq = seq
            self.offset = offset
            self.text = text
            self.state = state
            self.note = note
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            offset = try fields.value("offset", IntCoder.self)
            text = try fields.value("text", TextCoder.self)
            state = try fields.value("state", EnumCoder<ChatV1.WritingState>.self)
            note = try fields.value("note", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("offset", offset, IntCoder.self)
            try fields.value("text", text, TextCoder.self)
            try fields.value("state", state, EnumCoder<ChatV1.WritingState>.self)
            try fields.value("note", note, TextCoder.self)
        }

    }

    public struct WriteStreamedMessagesResponse: ProtoMessage {
        /// Results of the parts, in their order.
        public var results: [ChatV1.WriteResult]

        public init(results: [ChatV1.WriteResult] = []) {
            self.results = results
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            results = try fields.list("results", MessageCoder<ChatV1.WriteResult>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("results", results, MessageCoder<ChatV1.WriteResult>.self)
        }

    }

    public struct WriteResult: ProtoMessage {
        /// Length of the text that the server has: go on from there.
        public var length: Int
        /// Reason why the part was not accepted, and a message that says what to do; empty if it was.
        public var reason: String
        public var message: String
        /// Ended: the message has ended, and takes no parts any more.
        public var ended: Bool

        public init(length: Int = 0, reason: String = "", message: String = "", ended: Bool = false) {
            self.length = length
            self.reason = reason
            self.message = message
            self.ended = ended
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            length = try fields.value("length", IntCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            message = try fields.value("message", TextCoder.self)
            ended = try fields.value("ended", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("length", length, IntCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("message", message, TextCoder.self)
            try fields.value("ended", ended, BoolCoder.self)
        }

    }

    public struct EndStreamedMessageRequest: ProtoMessage {
        public var conversation: String
        public var seq: Int64
        /// Content with the whole text, and perhaps mentions and a link preview. Absent: the text is what was sent in parts.
        public var content: Content?
        /// Length of the whole text, so that a part which is missing is noticed. Needed without a content.
        public var length: Int
        /// Failed: the text is not whole, because its sender cannot go on.
        public var failed: Bool

        public init(conversation: String = "0", seq: Int64 = 0, content: Content? = nil, length: Int = 0, failed: Bool = false) {
            self.conversation = conversation
            self.seq = seq
            self.content = content
            self.length = length
            self.failed = failed
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
            length = try fields.value("length", IntCoder.self)
            failed = try fields.value("failed", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
            try fields.value("length", length, IntCoder.self)
            try fields.value("failed", failed, BoolCoder.self)
        }

    }

    public struct EndStreamedMessageResponse: ProtoMessage {
        /// EditSeq is the seq of the entry with which the message ended.
        public var editSeq: Int64
        /// BrokenOff if the stored text is not whole.
        public var brokenOff: ChatV1.BrokenOff?

        public init(editSeq: Int64 = 0, brokenOff: ChatV1.BrokenOff? = nil) {
            self.editSeq = editSeq
            self.brokenOff = brokenOff
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            editSeq = try fields.value("editSeq", Int64Coder.self)
            brokenOff = try fields.optional("brokenOff", MessageCoder<ChatV1.BrokenOff>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("editSeq", editSeq, Int64Coder.self)
            try fields.optional("brokenOff", brokenOff, MessageCoder<ChatV1.BrokenOff>.self)
        }

    }

    public struct StopStreamedMessageRequest: ProtoMessage {
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

    public struct GetStreamedMessageRequest: ProtoMessage {
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

    /// WritingState is what the sender of a streamed message does at the moment.
    public enum WritingState: ProtoEnum {
        /// Unspecified: writing.
        case unspecified
        case thinking
        /// Tool: waiting for a tool; note has its name.
        case tool
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<WritingState>] = [
            ProtoEnumValue("WRITING_STATE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("WRITING_STATE_THINKING", 1, .thinking),
            ProtoEnumValue("WRITING_STATE_TOOL", 2, .tool),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
