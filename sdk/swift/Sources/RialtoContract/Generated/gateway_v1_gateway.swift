// Made from rialto/gateway/v1/gateway.proto by make generate. Do not edit.
import Foundation

extension GatewayV1 {
    /// ClientFrame goes from client to server. Any number of its fields may be set; they are taken in field order.
    public struct ClientFrame: ProtoMessage {
        /// Request matches the answer to call, sync and ping; chosen by the client, any number.
        public var request: Int64
        /// Auth must come first where the handshake carried no credentials, within 10 seconds.
        public var auth: GatewayV1.Auth?
        /// Sends are stored in the order given. Each is answered by a receipt. With one that has neither client_seq nor client_msg_id, or with
        /// more than 4,096, the frame is refused as a whole.
        public var sends: [GatewayV1.Send]
        /// Ack: the device has all events up to this position; messages of one-to-one conversations among them have been delivered.
        public var ack: ChatV1.Position?
        public var marks: [GatewayV1.Mark]
        /// Typing in this conversation.
        public var typing: String
        public var ping: GatewayV1.Ping?
        public var call: GatewayV1.Call?
        public var sync: ChatV1.SyncRequest?
        /// Watch replaces the set of users whose presence is pushed: at most 500.
        public var watch: GatewayV1.Watch?
        /// Activity of this device: at each change, and after each Hello once the device has said it.
        /// A new connection is active, unless it replaces one of the same device that was away.
        public var activity: PresenceV1.Activity
        /// WatchReaders replaces the set of own messages whose new readers are pushed.
        public var watchReaders: GatewayV1.WatchReaders?
        /// EnterRoom puts this connection into a room, until it leaves or ends; at most 10. It is answered by room.
        public var enterRoom: String
        /// LeaveRoom takes it out. It is not answered.
        public var leaveRoom: String
        /// WatchPosts replaces the set of posts on screen, of which changes are pushed. It is answered by changed_posts.
        public var watchPosts: GatewayV1.WatchPosts?

        public init(request: Int64 = 0, auth: GatewayV1.Auth? = nil, sends: [GatewayV1.Send] = [], ack: ChatV1.Position? = nil, marks: [GatewayV1.Mark] = [], typing: String = "0", ping: GatewayV1.Ping? = nil, call: GatewayV1.Call? = nil, sync: ChatV1.SyncRequest? = nil, watch: GatewayV1.Watch? = nil, activity: PresenceV1.Activity = .unspecified, watchReaders: GatewayV1.WatchReaders? = nil, enterRoom: String = "0", leaveRoom: String = "0", watchPosts: GatewayV1.WatchPosts? = nil) {
            self.request = request
            self.auth = auth
            self.sends = sends
            self.ack = ack
            self.marks = marks
            self.typing = typing
            self.ping = ping
            self.call = call
            self.sync = sync
            self.watch = watch
            self.activity = activity
            self.watchReaders = watchReaders
            self.enterRoom = enterRoom
            self.leaveRoom = leaveRoom
            self.watchPosts = watchPosts
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            request = try fields.value("request", Int64Coder.self)
            auth = try fields.optional("auth", MessageCoder<GatewayV1.Auth>.self)
            sends = try fields.list("sends", MessageCoder<GatewayV1.Send>.self)
            ack = try fields.optional("ack", MessageCoder<ChatV1.Position>.self)
            marks = try fields.list("marks", MessageCoder<GatewayV1.Mark>.self)
            typing = try fields.value("typing", IDCoder.self)
            ping = try fields.optional("ping", MessageCoder<GatewayV1.Ping>.self)
            call = try fields.optional("call", MessageCoder<GatewayV1.Call>.self)
            sync = try fields.optional("sync", MessageCoder<ChatV1.SyncRequest>.self)
            watch = try fields.optional("watch", MessageCoder<GatewayV1.Watch>.self)
            activity = try fields.value("activity", EnumCoder<PresenceV1.Activity>.self)
            watchReaders = try fields.optional("watchReaders", MessageCoder<GatewayV1.WatchReaders>.self)
            enterRoom = try fields.value("enterRoom", IDCoder.self)
            leaveRoom = try fields.value("leaveRoom", IDCoder.self)
            watchPosts = try fields.optional("watchPosts", MessageCoder<GatewayV1.WatchPosts>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("request", request, Int64Coder.self)
            try fields.optional("auth", auth, MessageCoder<GatewayV1.Auth>.self)
            try fields.list("sends", sends, MessageCoder<GatewayV1.Send>.self)
            try fields.optional("ack", ack, MessageCoder<ChatV1.Position>.self)
            try fields.list("marks", marks, MessageCoder<GatewayV1.Mark>.self)
            try fields.value("typing", typing, IDCoder.self)
            try fields.optional("ping", ping, MessageCoder<GatewayV1.Ping>.self)
            try fields.optional("call", call, MessageCoder<GatewayV1.Call>.self)
            try fields.optional("sync", sync, MessageCoder<ChatV1.SyncRequest>.self)
            try fields.optional("watch", watch, MessageCoder<GatewayV1.Watch>.self)
            try fields.value("activity", activity, EnumCoder<PresenceV1.Activity>.self)
            try fields.optional("watchReaders", watchReaders, MessageCoder<GatewayV1.WatchReaders>.self)
            try fields.value("enterRoom", enterRoom, IDCoder.self)
            try fields.value("leaveRoom", leaveRoom, IDCoder.self)
            try fields.optional("watchPosts", watchPosts, MessageCoder<GatewayV1.WatchPosts>.self)
        }

    }

