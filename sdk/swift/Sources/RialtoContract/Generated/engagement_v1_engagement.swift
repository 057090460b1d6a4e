// Made from rialto/engagement/v1/engagement.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.engagement.v1.
public enum EngagementV1 {}

extension EngagementV1 {
    /// EngagementService: what users do with posts and comments of others: likes, favourites, views; and the posts that are popular.
    ///
    /// A post or comment that the caller may not see does not exist for the caller. All calls are harmless if they are repeated.
    public enum EngagementService {
        /// Like adds the caller to those who like a post or comment. A repeated like counts once.
        public static let like = RialtoContract.Call<EngagementV1.LikeRequest, EngagementV1.LikeResponse>("rialto.engagement.v1.EngagementService/Like")
        /// Unlike takes a like back, also one of what the caller does not see any more. Where there is none, it does nothing.
        public static let unlike = RialtoContract.Call<EngagementV1.UnlikeRequest, EngagementV1.UnlikeResponse>("rialto.engagement.v1.EngagementService/Unlike")
        /// ListLikers gives the users who like a post or comment, the latest first, without those with whom the caller has a block.
        public static let listLikers = RialtoContract.Call<EngagementV1.ListLikersRequest, EngagementV1.ListLikersResponse>("rialto.engagement.v1.EngagementService/ListLikers")
        /// ListLikes gives the posts that the caller likes and may see, the latest like first.
        public static let listLikes = RialtoContract.Call<EngagementV1.ListLikesRequest, EngagementV1.PostList>("rialto.engagement.v1.EngagementService/ListLikes")
        /// Favourite adds a post to the caller's favourites. Others learn how many have, and not who.
        public static let favourite = RialtoContract.Call<EngagementV1.FavouriteRequest, EngagementV1.FavouriteResponse>("rialto.engagement.v1.EngagementService/Favourite")
        /// Unfavourite removes a post from the caller's favourites, also one that the caller does not see any more.
        public static let unfavourite = RialtoContract.Call<EngagementV1.UnfavouriteRequest, EngagementV1.UnfavouriteResponse>("rialto.engagement.v1.EngagementService/Unfavourite")
        /// ListFavourites gives the caller's favourites that the caller may see, the latest first.
        public static let listFavourites = RialtoContract.Call<EngagementV1.ListFavouritesRequest, EngagementV1.PostList>("rialto.engagement.v1.EngagementService/ListFavourites")
        /// RecordViews tells which posts were on the caller's screen. Each user counts once as a viewer of a post, and the posts are in the caller's view
        /// history. Posts that the caller may not see are left out.
        public static let recordViews = RialtoContract.Call<EngagementV1.RecordViewsRequest, EngagementV1.RecordViewsResponse>("rialto.engagement.v1.EngagementService/RecordViews")
        /// ListViews gives the caller's view history: the posts that the caller may see, the latest view first, each once. It has the latest 1,000 posts.
        public static let listViews = RialtoContract.Call<EngagementV1.ListViewsRequest, EngagementV1.PostList>("rialto.engagement.v1.EngagementService/ListViews")
        /// ClearViews deletes the caller's view history. The numbers of viewers stay.
        public static let clearViews = RialtoContract.Call<EngagementV1.ClearViewsRequest, EngagementV1.ClearViewsResponse>("rialto.engagement.v1.EngagementService/ClearViews")
        /// ListHotPosts gives the posts that are popular now, or got the most likes in a period, at most 500. Only posts for everyone are among them. The list is
        /// some seconds old, and all its pages are of the same moment.
        public static let listHotPosts = RialtoContract.Call<EngagementV1.ListHotPostsRequest, EngagementV1.ListHotPostsResponse>("rialto.engagement.v1.EngagementService/ListHotPosts")
    }

    public struct LikeRequest: ProtoMessage {
        public var kind: EngagementV1.LikeKind
        /// Subject is the id of the post or comment.
        public var subject: String

