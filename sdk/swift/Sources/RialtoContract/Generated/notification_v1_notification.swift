// Made from rialto/notification/v1/notification.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.notification.v1.
public enum NotificationV1 {}

extension NotificationV1 {
    /// NotificationService: what others did that concerns the caller, such as likes, comments and follows.
    ///
    /// A notification merges what happened to one subject since the caller last read: "Ana and 12 others like your post". What happens after that
    /// begins a new one. What is not there any more is not shown, as of each read: likes that were taken back, what was deleted or hidden, and users
    /// with whom there is a block or whom the caller has muted. A notification of which nothing is left is in no list.
    public enum NotificationService {
        /// ListNotifications gives the notifications of the caller, the newest first.
        public static let listNotifications = RialtoContract.Call<NotificationV1.ListNotificationsRequest, NotificationV1.ListNotificationsResponse>("rialto.notification.v1.NotificationService/ListNotifications")
        /// UnreadNotifications gives the number of unread notifications.
        public static let unreadNotifications = RialtoContract.Call<NotificationV1.UnreadNotificationsRequest, NotificationV1.UnreadNotificationsResponse>("rialto.notification.v1.NotificationService/UnreadNotifications")
        /// ReadNotifications marks as read what a list has shown, on all devices. A retry is harmless.
        public static let readNotifications = RialtoContract.Call<NotificationV1.ReadNotificationsRequest, NotificationV1.ReadNotificationsResponse>("rialto.notification.v1.NotificationService/ReadNotifications")
        /// GetNotificationSettings gives the kinds that are off.
        public static let getNotificationSettings = RialtoContract.Call<NotificationV1.GetNotificationSettingsRequest, NotificationV1.NotificationSettings>("rialto.notification.v1.NotificationService/GetNotificationSettings")
        /// SetNotificationSettings replaces the kinds that are off. What happens from then on notifies accordingly.
        public static let setNotificationSettings = RialtoContract.Call<NotificationV1.NotificationSettings, NotificationV1.NotificationSettings>("rialto.notification.v1.NotificationService/SetNotificationSettings")
        /// SubscribeToPosts makes new posts of an author notify the caller, whether or not the caller follows the author.
        public static let subscribeToPosts = RialtoContract.Call<NotificationV1.SubscribeToPostsRequest, NotificationV1.PostSubscription>("rialto.notification.v1.NotificationService/SubscribeToPosts")
        /// UnsubscribeFromPosts ends a subscription.
        public static let unsubscribeFromPosts = RialtoContract.Call<NotificationV1.UnsubscribeFromPostsRequest, NotificationV1.PostSubscription>("rialto.notification.v1.NotificationService/UnsubscribeFromPosts")
        /// GetPostSubscription tells whether new posts of an author notify the caller.
        public static let getPostSubscription = RialtoContract.Call<NotificationV1.GetPostSubscriptionRequest, NotificationV1.PostSubscription>("rialto.notification.v1.NotificationService/GetPostSubscription")
    }

    /// Notification as of a read.
    public struct Notification: ProtoMessage {
        /// Id of the notification, which no other of the caller has.
        public var id: String
        /// Position in the list. It rises when something is merged into the notification.
        public var position: String
        public var kind: NotificationV1.NotificationKind
        public var subjectKind: NotificationV1.NotificationSubject
        /// Subject is the id of the post, comment or user that the notification is about; 0: the caller.
        public var subject: String
        /// Post that shows it: the subject, that of the comment, or the newest of the author; 0: none.
        public var post: String
        /// Actors are the newest users who did it, at most 3.
        public var actors: [String]
        /// ActorCount is how many different users did it, as a rule in the newest 100 operations.
        public var actorCount: Int
        /// MoreActors: there may be more than actor_count.
        public var moreActors: Bool
        /// ItemCount is how many comments, replies or posts they wrote, at most 1,000; 0 for other kinds.
        public var itemCount: Int
        /// Item is the newest of these; 0 for other kinds.
        public var item: String
        /// TimeMs is when the newest of it happened, milliseconds since 1970.
        public var timeMs: Int64
        /// Read on one of the caller's devices.
        public var read: Bool

