import Foundation

/// Reads and writes the values of a kind of field.
public protocol ProtoCoder {
    associatedtype Value: Hashable & Sendable
    static func decode(_ decoder: any Decoder) throws -> Value
    static func encode(_ value: Value, _ encoder: any Encoder) throws
}

/// The values of fields that are absent where they are zero.
public protocol ProtoZeroCoder: ProtoCoder {
    static var zero: Value { get }
}

public protocol ProtoKeyCoder: ProtoCoder {
    static func key(_ text: String) throws -> Value
    static func text(_ key: Value) -> String
}

struct Coded<C: ProtoCoder>: Codable {
    let value: C.Value

    init(_ value: C.Value) { self.value = value }

    init(from decoder: any Decoder) throws { value = try C.decode(decoder) }

    func encode(to encoder: any Encoder) throws { try C.encode(value, encoder) }
}

private func corrupted(_ decoder: any Decoder, _ why: String) -> DecodingError {
    .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: why))
}

public enum TextCoder: ProtoZeroCoder, ProtoKeyCoder {
    public static let zero = ""
    public static func decode(_ decoder: any Decoder) throws -> String { try String(from: decoder) }
    public static func encode(_ value: String, _ encoder: any Encoder) throws { try value.encode(to: encoder) }
    public static func key(_ text: String) throws -> String { text }
    public static func text(_ key: String) -> String { key }
}

/// Ids: numbers of 64 bits, which are texts in JSON and in Swift. "0" is none.
public enum IDCoder: ProtoZeroCoder, ProtoKeyCoder {
    public static let zero = "0"

    public static func decode(_ decoder: any Decoder) throws -> String {
        let value = try decoder.singleValueContainer()
        if let text = try? value.decode(String.self) { return text }
        return String(try value.decode(UInt64.self))
    }

    public static func encode(_ value: String, _ encoder: any Encoder) throws { try value.encode(to: encoder) }
    public static func key(_ text: String) throws -> String { text }
    public static func text(_ key: String) -> String { key }
}

/// Numbers of 64 bits, which are texts in JSON. Seqs, counts and times are far below the largest.
public enum Int64Coder: ProtoZeroCoder, ProtoKeyCoder {
    public static let zero: Int64 = 0

    public static func decode(_ decoder: any Decoder) throws -> Int64 {
        let value = try decoder.singleValueContainer()
        guard let text = try? value.decode(String.self) else { return try value.decode(Int64.self) }
        guard let number = Int64(text) else { throw corrupted(decoder, "\(text) is no number of 64 bits") }
        return number
    }

    public static func encode(_ value: Int64, _ encoder: any Encoder) throws { try String(value).encode(to: encoder) }

    public static func key(_ text: String) throws -> Int64 {
        guard let number = Int64(text) else { throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "\(text) is no number of 64 bits")) }
        return number
    }

    public static func text(_ key: Int64) -> String { String(key) }
}

/// Numbers of 32 bits, which are numbers in JSON.
public enum IntCoder: ProtoZeroCoder, ProtoKeyCoder {
    public static let zero = 0

    public static func decode(_ decoder: any Decoder) throws -> Int {
        let value = try decoder.singleValueContainer()
        guard let text = try? value.decode(String.self) else { return try value.decode(Int.self) }
        guard let number = Int(text) else { throw corrupted(decoder, "\(text) is no number") }
        return number
    }

    public static func encode(_ value: Int, _ encoder: any Encoder) throws { try value.encode(to: encoder) }
    public static func key(_ text: String) throws -> Int { Int(try Int64Coder.key(text)) }
    public static func text(_ key: Int) -> String { String(key) }
}

public enum BoolCoder: ProtoZeroCoder {
    public static let zero = false
    public static func decode(_ decoder: any Decoder) throws -> Bool { try Bool(from: decoder) }
    public static func encode(_ value: Bool, _ encoder: any Encoder) throws { try value.encode(to: encoder) }
}

public enum DoubleCoder: ProtoZeroCoder {
    public static let zero = 0.0

    public static func decode(_ decoder: any Decoder) throws -> Double {
        let value = try decoder.singleValueContainer()
        guard let text = try? value.decode(String.self) else { return try value.decode(Double.self) }
        switch text {
        case "NaN": return .nan
        case "Infinity": return .infinity
        case "-Infinity": return -.infinity
        default:
            guard let number = Double(text) else { throw corrupted(decoder, "\(text) is no number") }
            return number
        }
    }

    public static func encode(_ value: Double, _ encoder: any Encoder) throws {
        if value.isFinite { return try value.encode(to: encoder) }
        try (value.isNaN ? "NaN" : value > 0 ? "Infinity" : "-Infinity").encode(to: encoder)
    }
}

/// Bytes, in Base64. Both alphabets are read, with and without padding.
public enum BytesCoder: ProtoZeroCoder {
    public static let zero = Data()

    public static func decode(_ decoder: any Decoder) throws -> Data {
        var text = try String(from: decoder).replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        while text.utf8.count % 4 != 0 { text += "=" }
        guard let data = Data(base64Encoded: text) else { throw corrupted(decoder, "not in Base64") }
        return data
    }

    public static func encode(_ value: Data, _ encoder: any Encoder) throws { try value.base64EncodedString().encode(to: encoder) }
}

public enum EnumCoder<E: ProtoEnum>: ProtoZeroCoder {
    public static var zero: E { E.values[0].value }

    /// A name that is not known here reads as the zero value.
    public static func decode(_ decoder: any Decoder) throws -> E {
        let value = try decoder.singleValueContainer()
        if let name = try? value.decode(String.self) { return E.values.first { $0.name == name }?.value ?? zero }
        let number = try value.decode(Int.self)
        return E.values.first { $0.number == number }?.value ?? .unrecognized(number)
    }

    public static func encode(_ value: E, _ encoder: any Encoder) throws {
        if let known = E.values.first(where: { $0.value == value }) { return try known.name.encode(to: encoder) }
        try value.unrecognizedNumber.encode(to: encoder)
    }
}

public enum MessageCoder<M: Hashable & Sendable & Codable>: ProtoCoder {
    public static func decode(_ decoder: any Decoder) throws -> M { try M(from: decoder) }
    public static func encode(_ value: M, _ encoder: any Encoder) throws { try value.encode(to: encoder) }
}
