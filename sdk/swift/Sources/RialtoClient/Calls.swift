import Foundation

/// How long a call may take before it counts as lost.
private let callTimeoutMs: Int64 = 20_000

/// Makes a call with the present token.
typealias Caller = @RialtoActor @Sendable (_ method: String, _ body: String) async throws -> String

/// Makes calls by HTTP POST with JSON, as Connect's unary calls.
@RialtoActor
struct Calls: Sendable {
    let transport: any Transport

    /// Returns the answer's JSON, or throws a `RialtoError` where the server refused, or was not reached.
    func call(_ base: String, _ method: String, _ body: String, token: String?, timeoutMs: Int64 = callTimeoutMs) async throws -> String {
        var headers = ["Connect-Protocol-Version": "1"]
        if let token { headers["Authorization"] = "Bearer \(token)" }
        let answer: HTTPAnswer
        do {
            answer = try await transport.post("\(base)/\(method)", headers: headers, body: body, timeoutMs: timeoutMs)
        } catch {
            try Task.checkCancellation()
            throw RialtoError("unavailable", "\(base) is not reachable: \(error)", reason: "offline", retryMs: 1_000)
        }
        if answer.status != 200 { throw refusal(answer) }
        return answer.body
    }

    func call<I, O>(_ base: String, _ call: Call<I, O>, _ request: I, token: String? = nil, timeoutMs: Int64 = callTimeoutMs) async throws -> O {
        try decoded(O.self, try await self.call(base, call.method, try JSON.encode(request), token: token, timeoutMs: timeoutMs))
    }
}

func decoded<O: Decodable>(_ type: O.Type, _ answer: String) throws -> O {
    do {
        return try JSON.decode(type, answer)
    } catch {
        throw RialtoError("internal", "the answer is not one of this protocol", reason: "bad_answer")
    }
}

private struct ConnectError: Decodable {
    struct Detail: Decodable {
        var type: String?
        var debug: JSONValue?
    }

    var code: String?
    var message: String?
    var details: [Detail]?
}

private func refusal(_ answer: HTTPAnswer) -> RialtoError {
    // What is not from Rialto but from something on the way, such as a proxy, has no body of this form: the status has to do.
    let body = try? JSON.decode(ConnectError.self, answer.body)
    let code = body?.code ?? codeOfStatus(answer.status)
    let debug = body?.details?.first { $0.type == "rialto.gateway.v1.Error" }?.debug
    let detail = debug.flatMap { try? JSON.decode(GatewayV1.Error.self, JSON.encode($0)) } ?? GatewayV1.Error()
    var retryMs = detail.retryMs > 0 ? Int64(detail.retryMs) : answer.retryAfterSeconds * 1_000
    if code == "unavailable" && retryMs == 0 { retryMs = 1_000 }
    return RialtoError(code, body?.message ?? "the server answered \(answer.status)", reason: detail.reason, retryMs: retryMs, ban: detail.ban)
}

/// The code of an answer that names none.
private func codeOfStatus(_ status: Int) -> String {
    switch status {
    case 401: return "unauthenticated"
    case 403: return "permission_denied"
    case 404: return "not_found"
    case 429: return "resource_exhausted"
    case 500...: return "unavailable"
    default: return "invalid_argument"
    }
}

/// The calls that the replica makes. Each fails with a `RialtoError`.
@RialtoActor
struct ChatAPI: Sendable {
    let caller: Caller

    func call<I, O>(_ call: Call<I, O>, _ request: I) async throws -> O { try decoded(O.self, try await caller(call.method, try JSON.encode(request))) }

    /// What the server has at some seqs, at most `mostAsked`. A long answer comes in parts.
    func messages(_ conversation: String, _ seqs: [Int64]) async throws -> [Message] {
        var all: [Message] = []
        var rest = seqs.sorted()
        while !rest.isEmpty {
            let part = try await call(ChatV1.ChatService.getMessages, ChatV1.GetMessagesRequest(conversation: conversation, seqs: rest))
            all += part.messages
            guard part.more, let last = part.messages.last?.seq else { break }
            rest = rest.filter { $0 > last }
        }
        return all
    }

    /// All conversations, and the threads that the user follows.
    func conversations() async throws -> [ChatV1.Conversation] {
        var all: [ChatV1.Conversation] = []
        try await pages { page in
            let answer = try await call(ChatV1.ChatService.listConversations, ChatV1.ListConversationsRequest(limit: listLimit, page: page))
            all += answer.conversations
            return answer.next
        }
        try await pages { page in
            let answer = try await call(ChatV1.ChatService.listThreads, ChatV1.ListThreadsRequest(limit: listLimit, page: page))
            all += answer.threads
            return answer.next
        }
        return all
    }

    func relations() async throws -> [Relation] {
        var all: [Relation] = []
        try await pages { page in
            let answer = try await call(AccountV1.GraphService.listRelations, AccountV1.ListRelationsRequest(limit: listLimit, page: page))
            all += answer.relations
            return answer.next
        }
        return all
    }

    private func pages(_ read: @RialtoActor (String) async throws -> String) async throws {
        var next = ""
        repeat { next = try await read(next) } while !next.isEmpty
    }
}

private let listLimit = 200
