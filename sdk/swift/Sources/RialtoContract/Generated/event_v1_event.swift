// Made from rialto/event/v1/event.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.event.v1.
public enum EventV1 {}

extension EventV1 {
    /// ServerEventService gives business servers and bots what happens in conversations: messages, edits, recalls, members who come and go. All calls need an API key.
    ///
    /// A consumer is a name with a filter and a position in the events. It pulls them and confirms what it has processed, or the server posts them to its webhook.
    /// Events are kept for server_events.retention and can be read again. Each is delivered at least once, those of one conversation in order. One that is repeated
    /// has the same id.
    public enum ServerEventService {
        /// PutEventConsumer creates a consumer, or changes it. What is absent gets its default.
        public static let putEventConsumer = RialtoContract.Call<EventV1.PutEventConsumerRequest, EventV1.EventConsumer>("rialto.event.v1.ServerEventService/PutEventConsumer")
        /// ListEventConsumers gives all consumers, by name, and how far each is.
        public static let listEventConsumers = RialtoContract.Call<EventV1.ListEventConsumersRequest, EventV1.ListEventConsumersResponse>("rialto.event.v1.ServerEventService/ListEventConsumers")
        /// DeleteEventConsumer deletes a consumer, its position and its dead letters. Deleting one that is gone succeeds.
        public static let deleteEventConsumer = RialtoContract.Call<EventV1.DeleteEventConsumerRequest, EventV1.DeleteEventConsumerResponse>("rialto.event.v1.ServerEventService/DeleteEventConsumer")
        /// PullEvents gives the events after a cursor, or after the confirmed position. It waits for some if there are none.
        public static let pullEvents = RialtoContract.Call<EventV1.PullEventsRequest, EventV1.PullEventsResponse>("rialto.event.v1.ServerEventService/PullEvents")
        /// ConfirmEvents moves the consumer's position forward to a cursor of PullEvents. It never moves back; a late or repeated call changes nothing.
        public static let confirmEvents = RialtoContract.Call<EventV1.ConfirmEventsRequest, EventV1.ConfirmEventsResponse>("rialto.event.v1.ServerEventService/ConfirmEvents")
        /// SeekEvents moves a consumer to another position, to receive events again or to skip some. Cursors from before it are refused with cursor_outdated.
        public static let seekEvents = RialtoContract.Call<EventV1.SeekEventsRequest, EventV1.SeekEventsResponse>("rialto.event.v1.ServerEventService/SeekEvents")
        /// ListDeadEvents gives the dead letters of a consumer, the oldest first, in pages: batches that its webhook did not accept in all attempts.
        public static let listDeadEvents = RialtoContract.Call<EventV1.ListDeadEventsRequest, EventV1.ListDeadEventsResponse>("rialto.event.v1.ServerEventService/ListDeadEvents")
        /// GetDeadEvents gives the events of a dead letter.
        public static let getDeadEvents = RialtoContract.Call<EventV1.GetDeadEventsRequest, EventV1.GetDeadEventsResponse>("rialto.event.v1.ServerEventService/GetDeadEvents")
        /// RetryDeadEvents delivers dead letters again. Those that succeed disappear from the list.
        public static let retryDeadEvents = RialtoContract.Call<EventV1.RetryDeadEventsRequest, EventV1.RetryDeadEventsResponse>("rialto.event.v1.ServerEventService/RetryDeadEvents")
    }

    /// EventConsumer receives events.
    public struct EventConsumer: ProtoMessage {
        /// Name of 1 to 64 letters, digits, points, hyphens and underscores.
        public var name: String
        /// Kinds that it receives; empty: all.
        public var kinds: [EventV1.EventKind]
        /// ConversationKinds that it receives events of; empty: all.
        public var conversationKinds: [ChatV1.ConversationKind]
        /// Webhook to which events are posted; absent: the consumer pulls.
        public var webhook: EventV1.EventWebhook?
        /// Bot is the user who receives: only events of small conversations that this user is a member of, and not what the user wrote. The bot of a bridge does not receive what came over that bridge. 0: no bot.
        public var bot: String
        /// Audit: messages as they were stored, even if they were edited or recalled since. It needs an API key with the permission audit.
        public var audit: Bool
        /// Lag is how many events, of any kind, are after the position. It is set in answers, and not exact after a crash of the server.
        public var lag: Int64
        /// Dead is the number of dead letters; set in answers.
        public var dead: Int
        /// LastError of the webhook, empty after a delivery that succeeded; set in answers.
        public var lastError: String

