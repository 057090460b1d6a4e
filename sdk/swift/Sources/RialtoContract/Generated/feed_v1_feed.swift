// Made from rialto/feed/v1/feed.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.feed.v1.
public enum FeedV1 {}

extension FeedV1 {
    /// FeedService: posts, the profiles that list them, and home timelines.
    ///
    /// A post that the caller may not see does not exist for the caller: its author deleted it, a moderator hid it, it is for others, or one of the
    /// two has blocked the other.
    public enum FeedService {
        /// Publish stores a post and brings it to the timelines of the author's followers. A retry with the same client_post_id returns the stored post.
        public static let publish = RialtoContract.Call<FeedV1.PublishRequest, FeedV1.Post>("rialto.feed.v1.FeedService/Publish")
        /// GetPost gives a post.
        public static let getPost = RialtoContract.Call<FeedV1.GetPostRequest, FeedV1.Post>("rialto.feed.v1.FeedService/GetPost")
        /// GetPostPage gives a post with what a page of it shows. It fails if there is no such post. Parts that could not be read in time are named.
        public static let getPostPage = RialtoContract.Call<FeedV1.GetPostPageRequest, FeedV1.PostPage>("rialto.feed.v1.FeedService/GetPostPage")
        /// EditPost replaces the content of a post of one's own. Earlier versions are kept.
        public static let editPost = RialtoContract.Call<FeedV1.EditPostRequest, FeedV1.Post>("rialto.feed.v1.FeedService/EditPost")
        /// DeletePost deletes a post of one's own, for everybody. A retry is harmless.
        public static let deletePost = RialtoContract.Call<FeedV1.DeletePostRequest, FeedV1.DeletePostResponse>("rialto.feed.v1.FeedService/DeletePost")
        /// ListVersions gives the contents that a post of one's own had, the newest first.
        public static let listVersions = RialtoContract.Call<FeedV1.ListVersionsRequest, FeedV1.ListVersionsResponse>("rialto.feed.v1.FeedService/ListVersions")
        /// ListPosts gives the posts of a user, the newest first.
        public static let listPosts = RialtoContract.Call<FeedV1.ListPostsRequest, FeedV1.ListPostsResponse>("rialto.feed.v1.FeedService/ListPosts")
        /// GetFeedProfile gives the counts of a user's profile page.
        public static let getFeedProfile = RialtoContract.Call<FeedV1.GetFeedProfileRequest, FeedV1.FeedProfile>("rialto.feed.v1.FeedService/GetFeedProfile")
        /// HomeTimeline gives the posts of the caller and of those whom the caller follows and has not muted, the newest first.
        public static let homeTimeline = RialtoContract.Call<FeedV1.HomeTimelineRequest, FeedV1.HomeTimelineResponse>("rialto.feed.v1.FeedService/HomeTimeline")
    }

    /// FeedAdminService is for programs of moderators and operators: authenticated by API key only.
    public enum FeedAdminService {
        /// HidePost hides a post from everybody, the author too, or shows it again. A read that begins after the answer does not find a hidden post,
        /// on any node.
        public static let hidePost = RialtoContract.Call<FeedV1.HidePostRequest, FeedV1.HidePostResponse>("rialto.feed.v1.FeedAdminService/HidePost")
        /// GetFeedAuthor tells how the posts of a user are distributed, and how the user's home timeline is read.
        public static let getFeedAuthor = RialtoContract.Call<FeedV1.GetFeedAuthorRequest, FeedV1.FeedAuthor>("rialto.feed.v1.FeedAdminService/GetFeedAuthor")
        /// SetFeedPlan replaces what is switched off of posts, on all nodes, while they run. Each change is recorded.
        public static let setFeedPlan = RialtoContract.Call<FeedV1.SetFeedPlanRequest, FeedV1.FeedPlan>("rialto.feed.v1.FeedAdminService/SetFeedPlan")
        /// GetFeedPlan tells what is switched off of posts, and the latest changes of that.
        public static let getFeedPlan = RialtoContract.Call<FeedV1.GetFeedPlanRequest, FeedV1.GetFeedPlanResponse>("rialto.feed.v1.FeedAdminService/GetFeedPlan")
    }

