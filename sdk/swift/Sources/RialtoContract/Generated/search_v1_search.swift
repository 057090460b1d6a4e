// Made from rialto/search/v1/search.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.search.v1.
public enum SearchV1 {}

extension SearchV1 {
    /// SearchService finds users, conversations, messages, posts, videos and files by their text.
    ///
    /// A caller finds what the caller may read when the call is answered, and nothing else: the answer says nothing of the rest, not even how much there is.
    /// What was recalled, edited, deleted or hidden before the call is not found by its old text. What is new is found within a second.
    public enum SearchService {
        /// Search gives the best hits for a query, in a group for each kind.
        public static let search = RialtoContract.Call<SearchV1.SearchRequest, SearchV1.SearchResponse>("rialto.search.v1.SearchService/Search")
    }

    public struct SearchRequest: ProtoMessage {
        /// Query has words, all of which a hit contains, and filters: from:@handle or from:me, in:@handle or in:ID of a conversation, kind:user,
        /// kind:conversation, kind:message, kind:post, kind:video or kind:file, type:image, type:video, type:audio, type:document, type:archive or type:other of a file,
        /// before:2026-01-31, after:2026-01-31 (UTC: from the beginning of that day on, or until then) and has:link. "Several words" in quotes are found as they stand. At
        /// most 256 characters and 16 words. A query with filters other than kind: needs no words, and finds the newest.
        public var query: String
        /// Kinds to search for, beside those of the query; empty: all.
        public var kinds: [SearchV1.HitKind]
        /// Typing: the query is not finished, so that its last word stands for all words which begin with it.
        public var typing: Bool
        /// Limit of the hits of each group, at most 50; 0 is 5, or 20 where one kind is searched for.
        public var limit: Int
        /// Page is the next of the group before, for the same query and a single kind. Empty: the first page.
        public var page: String
        /// From are the users who wrote it, at most 20, beside those of the query.
        public var from: [String]
        /// Conversation that the messages and files are in; 0: any.
        public var conversation: String
        /// BeforeMs and after_ms bound the time of the hits, milliseconds since 1970; before_ms is exclusive. 0: no bound.
        public var beforeMs: Int64
        public var afterMs: Int64
        /// HasLink: only messages, posts, videos and files with a link.
        public var hasLink: Bool
        /// Explain gives the scores of the hits. Only keys of servers may.
        public var explain: Bool
        /// FileTypes: only files of these types, beside those of the query; empty: of any. With types, nothing but files is found.
        public var fileTypes: [SearchV1.FileType]

