// Made from rialto/transaction/v1/transaction.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.transaction.v1.
public enum TransactionV1 {}

extension TransactionV1 {
    /// MessageTransactionService sends messages if and only if something happened on a business server, such as a payment that was booked there. All calls need an
    /// API key, and concern the transactions of keys with the same name only.
    ///
    /// A server prepares messages, which nobody sees, changes its own data, and commits or rolls back. If it does neither, because it died in between, its webhook
    /// is asked what happened. A commit sends each message once, however often it is repeated.
    public enum MessageTransactionService {
        /// PrepareMessages stores messages that nobody sees yet. They are checked as those of Send are: sender, conversation, content. A repeated call with the same
        /// reference and messages gives the same transaction, in the state that it has now.
        public static let prepareMessages = RialtoContract.Call<TransactionV1.PrepareMessagesRequest, TransactionV1.MessageTransaction>("rialto.transaction.v1.MessageTransactionService/PrepareMessages")
        /// CommitMessages decides that the messages are sent, and sends them. The decision is stored before: if the answer does not come, or state is COMMITTED, they
        /// are sent later, and a repeated call gives what became of them. A transaction that was rolled back is refused with rolled_back.
        public static let commitMessages = RialtoContract.Call<TransactionV1.CommitMessagesRequest, TransactionV1.MessageTransaction>("rialto.transaction.v1.MessageTransactionService/CommitMessages")
        /// RollBackMessages decides that the messages are never sent. Rolling back again succeeds. A committed transaction is refused with committed.
        public static let rollBackMessages = RialtoContract.Call<TransactionV1.RollBackMessagesRequest, TransactionV1.MessageTransaction>("rialto.transaction.v1.MessageTransactionService/RollBackMessages")
        /// GetMessageTransaction gives a transaction by its id, or by the reference. One that has ended is kept for 3 days.
        public static let getMessageTransaction = RialtoContract.Call<TransactionV1.GetMessageTransactionRequest, TransactionV1.MessageTransaction>("rialto.transaction.v1.MessageTransactionService/GetMessageTransaction")
        /// ListMessageTransactions gives those in a state, by id, in pages.
        public static let listMessageTransactions = RialtoContract.Call<TransactionV1.ListMessageTransactionsRequest, TransactionV1.ListMessageTransactionsResponse>("rialto.transaction.v1.MessageTransactionService/ListMessageTransactions")
        /// SetTransactionWebhook says where it is asked what became of transactions that were neither committed nor rolled back. Without one, they are rolled back.
        public static let setTransactionWebhook = RialtoContract.Call<TransactionV1.SetTransactionWebhookRequest, TransactionV1.SetTransactionWebhookResponse>("rialto.transaction.v1.MessageTransactionService/SetTransactionWebhook")
    }

    public struct MessageTransaction: ProtoMessage {
        public var id: String
        /// Reference of the business server.
        public var reference: String
        public var state: TransactionV1.MessageTransactionState
        /// Messages in the order in which they are sent. Once they are sent, they have no content.
        public var messages: [TransactionV1.PreparedMessage]
        public var preparedMs: Int64
        /// EndedMs is when all messages were sent or refused, or when it was rolled back; 0 before.
        public var endedMs: Int64
        /// Checks is how often the webhook was asked.
        public var checks: Int
        /// LastError of the webhook.
        public var lastError: String
        public var cause: TransactionV1.RollBackCause

        public init(id: String = "0", reference: String = "", state: TransactionV1.MessageTransactionState = .unspecified, messages: [TransactionV1.PreparedMessage] = [], preparedMs: Int64 = 0, endedMs: Int64 = 0, checks: Int = 0, lastError: String = "", cause: TransactionV1.RollBackCause = .unspecified) {
            self.id = id
            self.reference = reference
            self.state = state
            self.messages = messages
            self.preparedMs = preparedMs
            self.endedMs = endedMs
            self.checks = checks
            self.lastError = lastError
            self.cause = cause
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            reference = try fields.value("reference", TextCoder.self)
            state = try fields.value("state", EnumCoder<TransactionV1.MessageTransactionState>.self)
            messages = try fields.list("messages", MessageCoder<TransactionV1.PreparedMessage>.self)
            preparedMs = try fields.value("preparedMs", Int64Coder.self)
            endedMs = try fields.value("endedMs", Int64Coder.self)
            checks = try fields.value("checks", IntCoder.self)
            lastError = try fields.value("lastError", TextCoder.self)
            cause = try fields.value("cause", EnumCoder<TransactionV1.RollBackCause>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("reference", reference, TextCoder.self)
            try fields.value("state", state, EnumCoder<TransactionV1.MessageTransactionState>.self)
            try fields.list("messages", messages, MessageCoder<TransactionV1.PreparedMessage>.self)
            try fields.value("preparedMs", preparedMs, Int64Coder.self)
            try fields.value("endedMs", endedMs, Int64Coder.self)
            try fields.value("checks", checks, IntCoder.self)
            try fields.value("lastError", lastError, TextCoder.self)
            try fields.value("cause", cause, EnumCoder<TransactionV1.RollBackCause>.self)
        }

    }

