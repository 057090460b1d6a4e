// Made from rialto/chat/v1/trace.proto by make generate. Do not edit.
import Foundation

extension ChatV1 {
    /// MessageTraceService: where is a message? For operators, with an API key that has the permission audit.
    public enum MessageTraceService {
        /// TraceMessage shows when and on which node a message was stored, fanned out, pushed to devices, acknowledged by them and read, and by push notifications.
        /// Contents are not shown. Whether something happened follows from the stores. When, and on which node, is in the memory of the nodes, for a limited time.
        public static let traceMessage = RialtoContract.Call<ChatV1.TraceMessageRequest, ChatV1.MessageTrace>("rialto.chat.v1.MessageTraceService/TraceMessage")
    }

    public struct TraceMessageRequest: ProtoMessage {
        /// Id of the message. Without it, conversation and seq name the message.
        public var id: String
        /// Conversation of the message. With an id it is needed only for messages that are so old that nodes and event streams no longer name them.
        public var conversation: String
        public var seq: String
        /// User: show this member only; 0: all, in pages.
        public var user: String
        /// Limit of the members, at most 200; 0 is 50.
        public var limit: Int
        /// Page is the next of the previous page.
        public var page: String

        public init(id: String = "", conversation: String = "0", seq: String = "0", user: String = "0", limit: Int = 0, page: String = "") {
            self.id = id
            self.conversation = conversation
            self.seq = seq
            self.user = user
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", TextCoder.self)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, TextCoder.self)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    /// TraceStep is an event in the life of a message.
    public struct TraceStep: ProtoMessage {
        public var kind: ChatV1.TraceStepKind
        /// TimeUs is when, microseconds since 1970; 0: it is known that it happened, and not when.
        public var timeUs: Int64
        /// Node where it happened; empty: not known.
        public var node: String
        /// User and device whom it concerns; 0: none.
        public var user: String
        public var device: String
        public var count: Int
        /// Detail for people.
        public var detail: String

        public init(kind: ChatV1.TraceStepKind = .unspecified, timeUs: Int64 = 0, node: String = "", user: String = "0", device: String = "0", count: Int = 0, detail: String = "") {
            self.kind = kind
            self.timeUs = timeUs
            self.node = node
            self.user = user
            self.device = device
            self.count = count
            self.detail = detail
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try fields.value("kind", EnumCoder<ChatV1.TraceStepKind>.self)
            timeUs = try fields.value("timeUs", Int64Coder.self)
            node = try fields.value("node", TextCoder.self)
            user = try fields.value("user", IDCoder.self)
            device = try fields.value("device", IDCoder.self)
            count = try fields.value("count", IntCoder.self)
            detail = try fields.value("detail", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("kind", kind, EnumCoder<ChatV1.TraceStepKind>.self)
            try fields.value("timeUs", timeUs, Int64Coder.self)
            try fields.value("node", node, TextCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("device", device, IDCoder.self)
            try fields.value("count", count, IntCoder.self)
            try fields.value("detail", detail, TextCoder.self)
        }

    }

    /// TracedDevice is a device on which a member is logged in, or that acknowledged its stream.
    public struct TracedDevice: ProtoMessage {
        public var device: String
        /// Type of the device; empty if it is logged out.
        public var type: String
        /// Confirmed: the device acknowledged its stream up to the message or beyond.
        public var confirmed: Bool

        public init(device: String = "0", type: String = "", confirmed: Bool = false) {
            self.device = device
            self.type = type
            self.confirmed = confirmed
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            device = try fields.value("device", IDCoder.self)
            type = try fields.value("type", TextCoder.self)
            confirmed = try fields.value("confirmed", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("device", device, IDCoder.self)
            try fields.value("type", type, TextCoder.self)
            try fields.value("confirmed", confirmed, BoolCoder.self)
        }

    }

    /// TracedMember is a member who receives the message, or its sender.
    public struct TracedMember: ProtoMessage {
        public var user: String
        public var inStream: ChatV1.TraceInStream
        /// Position of the message in the member's stream, if the stream names it.
        public var position: ChatV1.Position?
        /// Delivered and read are the member's cursors, which other members may not be allowed to see.
        public var delivered: Bool
        public var read: Bool
        /// Devices, at most 200.
        public var devices: [ChatV1.TracedDevice]
        /// Steps in the order of their times, those without a time at the end. At most 100.
        public var steps: [ChatV1.TraceStep]

        public init(user: String = "0", inStream: ChatV1.TraceInStream = .unspecified, position: ChatV1.Position? = nil, delivered: Bool = false, read: Bool = false, devices: [ChatV1.TracedDevice] = [], steps: [ChatV1.TraceStep] = []) {
            self.user = user
            self.inStream = inStream
            self.position = position
            self.delivered = delivered
            self.read = read
            self.devices = devices
            self.steps = steps
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            inStream = try fields.value("inStream", EnumCoder<ChatV1.TraceInStream>.self)
            position = try fields.optional("position", MessageCoder<ChatV1.Position>.self)
            delivered = try fields.value("delivered", BoolCoder.self)
            read = try fields.value("read", BoolCoder.self)
            devices = try fields.list("devices", MessageCoder<ChatV1.TracedDevice>.self)
            steps = try fields.list("steps", MessageCoder<ChatV1.TraceStep>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("inStream", inStream, EnumCoder<ChatV1.TraceInStream>.self)
            try fields.optional("position", position, MessageCoder<ChatV1.Position>.self)
            try fields.value("delivered", delivered, BoolCoder.self)
            try fields.value("read", read, BoolCoder.self)
            try fields.list("devices", devices, MessageCoder<ChatV1.TracedDevice>.self)
            try fields.list("steps", steps, MessageCoder<ChatV1.TraceStep>.self)
        }

    }

    /// TracedNode is a node that may have handled the message.
    public struct TracedNode: ProtoMessage {
        public var name: String
        public var state: ChatV1.TracedNodeState
        /// MessagesSinceMs is since when the node has the times of all commits and fan-outs, milliseconds since 1970.
        public var messagesSinceMs: Int64
        /// DevicesSinceMs is since when it has the times of all pushes, acknowledgements and reads.
        public var devicesSinceMs: Int64
        /// GoneMs is when a node that is gone was last seen.
        public var goneMs: Int64

        public init(name: String = "", state: ChatV1.TracedNodeState = .unspecified, messagesSinceMs: Int64 = 0, devicesSinceMs: Int64 = 0, goneMs: Int64 = 0) {
            self.name = name
            self.state = state
            self.messagesSinceMs = messagesSinceMs
            self.devicesSinceMs = devicesSinceMs
            self.goneMs = goneMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            state = try fields.value("state", EnumCoder<ChatV1.TracedNodeState>.self)
            messagesSinceMs = try fields.value("messagesSinceMs", Int64Coder.self)
            devicesSinceMs = try fields.value("devicesSinceMs", Int64Coder.self)
            goneMs = try fields.value("goneMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("state", state, EnumCoder<ChatV1.TracedNodeState>.self)
            try fields.value("messagesSinceMs", messagesSinceMs, Int64Coder.self)
            try fields.value("devicesSinceMs", devicesSinceMs, Int64Coder.self)
            try fields.value("goneMs", goneMs, Int64Coder.self)
        }

    }

    /// MessageTrace is the life of a message.
    public struct MessageTrace: ProtoMessage {
        public var id: String
        public var conversation: String
        public var seq: String
        public var kind: ChatV1.ConversationKind
        /// Large: the group's messages are in no streams of members, and nobody acknowledges them.
        public var large: Bool
        /// Sender; 0: the server.
        public var sender: String
        public var device: String
        /// Control: it is a control entry. Updates: it is an edit, a recall, a reaction or a pin, of the message with this seq; 0: it is a message.
        public var control: Bool
        public var updates: String
        /// Cold: it was moved to the cold tier.
        public var cold: Bool
        public var fanOut: ChatV1.TraceFanOut
        /// Partition of the conversation, and the node that owns it now, which fans out; empty: none does.
        public var partition: Int
        public var owner: String
        /// Steps of the message as a whole, in the order of their times.
        public var steps: [ChatV1.TraceStep]
        public var members: [ChatV1.TracedMember]
        /// Next is the page of the next members; empty: there are none.
        public var next: String
        public var nodes: [ChatV1.TracedNode]

        public init(id: String = "", conversation: String = "0", seq: String = "0", kind: ChatV1.ConversationKind = .unspecified, large: Bool = false, sender: String = "0", device: String = "0", control: Bool = false, updates: String = "0", cold: Bool = false, fanOut: ChatV1.TraceFanOut = .unspecified, partition: Int = 0, owner: String = "", steps: [ChatV1.TraceStep] = [], members: [ChatV1.TracedMember] = [], next: String = "", nodes: [ChatV1.TracedNode] = []) {
            self.id = id
            self.conversation = conversation
            self.seq = seq
            self.kind = kind
            self.large = large
            self.sender = sender
            self.device = device
            self.control = control
            self.updates = updates
            self.cold = cold
            self.fanOut = fanOut
            self.partition = partition
            self.owner = owner
            self.steps = steps
            self.members = members
            self.next = next
            self.nodes = nodes
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", TextCoder.self)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", IDCoder.self)
            kind = try fields.value("kind", EnumCoder<ChatV1.ConversationKind>.self)
            large = try fields.value("large", BoolCoder.self)
            sender = try fields.value("sender", IDCoder.self)
            device = try fields.value("device", IDCoder.self)
            control = try fields.value("control", BoolCoder.self)
            updates = try fields.value("updates", IDCoder.self)
            cold = try fields.value("cold", BoolCoder.self)
            fanOut = try fields.value("fanOut", EnumCoder<ChatV1.TraceFanOut>.self)
            partition = try fields.value("partition", IntCoder.self)
            owner = try fields.value("owner", TextCoder.self)
            steps = try fields.list("steps", MessageCoder<ChatV1.TraceStep>.self)
            members = try fields.list("members", MessageCoder<ChatV1.TracedMember>.self)
            next = try fields.value("next", TextCoder.self)
            nodes = try fields.list("nodes", MessageCoder<ChatV1.TracedNode>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, TextCoder.self)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, IDCoder.self)
            try fields.value("kind", kind, EnumCoder<ChatV1.ConversationKind>.self)
            try fields.value("large", large, BoolCoder.self)
            try fields.value("sender", sender, IDCoder.self)
            try fields.value("device", device, IDCoder.self)
            try fields.value("control", control, BoolCoder.self)
            try fields.value("updates", updates, IDCoder.self)
            try fields.value("cold", cold, BoolCoder.self)
            try fields.value("fanOut", fanOut, EnumCoder<ChatV1.TraceFanOut>.self)
            try fields.value("partition", partition, IntCoder.self)
            try fields.value("owner", owner, TextCoder.self)
            try fields.list("steps", steps, MessageCoder<ChatV1.TraceStep>.self)
            try fields.list("members", members, MessageCoder<ChatV1.TracedMember>.self)
            try fields.value("next", next, TextCoder.self)
            try fields.list("nodes", nodes, MessageCoder<ChatV1.TracedNode>.self)
        }

    }

    /// TraceStepKind is what happened.
    public enum TraceStepKind: ProtoEnum {
        case unspecified
        /// A node accepted the message and gave it its id, whose time this is.
        case accepted
        /// The message was stored durably.
        case committed
        /// References were appended to streams of members, or, in a large group, the message was sent to nodes with followers. The count says to how many.
        case fannedOut
        /// It was queued on connections of devices. The count says on how many.
        case pushed
        /// A device acknowledged its stream up to the message or beyond. Acknowledgements are stored once a second, and the time is when it was.
        case confirmed
        /// The member's read cursor was moved to the message or beyond.
        case read
        /// An attempt to send a push notification for the message, or for a newer one of the conversation in its place, ended. The detail says how.
        case notified
        /// The message was edited, or recalled. Only the last edit is shown.
        case edited
        case recalled
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<TraceStepKind>] = [
            ProtoEnumValue("TRACE_STEP_KIND_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("TRACE_STEP_KIND_ACCEPTED", 1, .accepted),
            ProtoEnumValue("TRACE_STEP_KIND_COMMITTED", 2, .committed),
            ProtoEnumValue("TRACE_STEP_KIND_FANNED_OUT", 3, .fannedOut),
            ProtoEnumValue("TRACE_STEP_KIND_PUSHED", 4, .pushed),
            ProtoEnumValue("TRACE_STEP_KIND_CONFIRMED", 5, .confirmed),
            ProtoEnumValue("TRACE_STEP_KIND_READ", 6, .read),
            ProtoEnumValue("TRACE_STEP_KIND_NOTIFIED", 7, .notified),
            ProtoEnumValue("TRACE_STEP_KIND_EDITED", 8, .edited),
            ProtoEnumValue("TRACE_STEP_KIND_RECALLED", 9, .recalled),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// TraceFanOut is how far the fan-out of a message is.
    public enum TraceFanOut: ProtoEnum {
        case unspecified
        /// It is done.
        case done
        /// It waits, or is in progress.
        case pending
        /// It was put into quarantine, since stored data is corrupt. The logs say why.
        case quarantined
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<TraceFanOut>] = [
            ProtoEnumValue("TRACE_FAN_OUT_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("TRACE_FAN_OUT_DONE", 1, .done),
            ProtoEnumValue("TRACE_FAN_OUT_PENDING", 2, .pending),
            ProtoEnumValue("TRACE_FAN_OUT_QUARANTINED", 3, .quarantined),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// TraceInStream is whether the stream of a member names the message.
    public enum TraceInStream: ProtoEnum {
        /// Messages of large groups are in no streams.
        case unspecified
        case yes
        case no
        /// The message is not among the latest 512 entries of the stream; earlier ones were not searched.
        case notSearched
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<TraceInStream>] = [
            ProtoEnumValue("TRACE_IN_STREAM_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("TRACE_IN_STREAM_YES", 1, .yes),
            ProtoEnumValue("TRACE_IN_STREAM_NO", 2, .no),
            ProtoEnumValue("TRACE_IN_STREAM_NOT_SEARCHED", 3, .notSearched),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// TracedNodeState is whether a node's memory was read.
    public enum TracedNodeState: ProtoEnum {
        case unspecified
        case read
        /// It is in the cluster, and did not answer in time.
        case noAnswer
        /// It has stopped or died, and what it had in memory is lost.
        case gone
        /// It keeps nothing in memory: message_trace.off.
        case off
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<TracedNodeState>] = [
            ProtoEnumValue("TRACED_NODE_STATE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("TRACED_NODE_STATE_READ", 1, .read),
            ProtoEnumValue("TRACED_NODE_STATE_NO_ANSWER", 2, .noAnswer),
            ProtoEnumValue("TRACED_NODE_STATE_GONE", 3, .gone),
            ProtoEnumValue("TRACED_NODE_STATE_OFF", 4, .off),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