    public struct Auth: ProtoMessage {
        public var accessToken: String

        public init(accessToken: String = "") {
            self.accessToken = accessToken
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            accessToken = try fields.value("accessToken", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("accessToken", accessToken, TextCoder.self)
        }

    }

    /// Send has the fields of ChatService.SendRequest under the same numbers.
    public struct Send: ProtoMessage {
        public var conversation: String
        public var clientSeq: Int64
        public var clientMsgId: String
        public var content: Content?
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

    public struct Mark: ProtoMessage {
        public var conversation: String
        public var deliveredSeq: Int64
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

    public struct Ping: ProtoMessage {
        /// RttMs is the round trip that the client measured last.
        public var rttMs: Int
        /// Retries are the tries to connect that failed before this connection.
        public var retries: Int
        /// NextMs is when the next ping comes at the latest, if that is more than hello.heartbeat_ms: the server accepts that much silence, at most
        /// hello.longest_heartbeat_ms. 0: as hello.heartbeat_ms says.
        public var nextMs: Int

        public init(rttMs: Int = 0, retries: Int = 0, nextMs: Int = 0) {
            self.rttMs = rttMs
            self.retries = retries
            self.nextMs = nextMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            rttMs = try fields.value("rttMs", IntCoder.self)
            retries = try fields.value("retries", IntCoder.self)
            nextMs = try fields.value("nextMs", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("rttMs", rttMs, IntCoder.self)
            try fields.value("retries", retries, IntCoder.self)
            try fields.value("nextMs", nextMs, IntCoder.self)
        }

    }

    /// Call is any call of the API: method as /rialto.chat.v1.ChatService/History.
    public struct Call: ProtoMessage {
        public var method: String
        /// Payload is the request in protobuf (binary subprotocol).
        public var payload: Foundation.Data
        /// Body is the request in JSON (JSON subprotocol).
        public var body: JSONObject?
        /// Traceparent names the caller's trace, as the header of W3C Trace Context does.
        public var traceparent: String

        public init(method: String = "", payload: Foundation.Data = Foundation.Data(), body: JSONObject? = nil, traceparent: String = "") {
            self.method = method
            self.payload = payload
            self.body = body
            self.traceparent = traceparent
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            method = try fields.value("method", TextCoder.self)
            payload = try fields.value("payload", BytesCoder.self)
            body = try fields.optional("body", MessageCoder<JSONObject>.self)
            traceparent = try fields.value("traceparent", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("method", method, TextCoder.self)
            try fields.value("payload", payload, BytesCoder.self)
            try fields.optional("body", body, MessageCoder<JSONObject>.self)
            try fields.value("traceparent", traceparent, TextCoder.self)
        }

    }

