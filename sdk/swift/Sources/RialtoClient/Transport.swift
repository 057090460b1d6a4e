/// HTTP and WebSocket, as far as the client needs them. `URLSessionTransport` is the one for programs; tests have others.
public protocol Transport: Sendable {
    /// Makes a POST request and reads the whole answer. An error says that no answer came.
    func post(_ url: String, headers: [String: String], body: String, timeoutMs: Int64) async throws -> HTTPAnswer

    /// Begins to open a WebSocket. What becomes of it is told to the listener, in order, one at a time.
    func open(_ url: String, headers: [String: String], subprotocol: String, listener: any WebSocketListener) async throws -> any WebSocketConnection
}

public struct HTTPAnswer: Sendable {
    public let status: Int
    public let body: String
    public let retryAfterSeconds: Int64

    public init(status: Int, body: String, retryAfterSeconds: Int64 = 0) {
        self.status = status
        self.body = body
        self.retryAfterSeconds = retryAfterSeconds
    }
}

@RialtoActor
public protocol WebSocketConnection: AnyObject, Sendable {
    /// Queues a message. False: the connection has ended, or too much waits already.
    func send(_ text: String) -> Bool

    /// Ends the connection at once, without waiting for the other side.
    func abandon()
}

@RialtoActor
public protocol WebSocketListener: AnyObject, Sendable {
    /// A message came. It returns when there is room for the next one.
    func message(_ text: String) async

    /// The server closed the connection with a code.
    func closed(code: Int, reason: String) async

    /// The connection broke, or never opened: then the status is that of the server's refusal, or 0.
    func failed(_ reason: String, status: Int, retryAfterSeconds: Int64) async
}
