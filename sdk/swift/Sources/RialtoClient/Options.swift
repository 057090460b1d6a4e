/// What the client knows of its way to the server.
public enum ConnectionState: Hashable, Sendable {
    case signedOut
    /// The first try.
    case connecting
    case online
    /// The last try failed, and another one is planned.
    case offline
}

/// What the list of sessions shows of this device.
public struct ClientInfo: Hashable, Sendable {
    public var name: String
    /// For the device policy: `phone`, `tablet`, `desktop`, `terminal`, `server` or `other`.
    public var type: String

    public init(name: String = "Swift SDK", type: String = "other") {
        self.name = name
        self.type = type
    }
}

/// What a `Client` is made with.
public struct ClientOptions: Sendable {
    /// The address of the deployment, such as `https://chat.example.com`.
    public let url: String
    /// What the device keeps.
    public var storage: any Storage
    public var info = ClientInfo()
    /// Asks the deployment which of its nodes to connect to, and fails over among them. Calls still go to `url`.
    public var discover = false
    /// That this client is in, one of the operator's, for `discover`; that of the node that answers unless set.
    public var region = ""
    /// How long a try to connect may take to the server's first word, in milliseconds.
    public var openTimeoutMs: Int64 = 10_000
    /// HTTP and WebSocket.
    public var transport: any Transport
    /// Is told of what failed in the background and is tried again, for logs. It must return soon.
    public var onProblem: @Sendable (String, any Error) -> Void = { _, _ in }
    var timing = Timing()

    public init(url: String, storage: any Storage = MemoryStorage(), transport: any Transport = URLSessionTransport()) {
        var url = url
        while url.hasSuffix("/") { url.removeLast() }
        self.url = url
        self.storage = storage
        self.transport = transport
    }
}
