// Made from rialto/comment/v1/comment.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.comment.v1.
public enum CommentV1 {}

extension CommentV1 {
    /// CommentService: comments on posts, and replies to comments.
    ///
    /// A comment that the caller may not see does not exist for the caller: it was deleted, the caller may not see its subject, or there is a block
    /// between the caller and its author, or between the caller and the author of the comment at the top of its thread.
    public enum CommentService {
        /// CreateComment stores a comment, or a reply. A retry with the same client_comment_id returns the stored comment.
        public static let createComment = RialtoContract.Call<CommentV1.CreateCommentRequest, CommentV1.Comment>("rialto.comment.v1.CommentService/CreateComment")
        /// GetComment gives a comment.
        public static let getComment = RialtoContract.Call<CommentV1.GetCommentRequest, CommentV1.Comment>("rialto.comment.v1.CommentService/GetComment")
        /// EditComment replaces the content of a comment of one's own. A retry is harmless.
        public static let editComment = RialtoContract.Call<CommentV1.EditCommentRequest, CommentV1.Comment>("rialto.comment.v1.CommentService/EditComment")
        /// DeleteComment deletes a comment of one's own, or one on a subject of one's own. A retry is harmless. If a top comment has replies, they stay, and its
        /// place stays without a content.
        public static let deleteComment = RialtoContract.Call<CommentV1.DeleteCommentRequest, CommentV1.DeleteCommentResponse>("rialto.comment.v1.CommentService/DeleteComment")
        /// ListComments gives the top comments of a subject. No comment is on two pages of a list, and each that existed before the first page is on one.
        public static let listComments = RialtoContract.Call<CommentV1.ListCommentsRequest, CommentV1.ListCommentsResponse>("rialto.comment.v1.CommentService/ListComments")
        /// ListReplies gives the replies of a thread, the oldest first: those to its top comment, and those to other replies.
        public static let listReplies = RialtoContract.Call<CommentV1.ListRepliesRequest, CommentV1.ListRepliesResponse>("rialto.comment.v1.CommentService/ListReplies")
        /// CountComments gives the number of comments of subjects.
        public static let countComments = RialtoContract.Call<CommentV1.CountCommentsRequest, CommentV1.CountCommentsResponse>("rialto.comment.v1.CommentService/CountComments")
        /// ListTimedComments gives comments on the video of a post within a window of its time, sorted by that: of each ten seconds the newest 100.
        public static let listTimedComments = RialtoContract.Call<CommentV1.ListTimedCommentsRequest, CommentV1.ListTimedCommentsResponse>("rialto.comment.v1.CommentService/ListTimedComments")
    }

    /// CommentContent is what an author writes. It has a text or an image.
    public struct CommentContent: ProtoMessage {
        /// Text of at most 2,000 characters.
        public var text: String
        /// Image of the author. It has a name of at most 255 characters and no caption. Absent: none.
        public var image: ChatV1.Media?
        /// Mentions of users in the text, in the order of their places, at most 50. Each names a user. Those who may see the comment are notified.
        public var mentions: [ChatV1.Mention]

        public init(text: String = "", image: ChatV1.Media? = nil, mentions: [ChatV1.Mention] = []) {
            self.text = text
            self.image = image
            self.mentions = mentions
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            text = try fields.value("text", TextCoder.self)
            image = try fields.optional("image", MessageCoder<ChatV1.Media>.self)
            mentions = try fields.list("mentions", MessageCoder<ChatV1.Mention>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("text", text, TextCoder.self)
            try fields.optional("image", image, MessageCoder<ChatV1.Media>.self)
            try fields.list("mentions", mentions, MessageCoder<ChatV1.Mention>.self)
        }

    }

