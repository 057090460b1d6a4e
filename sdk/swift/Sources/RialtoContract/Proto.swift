import Foundation

/// A message of the contract, in the JSON of protobuf: fields without a value are absent, numbers of 64 bits are read as texts and as numbers,
/// and fields of later versions are ignored.
public protocol ProtoMessage: Hashable, Sendable, Codable {}

/// An enum of the contract. It is written by its name; values of later versions, which the server writes as numbers, are kept.
public protocol ProtoEnum: Hashable, Sendable {
    static var values: [ProtoEnumValue<Self>] { get }
    static func unrecognized(_ number: Int) -> Self
    /// The number of a value that is not known here.
    var unrecognizedNumber: Int? { get }
}

public struct ProtoEnumValue<Value: Sendable>: Sendable {
    public let name: String
    public let number: Int
    public let value: Value

    init(_ name: String, _ number: Int, _ value: Value) {
        self.name = name
        self.number = number
        self.value = value
    }
}

/// A call of the API, for `Client.call`.
public struct Call<Request: Encodable & Sendable, Response: Decodable & Sendable>: Sendable {
    /// Such as `rialto.chat.v1.ChatService/Sync`.
    public let method: String

    public init(_ method: String) { self.method = method }
}

/// A message in a field of a message that holds messages of its own type.
@propertyWrapper
public struct Boxed<Value: Hashable & Sendable>: Hashable, Sendable {
    private var values: [Value]

    public init(wrappedValue: Value?) { values = wrappedValue.map { [$0] } ?? [] }

    public var wrappedValue: Value? {
        get { values.first }
        set { values = newValue.map { [$0] } ?? [] }
    }
}

/// The name of a field in JSON.
struct FieldName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }

    init?(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
}

/// Reads the fields of a message.
public struct ProtoReader {
    private let fields: KeyedDecodingContainer<FieldName>

    package init(_ decoder: any Decoder) throws { fields = try decoder.container(keyedBy: FieldName.self) }

    package func optional<C: ProtoCoder>(_ name: String, _: C.Type) throws -> C.Value? {
        try fields.decodeIfPresent(Coded<C>.self, forKey: FieldName(name))?.value
    }

    package func value<C: ProtoZeroCoder>(_ name: String, _ coder: C.Type) throws -> C.Value {
        try optional(name, coder) ?? C.zero
    }

    package func list<C: ProtoCoder>(_ name: String, _: C.Type) throws -> [C.Value] {
        try fields.decodeIfPresent([Coded<C>].self, forKey: FieldName(name))?.map(\.value) ?? []
    }

    package func map<K: ProtoKeyCoder, C: ProtoCoder>(_ name: String, _: K.Type, _: C.Type) throws -> [K.Value: C.Value] {
        var map: [K.Value: C.Value] = [:]
        for (text, coded) in try fields.decodeIfPresent([String: Coded<C>].self, forKey: FieldName(name)) ?? [:] { map[try K.key(text)] = coded.value }
        return map
    }
}

/// Writes the fields of a message.
public struct ProtoWriter {
    private var fields: KeyedEncodingContainer<FieldName>

    package init(_ encoder: any Encoder) { fields = encoder.container(keyedBy: FieldName.self) }

    package mutating func optional<C: ProtoCoder>(_ name: String, _ value: C.Value?, _: C.Type) throws {
        if let value { try fields.encode(Coded<C>(value), forKey: FieldName(name)) }
    }

    package mutating func value<C: ProtoZeroCoder>(_ name: String, _ value: C.Value, _ coder: C.Type) throws {
        if value != C.zero { try optional(name, value, coder) }
    }

    package mutating func list<C: ProtoCoder>(_ name: String, _ values: [C.Value], _: C.Type) throws {
        if !values.isEmpty { try fields.encode(values.map { Coded<C>($0) }, forKey: FieldName(name)) }
    }

    package mutating func map<K: ProtoKeyCoder, C: ProtoCoder>(_ name: String, _ values: [K.Value: C.Value], _: K.Type, _: C.Type) throws {
        if values.isEmpty { return }
        try fields.encode(Dictionary(uniqueKeysWithValues: values.map { (K.text($0), Coded<C>($1)) }), forKey: FieldName(name))
    }
}

extension ProtoEnum {
    /// The value of a number; one that is not known here is `unrecognized`.
    public init(number: Int) { self = Self.values.first { $0.number == number }?.value ?? .unrecognized(number) }

    /// Its number in the contract.
    public var number: Int { unrecognizedNumber ?? Self.values.first { $0.value == self }?.number ?? 0 }
}