        public init(query: String = "", kinds: [SearchV1.HitKind] = [], typing: Bool = false, limit: Int = 0, page: String = "", from: [String] = [], conversation: String = "0", beforeMs: Int64 = 0, afterMs: Int64 = 0, hasLink: Bool = false, explain: Bool = false, fileTypes: [SearchV1.FileType] = []) {
            self.query = query
            self.kinds = kinds
            self.typing = typing
            self.limit = limit
            self.page = page
            self.from = from
            self.conversation = conversation
            self.beforeMs = beforeMs
            self.afterMs = afterMs
            self.hasLink = hasLink
            self.explain = explain
            self.fileTypes = fileTypes
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            query = try fields.value("query", TextCoder.self)
            kinds = try fields.list("kinds", EnumCoder<SearchV1.HitKind>.self)
            typing = try fields.value("typing", BoolCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
            from = try fields.list("from", IDCoder.self)
            conversation = try fields.value("conversation", IDCoder.self)
            beforeMs = try fields.value("beforeMs", Int64Coder.self)
            afterMs = try fields.value("afterMs", Int64Coder.self)
            hasLink = try fields.value("hasLink", BoolCoder.self)
            explain = try fields.value("explain", BoolCoder.self)
            fileTypes = try fields.list("fileTypes", EnumCoder<SearchV1.FileType>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("query", query, TextCoder.self)
            try fields.list("kinds", kinds, EnumCoder<SearchV1.HitKind>.self)
            try fields.value("typing", typing, BoolCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
            try fields.list("from", from, IDCoder.self)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("beforeMs", beforeMs, Int64Coder.self)
            try fields.value("afterMs", afterMs, Int64Coder.self)
            try fields.value("hasLink", hasLink, BoolCoder.self)
            try fields.value("explain", explain, BoolCoder.self)
            try fields.list("fileTypes", fileTypes, EnumCoder<SearchV1.FileType>.self)
        }

    }

    public struct SearchResponse: ProtoMessage {
        /// Groups in the order of their best hits; those without hits are absent.
        public var groups: [SearchV1.HitGroup]
        /// Incomplete: the index does not have everything yet, because it is being built; hits may be missing. Say so, and search again later.
        public var incomplete: Bool

        public init(groups: [SearchV1.HitGroup] = [], incomplete: Bool = false) {
            self.groups = groups
            self.incomplete = incomplete
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            groups = try fields.list("groups", MessageCoder<SearchV1.HitGroup>.self)
            incomplete = try fields.value("incomplete", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("groups", groups, MessageCoder<SearchV1.HitGroup>.self)
            try fields.value("incomplete", incomplete, BoolCoder.self)
        }

    }

    public struct HitGroup: ProtoMessage {
        public var kind: SearchV1.HitKind
        /// Hits of the page, the best first.
        public var hits: [SearchV1.Hit]
        /// Next is the page of the next hits; empty: there are none. A page may have fewer hits than its limit, or none, although there is a next one.
        public var next: String

        public init(kind: SearchV1.HitKind = .unspecified, hits: [SearchV1.Hit] = [], next: String = "") {
            self.kind = kind
            self.hits = hits
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try fields.value("kind", EnumCoder<SearchV1.HitKind>.self)
            hits = try fields.list("hits", MessageCoder<SearchV1.Hit>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("kind", kind, EnumCoder<SearchV1.HitKind>.self)
            try fields.list("hits", hits, MessageCoder<SearchV1.Hit>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// Hit as the caller may read it now. It has exactly one of user, conversation, message and post. The hit of a file is the message that it was sent with, the hit of
    /// a video the post that shows it.
    public struct Hit: ProtoMessage {
        /// Text that was searched: of a user the name and the handle, of a conversation the title, of a message the text or caption, and the names of its files, of a post
        /// title and text. Of a file it is its name in the first line, if it has one, and the caption; if these alone do not match, the names of all files and the caption. Of a video it is title and
        /// text, and the subtitles, each cue in a line, if title and text alone do not match. Long texts are cut around the first highlight, and begin or end with "…" where they are.
        public var text: String
        /// Highlights are the parts of the text that the query matches, in their order. They do not overlap.
        public var highlights: [SearchV1.Highlight]
        public var user: AccountV1.User?
        /// Conversation without the fields of a list: last_message, state, unread and cursors.
        public var conversation: ChatV1.Conversation?
        /// Message, to be opened in its conversation at its seq. Of a message and a file.
        public var message: ChatV1.Message?
        public var post: FeedV1.Post?
        /// Score of the hit; only with explain.
        public var score: SearchV1.Score?
        /// File of the message that matches best; only of a file.
        public var file: SearchV1.FoundFile?
        /// Video that the post shows, as in ListVideos; only of a video.
        public var video: VideoV1.Video?

        public init(text: String = "", highlights: [SearchV1.Highlight] = [], user: AccountV1.User? = nil, conversation: ChatV1.Conversation? = nil, message: ChatV1.Message? = nil, post: FeedV1.Post? = nil, score: SearchV1.Score? = nil, file: SearchV1.FoundFile? = nil, video: VideoV1.Video? = nil) {
            self.text = text
            self.highlights = highlights
            self.user = user
            self.conversation = conversation
            self.message = message
            self.post = post
            self.score = score
            self.file = file
            self.video = video
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            text = try fields.value("text", TextCoder.self)
            highlights = try fields.list("highlights", MessageCoder<SearchV1.Highlight>.self)
            user = try fields.optional("user", MessageCoder<AccountV1.User>.self)
            conversation = try fields.optional("conversation", MessageCoder<ChatV1.Conversation>.self)
            message = try fields.optional("message", MessageCoder<ChatV1.Message>.self)
            post = try fields.optional("post", MessageCoder<FeedV1.Post>.self)
            score = try fields.optional("score", MessageCoder<SearchV1.Score>.self)
            file = try fields.optional("file", MessageCoder<SearchV1.FoundFile>.self)
            video = try fields.optional("video", MessageCoder<VideoV1.Video>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("text", text, TextCoder.self)
            try fields.list("highlights", highlights, MessageCoder<SearchV1.Highlight>.self)
            try fields.optional("user", user, MessageCoder<AccountV1.User>.self)
            try fields.optional("conversation", conversation, MessageCoder<ChatV1.Conversation>.self)
            try fields.optional("message", message, MessageCoder<ChatV1.Message>.self)
            try fields.optional("post", post, MessageCoder<FeedV1.Post>.self)
            try fields.optional("score", score, MessageCoder<SearchV1.Score>.self)
            try fields.optional("file", file, MessageCoder<SearchV1.FoundFile>.self)
            try fields.optional("video", video, MessageCoder<VideoV1.Video>.self)
        }

    }

    /// FoundFile is a file of a message.
    public struct FoundFile: ProtoMessage {
        /// Media as the message has it: its name, MIME type and size are the sender's word.
        public var media: ChatV1.Media?
        public var type: SearchV1.FileType
        /// Others is how many further files the message has.
        public var others: Int

        public init(media: ChatV1.Media? = nil, type: SearchV1.FileType = .unspecified, others: Int = 0) {
            self.media = media
            self.type = type
            self.others = others
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            media = try fields.optional("media", MessageCoder<ChatV1.Media>.self)
            type = try fields.value("type", EnumCoder<SearchV1.FileType>.self)
            others = try fields.value("others", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("media", media, MessageCoder<ChatV1.Media>.self)
            try fields.value("type", type, EnumCoder<SearchV1.FileType>.self)
            try fields.value("others", others, IntCoder.self)
        }

    }

    /// Highlight is a part of a text, in characters (Unicode code points).
    public struct Highlight: ProtoMessage {
        public var start: Int
        public var length: Int

        public init(start: Int = 0, length: Int = 0) {
            self.start = start
            self.length = length
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            start = try fields.value("start", IntCoder.self)
            length = try fields.value("length", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("start", start, IntCoder.self)
            try fields.value("length", length, IntCoder.self)
        }

    }

    /// Score is the product of its parts.
    public struct Score: ProtoMessage {
        public var total: Double
        /// Text is how well the words match: 1 for exact words, less for words that begin so, and for words with a typo.
        public var text: Double
        /// Recency falls from 1 with age, by the weight search_recency and the setting search.recency_half_life.
        public var recency: Double
        /// Popularity rises from 1 with likes, comments and followers, by the weight search_popularity.
        public var popularity: Double
        /// Preference rises from 1 if a post or a video is like those which the reader liked or commented on lately, by the weight search_preference. It orders the hits of each
        /// page; which hits a page has is decided by the other parts. It is 1 for readers without personalization, and for other kinds.
        public var preference: Double

        public init(total: Double = 0, text: Double = 0, recency: Double = 0, popularity: Double = 0, preference: Double = 0) {
            self.total = total
            self.text = text
            self.recency = recency
            self.popularity = popularity
            self.preference = preference
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            total = try fields.value("total", DoubleCoder.self)
            text = try fields.value("text", DoubleCoder.self)
            recency = try fields.value("recency", DoubleCoder.self)
            popularity = try fields.value("popularity", DoubleCoder.self)
            preference = try fields.value("preference", DoubleCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("total", total, DoubleCoder.self)
            try fields.value("text", text, DoubleCoder.self)
            try fields.value("recency", recency, DoubleCoder.self)
            try fields.value("popularity", popularity, DoubleCoder.self)
            try fields.value("preference", preference, DoubleCoder.self)
        }

    }

    /// HitKind is what was found. Kinds are added: a client passes over those that it does not know. A message with a file is found as a message by its caption and the
    /// names of its files, and as a file; a post with a video as a post, and as a video. With one kind, each is found once.
    public enum HitKind: ProtoEnum {
        case unspecified
        case user
        case conversation
        case message
        case post
        /// A post that shows a video, by its title, its text and the subtitles of the video. Posts whose video was deleted, or failed, are found as posts only.
        case video
        /// A message with files, by their names and its caption: images, videos, voice messages, other files, albums, and forwards of these.
        case file
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<HitKind>] = [
            ProtoEnumValue("HIT_KIND_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("HIT_KIND_USER", 1, .user),
            ProtoEnumValue("HIT_KIND_CONVERSATION", 2, .conversation),
            ProtoEnumValue("HIT_KIND_MESSAGE", 3, .message),
            ProtoEnumValue("HIT_KIND_POST", 4, .post),
            ProtoEnumValue("HIT_KIND_VIDEO", 5, .video),
            ProtoEnumValue("HIT_KIND_FILE", 6, .file),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// FileType groups files by their MIME types, or by the extensions of their names if the MIME type is missing or says nothing.
    public enum FileType: ProtoEnum {
        case unspecified
        case image
        case video
        /// Sounds, and voice messages.
        case audio
        /// Texts, tables, presentations, PDF.
        case document
        /// Packed files, such as ZIP.
        case archive
        case other
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<FileType>] = [
            ProtoEnumValue("FILE_TYPE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("FILE_TYPE_IMAGE", 1, .image),
            ProtoEnumValue("FILE_TYPE_VIDEO", 2, .video),
            ProtoEnumValue("FILE_TYPE_AUDIO", 3, .audio),
            ProtoEnumValue("FILE_TYPE_DOCUMENT", 4, .document),
            ProtoEnumValue("FILE_TYPE_ARCHIVE", 5, .archive),
            ProtoEnumValue("FILE_TYPE_OTHER", 6, .other),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