    /// Comment as one reader sees it.
    public struct Comment: ProtoMessage {
        /// Id of the comment. A reply has a higher one than what it answers.
        public var id: String
        public var subjectKind: CommentV1.SubjectKind
        /// Subject is the id of what the comment is about.
        public var subject: String
        /// Author who wrote it; 0 if it is deleted.
        public var author: String
        /// Content; absent if it is deleted.
        public var content: CommentV1.CommentContent?
        /// Top is the comment at the top of the thread that this reply is in; 0: it is a top comment.
        public var top: String
        /// ReplyTo is the comment that this one answers: the top comment or a reply, which may be deleted; 0: none.
        public var replyTo: String
        /// ReplyToAuthor is the author of reply_to; 0 if there is a block between that user and the caller.
        public var replyToAuthor: String
        /// Replies in the thread of a top comment, of all users.
        public var replies: Int
        /// CreatedMs is when it was created, milliseconds since 1970.
        public var createdMs: Int64
        /// EditedMs is when it was last edited, milliseconds since 1970; 0: never.
        public var editedMs: Int64
        /// Deleted: the empty place of a top comment that has replies.
        public var deleted: Bool
        /// Likes of all users, also of those with whom the caller has a block; EngagementService.Like.
        public var likes: Int
        /// Liked by the caller.
        public var liked: Bool
        /// Video that the comment is about, for a subject of that kind.
        public var video: String
        /// TimeMs is the time of the video at which it is shown.
        public var timeMs: Int

