// Made from rialto/gateway/v1/discovery.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.gateway.v1.
public enum GatewayV1 {}

extension GatewayV1 {
    /// GatewayService tells clients where to connect. It needs no credentials: a client asks before it connects, perhaps with a token that has expired.
    public enum GatewayService {
        /// FindGateways returns the addresses of live nodes, best first. Ask when the last answer is older than its ttl_ms, before the next connection.
        public static let findGateways = RialtoContract.Call<GatewayV1.FindGatewaysRequest, GatewayV1.FindGatewaysResponse>("rialto.gateway.v1.GatewayService/FindGateways")
    }

    public struct FindGatewaysRequest: ProtoMessage {
        /// Region that the client is in, of the operator's regions. Empty: that of the node that answers.
        public var region: String
        /// Previous is the node of the last connection (hello.node). It comes first, unless it stops or has no room.
        public var previous: String

        public init(region: String = "", previous: String = "") {
            self.region = region
            self.previous = previous
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            region = try fields.value("region", TextCoder.self)
            previous = try fields.value("previous", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("region", region, TextCoder.self)
            try fields.value("previous", previous, TextCoder.self)
        }

    }

    public struct FindGatewaysResponse: ProtoMessage {
        /// Gateways are at most 8, best first: those in the region by how much room they have, with some randomness so that many clients spread; then those
        /// elsewhere; then full ones. Nodes that stop, and nodes whose lease has ended, are left out. Empty: use the address by which you asked.
        public var gateways: [GatewayV1.Gateway]
        /// TtlMs is how long the answer may be used without asking again. If asking fails, use the last answer for longer.
        public var ttlMs: Int
        /// Edges have copies of files and videos: addresses before a path that begins with /v1/media/ or /v1/video/, as https://edge1.example.com. They are at most 8, best
        /// first, as gateways are. If one does not answer, use the next, and in the end the address that you were given. Empty: there are none.
        public var edges: [String]

        public init(gateways: [GatewayV1.Gateway] = [], ttlMs: Int = 0, edges: [String] = []) {
            self.gateways = gateways
            self.ttlMs = ttlMs
            self.edges = edges
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            gateways = try fields.list("gateways", MessageCoder<GatewayV1.Gateway>.self)
            ttlMs = try fields.value("ttlMs", IntCoder.self)
            edges = try fields.list("edges", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("gateways", gateways, MessageCoder<GatewayV1.Gateway>.self)
            try fields.value("ttlMs", ttlMs, IntCoder.self)
            try fields.list("edges", edges, TextCoder.self)
        }

    }

    /// Gateway is a node that clients connect to. An address is empty if the node does not serve that.
    public struct Gateway: ProtoMessage {
        public var node: String
        public var region: String
        /// Ws is the address of sockets, as wss://node1.example.com/v1/socket. The same host has the event stream.
        public var ws: String
        /// Tcp is HOST:PORT of sockets over TCP, with TLS if tcp_tls.
        public var tcp: String
        public var tcpTls: Bool
        /// Http is the address before the path of calls, as https://node1.example.com.
        public var http: String

        public init(node: String = "", region: String = "", ws: String = "", tcp: String = "", tcpTls: Bool = false, http: String = "") {
            self.node = node
            self.region = region
            self.ws = ws
            self.tcp = tcp
            self.tcpTls = tcpTls
            self.http = http
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            node = try fields.value("node", TextCoder.self)
            region = try fields.value("region", TextCoder.self)
            ws = try fields.value("ws", TextCoder.self)
            tcp = try fields.value("tcp", TextCoder.self)
            tcpTls = try fields.value("tcpTls", BoolCoder.self)
            http = try fields.value("http", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("node", node, TextCoder.self)
            try fields.value("region", region, TextCoder.self)
            try fields.value("ws", ws, TextCoder.self)
            try fields.value("tcp", tcp, TextCoder.self)
            try fields.value("tcpTls", tcpTls, BoolCoder.self)
            try fields.value("http", http, TextCoder.self)
        }

    }

}