        public init(id: String = "0", position: String = "0", kind: NotificationV1.NotificationKind = .unspecified, subjectKind: NotificationV1.NotificationSubject = .unspecified, subject: String = "0", post: String = "0", actors: [String] = [], actorCount: Int = 0, moreActors: Bool = false, itemCount: Int = 0, item: String = "0", timeMs: Int64 = 0, read: Bool = false) {
            self.id = id
            self.position = position
            self.kind = kind
            self.subjectKind = subjectKind
            self.subject = subject
            self.post = post
            self.actors = actors
            self.actorCount = actorCount
            self.moreActors = moreActors
            self.itemCount = itemCount
            self.item = item
            self.timeMs = timeMs
            self.read = read
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            position = try fields.value("position", IDCoder.self)
            kind = try fields.value("kind", EnumCoder<NotificationV1.NotificationKind>.self)
            subjectKind = try fields.value("subjectKind", EnumCoder<NotificationV1.NotificationSubject>.self)
            subject = try fields.value("subject", IDCoder.self)
            post = try fields.value("post", IDCoder.self)
            actors = try fields.list("actors", IDCoder.self)
            actorCount = try fields.value("actorCount", IntCoder.self)
            moreActors = try fields.value("moreActors", BoolCoder.self)
            itemCount = try fields.value("itemCount", IntCoder.self)
            item = try fields.value("item", IDCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            read = try fields.value("read", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("position", position, IDCoder.self)
            try fields.value("kind", kind, EnumCoder<NotificationV1.NotificationKind>.self)
            try fields.value("subjectKind", subjectKind, EnumCoder<NotificationV1.NotificationSubject>.self)
            try fields.value("subject", subject, IDCoder.self)
            try fields.value("post", post, IDCoder.self)
            try fields.list("actors", actors, IDCoder.self)
            try fields.value("actorCount", actorCount, IntCoder.self)
            try fields.value("moreActors", moreActors, BoolCoder.self)
            try fields.value("itemCount", itemCount, IntCoder.self)
            try fields.value("item", item, IDCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("read", read, BoolCoder.self)
        }

    }

    public struct ListNotificationsRequest: ProtoMessage {
        /// Before is the next of the previous page; 0: the newest notifications.
        public var before: String
        /// Limit of the notifications, at most 50; 0 is 20.
        public var limit: Int

        public init(before: String = "0", limit: Int = 0) {
            self.before = before
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            before = try fields.value("before", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("before", before, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListNotificationsResponse: ProtoMessage {
        public var notifications: [NotificationV1.Notification]
        /// Next is the before of the next page; 0: there is none. A page may have fewer notifications than its limit, or none, although there is a next one.
        public var next: String
        /// Position for ReadNotifications: what happens after this list is above it.
        public var position: String

        public init(notifications: [NotificationV1.Notification] = [], next: String = "0", position: String = "0") {
            self.notifications = notifications
            self.next = next
            self.position = position
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            notifications = try fields.list("notifications", MessageCoder<NotificationV1.Notification>.self)
            next = try fields.value("next", IDCoder.self)
            position = try fields.value("position", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("notifications", notifications, MessageCoder<NotificationV1.Notification>.self)
            try fields.value("next", next, IDCoder.self)
            try fields.value("position", position, IDCoder.self)
        }

    }

    public struct UnreadNotificationsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct UnreadNotificationsResponse: ProtoMessage {
        /// Count of the unread notifications, at most 100: show 100 as "99+".
        public var count: Int
        /// Read is the position up to which the caller has read.
        public var read: String

        public init(count: Int = 0, read: String = "0") {
            self.count = count
            self.read = read
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            count = try fields.value("count", IntCoder.self)
            read = try fields.value("read", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("count", count, IntCoder.self)
            try fields.value("read", read, IDCoder.self)
        }

    }

    public struct ReadNotificationsRequest: ProtoMessage {
        /// Position of a list.
        public var position: String

        public init(position: String = "0") {
            self.position = position
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            position = try fields.value("position", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("position", position, IDCoder.self)
        }

    }

    public struct ReadNotificationsResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct GetNotificationSettingsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct NotificationSettings: ProtoMessage {
        /// Off has the kinds that do not notify the user, each once.
        public var off: [NotificationV1.NotificationKind]

        public init(off: [NotificationV1.NotificationKind] = []) {
            self.off = off
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            off = try fields.list("off", EnumCoder<NotificationV1.NotificationKind>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("off", off, EnumCoder<NotificationV1.NotificationKind>.self)
        }

    }

    public struct SubscribeToPostsRequest: ProtoMessage {
        /// Author whose posts notify the caller. A user subscribes to at most 1,000 authors.
        public var author: String

        public init(author: String = "0") {
            self.author = author
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            author = try fields.value("author", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("author", author, IDCoder.self)
        }

    }

    public struct UnsubscribeFromPostsRequest: ProtoMessage {
        public var author: String

        public init(author: String = "0") {
            self.author = author
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            author = try fields.value("author", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("author", author, IDCoder.self)
        }

    }

    public struct GetPostSubscriptionRequest: ProtoMessage {
        public var author: String

        public init(author: String = "0") {
            self.author = author
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            author = try fields.value("author", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("author", author, IDCoder.self)
        }

    }

    /// PostSubscription tells whether new posts of an author notify the caller.
    public struct PostSubscription: ProtoMessage {
        public var subscribed: Bool

        public init(subscribed: Bool = false) {
            self.subscribed = subscribed
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            subscribed = try fields.value("subscribed", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("subscribed", subscribed, BoolCoder.self)
        }

    }

    /// NotificationKind is what happened.
    public enum NotificationKind: ProtoEnum {
        case unspecified
        /// Users like a post or a comment of the caller.
        case like
        /// Users commented on a post of the caller.
        case comment
        /// Users replied to a comment of the caller.
        case reply
        /// A user mentioned the caller in a post or a comment.
        case mention
        /// Users follow the caller.
        case follow
        /// Users want to be friends of the caller.
        case friendRequest
        /// An author whom the caller has chosen published posts.
        case post
        /// Users reposted a post of the caller.
        case repost
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<NotificationKind>] = [
            ProtoEnumValue("NOTIFICATION_KIND_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("NOTIFICATION_KIND_LIKE", 1, .like),
            ProtoEnumValue("NOTIFICATION_KIND_COMMENT", 2, .comment),
            ProtoEnumValue("NOTIFICATION_KIND_REPLY", 3, .reply),
            ProtoEnumValue("NOTIFICATION_KIND_MENTION", 4, .mention),
            ProtoEnumValue("NOTIFICATION_KIND_FOLLOW", 5, .follow),
            ProtoEnumValue("NOTIFICATION_KIND_FRIEND_REQUEST", 6, .friendRequest),
            ProtoEnumValue("NOTIFICATION_KIND_POST", 7, .post),
            ProtoEnumValue("NOTIFICATION_KIND_REPOST", 8, .repost),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// NotificationSubject is what a notification is about.
    public enum NotificationSubject: ProtoEnum {
        /// The caller.
        case unspecified
        case post
        case comment
        case user
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<NotificationSubject>] = [
            ProtoEnumValue("NOTIFICATION_SUBJECT_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("NOTIFICATION_SUBJECT_POST", 1, .post),
            ProtoEnumValue("NOTIFICATION_SUBJECT_COMMENT", 2, .comment),
            ProtoEnumValue("NOTIFICATION_SUBJECT_USER", 3, .user),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