    public struct Watch: ProtoMessage {
        public var users: [String]

        public init(users: [String] = []) {
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            users = try fields.list("users", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("users", users, IDCoder.self)
        }

    }

    /// WatchReaders names at most 8 messages of the user, whose lists of readers are open in this client.
    public struct WatchReaders: ProtoMessage {
        public var messages: [GatewayV1.WatchedMessage]

        public init(messages: [GatewayV1.WatchedMessage] = []) {
            self.messages = messages
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            messages = try fields.list("messages", MessageCoder<GatewayV1.WatchedMessage>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("messages", messages, MessageCoder<GatewayV1.WatchedMessage>.self)
        }

    }

    public struct WatchedMessage: ProtoMessage {
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

    /// WatchPosts names at most 100 posts that this client shows.
    public struct WatchPosts: ProtoMessage {
        public var posts: [GatewayV1.WatchedPost]

        public init(posts: [GatewayV1.WatchedPost] = []) {
            self.posts = posts
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            posts = try fields.list("posts", MessageCoder<GatewayV1.WatchedPost>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("posts", posts, MessageCoder<GatewayV1.WatchedPost>.self)
        }

    }

    public struct WatchedPost: ProtoMessage {
        public var post: String
        /// Version that the client shows.
        public var version: Int

        public init(post: String = "0", version: Int = 0) {
            self.post = post
            self.version = version
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.value("post", IDCoder.self)
            version = try fields.value("version", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("post", post, IDCoder.self)
            try fields.value("version", version, IntCoder.self)
        }

    }

    /// ServerFrame goes from server to client.
    public struct ServerFrame: ProtoMessage {
        public var request: Int64
        /// Hello is the first frame after authentication.
        public var hello: GatewayV1.Hello?
        public var receipts: [GatewayV1.Receipt]
        public var events: [ChatV1.Event]
        public var result: GatewayV1.Result?
        public var error: GatewayV1.Error?
        public var pong: GatewayV1.Pong?
        public var typing: GatewayV1.Typing?
        public var presences: [PresenceV1.Presence]
        /// Hint: pushes were left out; pull from where you are (sync, and History of the named conversations).
        public var hint: GatewayV1.Hint?
        /// Bye comes before the server closes the connection.
        public var bye: GatewayV1.Bye?
        public var sync: ChatV1.SyncResponse?
        /// Threads whose replies changed, at most once a second for each. They may be lost.
        public var threads: [GatewayV1.ThreadUpdate]
        /// Readers of watched messages: at once without users, in the answer to watch_readers; then at most once a second for each message.
        public var readers: [GatewayV1.ReadersUpdate]
        /// Rooms has what happened in the rooms that this connection is in. It may be lost; missed counts messages that were.
        public var rooms: [ChatV1.RoomUpdate]
        /// Room answers enter_room. What follows in rooms happened after it.
        public var room: ChatV1.RoomEntry?
        /// Posts are new in the user's home timeline: show how many, and read HomeTimeline. They may be lost, or named twice, and those of authors with very
        /// many followers are not named.
        public var posts: [GatewayV1.PostHint]
        /// Notifications of the user changed: there is a new one, or some were read on another device. Read UnreadNotifications. It may be lost, and comes at most
        /// once a second for new ones.
        public var notifications: GatewayV1.NotificationHint?
        /// ChangedPosts are watched posts that were edited, deleted, hidden or shown again: read them with GetPost, and take away those for which the answer is
        /// no_post. The answer to watch_posts names those that have another version, or are not for the user. They may be named twice.
        public var changedPosts: [String]
        /// Streamed has what was added to messages that their senders are still writing. It may be lost: the next offset shows that. Ended goes to the
        /// sender of a message that somebody stopped.
        public var streamed: [ChatV1.StreamedText]
        /// Accepted names sends that the server cannot store at the moment. It holds them in memory and tries again; a receipt follows. They are not stored: keep
        /// them, and send them again if the connection ends before the receipt.
        public var accepted: [GatewayV1.Accepted]
        /// Decisions: moderators have warned the user, or the user has acknowledged a warning on another device. Read ListMyDecisions with unacknowledged. It may be lost.
        public var decisions: GatewayV1.DecisionHint?

