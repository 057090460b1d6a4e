/// The time between a discovery that failed and the next one.
private let askAgainMs: Int64 = 5_000

/// How long an answer is used at most, whatever it says.
private let longestLifetimeMs: Int64 = 3_600_000

/// A gateway that failed is tried last for this time.
private let failureMs: Int64 = 60_000

private let mostGateways = 16

/// Says where to connect: to the gateways of the last discovery, best first, and to the deployment's own address if there are none, or all
/// fail. The list outlives discoveries that fail.
@RialtoActor
final class Gateways {
    typealias Find = @RialtoActor @Sendable (GatewayV1.FindGatewaysRequest) async throws -> GatewayV1.FindGatewaysResponse

    private let url: String
    private let region: String
    private let now: @Sendable () -> Int64
    private let find: Find?
    private let own: String
    private var list: [String] = []
    private var askAtMs = Int64.min
    /// When addresses failed last.
    private var failures: [String: Int64] = [:]
    private var current: String
    private var previous = ""

    /// `find` asks the deployment; without it, sockets go to the deployment's own address.
    init(url: String, region: String, now: @escaping @Sendable () -> Int64, find: Find?) {
        self.url = url
        self.region = region
        self.now = now
        self.find = find
        own = "ws" + url.dropFirst("http".count) + "/v1/socket"
        current = own
    }

    /// The address for the next try.
    func next() async -> String {
        if let find, now() >= askAtMs { await discover(find) }
        let all = list.contains(own) ? list : list + [own]
        // The first of those that failed the longest ago, or never.
        current = all.min { failures[$0] ?? .min < failures[$1] ?? .min } ?? own
        return current
    }

    /// The last address led to a node, which is preferred from now on.
    func opened(_ node: String) {
        previous = node
        failures[current] = nil
        if list.contains(current) { list = [current] + list.filter { $0 != current } }
    }

    /// The last address did not lead to a connection, or its node stops.
    func failed() { failures[current] = now() }

    private func discover(_ find: Find) async {
        do {
            let answer = try await find(GatewayV1.FindGatewaysRequest(region: region, previous: previous))
            var fresh: [String] = []
            for address in answer.gateways.map(\.ws) where accepts(address) && !fresh.contains(address) { fresh.append(address) }
            list = Array(fresh.prefix(mostGateways))
            askAtMs = now() + min(Int64(answer.ttlMs), longestLifetimeMs)
            failures = failures.filter { now() - $0.value <= failureMs }
        } catch {
            askAtMs = now() + askAgainMs // the last list is used
        }
    }

    /// Where the deployment's address has TLS, tokens do not go elsewhere without.
    private func accepts(_ address: String) -> Bool { address.hasPrefix("wss://") || (address.hasPrefix("ws://") && url.hasPrefix("http://")) }
}
