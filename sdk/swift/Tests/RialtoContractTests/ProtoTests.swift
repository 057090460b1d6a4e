import Foundation
import XCTest

@testable import RialtoContract

final class ProtoTests: XCTestCase {
    private func decode<T: Decodable>(_ type: T.Type, _ json: String) throws -> T { try JSONDecoder().decode(type, from: Data(json.utf8)) }

    private func encode(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    func testNumbersOf64BitsAreReadAsTextsAndAsNumbersAndWrittenAsTexts() throws {
        let m = try decode(ChatV1.Message.self, #"{"conversation":"18446744073709551615","seq":"9007199254740993","timeMs":7,"sender":5}"#)
        XCTAssertEqual(m.conversation, "18446744073709551615")
        XCTAssertEqual(m.seq, 9_007_199_254_740_993)
        XCTAssertEqual(m.timeMs, 7)
        XCTAssertEqual(m.sender, "5")
        XCTAssertEqual(try encode(m), #"{"conversation":"18446744073709551615","sender":"5","seq":"9007199254740993","timeMs":"7"}"#)
        XCTAssertThrowsError(try decode(ChatV1.Message.self, #"{"seq":"many"}"#))
    }

    func testFieldsWithoutAValueAreAbsentAndThoseOfLaterVersionsAreIgnored() throws {
        XCTAssertEqual(try encode(ChatV1.Message()), "{}")
        let m = try decode(ChatV1.Message.self, #"{"seq":null,"reactions":null,"ofALaterVersion":{"a":[1]},"id":"I"}"#)
        XCTAssertEqual(m, ChatV1.Message(id: "I"))
    }

    func testOptionalFieldsTellZeroFromAbsent() throws {
        XCTAssertEqual(try encode(ChatV1.ConfigureRequest(conversation: "7", pinned: false, draft: "")), #"{"conversation":"7","draft":"","pinned":false}"#)
        XCTAssertEqual(try decode(ChatV1.ConfigureRequest.self, #"{"muted":false}"#), ChatV1.ConfigureRequest(muted: false))
    }

    func testEnumsAreTheirNamesAndValuesOfLaterVersionsAreKept() throws {
        let c = try decode(ChatV1.Conversation.self, #"{"kind":"CONVERSATION_KIND_GROUP","role":99,"joinPolicy":"JOIN_POLICY_OF_A_LATER_VERSION"}"#)
        XCTAssertEqual(c.kind, .group)
        XCTAssertEqual(c.role, .unrecognized(99))
        XCTAssertEqual(c.joinPolicy, .unspecified)
        XCTAssertEqual(try encode(c), #"{"kind":"CONVERSATION_KIND_GROUP","role":99}"#)
        XCTAssertEqual(try decode(ChatV1.Conversation.self, #"{"kind":2}"#).kind, .group)
    }

    func testOneofsHaveOneValue() throws {
        let e = try decode(ChatV1.Event.self, #"{"epoch":1,"seq":"2","follow":{"conversation":"7","follows":true}}"#)
        XCTAssertEqual(e.body, .follow(ChatV1.FollowChange(conversation: "7", follows: true)))
        XCTAssertEqual(try encode(e), #"{"epoch":1,"follow":{"conversation":"7","follows":true},"seq":"2"}"#)
        XCTAssertNil(try decode(ChatV1.Event.self, #"{"bodyOfALaterVersion":{}}"#).body)
    }

    func testBytesAreBase64AndBothAlphabetsAreRead() throws {
        let bytes = Data([0xFB, 0xFF, 0xFE, 0x01])
        for text in ["+//+AQ==", "-__-AQ", "+//+AQ"] {
            XCTAssertEqual(try decode(PushV1.PushProviders.self, #"{"vapidPublicKey":"\#(text)"}"#).vapidPublicKey, bytes)
        }
        XCTAssertEqual(try encode(PushV1.PushProviders(vapidPublicKey: bytes)), #"{"vapidPublicKey":"+//+AQ=="}"#)
    }

    func testMessagesThatHoldThemselves() throws {
        let json = #"{"id":"1","reposted":{"reposted":{"id":"3"}}}"#
        let post = try decode(FeedV1.Post.self, json)
        XCTAssertEqual(post.reposted?.reposted?.id, "3")
        XCTAssertEqual(try encode(post), json)
    }

    func testListsAndMaps() throws {
        let json = #"{"limits":{"a":"1","b":"2"}}"#
        struct Holder: Codable, Hashable {
            var limits: [String: Int64]
            init(from decoder: any Decoder) throws { limits = try ProtoReader(decoder).map("limits", TextCoder.self, Int64Coder.self) }
            func encode(to encoder: any Encoder) throws {
                var fields = ProtoWriter(encoder)
                try fields.map("limits", limits, TextCoder.self, Int64Coder.self)
            }
        }
        let holder = try decode(Holder.self, json)
        XCTAssertEqual(holder.limits, ["a": 1, "b": 2])
        XCTAssertEqual(try encode(holder), json)
        XCTAssertEqual(try decode(Holder.self, "{}").limits, [:])
        XCTAssertEqual(try encode(ChatV1.GetMessagesRequest(conversation: "7", seqs: [1, 2])), #"{"conversation":"7","seqs":["1","2"]}"#)
    }

    func testNumbersWithAFraction() throws {
        struct Wrapped: Codable {
            let value: Coded<DoubleCoder>
        }
        for (text, value) in [("1.5", 1.5), (#""Infinity""#, .infinity), (#""-Infinity""#, -.infinity), (#""2.5""#, 2.5)] as [(String, Double)] {
            XCTAssertEqual(try decode(Wrapped.self, #"{"value":\#(text)}"#).value.value, value)
        }
        XCTAssertEqual(try encode(Wrapped(value: Coded(-.infinity))), #"{"value":"-Infinity"}"#)
        XCTAssertTrue(try decode(Wrapped.self, #"{"value":"NaN"}"#).value.value.isNaN)
    }

    func testContentsOfLaterVersionsAreKeptAsTheyCame() throws {
        let json = #"{"content":{"hologram":{"depth":3,"layers":[1,2.5,null,true]},"replyTo":{"seq":"4"}}}"#
        let m = try decode(ChatV1.Message.self, json)
        XCTAssertEqual(m.content?.kind, "hologram")
        XCTAssertEqual(m.content?.repliesTo, 4)
        XCTAssertEqual(try encode(m), json)
    }

    func testContents() throws {
        XCTAssertEqual(Content.text("hello").text, "hello")
        XCTAssertEqual(Content(["image": ["caption": "a cat", "width": 3]]).text, "a cat")
        XCTAssertTrue(Content(["recall": ["target": ["seq": "5"]]]).isUpdate)
        XCTAssertEqual(Content(["recall": ["target": ["seq": "5"]]]).target, 5)
        XCTAssertTrue(Content(["text": "hi", "mentions": [["user": "11"]]]).mentions("11"))
        XCTAssertTrue(Content(["edit": ["content": ["text": "hi", "mentions": [["everybody": true]]]]]).mentions("11"))
        XCTAssertFalse(Content(["text": "hi", "mentions": [["user": "12"]]]).mentions("11"))
        XCTAssertEqual(try encode(Content.signal("t", Data([1]))), #"{"signal":{"data":"AQ==","type":"t"}}"#)
        XCTAssertEqual(Content(["location": ["latitude": 52.5, "label": "here"]]).value(as: ChatV1.Location.self)?.label, "here")
        XCTAssertNil(Content.empty.kind)
    }
}
