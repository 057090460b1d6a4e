// Made from rialto/ranking/v1/ranking.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.ranking.v1.
public enum RankingV1 {}

extension RankingV1 {
    /// RankingService ranks posts for the caller ("For you"), beside the home timeline, which has the order of time.
    public enum RankingService {
        /// ForYou gives a page of posts that are ranked for the caller: of those whom the caller follows, those that they like, and popular ones. Posts of the
        /// caller, and of users whom the caller has muted, are not among them.
        public static let forYou = RialtoContract.Call<RankingV1.ForYouRequest, RankingV1.ForYouResponse>("rialto.ranking.v1.RankingService/ForYou")
        /// ShowLess shows fewer posts of an author or of a kind in ForYou. Posts of the author are not shown at all for 30 days; those of the kind are ranked lower. The
        /// effect halves every 30 days. A further call begins again. Other lists have the posts all the same.
        public static let showLess = RialtoContract.Call<RankingV1.ShowLessRequest, RankingV1.ShowLessResponse>("rialto.ranking.v1.RankingService/ShowLess")
        /// ShowAgain ends what ShowLess began. A retry is harmless.
        public static let showAgain = RialtoContract.Call<RankingV1.ShowAgainRequest, RankingV1.ShowAgainResponse>("rialto.ranking.v1.RankingService/ShowAgain")
        /// ListShownLess gives the authors and kinds that are shown less to the caller, the latest first.
        public static let listShownLess = RialtoContract.Call<RankingV1.ListShownLessRequest, RankingV1.ListShownLessResponse>("rialto.ranking.v1.RankingService/ListShownLess")
        /// RecordClicks tells which posts of ForYou the caller opened: the post itself, its link, its video or its goods; and how long posts were on the screen. What the caller was not
        /// shown by ForYou in the last 24 hours is left out, and so is all of a caller who has turned personalization off (Settings.no_personalization). Models of the ranking are
        /// trained with it. A retry is harmless.
        public static let recordClicks = RialtoContract.Call<RankingV1.RecordClicksRequest, RankingV1.RecordClicksResponse>("rialto.ranking.v1.RankingService/RecordClicks")
    }

    /// RankingAdminService is for programs of operators: authenticated by API key only. Keys with a role in the operators' console call all but RecordConversions: auditors
    /// those that list, get and explain, operators all.
    public enum RankingAdminService {
        /// SetRankingWeights replaces the weights of ForYou, on all nodes, while they run. Each change is recorded.
        public static let setRankingWeights = RialtoContract.Call<RankingV1.SetRankingWeightsRequest, RankingV1.RankingWeights>("rialto.ranking.v1.RankingAdminService/SetRankingWeights")
        /// GetRankingWeights gives the weights, and the latest changes of them.
        public static let getRankingWeights = RialtoContract.Call<RankingV1.GetRankingWeightsRequest, RankingV1.GetRankingWeightsResponse>("rialto.ranking.v1.RankingAdminService/GetRankingWeights")
        /// ExplainRanking gives the score that a post has for a user now, its parts, and why ForYou does not show it, if so.
        public static let explainRanking = RialtoContract.Call<RankingV1.ExplainRankingRequest, RankingV1.ExplainRankingResponse>("rialto.ranking.v1.RankingAdminService/ExplainRanking")
        /// RecordConversions tells that a user bought goods of posts, or did what an advertisement is for. What ForYou did not show to the user in the last 7 days is left out. A
        /// retry is harmless.
        public static let recordConversions = RialtoContract.Call<RankingV1.RecordConversionsRequest, RankingV1.RecordConversionsResponse>("rialto.ranking.v1.RankingAdminService/RecordConversions")
        /// ListRankingExamples gives what ForYou has shown, and what readers did, in pages, the oldest first: the data that a model is trained with. Readers are not named.
        public static let listRankingExamples = RialtoContract.Call<RankingV1.ListRankingExamplesRequest, RankingV1.ListRankingExamplesResponse>("rialto.ranking.v1.RankingAdminService/ListRankingExamples")
        /// PutRankingModel stores a model. It is not used until ActivateRankingModel. A file that is damaged, or made for other features, is refused with bad_model.
        /// Of the models that are neither in use nor were the last one in use, the latest 20 are kept.
        public static let putRankingModel = RialtoContract.Call<RankingV1.PutRankingModelRequest, RankingV1.RankingModel>("rialto.ranking.v1.RankingAdminService/PutRankingModel")
        /// ListRankingModels gives the stored models with their offline evaluations, and what ForYou ranks by now.
        public static let listRankingModels = RialtoContract.Call<RankingV1.ListRankingModelsRequest, RankingV1.ListRankingModelsResponse>("rialto.ranking.v1.RankingAdminService/ListRankingModels")
        /// ActivateRankingModel makes all nodes rank by a stored model, or by the weights again, for orders that begin then. Each change is recorded.
        public static let activateRankingModel = RialtoContract.Call<RankingV1.ActivateRankingModelRequest, RankingV1.ListRankingModelsResponse>("rialto.ranking.v1.RankingAdminService/ActivateRankingModel")
    }