        public init(id: String = "0", subjectKind: CommentV1.SubjectKind = .unspecified, subject: String = "0", author: String = "0", content: CommentV1.CommentContent? = nil, top: String = "0", replyTo: String = "0", replyToAuthor: String = "0", replies: Int = 0, createdMs: Int64 = 0, editedMs: Int64 = 0, deleted: Bool = false, likes: Int = 0, liked: Bool = false, video: String = "0", timeMs: Int = 0) {
            self.id = id
            self.subjectKind = subjectKind
            self.subject = subject
            self.author = author
            self.content = content
            self.top = top
            self.replyTo = replyTo
            self.replyToAuthor = replyToAuthor
            self.replies = replies
            self.createdMs = createdMs
            self.editedMs = editedMs
            self.deleted = deleted
            self.likes = likes
            self.liked = liked
            self.video = video
            self.timeMs = timeMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            subjectKind = try fields.value("subjectKind", EnumCoder<CommentV1.SubjectKind>.self)
            subject = try fields.value("subject", IDCoder.self)
            author = try fields.value("author", IDCoder.self)
            content = try fields.optional("content", MessageCoder<CommentV1.CommentContent>.self)
            top = try fields.value("top", IDCoder.self)
            replyTo = try fields.value("replyTo", IDCoder.self)
            replyToAuthor = try fields.value("replyToAuthor", IDCoder.self)
            replies = try fields.value("replies", IntCoder.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            editedMs = try fields.value("editedMs", Int64Coder.self)
            deleted = try fields.value("deleted", BoolCoder.self)
            likes = try fields.value("likes", IntCoder.self)
            liked = try fields.value("liked", BoolCoder.self)
            video = try fields.value("video", IDCoder.self)
            timeMs = try fields.value("timeMs", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("subjectKind", subjectKind, EnumCoder<CommentV1.SubjectKind>.self)
            try fields.value("subject", subject, IDCoder.self)
            try fields.value("author", author, IDCoder.self)
            try fields.optional("content", content, MessageCoder<CommentV1.CommentContent>.self)
            try fields.value("top", top, IDCoder.self)
            try fields.value("replyTo", replyTo, IDCoder.self)
            try fields.value("replyToAuthor", replyToAuthor, IDCoder.self)
            try fields.value("replies", replies, IntCoder.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.value("editedMs", editedMs, Int64Coder.self)
            try fields.value("deleted", deleted, BoolCoder.self)
            try fields.value("likes", likes, IntCoder.self)
            try fields.value("liked", liked, BoolCoder.self)
            try fields.value("video", video, IDCoder.self)
            try fields.value("timeMs", timeMs, IntCoder.self)
        }

    }

    public struct CreateCommentRequest: ProtoMessage {
        /// ClientCommentId of 1 to 64 bytes, new for each comment of the author.
        public var clientCommentId: String
        public var subjectKind: CommentV1.SubjectKind
        /// Subject is the id of what the comment is about.
        public var subject: String
        /// ReplyTo is a comment of the same subject that this one answers; 0: none.
        public var replyTo: String
        /// Content; with a video, a text of at most 100 characters in one line, and nothing else.
        public var content: CommentV1.CommentContent?
        /// Video that the post shows, for a subject of that kind, and else 0.
        public var video: String
        /// TimeMs is a time within the video.
        public var timeMs: Int

        public init(clientCommentId: String = "", subjectKind: CommentV1.SubjectKind = .unspecified, subject: String = "0", replyTo: String = "0", content: CommentV1.CommentContent? = nil, video: String = "0", timeMs: Int = 0) {
            self.clientCommentId = clientCommentId
            self.subjectKind = subjectKind
            self.subject = subject
            self.replyTo = replyTo
            self.content = content
            self.video = video
            self.timeMs = timeMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            clientCommentId = try fields.value("clientCommentId", TextCoder.self)
            subjectKind = try fields.value("subjectKind", EnumCoder<CommentV1.SubjectKind>.self)
            subject = try fields.value("subject", IDCoder.self)
            replyTo = try fields.value("replyTo", IDCoder.self)
            content = try fields.optional("content", MessageCoder<CommentV1.CommentContent>.self)
            video = try fields.value("video", IDCoder.self)
            timeMs = try fields.value("timeMs", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("clientCommentId", clientCommentId, TextCoder.self)
            try fields.value("subjectKind", subjectKind, EnumCoder<CommentV1.SubjectKind>.self)
            try fields.value("subject", subject, IDCoder.self)
            try fields.value("replyTo", replyTo, IDCoder.self)
            try fields.optional("content", content, MessageCoder<CommentV1.CommentContent>.self)
            try fields.value("video", video, IDCoder.self)
            try fields.value("timeMs", timeMs, IntCoder.self)
        }

    }

    public struct GetCommentRequest: ProtoMessage {
        public var comment: String

        public init(comment: String = "0") {
            self.comment = comment
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            comment = try fields.value("comment", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("comment", comment, IDCoder.self)
        }

    }

    public struct EditCommentRequest: ProtoMessage {
        public var comment: String
        public var content: CommentV1.CommentContent?

        public init(comment: String = "0", content: CommentV1.CommentContent? = nil) {
            self.comment = comment
            self.content = content
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            comment = try fields.value("comment", IDCoder.self)
            content = try fields.optional("content", MessageCoder<CommentV1.CommentContent>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("comment", comment, IDCoder.self)
            try fields.optional("content", content, MessageCoder<CommentV1.CommentContent>.self)
        }

    }

    public struct DeleteCommentRequest: ProtoMessage {
        public var comment: String

        public init(comment: String = "0") {
            self.comment = comment
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            comment = try fields.value("comment", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("comment", comment, IDCoder.self)
        }

    }

    public struct DeleteCommentResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListCommentsRequest: ProtoMessage {
        public var subjectKind: CommentV1.SubjectKind
        public var subject: String
        public var order: CommentV1.CommentOrder
        /// Page is the next of the previous page of the same order; empty: the first one.
        public var page: String
        /// Limit of the comments, at most 50; 0 is 20.
        public var limit: Int

        public init(subjectKind: CommentV1.SubjectKind = .unspecified, subject: String = "0", order: CommentV1.CommentOrder = .unspecified, page: String = "", limit: Int = 0) {
            self.subjectKind = subjectKind
            self.subject = subject
            self.order = order
            self.page = page
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            subjectKind = try fields.value("subjectKind", EnumCoder<CommentV1.SubjectKind>.self)
            subject = try fields.value("subject", IDCoder.self)
            order = try fields.value("order", EnumCoder<CommentV1.CommentOrder>.self)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("subjectKind", subjectKind, EnumCoder<CommentV1.SubjectKind>.self)
            try fields.value("subject", subject, IDCoder.self)
            try fields.value("order", order, EnumCoder<CommentV1.CommentOrder>.self)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListCommentsResponse: ProtoMessage {
        public var comments: [CommentV1.Comment]
        /// Next is the page of the next request; empty: there is none. A page may have fewer comments than its limit, or none, although there is a next one.
        public var next: String

        public init(comments: [CommentV1.Comment] = [], next: String = "") {
            self.comments = comments
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            comments = try fields.list("comments", MessageCoder<CommentV1.Comment>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("comments", comments, MessageCoder<CommentV1.Comment>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct ListRepliesRequest: ProtoMessage {
        /// Comment at the top of the thread.
        public var comment: String
        /// Page is the next of the previous page; empty: the first one.
        public var page: String
        /// Limit of the replies, at most 50; 0 is 20.
        public var limit: Int

        public init(comment: String = "0", page: String = "", limit: Int = 0) {
            self.comment = comment
            self.page = page
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            comment = try fields.value("comment", IDCoder.self)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("comment", comment, IDCoder.self)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListRepliesResponse: ProtoMessage {
        public var replies: [CommentV1.Comment]
        /// Next is the page of the next request; empty: there is none. A page may have fewer replies than its limit, or none, although there is a next one.
        public var next: String

        public init(replies: [CommentV1.Comment] = [], next: String = "") {
            self.replies = replies
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            replies = try fields.list("replies", MessageCoder<CommentV1.Comment>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("replies", replies, MessageCoder<CommentV1.Comment>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct CountCommentsRequest: ProtoMessage {
        public var subjectKind: CommentV1.SubjectKind
        /// Subjects, at most 100.
        public var subjects: [String]

        public init(subjectKind: CommentV1.SubjectKind = .unspecified, subjects: [String] = []) {
            self.subjectKind = subjectKind
            self.subjects = subjects
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            subjectKind = try fields.value("subjectKind", EnumCoder<CommentV1.SubjectKind>.self)
            subjects = try fields.list("subjects", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("subjectKind", subjectKind, EnumCoder<CommentV1.SubjectKind>.self)
            try fields.list("subjects", subjects, IDCoder.self)
        }

    }

    public struct CountCommentsResponse: ProtoMessage {
        /// Counts of those subjects that the caller may see.
        public var counts: [CommentV1.CommentCount]

        public init(counts: [CommentV1.CommentCount] = []) {
            self.counts = counts
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            counts = try fields.list("counts", MessageCoder<CommentV1.CommentCount>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("counts", counts, MessageCoder<CommentV1.CommentCount>.self)
        }

    }

    /// CommentCount of a subject.
    public struct CommentCount: ProtoMessage {
        public var subject: String
        /// Comments and replies of all users that are not deleted.
        public var comments: Int

        public init(subject: String = "0", comments: Int = 0) {
            self.subject = subject
            self.comments = comments
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            subject = try fields.value("subject", IDCoder.self)
            comments = try fields.value("comments", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("subject", subject, IDCoder.self)
            try fields.value("comments", comments, IntCoder.self)
        }

    }

    public struct ListTimedCommentsRequest: ProtoMessage {
        /// Post that shows the video.
        public var post: String
        public var video: String
        /// FromMs is the beginning of the window.
        public var fromMs: Int
        /// ToMs is the end of the window, at most a minute later. A comment at this time is behind it.
        public var toMs: Int

        public init(post: String = "0", video: String = "0", fromMs: Int = 0, toMs: Int = 0) {
            self.post = post
            self.video = video
            self.fromMs = fromMs
            self.toMs = toMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.value("post", IDCoder.self)
            video = try fields.value("video", IDCoder.self)
            fromMs = try fields.value("fromMs", IntCoder.self)
            toMs = try fields.value("toMs", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("post", post, IDCoder.self)
            try fields.value("video", video, IDCoder.self)
            try fields.value("fromMs", fromMs, IntCoder.self)
            try fields.value("toMs", toMs, IntCoder.self)
        }

    }

    public struct ListTimedCommentsResponse: ProtoMessage {
        public var comments: [CommentV1.Comment]

        public init(comments: [CommentV1.Comment] = []) {
            self.comments = comments
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            comments = try fields.list("comments", MessageCoder<CommentV1.Comment>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("comments", comments, MessageCoder<CommentV1.Comment>.self)
        }

    }

    /// SubjectKind is what a comment is about.
    public enum SubjectKind: ProtoEnum {
        case unspecified
        case post
        /// The video that a post shows, at a time of it. The subject is the post. Such a comment has a text in one line, is shown over the picture, and is neither answered
        /// nor edited.
        case video
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<SubjectKind>] = [
            ProtoEnumValue("SUBJECT_KIND_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("SUBJECT_KIND_POST", 1, .post),
            ProtoEnumValue("SUBJECT_KIND_VIDEO", 2, .video),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// CommentOrder of a list.
    public enum CommentOrder: ProtoEnum {
        /// Unspecified is the newest first.
        case unspecified
        case newest
        case oldest
        /// Those with the most likes first, and with about as many the newest. The order is some seconds old, and all pages have that of the first one. A page
        /// token is valid for 15 minutes.
        case likes
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<CommentOrder>] = [
            ProtoEnumValue("COMMENT_ORDER_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("COMMENT_ORDER_NEWEST", 1, .newest),
            ProtoEnumValue("COMMENT_ORDER_OLDEST", 2, .oldest),
            ProtoEnumValue("COMMENT_ORDER_LIKES", 3, .likes),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
