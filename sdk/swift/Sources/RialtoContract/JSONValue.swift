/// A value of JSON.
public enum JSONValue: Hashable, Sendable, Codable {
    case null
    case bool(Bool)
    /// A number without a fraction that fits in 64 bits.
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    public init(from decoder: any Decoder) throws {
        if let fields = try? decoder.container(keyedBy: FieldName.self) {
            self = .object(try Dictionary(uniqueKeysWithValues: fields.allKeys.map { ($0.stringValue, try fields.decode(JSONValue.self, forKey: $0)) }))
        } else if var list = try? decoder.unkeyedContainer() {
            var values: [JSONValue] = []
            while !list.isAtEnd { values.append(try list.decode(JSONValue.self)) }
            self = .array(values)
        } else {
            let value = try decoder.singleValueContainer()
            if value.decodeNil() {
                self = .null
            } else if let bool = try? value.decode(Bool.self) {
                self = .bool(bool)
            } else if let integer = try? value.decode(Int64.self) {
                self = .integer(integer)
            } else if let number = try? value.decode(Double.self) {
                self = .number(number)
            } else {
                self = .string(try value.decode(String.self))
            }
        }
    }

    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let object):
            var fields = encoder.container(keyedBy: FieldName.self)
            for (name, value) in object { try fields.encode(value, forKey: FieldName(name)) }
        case .array(let values):
            var list = encoder.unkeyedContainer()
            for value in values { try list.encode(value) }
        default:
            var single = encoder.singleValueContainer()
            switch self {
            case .bool(let bool): try single.encode(bool)
            case .integer(let integer): try single.encode(integer)
            case .number(let number): try single.encode(number)
            case .string(let string): try single.encode(string)
            default: try single.encodeNil()
            }
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements) { _, last in last }) }
}

public typealias JSONObject = [String: JSONValue]

/// Fields of messages. What is absent, or of another type, reads as empty.
extension [String: JSONValue] {
    public func string(_ name: String) -> String {
        if case .string(let value) = self[name] { return value }
        return ""
    }

    /// A number, also where it is a text, as those of 64 bits are.
    public func integer(_ name: String) -> Int64 {
        switch self[name] {
        case .integer(let value): return value
        case .string(let text): return Int64(text) ?? 0
        default: return 0
        }
    }

    public func bool(_ name: String) -> Bool { self[name] == .bool(true) }

    public func object(_ name: String) -> JSONObject? {
        if case .object(let value) = self[name] { return value }
        return nil
    }

    public func array(_ name: String) -> [JSONValue] {
        if case .array(let values) = self[name] { return values }
        return []
    }

    public func strings(_ name: String) -> [String] {
        array(name).compactMap { if case .string(let text) = $0 { text } else { nil } }
    }
}