        public init(kind: EngagementV1.LikeKind = .unspecified, subject: String = "0") {
            self.kind = kind
            self.subject = subject
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try fields.value("kind", EnumCoder<EngagementV1.LikeKind>.self)
            subject = try fields.value("subject", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("kind", kind, EnumCoder<EngagementV1.LikeKind>.self)
            try fields.value("subject", subject, IDCoder.self)
        }

    }

    public struct LikeResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct UnlikeRequest: ProtoMessage {
        public var kind: EngagementV1.LikeKind
        /// Subject is the id of the post or comment.
        public var subject: String

        public init(kind: EngagementV1.LikeKind = .unspecified, subject: String = "0") {
            self.kind = kind
            self.subject = subject
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try fields.value("kind", EnumCoder<EngagementV1.LikeKind>.self)
            subject = try fields.value("subject", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("kind", kind, EnumCoder<EngagementV1.LikeKind>.self)
            try fields.value("subject", subject, IDCoder.self)
        }

    }

    public struct UnlikeResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListLikersRequest: ProtoMessage {
        public var kind: EngagementV1.LikeKind
        /// Subject is the id of the post or comment.
        public var subject: String
        /// Page is the next of the previous page; empty: the first one.
        public var page: String
        /// Limit of the users, at most 50; 0 is 20.
        public var limit: Int