        public init(request: Int64 = 0, hello: GatewayV1.Hello? = nil, receipts: [GatewayV1.Receipt] = [], events: [ChatV1.Event] = [], result: GatewayV1.Result? = nil, error: GatewayV1.Error? = nil, pong: GatewayV1.Pong? = nil, typing: GatewayV1.Typing? = nil, presences: [PresenceV1.Presence] = [], hint: GatewayV1.Hint? = nil, bye: GatewayV1.Bye? = nil, sync: ChatV1.SyncResponse? = nil, threads: [GatewayV1.ThreadUpdate] = [], readers: [GatewayV1.ReadersUpdate] = [], rooms: [ChatV1.RoomUpdate] = [], room: ChatV1.RoomEntry? = nil, posts: [GatewayV1.PostHint] = [], notifications: GatewayV1.NotificationHint? = nil, changedPosts: [String] = [], streamed: [ChatV1.StreamedText] = [], accepted: [GatewayV1.Accepted] = [], decisions: GatewayV1.DecisionHint? = nil) {
            self.request = request
            self.hello = hello
            self.receipts = receipts
            self.events = events
            self.result = result
            self.error = error
            self.pong = pong
            self.typing = typing
            self.presences = presences
            self.hint = hint
            self.bye = bye
            self.sync = sync
            self.threads = threads
            self.readers = readers
            self.rooms = rooms
            self.room = room
            self.posts = posts
            self.notifications = notifications
            self.changedPosts = changedPosts
            self.streamed = streamed
            self.accepted = accepted
            self.decisions = decisions
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            request = try fields.value("request", Int64Coder.self)
            hello = try fields.optional("hello", MessageCoder<GatewayV1.Hello>.self)
            receipts = try fields.list("receipts", MessageCoder<GatewayV1.Receipt>.self)
            events = try fields.list("events", MessageCoder<ChatV1.Event>.self)
            result = try fields.optional("result", MessageCoder<GatewayV1.Result>.self)
            error = try fields.optional("error", MessageCoder<GatewayV1.Error>.self)
            pong = try fields.optional("pong", MessageCoder<GatewayV1.Pong>.self)
            typing = try fields.optional("typing", MessageCoder<GatewayV1.Typing>.self)
            presences = try fields.list("presences", MessageCoder<PresenceV1.Presence>.self)
            hint = try fields.optional("hint", MessageCoder<GatewayV1.Hint>.self)
            bye = try fields.optional("bye", MessageCoder<GatewayV1.Bye>.self)
            sync = try fields.optional("sync", MessageCoder<ChatV1.SyncResponse>.self)
            threads = try fields.list("threads", MessageCoder<GatewayV1.ThreadUpdate>.self)
            readers = try fields.list("readers", MessageCoder<GatewayV1.ReadersUpdate>.self)
            rooms = try fields.list("rooms", MessageCoder<ChatV1.RoomUpdate>.self)
            room = try fields.optional("room", MessageCoder<ChatV1.RoomEntry>.self)
            posts = try fields.list("posts", MessageCoder<GatewayV1.PostHint>.self)
            notifications = try fields.optional("notifications", MessageCoder<GatewayV1.NotificationHint>.self)
            changedPosts = try fields.list("changedPosts", IDCoder.self)
            streamed = try fields.list("streamed", MessageCoder<ChatV1.StreamedText>.self)
            accepted = try fields.list("accepted", MessageCoder<GatewayV1.Accepted>.self)
            decisions = try fields.optional("decisions", MessageCoder<GatewayV1.DecisionHint>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("request", request, Int64Coder.self)
            try fields.optional("hello", hello, MessageCoder<GatewayV1.Hello>.self)
            try fields.list("receipts", receipts, MessageCoder<GatewayV1.Receipt>.self)
            try fields.list("events", events, MessageCoder<ChatV1.Event>.self)
            try fields.optional("result", result, MessageCoder<GatewayV1.Result>.self)
            try fields.optional("error", error, MessageCoder<GatewayV1.Error>.self)
            try fields.optional("pong", pong, MessageCoder<GatewayV1.Pong>.self)
            try fields.optional("typing", typing, MessageCoder<GatewayV1.Typing>.self)
            try fields.list("presences", presences, MessageCoder<PresenceV1.Presence>.self)
            try fields.optional("hint", hint, MessageCoder<GatewayV1.Hint>.self)
            try fields.optional("bye", bye, MessageCoder<GatewayV1.Bye>.self)
            try fields.optional("sync", sync, MessageCoder<ChatV1.SyncResponse>.self)
            try fields.list("threads", threads, MessageCoder<GatewayV1.ThreadUpdate>.self)
            try fields.list("readers", readers, MessageCoder<GatewayV1.ReadersUpdate>.self)
            try fields.list("rooms", rooms, MessageCoder<ChatV1.RoomUpdate>.self)
            try fields.optional("room", room, MessageCoder<ChatV1.RoomEntry>.self)
            try fields.list("posts", posts, MessageCoder<GatewayV1.PostHint>.self)
            try fields.optional("notifications", notifications, MessageCoder<GatewayV1.NotificationHint>.self)
            try fields.list("changedPosts", changedPosts, IDCoder.self)
            try fields.list("streamed", streamed, MessageCoder<ChatV1.StreamedText>.self)
            try fields.list("accepted", accepted, MessageCoder<GatewayV1.Accepted>.self)
            try fields.optional("decisions", decisions, MessageCoder<GatewayV1.DecisionHint>.self)
        }

    }

