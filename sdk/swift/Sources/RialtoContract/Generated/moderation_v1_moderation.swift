// Made from rialto/moderation/v1/moderation.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.moderation.v1.
public enum ModerationV1 {}

extension ModerationV1 {
    /// ModerationService lets users report what breaks the rules, and appeal against decisions about themselves.
    public enum ModerationService {
        /// ReportContent reports a message, a post, a comment, a user or a group that the caller may read. Moderators get a copy, of a message with up to ten entries before
        /// it that the caller may read. A second report of the same thing returns the first one, unless that was about a user or a group and is decided. At most 20 an
        /// hour, beyond that too_many_reports.
        public static let reportContent = RialtoContract.Call<ModerationV1.ReportContentRequest, ModerationV1.Report>("rialto.moderation.v1.ModerationService/ReportContent")
        /// ListMyReports gives the caller's reports with their outcomes, the newest first.
        public static let listMyReports = RialtoContract.Call<ModerationV1.ListMyReportsRequest, ModerationV1.ListMyReportsResponse>("rialto.moderation.v1.ModerationService/ListMyReports")
        /// ListMyDecisions gives the decisions about the caller, the newest first.
        public static let listMyDecisions = RialtoContract.Call<ModerationV1.ListMyDecisionsRequest, ModerationV1.ListMyDecisionsResponse>("rialto.moderation.v1.ModerationService/ListMyDecisions")
        /// AcknowledgeDecision says that the caller has read a warning. A retry is harmless.
        public static let acknowledgeDecision = RialtoContract.Call<ModerationV1.AcknowledgeDecisionRequest, ModerationV1.AcknowledgeDecisionResponse>("rialto.moderation.v1.ModerationService/AcknowledgeDecision")
        /// AppealDecision appeals against a decision about the caller, once.
        public static let appealDecision = RialtoContract.Call<ModerationV1.AppealDecisionRequest, ModerationV1.AppealReceipt>("rialto.moderation.v1.ModerationService/AppealDecision")
        /// AppealBan appeals against a ban of one's account or device, once. It needs no session, but the appeal token of the error account_banned, which a login that would
        /// succeed without the ban is answered with.
        public static let appealBan = RialtoContract.Call<ModerationV1.AppealBanRequest, ModerationV1.AppealReceipt>("rialto.moderation.v1.ModerationService/AppealBan")
    }

    /// ModerationAdminService is for moderators: all calls need a key with the role moderator or operator. Each change is in the audit log.
    public enum ModerationAdminService {
        /// ListCases gives what was reported, without its content: open cases as they were opened, the oldest first, decided ones the newest first.
        public static let listCases = RialtoContract.Call<ModerationV1.ListCasesRequest, ModerationV1.ListCasesResponse>("rialto.moderation.v1.ModerationAdminService/ListCases")
        /// GetCase gives a case with its content and its reports.
        public static let getCase = RialtoContract.Call<ModerationV1.GetCaseRequest, ModerationV1.Case>("rialto.moderation.v1.ModerationAdminService/GetCase")
        /// Decide closes a case. Its content is hidden or recalled at once as a rule, and else within a minute.
        public static let decide = RialtoContract.Call<ModerationV1.DecideRequest, ModerationV1.Decision>("rialto.moderation.v1.ModerationAdminService/Decide")
        /// BanTarget bans a user, a device or a network, or limits a user, without a case.
        public static let banTarget = RialtoContract.Call<ModerationV1.BanTargetRequest, ModerationV1.Ban>("rialto.moderation.v1.ModerationAdminService/BanTarget")
        /// ListBans gives bans, the newest first.
        public static let listBans = RialtoContract.Call<ModerationV1.ListBansRequest, ModerationV1.ListBansResponse>("rialto.moderation.v1.ModerationAdminService/ListBans")
        /// LiftBan ends a ban. A retry is harmless.
        public static let liftBan = RialtoContract.Call<ModerationV1.LiftBanRequest, ModerationV1.Ban>("rialto.moderation.v1.ModerationAdminService/LiftBan")
        /// ListAppeals gives open appeals, the oldest first, or decided ones, the newest first.
        public static let listAppeals = RialtoContract.Call<ModerationV1.ListAppealsRequest, ModerationV1.ListAppealsResponse>("rialto.moderation.v1.ModerationAdminService/ListAppeals")
        /// DecideAppeal decides an appeal. A decision that is overturned is undone: a ban is lifted, a post or a comment is shown again. A message stays recalled.
        public static let decideAppeal = RialtoContract.Call<ModerationV1.DecideAppealRequest, ModerationV1.Appeal>("rialto.moderation.v1.ModerationAdminService/DecideAppeal")
        /// ListWordLists gives the word lists, without their words.
        public static let listWordLists = RialtoContract.Call<ModerationV1.ListWordListsRequest, ModerationV1.ListWordListsResponse>("rialto.moderation.v1.ModerationAdminService/ListWordLists")
        /// GetWordList gives a word list with its words.
        public static let getWordList = RialtoContract.Call<ModerationV1.GetWordListRequest, ModerationV1.WordList>("rialto.moderation.v1.ModerationAdminService/GetWordList")
        /// PutWordList creates or replaces a word list; one without words deletes it. It holds on this node from the answer on, and on others within a second as a rule.
        /// Operators only.
        public static let putWordList = RialtoContract.Call<ModerationV1.PutWordListRequest, ModerationV1.WordList>("rialto.moderation.v1.ModerationAdminService/PutWordList")
    }

    /// ReportedThing is what is reported.
    public struct ReportedThing: ProtoMessage {
        public var kind: ModerationV1.ReportedKind
        /// Id of a post, a comment or a user; of a group, or of the conversation of a message; of what is held, its author.
        public var id: String
        /// Seq of a message in its conversation; of what is held, a number that no other of the author has; otherwise 0.
        public var seq: Int64