        public init(name: String = "", kinds: [EventV1.EventKind] = [], conversationKinds: [ChatV1.ConversationKind] = [], webhook: EventV1.EventWebhook? = nil, bot: String = "0", audit: Bool = false, lag: Int64 = 0, dead: Int = 0, lastError: String = "") {
            self.name = name
            self.kinds = kinds
            self.conversationKinds = conversationKinds
            self.webhook = webhook
            self.bot = bot
            self.audit = audit
            self.lag = lag
            self.dead = dead
            self.lastError = lastError
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            kinds = try fields.list("kinds", EnumCoder<EventV1.EventKind>.self)
            conversationKinds = try fields.list("conversationKinds", EnumCoder<ChatV1.ConversationKind>.self)
            webhook = try fields.optional("webhook", MessageCoder<EventV1.EventWebhook>.self)
            bot = try fields.value("bot", IDCoder.self)
            audit = try fields.value("audit", BoolCoder.self)
            lag = try fields.value("lag", Int64Coder.self)
            dead = try fields.value("dead", IntCoder.self)
            lastError = try fields.value("lastError", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.list("kinds", kinds, EnumCoder<EventV1.EventKind>.self)
            try fields.list("conversationKinds", conversationKinds, EnumCoder<ChatV1.ConversationKind>.self)
            try fields.optional("webhook", webhook, MessageCoder<EventV1.EventWebhook>.self)
            try fields.value("bot", bot, IDCoder.self)
            try fields.value("audit", audit, BoolCoder.self)
            try fields.value("lag", lag, Int64Coder.self)
            try fields.value("dead", dead, IntCoder.self)
            try fields.value("lastError", lastError, TextCoder.self)
        }

    }

    public struct EventWebhook: ProtoMessage {
        /// URL begins with https://, or with http:// for this machine. Addresses of private networks and of this machine need server_events.allow_private.
        public var url: String
        /// Secret that signs deliveries, of 16 to 200 bytes. Answers do not have it. If it is empty in a change, the present one stays.
        public var secret: String

        public init(url: String = "", secret: String = "") {
            self.url = url
            self.secret = secret
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            url = try fields.value("url", TextCoder.self)
            secret = try fields.value("secret", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("url", url, TextCoder.self)
            try fields.value("secret", secret, TextCoder.self)
        }

    }

    public struct PutEventConsumerRequest: ProtoMessage {
        public var consumer: EventV1.EventConsumer?
        /// FromStart: a new consumer begins with the oldest event that is kept, instead of the next one.
        public var fromStart: Bool

        public init(consumer: EventV1.EventConsumer? = nil, fromStart: Bool = false) {
            self.consumer = consumer
            self.fromStart = fromStart
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            consumer = try fields.optional("consumer", MessageCoder<EventV1.EventConsumer>.self)
            fromStart = try fields.value("fromStart", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("consumer", consumer, MessageCoder<EventV1.EventConsumer>.self)
            try fields.value("fromStart", fromStart, BoolCoder.self)
        }

    }

    public struct ListEventConsumersRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListEventConsumersResponse: ProtoMessage {
        public var consumers: [EventV1.EventConsumer]

        public init(consumers: [EventV1.EventConsumer] = []) {
            self.consumers = consumers
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            consumers = try fields.list("consumers", MessageCoder<EventV1.EventConsumer>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("consumers", consumers, MessageCoder<EventV1.EventConsumer>.self)
        }

    }

    public struct DeleteEventConsumerRequest: ProtoMessage {
        public var name: String

        public init(name: String = "") {
            self.name = name
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
        }

    }

    public struct DeleteEventConsumerResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct PullEventsRequest: ProtoMessage {
        public var consumer: String
        /// Cursor of the answer before. Empty: from the confirmed position.
        public var cursor: String
        /// Limit of 1 to 500 events; 0 is 100. A page also ends at about 1 MiB.
        public var limit: Int
        /// WaitMs is how long to wait for an event, at most 25,000. 0: do not wait.
        public var waitMs: Int
        /// Share and shares divide the conversations among processes of one consumer: of shares processes (1 to 64; 0 is 1), this is number share, from 0.
        /// A conversation is always in the same share. Each process confirms its own share only.
        public var share: Int
        public var shares: Int