    /// DecisionHint says that ListMyDecisions with unacknowledged has another answer.
    public struct DecisionHint: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    /// Accepted says that the server holds a Send. The conversation and the id that the Send named tell which.
    public struct Accepted: ProtoMessage {
        public var conversation: String
        public var clientSeq: Int64
        public var clientMsgId: String

        public init(conversation: String = "0", clientSeq: Int64 = 0, clientMsgId: String = "") {
            self.conversation = conversation
            self.clientSeq = clientSeq
            self.clientMsgId = clientMsgId
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            clientSeq = try fields.value("clientSeq", Int64Coder.self)
            clientMsgId = try fields.value("clientMsgId", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("clientSeq", clientSeq, Int64Coder.self)
            try fields.value("clientMsgId", clientMsgId, TextCoder.self)
        }

    }

    /// NotificationHint says that UnreadNotifications has another answer.
    public struct NotificationHint: ProtoMessage {
        /// Read is the position up to which the user has read; 0: that did not change.
        public var read: String

        public init(read: String = "0") {
            self.read = read
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            read = try fields.value("read", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("read", read, IDCoder.self)
        }

    }

    /// PostHint names a new post of somebody whom the user follows.
    public struct PostHint: ProtoMessage {
        public var post: String
        public var author: String

        public init(post: String = "0", author: String = "0") {
            self.post = post
            self.author = author
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.value("post", IDCoder.self)
            author = try fields.value("author", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("post", post, IDCoder.self)
            try fields.value("author", author, IDCoder.self)
        }

    }

    /// ReadersUpdate names users who have read a message since ListReaders was called.
    public struct ReadersUpdate: ProtoMessage {
        public var conversation: String
        public var seq: Int64
        public var users: [String]
        /// More: there may be others, who are not named. Read the list again.
        public var more: Bool

        public init(conversation: String = "0", seq: Int64 = 0, users: [String] = [], more: Bool = false) {
            self.conversation = conversation
            self.seq = seq
            self.users = users
            self.more = more
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            users = try fields.list("users", IDCoder.self)
            more = try fields.value("more", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.list("users", users, IDCoder.self)
            try fields.value("more", more, BoolCoder.self)
        }

    }

    /// ThreadUpdate says what the thread under a message is now.
    public struct ThreadUpdate: ProtoMessage {
        /// Conversation of the message.
        public var conversation: String
        public var seq: Int64
        public var thread: ChatV1.Thread?

        public init(conversation: String = "0", seq: Int64 = 0, thread: ChatV1.Thread? = nil) {
            self.conversation = conversation
            self.seq = seq
            self.thread = thread
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            thread = try fields.optional("thread", MessageCoder<ChatV1.Thread>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.optional("thread", thread, MessageCoder<ChatV1.Thread>.self)
        }

    }

