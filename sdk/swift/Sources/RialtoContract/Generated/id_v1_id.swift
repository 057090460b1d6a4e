// Made from rialto/id/v1/id.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.id.v1.
public enum IdV1 {}

extension IdV1 {
    /// IDService gives ids to other systems. All calls need an API key: they are for servers, which hand ids to whom they like.
    public enum IDService {
        /// Next gives ids of a tag, each of them once. A call that fails may leave a hole, never a repeat.
        public static let next = RialtoContract.Call<IdV1.NextRequest, IdV1.NextResponse>("rialto.id.v1.IDService/Next")
        /// Explain gives an id's parts. A number tells little of where it is from: each reading that is possible is given, the likeliest
        /// first.
        public static let explain = RialtoContract.Call<IdV1.ExplainRequest, IdV1.ExplainResponse>("rialto.id.v1.IDService/Explain")
        /// Ping does nothing: it tells whether the service answers and the key is good, and what a call costs.
        public static let ping = RialtoContract.Call<IdV1.PingRequest, IdV1.PingResponse>("rialto.id.v1.IDService/Ping")
        /// PutTag makes a tag, or changes its description, step and maximum; the rest never changes. A retry is harmless.
        public static let putTag = RialtoContract.Call<IdV1.PutTagRequest, IdV1.Tag>("rialto.id.v1.IDService/PutTag")
        /// GetTag gives one tag.
        public static let getTag = RialtoContract.Call<IdV1.GetTagRequest, IdV1.Tag>("rialto.id.v1.IDService/GetTag")
        /// ListTags gives all tags by name, in pages: those that were put, and the built-in ones, which are named as their schemes.
        public static let listTags = RialtoContract.Call<IdV1.ListTagsRequest, IdV1.ListTagsResponse>("rialto.id.v1.IDService/ListTags")
        /// DeleteTag ends a tag. One that is put again under its name goes on behind the last id that was given.
        public static let deleteTag = RialtoContract.Call<IdV1.DeleteTagRequest, IdV1.DeleteTagResponse>("rialto.id.v1.IDService/DeleteTag")
    }

    public struct NextRequest: ProtoMessage {
        /// Tag is a scheme's name, as snowflake, or the name of a tag that was put.
        public var tag: String
        /// Count of 1 to 10,000.
        public var count: Int64
        /// Key of sequences: whose counter it is. Of readable ids: the conversation. Others have none.
        public var key: String
        /// Type of a readable id's conversation, 0 to 15.
        public var type: Int

        public init(tag: String = "", count: Int64 = 0, key: String = "0", type: Int = 0) {
            self.tag = tag
            self.count = count
            self.key = key
            self.type = type
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            tag = try fields.value("tag", TextCoder.self)
            count = try fields.value("count", Int64Coder.self)
            key = try fields.value("key", IDCoder.self)
            type = try fields.value("type", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("tag", tag, TextCoder.self)
            try fields.value("count", count, Int64Coder.self)
            try fields.value("key", key, IDCoder.self)
            try fields.value("type", type, IntCoder.self)
        }

    }

    public struct NextResponse: ProtoMessage {
        /// Numbers of the schemes of 64 bits, rising. They have at most 63 bits; JSON has them as strings, for the sake of JavaScript.
        public var numbers: [String]
        /// Texts of the other schemes.
        public var texts: [String]

        public init(numbers: [String] = [], texts: [String] = []) {
            self.numbers = numbers
            self.texts = texts
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            numbers = try fields.list("numbers", IDCoder.self)
            texts = try fields.list("texts", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("numbers", numbers, IDCoder.self)
            try fields.list("texts", texts, TextCoder.self)
        }

    }

    public struct ExplainRequest: ProtoMessage {
        /// Id as text: a number in decimal, or as Next gave it.
        public var id: String
        /// Scheme that it is of, where that is known: only that reading is given, or what is wrong with it.
        public var scheme: String

        public init(id: String = "", scheme: String = "") {
            self.id = id
            self.scheme = scheme
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", TextCoder.self)
            scheme = try fields.value("scheme", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, TextCoder.self)
            try fields.value("scheme", scheme, TextCoder.self)
        }

    }

    public struct ExplainResponse: ProtoMessage {
        /// Readings that are possible, the likeliest first.
        public var readings: [IdV1.Reading]

        public init(readings: [IdV1.Reading] = []) {
            self.readings = readings
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            readings = try fields.list("readings", MessageCoder<IdV1.Reading>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("readings", readings, MessageCoder<IdV1.Reading>.self)
        }

    }

    /// Reading is one way to understand an id.
    public struct Reading: ProtoMessage {
        public var scheme: String
        public var parts: [IdV1.Part]
        /// TimeMs of its making, in milliseconds since 1970; 0 where the scheme holds no time.
        public var timeMs: Int64
        /// Doubt about this reading, in words; empty where there is none.
        public var doubt: String

