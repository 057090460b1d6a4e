import Foundation

/// What a message says: `rialto.chat.v1.Content` as JSON. So it has kinds that this version of the SDK does not know, and keeps them.
/// The `kind` is the name of its one field, such as `text`, `image` or `location`; `nil` once the message was recalled.
public struct Content: Hashable, Sendable, Codable {
    public let fields: JSONObject

    public init(_ fields: JSONObject) { self.fields = fields }

    public init(from decoder: any Decoder) throws { fields = try JSONObject(from: decoder) }

    public func encode(to encoder: any Encoder) throws { try JSONValue.object(fields).encode(to: encoder) }

    public static let empty = Content([:])

    /// A text of 1 to 100,000 characters.
    public static func text(_ text: String) -> Content { Content(["text": .string(text)]) }

    /// A message of a kind of your own.
    ///
    /// - Parameters:
    ///   - data: at most 64 KiB
    ///   - fallback: what clients show that do not know the type
    public static func custom(_ type: String, _ data: Data, fallback: String) -> Content { program("custom", type, data, fallback) }

    /// A message for programs: see `isSignal`. The data has at most 64 KiB.
    public static func signal(_ type: String, _ data: Data) -> Content { program("signal", type, data, "") }

    private static func program(_ kind: String, _ type: String, _ data: Data, _ fallback: String) -> Content {
        var value: JSONObject = ["type": .string(type), "data": .string(data.base64EncodedString())]
        if !fallback.isEmpty { value["fallback"] = .string(fallback) }
        return Content([kind: .object(value)])
    }

    public var kind: String? { fields.keys.first { !besideTheKind.contains($0) } }

    /// The value of the kind, where it is an object.
    public var value: JSONObject? { kind.flatMap { fields.object($0) } }

    /// The value of the kind as a message of the contract, such as `ChatV1.Image`; `nil` where it is not one.
    public func value<M: ProtoMessage>(as type: M.Type) -> M? {
        guard let value, let data = try? JSONEncoder().encode(value) else { return nil }
        return try? JSONDecoder().decode(type, from: data)
    }

    /// The text of a text message, the caption of a file or an album, and otherwise empty.
    public var text: String {
        guard let kind else { return "" }
        if kind == "text" { return fields.string("text") }
        return withCaption.contains(kind) ? value?.string("caption") ?? "" : ""
    }

    /// Whether it changes an earlier message, at which it is shown: an edit, a recall, a reaction, a pin, the start of a thread, or the report of a bridge.
    public var isUpdate: Bool { kind.map(updates.contains) ?? false }

    /// Whether it is only for programs: it is delivered, but never shown, and is not unread.
    public var isSignal: Bool { kind == "signal" }

    /// Whether the server wrote it to change the conversation, such as when members join.
    public var isControl: Bool { kind == "control" }

    /// The seq of the message that an update changes; 0 for every other content, and where the update names one by this device's number.
    public var target: Int64 { isUpdate ? value?.object("target")?.integer("seq") ?? 0 : 0 }

    /// The seq of the message that this one answers; 0: none, or one of the sender's that had no seq yet.
    public var repliesTo: Int64 { fields.object("replyTo")?.integer("seq") ?? 0 }

    /// Whether it answers a message of the sender by the number of their device.
    public var repliesToOwn: Bool { fields.object("replyTo")?.integer("clientSeq") ?? 0 != 0 }

    /// Whether it mentions a user: by name, or with everybody. Mentions of admins count where the server says so, in the conversation's list.
    public func mentions(_ user: String) -> Bool {
        let of = kind == "edit" ? value?.object("content") : fields
        return (of?.array("mentions") ?? []).contains { mention in
            guard case .object(let mention) = mention else { return false }
            return mention.string("user") == user || mention.bool("everybody")
        }
    }

    public func with(_ name: String, _ value: JSONValue) -> Content {
        var fields = fields
        fields[name] = value
        return Content(fields)
    }

    public func without(_ name: String) -> Content { Content(fields.filter { $0.key != name }) }
}

/// Fields of a content that are not its kind.
private let besideTheKind: Set = ["replyTo", "mentions", "linkPreview", "brokenOff", "externalId", "bridge"]
private let updates: Set = ["edit", "recall", "reaction", "pin", "thread", "bridgeReport"]
private let withCaption: Set = ["image", "file", "voice", "video", "album"]
