// Made from rialto/chat/v1/room.proto by make generate. Do not edit.
import Foundation

extension ChatV1 {
    /// RoomService: chat rooms, as beside a live stream. Whoever knows a room's id may enter it, on a socket (ClientFrame.enter_room), and is in
    /// it until the connection ends. Messages are not stored: a room keeps its last 50 in memory, for those who enter. All calls need an access
    /// token, or an API key and the header Rialto-User for the user on whose behalf the call is made.
    public enum RoomService {
        /// CreateRoom makes a room with the caller as owner.
        public static let createRoom = RialtoContract.Call<ChatV1.CreateRoomRequest, ChatV1.Room>("rialto.chat.v1.RoomService/CreateRoom")
        /// GetRoom gives a room as the caller sees it.
        public static let getRoom = RialtoContract.Call<ChatV1.GetRoomRequest, ChatV1.Room>("rialto.chat.v1.RoomService/GetRoom")
        /// ListRooms gives the open rooms that the caller owns, then those that the caller moderates, the newest of each first, at most 200.
        public static let listRooms = RialtoContract.Call<ChatV1.ListRoomsRequest, ChatV1.ListRoomsResponse>("rialto.chat.v1.RoomService/ListRooms")
        /// UpdateRoom sets title, announcement or whether all are muted; absent fields stay. Moderators and the owner may.
        public static let updateRoom = RialtoContract.Call<ChatV1.UpdateRoomRequest, ChatV1.Room>("rialto.chat.v1.RoomService/UpdateRoom")
        /// CloseRoom ends a room for good, and takes everybody out. The owner may.
        public static let closeRoom = RialtoContract.Call<ChatV1.CloseRoomRequest, ChatV1.Room>("rialto.chat.v1.RoomService/CloseRoom")
        /// SetRoomModerator makes a user a moderator, or no longer one. The owner may; a moderator may resign. A user moderates at most 100 open rooms.
        public static let setRoomModerator = RialtoContract.Call<ChatV1.SetRoomModeratorRequest, ChatV1.Room>("rialto.chat.v1.RoomService/SetRoomModerator")
        /// KickFromRoom takes a user out of a room, and keeps the user out for a time; 0 seconds let the user in again. Moderators kick users, the
        /// owner anyone.
        public static let kickFromRoom = RialtoContract.Call<ChatV1.KickFromRoomRequest, ChatV1.KickFromRoomResponse>("rialto.chat.v1.RoomService/KickFromRoom")
        /// MuteInRoom keeps a user from writing for a time; 0 seconds end it. Moderators mute users, the owner anyone.
        public static let muteInRoom = RialtoContract.Call<ChatV1.MuteInRoomRequest, ChatV1.MuteInRoomResponse>("rialto.chat.v1.RoomService/MuteInRoom")
        /// ListRoomRestrictions gives moderators the users who are kicked or muted now, by user id, at most 1,000.
        public static let listRoomRestrictions = RialtoContract.Call<ChatV1.ListRoomRestrictionsRequest, ChatV1.ListRoomRestrictionsResponse>("rialto.chat.v1.RoomService/ListRoomRestrictions")
        /// SendRoomMessage sends a message to all who are in a room. The answer means: accepted; each connection gets it once or not at all.
        public static let sendRoomMessage = RialtoContract.Call<ChatV1.SendRoomMessageRequest, ChatV1.SendRoomMessageResponse>("rialto.chat.v1.RoomService/SendRoomMessage")
        /// LikeRoom adds likes. The caller is in the room on the same socket, or on another one of the same node.
        public static let likeRoom = RialtoContract.Call<ChatV1.LikeRoomRequest, ChatV1.LikeRoomResponse>("rialto.chat.v1.RoomService/LikeRoom")
    }

    /// Room that users enter and leave.
    public struct Room: ProtoMessage {
        public var id: String
        public var title: String
        public var owner: String
        /// Moderators, at most 50, without the owner.
        public var moderators: [String]
        /// Announcement is shown above the messages; empty: none.
        public var announcement: String
        /// Muted: only moderators and the owner write.
        public var muted: Bool
        public var closed: Bool
        public var createdMs: Int64
        /// Revision rises with each change of the room.
        public var revision: String