    public struct Hello: ProtoMessage {
        public var user: String
        public var device: String
        /// Tail is where the user's sync stream is now: a device that is not there syncs.
        public var tail: ChatV1.Position?
        /// ClientSeq is the highest that the server has stored for this device: count on from it.
        public var clientSeq: Int64
        public var timeMs: Int64
        /// HeartbeatMs: send a ping when nothing else was sent for this long.
        public var heartbeatMs: Int
        public var node: String
        public var session: String
        /// LongestHeartbeatMs bounds ping.next_ms, by which a client in the background sends pings less often.
        public var longestHeartbeatMs: Int
        /// MapUrl is the https address of a map, in which {latitude} and {longitude} stand for the degrees of a place. Show it as a link on location messages, and load
        /// nothing from there. Empty: show no link.
        public var mapUrl: String

        public init(user: String = "0", device: String = "0", tail: ChatV1.Position? = nil, clientSeq: Int64 = 0, timeMs: Int64 = 0, heartbeatMs: Int = 0, node: String = "", session: String = "0", longestHeartbeatMs: Int = 0, mapUrl: String = "") {
            self.user = user
            self.device = device
            self.tail = tail
            self.clientSeq = clientSeq
            self.timeMs = timeMs
            self.heartbeatMs = heartbeatMs
            self.node = node
            self.session = session
            self.longestHeartbeatMs = longestHeartbeatMs
            self.mapUrl = mapUrl
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            device = try fields.value("device", IDCoder.self)
            tail = try fields.optional("tail", MessageCoder<ChatV1.Position>.self)
            clientSeq = try fields.value("clientSeq", Int64Coder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            heartbeatMs = try fields.value("heartbeatMs", IntCoder.self)
            node = try fields.value("node", TextCoder.self)
            session = try fields.value("session", IDCoder.self)
            longestHeartbeatMs = try fields.value("longestHeartbeatMs", IntCoder.self)
            mapUrl = try fields.value("mapUrl", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("device", device, IDCoder.self)
            try fields.optional("tail", tail, MessageCoder<ChatV1.Position>.self)
            try fields.value("clientSeq", clientSeq, Int64Coder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("heartbeatMs", heartbeatMs, IntCoder.self)
            try fields.value("node", node, TextCoder.self)
            try fields.value("session", session, IDCoder.self)
            try fields.value("longestHeartbeatMs", longestHeartbeatMs, IntCoder.self)
            try fields.value("mapUrl", mapUrl, TextCoder.self)
        }

    }

    /// Receipt answers one Send: stored durably, or error. The conversation and the id that the Send named tell which.
    public struct Receipt: ProtoMessage {
        public var conversation: String
        public var clientSeq: Int64
        public var clientMsgId: String
        public var id: String
        public var seq: Int64
        public var timeMs: Int64
        public var counted: Int64
        public var duplicate: Bool
        public var error: GatewayV1.Error?

        public init(conversation: String = "0", clientSeq: Int64 = 0, clientMsgId: String = "", id: String = "", seq: Int64 = 0, timeMs: Int64 = 0, counted: Int64 = 0, duplicate: Bool = false, error: GatewayV1.Error? = nil) {
            self.conversation = conversation
            self.clientSeq = clientSeq
            self.clientMsgId = clientMsgId
            self.id = id
            self.seq = seq
            self.timeMs = timeMs
            self.counted = counted
            self.duplicate = duplicate
            self.error = error
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            clientSeq = try fields.value("clientSeq", Int64Coder.self)
            clientMsgId = try fields.value("clientMsgId", TextCoder.self)
            id = try fields.value("id", TextCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            counted = try fields.value("counted", Int64Coder.self)
            duplicate = try fields.value("duplicate", BoolCoder.self)
            error = try fields.optional("error", MessageCoder<GatewayV1.Error>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("clientSeq", clientSeq, Int64Coder.self)
            try fields.value("clientMsgId", clientMsgId, TextCoder.self)
            try fields.value("id", id, TextCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("counted", counted, Int64Coder.self)
            try fields.value("duplicate", duplicate, BoolCoder.self)
            try fields.optional("error", error, MessageCoder<GatewayV1.Error>.self)
        }

    }

    public struct Result: ProtoMessage {
        public var payload: Foundation.Data
        public var body: JSONObject?

        public init(payload: Foundation.Data = Foundation.Data(), body: JSONObject? = nil) {
            self.payload = payload
            self.body = body
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            payload = try fields.value("payload", BytesCoder.self)
            body = try fields.optional("body", MessageCoder<JSONObject>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("payload", payload, BytesCoder.self)
            try fields.optional("body", body, MessageCoder<JSONObject>.self)
        }

    }

    public struct Error: ProtoMessage {
        /// Code as in Connect: invalid_argument, not_found, already_exists, permission_denied, unauthenticated,
        /// resource_exhausted, unavailable, internal.
        public var code: String
        /// Reason is a stable word for programs: text_too_long, id_reuse, no_conversation, blocked, muted, storage_full, bad_json …
        public var reason: String
        public var message: String
        /// RetryMs: try again after this long; 0: the same request will fail again.
        public var retryMs: Int
        /// Ban that is the reason, of account_banned and address_banned; absent from all other errors.
        public var ban: GatewayV1.BanNotice?

        public init(code: String = "", reason: String = "", message: String = "", retryMs: Int = 0, ban: GatewayV1.BanNotice? = nil) {
            self.code = code
            self.reason = reason
            self.message = message
            self.retryMs = retryMs
            self.ban = ban
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            code = try fields.value("code", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            message = try fields.value("message", TextCoder.self)
            retryMs = try fields.value("retryMs", IntCoder.self)
            ban = try fields.optional("ban", MessageCoder<GatewayV1.BanNotice>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("code", code, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("message", message, TextCoder.self)
            try fields.value("retryMs", retryMs, IntCoder.self)
            try fields.optional("ban", ban, MessageCoder<GatewayV1.BanNotice>.self)
        }

    }

    /// BanNotice is what a client is told that is refused because of a ban.
    public struct BanNotice: ProtoMessage {
        /// EndsMs is when it ends, in milliseconds since 1970; 0: never.
        public var endsMs: Int64
        /// Explanation by a moderator; may be empty.
        public var explanation: String
        /// AppealToken for ModerationService.AppealBan, for an hour; empty: the caller may not appeal.
        public var appealToken: String

        public init(endsMs: Int64 = 0, explanation: String = "", appealToken: String = "") {
            self.endsMs = endsMs
            self.explanation = explanation
            self.appealToken = appealToken
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            endsMs = try fields.value("endsMs", Int64Coder.self)
            explanation = try fields.value("explanation", TextCoder.self)
            appealToken = try fields.value("appealToken", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("endsMs", endsMs, Int64Coder.self)
            try fields.value("explanation", explanation, TextCoder.self)
            try fields.value("appealToken", appealToken, TextCoder.self)
        }

    }

    public struct Pong: ProtoMessage {
        public var timeMs: Int64

        public init(timeMs: Int64 = 0) {
            self.timeMs = timeMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            timeMs = try fields.value("timeMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("timeMs", timeMs, Int64Coder.self)
        }

    }

    public struct Typing: ProtoMessage {
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

    public struct Hint: ProtoMessage {
        public var conversations: [ChatV1.LargeTail]

        public init(conversations: [ChatV1.LargeTail] = []) {
            self.conversations = conversations
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversations = try fields.list("conversations", MessageCoder<ChatV1.LargeTail>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("conversations", conversations, MessageCoder<ChatV1.LargeTail>.self)
        }

    }

    public struct Bye: ProtoMessage {
        /// Code is the WebSocket close code: 4000 to 4099 come back, 4100 to 4199 stay away.
        public var code: Int
        public var reason: String
        public var retryMs: Int

        public init(code: Int = 0, reason: String = "", retryMs: Int = 0) {
            self.code = code
            self.reason = reason
            self.retryMs = retryMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            code = try fields.value("code", IntCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            retryMs = try fields.value("retryMs", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("code", code, IntCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("retryMs", retryMs, IntCoder.self)
        }

    }

}
