// Made from rialto/chat/v1/helpdesk.proto by make generate. Do not edit.
import Foundation

extension ChatV1 {
    /// HelpDeskService: customer service. A customer opens a ticket with a help desk; it waits in the desk's queue until an agent takes it, or gets
    /// it assigned. A ticket is a group conversation of the customer and the agent who serves it, with the ticket's id. Each change of a ticket is an
    /// event in the streams of the customer and of the desk's agents.
    public enum HelpDeskService {
        /// PutHelpDesk creates the help desk with a key, or replaces its settings. It needs an API key.
        public static let putHelpDesk = RialtoContract.Call<ChatV1.PutHelpDeskRequest, ChatV1.HelpDesk>("rialto.chat.v1.HelpDeskService/PutHelpDesk")
        /// ListHelpDesks gives the help desks, by id: at most 100.
        public static let listHelpDesks = RialtoContract.Call<ChatV1.ListHelpDesksRequest, ChatV1.ListHelpDesksResponse>("rialto.chat.v1.HelpDeskService/ListHelpDesks")
        /// OpenTicket opens a ticket of the caller with a desk. If the caller has one there that is not resolved, the answer is that one.
        public static let openTicket = RialtoContract.Call<ChatV1.OpenTicketRequest, ChatV1.Ticket>("rialto.chat.v1.HelpDeskService/OpenTicket")
        /// GetTicket gives a ticket to its customer, and to the agents of its desk.
        public static let getTicket = RialtoContract.Call<ChatV1.GetTicketRequest, ChatV1.Ticket>("rialto.chat.v1.HelpDeskService/GetTicket")
        /// ListTickets gives tickets in pages: the caller's own, or, to an agent, some of a desk.
        public static let listTickets = RialtoContract.Call<ChatV1.ListTicketsRequest, ChatV1.ListTicketsResponse>("rialto.chat.v1.HelpDeskService/ListTickets")
        /// TakeTicket assigns a waiting ticket to the caller. The request names the ticket, or a desk for the first of its queue. Agents of the desk
        /// may.
        public static let takeTicket = RialtoContract.Call<ChatV1.TakeTicketRequest, ChatV1.Ticket>("rialto.chat.v1.HelpDeskService/TakeTicket")
        /// TransferTicket gives a ticket that is not resolved to another agent of its desk, or puts it into the queue of another desk. The agents of
        /// its desk may.
        public static let transferTicket = RialtoContract.Call<ChatV1.TransferTicketRequest, ChatV1.Ticket>("rialto.chat.v1.HelpDeskService/TransferTicket")
        /// ResolveTicket ends a ticket: nobody can write in its conversation. The customer and the agents of its desk may.
        public static let resolveTicket = RialtoContract.Call<ChatV1.ResolveTicketRequest, ChatV1.Ticket>("rialto.chat.v1.HelpDeskService/ResolveTicket")
        /// ReopenTicket puts a resolved ticket back into the queue, within seven days, unless the customer has another open ticket with the desk. The
        /// customer and the agents of its desk may.
        public static let reopenTicket = RialtoContract.Call<ChatV1.ReopenTicketRequest, ChatV1.Ticket>("rialto.chat.v1.HelpDeskService/ReopenTicket")
        /// RateTicket stores the customer's rating of a resolved ticket. It can be changed for 24 hours after the first one.
        public static let rateTicket = RialtoContract.Call<ChatV1.RateTicketRequest, ChatV1.Ticket>("rialto.chat.v1.HelpDeskService/RateTicket")
        /// GetHelpDeskStats gives an agent of a desk, or an API key, its figures.
        public static let getHelpDeskStats = RialtoContract.Call<ChatV1.GetHelpDeskStatsRequest, ChatV1.GetHelpDeskStatsResponse>("rialto.chat.v1.HelpDeskService/GetHelpDeskStats")
    }