    /// PostContent is what an author writes. It has a text, a title, a cover, an image, a video, a link, goods or a repost.
    public struct PostContent: ProtoMessage {
        /// Title of at most 120 characters, in one line.
        public var title: String
        /// Text of at most 10,000 characters.
        public var text: String
        /// Images of the author, at most 18. Each has a name of at most 255 characters and no caption.
        public var images: [ChatV1.Media]
        /// Link to a page, http or https, of at most 2,000 characters.
        public var link: String
        /// LinkPreview of the link, as ChatService.PreviewLink returned it to the author; absent: none.
        public var linkPreview: ChatV1.LinkPreview?
        /// RepostOf is another post that this one shows below its own content; 0: none. It must be visible to its author and for everyone. A repost of a
        /// repost without a content of its own shows the first post.
        public var repostOf: String
        /// Audience who may see the post; unspecified is everyone.
        public var audience: FeedV1.Audience
        /// Users of the audiences chosen and except, at most 500. Only the author gets them.
        public var users: [String]
        /// Cover is an image of the author that lists show before all else, with a name as those of images. Absent: none.
        public var cover: ChatV1.Media?
        /// Goods that the post is about, at most 10.
        public var goods: [FeedV1.Goods]
        /// Mentions of users in the text, in the order of their places, at most 50. Each names a user. Those who may see the post are notified.
        public var mentions: [ChatV1.Mention]
        /// Video of the author (rialto.video.v1), in any state; 0: none. Readers get it by GetVideo with the post.
        public var video: String

        public init(title: String = "", text: String = "", images: [ChatV1.Media] = [], link: String = "", linkPreview: ChatV1.LinkPreview? = nil, repostOf: String = "0", audience: FeedV1.Audience = .unspecified, users: [String] = [], cover: ChatV1.Media? = nil, goods: [FeedV1.Goods] = [], mentions: [ChatV1.Mention] = [], video: String = "0") {
            self.title = title
            self.text = text
            self.images = images
            self.link = link
            self.linkPreview = linkPreview
            self.repostOf = repostOf
            self.audience = audience
            self.users = users
            self.cover = cover
            self.goods = goods
            self.mentions = mentions
            self.video = video
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            title = try fields.value("title", TextCoder.self)
            text = try fields.value("text", TextCoder.self)
            images = try fields.list("images", MessageCoder<ChatV1.Media>.self)
            link = try fields.value("link", TextCoder.self)
            linkPreview = try fields.optional("linkPreview", MessageCoder<ChatV1.LinkPreview>.self)
            repostOf = try fields.value("repostOf", IDCoder.self)
            audience = try fields.value("audience", EnumCoder<FeedV1.Audience>.self)
            users = try fields.list("users", IDCoder.self)
            cover = try fields.optional("cover", MessageCoder<ChatV1.Media>.self)
            goods = try fields.list("goods", MessageCoder<FeedV1.Goods>.self)
            mentions = try fields.list("mentions", MessageCoder<ChatV1.Mention>.self)
            video = try fields.value("video", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("title", title, TextCoder.self)
            try fields.value("text", text, TextCoder.self)
            try fields.list("images", images, MessageCoder<ChatV1.Media>.self)
            try fields.value("link", link, TextCoder.self)
            try fields.optional("linkPreview", linkPreview, MessageCoder<ChatV1.LinkPreview>.self)
            try fields.value("repostOf", repostOf, IDCoder.self)
            try fields.value("audience", audience, EnumCoder<FeedV1.Audience>.self)
            try fields.list("users", users, IDCoder.self)
            try fields.optional("cover", cover, MessageCoder<ChatV1.Media>.self)
            try fields.list("goods", goods, MessageCoder<FeedV1.Goods>.self)
            try fields.list("mentions", mentions, MessageCoder<ChatV1.Mention>.self)
            try fields.value("video", video, IDCoder.self)
        }

    }