        public init(kind: EngagementV1.LikeKind = .unspecified, subject: String = "0", page: String = "", limit: Int = 0) {
            self.kind = kind
            self.subject = subject
            self.page = page
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try fields.value("kind", EnumCoder<EngagementV1.LikeKind>.self)
            subject = try fields.value("subject", IDCoder.self)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("kind", kind, EnumCoder<EngagementV1.LikeKind>.self)
            try fields.value("subject", subject, IDCoder.self)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListLikersResponse: ProtoMessage {
        public var likers: [EngagementV1.Liker]
        /// Next is the page of the next request; empty: there is none. A page may have fewer users than its limit, or none, although there is a next one.
        public var next: String

        public init(likers: [EngagementV1.Liker] = [], next: String = "") {
            self.likers = likers
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            likers = try fields.list("likers", MessageCoder<EngagementV1.Liker>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("likers", likers, MessageCoder<EngagementV1.Liker>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// Liker is a user who likes something.
    public struct Liker: ProtoMessage {
        public var user: String
        /// LikedMs is since when, milliseconds since 1970.
        public var likedMs: Int64

        public init(user: String = "0", likedMs: Int64 = 0) {
            self.user = user
            self.likedMs = likedMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            likedMs = try fields.value("likedMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("likedMs", likedMs, Int64Coder.self)
        }

    }

    public struct ListLikesRequest: ProtoMessage {
        /// Page is the next of the previous page; empty: the first one.
        public var page: String
        /// Limit of the posts, at most 50; 0 is 20.
        public var limit: Int

        public init(page: String = "", limit: Int = 0) {
            self.page = page
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    /// PostList is a page of posts of the caller's: likes, favourites or views.
    public struct PostList: ProtoMessage {
        public var posts: [EngagementV1.ListedPost]
        /// Next is the page of the next request; empty: there is none. A page may have fewer posts than its limit, or none, although there is a next one.
        public var next: String

        public init(posts: [EngagementV1.ListedPost] = [], next: String = "") {
            self.posts = posts
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            posts = try fields.list("posts", MessageCoder<EngagementV1.ListedPost>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("posts", posts, MessageCoder<EngagementV1.ListedPost>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// ListedPost is a post in such a list.
    public struct ListedPost: ProtoMessage {
        public var post: FeedV1.Post?
        /// TimeMs is when the caller liked, favourited or last viewed it, milliseconds since 1970.
        public var timeMs: Int64

        public init(post: FeedV1.Post? = nil, timeMs: Int64 = 0) {
            self.post = post
            self.timeMs = timeMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.optional("post", MessageCoder<FeedV1.Post>.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("post", post, MessageCoder<FeedV1.Post>.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
        }

    }

    public struct FavouriteRequest: ProtoMessage {
        public var post: String

        public init(post: String = "0") {
            self.post = post
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.value("post", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("post", post, IDCoder.self)
        }

    }

    public struct FavouriteResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct UnfavouriteRequest: ProtoMessage {
        public var post: String

        public init(post: String = "0") {
            self.post = post
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.value("post", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("post", post, IDCoder.self)
        }

    }

    public struct UnfavouriteResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListFavouritesRequest: ProtoMessage {
        /// Page is the next of the previous page; empty: the first one.
        public var page: String
        /// Limit of the posts, at most 50; 0 is 20.
        public var limit: Int

        public init(page: String = "", limit: Int = 0) {
            self.page = page
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct RecordViewsRequest: ProtoMessage {
        /// Posts, at most 100.
        public var posts: [String]

        public init(posts: [String] = []) {
            self.posts = posts
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            posts = try fields.list("posts", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("posts", posts, IDCoder.self)
        }

    }

    public struct RecordViewsResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListViewsRequest: ProtoMessage {
        /// Page is the next of the previous page; empty: the first one.
        public var page: String
        /// Limit of the posts, at most 50; 0 is 20.
        public var limit: Int

        public init(page: String = "", limit: Int = 0) {
            self.page = page
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ClearViewsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ClearViewsResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListHotPostsRequest: ProtoMessage {
        public var window: EngagementV1.HotWindow
        /// Page is the next of the previous page of the same window; empty: the first one. It is valid for 15 minutes.
        public var page: String
        /// Limit of the posts, at most 50; 0 is 20.
        public var limit: Int

        public init(window: EngagementV1.HotWindow = .unspecified, page: String = "", limit: Int = 0) {
            self.window = window
            self.page = page
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            window = try fields.value("window", EnumCoder<EngagementV1.HotWindow>.self)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("window", window, EnumCoder<EngagementV1.HotWindow>.self)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListHotPostsResponse: ProtoMessage {
        public var posts: [EngagementV1.HotPost]
        /// Next is the page of the next request; empty: there is none. A page may have fewer posts than its limit, or none, although there is a next one.
        public var next: String

        public init(posts: [EngagementV1.HotPost] = [], next: String = "") {
            self.posts = posts
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            posts = try fields.list("posts", MessageCoder<EngagementV1.HotPost>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("posts", posts, MessageCoder<EngagementV1.HotPost>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// HotPost is a post in a list of popular ones.
    public struct HotPost: ProtoMessage {
        public var post: FeedV1.Post?
        /// Likes within the period, as of the list; 0 for now.
        public var likes: Int

        public init(post: FeedV1.Post? = nil, likes: Int = 0) {
            self.post = post
            self.likes = likes
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.optional("post", MessageCoder<FeedV1.Post>.self)
            likes = try fields.value("likes", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("post", post, MessageCoder<FeedV1.Post>.self)
            try fields.value("likes", likes, IntCoder.self)
        }

    }

    /// LikeKind is what a like is of.
    public enum LikeKind: ProtoEnum {
        case unspecified
        case post
        case comment
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<LikeKind>] = [
            ProtoEnumValue("LIKE_KIND_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("LIKE_KIND_POST", 1, .post),
            ProtoEnumValue("LIKE_KIND_COMMENT", 2, .comment),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// HotWindow is the time for which posts are compared.
    public enum HotWindow: ProtoEnum {
        /// Unspecified is now.
        case unspecified
        /// Now: by likes, favourites, comments and reposts of all time, and by age. Twice as much of them makes up for six hours.
        case now
        /// Today: by the likes since midnight, UTC.
        case today
        /// Week: by the likes since Monday, UTC.
        case week
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<HotWindow>] = [
            ProtoEnumValue("HOT_WINDOW_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("HOT_WINDOW_NOW", 1, .now),
            ProtoEnumValue("HOT_WINDOW_TODAY", 2, .today),
            ProtoEnumValue("HOT_WINDOW_WEEK", 3, .week),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
