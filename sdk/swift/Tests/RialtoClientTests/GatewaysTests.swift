import XCTest

@testable import RialtoClient

/// A deployment that is asked for gateways, and a clock.
private final class Found: @unchecked Sendable { // used by one test at a time, on the actor
    var answer = GatewayV1.FindGatewaysResponse()
    var asked: [String] = []
    var fails = false
    var nowMs: Int64 = 0

    @RialtoActor
    func gateways(_ url: String = "https://chat.example.com") -> Gateways {
        Gateways(url: url, region: "eu", now: { self.nowMs }) { r in
            self.asked.append(r.previous)
            if self.fails { throw RialtoError("unavailable", "no answer") }
            return self.answer
        }
    }

    func answers(_ addresses: [String], ttlMs: Int = 60_000) {
        answer = GatewayV1.FindGatewaysResponse(gateways: addresses.map { GatewayV1.Gateway(ws: $0) }, ttlMs: ttlMs)
    }
}

private let own = "wss://chat.example.com/v1/socket"

final class GatewaysTests: XCTestCase {
    @RialtoActor
    func testWithoutDiscoverySocketsGoToTheDeploymentsOwnAddress() async {
        let address = await Gateways(url: "https://chat.example.com", region: "", now: { 0 }, find: nil).next()
        XCTAssertEqual(address, own)
    }

    @RialtoActor
    func testTheBestGatewayFirstThenTheOthersThenTheOwnAddress() async {
        let found = Found()
        found.answers(["wss://a/v1/socket", "wss://b/v1/socket"])
        let gateways = found.gateways()
        var tried: [String] = []
        for _ in 0..<4 {
            found.nowMs += 1
            tried.append(await gateways.next())
            gateways.failed()
        }
        XCTAssertEqual(tried, ["wss://a/v1/socket", "wss://b/v1/socket", own, "wss://a/v1/socket"])
        XCTAssertEqual(found.asked, [""])
    }

    @RialtoActor
    func testTheNodeThatAnsweredIsNamedInTheNextDiscoveryAndPreferred() async {
        let found = Found()
        found.answers(["wss://a/v1/socket", "wss://b/v1/socket"])
        let gateways = found.gateways()
        _ = await gateways.next()
        gateways.failed()
        _ = await gateways.next()
        gateways.opened("node-b")
        let again = await gateways.next()
        XCTAssertEqual(again, "wss://b/v1/socket")
        found.nowMs += 60_000
        _ = await gateways.next()
        XCTAssertEqual(found.asked, ["", "node-b"])
    }

    @RialtoActor
    func testTheListOutlivesDiscoveriesThatFail() async {
        let found = Found()
        found.answers(["wss://a/v1/socket"], ttlMs: 1_000)
        let gateways = found.gateways()
        _ = await gateways.next()
        found.fails = true
        found.nowMs = 1_000
        let kept = await gateways.next()
        XCTAssertEqual(kept, "wss://a/v1/socket")
        found.nowMs = 5_999
        _ = await gateways.next()
        XCTAssertEqual(found.asked.count, 2)
        found.nowMs = 6_000
        _ = await gateways.next()
        XCTAssertEqual(found.asked.count, 3)
    }

    @RialtoActor
    func testTokensDoNotGoWithoutTLSWhereTheDeploymentHasIt() async {
        let found = Found()
        found.answers(["ws://a/v1/socket", "http://b", "wss://c/v1/socket"])
        let address = await found.gateways().next()
        XCTAssertEqual(address, "wss://c/v1/socket")
        let plain = Found()
        plain.answers(["ws://a/v1/socket"])
        let without = await plain.gateways("http://localhost:8080").next()
        XCTAssertEqual(without, "ws://a/v1/socket")
    }

    func testPositions() {
        let at = ChatV1.Position(epoch: 2, seq: 5)
        XCTAssertEqual(orderOf(at, ChatV1.Position(epoch: 2, seq: 6), prev: 5), .next)
        XCTAssertEqual(orderOf(at, ChatV1.Position(epoch: 2, seq: 9), prev: 5), .next)
        XCTAssertEqual(orderOf(at, ChatV1.Position(epoch: 2, seq: 9), prev: 8), .gap)
        XCTAssertEqual(orderOf(at, ChatV1.Position(epoch: 2, seq: 5), prev: 4), .old)
        XCTAssertEqual(orderOf(at, ChatV1.Position(epoch: 1, seq: 9), prev: 5), .old)
        XCTAssertEqual(orderOf(at, ChatV1.Position(epoch: 3, seq: 1), prev: 0), .gap)
        XCTAssertEqual(orderOf(nil, ChatV1.Position(epoch: 1, seq: 1), prev: 0), .gap)
        XCTAssertTrue(ChatV1.Position(epoch: 3, seq: 1).isAfter(at))
        XCTAssertFalse(at.isAfter(at))
    }
}