    public struct PreparedMessage: ProtoMessage {
        /// Sender, who is a user in the conversation.
        public var sender: String
        public var conversation: String
        /// Content is a text, a location, a card or a custom message.
        public var content: Content?
        /// Seq of the message in its conversation once it is sent; set in answers, as are the next ones.
        public var seq: Int64
        /// Id is the readable message id.
        public var id: String
        /// Reason why the message was refused for good.
        public var reason: String

        public init(sender: String = "0", conversation: String = "0", content: Content? = nil, seq: Int64 = 0, id: String = "", reason: String = "") {
            self.sender = sender
            self.conversation = conversation
            self.content = content
            self.seq = seq
            self.id = id
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            sender = try fields.value("sender", IDCoder.self)
            conversation = try fields.value("conversation", IDCoder.self)
            content = try fields.optional("content", MessageCoder<Content>.self)
            seq = try fields.value("seq", Int64Coder.self)
            id = try fields.value("id", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("sender", sender, IDCoder.self)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.optional("content", content, MessageCoder<Content>.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("id", id, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct PrepareMessagesRequest: ProtoMessage {
        /// Reference of 1 to 64 bytes, such as the number of an order. It is new for each transaction, and the webhook is given it.
        public var reference: String
        /// Messages of 1 to 20; together with their contents at most 512 KiB.
        public var messages: [TransactionV1.PreparedMessage]
        /// CheckAfterSeconds is when the webhook is asked for the first time, 1 to 3,600; 0 is the setting transactions.check_after.
        public var checkAfterSeconds: Int

        public init(reference: String = "", messages: [TransactionV1.PreparedMessage] = [], checkAfterSeconds: Int = 0) {
            self.reference = reference
            self.messages = messages
            self.checkAfterSeconds = checkAfterSeconds
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            reference = try fields.value("reference", TextCoder.self)
            messages = try fields.list("messages", MessageCoder<TransactionV1.PreparedMessage>.self)
            checkAfterSeconds = try fields.value("checkAfterSeconds", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("reference", reference, TextCoder.self)
            try fields.list("messages", messages, MessageCoder<TransactionV1.PreparedMessage>.self)
            try fields.value("checkAfterSeconds", checkAfterSeconds, IntCoder.self)
        }

    }

    public struct CommitMessagesRequest: ProtoMessage {
        public var id: String

        public init(id: String = "0") {
            self.id = id
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
        }

    }

    public struct RollBackMessagesRequest: ProtoMessage {
        public var id: String

        public init(id: String = "0") {
            self.id = id
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
        }

    }

    public struct GetMessageTransactionRequest: ProtoMessage {
        /// Give the id or the reference.
        public var id: String
        public var reference: String

        public init(id: String = "0", reference: String = "") {
            self.id = id
            self.reference = reference
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            reference = try fields.value("reference", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("reference", reference, TextCoder.self)
        }

    }

    public struct ListMessageTransactionsRequest: ProtoMessage {
        public var state: TransactionV1.MessageTransactionState
        /// Limit of 1 to 100; 0 is 50. A page also ends at about 1 MiB.
        public var limit: Int
        /// After is the id of the last transaction of the page before; 0: the first page.
        public var after: String

        public init(state: TransactionV1.MessageTransactionState = .unspecified, limit: Int = 0, after: String = "0") {
            self.state = state
            self.limit = limit
            self.after = after
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            state = try fields.value("state", EnumCoder<TransactionV1.MessageTransactionState>.self)
            limit = try fields.value("limit", IntCoder.self)
            after = try fields.value("after", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("state", state, EnumCoder<TransactionV1.MessageTransactionState>.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("after", after, IDCoder.self)
        }

    }

    public struct ListMessageTransactionsResponse: ProtoMessage {
        public var transactions: [TransactionV1.MessageTransaction]
        /// More: there are further ones.
        public var more: Bool

        public init(transactions: [TransactionV1.MessageTransaction] = [], more: Bool = false) {
            self.transactions = transactions
            self.more = more
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            transactions = try fields.list("transactions", MessageCoder<TransactionV1.MessageTransaction>.self)
            more = try fields.value("more", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("transactions", transactions, MessageCoder<TransactionV1.MessageTransaction>.self)
            try fields.value("more", more, BoolCoder.self)
        }

    }

    public struct SetTransactionWebhookRequest: ProtoMessage {
        /// URL begins with https://, or with http:// for this machine. Addresses of private networks and of this machine need transactions.allow_private. Empty: none.
        public var url: String
        /// Secret that signs requests, of 16 to 200 bytes. If it is empty in a change, the present one stays.
        public var secret: String

        public init(url: String = "", secret: String = "") {
            self.url = url
            self.secret = secret
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            url = try fields.value("url", TextCoder.self)
            secret = try fields.value("secret", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("url", url, TextCoder.self)
            try fields.value("secret", secret, TextCoder.self)
        }

    }

    public struct SetTransactionWebhookResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    /// TransactionCheck is the body that is posted to the webhook, as JSON.
    public struct TransactionCheck: ProtoMessage {
        public var id: String
        public var reference: String
        public var preparedMs: Int64
        /// Attempt counts from 1.
        public var attempt: Int

        public init(id: String = "0", reference: String = "", preparedMs: Int64 = 0, attempt: Int = 0) {
            self.id = id
            self.reference = reference
            self.preparedMs = preparedMs
            self.attempt = attempt
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            reference = try fields.value("reference", TextCoder.self)
            preparedMs = try fields.value("preparedMs", Int64Coder.self)
            attempt = try fields.value("attempt", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("reference", reference, TextCoder.self)
            try fields.value("preparedMs", preparedMs, Int64Coder.self)
            try fields.value("attempt", attempt, IntCoder.self)
        }

    }

    /// TransactionCheckAnswer is what the webhook answers, as JSON.
    public struct TransactionCheckAnswer: ProtoMessage {
        /// Decision is commit, roll_back, or unknown if the business server cannot tell yet: then it is asked again.
        public var decision: String

        public init(decision: String = "") {
            self.decision = decision
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            decision = try fields.value("decision", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("decision", decision, TextCoder.self)
        }

    }

    public enum MessageTransactionState: ProtoEnum {
        case unspecified
        /// Prepared: nobody sees the messages.
        case prepared
        /// Committed: the decision is stored, and some messages are not sent yet.
        case committed
        /// Sent: all messages are stored in their conversations.
        case sent
        /// Failed: it was committed, and some messages were refused for good, for example because their sender was removed since. An operator can try them again.
        case failed
        /// RolledBack: the messages are never sent.
        case rolledBack
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<MessageTransactionState>] = [
            ProtoEnumValue("MESSAGE_TRANSACTION_STATE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("MESSAGE_TRANSACTION_STATE_PREPARED", 1, .prepared),
            ProtoEnumValue("MESSAGE_TRANSACTION_STATE_COMMITTED", 2, .committed),
            ProtoEnumValue("MESSAGE_TRANSACTION_STATE_SENT", 3, .sent),
            ProtoEnumValue("MESSAGE_TRANSACTION_STATE_FAILED", 4, .failed),
            ProtoEnumValue("MESSAGE_TRANSACTION_STATE_ROLLED_BACK", 5, .rolledBack),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// RollBackCause is why a transaction was rolled back.
    public enum RollBackCause: ProtoEnum {
        case unspecified
        /// Server: by RollBackMessages, or by the answer of the webhook.
        case server
        /// Unanswered: the webhook did not say what happened in all attempts, or there is none.
        case unanswered
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<RollBackCause>] = [
            ProtoEnumValue("ROLL_BACK_CAUSE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("ROLL_BACK_CAUSE_SERVER", 1, .server),
            ProtoEnumValue("ROLL_BACK_CAUSE_UNANSWERED", 2, .unanswered),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