    /// HelpDesk is a team that answers customers.
    public struct HelpDesk: ProtoMessage {
        public var id: String
        /// Key names the desk for the app's server: 1 to 64 of a-z, 0-9, - and _.
        public var key: String
        /// Name is the title of its tickets, 1 to 100 characters.
        public var name: String
        /// Greeting is shown to a customer who opens a ticket in business hours, at most 1,000 characters; away_message outside them.
        public var greeting: String
        public var awayMessage: String
        /// Agents, at most 100. ListHelpDesks gives them only to agents of the desk.
        public var agents: [String]
        /// Capacity is how many active tickets of the desk an agent gets assigned automatically, 1 to 100; 0: 5. Agents may take more.
        public var capacity: Int
        /// AutoAssign: in business hours, the server assigns waiting tickets to agents who are online. The agent with the fewest active tickets comes
        /// first. Agents with equally many take turns.
        public var autoAssign: Bool
        /// TimeZone of the business hours, such as Europe/Berlin; empty: UTC.
        public var timeZone: String
        /// Hours of a week, at most 50 ranges; none: always open.
        public var hours: [ChatV1.BusinessHours]
        /// Holidays are days on which the desk is closed, as 2026-12-25; at most 100.
        public var holidays: [String]
        /// AbsentSeconds is how long an agent may be offline: 60 to 86,400; 0: 300. After that, the agent's tickets go back to the head of the queue.
        public var absentSeconds: Int
        /// SilenceSeconds is how long a customer may leave an agent's message without an answer: 3,600 to 2,592,000; 0: for ever. After that, the
        /// server resolves the ticket. Only messages are answers: reactions and other updates are none.
        public var silenceSeconds: Int
        /// Closed: the desk takes no new tickets.
        public var closed: Bool
        /// IsOpen: it is within business hours now; else opens_at_ms is when they begin next, 0: not within a year.
        public var isOpen: Bool
        public var opensAtMs: Int64
        /// IsAgent: the caller is an agent of the desk.
        public var isAgent: Bool