    /// Goods are something that readers can buy elsewhere.
    public struct Goods: ProtoMessage {
        /// Name of 1 to 120 characters, in one line.
        public var name: String
        /// PriceMinor is the price in the smallest unit of the currency, such as cents: 0 to 999,999,999,999.
        public var priceMinor: Int64
        /// Currency is its code by ISO 4217, such as EUR: three capital letters.
        public var currency: String
        /// Picture is an image of the author, with a name as those of images. Absent: none.
        public var picture: ChatV1.Media?
        /// Link to the page that sells them, https, of at most 2,000 characters.
        public var link: String

        public init(name: String = "", priceMinor: Int64 = 0, currency: String = "", picture: ChatV1.Media? = nil, link: String = "") {
            self.name = name
            self.priceMinor = priceMinor
            self.currency = currency
            self.picture = picture
            self.link = link
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            priceMinor = try fields.value("priceMinor", Int64Coder.self)
            currency = try fields.value("currency", TextCoder.self)
            picture = try fields.optional("picture", MessageCoder<ChatV1.Media>.self)
            link = try fields.value("link", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("priceMinor", priceMinor, Int64Coder.self)
            try fields.value("currency", currency, TextCoder.self)
            try fields.optional("picture", picture, MessageCoder<ChatV1.Media>.self)
            try fields.value("link", link, TextCoder.self)
        }

    }

    /// Post as one reader sees it.
    public struct Post: ProtoMessage {
        /// Id of the post. Posts of one author have rising ids.
        public var id: String
        /// Author who published it.
        public var author: String
        public var content: FeedV1.PostContent?
        /// CreatedMs is when it was published, milliseconds since 1970.
        public var createdMs: Int64
        /// EditedMs is when it was last edited, milliseconds since 1970; 0: never.
        public var editedMs: Int64
        /// Version is 1 for a new post, and one more after each edit.
        public var version: Int
        /// Reposted is the post of repost_of; absent if there is none that the caller may see. It has no reposted of its own.
        @Boxed public var reposted: FeedV1.Post?
        /// Likes of all users. All counts include users and comments that the caller does not see because of a block.
        public var likes: Int
        /// Favourites is how many users have it among theirs.
        public var favourites: Int
        /// Comments and replies that are not deleted.
        public var comments: Int
        /// Reposts that are not deleted.
        public var reposts: Int
        /// Views is how many users have viewed it, within about 2 % and some seconds.
        public var views: Int
        /// Liked by the caller.
        public var liked: Bool
        /// Favourited: it is among the caller's favourites.
        public var favourited: Bool