        public init(scheme: String = "", parts: [IdV1.Part] = [], timeMs: Int64 = 0, doubt: String = "") {
            self.scheme = scheme
            self.parts = parts
            self.timeMs = timeMs
            self.doubt = doubt
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            scheme = try fields.value("scheme", TextCoder.self)
            parts = try fields.list("parts", MessageCoder<IdV1.Part>.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            doubt = try fields.value("doubt", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("scheme", scheme, TextCoder.self)
            try fields.list("parts", parts, MessageCoder<IdV1.Part>.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("doubt", doubt, TextCoder.self)
        }

    }

    public struct Part: ProtoMessage {
        public var name: String
        public var value: String

        public init(name: String = "", value: String = "") {
            self.name = name
            self.value = value
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            value = try fields.value("value", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("value", value, TextCoder.self)
        }

    }

    public struct PingRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct PingResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    /// Tag is a line of business that has ids of its own, as orders or invoices.
    public struct Tag: ProtoMessage {
        /// Name of 1 to 64 of a-z, 0-9, _, - and .
        public var name: String
        /// Scheme: snowflake, sonyflake, segment, multiprimary, sequence, readable, uuidv7, ulid, rule or redis.
        public var scheme: String
        /// Description of at most 500 characters.
        public var description: String
        /// Step: so many numbers are taken from the records at once, at least; 1 to 10,000,000. 0 means 1,000, of sequences 10,000, of
        /// rules 100.
        public var step: String
        /// Maximum is the last number; of a rule, of each day. 0 means 9,223,372,036,854,775,807.
        public var maximum: String
        /// SectionKeys: so many adjacent keys of a sequence share a bound in the records, 1,000 to 1,000,000. 0 means 100,000.
        public var sectionKeys: String
        /// Rule of scheme rule.
        public var rule: IdV1.Rule?
        /// Last number that was taken from the records for a segment: those given are at most it. Put higher, it moves a segment, or all
        /// keys of a sequence, past what was given since a backup that was restored; it never moves back.
        public var last: String
        /// BuiltIn tags cannot be put or deleted. It is only read.
        public var builtIn: Bool

        public init(name: String = "", scheme: String = "", description: String = "", step: String = "0", maximum: String = "0", sectionKeys: String = "0", rule: IdV1.Rule? = nil, last: String = "0", builtIn: Bool = false) {
            self.name = name
            self.scheme = scheme
            self.description = description
            self.step = step
            self.maximum = maximum
            self.sectionKeys = sectionKeys
            self.rule = rule
            self.last = last
            self.builtIn = builtIn
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            scheme = try fields.value("scheme", TextCoder.self)
            description = try fields.value("description", TextCoder.self)
            step = try fields.value("step", IDCoder.self)
            maximum = try fields.value("maximum", IDCoder.self)
            sectionKeys = try fields.value("sectionKeys", IDCoder.self)
            rule = try fields.optional("rule", MessageCoder<IdV1.Rule>.self)
            last = try fields.value("last", IDCoder.self)
            builtIn = try fields.value("builtIn", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("scheme", scheme, TextCoder.self)
            try fields.value("description", description, TextCoder.self)
            try fields.value("step", step, IDCoder.self)
            try fields.value("maximum", maximum, IDCoder.self)
            try fields.value("sectionKeys", sectionKeys, IDCoder.self)
            try fields.optional("rule", rule, MessageCoder<IdV1.Rule>.self)
            try fields.value("last", last, IDCoder.self)
            try fields.value("builtIn", builtIn, BoolCoder.self)
        }

    }

    /// Rule of ids as INV-20261121000042: prefix, date and number of the day.
    public struct Rule: ProtoMessage {
        /// Prefix of at most 32 of A-Z, a-z, 0-9, _, -, . and /
        public var prefix: String
        /// Date: YYYYMMDD, YYYY-MM-DD, YYMMDD or YYDDD, with the day of the year; empty for none: the number then never begins again.
        public var date: String
        /// Zone whose midnight begins a day, as Europe/Berlin; empty for UTC.
        public var zone: String
        /// Digits of the number, 1 to 18, with zeros before it.
        public var digits: Int

        public init(prefix: String = "", date: String = "", zone: String = "", digits: Int = 0) {
            self.prefix = prefix
            self.date = date
            self.zone = zone
            self.digits = digits
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            prefix = try fields.value("prefix", TextCoder.self)
            date = try fields.value("date", TextCoder.self)
            zone = try fields.value("zone", TextCoder.self)
            digits = try fields.value("digits", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("prefix", prefix, TextCoder.self)
            try fields.value("date", date, TextCoder.self)
            try fields.value("zone", zone, TextCoder.self)
            try fields.value("digits", digits, IntCoder.self)
        }

    }

    public struct PutTagRequest: ProtoMessage {
        public var tag: IdV1.Tag?

        public init(tag: IdV1.Tag? = nil) {
            self.tag = tag
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            tag = try fields.optional("tag", MessageCoder<IdV1.Tag>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("tag", tag, MessageCoder<IdV1.Tag>.self)
        }

    }

    public struct GetTagRequest: ProtoMessage {
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

    public struct ListTagsRequest: ProtoMessage {
        /// Limit of 1 to 200; 0 means 50.
        public var limit: Int
        /// Page token of the page before.
        public var page: String

        public init(limit: Int = 0, page: String = "") {
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListTagsResponse: ProtoMessage {
        public var tags: [IdV1.Tag]
        /// Next page's token; empty at the end.
        public var next: String

        public init(tags: [IdV1.Tag] = [], next: String = "") {
            self.tags = tags
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            tags = try fields.list("tags", MessageCoder<IdV1.Tag>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("tags", tags, MessageCoder<IdV1.Tag>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    public struct DeleteTagRequest: ProtoMessage {
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

    public struct DeleteTagResponse: ProtoMessage {
        /// Deleted is false where there was none.
        public var deleted: Bool

        public init(deleted: Bool = false) {
            self.deleted = deleted
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            deleted = try fields.value("deleted", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("deleted", deleted, BoolCoder.self)
        }

    }

}