    public struct ForYouRequest: ProtoMessage {
        /// Page is the next of the page before. Empty: the first page, for which posts are ranked again.
        public var page: String
        /// Limit of the posts, at most 50; 0 is 20.
        public var limit: Int
        /// Explain gives the scores of the posts, as of now. Only keys of servers may.
        public var explain: Bool

        public init(page: String = "", limit: Int = 0, explain: Bool = false) {
            self.page = page
            self.limit = limit
            self.explain = explain
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            explain = try fields.value("explain", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("explain", explain, BoolCoder.self)
        }

    }

    public struct ForYouResponse: ProtoMessage {
        /// Posts in the order of the first page's moment. No post is in two pages. A page has at most 2 posts of an author, if its limit is 20, or a tenth of
        /// another limit, unless no other posts are left.
        public var posts: [RankingV1.RankedPost]
        /// Next is the page of the next call; empty: the end, after at most 200 posts. What is new is ranked by a call without a page.
        public var next: String

        public init(posts: [RankingV1.RankedPost] = [], next: String = "") {
            self.posts = posts
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            posts = try fields.list("posts", MessageCoder<RankingV1.RankedPost>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("posts", posts, MessageCoder<RankingV1.RankedPost>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// RankedPost is a post, and why it is shown.
    public struct RankedPost: ProtoMessage {
        public var post: FeedV1.Post?
        /// The source that it comes from, then the feature that adds most to its score: one or two.
        public var reasons: [RankingV1.RankReason]
        public var kind: RankingV1.PostKind
        /// Score, if it was asked for.
        public var score: RankingV1.RankingScore?

        public init(post: FeedV1.Post? = nil, reasons: [RankingV1.RankReason] = [], kind: RankingV1.PostKind = .unspecified, score: RankingV1.RankingScore? = nil) {
            self.post = post
            self.reasons = reasons
            self.kind = kind
            self.score = score
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.optional("post", MessageCoder<FeedV1.Post>.self)
            reasons = try fields.list("reasons", EnumCoder<RankingV1.RankReason>.self)
            kind = try fields.value("kind", EnumCoder<RankingV1.PostKind>.self)
            score = try fields.optional("score", MessageCoder<RankingV1.RankingScore>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("post", post, MessageCoder<FeedV1.Post>.self)
            try fields.list("reasons", reasons, EnumCoder<RankingV1.RankReason>.self)
            try fields.value("kind", kind, EnumCoder<RankingV1.PostKind>.self)
            try fields.optional("score", score, MessageCoder<RankingV1.RankingScore>.self)
        }

    }

    public struct ShowLessRequest: ProtoMessage {
        /// Author or kind: one of the two.
        public var author: String
        public var kind: RankingV1.PostKind

        public init(author: String = "0", kind: RankingV1.PostKind = .unspecified) {
            self.author = author
            self.kind = kind
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            author = try fields.value("author", IDCoder.self)
            kind = try fields.value("kind", EnumCoder<RankingV1.PostKind>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("author", author, IDCoder.self)
            try fields.value("kind", kind, EnumCoder<RankingV1.PostKind>.self)
        }

    }

    public struct ShowLessResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ShowAgainRequest: ProtoMessage {
        /// Author or kind: one of the two.
        public var author: String
        public var kind: RankingV1.PostKind

        public init(author: String = "0", kind: RankingV1.PostKind = .unspecified) {
            self.author = author
            self.kind = kind
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            author = try fields.value("author", IDCoder.self)
            kind = try fields.value("kind", EnumCoder<RankingV1.PostKind>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("author", author, IDCoder.self)
            try fields.value("kind", kind, EnumCoder<RankingV1.PostKind>.self)
        }

    }

    public struct ShowAgainResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListShownLessRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListShownLessResponse: ProtoMessage {
        /// Entries of the caller, at most 500: a further one replaces the oldest.
        public var entries: [RankingV1.ShownLess]

        public init(entries: [RankingV1.ShownLess] = []) {
            self.entries = entries
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            entries = try fields.list("entries", MessageCoder<RankingV1.ShownLess>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("entries", entries, MessageCoder<RankingV1.ShownLess>.self)
        }

    }

    /// ShownLess is an author or a kind that is shown less.
    public struct ShownLess: ProtoMessage {
        /// Author or kind: one of the two.
        public var author: String
        public var kind: RankingV1.PostKind
        /// SinceMs is when ShowLess was called last, milliseconds since 1970.
        public var sinceMs: Int64

        public init(author: String = "0", kind: RankingV1.PostKind = .unspecified, sinceMs: Int64 = 0) {
            self.author = author
            self.kind = kind
            self.sinceMs = sinceMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            author = try fields.value("author", IDCoder.self)
            kind = try fields.value("kind", EnumCoder<RankingV1.PostKind>.self)
            sinceMs = try fields.value("sinceMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("author", author, IDCoder.self)
            try fields.value("kind", kind, EnumCoder<RankingV1.PostKind>.self)
            try fields.value("sinceMs", sinceMs, Int64Coder.self)
        }

    }

    /// RankingWeights say how much each feature of a post counts, in percent of a point: -1000 to 1000. A feature is between 0 and 1.
    public struct RankingWeights: ProtoMessage {
        /// Recency: 1 for a new post. It halves every 24 hours. Default 100.
        public var recency: Int?
        /// Likes: the binary logarithm of one more than the likes, divided by 16. Default 60.
        public var likes: Int?
        /// Comments: likewise. Default 40.
        public var comments: Int?
        /// Affinity: how often the reader liked or commented on posts of the author lately. Default 120.
        public var affinity: Int?
        /// Followed: the reader follows the author. Default 80.
        public var followed: Int?
        /// Network: how many of those whom the reader follows like it; 1 for three or more. Default 60.
        public var network: Int?
        /// Seen: the reader has viewed or liked it. Default -150.
        public var seen: Int?
        /// ShownLess: the reader wants less of its author or kind. It halves every 30 days. Default -200.
        public var shownLess: Int?
        /// Similarity: how much the post is like those that the reader liked or commented on lately, by text, author and kind. Default 50.
        public var similarity: Int?
        /// Click: the probability that the reader opens the post, by the model in use. With a model, only click, conversion, seen and shown_less count. Default 400.
        public var click: Int?
        /// Conversion: the probability that the reader buys goods of the post, by the model in use. Default 400.
        public var conversion: Int?
        /// Diversity is for a post that is just like one before it in the order; less alike, it counts less. It is for the first 60 posts, and in no score. Default -30.
        public var diversity: Int?
        /// SearchRecency is how much of a score of SearchService.Search is lost with age, 0 to 100. Default 50.
        public var searchRecency: Int?
        /// SearchPopularity is how much each doubling of likes or followers adds to such a score, 0 to 1000. Default 5.
        public var searchPopularity: Int?
        /// SearchPreference is how much it adds to such a score of a post or a video that it is like those which the reader liked or commented on lately, 0 to 1000. Default 50.
        public var searchPreference: Int?

        public init(recency: Int? = nil, likes: Int? = nil, comments: Int? = nil, affinity: Int? = nil, followed: Int? = nil, network: Int? = nil, seen: Int? = nil, shownLess: Int? = nil, similarity: Int? = nil, click: Int? = nil, conversion: Int? = nil, diversity: Int? = nil, searchRecency: Int? = nil, searchPopularity: Int? = nil, searchPreference: Int? = nil) {
            self.recency = recency
            self.likes = likes
            self.comments = comments
            self.affinity = affinity
            self.followed = followed
            self.network = network
            self.seen = seen
            self.shownLess = shownLess
            self.similarity = similarity
            self.click = click
            self.conversion = conversion
            self.diversity = diversity
            self.searchRecency = searchRecency
            self.searchPopularity = searchPopularity
            self.searchPreference = searchPreference
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            recency = try fields.optional("recency", IntCoder.self)
            likes = try fields.optional("likes", IntCoder.self)
            comments = try fields.optional("comments", IntCoder.self)
            affinity = try fields.optional("affinity", IntCoder.self)
            followed = try fields.optional("followed", IntCoder.self)
            network = try fields.optional("network", IntCoder.self)
            seen = try fields.optional("seen", IntCoder.self)
            shownLess = try fields.optional("shownLess", IntCoder.self)
            similarity = try fields.optional("similarity", IntCoder.self)
            click = try fields.optional("click", IntCoder.self)
            conversion = try fields.optional("conversion", IntCoder.self)
            diversity = try fields.optional("diversity", IntCoder.self)
            searchRecency = try fields.optional("searchRecency", IntCoder.self)
            searchPopularity = try fields.optional("searchPopularity", IntCoder.self)
            searchPreference = try fields.optional("searchPreference", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("recency", recency, IntCoder.self)
            try fields.optional("likes", likes, IntCoder.self)
            try fields.optional("comments", comments, IntCoder.self)
            try fields.optional("affinity", affinity, IntCoder.self)
            try fields.optional("followed", followed, IntCoder.self)
            try fields.optional("network", network, IntCoder.self)
            try fields.optional("seen", seen, IntCoder.self)
            try fields.optional("shownLess", shownLess, IntCoder.self)
            try fields.optional("similarity", similarity, IntCoder.self)
            try fields.optional("click", click, IntCoder.self)
            try fields.optional("conversion", conversion, IntCoder.self)
            try fields.optional("diversity", diversity, IntCoder.self)
            try fields.optional("searchRecency", searchRecency, IntCoder.self)
            try fields.optional("searchPopularity", searchPopularity, IntCoder.self)
            try fields.optional("searchPreference", searchPreference, IntCoder.self)
        }

    }

    public struct SetRankingWeightsRequest: ProtoMessage {
        /// Weights that are absent are the defaults.
        public var weights: RankingV1.RankingWeights?
        /// By says who does it, for the records: a line of 1 to 100 characters. Of a key with a role in the console, it is the key.
        public var by: String
        /// Reason for the records, at most 500 characters.
        public var reason: String

        public init(weights: RankingV1.RankingWeights? = nil, by: String = "", reason: String = "") {
            self.weights = weights
            self.by = by
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            weights = try fields.optional("weights", MessageCoder<RankingV1.RankingWeights>.self)
            by = try fields.value("by", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("weights", weights, MessageCoder<RankingV1.RankingWeights>.self)
            try fields.value("by", by, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct GetRankingWeightsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct GetRankingWeightsResponse: ProtoMessage {
        public var weights: RankingV1.RankingWeights?
        /// Changes, the newest first, at most 100.
        public var changes: [RankingV1.RankingWeightChange]

        public init(weights: RankingV1.RankingWeights? = nil, changes: [RankingV1.RankingWeightChange] = []) {
            self.weights = weights
            self.changes = changes
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            weights = try fields.optional("weights", MessageCoder<RankingV1.RankingWeights>.self)
            changes = try fields.list("changes", MessageCoder<RankingV1.RankingWeightChange>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("weights", weights, MessageCoder<RankingV1.RankingWeights>.self)
            try fields.list("changes", changes, MessageCoder<RankingV1.RankingWeightChange>.self)
        }

    }

    /// RankingWeightChange is a weight that was set.
    public struct RankingWeightChange: ProtoMessage {
        /// Weight is the name of a field of RankingWeights.
        public var weight: String
        /// Value is absent if the weight went back to its default.
        public var value: Int?
        public var by: String
        public var reason: String
        public var timeMs: Int64

        public init(weight: String = "", value: Int? = nil, by: String = "", reason: String = "", timeMs: Int64 = 0) {
            self.weight = weight
            self.value = value
            self.by = by
            self.reason = reason
            self.timeMs = timeMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            weight = try fields.value("weight", TextCoder.self)
            value = try fields.optional("value", IntCoder.self)
            by = try fields.value("by", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("weight", weight, TextCoder.self)
            try fields.optional("value", value, IntCoder.self)
            try fields.value("by", by, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
        }

    }

    /// RankingScore is the sum of the points of its parts.
    public struct RankingScore: ProtoMessage {
        public var total: Double
        public var parts: [RankingV1.RankingScorePart]
        /// Model is the id of the model that estimated click and conversion; 0: none.
        public var model: String
        /// Fallback says why no model was used.
        public var fallback: String
        /// ClickTerms explain the estimate of click: its log-odds are the sum of theirs. The first one has no feature: it is the same for all posts.
        public var clickTerms: [RankingV1.RankingModelTerm]
        /// ConversionTerms likewise explain that of conversion, for posts with goods.
        public var conversionTerms: [RankingV1.RankingModelTerm]

        public init(total: Double = 0, parts: [RankingV1.RankingScorePart] = [], model: String = "0", fallback: String = "", clickTerms: [RankingV1.RankingModelTerm] = [], conversionTerms: [RankingV1.RankingModelTerm] = []) {
            self.total = total
            self.parts = parts
            self.model = model
            self.fallback = fallback
            self.clickTerms = clickTerms
            self.conversionTerms = conversionTerms
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            total = try fields.value("total", DoubleCoder.self)
            parts = try fields.list("parts", MessageCoder<RankingV1.RankingScorePart>.self)
            model = try fields.value("model", IDCoder.self)
            fallback = try fields.value("fallback", TextCoder.self)
            clickTerms = try fields.list("clickTerms", MessageCoder<RankingV1.RankingModelTerm>.self)
            conversionTerms = try fields.list("conversionTerms", MessageCoder<RankingV1.RankingModelTerm>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("total", total, DoubleCoder.self)
            try fields.list("parts", parts, MessageCoder<RankingV1.RankingScorePart>.self)
            try fields.value("model", model, IDCoder.self)
            try fields.value("fallback", fallback, TextCoder.self)
            try fields.list("clickTerms", clickTerms, MessageCoder<RankingV1.RankingModelTerm>.self)
            try fields.list("conversionTerms", conversionTerms, MessageCoder<RankingV1.RankingModelTerm>.self)
        }

    }

    /// RankingModelTerm is what a feature adds to the log-odds of an estimate.
    public struct RankingModelTerm: ProtoMessage {
        public var feature: String
        public var value: Double
        public var logOdds: Double

        public init(feature: String = "", value: Double = 0, logOdds: Double = 0) {
            self.feature = feature
            self.value = value
            self.logOdds = logOdds
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            feature = try fields.value("feature", TextCoder.self)
            value = try fields.value("value", DoubleCoder.self)
            logOdds = try fields.value("logOdds", DoubleCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("feature", feature, TextCoder.self)
            try fields.value("value", value, DoubleCoder.self)
            try fields.value("logOdds", logOdds, DoubleCoder.self)
        }

    }

    /// RankingScorePart is a feature of a post, and what it adds to the score.
    public struct RankingScorePart: ProtoMessage {
        /// Weight is the name of a field of RankingWeights.
        public var weight: String
        /// Feature is between 0 and 1.
        public var feature: Double
        /// Points are the feature multiplied by the weight.
        public var points: Double

        public init(weight: String = "", feature: Double = 0, points: Double = 0) {
            self.weight = weight
            self.feature = feature
            self.points = points
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            weight = try fields.value("weight", TextCoder.self)
            feature = try fields.value("feature", DoubleCoder.self)
            points = try fields.value("points", DoubleCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("weight", weight, TextCoder.self)
            try fields.value("feature", feature, DoubleCoder.self)
            try fields.value("points", points, DoubleCoder.self)
        }

    }

    public struct ExplainRankingRequest: ProtoMessage {
        public var user: String
        public var post: String

        public init(user: String = "0", post: String = "0") {
            self.user = user
            self.post = post
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            post = try fields.value("post", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.value("post", post, IDCoder.self)
        }

    }

    /// ExplainRankingResponse has no score of a post that the user may not see.
    public struct ExplainRankingResponse: ProtoMessage {
        public var score: RankingV1.RankingScore?
        /// Sources that the post comes from: followed, network, similar or popular. Empty: it is no candidate.
        public var sources: [RankingV1.RankReason]
        public var exclusion: RankingV1.RankExclusion

        public init(score: RankingV1.RankingScore? = nil, sources: [RankingV1.RankReason] = [], exclusion: RankingV1.RankExclusion = .unspecified) {
            self.score = score
            self.sources = sources
            self.exclusion = exclusion
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            score = try fields.optional("score", MessageCoder<RankingV1.RankingScore>.self)
            sources = try fields.list("sources", EnumCoder<RankingV1.RankReason>.self)
            exclusion = try fields.value("exclusion", EnumCoder<RankingV1.RankExclusion>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("score", score, MessageCoder<RankingV1.RankingScore>.self)
            try fields.list("sources", sources, EnumCoder<RankingV1.RankReason>.self)
            try fields.value("exclusion", exclusion, EnumCoder<RankingV1.RankExclusion>.self)
        }

    }

    public struct RecordClicksRequest: ProtoMessage {
        /// Posts that were opened, at most 100.
        public var posts: [String]
        /// Dwells of posts, at most 100.
        public var dwells: [RankingV1.PostDwell]

        public init(posts: [String] = [], dwells: [RankingV1.PostDwell] = []) {
            self.posts = posts
            self.dwells = dwells
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            posts = try fields.list("posts", IDCoder.self)
            dwells = try fields.list("dwells", MessageCoder<RankingV1.PostDwell>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("posts", posts, IDCoder.self)
            try fields.list("dwells", dwells, MessageCoder<RankingV1.PostDwell>.self)
        }

    }

    /// PostDwell is how long a post was on the screen since ForYou gave it.
    public struct PostDwell: ProtoMessage {
        public var post: String
        /// DwellMs in total, milliseconds, at most 600,000: more counts as that. The longest one that was recorded counts. From 1,000 on, the post was seen.
        public var dwellMs: Int

        public init(post: String = "0", dwellMs: Int = 0) {
            self.post = post
            self.dwellMs = dwellMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            post = try fields.value("post", IDCoder.self)
            dwellMs = try fields.value("dwellMs", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("post", post, IDCoder.self)
            try fields.value("dwellMs", dwellMs, IntCoder.self)
        }

    }

    public struct RecordClicksResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct RecordConversionsRequest: ProtoMessage {
        public var user: String
        /// Posts, at most 100.
        public var posts: [String]

        public init(user: String = "0", posts: [String] = []) {
            self.user = user
            self.posts = posts
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            user = try fields.value("user", IDCoder.self)
            posts = try fields.list("posts", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("user", user, IDCoder.self)
            try fields.list("posts", posts, IDCoder.self)
        }

    }

    public struct RecordConversionsResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListRankingExamplesRequest: ProtoMessage {
        /// Page is the next of the page before; empty: the first one.
        public var page: String
        /// Limit of the shown posts that are read, at most 1,000; 0 is 1,000.
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

    public struct ListRankingExamplesResponse: ProtoMessage {
        /// Features are the names of the features of examples, in their order.
        public var features: [String]
        /// Examples of the page. Posts that the reader neither saw (RecordViews, or a dwell of a second) nor acted on are left out, so there may be fewer than the limit, or none.
        public var examples: [RankingV1.RankingExample]
        /// Next is the page of the next call; empty: the end.
        public var next: String

        public init(features: [String] = [], examples: [RankingV1.RankingExample] = [], next: String = "") {
            self.features = features
            self.examples = examples
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            features = try fields.list("features", TextCoder.self)
            examples = try fields.list("examples", MessageCoder<RankingV1.RankingExample>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("features", features, TextCoder.self)
            try fields.list("examples", examples, MessageCoder<RankingV1.RankingExample>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// RankingExample is a post that a reader was shown.
    public struct RankingExample: ProtoMessage {
        /// List: what was shown together has the same number.
        public var list: String
        public var post: String
        /// Position in the list, from 0.
        public var position: Int
        /// ShownMs is when, in milliseconds since 1970.
        public var shownMs: Int64
        /// Features as they were then.
        public var features: [Double]
        /// Clicked: the reader opened it within 24 hours, or liked it or commented on it later.
        public var clicked: Bool
        /// Goods: the post has goods, or is an advertisement of some.
        public var goods: Bool
        public var converted: Bool
        /// DwellMs is how long the reader had it on the screen, milliseconds; 0: not known.
        public var dwellMs: Int

        public init(list: String = "0", post: String = "0", position: Int = 0, shownMs: Int64 = 0, features: [Double] = [], clicked: Bool = false, goods: Bool = false, converted: Bool = false, dwellMs: Int = 0) {
            self.list = list
            self.post = post
            self.position = position
            self.shownMs = shownMs
            self.features = features
            self.clicked = clicked
            self.goods = goods
            self.converted = converted
            self.dwellMs = dwellMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            list = try fields.value("list", IDCoder.self)
            post = try fields.value("post", IDCoder.self)
            position = try fields.value("position", IntCoder.self)
            shownMs = try fields.value("shownMs", Int64Coder.self)
            features = try fields.list("features", DoubleCoder.self)
            clicked = try fields.value("clicked", BoolCoder.self)
            goods = try fields.value("goods", BoolCoder.self)
            converted = try fields.value("converted", BoolCoder.self)
            dwellMs = try fields.value("dwellMs", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("list", list, IDCoder.self)
            try fields.value("post", post, IDCoder.self)
            try fields.value("position", position, IntCoder.self)
            try fields.value("shownMs", shownMs, Int64Coder.self)
            try fields.list("features", features, DoubleCoder.self)
            try fields.value("clicked", clicked, BoolCoder.self)
            try fields.value("goods", goods, BoolCoder.self)
            try fields.value("converted", converted, BoolCoder.self)
            try fields.value("dwellMs", dwellMs, IntCoder.self)
        }

    }

    public struct PutRankingModelRequest: ProtoMessage {
        /// File that rialto rank train wrote, at most 256 KiB.
        public var file: Foundation.Data
        /// By says who does it, for the records: a line of 1 to 100 characters. Of a key with a role in the console, it is the key.
        public var by: String
        /// Reason for the records, at most 500 characters.
        public var reason: String

        public init(file: Foundation.Data = Foundation.Data(), by: String = "", reason: String = "") {
            self.file = file
            self.by = by
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            file = try fields.value("file", BytesCoder.self)
            by = try fields.value("by", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("file", file, BytesCoder.self)
            try fields.value("by", by, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct ListRankingModelsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListRankingModelsResponse: ProtoMessage {
        /// Models, the newest first.
        public var models: [RankingV1.RankingModel]
        /// Active is the model in use; 0: none.
        public var active: String
        /// Fallback says why ForYou ranks by the weights, if so.
        public var fallback: String
        /// Changes of the model in use, the newest first, at most 100.
        public var changes: [RankingV1.RankingModelChange]
        /// Shown is how many impressions are logged for training: posts that ForYou showed.
        public var shown: Int64

        public init(models: [RankingV1.RankingModel] = [], active: String = "0", fallback: String = "", changes: [RankingV1.RankingModelChange] = [], shown: Int64 = 0) {
            self.models = models
            self.active = active
            self.fallback = fallback
            self.changes = changes
            self.shown = shown
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            models = try fields.list("models", MessageCoder<RankingV1.RankingModel>.self)
            active = try fields.value("active", IDCoder.self)
            fallback = try fields.value("fallback", TextCoder.self)
            changes = try fields.list("changes", MessageCoder<RankingV1.RankingModelChange>.self)
            shown = try fields.value("shown", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("models", models, MessageCoder<RankingV1.RankingModel>.self)
            try fields.value("active", active, IDCoder.self)
            try fields.value("fallback", fallback, TextCoder.self)
            try fields.list("changes", changes, MessageCoder<RankingV1.RankingModelChange>.self)
            try fields.value("shown", shown, Int64Coder.self)
        }

    }

    /// RankingModel is a stored model.
    public struct RankingModel: ProtoMessage {
        public var id: String
        public var createdMs: Int64
        public var by: String
        public var reason: String
        /// Examples that it was fitted to, and how many of them have a click.
        public var examples: Int
        public var clicks: Int
        public var evaluation: RankingV1.RankingEvaluation?
        /// NoConversion says why it does not estimate conversions, if so.
        public var noConversion: String
        /// Weights of its features.
        public var weights: [RankingV1.RankingModelWeight]

        public init(id: String = "0", createdMs: Int64 = 0, by: String = "", reason: String = "", examples: Int = 0, clicks: Int = 0, evaluation: RankingV1.RankingEvaluation? = nil, noConversion: String = "", weights: [RankingV1.RankingModelWeight] = []) {
            self.id = id
            self.createdMs = createdMs
            self.by = by
            self.reason = reason
            self.examples = examples
            self.clicks = clicks
            self.evaluation = evaluation
            self.noConversion = noConversion
            self.weights = weights
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            by = try fields.value("by", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            examples = try fields.value("examples", IntCoder.self)
            clicks = try fields.value("clicks", IntCoder.self)
            evaluation = try fields.optional("evaluation", MessageCoder<RankingV1.RankingEvaluation>.self)
            noConversion = try fields.value("noConversion", TextCoder.self)
            weights = try fields.list("weights", MessageCoder<RankingV1.RankingModelWeight>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.value("by", by, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("examples", examples, IntCoder.self)
            try fields.value("clicks", clicks, IntCoder.self)
            try fields.optional("evaluation", evaluation, MessageCoder<RankingV1.RankingEvaluation>.self)
            try fields.value("noConversion", noConversion, TextCoder.self)
            try fields.list("weights", weights, MessageCoder<RankingV1.RankingModelWeight>.self)
        }

    }

    /// RankingModelWeight is what a feature of 1 adds to the log-odds of a click, and of a conversion if the model estimates those.
    public struct RankingModelWeight: ProtoMessage {
        public var feature: String
        public var click: Double
        public var conversion: Double

        public init(feature: String = "", click: Double = 0, conversion: Double = 0) {
            self.feature = feature
            self.click = click
            self.conversion = conversion
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            feature = try fields.value("feature", TextCoder.self)
            click = try fields.value("click", DoubleCoder.self)
            conversion = try fields.value("conversion", DoubleCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("feature", feature, TextCoder.self)
            try fields.value("click", click, DoubleCoder.self)
            try fields.value("conversion", conversion, DoubleCoder.self)
        }

    }

    /// RankingEvaluation is by examples that training has not used.
    public struct RankingEvaluation: ProtoMessage {
        public var examples: Int
        public var lists: Int
        public var clicks: Int
        public var model: RankingV1.RankingQuality?
        public var popularity: RankingV1.RankingQuality?
        public var recency: RankingV1.RankingQuality?
        /// CalibrationError is the mean difference of estimates and clicks, in ten parts of the examples.
        public var calibrationError: Double
        public var logLoss: Double
        /// BaseLogLoss is that of the average alone.
        public var baseLogLoss: Double
        public var calibration: [RankingV1.RankingCalibration]
        /// ConversionCalibration is that of conversions; none where the model does not estimate them.
        public var conversionCalibration: [RankingV1.RankingCalibration]
        public var conversionCalibrationError: Double

        public init(examples: Int = 0, lists: Int = 0, clicks: Int = 0, model: RankingV1.RankingQuality? = nil, popularity: RankingV1.RankingQuality? = nil, recency: RankingV1.RankingQuality? = nil, calibrationError: Double = 0, logLoss: Double = 0, baseLogLoss: Double = 0, calibration: [RankingV1.RankingCalibration] = [], conversionCalibration: [RankingV1.RankingCalibration] = [], conversionCalibrationError: Double = 0) {
            self.examples = examples
            self.lists = lists
            self.clicks = clicks
            self.model = model
            self.popularity = popularity
            self.recency = recency
            self.calibrationError = calibrationError
            self.logLoss = logLoss
            self.baseLogLoss = baseLogLoss
            self.calibration = calibration
            self.conversionCalibration = conversionCalibration
            self.conversionCalibrationError = conversionCalibrationError
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            examples = try fields.value("examples", IntCoder.self)
            lists = try fields.value("lists", IntCoder.self)
            clicks = try fields.value("clicks", IntCoder.self)
            model = try fields.optional("model", MessageCoder<RankingV1.RankingQuality>.self)
            popularity = try fields.optional("popularity", MessageCoder<RankingV1.RankingQuality>.self)
            recency = try fields.optional("recency", MessageCoder<RankingV1.RankingQuality>.self)
            calibrationError = try fields.value("calibrationError", DoubleCoder.self)
            logLoss = try fields.value("logLoss", DoubleCoder.self)
            baseLogLoss = try fields.value("baseLogLoss", DoubleCoder.self)
            calibration = try fields.list("calibration", MessageCoder<RankingV1.RankingCalibration>.self)
            conversionCalibration = try fields.list("conversionCalibration", MessageCoder<RankingV1.RankingCalibration>.self)
            conversionCalibrationError = try fields.value("conversionCalibrationError", DoubleCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("examples", examples, IntCoder.self)
            try fields.value("lists", lists, IntCoder.self)
            try fields.value("clicks", clicks, IntCoder.self)
            try fields.optional("model", model, MessageCoder<RankingV1.RankingQuality>.self)
            try fields.optional("popularity", popularity, MessageCoder<RankingV1.RankingQuality>.self)
            try fields.optional("recency", recency, MessageCoder<RankingV1.RankingQuality>.self)
            try fields.value("calibrationError", calibrationError, DoubleCoder.self)
            try fields.value("logLoss", logLoss, DoubleCoder.self)
            try fields.value("baseLogLoss", baseLogLoss, DoubleCoder.self)
            try fields.list("calibration", calibration, MessageCoder<RankingV1.RankingCalibration>.self)
            try fields.list("conversionCalibration", conversionCalibration, MessageCoder<RankingV1.RankingCalibration>.self)
            try fields.value("conversionCalibrationError", conversionCalibrationError, DoubleCoder.self)
        }

    }

    /// RankingQuality is that of an order.
    public struct RankingQuality: ProtoMessage {
        /// Auc is the probability that a post with a click comes before one without; 0.5 is chance.
        public var auc: Double
        /// Ndcg is the discounted gain of the first 20 posts of a list, of the best one possible.
        public var ndcg: Double
        /// Coverage is which part of all posts is in the first quarter of a list, of 20 posts at most.
        public var coverage: Double
        /// Roc is the curve of which auc is the area.
        public var roc: [RankingV1.RankingRocPoint]

        public init(auc: Double = 0, ndcg: Double = 0, coverage: Double = 0, roc: [RankingV1.RankingRocPoint] = []) {
            self.auc = auc
            self.ndcg = ndcg
            self.coverage = coverage
            self.roc = roc
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            auc = try fields.value("auc", DoubleCoder.self)
            ndcg = try fields.value("ndcg", DoubleCoder.self)
            coverage = try fields.value("coverage", DoubleCoder.self)
            roc = try fields.list("roc", MessageCoder<RankingV1.RankingRocPoint>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("auc", auc, DoubleCoder.self)
            try fields.value("ndcg", ndcg, DoubleCoder.self)
            try fields.value("coverage", coverage, DoubleCoder.self)
            try fields.list("roc", roc, MessageCoder<RankingV1.RankingRocPoint>.self)
        }

    }

    /// RankingRocPoint says which part of the posts without a click an order has before a place, and which part of those with one.
    public struct RankingRocPoint: ProtoMessage {
        public var falsePositives: Double
        public var truePositives: Double

        public init(falsePositives: Double = 0, truePositives: Double = 0) {
            self.falsePositives = falsePositives
            self.truePositives = truePositives
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            falsePositives = try fields.value("falsePositives", DoubleCoder.self)
            truePositives = try fields.value("truePositives", DoubleCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("falsePositives", falsePositives, DoubleCoder.self)
            try fields.value("truePositives", truePositives, DoubleCoder.self)
        }

    }

    /// RankingCalibration is the average estimate of some examples, and which part of them was clicked.
    public struct RankingCalibration: ProtoMessage {
        public var estimated: Double
        public var observed: Double
        public var examples: Int

        public init(estimated: Double = 0, observed: Double = 0, examples: Int = 0) {
            self.estimated = estimated
            self.observed = observed
            self.examples = examples
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            estimated = try fields.value("estimated", DoubleCoder.self)
            observed = try fields.value("observed", DoubleCoder.self)
            examples = try fields.value("examples", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("estimated", estimated, DoubleCoder.self)
            try fields.value("observed", observed, DoubleCoder.self)
            try fields.value("examples", examples, IntCoder.self)
        }

    }

    public struct ActivateRankingModelRequest: ProtoMessage {
        /// Model; 0: none, the weights rank.
        public var model: String
        /// By says who does it, for the records: a line of 1 to 100 characters. Of a key with a role in the console, it is the key.
        public var by: String
        /// Reason for the records, at most 500 characters.
        public var reason: String

        public init(model: String = "0", by: String = "", reason: String = "") {
            self.model = model
            self.by = by
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            model = try fields.value("model", IDCoder.self)
            by = try fields.value("by", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("model", model, IDCoder.self)
            try fields.value("by", by, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    /// RankingModelChange is a model that came into use.
    public struct RankingModelChange: ProtoMessage {
        /// Model; 0: the weights.
        public var model: String
        public var by: String
        public var reason: String
        public var timeMs: Int64

        public init(model: String = "0", by: String = "", reason: String = "", timeMs: Int64 = 0) {
            self.model = model
            self.by = by
            self.reason = reason
            self.timeMs = timeMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            model = try fields.value("model", IDCoder.self)
            by = try fields.value("by", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("model", model, IDCoder.self)
            try fields.value("by", by, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
        }

    }

    /// PostKind is what a post mainly is: the first one that fits, from the highest number down.
    public enum PostKind: ProtoEnum {
        case unspecified
        case text
        case link
        case images
        case goods
        case video
        case repost
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<PostKind>] = [
            ProtoEnumValue("POST_KIND_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("POST_KIND_TEXT", 1, .text),
            ProtoEnumValue("POST_KIND_LINK", 2, .link),
            ProtoEnumValue("POST_KIND_IMAGES", 3, .images),
            ProtoEnumValue("POST_KIND_GOODS", 4, .goods),
            ProtoEnumValue("POST_KIND_VIDEO", 5, .video),
            ProtoEnumValue("POST_KIND_REPOST", 6, .repost),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// RankReason is why a post is shown. Reasons are added: a client passes over those that it does not know.
    public enum RankReason: ProtoEnum {
        case unspecified
        /// The caller follows the author.
        case followed
        /// Users whom the caller follows like it.
        case network
        /// It is popular.
        case popular
        /// The caller often likes or comments on posts of the author.
        case affinity
        /// It is new.
        case recent
        /// Many have commented on it.
        case discussed
        /// It is like what the caller liked or commented on.
        case similar
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<RankReason>] = [
            ProtoEnumValue("RANK_REASON_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("RANK_REASON_FOLLOWED", 1, .followed),
            ProtoEnumValue("RANK_REASON_NETWORK", 2, .network),
            ProtoEnumValue("RANK_REASON_POPULAR", 3, .popular),
            ProtoEnumValue("RANK_REASON_AFFINITY", 4, .affinity),
            ProtoEnumValue("RANK_REASON_RECENT", 5, .recent),
            ProtoEnumValue("RANK_REASON_DISCUSSED", 6, .discussed),
            ProtoEnumValue("RANK_REASON_SIMILAR", 7, .similar),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// RankExclusion is why ForYou does not show a post.
    public enum RankExclusion: ProtoEnum {
        /// It is a candidate: others may be ranked before it.
        case unspecified
        /// The user may not see it.
        case notVisible
        /// The user is its author.
        case own
        /// The user has muted its author.
        case muted
        /// The user wants less of its author.
        case shownLess
        /// It comes from none of the sources.
        case noCandidate
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<RankExclusion>] = [
            ProtoEnumValue("RANK_EXCLUSION_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("RANK_EXCLUSION_NOT_VISIBLE", 1, .notVisible),
            ProtoEnumValue("RANK_EXCLUSION_OWN", 2, .own),
            ProtoEnumValue("RANK_EXCLUSION_MUTED", 3, .muted),
            ProtoEnumValue("RANK_EXCLUSION_SHOWN_LESS", 4, .shownLess),
            ProtoEnumValue("RANK_EXCLUSION_NO_CANDIDATE", 5, .noCandidate),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
