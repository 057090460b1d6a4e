import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// A message of the server may have so many bytes.
private let largestMessage = 16 << 20

/// So many bytes may wait to be sent.
private let mostQueued = 16 << 20

/// `Transport` by URLSession.
public final class URLSessionTransport: Transport {
    private let session: URLSession

    /// A session with a delegate of its own, for example for pinned certificates, may be given.
    public init(_ session: URLSession = URLSession(configuration: .ephemeral)) { self.session = session }

    public func post(_ url: String, headers: [String: String], body: String, timeoutMs: Int64) async throws -> HTTPAnswer {
        var request = try Self.request(url, headers)
        request.httpMethod = "POST"
        request.httpBody = Data(body.utf8)
        request.timeoutInterval = Double(timeoutMs) / 1_000
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        let running = Running()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiting in
                let task = session.dataTask(with: request) { data, response, error in
                    guard let response = response as? HTTPURLResponse else { return waiting.resume(throwing: error ?? URLError(.badServerResponse)) }
                    if let error { return waiting.resume(throwing: error) }
                    waiting.resume(returning: HTTPAnswer(status: response.statusCode, body: String(decoding: data ?? Data(), as: UTF8.self), retryAfterSeconds: response.retryAfterSeconds))
                }
                running.start(task)
            }
        } onCancel: {
            running.cancel()
        }
    }

    public func open(_ url: String, headers: [String: String], subprotocol: String, listener: any WebSocketListener) async throws -> any WebSocketConnection {
        var request = try Self.request(url, headers)
        request.setValue(subprotocol, forHTTPHeaderField: "Sec-WebSocket-Protocol")
        #if !canImport(Darwin)
        request.setValue("Upgrade", forHTTPHeaderField: "Connection") // else Foundation adds "keep-alive", which replaces it
        #endif
        let task = session.webSocketTask(with: request)
        task.maximumMessageSize = largestMessage
        task.resume()
        return await URLSessionConnection(task, listener)
    }

    private static func request(_ url: String, _ headers: [String: String]) throws -> URLRequest {
        guard let url = URL(string: url) else { throw URLError(.badURL) }
        var request = URLRequest(url: url)
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }
}

/// A request that may be cancelled before it has begun. Its lock guards both fields.
private final class Running: @unchecked Sendable {
    private let lock = NSLock()
    private var task: URLSessionTask?
    private var cancelled = false

    func start(_ task: URLSessionTask) {
        lock.lock()
        self.task = task
        let cancelled = cancelled
        lock.unlock()
        task.resume()
        if cancelled { task.cancel() }
    }

    func cancel() {
        lock.lock()
        cancelled = true
        let task = task
        lock.unlock()
        task?.cancel()
    }
}

@RialtoActor
private final class URLSessionConnection: WebSocketConnection {
    private let task: URLSessionWebSocketTask
    private var queued = 0
    private var outgoing: [String] = []
    private var sending: Task<Void, Never>?
    private var reading: Task<Void, Never>?
    private var ended = false

    init(_ task: URLSessionWebSocketTask, _ listener: any WebSocketListener) {
        self.task = task
        reading = Task { await read(listener) }
    }

    private func read(_ listener: any WebSocketListener) async {
        while !Task.isCancelled {
            do {
                switch try await task.receive() {
                case .string(let text): await listener.message(text)
                case .data(let data): await listener.message(String(decoding: data, as: UTF8.self))
                @unknown default: break
                }
            } catch {
                ended = true
                let code = task.closeCode.rawValue
                if code > 0 { return await listener.closed(code: code, reason: task.closeReason.map { String(decoding: $0, as: UTF8.self) } ?? "") }
                let response = task.response as? HTTPURLResponse
                let status = response.map { $0.statusCode == 101 ? 0 : $0.statusCode } ?? 0
                return await listener.failed("\(error)", status: status, retryAfterSeconds: response?.retryAfterSeconds ?? 0)
            }
        }
    }

    func send(_ text: String) -> Bool {
        let bytes = text.utf8.count
        if ended || queued + bytes > mostQueued { return false }
        queued += bytes
        outgoing.append(text)
        if sending == nil { sending = Task { await write() } }
        return true
    }

    /// Sends one after the other, so that they keep their order. An error is met by the reader, too.
    private func write() async {
        while !outgoing.isEmpty && !ended {
            let text = outgoing.removeFirst()
            try? await task.send(.string(text))
            queued -= text.utf8.count
        }
        sending = nil
    }

    func abandon() {
        ended = true
        reading?.cancel()
        task.cancel()
    }
}

extension HTTPURLResponse {
    fileprivate var retryAfterSeconds: Int64 { value(forHTTPHeaderField: "Retry-After").flatMap { Int64($0) } ?? 0 }
}