        public init(id: String = "0", title: String = "", owner: String = "0", moderators: [String] = [], announcement: String = "", muted: Bool = false, closed: Bool = false, createdMs: Int64 = 0, revision: String = "0") {
            self.id = id
            self.title = title
            self.owner = owner
            self.moderators = moderators
            self.announcement = announcement
            self.muted = muted
            self.closed = closed
            self.createdMs = createdMs
            self.revision = revision
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            title = try fields.value("title", TextCoder.self)
            owner = try fields.value("owner", IDCoder.self)
            moderators = try fields.list("moderators", IDCoder.self)
            announcement = try fields.value("announcement", TextCoder.self)
            muted = try fields.value("muted", BoolCoder.self)
            closed = try fields.value("closed", BoolCoder.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            revision = try fields.value("revision", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("title", title, TextCoder.self)
            try fields.value("owner", owner, IDCoder.self)
            try fields.list("moderators", moderators, IDCoder.self)
            try fields.value("announcement", announcement, TextCoder.self)
            try fields.value("muted", muted, BoolCoder.self)
            try fields.value("closed", closed, BoolCoder.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.value("revision", revision, IDCoder.self)
        }

    }

    /// RoomMessage is a message in a room.
    public struct RoomMessage: ProtoMessage {
        /// Id is unique.
        public var id: String
        /// Seq counts a room's messages from 1. It starts again when another node takes the room over.
        public var seq: String
        public var sender: String
        public var timeMs: Int64
        /// Moderator: the sender is a moderator or the owner.
        public var moderator: Bool
        public var kind: Kind?

        public init(id: String = "0", seq: String = "0", sender: String = "0", timeMs: Int64 = 0, moderator: Bool = false, kind: Kind? = nil) {
            self.id = id
            self.seq = seq
            self.sender = sender
            self.timeMs = timeMs
            self.moderator = moderator
            self.kind = kind
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            seq = try fields.value("seq", IDCoder.self)
            sender = try fields.value("sender", IDCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            moderator = try fields.value("moderator", BoolCoder.self)
            kind = try Kind(fields)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("seq", seq, IDCoder.self)
            try fields.value("sender", sender, IDCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("moderator", moderator, BoolCoder.self)
            try kind?.write(to: &fields)
        }

        public enum Kind: Hashable, Sendable {
            /// Text of 1 to 500 characters.
            case text(String)
            /// Signal is for programs, and not shown: at most 4 KiB.
            case signal(ChatV1.Custom)

            init?(_ fields: ProtoReader) throws {
                if let value = try fields.optional("text", TextCoder.self) {
                    self = .text(value)
                } else if let value = try fields.optional("signal", MessageCoder<ChatV1.Custom>.self) {
                    self = .signal(value)
                } else {
                    return nil
                }
            }

            func write(to fields: inout ProtoWriter) throws {
                switch self {
                case .text(let value): try fields.optional("text", value, TextCoder.self)
                case .signal(let value): try fields.optional("signal", value, MessageCoder<ChatV1.Custom>.self)
                }
            }
        }

    }

    /// RoomEntry answers ClientFrame.enter_room.
    public struct RoomEntry: ProtoMessage {
        public var room: ChatV1.Room?
        /// Recent messages, the oldest first: at most 50, and 32 KiB.
        public var recent: [ChatV1.RoomMessage]
        public var likes: String
        /// Viewers, about: the users who are in the room.
        public var viewers: Int
        /// MutedUntilMs is when the caller may write again, 0: now.
        public var mutedUntilMs: Int64

        public init(room: ChatV1.Room? = nil, recent: [ChatV1.RoomMessage] = [], likes: String = "0", viewers: Int = 0, mutedUntilMs: Int64 = 0) {
            self.room = room
            self.recent = recent
            self.likes = likes
            self.viewers = viewers
            self.mutedUntilMs = mutedUntilMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            room = try fields.optional("room", MessageCoder<ChatV1.Room>.self)
            recent = try fields.list("recent", MessageCoder<ChatV1.RoomMessage>.self)
            likes = try fields.value("likes", IDCoder.self)
            viewers = try fields.value("viewers", IntCoder.self)
            mutedUntilMs = try fields.value("mutedUntilMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("room", room, MessageCoder<ChatV1.Room>.self)
            try fields.list("recent", recent, MessageCoder<ChatV1.RoomMessage>.self)
            try fields.value("likes", likes, IDCoder.self)
            try fields.value("viewers", viewers, IntCoder.self)
            try fields.value("mutedUntilMs", mutedUntilMs, Int64Coder.self)
        }

    }

    /// RoomUpdate tells those in a room what happened in it. Absent fields are unchanged.
    public struct RoomUpdate: ProtoMessage {
        public var room: String
        /// Missed messages before those of this update, which the connection did not get because it reads too slowly, or which got lost.
        public var missed: Int
        public var messages: [ChatV1.RoomMessage]
        /// Likes in all, at most once a second.
        public var likes: String?
        /// Viewers, about, at most once in five seconds.
        public var viewers: Int?
        /// Changed: the room as it is now.
        public var changed: ChatV1.Room?
        /// Left: this connection is not in the room any more.
        public var left: ChatV1.RoomLeft

        public init(room: String = "0", missed: Int = 0, messages: [ChatV1.RoomMessage] = [], likes: String? = nil, viewers: Int? = nil, changed: ChatV1.Room? = nil, left: ChatV1.RoomLeft = .unspecified) {
            self.room = room
            self.missed = missed
            self.messages = messages
            self.likes = likes
            self.viewers = viewers
            self.changed = changed
            self.left = left
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            room = try fields.value("room", IDCoder.self)
            missed = try fields.value("missed", IntCoder.self)
            messages = try fields.list("messages", MessageCoder<ChatV1.RoomMessage>.self)
            likes = try fields.optional("likes", IDCoder.self)
            viewers = try fields.optional("viewers", IntCoder.self)
            changed = try fields.optional("changed", MessageCoder<ChatV1.Room>.self)
            left = try fields.value("left", EnumCoder<ChatV1.RoomLeft>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("room", room, IDCoder.self)
            try fields.value("missed", missed, IntCoder.self)
            try fields.list("messages", messages, MessageCoder<ChatV1.RoomMessage>.self)
            try fields.optional("likes", likes, IDCoder.self)
            try fields.optional("viewers", viewers, IntCoder.self)
            try fields.optional("changed", changed, MessageCoder<ChatV1.Room>.self)
            try fields.value("left", left, EnumCoder<ChatV1.RoomLeft>.self)
        }

    }

    public struct CreateRoomRequest: ProtoMessage {
        /// Title in one line, of 1 to 100 characters.
        public var title: String

        public init(title: String = "") {
            self.title = title
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            title = try fields.value("title", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("title", title, TextCoder.self)
        }

    }

    public struct GetRoomRequest: ProtoMessage {
        public var room: String

        public init(room: String = "0") {
            self.room = room
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            room = try fields.value("room", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("room", room, IDCoder.self)
        }

    }

    public struct ListRoomsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListRoomsResponse: ProtoMessage {
        public var rooms: [ChatV1.Room]

        public init(rooms: [ChatV1.Room] = []) {
            self.rooms = rooms
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            rooms = try fields.list("rooms", MessageCoder<ChatV1.Room>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("rooms", rooms, MessageCoder<ChatV1.Room>.self)
        }

    }

    public struct UpdateRoomRequest: ProtoMessage {
        public var room: String
        public var title: String?
        /// Announcement of at most 500 characters.
        public var announcement: String?
        public var muted: Bool?

        public init(room: String = "0", title: String? = nil, announcement: String? = nil, muted: Bool? = nil) {
            self.room = room
            self.title = title
            self.announcement = announcement
            self.muted = muted
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            room = try fields.value("room", IDCoder.self)
            title = try fields.optional("title", TextCoder.self)
            announcement = try fields.optional("announcement", TextCoder.self)
            muted = try fields.optional("muted", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("room", room, IDCoder.self)
            try fields.optional("title", title, TextCoder.self)
            try fields.optional("announcement", announcement, TextCoder.self)
            try fields.optional("muted", muted, BoolCoder.self)
        }

    }

    public struct CloseRoomRequest: ProtoMessage {
        public var room: String

        public init(room: String = "0") {
            self.room = room
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            room = try fields.value("room", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("room", room, IDCoder.self)
        }

    }

    public struct SetRoomModeratorRequest: ProtoMessage {
        public var room: String
        public var user: String
        public var moderator: Bool

        public init(room: String = "0", user: String = "0", moderator: Bool = false) {
            self.room = room
            self.user = user
            self.moderator = moderator
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            room = try fields.value("room", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
            moderator = try fields.value("moderator", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("room", room, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("moderator", moderator, BoolCoder.self)
        }

    }

    public struct KickFromRoomRequest: ProtoMessage {
        public var room: String
        public var user: String
        /// Seconds, at most 31,536,000 (a year).
        public var seconds: Int

        public init(room: String = "0", user: String = "0", seconds: Int = 0) {
            self.room = room
            self.user = user
            self.seconds = seconds
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            room = try fields.value("room", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
            seconds = try fields.value("seconds", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("room", room, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("seconds", seconds, IntCoder.self)
        }

    }

    public struct KickFromRoomResponse: ProtoMessage {
        /// UntilMs is when the user may enter again, 0: now.
        public var untilMs: Int64

        public init(untilMs: Int64 = 0) {
            self.untilMs = untilMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            untilMs = try fields.value("untilMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("untilMs", untilMs, Int64Coder.self)
        }

    }

    public struct MuteInRoomRequest: ProtoMessage {
        public var room: String
        public var user: String
        /// Seconds, at most 31,536,000 (a year).
        public var seconds: Int

        public init(room: String = "0", user: String = "0", seconds: Int = 0) {
            self.room = room
            self.user = user
            self.seconds = seconds
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            room = try fields.value("room", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
            seconds = try fields.value("seconds", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("room", room, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("seconds", seconds, IntCoder.self)
        }

    }

    public struct MuteInRoomResponse: ProtoMessage {
        /// UntilMs is when the user may write again, 0: now.
        public var untilMs: Int64

        public init(untilMs: Int64 = 0) {
            self.untilMs = untilMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            untilMs = try fields.value("untilMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("untilMs", untilMs, Int64Coder.self)
        }

    }

    public struct ListRoomRestrictionsRequest: ProtoMessage {
        public var room: String

        public init(room: String = "0") {
            self.room = room
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            room = try fields.value("room", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("room", room, IDCoder.self)
        }

    }

    public struct ListRoomRestrictionsResponse: ProtoMessage {
        public var restrictions: [ChatV1.RoomRestriction]

        public init(restrictions: [ChatV1.RoomRestriction] = []) {
            self.restrictions = restrictions
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            restrictions = try fields.list("restrictions", MessageCoder<ChatV1.RoomRestriction>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("restrictions", restrictions, MessageCoder<ChatV1.RoomRestriction>.self)
        }

    }

    /// RoomRestriction of a user in a room. A time that is over is 0.
    public struct RoomRestriction: ProtoMessage {
        public var user: String
        public var kickedUntilMs: Int64
        public var mutedUntilMs: Int64

        public init(user: String = "0", kickedUntilMs: Int64 = 0, mutedUntilMs: Int64 = 0) {
            self.user = user
            self.kickedUntilMs = kickedUntilMs
            self.mutedUntilMs = mutedUntilMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            kickedUntilMs = try fields.value("kickedUntilMs", Int64Coder.self)
            mutedUntilMs = try fields.value("mutedUntilMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("kickedUntilMs", kickedUntilMs, Int64Coder.self)
            try fields.value("mutedUntilMs", mutedUntilMs, Int64Coder.self)
        }

    }

    public struct SendRoomMessageRequest: ProtoMessage {
        public var room: String
        public var kind: Kind?

        public init(room: String = "0", kind: Kind? = nil) {
            self.room = room
            self.kind = kind
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            room = try fields.value("room", IDCoder.self)
            kind = try Kind(fields)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("room", room, IDCoder.self)
            try kind?.write(to: &fields)
        }

        public enum Kind: Hashable, Sendable {
            case text(String)
            case signal(ChatV1.Custom)

            init?(_ fields: ProtoReader) throws {
                if let value = try fields.optional("text", TextCoder.self) {
                    self = .text(value)
                } else if let value = try fields.optional("signal", MessageCoder<ChatV1.Custom>.self) {
                    self = .signal(value)
                } else {
                    return nil
                }
            }

            func write(to fields: inout ProtoWriter) throws {
                switch self {
                case .text(let value): try fields.optional("text", value, TextCoder.self)
                case .signal(let value): try fields.optional("signal", value, MessageCoder<ChatV1.Custom>.self)
                }
            }
        }

    }

    public struct SendRoomMessageResponse: ProtoMessage {
        public var id: String
        public var seq: String

        public init(id: String = "0", seq: String = "0") {
            self.id = id
            self.seq = seq
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            seq = try fields.value("seq", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("seq", seq, IDCoder.self)
        }

    }

    public struct LikeRoomRequest: ProtoMessage {
        public var room: String
        /// Count of likes since the last call, 1 to 100.
        public var count: Int

        public init(room: String = "0", count: Int = 0) {
            self.room = room
            self.count = count
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            room = try fields.value("room", IDCoder.self)
            count = try fields.value("count", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("room", room, IDCoder.self)
            try fields.value("count", count, IntCoder.self)
        }

    }

    public struct LikeRoomResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    /// RoomLeft is why a connection is no longer in a room.
    public enum RoomLeft: ProtoEnum {
        case unspecified
        /// Kicked by a moderator; entering is refused until the time is over.
        case kicked
        /// Closed for good.
        case closed
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<RoomLeft>] = [
            ProtoEnumValue("ROOM_LEFT_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("ROOM_LEFT_KICKED", 1, .kicked),
            ProtoEnumValue("ROOM_LEFT_CLOSED", 2, .closed),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