        public init(consumer: String = "", cursor: String = "", limit: Int = 0, waitMs: Int = 0, share: Int = 0, shares: Int = 0) {
            self.consumer = consumer
            self.cursor = cursor
            self.limit = limit
            self.waitMs = waitMs
            self.share = share
            self.shares = shares
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            consumer = try fields.value("consumer", TextCoder.self)
            cursor = try fields.value("cursor", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            waitMs = try fields.value("waitMs", IntCoder.self)
            share = try fields.value("share", IntCoder.self)
            shares = try fields.value("shares", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("consumer", consumer, TextCoder.self)
            try fields.value("cursor", cursor, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("waitMs", waitMs, IntCoder.self)
            try fields.value("share", share, IntCoder.self)
            try fields.value("shares", shares, IntCoder.self)
        }

    }

    public struct PullEventsResponse: ProtoMessage {
        public var events: [EventV1.ServerEvent]
        /// Cursor after these events, to pull further and to confirm. It is valid for the consumer, and for the same share and shares.
        public var cursor: String
        /// More: there are further events.
        public var more: Bool
        /// Gap: events before these are no longer kept, and this consumer has not received them.
        public var gap: Bool

        public init(events: [EventV1.ServerEvent] = [], cursor: String = "", more: Bool = false, gap: Bool = false) {
            self.events = events
            self.cursor = cursor
            self.more = more
            self.gap = gap
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            events = try fields.list("events", MessageCoder<EventV1.ServerEvent>.self)
            cursor = try fields.value("cursor", TextCoder.self)
            more = try fields.value("more", BoolCoder.self)
            gap = try fields.value("gap", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("events", events, MessageCoder<EventV1.ServerEvent>.self)
            try fields.value("cursor", cursor, TextCoder.self)
            try fields.value("more", more, BoolCoder.self)
            try fields.value("gap", gap, BoolCoder.self)
        }

    }

    /// ServerEvent is an entry of a conversation.
    public struct ServerEvent: ProtoMessage {
        /// Id is the same whenever the event is delivered: conversation and seq, with a hyphen between them.
        public var id: String
        public var kind: EventV1.EventKind
        public var conversation: String
        /// Seq of the entry in its conversation. Events of a conversation come in the order of their seqs, except those that are repeated.
        public var seq: Int64
        public var conversationKind: ChatV1.ConversationKind
        /// Message is the entry: of an edit, a recall, a reaction or a pin the update, whose content names its target; of other changes a control entry. Text that was
        /// edited or recalled since is the present text, or absent, except for audit.
        public var message: ChatV1.Message?
        /// Command that the text begins with, such as /weather Berlin.
        public var command: EventV1.Command?

        public init(id: String = "", kind: EventV1.EventKind = .unspecified, conversation: String = "0", seq: Int64 = 0, conversationKind: ChatV1.ConversationKind = .unspecified, message: ChatV1.Message? = nil, command: EventV1.Command? = nil) {
            self.id = id
            self.kind = kind
            self.conversation = conversation
            self.seq = seq
            self.conversationKind = conversationKind
            self.message = message
            self.command = command
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", TextCoder.self)
            kind = try fields.value("kind", EnumCoder<EventV1.EventKind>.self)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            conversationKind = try fields.value("conversationKind", EnumCoder<ChatV1.ConversationKind>.self)
            message = try fields.optional("message", MessageCoder<ChatV1.Message>.self)
            command = try fields.optional("command", MessageCoder<EventV1.Command>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, TextCoder.self)
            try fields.value("kind", kind, EnumCoder<EventV1.EventKind>.self)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("conversationKind", conversationKind, EnumCoder<ChatV1.ConversationKind>.self)
            try fields.optional("message", message, MessageCoder<ChatV1.Message>.self)
            try fields.optional("command", command, MessageCoder<EventV1.Command>.self)
        }

    }

    /// Command is a text that begins with a slash and a name: "/name arguments", or in groups "/name@handle arguments".
    public struct Command: ProtoMessage {
        /// Name of 1 to 32 lower-case letters, digits and underscores, without the slash.
        public var name: String
        /// Arguments are the rest of the text, without space around it.
        public var arguments: String
        /// Handle of the bot that is addressed; empty: none is.
        public var handle: String

        public init(name: String = "", arguments: String = "", handle: String = "") {
            self.name = name
            self.arguments = arguments
            self.handle = handle
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            arguments = try fields.value("arguments", TextCoder.self)
            handle = try fields.value("handle", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("arguments", arguments, TextCoder.self)
            try fields.value("handle", handle, TextCoder.self)
        }

    }

    public struct ConfirmEventsRequest: ProtoMessage {
        public var consumer: String
        public var cursor: String

        public init(consumer: String = "", cursor: String = "") {
            self.consumer = consumer
            self.cursor = cursor
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            consumer = try fields.value("consumer", TextCoder.self)
            cursor = try fields.value("cursor", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("consumer", consumer, TextCoder.self)
            try fields.value("cursor", cursor, TextCoder.self)
        }

    }

    public struct ConfirmEventsResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct SeekEventsRequest: ProtoMessage {
        public var consumer: String
        /// To is where the consumer continues.
        public var to: To?

        public init(consumer: String = "", to: To? = nil) {
            self.consumer = consumer
            self.to = to
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            consumer = try fields.value("consumer", TextCoder.self)
            to = try To(fields)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("consumer", consumer, TextCoder.self)
            try to?.write(to: &fields)
        }

        public enum To: Hashable, Sendable {
            /// Start: the oldest event that is kept.
            case start(Bool)
            /// End: the next event that happens.
            case end(Bool)
            /// Cursor: one of an earlier answer of PullEvents for this consumer, also from before the latest seek. The events after it are delivered again.
            case cursor(String)
            /// TimeMs: the first event stored at or after a time, in milliseconds since 1970.
            case timeMs(Int64)

            init?(_ fields: ProtoReader) throws {
                if let value = try fields.optional("start", BoolCoder.self) {
                    self = .start(value)
                } else if let value = try fields.optional("end", BoolCoder.self) {
                    self = .end(value)
                } else if let value = try fields.optional("cursor", TextCoder.self) {
                    self = .cursor(value)
                } else if let value = try fields.optional("timeMs", Int64Coder.self) {
                    self = .timeMs(value)
                } else {
                    return nil
                }
            }

            func write(to fields: inout ProtoWriter) throws {
                switch self {
                case .start(let value): try fields.optional("start", value, BoolCoder.self)
                case .end(let value): try fields.optional("end", value, BoolCoder.self)
                case .cursor(let value): try fields.optional("cursor", value, TextCoder.self)
                case .timeMs(let value): try fields.optional("timeMs", value, Int64Coder.self)
                }
            }
        }

    }

    public struct SeekEventsResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    /// DeadEvents are a dead letter: events in a row that the webhook did not accept.
    public struct DeadEvents: ProtoMessage {
        public var id: String
        public var events: Int
        /// Error of the last attempt.
        public var error: String
        public var attempts: Int
        public var timeMs: Int64
        /// Retrying: it is being delivered again.
        public var retrying: Bool

        public init(id: String = "0", events: Int = 0, error: String = "", attempts: Int = 0, timeMs: Int64 = 0, retrying: Bool = false) {
            self.id = id
            self.events = events
            self.error = error
            self.attempts = attempts
            self.timeMs = timeMs
            self.retrying = retrying
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            events = try fields.value("events", IntCoder.self)
            error = try fields.value("error", TextCoder.self)
            attempts = try fields.value("attempts", IntCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            retrying = try fields.value("retrying", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("events", events, IntCoder.self)
            try fields.value("error", error, TextCoder.self)
            try fields.value("attempts", attempts, IntCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("retrying", retrying, BoolCoder.self)
        }

    }

    public struct ListDeadEventsRequest: ProtoMessage {
        public var consumer: String
        /// Limit of 1 to 200; 0 is 50.
        public var limit: Int
        /// After is the id of the last dead letter of the page before; 0: the first page.
        public var after: String

        public init(consumer: String = "", limit: Int = 0, after: String = "0") {
            self.consumer = consumer
            self.limit = limit
            self.after = after
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            consumer = try fields.value("consumer", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            after = try fields.value("after", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("consumer", consumer, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("after", after, IDCoder.self)
        }

    }

    public struct ListDeadEventsResponse: ProtoMessage {
        public var dead: [EventV1.DeadEvents]

        public init(dead: [EventV1.DeadEvents] = []) {
            self.dead = dead
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            dead = try fields.list("dead", MessageCoder<EventV1.DeadEvents>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("dead", dead, MessageCoder<EventV1.DeadEvents>.self)
        }

    }

    public struct GetDeadEventsRequest: ProtoMessage {
        public var consumer: String
        public var id: String

        public init(consumer: String = "", id: String = "0") {
            self.consumer = consumer
            self.id = id
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            consumer = try fields.value("consumer", TextCoder.self)
            id = try fields.value("id", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("consumer", consumer, TextCoder.self)
            try fields.value("id", id, IDCoder.self)
        }

    }

    public struct GetDeadEventsResponse: ProtoMessage {
        public var dead: EventV1.DeadEvents?
        /// Events that are still kept.
        public var events: [EventV1.ServerEvent]

        public init(dead: EventV1.DeadEvents? = nil, events: [EventV1.ServerEvent] = []) {
            self.dead = dead
            self.events = events
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            dead = try fields.optional("dead", MessageCoder<EventV1.DeadEvents>.self)
            events = try fields.list("events", MessageCoder<EventV1.ServerEvent>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("dead", dead, MessageCoder<EventV1.DeadEvents>.self)
            try fields.list("events", events, MessageCoder<EventV1.ServerEvent>.self)
        }

    }

    public struct RetryDeadEventsRequest: ProtoMessage {
        public var consumer: String
        /// Id of one; 0: all of the consumer.
        public var id: String

        public init(consumer: String = "", id: String = "0") {
            self.consumer = consumer
            self.id = id
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            consumer = try fields.value("consumer", TextCoder.self)
            id = try fields.value("id", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("consumer", consumer, TextCoder.self)
            try fields.value("id", id, IDCoder.self)
        }

    }

    public struct RetryDeadEventsResponse: ProtoMessage {
        public var retried: Int

        public init(retried: Int = 0) {
            self.retried = retried
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            retried = try fields.value("retried", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("retried", retried, IntCoder.self)
        }

    }

    /// EventDelivery is the body that is posted to a webhook, as JSON.
    public struct EventDelivery: ProtoMessage {
        public var consumer: String
        /// Events in order, of one or more conversations.
        public var events: [EventV1.ServerEvent]
        /// Gap: events before these are no longer kept, and were not delivered.
        public var gap: Bool
        /// Retried: a dead letter, so later events may have been delivered before.
        public var retried: Bool

        public init(consumer: String = "", events: [EventV1.ServerEvent] = [], gap: Bool = false, retried: Bool = false) {
            self.consumer = consumer
            self.events = events
            self.gap = gap
            self.retried = retried
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            consumer = try fields.value("consumer", TextCoder.self)
            events = try fields.list("events", MessageCoder<EventV1.ServerEvent>.self)
            gap = try fields.value("gap", BoolCoder.self)
            retried = try fields.value("retried", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("consumer", consumer, TextCoder.self)
            try fields.list("events", events, MessageCoder<EventV1.ServerEvent>.self)
            try fields.value("gap", gap, BoolCoder.self)
            try fields.value("retried", retried, BoolCoder.self)
        }

    }

    /// EventKind is what happened. Kinds are added: pass over those that you do not know.
    public enum EventKind: ProtoEnum {
        case unspecified
        /// A message was stored.
        case message
        /// A message was edited; message.content.edit has the new content.
        case edit
        case recall
        /// A reaction was added or removed.
        case reaction
        /// A message was pinned or unpinned.
        case pin
        /// A signal was stored: a message for programs, which is not shown.
        case signal
        case conversationCreated
        /// Users became members; message.content.control names them.
        case memberJoined
        /// Users left, or were removed.
        case memberLeft
        /// Something else about the conversation or its members changed, such as its title or a role.
        case conversationChanged
        /// An entry that has expired, or cannot be read because the server's store is damaged. It has no message, and is delivered whatever the kinds of the filter.
        case unreadable
        /// A bridge reported what became of a message in another system.
        case bridgeReport
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<EventKind>] = [
            ProtoEnumValue("EVENT_KIND_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("EVENT_KIND_MESSAGE", 1, .message),
            ProtoEnumValue("EVENT_KIND_EDIT", 2, .edit),
            ProtoEnumValue("EVENT_KIND_RECALL", 3, .recall),
            ProtoEnumValue("EVENT_KIND_REACTION", 4, .reaction),
            ProtoEnumValue("EVENT_KIND_PIN", 5, .pin),
            ProtoEnumValue("EVENT_KIND_SIGNAL", 6, .signal),
            ProtoEnumValue("EVENT_KIND_CONVERSATION_CREATED", 7, .conversationCreated),
            ProtoEnumValue("EVENT_KIND_MEMBER_JOINED", 8, .memberJoined),
            ProtoEnumValue("EVENT_KIND_MEMBER_LEFT", 9, .memberLeft),
            ProtoEnumValue("EVENT_KIND_CONVERSATION_CHANGED", 10, .conversationChanged),
            ProtoEnumValue("EVENT_KIND_UNREADABLE", 11, .unreadable),
            ProtoEnumValue("EVENT_KIND_BRIDGE_REPORT", 12, .bridgeReport),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