        public init(id: String = "0", key: String = "", name: String = "", greeting: String = "", awayMessage: String = "", agents: [String] = [], capacity: Int = 0, autoAssign: Bool = false, timeZone: String = "", hours: [ChatV1.BusinessHours] = [], holidays: [String] = [], absentSeconds: Int = 0, silenceSeconds: Int = 0, closed: Bool = false, isOpen: Bool = false, opensAtMs: Int64 = 0, isAgent: Bool = false) {
            self.id = id
            self.key = key
            self.name = name
            self.greeting = greeting
            self.awayMessage = awayMessage
            self.agents = agents
            self.capacity = capacity
            self.autoAssign = autoAssign
            self.timeZone = timeZone
            self.hours = hours
            self.holidays = holidays
            self.absentSeconds = absentSeconds
            self.silenceSeconds = silenceSeconds
            self.closed = closed
            self.isOpen = isOpen
            self.opensAtMs = opensAtMs
            self.isAgent = isAgent
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            key = try fields.value("key", TextCoder.self)
            name = try fields.value("name", TextCoder.self)
            greeting = try fields.value("greeting", TextCoder.self)
            awayMessage = try fields.value("awayMessage", TextCoder.self)
            agents = try fields.list("agents", IDCoder.self)
            capacity = try fields.value("capacity", IntCoder.self)
            autoAssign = try fields.value("autoAssign", BoolCoder.self)
            timeZone = try fields.value("timeZone", TextCoder.self)
            hours = try fields.list("hours", MessageCoder<ChatV1.BusinessHours>.self)
            holidays = try fields.list("holidays", TextCoder.self)
            absentSeconds = try fields.value("absentSeconds", IntCoder.self)
            silenceSeconds = try fields.value("silenceSeconds", IntCoder.self)
            closed = try fields.value("closed", BoolCoder.self)
            isOpen = try fields.value("isOpen", BoolCoder.self)
            opensAtMs = try fields.value("opensAtMs", Int64Coder.self)
            isAgent = try fields.value("isAgent", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("key", key, TextCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("greeting", greeting, TextCoder.self)
            try fields.value("awayMessage", awayMessage, TextCoder.self)
            try fields.list("agents", agents, IDCoder.self)
            try fields.value("capacity", capacity, IntCoder.self)
            try fields.value("autoAssign", autoAssign, BoolCoder.self)
            try fields.value("timeZone", timeZone, TextCoder.self)
            try fields.list("hours", hours, MessageCoder<ChatV1.BusinessHours>.self)
            try fields.list("holidays", holidays, TextCoder.self)
            try fields.value("absentSeconds", absentSeconds, IntCoder.self)
            try fields.value("silenceSeconds", silenceSeconds, IntCoder.self)
            try fields.value("closed", closed, BoolCoder.self)
            try fields.value("isOpen", isOpen, BoolCoder.self)
            try fields.value("opensAtMs", opensAtMs, Int64Coder.self)
            try fields.value("isAgent", isAgent, BoolCoder.self)
        }

    }

    /// BusinessHours are a range of one day of each week.
    public struct BusinessHours: ProtoMessage {
        /// Weekday: 1 is Monday, 7 is Sunday.
        public var weekday: Int
        /// Minutes after midnight on the clock of the desk's time zone: from 0 to 1,439, to 1 to 1,440 and later than from.
        public var fromMinute: Int
        public var toMinute: Int

        public init(weekday: Int = 0, fromMinute: Int = 0, toMinute: Int = 0) {
            self.weekday = weekday
            self.fromMinute = fromMinute
            self.toMinute = toMinute
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            weekday = try fields.value("weekday", IntCoder.self)
            fromMinute = try fields.value("fromMinute", IntCoder.self)
            toMinute = try fields.value("toMinute", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("weekday", weekday, IntCoder.self)
            try fields.value("fromMinute", fromMinute, IntCoder.self)
            try fields.value("toMinute", toMinute, IntCoder.self)
        }

    }

    /// Ticket of a customer with a help desk.
    public struct Ticket: ProtoMessage {
        /// Id is that of the ticket's conversation.
        public var id: String
        public var desk: String
        public var customer: String
        /// Agent who serves it, or served it last; 0: none.
        public var agent: String
        public var status: ChatV1.TicketStatus
        /// Subject in the customer's words, at most 200 characters.
        public var subject: String
        public var openedMs: Int64
        /// 0 until it is resolved.
        public var resolvedMs: Int64
        /// FirstResponseMs is how many milliseconds after the opening an agent wrote first; 0: none has.
        public var firstResponseMs: Int64
        /// Rating is 1 to 5, 0: none.
        public var rating: Int
        public var comment: String
        /// Position in the queue: 1 is the next, 1,000 is also each later one, 0: it does not wait. Of events it is what held then.
        public var position: Int
        /// OpensAtMs of a waiting ticket: when the desk's business hours begin next; 0: they have begun.
        public var opensAtMs: Int64
        /// Version rises with each change: of two states of a ticket, the one with the higher version is newer.
        public var version: String

        public init(id: String = "0", desk: String = "0", customer: String = "0", agent: String = "0", status: ChatV1.TicketStatus = .unspecified, subject: String = "", openedMs: Int64 = 0, resolvedMs: Int64 = 0, firstResponseMs: Int64 = 0, rating: Int = 0, comment: String = "", position: Int = 0, opensAtMs: Int64 = 0, version: String = "0") {
            self.id = id
            self.desk = desk
            self.customer = customer
            self.agent = agent
            self.status = status
            self.subject = subject
            self.openedMs = openedMs
            self.resolvedMs = resolvedMs
            self.firstResponseMs = firstResponseMs
            self.rating = rating
            self.comment = comment
            self.position = position
            self.opensAtMs = opensAtMs
            self.version = version
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            desk = try fields.value("desk", IDCoder.self)
            customer = try fields.value("customer", IDCoder.self)
            agent = try fields.value("agent", IDCoder.self)
            status = try fields.value("status", EnumCoder<ChatV1.TicketStatus>.self)
            subject = try fields.value("subject", TextCoder.self)
            openedMs = try fields.value("openedMs", Int64Coder.self)
            resolvedMs = try fields.value("resolvedMs", Int64Coder.self)
            firstResponseMs = try fields.value("firstResponseMs", Int64Coder.self)
            rating = try fields.value("rating", IntCoder.self)
            comment = try fields.value("comment", TextCoder.self)
            position = try fields.value("position", IntCoder.self)
            opensAtMs = try fields.value("opensAtMs", Int64Coder.self)
            version = try fields.value("version", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("desk", desk, IDCoder.self)
            try fields.value("customer", customer, IDCoder.self)
            try fields.value("agent", agent, IDCoder.self)
            try fields.value("status", status, EnumCoder<ChatV1.TicketStatus>.self)
            try fields.value("subject", subject, TextCoder.self)
            try fields.value("openedMs", openedMs, Int64Coder.self)
            try fields.value("resolvedMs", resolvedMs, Int64Coder.self)
            try fields.value("firstResponseMs", firstResponseMs, Int64Coder.self)
            try fields.value("rating", rating, IntCoder.self)
            try fields.value("comment", comment, TextCoder.self)
            try fields.value("position", position, IntCoder.self)
            try fields.value("opensAtMs", opensAtMs, Int64Coder.self)
            try fields.value("version", version, IDCoder.self)
        }

    }

    public struct PutHelpDeskRequest: ProtoMessage {
        public var desk: ChatV1.HelpDesk?

        public init(desk: ChatV1.HelpDesk? = nil) {
            self.desk = desk
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            desk = try fields.optional("desk", MessageCoder<ChatV1.HelpDesk>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("desk", desk, MessageCoder<ChatV1.HelpDesk>.self)
        }

    }

    public struct ListHelpDesksRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListHelpDesksResponse: ProtoMessage {
        public var desks: [ChatV1.HelpDesk]

        public init(desks: [ChatV1.HelpDesk] = []) {
            self.desks = desks
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            desks = try fields.list("desks", MessageCoder<ChatV1.HelpDesk>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("desks", desks, MessageCoder<ChatV1.HelpDesk>.self)
        }

    }

    public struct OpenTicketRequest: ProtoMessage {
        public var desk: String
        public var subject: String

        public init(desk: String = "0", subject: String = "") {
            self.desk = desk
            self.subject = subject
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            desk = try fields.value("desk", IDCoder.self)
            subject = try fields.value("subject", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("desk", desk, IDCoder.self)
            try fields.value("subject", subject, TextCoder.self)
        }

    }

    public struct GetTicketRequest: ProtoMessage {
        public var ticket: String

        public init(ticket: String = "0") {
            self.ticket = ticket
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            ticket = try fields.value("ticket", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("ticket", ticket, IDCoder.self)
        }

    }

    /// ListTicketsRequest: without a desk, the caller's own tickets, the newest first.
    public struct ListTicketsRequest: ProtoMessage {
        public var desk: String
        /// Status of the desk's tickets: waiting ones come in the order of the queue, active and resolved ones the last changed first.
        public var status: ChatV1.TicketStatus
        /// Mine: only those that the caller serves or served.
        public var mine: Bool
        /// Limit: 1 to 100; 0: 50.
        public var limit: Int
        /// Page is the next of the answer before; empty: the first page.
        public var page: String

        public init(desk: String = "0", status: ChatV1.TicketStatus = .unspecified, mine: Bool = false, limit: Int = 0, page: String = "") {
            self.desk = desk
            self.status = status
            self.mine = mine
            self.limit = limit
            self.page = page
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            desk = try fields.value("desk", IDCoder.self)
            status = try fields.value("status", EnumCoder<ChatV1.TicketStatus>.self)
            mine = try fields.value("mine", BoolCoder.self)
            limit = try fields.value("limit", IntCoder.self)
            page = try fields.value("page", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("desk", desk, IDCoder.self)
            try fields.value("status", status, EnumCoder<ChatV1.TicketStatus>.self)
            try fields.value("mine", mine, BoolCoder.self)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("page", page, TextCoder.self)
        }

    }

    public struct ListTicketsResponse: ProtoMessage {
        public var tickets: [ChatV1.Ticket]
        /// Next is empty at the end.
        public var next: String

        public init(tickets: [ChatV1.Ticket] = [], next: String = "") {
            self.tickets = tickets
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            tickets = try fields.list("tickets", MessageCoder<ChatV1.Ticket>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("tickets", tickets, MessageCoder<ChatV1.Ticket>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// TakeTicketRequest: a ticket, or a desk for the first of its queue.
    public struct TakeTicketRequest: ProtoMessage {
        public var ticket: String
        public var desk: String

        public init(ticket: String = "0", desk: String = "0") {
            self.ticket = ticket
            self.desk = desk
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            ticket = try fields.value("ticket", IDCoder.self)
            desk = try fields.value("desk", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("ticket", ticket, IDCoder.self)
            try fields.value("desk", desk, IDCoder.self)
        }

    }

    /// TransferTicketRequest: an agent of the ticket's desk, or another desk.
    public struct TransferTicketRequest: ProtoMessage {
        public var ticket: String
        public var agent: String
        public var desk: String

        public init(ticket: String = "0", agent: String = "0", desk: String = "0") {
            self.ticket = ticket
            self.agent = agent
            self.desk = desk
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            ticket = try fields.value("ticket", IDCoder.self)
            agent = try fields.value("agent", IDCoder.self)
            desk = try fields.value("desk", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("ticket", ticket, IDCoder.self)
            try fields.value("agent", agent, IDCoder.self)
            try fields.value("desk", desk, IDCoder.self)
        }

    }

    public struct ResolveTicketRequest: ProtoMessage {
        public var ticket: String

        public init(ticket: String = "0") {
            self.ticket = ticket
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            ticket = try fields.value("ticket", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("ticket", ticket, IDCoder.self)
        }

    }

    public struct ReopenTicketRequest: ProtoMessage {
        public var ticket: String

        public init(ticket: String = "0") {
            self.ticket = ticket
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            ticket = try fields.value("ticket", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("ticket", ticket, IDCoder.self)
        }

    }

    public struct RateTicketRequest: ProtoMessage {
        public var ticket: String
        /// Rating is 1 to 5.
        public var rating: Int
        /// Comment has at most 1,000 characters.
        public var comment: String

        public init(ticket: String = "0", rating: Int = 0, comment: String = "") {
            self.ticket = ticket
            self.rating = rating
            self.comment = comment
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            ticket = try fields.value("ticket", IDCoder.self)
            rating = try fields.value("rating", IntCoder.self)
            comment = try fields.value("comment", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("ticket", ticket, IDCoder.self)
            try fields.value("rating", rating, IntCoder.self)
            try fields.value("comment", comment, TextCoder.self)
        }

    }

    /// GetHelpDeskStatsRequest: the figures of tickets resolved from from_ms, at most 92 days before to_ms, which is excluded.
    public struct GetHelpDeskStatsRequest: ProtoMessage {
        public var desk: String
        public var fromMs: Int64
        public var toMs: Int64

        public init(desk: String = "0", fromMs: Int64 = 0, toMs: Int64 = 0) {
            self.desk = desk
            self.fromMs = fromMs
            self.toMs = toMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            desk = try fields.value("desk", IDCoder.self)
            fromMs = try fields.value("fromMs", Int64Coder.self)
            toMs = try fields.value("toMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("desk", desk, IDCoder.self)
            try fields.value("fromMs", fromMs, Int64Coder.self)
            try fields.value("toMs", toMs, Int64Coder.self)
        }

    }

    public struct GetHelpDeskStatsResponse: ProtoMessage {
        /// Waiting and active tickets now.
        public var waiting: Int
        public var active: Int
        /// Total of the period, and then each agent who resolved tickets, by user id.
        public var total: ChatV1.TicketStats?
        public var agents: [ChatV1.TicketStats]

        public init(waiting: Int = 0, active: Int = 0, total: ChatV1.TicketStats? = nil, agents: [ChatV1.TicketStats] = []) {
            self.waiting = waiting
            self.active = active
            self.total = total
            self.agents = agents
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            waiting = try fields.value("waiting", IntCoder.self)
            active = try fields.value("active", IntCoder.self)
            total = try fields.optional("total", MessageCoder<ChatV1.TicketStats>.self)
            agents = try fields.list("agents", MessageCoder<ChatV1.TicketStats>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("waiting", waiting, IntCoder.self)
            try fields.value("active", active, IntCoder.self)
            try fields.optional("total", total, MessageCoder<ChatV1.TicketStats>.self)
            try fields.list("agents", agents, MessageCoder<ChatV1.TicketStats>.self)
        }

    }

    /// TicketStats of resolved tickets.
    public struct TicketStats: ProtoMessage {
        /// Agent; 0: all together.
        public var agent: String
        public var resolved: Int
        /// FirstResponseMs is the average time until an agent wrote first, of those tickets in which one did.
        public var firstResponseMs: Int64
        /// Rated tickets, and their average rating.
        public var rated: Int
        public var rating: Double

        public init(agent: String = "0", resolved: Int = 0, firstResponseMs: Int64 = 0, rated: Int = 0, rating: Double = 0) {
            self.agent = agent
            self.resolved = resolved
            self.firstResponseMs = firstResponseMs
            self.rated = rated
            self.rating = rating
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            agent = try fields.value("agent", IDCoder.self)
            resolved = try fields.value("resolved", IntCoder.self)
            firstResponseMs = try fields.value("firstResponseMs", Int64Coder.self)
            rated = try fields.value("rated", IntCoder.self)
            rating = try fields.value("rating", DoubleCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("agent", agent, IDCoder.self)
            try fields.value("resolved", resolved, IntCoder.self)
            try fields.value("firstResponseMs", firstResponseMs, Int64Coder.self)
            try fields.value("rated", rated, IntCoder.self)
            try fields.value("rating", rating, DoubleCoder.self)
        }

    }

}
