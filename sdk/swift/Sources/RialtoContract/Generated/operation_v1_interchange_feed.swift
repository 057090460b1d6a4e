// Made from rialto/operation/v1/interchange_feed.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.operation.v1.
public enum OperationV1 {}

extension OperationV1 {
    /// ImportedItem is what became of a video, a version of a post, a comment, or a like.
    public struct ImportedItem: ProtoMessage {
        /// Duplicate: it was stored before.
        public var duplicate: Bool
        /// Reason and message of the refusal; "" if it is stored.
        public var reason: String
        public var message: String

        public init(duplicate: Bool = false, reason: String = "", message: String = "") {
            self.duplicate = duplicate
            self.reason = reason
            self.message = message
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            duplicate = try fields.value("duplicate", BoolCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            message = try fields.value("message", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("duplicate", duplicate, BoolCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("message", message, TextCoder.self)
        }

    }

    /// InterchangeVideo is a video in an import or an export, with its original file.
    public struct InterchangeVideo: ProtoMessage {
        /// Key of 1 to 128 bytes names it in the source. The same key finds it again.
        public var key: String
        /// Video is the id here; in exports only.
        public var video: String
        public var owner: String
        /// Upload with the file: one of the owner.
        public var upload: String
        /// TimeMs when it was made, milliseconds since 1970, at most now.
        public var timeMs: Int64
        /// Name of the file; in exports only.
        public var name: String
        /// Subtitles, at most 20, and 2 MiB together.
        public var subtitles: [OperationV1.InterchangeSubtitles]

        public init(key: String = "", video: String = "0", owner: String = "0", upload: String = "0", timeMs: Int64 = 0, name: String = "", subtitles: [OperationV1.InterchangeSubtitles] = []) {
            self.key = key
            self.video = video
            self.owner = owner
            self.upload = upload
            self.timeMs = timeMs
            self.name = name
            self.subtitles = subtitles
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            key = try fields.value("key", TextCoder.self)
            video = try fields.value("video", IDCoder.self)
            owner = try fields.value("owner", IDCoder.self)
            upload = try fields.value("upload", IDCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            name = try fields.value("name", TextCoder.self)
            subtitles = try fields.list("subtitles", MessageCoder<OperationV1.InterchangeSubtitles>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("key", key, TextCoder.self)
            try fields.value("video", video, IDCoder.self)
            try fields.value("owner", owner, IDCoder.self)
            try fields.value("upload", upload, IDCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.list("subtitles", subtitles, MessageCoder<OperationV1.InterchangeSubtitles>.self)
        }

    }

    /// InterchangeSubtitles are those of a video in a language.
    public struct InterchangeSubtitles: ProtoMessage {
        public var language: String
        public var label: String
        public var `default`: Bool
        /// Content is WebVTT.
        public var content: String

        public init(language: String = "", label: String = "", `default`: Bool = false, content: String = "") {
            self.language = language
            self.label = label
            self.`default` = `default`
            self.content = content
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            language = try fields.value("language", TextCoder.self)
            label = try fields.value("label", TextCoder.self)
            `default` = try fields.value("default", BoolCoder.self)
            content = try fields.value("content", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("language", language, TextCoder.self)
            try fields.value("label", label, TextCoder.self)
            try fields.value("default", `default`, BoolCoder.self)
            try fields.value("content", content, TextCoder.self)
        }

    }

    public struct ImportVideosRequest: ProtoMessage {
        /// Videos, 1 to 100, and 4 MiB together.
        public var videos: [OperationV1.InterchangeVideo]

        public init(videos: [OperationV1.InterchangeVideo] = []) {
            self.videos = videos
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            videos = try fields.list("videos", MessageCoder<OperationV1.InterchangeVideo>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("videos", videos, MessageCoder<OperationV1.InterchangeVideo>.self)
        }

    }

    public struct ImportVideosResponse: ProtoMessage {
        /// Results, one for each video.
        public var results: [OperationV1.ImportedItem]

        public init(results: [OperationV1.ImportedItem] = []) {
            self.results = results
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            results = try fields.list("results", MessageCoder<OperationV1.ImportedItem>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("results", results, MessageCoder<OperationV1.ImportedItem>.self)
        }

    }

    public struct ExportVideosRequest: ProtoMessage {
        /// After is the last video of the page before; 0: the first page.
        public var after: String
        /// Limit, at most 500; 0 is 500. A page also ends after 512 KiB.
        public var limit: Int

        public init(after: String = "0", limit: Int = 0) {
            self.after = after
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            after = try fields.value("after", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("after", after, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ExportVideosResponse: ProtoMessage {
        public var videos: [OperationV1.InterchangeVideo]
        /// Total number of videos at present; with the first page only.
        public var total: Int64

        public init(videos: [OperationV1.InterchangeVideo] = [], total: Int64 = 0) {
            self.videos = videos
            self.total = total
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            videos = try fields.list("videos", MessageCoder<OperationV1.InterchangeVideo>.self)
            total = try fields.value("total", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("videos", videos, MessageCoder<OperationV1.InterchangeVideo>.self)
            try fields.value("total", total, Int64Coder.self)
        }

    }

    /// InterchangePost is a version of a post in an import or an export.
    public struct InterchangePost: ProtoMessage {
        /// Key of 1 to 128 bytes names the post in the source. All its versions have the same.
        public var key: String
        /// Post is the id here; in exports only.
        public var post: String
        public var author: String
        /// TimeMs when this version was written, milliseconds since 1970, at most now.
        public var timeMs: Int64
        /// Version from 1 on, each one more than the one before.
        public var version: Int
        /// Content; in imports repost_key and video_key stand for its repost_of and video.
        public var content: FeedV1.PostContent?
        /// RepostKey of the post that it shows; "": none.
        public var repostKey: String
        /// VideoKey of its video; in imports only.
        public var videoKey: String
        /// Hidden from everybody by moderators.
        public var hidden: Bool
        /// Limited: only its author sees it.
        public var limited: Bool

        public init(key: String = "", post: String = "0", author: String = "0", timeMs: Int64 = 0, version: Int = 0, content: FeedV1.PostContent? = nil, repostKey: String = "", videoKey: String = "", hidden: Bool = false, limited: Bool = false) {
            self.key = key
            self.post = post
            self.author = author
            self.timeMs = timeMs
            self.version = version
            self.content = content
            self.repostKey = repostKey
            self.videoKey = videoKey
            self.hidden = hidden
            self.limited = limited
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            key = try fields.value("key", TextCoder.self)
            post = try fields.value("post", IDCoder.self)
            author = try fields.value("author", IDCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            version = try fields.value("version", IntCoder.self)
            content = try fields.optional("content", MessageCoder<FeedV1.PostContent>.self)
            repostKey = try fields.value("repostKey", TextCoder.self)
            videoKey = try fields.value("videoKey", TextCoder.self)
            hidden = try fields.value("hidden", BoolCoder.self)
            limited = try fields.value("limited", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("key", key, TextCoder.self)
            try fields.value("post", post, IDCoder.self)
            try fields.value("author", author, IDCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("version", version, IntCoder.self)
            try fields.optional("content", content, MessageCoder<FeedV1.PostContent>.self)
            try fields.value("repostKey", repostKey, TextCoder.self)
            try fields.value("videoKey", videoKey, TextCoder.self)
            try fields.value("hidden", hidden, BoolCoder.self)
            try fields.value("limited", limited, BoolCoder.self)
        }

    }

    public struct ImportPostsRequest: ProtoMessage {
        /// Posts, 1 to 100 versions: those of a post in their order.
        public var posts: [OperationV1.InterchangePost]

        public init(posts: [OperationV1.InterchangePost] = []) {
            self.posts = posts
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            posts = try fields.list("posts", MessageCoder<OperationV1.InterchangePost>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("posts", posts, MessageCoder<OperationV1.InterchangePost>.self)
        }

    }

    public struct ImportPostsResponse: ProtoMessage {
        /// Results, one for each version.
        public var results: [OperationV1.ImportedItem]

        public init(results: [OperationV1.ImportedItem] = []) {
            self.results = results
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            results = try fields.list("results", MessageCoder<OperationV1.ImportedItem>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("results", results, MessageCoder<OperationV1.ImportedItem>.self)
        }

    }

    public struct ExportPostsRequest: ProtoMessage {
        /// After and after_version are of the last version of the page before; 0: the first page.
        public var after: String
        public var afterVersion: Int
        /// Limit, at most 500; 0 is 500. A page also ends after 512 KiB.
        public var limit: Int

        public init(after: String = "0", afterVersion: Int = 0, limit: Int = 0) {
            self.after = after
            self.afterVersion = afterVersion
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            after = try fields.value("after", IDCoder.self)
            afterVersion = try fields.value("afterVersion", IntCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("after", after, IDCoder.self)
            try fields.value("afterVersion", afterVersion, IntCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ExportPostsResponse: ProtoMessage {
        /// Posts by their ids, without deleted ones.
        public var posts: [OperationV1.InterchangePost]
        /// Total number of versions at present; with the first page only.
        public var total: Int64

        public init(posts: [OperationV1.InterchangePost] = [], total: Int64 = 0) {
            self.posts = posts
            self.total = total
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            posts = try fields.list("posts", MessageCoder<OperationV1.InterchangePost>.self)
            total = try fields.value("total", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("posts", posts, MessageCoder<OperationV1.InterchangePost>.self)
            try fields.value("total", total, Int64Coder.self)
        }

    }

    /// InterchangeComment is a comment in an import or an export.
    public struct InterchangeComment: ProtoMessage {
        /// Key of 1 to 128 bytes names it in the source.
        public var key: String
        /// Comment is the id here; in exports only.
        public var comment: String
        public var author: String
        /// TimeMs when it was created, and edited_ms when it was last edited; 0: never. Milliseconds since 1970, at most now.
        public var timeMs: Int64
        public var editedMs: Int64
        /// PostKey of the post that it is on.
        public var postKey: String
        /// ReplyKey of the comment that it answers; "": none.
        public var replyKey: String
        /// Content; absent if it is deleted.
        public var content: CommentV1.CommentContent?
        /// VideoKey of the video that it is about, in imports only, and video in exports only, and the time of that at which it is shown.
        public var videoKey: String
        public var video: String
        public var videoTimeMs: Int
        /// Deleted: it has replies, and no content any more.
        public var deleted: Bool
        /// Limited: only its author sees it.
        public var limited: Bool

        public init(key: String = "", comment: String = "0", author: String = "0", timeMs: Int64 = 0, editedMs: Int64 = 0, postKey: String = "", replyKey: String = "", content: CommentV1.CommentContent? = nil, videoKey: String = "", video: String = "0", videoTimeMs: Int = 0, deleted: Bool = false, limited: Bool = false) {
            self.key = key
            self.comment = comment
            self.author = author
            self.timeMs = timeMs
            self.editedMs = editedMs
            self.postKey = postKey
            self.replyKey = replyKey
            self.content = content
            self.videoKey = videoKey
            self.video = video
            self.videoTimeMs = videoTimeMs
            self.deleted = deleted
            self.limited = limited
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            key = try fields.value("key", TextCoder.self)
            comment = try fields.value("comment", IDCoder.self)
            author = try fields.value("author", IDCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            editedMs = try fields.value("editedMs", Int64Coder.self)
            postKey = try fields.value("postKey", TextCoder.self)
            replyKey = try fields.value("replyKey", TextCoder.self)
            content = try fields.optional("content", MessageCoder<CommentV1.CommentContent>.self)
            videoKey = try fields.value("videoKey", TextCoder.self)
            video = try fields.value("video", IDCoder.self)
            videoTimeMs = try fields.value("videoTimeMs", IntCoder.self)
            deleted = try fields.value("deleted", BoolCoder.self)
            limited = try fields.value("limited", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("key", key, TextCoder.self)
            try fields.value("comment", comment, IDCoder.self)
            try fields.value("author", author, IDCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("editedMs", editedMs, Int64Coder.self)
            try fields.value("postKey", postKey, TextCoder.self)
            try fields.value("replyKey", replyKey, TextCoder.self)
            try fields.optional("content", content, MessageCoder<CommentV1.CommentContent>.self)
            try fields.value("videoKey", videoKey, TextCoder.self)
            try fields.value("video", video, IDCoder.self)
            try fields.value("videoTimeMs", videoTimeMs, IntCoder.self)
            try fields.value("deleted", deleted, BoolCoder.self)
            try fields.value("limited", limited, BoolCoder.self)
        }

    }

    public struct ImportCommentsRequest: ProtoMessage {
        /// Comments, 1 to 100: each behind what it answers.
        public var comments: [OperationV1.InterchangeComment]

        public init(comments: [OperationV1.InterchangeComment] = []) {
            self.comments = comments
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            comments = try fields.list("comments", MessageCoder<OperationV1.InterchangeComment>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("comments", comments, MessageCoder<OperationV1.InterchangeComment>.self)
        }

    }

    public struct ImportCommentsResponse: ProtoMessage {
        /// Results, one for each comment.
        public var results: [OperationV1.ImportedItem]

        public init(results: [OperationV1.ImportedItem] = []) {
            self.results = results
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            results = try fields.list("results", MessageCoder<OperationV1.ImportedItem>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("results", results, MessageCoder<OperationV1.ImportedItem>.self)
        }

    }

    public struct ExportCommentsRequest: ProtoMessage {
        /// After is the last comment of the page before; 0: the first page.
        public var after: String
        /// Limit, at most 500; 0 is 500. A page also ends after 512 KiB.
        public var limit: Int

        public init(after: String = "0", limit: Int = 0) {
            self.after = after
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            after = try fields.value("after", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("after", after, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ExportCommentsResponse: ProtoMessage {
        /// Comments by their ids. Deleted ones without replies are left out.
        public var comments: [OperationV1.InterchangeComment]
        /// Next is the comment after which the next page begins; 0: there is none. A page may have no comments although there is a next one.
        public var next: String
        /// Total number of comments at present; with the first page only.
        public var total: Int64

        public init(comments: [OperationV1.InterchangeComment] = [], next: String = "0", total: Int64 = 0) {
            self.comments = comments
            self.next = next
            self.total = total
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            comments = try fields.list("comments", MessageCoder<OperationV1.InterchangeComment>.self)
            next = try fields.value("next", IDCoder.self)
            total = try fields.value("total", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("comments", comments, MessageCoder<OperationV1.InterchangeComment>.self)
            try fields.value("next", next, IDCoder.self)
            try fields.value("total", total, Int64Coder.self)
        }

    }

    /// InterchangeLike is a like or a favourite in an import or an export.
    public struct InterchangeLike: ProtoMessage {
        public var kind: OperationV1.InterchangeLikeKind
        /// Key of the post or the comment.
        public var key: String
        public var user: String
        /// TimeMs, milliseconds since 1970, at most now.
        public var timeMs: Int64
        /// Subject is the id of the post or the comment here; in exports only.
        public var subject: String

        public init(kind: OperationV1.InterchangeLikeKind = .unspecified, key: String = "", user: String = "0", timeMs: Int64 = 0, subject: String = "0") {
            self.kind = kind
            self.key = key
            self.user = user
            self.timeMs = timeMs
            self.subject = subject
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try fields.value("kind", EnumCoder<OperationV1.InterchangeLikeKind>.self)
            key = try fields.value("key", TextCoder.self)
            user = try fields.value("user", IDCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            subject = try fields.value("subject", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("kind", kind, EnumCoder<OperationV1.InterchangeLikeKind>.self)
            try fields.value("key", key, TextCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("subject", subject, IDCoder.self)
        }

    }

    public struct ImportLikesRequest: ProtoMessage {
        /// Likes, 1 to 100.
        public var likes: [OperationV1.InterchangeLike]

        public init(likes: [OperationV1.InterchangeLike] = []) {
            self.likes = likes
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            likes = try fields.list("likes", MessageCoder<OperationV1.InterchangeLike>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("likes", likes, MessageCoder<OperationV1.InterchangeLike>.self)
        }

    }

    public struct ImportLikesResponse: ProtoMessage {
        /// Results, one for each like.
        public var results: [OperationV1.ImportedItem]

        public init(results: [OperationV1.ImportedItem] = []) {
            self.results = results
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            results = try fields.list("results", MessageCoder<OperationV1.ImportedItem>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("results", results, MessageCoder<OperationV1.ImportedItem>.self)
        }

    }

    public struct ExportLikesRequest: ProtoMessage {
        /// AfterKind, after_subject and after_user are of the last like of the page before, whether or not it is in the page; 0: the first page.
        public var afterKind: OperationV1.InterchangeLikeKind
        public var afterSubject: String
        public var afterUser: String
        /// Limit, at most 500; 0 is 500.
        public var limit: Int

        public init(afterKind: OperationV1.InterchangeLikeKind = .unspecified, afterSubject: String = "0", afterUser: String = "0", limit: Int = 0) {
            self.afterKind = afterKind
            self.afterSubject = afterSubject
            self.afterUser = afterUser
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            afterKind = try fields.value("afterKind", EnumCoder<OperationV1.InterchangeLikeKind>.self)
            afterSubject = try fields.value("afterSubject", IDCoder.self)
            afterUser = try fields.value("afterUser", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("afterKind", afterKind, EnumCoder<OperationV1.InterchangeLikeKind>.self)
            try fields.value("afterSubject", afterSubject, IDCoder.self)
            try fields.value("afterUser", afterUser, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ExportLikesResponse: ProtoMessage {
        /// Likes of posts and comments that were not deleted.
        public var likes: [OperationV1.InterchangeLike]
        /// Next is where the next page begins; absent: there is none. A page may have no likes although there is a next one.
        public var next: OperationV1.ExportLikesRequest?
        /// Total number of likes and favourites at present; with the first page only.
        public var total: Int64

        public init(likes: [OperationV1.InterchangeLike] = [], next: OperationV1.ExportLikesRequest? = nil, total: Int64 = 0) {
            self.likes = likes
            self.next = next
            self.total = total
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            likes = try fields.list("likes", MessageCoder<OperationV1.InterchangeLike>.self)
            next = try fields.optional("next", MessageCoder<OperationV1.ExportLikesRequest>.self)
            total = try fields.value("total", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("likes", likes, MessageCoder<OperationV1.InterchangeLike>.self)
            try fields.optional("next", next, MessageCoder<OperationV1.ExportLikesRequest>.self)
            try fields.value("total", total, Int64Coder.self)
        }

    }

    /// InterchangeLikeKind is what a user has done with a post or a comment.
    public enum InterchangeLikeKind: ProtoEnum {
        case unspecified
        /// The user likes a post.
        case post
        /// The post is among the user's favourites.
        case favourite
        /// The user likes a comment.
        case comment
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<InterchangeLikeKind>] = [
            ProtoEnumValue("INTERCHANGE_LIKE_KIND_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("INTERCHANGE_LIKE_KIND_POST", 1, .post),
            ProtoEnumValue("INTERCHANGE_LIKE_KIND_FAVOURITE", 2, .favourite),
            ProtoEnumValue("INTERCHANGE_LIKE_KIND_COMMENT", 3, .comment),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