        public init(id: String = "0", author: String = "0", content: FeedV1.PostContent? = nil, createdMs: Int64 = 0, editedMs: Int64 = 0, version: Int = 0, reposted: FeedV1.Post? = nil, likes: Int = 0, favourites: Int = 0, comments: Int = 0, reposts: Int = 0, views: Int = 0, liked: Bool = false, favourited: Bool = false) {
            self.id = id
            self.author = author
            self.content = content
            self.createdMs = createdMs
            self.editedMs = editedMs
            self.version = version
            self.reposted = reposted
            self.likes = likes
            self.favourites = favourites
            self.comments = comments
            self.reposts = reposts
            self.views = views
            self.liked = liked
            self.favourited = favourited
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            author = try fields.value("author", IDCoder.self)
            content = try fields.optional("content", MessageCoder<FeedV1.PostContent>.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            editedMs = try fields.value("editedMs", Int64Coder.self)
            version = try fields.value("version", IntCoder.self)
            reposted = try fields.optional("reposted", MessageCoder<FeedV1.Post>.self)
            likes = try fields.value("likes", IntCoder.self)
            favourites = try fields.value("favourites", IntCoder.self)
            comments = try fields.value("comments", IntCoder.self)
            reposts = try fields.value("reposts", IntCoder.self)
            views = try fields.value("views", IntCoder.self)
            liked = try fields.value("liked", BoolCoder.self)
            favourited = try fields.value("favourited", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("author", author, IDCoder.self)
            try fields.optional("content", content, MessageCoder<FeedV1.PostContent>.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.value("editedMs", editedMs, Int64Coder.self)
            try fields.value("version", version, IntCoder.self)
            try fields.optional("reposted", reposted, MessageCoder<FeedV1.Post>.self)
            try fields.value("likes", likes, IntCoder.self)
            try fields.value("favourites", favourites, IntCoder.self)
            try fields.value("comments", comments, IntCoder.self)
            try fields.value("reposts", reposts, IntCoder.self)
            try fields.value("views", views, IntCoder.self)
            try fields.value("liked", liked, BoolCoder.self)
            try fields.value("favourited", favourited, BoolCoder.self)
        }

    }

    public struct PublishRequest: ProtoMessage {
        /// ClientPostId of 1 to 64 bytes, new for each post of the author.
        public var clientPostId: String
        public var content: FeedV1.PostContent?

        public init(clientPostId: String = "", content: FeedV1.PostContent? = nil) {
            self.clientPostId = clientPostId
            self.content = content
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            clientPostId = try fields.value("clientPostId", TextCoder.self)
            content = try fields.optional("content", MessageCoder<FeedV1.PostContent>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("clientPostId", clientPostId, TextCoder.self)
            try fields.optional("content", content, MessageCoder<FeedV1.PostContent>.self)
        }

    }

    public struct GetPostRequest: ProtoMessage {
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

    public struct GetPostPageRequest: ProtoMessage {
        public var post: String
        /// Comments: the limit of the newest comments, at most 50; 0 is 20.
        public var comments: Int

        public init(post: String = "0", comments: Int = 0) {
            self.post = post
            self.comments = comments
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.value("post", IDCoder.self)
            comments = try fields.value("comments", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("post", post, IDCoder.self)
            try fields.value("comments", comments, IntCoder.self)
        }

    }

    /// PostPage is a post with what a page of it shows. Its parts are read at the same time, and each is right as of a moment of the call.
    public struct PostPage: ProtoMessage {
        public var post: FeedV1.Post?
        /// Author of the post.
        public var author: AccountV1.User?
        /// Relation of the caller with the author.
        public var relation: ChatV1.Relation?
        /// Comments, the newest first.
        public var comments: [CommentV1.Comment]
        /// NextComments is the page of ListComments that follows; empty: there is none.
        public var nextComments: String
        /// Missing parts could not be read in time. Show the page without them, and read it again later.
        public var missing: [FeedV1.PostPagePart]

        public init(post: FeedV1.Post? = nil, author: AccountV1.User? = nil, relation: ChatV1.Relation? = nil, comments: [CommentV1.Comment] = [], nextComments: String = "", missing: [FeedV1.PostPagePart] = []) {
            self.post = post
            self.author = author
            self.relation = relation
            self.comments = comments
            self.nextComments = nextComments
            self.missing = missing
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.optional("post", MessageCoder<FeedV1.Post>.self)
            author = try fields.optional("author", MessageCoder<AccountV1.User>.self)
            relation = try fields.optional("relation", MessageCoder<ChatV1.Relation>.self)
            comments = try fields.list("comments", MessageCoder<CommentV1.Comment>.self)
            nextComments = try fields.value("nextComments", TextCoder.self)
            missing = try fields.list("missing", EnumCoder<FeedV1.PostPagePart>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("post", post, MessageCoder<FeedV1.Post>.self)
            try fields.optional("author", author, MessageCoder<AccountV1.User>.self)
            try fields.optional("relation", relation, MessageCoder<ChatV1.Relation>.self)
            try fields.list("comments", comments, MessageCoder<CommentV1.Comment>.self)
            try fields.value("nextComments", nextComments, TextCoder.self)
            try fields.list("missing", missing, EnumCoder<FeedV1.PostPagePart>.self)
        }

    }

    public struct EditPostRequest: ProtoMessage {
        public var post: String
        public var content: FeedV1.PostContent?
        /// Version that the edit is based on. If the post has another one, the edit is refused with version_changed. 0: whatever the version is.
        public var version: Int

        public init(post: String = "0", content: FeedV1.PostContent? = nil, version: Int = 0) {
            self.post = post
            self.content = content
            self.version = version
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.value("post", IDCoder.self)
            content = try fields.optional("content", MessageCoder<FeedV1.PostContent>.self)
            version = try fields.value("version", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("post", post, IDCoder.self)
            try fields.optional("content", content, MessageCoder<FeedV1.PostContent>.self)
            try fields.value("version", version, IntCoder.self)
        }

    }

    public struct DeletePostRequest: ProtoMessage {
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

    public struct DeletePostResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListVersionsRequest: ProtoMessage {
        public var post: String
        /// Before is the next of the previous page; 0: the newest versions.
        public var before: Int

        public init(post: String = "0", before: Int = 0) {
            self.post = post
            self.before = before
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.value("post", IDCoder.self)
            before = try fields.value("before", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("post", post, IDCoder.self)
            try fields.value("before", before, IntCoder.self)
        }

    }

    public struct ListVersionsResponse: ProtoMessage {
        public var versions: [FeedV1.PostVersion]
        /// Next is the before of the next page; 0: there is none.
        public var next: Int

        public init(versions: [FeedV1.PostVersion] = [], next: Int = 0) {
            self.versions = versions
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            versions = try fields.list("versions", MessageCoder<FeedV1.PostVersion>.self)
            next = try fields.value("next", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("versions", versions, MessageCoder<FeedV1.PostVersion>.self)
            try fields.value("next", next, IntCoder.self)
        }

    }

    /// PostVersion is a content that a post had or has.
    public struct PostVersion: ProtoMessage {
        public var version: Int
        public var content: FeedV1.PostContent?
        /// TimeMs is when it was written, milliseconds since 1970.
        public var timeMs: Int64

        public init(version: Int = 0, content: FeedV1.PostContent? = nil, timeMs: Int64 = 0) {
            self.version = version
            self.content = content
            self.timeMs = timeMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            version = try fields.value("version", IntCoder.self)
            content = try fields.optional("content", MessageCoder<FeedV1.PostContent>.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("version", version, IntCoder.self)
            try fields.optional("content", content, MessageCoder<FeedV1.PostContent>.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
        }

    }

    public struct ListPostsRequest: ProtoMessage {
        /// User whose posts are listed.
        public var user: String
        /// Before is the next of the previous page; 0: the newest posts.
        public var before: String
        /// Limit of the posts, at most 50; 0 is 20.
        public var limit: Int

        public init(user: String = "0", before: String = "0", limit: Int = 0) {
            self.user = user
            self.before = before
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            before = try fields.value("before", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("before", before, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListPostsResponse: ProtoMessage {
        public var posts: [FeedV1.Post]
        /// Next is the before of the next page; 0: there is none. A page may have fewer posts than its limit, or none, although there is a next one.
        public var next: String

        public init(posts: [FeedV1.Post] = [], next: String = "0") {
            self.posts = posts
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            posts = try fields.list("posts", MessageCoder<FeedV1.Post>.self)
            next = try fields.value("next", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("posts", posts, MessageCoder<FeedV1.Post>.self)
            try fields.value("next", next, IDCoder.self)
        }

    }

    public struct GetFeedProfileRequest: ProtoMessage {
        public var user: String

        public init(user: String = "0") {
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
        }

    }

    /// FeedProfile has the counts of a user's profile page.
    public struct FeedProfile: ProtoMessage {
        /// Posts that were not deleted, also those that the caller may not see.
        public var posts: Int
        public var followers: Int
        public var following: Int

        public init(posts: Int = 0, followers: Int = 0, following: Int = 0) {
            self.posts = posts
            self.followers = followers
            self.following = following
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            posts = try fields.value("posts", IntCoder.self)
            followers = try fields.value("followers", IntCoder.self)
            following = try fields.value("following", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("posts", posts, IntCoder.self)
            try fields.value("followers", followers, IntCoder.self)
            try fields.value("following", following, IntCoder.self)
        }

    }

    public struct HomeTimelineRequest: ProtoMessage {
        /// Before is the next of the previous page; 0: the newest posts.
        public var before: String
        /// Limit of the posts, at most 50; 0 is 20.
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

    public struct HomeTimelineResponse: ProtoMessage {
        public var posts: [FeedV1.Post]
        /// Next is the before of the next page; 0: there is none. A page may have fewer posts than its limit, or none, although there is a next one.
        public var next: String

        public init(posts: [FeedV1.Post] = [], next: String = "0") {
            self.posts = posts
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            posts = try fields.list("posts", MessageCoder<FeedV1.Post>.self)
            next = try fields.value("next", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("posts", posts, MessageCoder<FeedV1.Post>.self)
            try fields.value("next", next, IDCoder.self)
        }

    }

    public struct HidePostRequest: ProtoMessage {
        public var post: String
        /// Show makes a hidden post visible again.
        public var show: Bool
        /// Reason for the records, at most 500 characters.
        public var reason: String

        public init(post: String = "0", show: Bool = false, reason: String = "") {
            self.post = post
            self.show = show
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.value("post", IDCoder.self)
            show = try fields.value("show", BoolCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("post", post, IDCoder.self)
            try fields.value("show", show, BoolCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct HidePostResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    /// FeedPlan is what is switched off to save load. Nothing is, as a rule.
    public struct FeedPlan: ProtoMessage {
        /// LikesOff: likes and favourites are refused with likes_off. They can be taken back.
        public var likesOff: Bool
        /// CommentsReadOnly: new comments and edits are refused with comments_read_only. Comments can be deleted.
        public var commentsReadOnly: Bool
        /// PullOnly: new posts are not written to home timelines ahead of reads. Reads find them all the same, and cost more.
        public var pullOnly: Bool

        public init(likesOff: Bool = false, commentsReadOnly: Bool = false, pullOnly: Bool = false) {
            self.likesOff = likesOff
            self.commentsReadOnly = commentsReadOnly
            self.pullOnly = pullOnly
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            likesOff = try fields.value("likesOff", BoolCoder.self)
            commentsReadOnly = try fields.value("commentsReadOnly", BoolCoder.self)
            pullOnly = try fields.value("pullOnly", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("likesOff", likesOff, BoolCoder.self)
            try fields.value("commentsReadOnly", commentsReadOnly, BoolCoder.self)
            try fields.value("pullOnly", pullOnly, BoolCoder.self)
        }

    }

    public struct SetFeedPlanRequest: ProtoMessage {
        public var plan: FeedV1.FeedPlan?
        /// By says who does it, for the records: a line of 1 to 100 characters.
        public var by: String
        /// Reason for the records, at most 500 characters.
        public var reason: String

        public init(plan: FeedV1.FeedPlan? = nil, by: String = "", reason: String = "") {
            self.plan = plan
            self.by = by
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            plan = try fields.optional("plan", MessageCoder<FeedV1.FeedPlan>.self)
            by = try fields.value("by", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("plan", plan, MessageCoder<FeedV1.FeedPlan>.self)
            try fields.value("by", by, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct GetFeedPlanRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct GetFeedPlanResponse: ProtoMessage {
        public var plan: FeedV1.FeedPlan?
        /// Changes, the newest first, at most 100.
        public var changes: [FeedV1.FeedPlanChange]

        public init(plan: FeedV1.FeedPlan? = nil, changes: [FeedV1.FeedPlanChange] = []) {
            self.plan = plan
            self.changes = changes
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            plan = try fields.optional("plan", MessageCoder<FeedV1.FeedPlan>.self)
            changes = try fields.list("changes", MessageCoder<FeedV1.FeedPlanChange>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("plan", plan, MessageCoder<FeedV1.FeedPlan>.self)
            try fields.list("changes", changes, MessageCoder<FeedV1.FeedPlanChange>.self)
        }

    }

    /// FeedPlanChange is a switch of the plan that was turned.
    public struct FeedPlanChange: ProtoMessage {
        /// Switch is the name of a field of FeedPlan.
        public var `switch`: String
        public var on: Bool
        public var by: String
        public var reason: String
        public var timeMs: Int64

        public init(`switch`: String = "", on: Bool = false, by: String = "", reason: String = "", timeMs: Int64 = 0) {
            self.`switch` = `switch`
            self.on = on
            self.by = by
            self.reason = reason
            self.timeMs = timeMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            `switch` = try fields.value("switch", TextCoder.self)
            on = try fields.value("on", BoolCoder.self)
            by = try fields.value("by", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("switch", `switch`, TextCoder.self)
            try fields.value("on", on, BoolCoder.self)
            try fields.value("by", by, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
        }

    }

    public struct GetFeedAuthorRequest: ProtoMessage {
        public var user: String

        public init(user: String = "0") {
            self.user = user
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
        }

    }

    /// FeedAuthor tells how the posts of an author are distributed.
    public struct FeedAuthor: ProtoMessage {
        /// Followers of the author.
        public var followers: Int
        /// Pulled: new posts are not written to the timelines of followers, who read them from the author.
        public var pulled: Bool
        /// PushedPending is how many posts are not in the timelines of all followers yet. Readers get them from the author meanwhile.
        public var pushedPending: Int
        /// Following is how many users the author follows.
        public var following: Int
        /// Pulls: the author follows so many that nothing is written for the author's home timeline, which is read from those users.
        public var pulls: Bool
        /// DailyEntries is the number of followers times that of the author's posts within a day, when the author published last. An author with many is pulled.
        public var dailyEntries: String

        public init(followers: Int = 0, pulled: Bool = false, pushedPending: Int = 0, following: Int = 0, pulls: Bool = false, dailyEntries: String = "0") {
            self.followers = followers
            self.pulled = pulled
            self.pushedPending = pushedPending
            self.following = following
            self.pulls = pulls
            self.dailyEntries = dailyEntries
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            followers = try fields.value("followers", IntCoder.self)
            pulled = try fields.value("pulled", BoolCoder.self)
            pushedPending = try fields.value("pushedPending", IntCoder.self)
            following = try fields.value("following", IntCoder.self)
            pulls = try fields.value("pulls", BoolCoder.self)
            dailyEntries = try fields.value("dailyEntries", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("followers", followers, IntCoder.self)
            try fields.value("pulled", pulled, BoolCoder.self)
            try fields.value("pushedPending", pushedPending, IntCoder.self)
            try fields.value("following", following, IntCoder.self)
            try fields.value("pulls", pulls, BoolCoder.self)
            try fields.value("dailyEntries", dailyEntries, IDCoder.self)
        }

    }

    /// Audience of a post, besides its author.
    public enum Audience: ProtoEnum {
        case unspecified
        case everyone
        /// Friends of the author, as of the moment of the read.
        case friends
        /// Chosen users.
        case chosen
        /// Everybody but the chosen users.
        case except
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<Audience>] = [
            ProtoEnumValue("AUDIENCE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("AUDIENCE_EVERYONE", 1, .everyone),
            ProtoEnumValue("AUDIENCE_FRIENDS", 2, .friends),
            ProtoEnumValue("AUDIENCE_CHOSEN", 3, .chosen),
            ProtoEnumValue("AUDIENCE_EXCEPT", 4, .except),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// PostPagePart is a part of a page that may be missing.
    public enum PostPagePart: ProtoEnum {
        case unspecified
        case author
        case relation
        /// The counts of the post, and what the caller has done with it.
        case counts
        /// Comments and next_comments.
        case comments
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<PostPagePart>] = [
            ProtoEnumValue("POST_PAGE_PART_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("POST_PAGE_PART_AUTHOR", 1, .author),
            ProtoEnumValue("POST_PAGE_PART_RELATION", 2, .relation),
            ProtoEnumValue("POST_PAGE_PART_COUNTS", 3, .counts),
            ProtoEnumValue("POST_PAGE_PART_COMMENTS", 4, .comments),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