        public init(kind: ModerationV1.ReportedKind = .unspecified, id: String = "0", seq: Int64 = 0) {
            self.kind = kind
            self.id = id
            self.seq = seq
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try fields.value("kind", EnumCoder<ModerationV1.ReportedKind>.self)
            id = try fields.value("id", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("kind", kind, EnumCoder<ModerationV1.ReportedKind>.self)
            try fields.value("id", id, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
        }

    }

    public struct ReportContentRequest: ProtoMessage {
        public var subject: ModerationV1.ReportedThing?
        public var reason: ModerationV1.ReportReason
        /// Note for the moderators, at most 1,000 characters.
        public var note: String

        public init(subject: ModerationV1.ReportedThing? = nil, reason: ModerationV1.ReportReason = .unspecified, note: String = "") {
            self.subject = subject
            self.reason = reason
            self.note = note
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            subject = try fields.optional("subject", MessageCoder<ModerationV1.ReportedThing>.self)
            reason = try fields.value("reason", EnumCoder<ModerationV1.ReportReason>.self)
            note = try fields.value("note", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("subject", subject, MessageCoder<ModerationV1.ReportedThing>.self)
            try fields.value("reason", reason, EnumCoder<ModerationV1.ReportReason>.self)
            try fields.value("note", note, TextCoder.self)
        }

    }

    /// Report of a user.
    public struct Report: ProtoMessage {
        public var id: String
        public var subject: ModerationV1.ReportedThing?
        public var reason: ModerationV1.ReportReason
        public var note: String
        /// TimeMs is when it was made, in milliseconds since 1970.
        public var timeMs: Int64
        public var state: ModerationV1.ReportState
        /// DecidedMs is when a moderator decided, in milliseconds since 1970; 0: not yet.
        public var decidedMs: Int64
        /// Reporter who made it; only moderators see it.
        public var reporter: String

        public init(id: String = "0", subject: ModerationV1.ReportedThing? = nil, reason: ModerationV1.ReportReason = .unspecified, note: String = "", timeMs: Int64 = 0, state: ModerationV1.ReportState = .unspecified, decidedMs: Int64 = 0, reporter: String = "0") {
            self.id = id
            self.subject = subject
            self.reason = reason
            self.note = note
            self.timeMs = timeMs
            self.state = state
            self.decidedMs = decidedMs
            self.reporter = reporter
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            subject = try fields.optional("subject", MessageCoder<ModerationV1.ReportedThing>.self)
            reason = try fields.value("reason", EnumCoder<ModerationV1.ReportReason>.self)
            note = try fields.value("note", TextCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            state = try fields.value("state", EnumCoder<ModerationV1.ReportState>.self)
            decidedMs = try fields.value("decidedMs", Int64Coder.self)
            reporter = try fields.value("reporter", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.optional("subject", subject, MessageCoder<ModerationV1.ReportedThing>.self)
            try fields.value("reason", reason, EnumCoder<ModerationV1.ReportReason>.self)
            try fields.value("note", note, TextCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("state", state, EnumCoder<ModerationV1.ReportState>.self)
            try fields.value("decidedMs", decidedMs, Int64Coder.self)
            try fields.value("reporter", reporter, IDCoder.self)
        }

    }

    public struct ListMyReportsRequest: ProtoMessage {
        /// Page is the next of the previous page; empty: the first one.
        public var page: String
        /// Limit of the reports, at most 50; 0 is 20.
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

    public struct ListMyReportsResponse: ProtoMessage {
        public var reports: [ModerationV1.Report]
        /// Next is the page of the next request; empty: there is none.
        public var next: String

        public init(reports: [ModerationV1.Report] = [], next: String = "") {
            self.reports = reports
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            reports = try fields.list("reports", MessageCoder<ModerationV1.Report>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("reports", reports, MessageCoder<ModerationV1.Report>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct ListMyDecisionsRequest: ProtoMessage {
        /// Page is the next of the previous page; empty: the first one.
        public var page: String
        /// Limit of the decisions, at most 50; 0 is 20.
        public var limit: Int
        /// Unacknowledged: only warnings that the caller has not acknowledged. Clients show them until the user does so.
        public var unacknowledged: Bool

        public init(page: String = "", limit: Int = 0, unacknowledged: Bool = false) {
            self.page = page
            self.limit = limit
            self.unacknowledged = unacknowledged
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            unacknowledged = try fields.value("unacknowledged", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("unacknowledged", unacknowledged, BoolCoder.self)
        }

    }

    public struct ListMyDecisionsResponse: ProtoMessage {
        public var decisions: [ModerationV1.DecisionNotice]
        /// Next is the page of the next request; empty: there is none.
        public var next: String

        public init(decisions: [ModerationV1.DecisionNotice] = [], next: String = "") {
            self.decisions = decisions
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            decisions = try fields.list("decisions", MessageCoder<ModerationV1.DecisionNotice>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("decisions", decisions, MessageCoder<ModerationV1.DecisionNotice>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// DecisionNotice is what a user is told of a decision about the user.
    public struct DecisionNotice: ProtoMessage {
        public var id: String
        public var action: ModerationV1.Action
        /// Subject that the decision is about; absent for a ban without a case.
        public var subject: ModerationV1.ReportedThing?
        public var reason: ModerationV1.ReportReason
        /// Explanation by the moderator.
        public var explanation: String
        /// TimeMs is when it was made, in milliseconds since 1970.
        public var timeMs: Int64
        /// EndsMs is when a ban ends, in milliseconds since 1970; 0: never, or it is no ban.
        public var endsMs: Int64
        /// Excerpt of the text that the decision is about, at most 200 characters.
        public var excerpt: String
        public var appeal: ModerationV1.AppealState
        /// AppealAnswer of the moderators to the appeal.
        public var appealAnswer: String
        /// AcknowledgedMs is when the user acknowledged a warning, in milliseconds since 1970; 0: not yet, or it is no warning.
        public var acknowledgedMs: Int64

        public init(id: String = "0", action: ModerationV1.Action = .unspecified, subject: ModerationV1.ReportedThing? = nil, reason: ModerationV1.ReportReason = .unspecified, explanation: String = "", timeMs: Int64 = 0, endsMs: Int64 = 0, excerpt: String = "", appeal: ModerationV1.AppealState = .unspecified, appealAnswer: String = "", acknowledgedMs: Int64 = 0) {
            self.id = id
            self.action = action
            self.subject = subject
            self.reason = reason
            self.explanation = explanation
            self.timeMs = timeMs
            self.endsMs = endsMs
            self.excerpt = excerpt
            self.appeal = appeal
            self.appealAnswer = appealAnswer
            self.acknowledgedMs = acknowledgedMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            action = try fields.value("action", EnumCoder<ModerationV1.Action>.self)
            subject = try fields.optional("subject", MessageCoder<ModerationV1.ReportedThing>.self)
            reason = try fields.value("reason", EnumCoder<ModerationV1.ReportReason>.self)
            explanation = try fields.value("explanation", TextCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            endsMs = try fields.value("endsMs", Int64Coder.self)
            excerpt = try fields.value("excerpt", TextCoder.self)
            appeal = try fields.value("appeal", EnumCoder<ModerationV1.AppealState>.self)
            appealAnswer = try fields.value("appealAnswer", TextCoder.self)
            acknowledgedMs = try fields.value("acknowledgedMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("action", action, EnumCoder<ModerationV1.Action>.self)
            try fields.optional("subject", subject, MessageCoder<ModerationV1.ReportedThing>.self)
            try fields.value("reason", reason, EnumCoder<ModerationV1.ReportReason>.self)
            try fields.value("explanation", explanation, TextCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("endsMs", endsMs, Int64Coder.self)
            try fields.value("excerpt", excerpt, TextCoder.self)
            try fields.value("appeal", appeal, EnumCoder<ModerationV1.AppealState>.self)
            try fields.value("appealAnswer", appealAnswer, TextCoder.self)
            try fields.value("acknowledgedMs", acknowledgedMs, Int64Coder.self)
        }

    }

    public struct AcknowledgeDecisionRequest: ProtoMessage {
        public var decision: String

        public init(decision: String = "0") {
            self.decision = decision
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            decision = try fields.value("decision", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("decision", decision, IDCoder.self)
        }

    }

    public struct AcknowledgeDecisionResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct AppealDecisionRequest: ProtoMessage {
        public var decision: String
        /// Text of 1 to 2,000 characters.
        public var text: String

        public init(decision: String = "0", text: String = "") {
            self.decision = decision
            self.text = text
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            decision = try fields.value("decision", IDCoder.self)
            text = try fields.value("text", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("decision", decision, IDCoder.self)
            try fields.value("text", text, TextCoder.self)
        }

    }

    public struct AppealBanRequest: ProtoMessage {
        /// AppealToken of the error account_banned. It is valid for an hour.
        public var appealToken: String
        /// Text of 1 to 2,000 characters.
        public var text: String

        public init(appealToken: String = "", text: String = "") {
            self.appealToken = appealToken
            self.text = text
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            appealToken = try fields.value("appealToken", TextCoder.self)
            text = try fields.value("text", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("appealToken", appealToken, TextCoder.self)
            try fields.value("text", text, TextCoder.self)
        }

    }

    public struct AppealReceipt: ProtoMessage {
        public var appeal: String

        public init(appeal: String = "0") {
            self.appeal = appeal
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            appeal = try fields.value("appeal", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("appeal", appeal, IDCoder.self)
        }

    }

    /// Case is a thing that was reported, with all reports of it until the decision.
    public struct Case: ProtoMessage {
        public var id: String
        public var subject: ModerationV1.ReportedThing?
        public var state: ModerationV1.CaseState
        /// About is the user who wrote it, or who is reported; 0 for a group.
        public var about: String
        /// ReportCount is how many users have reported it. The word filter counts as one, whose report has reporter 0 and the word as its note.
        public var reportCount: Int
        /// Reasons of the reports, each once.
        public var reasons: [ModerationV1.ReportReason]
        /// OpenedMs is when it was reported first, in milliseconds since 1970.
        public var openedMs: Int64
        /// Excerpt of its text, at most 200 characters.
        public var excerpt: String
        public var decision: ModerationV1.Decision?
        /// Reports, the newest first, at most 50; by GetCase only.
        public var reports: [ModerationV1.Report]
        /// Content as it was when it was reported first; by GetCase only, and until 180 days after the decision.
        public var content: ModerationV1.CaseContent?
        /// Users that the case names: whom it is about, who reported it, and who sent its messages. By GetCase only. They have their names now, and neither pictures nor bios.
        public var users: [AccountV1.User]

        public init(id: String = "0", subject: ModerationV1.ReportedThing? = nil, state: ModerationV1.CaseState = .unspecified, about: String = "0", reportCount: Int = 0, reasons: [ModerationV1.ReportReason] = [], openedMs: Int64 = 0, excerpt: String = "", decision: ModerationV1.Decision? = nil, reports: [ModerationV1.Report] = [], content: ModerationV1.CaseContent? = nil, users: [AccountV1.User] = []) {
            self.id = id
            self.subject = subject
            self.state = state
            self.about = about
            self.reportCount = reportCount
            self.reasons = reasons
            self.openedMs = openedMs
            self.excerpt = excerpt
            self.decision = decision
            self.reports = reports
            self.content = content
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            subject = try fields.optional("subject", MessageCoder<ModerationV1.ReportedThing>.self)
            state = try fields.value("state", EnumCoder<ModerationV1.CaseState>.self)
            about = try fields.value("about", IDCoder.self)
            reportCount = try fields.value("reportCount", IntCoder.self)
            reasons = try fields.list("reasons", EnumCoder<ModerationV1.ReportReason>.self)
            openedMs = try fields.value("openedMs", Int64Coder.self)
            excerpt = try fields.value("excerpt", TextCoder.self)
            decision = try fields.optional("decision", MessageCoder<ModerationV1.Decision>.self)
            reports = try fields.list("reports", MessageCoder<ModerationV1.Report>.self)
            content = try fields.optional("content", MessageCoder<ModerationV1.CaseContent>.self)
            users = try fields.list("users", MessageCoder<AccountV1.User>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.optional("subject", subject, MessageCoder<ModerationV1.ReportedThing>.self)
            try fields.value("state", state, EnumCoder<ModerationV1.CaseState>.self)
            try fields.value("about", about, IDCoder.self)
            try fields.value("reportCount", reportCount, IntCoder.self)
            try fields.list("reasons", reasons, EnumCoder<ModerationV1.ReportReason>.self)
            try fields.value("openedMs", openedMs, Int64Coder.self)
            try fields.value("excerpt", excerpt, TextCoder.self)
            try fields.optional("decision", decision, MessageCoder<ModerationV1.Decision>.self)
            try fields.list("reports", reports, MessageCoder<ModerationV1.Report>.self)
            try fields.optional("content", content, MessageCoder<ModerationV1.CaseContent>.self)
            try fields.list("users", users, MessageCoder<AccountV1.User>.self)
        }

    }

    /// CaseContent is a copy of what was reported.
    public struct CaseContent: ProtoMessage {
        /// Messages: the last one is reported; those before it are its context. Older ones are left out beyond 64 KiB.
        public var messages: [ChatV1.Message]
        public var post: FeedV1.Post?
        public var comment: CommentV1.Comment?
        public var user: AccountV1.User?
        public var group: ChatV1.Conversation?
        public var held: ModerationV1.HeldContent?

        public init(messages: [ChatV1.Message] = [], post: FeedV1.Post? = nil, comment: CommentV1.Comment? = nil, user: AccountV1.User? = nil, group: ChatV1.Conversation? = nil, held: ModerationV1.HeldContent? = nil) {
            self.messages = messages
            self.post = post
            self.comment = comment
            self.user = user
            self.group = group
            self.held = held
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            messages = try fields.list("messages", MessageCoder<ChatV1.Message>.self)
            post = try fields.optional("post", MessageCoder<FeedV1.Post>.self)
            comment = try fields.optional("comment", MessageCoder<CommentV1.Comment>.self)
            user = try fields.optional("user", MessageCoder<AccountV1.User>.self)
            group = try fields.optional("group", MessageCoder<ChatV1.Conversation>.self)
            held = try fields.optional("held", MessageCoder<ModerationV1.HeldContent>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("messages", messages, MessageCoder<ChatV1.Message>.self)
            try fields.optional("post", post, MessageCoder<FeedV1.Post>.self)
            try fields.optional("comment", comment, MessageCoder<CommentV1.Comment>.self)
            try fields.optional("user", user, MessageCoder<AccountV1.User>.self)
            try fields.optional("group", group, MessageCoder<ChatV1.Conversation>.self)
            try fields.optional("held", held, MessageCoder<ModerationV1.HeldContent>.self)
        }

    }

    /// HeldContent is what is sent or published if a moderator allows it: one field is set.
    public struct HeldContent: ProtoMessage {
        public var of: Of?

        public init(of: Of? = nil) {
            self.of = of
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            of = try Of(fields)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try of?.write(to: &fields)
        }

        public enum Of: Hashable, Sendable {
            case message(ModerationV1.HeldMessage)
            case post(FeedV1.PublishRequest)
            case postEdit(FeedV1.EditPostRequest)
            case comment(CommentV1.CreateCommentRequest)
            case commentEdit(CommentV1.EditCommentRequest)

            init?(_ fields: ProtoReader) throws {
                if let value = try fields.optional("message", MessageCoder<ModerationV1.HeldMessage>.self) {
                    self = .message(value)
                } else if let value = try fields.optional("post", MessageCoder<FeedV1.PublishRequest>.self) {
                    self = .post(value)
                } else if let value = try fields.optional("postEdit", MessageCoder<FeedV1.EditPostRequest>.self) {
                    self = .postEdit(value)
                } else if let value = try fields.optional("comment", MessageCoder<CommentV1.CreateCommentRequest>.self) {
                    self = .comment(value)
                } else if let value = try fields.optional("commentEdit", MessageCoder<CommentV1.EditCommentRequest>.self) {
                    self = .commentEdit(value)
                } else {
                    return nil
                }
            }

            func write(to fields: inout ProtoWriter) throws {
                switch self {
                case .message(let value): try fields.optional("message", value, MessageCoder<ModerationV1.HeldMessage>.self)
                case .post(let value): try fields.optional("post", value, MessageCoder<FeedV1.PublishRequest>.self)
                case .postEdit(let value): try fields.optional("postEdit", value, MessageCoder<FeedV1.EditPostRequest>.self)
                case .comment(let value): try fields.optional("comment", value, MessageCoder<CommentV1.CreateCommentRequest>.self)
                case .commentEdit(let value): try fields.optional("commentEdit", value, MessageCoder<CommentV1.EditCommentRequest>.self)
                }
            }
        }

    }

    /// HeldMessage is a message, or an edit of one.
    public struct HeldMessage: ProtoMessage {
        public var conversation: String
        public var content: Content?

        public init(conversation: String = "0", content: Content? = nil) {
            self.conversation = conversation
            self.content = content
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            conversation = try fields.value("conversation", IDCoder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
        }

    }

    public struct ListCasesRequest: ProtoMessage {
        /// State of the cases; unspecified is open.
        public var state: ModerationV1.CaseState
        /// Kind of the subjects; unspecified: all.
        public var kind: ModerationV1.ReportedKind
        /// About a user; 0: all.
        public var about: String
        /// Page is the next of the previous page; empty: the first one.
        public var page: String
        /// Limit of the cases, at most 50; 0 is 20.
        public var limit: Int

        public init(state: ModerationV1.CaseState = .unspecified, kind: ModerationV1.ReportedKind = .unspecified, about: String = "0", page: String = "", limit: Int = 0) {
            self.state = state
            self.kind = kind
            self.about = about
            self.page = page
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            state = try fields.value("state", EnumCoder<ModerationV1.CaseState>.self)
            kind = try fields.value("kind", EnumCoder<ModerationV1.ReportedKind>.self)
            about = try fields.value("about", IDCoder.self)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("state", state, EnumCoder<ModerationV1.CaseState>.self)
            try fields.value("kind", kind, EnumCoder<ModerationV1.ReportedKind>.self)
            try fields.value("about", about, IDCoder.self)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListCasesResponse: ProtoMessage {
        public var cases: [ModerationV1.Case]
        /// Next is the page of the next request; empty: there is none.
        public var next: String
        /// Users whom the cases are about, with their names now, and neither pictures nor bios.
        public var users: [AccountV1.User]

        public init(cases: [ModerationV1.Case] = [], next: String = "", users: [AccountV1.User] = []) {
            self.cases = cases
            self.next = next
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            cases = try fields.list("cases", MessageCoder<ModerationV1.Case>.self)
            next = try fields.value("next", TextCoder.self)
            users = try fields.list("users", MessageCoder<AccountV1.User>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("cases", cases, MessageCoder<ModerationV1.Case>.self)
            try fields.value("next", next, TextCoder.self)
            try fields.list("users", users, MessageCoder<AccountV1.User>.self)
        }

    }

    public struct GetCaseRequest: ProtoMessage {
        public var `case`: String

        public init(`case`: String = "0") {
            self.`case` = `case`
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            `case` = try fields.value("case", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("case", `case`, IDCoder.self)
        }

    }

    public struct DecideRequest: ProtoMessage {
        public var `case`: String
        public var action: ModerationV1.Action
        /// Reason that the user is told; needed unless the case is dismissed.
        public var reason: ModerationV1.ReportReason
        /// Explanation that the user is told, at most 500 characters.
        public var explanation: String
        /// Note for other moderators and the audit log, at most 500 characters.
        public var note: String
        /// BanEndsMs is when a ban or a limit ends, in milliseconds since 1970; 0: never. Otherwise it is in the future.
        public var banEndsMs: Int64

        public init(`case`: String = "0", action: ModerationV1.Action = .unspecified, reason: ModerationV1.ReportReason = .unspecified, explanation: String = "", note: String = "", banEndsMs: Int64 = 0) {
            self.`case` = `case`
            self.action = action
            self.reason = reason
            self.explanation = explanation
            self.note = note
            self.banEndsMs = banEndsMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            `case` = try fields.value("case", IDCoder.self)
            action = try fields.value("action", EnumCoder<ModerationV1.Action>.self)
            reason = try fields.value("reason", EnumCoder<ModerationV1.ReportReason>.self)
            explanation = try fields.value("explanation", TextCoder.self)
            note = try fields.value("note", TextCoder.self)
            banEndsMs = try fields.value("banEndsMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("case", `case`, IDCoder.self)
            try fields.value("action", action, EnumCoder<ModerationV1.Action>.self)
            try fields.value("reason", reason, EnumCoder<ModerationV1.ReportReason>.self)
            try fields.value("explanation", explanation, TextCoder.self)
            try fields.value("note", note, TextCoder.self)
            try fields.value("banEndsMs", banEndsMs, Int64Coder.self)
        }

    }

    /// Decision of a moderator.
    public struct Decision: ProtoMessage {
        public var id: String
        /// Case that it closed; 0: none.
        public var `case`: String
        public var subject: ModerationV1.ReportedThing?
        public var about: String
        public var action: ModerationV1.Action
        public var reason: ModerationV1.ReportReason
        public var explanation: String
        public var note: String
        /// By is the name of the moderator's key.
        public var by: String
        public var timeMs: Int64
        /// BanEndsMs is when the ban or the limit ends; 0: never, or it is neither.
        public var banEndsMs: Int64
        /// Applied: the content is hidden, recalled or sent. Otherwise this is tried again each minute, unless there is a failure.
        public var applied: Bool
        /// Overturned by an appeal.
        public var overturned: Bool
        /// AcknowledgedMs is when the user acknowledged the warning, in milliseconds since 1970; 0: not yet, or it is no warning.
        public var acknowledgedMs: Int64
        /// Failure is the reason of the error, such as no_conversation, for which what was held could not be sent any more when it was allowed. It is not tried again.
        public var failure: String

        public init(id: String = "0", `case`: String = "0", subject: ModerationV1.ReportedThing? = nil, about: String = "0", action: ModerationV1.Action = .unspecified, reason: ModerationV1.ReportReason = .unspecified, explanation: String = "", note: String = "", by: String = "", timeMs: Int64 = 0, banEndsMs: Int64 = 0, applied: Bool = false, overturned: Bool = false, acknowledgedMs: Int64 = 0, failure: String = "") {
            self.id = id
            self.`case` = `case`
            self.subject = subject
            self.about = about
            self.action = action
            self.reason = reason
            self.explanation = explanation
            self.note = note
            self.by = by
            self.timeMs = timeMs
            self.banEndsMs = banEndsMs
            self.applied = applied
            self.overturned = overturned
            self.acknowledgedMs = acknowledgedMs
            self.failure = failure
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            `case` = try fields.value("case", IDCoder.self)
            subject = try fields.optional("subject", MessageCoder<ModerationV1.ReportedThing>.self)
            about = try fields.value("about", IDCoder.self)
            action = try fields.value("action", EnumCoder<ModerationV1.Action>.self)
            reason = try fields.value("reason", EnumCoder<ModerationV1.ReportReason>.self)
            explanation = try fields.value("explanation", TextCoder.self)
            note = try fields.value("note", TextCoder.self)
            by = try fields.value("by", TextCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            banEndsMs = try fields.value("banEndsMs", Int64Coder.self)
            applied = try fields.value("applied", BoolCoder.self)
            overturned = try fields.value("overturned", BoolCoder.self)
            acknowledgedMs = try fields.value("acknowledgedMs", Int64Coder.self)
            failure = try fields.value("failure", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("case", `case`, IDCoder.self)
            try fields.optional("subject", subject, MessageCoder<ModerationV1.ReportedThing>.self)
            try fields.value("about", about, IDCoder.self)
            try fields.value("action", action, EnumCoder<ModerationV1.Action>.self)
            try fields.value("reason", reason, EnumCoder<ModerationV1.ReportReason>.self)
            try fields.value("explanation", explanation, TextCoder.self)
            try fields.value("note", note, TextCoder.self)
            try fields.value("by", by, TextCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("banEndsMs", banEndsMs, Int64Coder.self)
            try fields.value("applied", applied, BoolCoder.self)
            try fields.value("overturned", overturned, BoolCoder.self)
            try fields.value("acknowledgedMs", acknowledgedMs, Int64Coder.self)
            try fields.value("failure", failure, TextCoder.self)
        }

    }

    /// Target of a ban or a limit: exactly one field is set.
    public struct Target: ProtoMessage {
        public var of: Of?

        public init(of: Of? = nil) {
            self.of = of
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            of = try Of(fields)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try of?.write(to: &fields)
        }

        public enum Of: Hashable, Sendable {
            case user(String)
            /// Device: messages name that of their sender. A client that forgets its device gets another one.
            case device(String)
            /// Network such as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/48: an IPv4 network of 8 to 32 bits, or an IPv6 network of 16 to 64.
            case network(String)
            /// LimitedUser is a user who is not banned, but limited: what the user writes to strangers, posts and comments is seen by nobody else, and the user is not told.
            /// At most 10,000 users are limited at once.
            case limitedUser(String)

            init?(_ fields: ProtoReader) throws {
                if let value = try fields.optional("user", IDCoder.self) {
                    self = .user(value)
                } else if let value = try fields.optional("device", IDCoder.self) {
                    self = .device(value)
                } else if let value = try fields.optional("network", TextCoder.self) {
                    self = .network(value)
                } else if let value = try fields.optional("limitedUser", IDCoder.self) {
                    self = .limitedUser(value)
                } else {
                    return nil
                }
            }

            func write(to fields: inout ProtoWriter) throws {
                switch self {
                case .user(let value): try fields.optional("user", value, IDCoder.self)
                case .device(let value): try fields.optional("device", value, IDCoder.self)
                case .network(let value): try fields.optional("network", value, TextCoder.self)
                case .limitedUser(let value): try fields.optional("limitedUser", value, IDCoder.self)
                }
            }
        }

    }

    public struct BanTargetRequest: ProtoMessage {
        public var target: ModerationV1.Target?
        /// EndsMs in milliseconds since 1970; 0: never. Otherwise it is in the future.
        public var endsMs: Int64
        public var reason: ModerationV1.ReportReason
        /// Explanation that the user is told, at most 500 characters.
        public var explanation: String
        /// Note for other moderators and the audit log, at most 500 characters.
        public var note: String

        public init(target: ModerationV1.Target? = nil, endsMs: Int64 = 0, reason: ModerationV1.ReportReason = .unspecified, explanation: String = "", note: String = "") {
            self.target = target
            self.endsMs = endsMs
            self.reason = reason
            self.explanation = explanation
            self.note = note
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            target = try fields.optional("target", MessageCoder<ModerationV1.Target>.self)
            endsMs = try fields.value("endsMs", Int64Coder.self)
            reason = try fields.value("reason", EnumCoder<ModerationV1.ReportReason>.self)
            explanation = try fields.value("explanation", TextCoder.self)
            note = try fields.value("note", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("target", target, MessageCoder<ModerationV1.Target>.self)
            try fields.value("endsMs", endsMs, Int64Coder.self)
            try fields.value("reason", reason, EnumCoder<ModerationV1.ReportReason>.self)
            try fields.value("explanation", explanation, TextCoder.self)
            try fields.value("note", note, TextCoder.self)
        }

    }

    /// Ban of a user, a device or a network.
    public struct Ban: ProtoMessage {
        public var id: String
        public var target: ModerationV1.Target?
        /// About is the user; the owner of a device; 0 for a network.
        public var about: String
        public var decision: String
        public var madeMs: Int64
        /// EndsMs is when it ends by itself; 0: never.
        public var endsMs: Int64
        /// LiftedMs is when a moderator lifted it; 0: none did.
        public var liftedMs: Int64
        /// Active: it holds now.
        public var active: Bool
        public var explanation: String
        /// By is the name of the moderator's key.
        public var by: String

        public init(id: String = "0", target: ModerationV1.Target? = nil, about: String = "0", decision: String = "0", madeMs: Int64 = 0, endsMs: Int64 = 0, liftedMs: Int64 = 0, active: Bool = false, explanation: String = "", by: String = "") {
            self.id = id
            self.target = target
            self.about = about
            self.decision = decision
            self.madeMs = madeMs
            self.endsMs = endsMs
            self.liftedMs = liftedMs
            self.active = active
            self.explanation = explanation
            self.by = by
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            target = try fields.optional("target", MessageCoder<ModerationV1.Target>.self)
            about = try fields.value("about", IDCoder.self)
            decision = try fields.value("decision", IDCoder.self)
            madeMs = try fields.value("madeMs", Int64Coder.self)
            endsMs = try fields.value("endsMs", Int64Coder.self)
            liftedMs = try fields.value("liftedMs", Int64Coder.self)
            active = try fields.value("active", BoolCoder.self)
            explanation = try fields.value("explanation", TextCoder.self)
            by = try fields.value("by", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.optional("target", target, MessageCoder<ModerationV1.Target>.self)
            try fields.value("about", about, IDCoder.self)
            try fields.value("decision", decision, IDCoder.self)
            try fields.value("madeMs", madeMs, Int64Coder.self)
            try fields.value("endsMs", endsMs, Int64Coder.self)
            try fields.value("liftedMs", liftedMs, Int64Coder.self)
            try fields.value("active", active, BoolCoder.self)
            try fields.value("explanation", explanation, TextCoder.self)
            try fields.value("by", by, TextCoder.self)
        }

    }

    public struct ListBansRequest: ProtoMessage {
        /// Past: those that have ended or were lifted as well.
        public var past: Bool
        /// About a user; 0: all.
        public var about: String
        /// Page is the next of the previous page; empty: the first one.
        public var page: String
        /// Limit of the bans, at most 200; 0 is 50.
        public var limit: Int

        public init(past: Bool = false, about: String = "0", page: String = "", limit: Int = 0) {
            self.past = past
            self.about = about
            self.page = page
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            past = try fields.value("past", BoolCoder.self)
            about = try fields.value("about", IDCoder.self)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("past", past, BoolCoder.self)
            try fields.value("about", about, IDCoder.self)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListBansResponse: ProtoMessage {
        public var bans: [ModerationV1.Ban]
        /// Next is the page of the next request; empty: there is none.
        public var next: String
        /// Users whom the bans are about, with their names now, and neither pictures nor bios.
        public var users: [AccountV1.User]

        public init(bans: [ModerationV1.Ban] = [], next: String = "", users: [AccountV1.User] = []) {
            self.bans = bans
            self.next = next
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            bans = try fields.list("bans", MessageCoder<ModerationV1.Ban>.self)
            next = try fields.value("next", TextCoder.self)
            users = try fields.list("users", MessageCoder<AccountV1.User>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("bans", bans, MessageCoder<ModerationV1.Ban>.self)
            try fields.value("next", next, TextCoder.self)
            try fields.list("users", users, MessageCoder<AccountV1.User>.self)
        }

    }

    public struct LiftBanRequest: ProtoMessage {
        public var ban: String
        /// Note for the audit log, at most 500 characters.
        public var note: String

        public init(ban: String = "0", note: String = "") {
            self.ban = ban
            self.note = note
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            ban = try fields.value("ban", IDCoder.self)
            note = try fields.value("note", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("ban", ban, IDCoder.self)
            try fields.value("note", note, TextCoder.self)
        }

    }

    /// Appeal of a user against a decision.
    public struct Appeal: ProtoMessage {
        public var id: String
        public var user: String
        public var text: String
        public var timeMs: Int64
        public var state: ModerationV1.AppealState
        /// Answer that the user is told.
        public var answer: String
        /// By is the name of the key of the moderator who decided.
        public var by: String
        public var decidedMs: Int64
        public var decision: ModerationV1.Decision?
        /// Excerpt of the text that the decision is about.
        public var excerpt: String

        public init(id: String = "0", user: String = "0", text: String = "", timeMs: Int64 = 0, state: ModerationV1.AppealState = .unspecified, answer: String = "", by: String = "", decidedMs: Int64 = 0, decision: ModerationV1.Decision? = nil, excerpt: String = "") {
            self.id = id
            self.user = user
            self.text = text
            self.timeMs = timeMs
            self.state = state
            self.answer = answer
            self.by = by
            self.decidedMs = decidedMs
            self.decision = decision
            self.excerpt = excerpt
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            user = try fields.value("user", IDCoder.self)
            text = try fields.value("text", TextCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            state = try fields.value("state", EnumCoder<ModerationV1.AppealState>.self)
            answer = try fields.value("answer", TextCoder.self)
            by = try fields.value("by", TextCoder.self)
            decidedMs = try fields.value("decidedMs", Int64Coder.self)
            decision = try fields.optional("decision", MessageCoder<ModerationV1.Decision>.self)
            excerpt = try fields.value("excerpt", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("user", user, IDCoder.self)
            try fields.value("text", text, TextCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("state", state, EnumCoder<ModerationV1.AppealState>.self)
            try fields.value("answer", answer, TextCoder.self)
            try fields.value("by", by, TextCoder.self)
            try fields.value("decidedMs", decidedMs, Int64Coder.self)
            try fields.optional("decision", decision, MessageCoder<ModerationV1.Decision>.self)
            try fields.value("excerpt", excerpt, TextCoder.self)
        }

    }

    public struct ListAppealsRequest: ProtoMessage {
        /// State: open (default), or all others.
        public var state: ModerationV1.AppealState
        /// Page is the next of the previous page; empty: the first one.
        public var page: String
        /// Limit of the appeals, at most 50; 0 is 20.
        public var limit: Int

        public init(state: ModerationV1.AppealState = .unspecified, page: String = "", limit: Int = 0) {
            self.state = state
            self.page = page
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            state = try fields.value("state", EnumCoder<ModerationV1.AppealState>.self)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("state", state, EnumCoder<ModerationV1.AppealState>.self)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListAppealsResponse: ProtoMessage {
        public var appeals: [ModerationV1.Appeal]
        /// Next is the page of the next request; empty: there is none.
        public var next: String
        /// Users who appealed, with their names now, and neither pictures nor bios.
        public var users: [AccountV1.User]

        public init(appeals: [ModerationV1.Appeal] = [], next: String = "", users: [AccountV1.User] = []) {
            self.appeals = appeals
            self.next = next
            self.users = users
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            appeals = try fields.list("appeals", MessageCoder<ModerationV1.Appeal>.self)
            next = try fields.value("next", TextCoder.self)
            users = try fields.list("users", MessageCoder<AccountV1.User>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("appeals", appeals, MessageCoder<ModerationV1.Appeal>.self)
            try fields.value("next", next, TextCoder.self)
            try fields.list("users", users, MessageCoder<AccountV1.User>.self)
        }

    }

    public struct DecideAppealRequest: ProtoMessage {
        public var appeal: String
        /// Overturn the decision; otherwise it stands.
        public var overturn: Bool
        /// Answer that the user is told, at most 500 characters.
        public var answer: String
        /// Note for the audit log, at most 500 characters.
        public var note: String

        public init(appeal: String = "0", overturn: Bool = false, answer: String = "", note: String = "") {
            self.appeal = appeal
            self.overturn = overturn
            self.answer = answer
            self.note = note
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            appeal = try fields.value("appeal", IDCoder.self)
            overturn = try fields.value("overturn", BoolCoder.self)
            answer = try fields.value("answer", TextCoder.self)
            note = try fields.value("note", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("appeal", appeal, IDCoder.self)
            try fields.value("overturn", overturn, BoolCoder.self)
            try fields.value("answer", answer, TextCoder.self)
            try fields.value("note", note, TextCoder.self)
        }

    }

    /// ListedWord is a word, or a phrase, that texts are searched for. Case, marks, full-width and other forms of letters, letters of other scripts that look alike, and whether Chinese characters are simplified or traditional, make no difference.
    public struct ListedWord: ProtoMessage {
        /// Text of 1 to 64 characters, among them a letter or a digit.
        public var text: String
        public var action: ModerationV1.WordAction
        /// Whole: letters or digits before or after it make it another word.
        public var whole: Bool

        public init(text: String = "", action: ModerationV1.WordAction = .unspecified, whole: Bool = false) {
            self.text = text
            self.action = action
            self.whole = whole
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            text = try fields.value("text", TextCoder.self)
            action = try fields.value("action", EnumCoder<ModerationV1.WordAction>.self)
            whole = try fields.value("whole", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("text", text, TextCoder.self)
            try fields.value("action", action, EnumCoder<ModerationV1.WordAction>.self)
            try fields.value("whole", whole, BoolCoder.self)
        }

    }

    /// WordList is a list of words, such as that of a language. All lists together have at most 10,000 words, and 100,000 bytes.
    public struct WordList: ProtoMessage {
        /// Name of 1 to 64 characters in one line.
        public var name: String
        /// Version is 1 for a new list, and one more after each change.
        public var version: Int
        /// Words; by GetWordList and PutWordList only.
        public var words: [ModerationV1.ListedWord]
        /// Count of its words.
        public var count: Int
        /// ChangedMs is when it was last changed, in milliseconds since 1970.
        public var changedMs: Int64
        /// ChangedBy is the name of the operator's key.
        public var changedBy: String

        public init(name: String = "", version: Int = 0, words: [ModerationV1.ListedWord] = [], count: Int = 0, changedMs: Int64 = 0, changedBy: String = "") {
            self.name = name
            self.version = version
            self.words = words
            self.count = count
            self.changedMs = changedMs
            self.changedBy = changedBy
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            version = try fields.value("version", IntCoder.self)
            words = try fields.list("words", MessageCoder<ModerationV1.ListedWord>.self)
            count = try fields.value("count", IntCoder.self)
            changedMs = try fields.value("changedMs", Int64Coder.self)
            changedBy = try fields.value("changedBy", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("version", version, IntCoder.self)
            try fields.list("words", words, MessageCoder<ModerationV1.ListedWord>.self)
            try fields.value("count", count, IntCoder.self)
            try fields.value("changedMs", changedMs, Int64Coder.self)
            try fields.value("changedBy", changedBy, TextCoder.self)
        }

    }

    public struct ListWordListsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListWordListsResponse: ProtoMessage {
        /// Lists by name.
        public var lists: [ModerationV1.WordList]

        public init(lists: [ModerationV1.WordList] = []) {
            self.lists = lists
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            lists = try fields.list("lists", MessageCoder<ModerationV1.WordList>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("lists", lists, MessageCoder<ModerationV1.WordList>.self)
        }

    }

    public struct GetWordListRequest: ProtoMessage {
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

    public struct PutWordListRequest: ProtoMessage {
        public var name: String
        /// Version that is replaced; 0: it is a new list. Another one is refused with changed_meanwhile.
        public var version: Int
        /// Words, at most 10,000; without any, the list is deleted.
        public var words: [ModerationV1.ListedWord]
        /// Note for the audit log, at most 500 characters.
        public var note: String

        public init(name: String = "", version: Int = 0, words: [ModerationV1.ListedWord] = [], note: String = "") {
            self.name = name
            self.version = version
            self.words = words
            self.note = note
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            version = try fields.value("version", IntCoder.self)
            words = try fields.list("words", MessageCoder<ModerationV1.ListedWord>.self)
            note = try fields.value("note", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("version", version, IntCoder.self)
            try fields.list("words", words, MessageCoder<ModerationV1.ListedWord>.self)
            try fields.value("note", note, TextCoder.self)
        }

    }

    /// ReportedKind is the kind of what is reported.
    public enum ReportedKind: ProtoEnum {
        case unspecified
        case message
        case post
        case comment
        case user
        case group
        /// Held: a message, post, comment or edit that is not stored yet, because the operator's webhook wants a moderator to decide. It cannot be reported.
        case held
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<ReportedKind>] = [
            ProtoEnumValue("REPORTED_KIND_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("REPORTED_KIND_MESSAGE", 1, .message),
            ProtoEnumValue("REPORTED_KIND_POST", 2, .post),
            ProtoEnumValue("REPORTED_KIND_COMMENT", 3, .comment),
            ProtoEnumValue("REPORTED_KIND_USER", 4, .user),
            ProtoEnumValue("REPORTED_KIND_GROUP", 5, .group),
            ProtoEnumValue("REPORTED_KIND_HELD", 6, .held),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// ReportReason is the rule that is broken.
    public enum ReportReason: ProtoEnum {
        case unspecified
        case spam
        case harassment
        case hate
        case violence
        case sexual
        /// Child safety: sexual content with minors, or danger to them.
        case childSafety
        case selfHarm
        case fraud
        case illegal
        case impersonation
        case other
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<ReportReason>] = [
            ProtoEnumValue("REPORT_REASON_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("REPORT_REASON_SPAM", 1, .spam),
            ProtoEnumValue("REPORT_REASON_HARASSMENT", 2, .harassment),
            ProtoEnumValue("REPORT_REASON_HATE", 3, .hate),
            ProtoEnumValue("REPORT_REASON_VIOLENCE", 4, .violence),
            ProtoEnumValue("REPORT_REASON_SEXUAL", 5, .sexual),
            ProtoEnumValue("REPORT_REASON_CHILD_SAFETY", 6, .childSafety),
            ProtoEnumValue("REPORT_REASON_SELF_HARM", 7, .selfHarm),
            ProtoEnumValue("REPORT_REASON_FRAUD", 8, .fraud),
            ProtoEnumValue("REPORT_REASON_ILLEGAL", 9, .illegal),
            ProtoEnumValue("REPORT_REASON_IMPERSONATION", 10, .impersonation),
            ProtoEnumValue("REPORT_REASON_OTHER", 11, .other),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// ReportState is what became of a report.
    public enum ReportState: ProtoEnum {
        case unspecified
        /// Open: it waits for a moderator.
        case open
        /// Dismissed: no rule is broken.
        case dismissed
        /// Acted: a moderator acted on it.
        case acted
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<ReportState>] = [
            ProtoEnumValue("REPORT_STATE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("REPORT_STATE_OPEN", 1, .open),
            ProtoEnumValue("REPORT_STATE_DISMISSED", 2, .dismissed),
            ProtoEnumValue("REPORT_STATE_ACTED", 3, .acted),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// Action of a decision.
    public enum Action: ProtoEnum {
        case unspecified
        /// Dismiss: no rule is broken. What is held is sent or published.
        case dismiss
        /// Hide a post or a comment from everybody, its author too.
        case hide
        /// Recall a message: nobody can read it any more.
        case recall
        /// Warn the user, who is shown the warning until it is acknowledged.
        case warn
        /// Ban the user, or a device or a network, until a time. A message is recalled and a post or comment is hidden as well.
        case ban
        /// Limit the user, until a time: what the user writes to strangers, posts and comments is seen by nobody else. The user is not told.
        case limit
        /// Refuse what is held: it is not sent. To warn, ban or limit its author refuses it as well.
        case refuse
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<Action>] = [
            ProtoEnumValue("ACTION_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("ACTION_DISMISS", 1, .dismiss),
            ProtoEnumValue("ACTION_HIDE", 2, .hide),
            ProtoEnumValue("ACTION_RECALL", 3, .recall),
            ProtoEnumValue("ACTION_WARN", 4, .warn),
            ProtoEnumValue("ACTION_BAN", 5, .ban),
            ProtoEnumValue("ACTION_LIMIT", 6, .limit),
            ProtoEnumValue("ACTION_REFUSE", 7, .refuse),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// AppealState of an appeal.
    public enum AppealState: ProtoEnum {
        /// Unspecified: there is no appeal.
        case unspecified
        case open
        /// Upheld: the decision stands.
        case upheld
        /// Overturned: the decision is undone.
        case overturned
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<AppealState>] = [
            ProtoEnumValue("APPEAL_STATE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("APPEAL_STATE_OPEN", 1, .open),
            ProtoEnumValue("APPEAL_STATE_UPHELD", 2, .upheld),
            ProtoEnumValue("APPEAL_STATE_OVERTURNED", 3, .overturned),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// CaseState of a case.
    public enum CaseState: ProtoEnum {
        case unspecified
        case open
        case decided
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<CaseState>] = [
            ProtoEnumValue("CASE_STATE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("CASE_STATE_OPEN", 1, .open),
            ProtoEnumValue("CASE_STATE_DECIDED", 2, .decided),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// WordAction is what happens to a text with a word of a list.
    public enum WordAction: ProtoEnum {
        case unspecified
        /// Refuse it, with refused_by_rules.
        case refuse
        /// Queue: it is accepted, and moderators get a case.
        case queue
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<WordAction>] = [
            ProtoEnumValue("WORD_ACTION_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("WORD_ACTION_REFUSE", 1, .refuse),
            ProtoEnumValue("WORD_ACTION_QUEUE", 2, .queue),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
