// Made from rialto/operation/v1/operation.proto by make generate. Do not edit.
import Foundation

extension OperationV1 {
    /// OperationService is what the operators' console shows and changes. All calls need a key with a role, which rialto admin key create --role makes. Such a
    /// key makes no other calls, but those of FeedAdminService that see and set the plan. An auditor reads; an operator changes as well. Each change is in the audit log.
    public enum OperationService {
        /// GetOperator tells who the caller is.
        public static let getOperator = RialtoContract.Call<OperationV1.GetOperatorRequest, OperationV1.Operator>("rialto.operation.v1.OperationService/GetOperator")
        /// ListNodes asks all live nodes for their figures, for at most two seconds. A node that does not answer is in the list, with answered false.
        public static let listNodes = RialtoContract.Call<OperationV1.ListNodesRequest, OperationV1.ListNodesResponse>("rialto.operation.v1.OperationService/ListNodes")
        /// ListQueues counts the background jobs of each queue.
        public static let listQueues = RialtoContract.Call<OperationV1.ListQueuesRequest, OperationV1.ListQueuesResponse>("rialto.operation.v1.OperationService/ListQueues")
        /// ListJobs gives jobs in a state, without their arguments: finished ones as they ended, the last first; waiting ones of a queue as they are due, by priority;
        /// running ones by id.
        public static let listJobs = RialtoContract.Call<OperationV1.ListJobsRequest, OperationV1.ListJobsResponse>("rialto.operation.v1.OperationService/ListJobs")
        /// GetJob gives a job with its arguments.
        public static let getJob = RialtoContract.Call<OperationV1.GetJobRequest, OperationV1.Job>("rialto.operation.v1.OperationService/GetJob")
        /// RetryJob makes a dead letter, or a cancelled job, available again. Its failures are forgotten. Another one is refused with not_finished. Operators only.
        public static let retryJob = RialtoContract.Call<OperationV1.RetryJobRequest, OperationV1.Job>("rialto.operation.v1.OperationService/RetryJob")
        /// DiscardJob makes a waiting job a dead letter, and cancels a running one. One that has ended is refused with finished. Operators only.
        public static let discardJob = RialtoContract.Call<OperationV1.DiscardJobRequest, OperationV1.Job>("rialto.operation.v1.OperationService/DiscardJob")
        /// DropJob deletes a dead letter. Another job is refused with not_finished. Operators only.
        public static let dropJob = RialtoContract.Call<OperationV1.DropJobRequest, OperationV1.DropJobResponse>("rialto.operation.v1.OperationService/DropJob")
        /// StartBackup begins a backup of the data directory of this node, into the directory of its setting backup.directory. One that runs is refused with
        /// backup_running. The answer does not wait for its end: see GetBackup. Operators only.
        public static let startBackup = RialtoContract.Call<OperationV1.StartBackupRequest, OperationV1.Backup>("rialto.operation.v1.OperationService/StartBackup")
        /// GetBackup tells how far the latest backup of this node is since it started.
        public static let getBackup = RialtoContract.Call<OperationV1.GetBackupRequest, OperationV1.Backup>("rialto.operation.v1.OperationService/GetBackup")
        /// CancelBackup ends the backup that runs on this node. Without one it is refused with no_backup. Operators only.
        public static let cancelBackup = RialtoContract.Call<OperationV1.CancelBackupRequest, OperationV1.Backup>("rialto.operation.v1.OperationService/CancelBackup")
        /// ListAuditEntries gives what was changed, by whom, the newest first, in pages.
        public static let listAuditEntries = RialtoContract.Call<OperationV1.ListAuditEntriesRequest, OperationV1.ListAuditEntriesResponse>("rialto.operation.v1.OperationService/ListAuditEntries")
        /// ListComparisons says of each pair of stores that is compared in the background how far the comparison is, and how many differences there are.
        public static let listComparisons = RialtoContract.Call<OperationV1.ListComparisonsRequest, OperationV1.ListComparisonsResponse>("rialto.operation.v1.OperationService/ListComparisons")
        /// ListDifferences gives the differences that a comparison has found, by subject, in pages.
        public static let listDifferences = RialtoContract.Call<OperationV1.ListDifferencesRequest, OperationV1.ListDifferencesResponse>("rialto.operation.v1.OperationService/ListDifferences")
        /// RepairDifference has a difference repaired by a background job. It is refused with no_difference if there is none any more. Operators only.
        public static let repairDifference = RialtoContract.Call<OperationV1.RepairDifferenceRequest, OperationV1.StoreDifference>("rialto.operation.v1.OperationService/RepairDifference")
        /// GetVideoPipeline gives the stages of what is made of a video, as a graph. A video that does not exist is refused with no_video.
        public static let getVideoPipeline = RialtoContract.Call<OperationV1.GetVideoPipelineRequest, OperationV1.VideoPipeline>("rialto.operation.v1.OperationService/GetVideoPipeline")
    }

    public struct GetOperatorRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    /// Operator is the caller.
    public struct Operator: ProtoMessage {
        /// Name of the API key.
        public var name: String
        public var role: OperationV1.OperatorRole

        public init(name: String = "", role: OperationV1.OperatorRole = .unspecified) {
            self.name = name
            self.role = role
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            role = try fields.value("role", EnumCoder<OperationV1.OperatorRole>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("role", role, EnumCoder<OperationV1.OperatorRole>.self)
        }

    }

    public struct ListNodesRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListNodesResponse: ProtoMessage {
        /// Nodes by name, edges too.
        public var nodes: [OperationV1.NodeReport]
        /// TimeMs is when they were asked, by the clock of the node that asked, in milliseconds since 1970.
        public var timeMs: Int64

        public init(nodes: [OperationV1.NodeReport] = [], timeMs: Int64 = 0) {
            self.nodes = nodes
            self.timeMs = timeMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            nodes = try fields.list("nodes", MessageCoder<OperationV1.NodeReport>.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("nodes", nodes, MessageCoder<OperationV1.NodeReport>.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
        }

    }

    /// NodeReport is what a node says of itself.
    public struct NodeReport: ProtoMessage {
        public var name: String
        /// Answered: otherwise all fields below are empty, but error.
        public var answered: Bool
        /// Error says why a node did not answer.
        public var error: String
        /// Version of the module, and commit of the build.
        public var version: String
        public var commit: String
        public var roles: [String]
        /// StartedMs is when the process started, in milliseconds since 1970.
        public var startedMs: Int64
        /// Leaving: the node stops, and accepts no new clients.
        public var leaving: Bool
        /// Damaged says what is wrong with the database of its data directory; "" is nothing.
        public var damaged: String
        /// Processors that the process may use.
        public var processors: Int
        /// Figures are those of its metrics that the console shows, as Prometheus gets them. Docs/operating/metrics.md explains each.
        public var figures: [OperationV1.Figure]
        /// Edges that report to the node. Always empty in ListNodes, which has them among the nodes.
        public var edges: [OperationV1.NodeReport]

        public init(name: String = "", answered: Bool = false, error: String = "", version: String = "", commit: String = "", roles: [String] = [], startedMs: Int64 = 0, leaving: Bool = false, damaged: String = "", processors: Int = 0, figures: [OperationV1.Figure] = [], edges: [OperationV1.NodeReport] = []) {
            self.name = name
            self.answered = answered
            self.error = error
            self.version = version
            self.commit = commit
            self.roles = roles
            self.startedMs = startedMs
            self.leaving = leaving
            self.damaged = damaged
            self.processors = processors
            self.figures = figures
            self.edges = edges
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            answered = try fields.value("answered", BoolCoder.self)
            error = try fields.value("error", TextCoder.self)
            version = try fields.value("version", TextCoder.self)
            commit = try fields.value("commit", TextCoder.self)
            roles = try fields.list("roles", TextCoder.self)
            startedMs = try fields.value("startedMs", Int64Coder.self)
            leaving = try fields.value("leaving", BoolCoder.self)
            damaged = try fields.value("damaged", TextCoder.self)
            processors = try fields.value("processors", IntCoder.self)
            figures = try fields.list("figures", MessageCoder<OperationV1.Figure>.self)
            edges = try fields.list("edges", MessageCoder<OperationV1.NodeReport>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("answered", answered, BoolCoder.self)
            try fields.value("error", error, TextCoder.self)
            try fields.value("version", version, TextCoder.self)
            try fields.value("commit", commit, TextCoder.self)
            try fields.list("roles", roles, TextCoder.self)
            try fields.value("startedMs", startedMs, Int64Coder.self)
            try fields.value("leaving", leaving, BoolCoder.self)
            try fields.value("damaged", damaged, TextCoder.self)
            try fields.value("processors", processors, IntCoder.self)
            try fields.list("figures", figures, MessageCoder<OperationV1.Figure>.self)
            try fields.list("edges", edges, MessageCoder<OperationV1.NodeReport>.self)
        }

    }

    /// Figure is a value of a metric.
    public struct Figure: ProtoMessage {
        /// Name of the metric, such as rialto_connections.
        public var name: String
        /// Labels as name=value, separated by commas, ordered by name, such as call=send.
        public var labels: String
        /// Value of a counter or a gauge; of a histogram, the sum.
        public var value: Double
        /// Bounds of a histogram's buckets, ascending, without infinity.
        public var bounds: [Double]
        /// Counts of a histogram: how many values are at most each of bounds, and how many there are in all.
        public var counts: [Int64]

        public init(name: String = "", labels: String = "", value: Double = 0, bounds: [Double] = [], counts: [Int64] = []) {
            self.name = name
            self.labels = labels
            self.value = value
            self.bounds = bounds
            self.counts = counts
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            labels = try fields.value("labels", TextCoder.self)
            value = try fields.value("value", DoubleCoder.self)
            bounds = try fields.list("bounds", DoubleCoder.self)
            counts = try fields.list("counts", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("labels", labels, TextCoder.self)
            try fields.value("value", value, DoubleCoder.self)
            try fields.list("bounds", bounds, DoubleCoder.self)
            try fields.list("counts", counts, Int64Coder.self)
        }

    }

    public struct ListQueuesRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListQueuesResponse: ProtoMessage {
        /// Queues by name.
        public var queues: [OperationV1.JobQueue]

        public init(queues: [OperationV1.JobQueue] = []) {
            self.queues = queues
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            queues = try fields.list("queues", MessageCoder<OperationV1.JobQueue>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("queues", queues, MessageCoder<OperationV1.JobQueue>.self)
        }

    }

    /// JobQueue counts the jobs of a queue on all nodes; at most 100,000 of each are counted.
    public struct JobQueue: ProtoMessage {
        public var name: String
        /// Due jobs wait for a worker, scheduled ones for their time.
        public var due: Int
        public var scheduled: Int
        public var running: Int
        /// Retrying: those of due and scheduled whose last attempt failed, among the 10,000 of each priority that are due first.
        public var retrying: Int
        /// Discarded: dead letters.
        public var discarded: Int
        /// OldestMs is how long the job that has waited longest has been due, in milliseconds.
        public var oldestMs: Int64

        public init(name: String = "", due: Int = 0, scheduled: Int = 0, running: Int = 0, retrying: Int = 0, discarded: Int = 0, oldestMs: Int64 = 0) {
            self.name = name
            self.due = due
            self.scheduled = scheduled
            self.running = running
            self.retrying = retrying
            self.discarded = discarded
            self.oldestMs = oldestMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            due = try fields.value("due", IntCoder.self)
            scheduled = try fields.value("scheduled", IntCoder.self)
            running = try fields.value("running", IntCoder.self)
            retrying = try fields.value("retrying", IntCoder.self)
            discarded = try fields.value("discarded", IntCoder.self)
            oldestMs = try fields.value("oldestMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("due", due, IntCoder.self)
            try fields.value("scheduled", scheduled, IntCoder.self)
            try fields.value("running", running, IntCoder.self)
            try fields.value("retrying", retrying, IntCoder.self)
            try fields.value("discarded", discarded, IntCoder.self)
            try fields.value("oldestMs", oldestMs, Int64Coder.self)
        }

    }

    /// Job is a background job. Times are in milliseconds since 1970; 0: not yet.
    public struct Job: ProtoMessage {
        public var id: String
        public var kind: String
        public var queue: String
        public var state: OperationV1.JobState
        /// Cancelling: its attempt was told to stop.
        public var cancelling: Bool
        /// Priority is 1 (high), 2 (normal) or 3 (low).
        public var priority: Int
        public var createdMs: Int64
        public var dueMs: Int64
        public var attemptedMs: Int64
        public var finishedMs: Int64
        /// AttemptedBy is the node of the last attempt.
        public var attemptedBy: String
        public var attempts: Int
        /// Failures since the last retry by an operator, of max_failures.
        public var failures: Int
        public var maxFailures: Int
        /// Error of the last attempt that failed.
        public var error: String
        /// Arguments as JSON, by GetJob only.
        public var arguments: String
        /// UniqueKey: no other job of the kind has it.
        public var uniqueKey: String

        public init(id: String = "0", kind: String = "", queue: String = "", state: OperationV1.JobState = .unspecified, cancelling: Bool = false, priority: Int = 0, createdMs: Int64 = 0, dueMs: Int64 = 0, attemptedMs: Int64 = 0, finishedMs: Int64 = 0, attemptedBy: String = "", attempts: Int = 0, failures: Int = 0, maxFailures: Int = 0, error: String = "", arguments: String = "", uniqueKey: String = "") {
            self.id = id
            self.kind = kind
            self.queue = queue
            self.state = state
            self.cancelling = cancelling
            self.priority = priority
            self.createdMs = createdMs
            self.dueMs = dueMs
            self.attemptedMs = attemptedMs
            self.finishedMs = finishedMs
            self.attemptedBy = attemptedBy
            self.attempts = attempts
            self.failures = failures
            self.maxFailures = maxFailures
            self.error = error
            self.arguments = arguments
            self.uniqueKey = uniqueKey
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            kind = try fields.value("kind", TextCoder.self)
            queue = try fields.value("queue", TextCoder.self)
            state = try fields.value("state", EnumCoder<OperationV1.JobState>.self)
            cancelling = try fields.value("cancelling", BoolCoder.self)
            priority = try fields.value("priority", IntCoder.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            dueMs = try fields.value("dueMs", Int64Coder.self)
            attemptedMs = try fields.value("attemptedMs", Int64Coder.self)
            finishedMs = try fields.value("finishedMs", Int64Coder.self)
            attemptedBy = try fields.value("attemptedBy", TextCoder.self)
            attempts = try fields.value("attempts", IntCoder.self)
            failures = try fields.value("failures", IntCoder.self)
            maxFailures = try fields.value("maxFailures", IntCoder.self)
            error = try fields.value("error", TextCoder.self)
            arguments = try fields.value("arguments", TextCoder.self)
            uniqueKey = try fields.value("uniqueKey", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("kind", kind, TextCoder.self)
            try fields.value("queue", queue, TextCoder.self)
            try fields.value("state", state, EnumCoder<OperationV1.JobState>.self)
            try fields.value("cancelling", cancelling, BoolCoder.self)
            try fields.value("priority", priority, IntCoder.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.value("dueMs", dueMs, Int64Coder.self)
            try fields.value("attemptedMs", attemptedMs, Int64Coder.self)
            try fields.value("finishedMs", finishedMs, Int64Coder.self)
            try fields.value("attemptedBy", attemptedBy, TextCoder.self)
            try fields.value("attempts", attempts, IntCoder.self)
            try fields.value("failures", failures, IntCoder.self)
            try fields.value("maxFailures", maxFailures, IntCoder.self)
            try fields.value("error", error, TextCoder.self)
            try fields.value("arguments", arguments, TextCoder.self)
            try fields.value("uniqueKey", uniqueKey, TextCoder.self)
        }

    }

    public struct ListJobsRequest: ProtoMessage {
        public var state: OperationV1.JobState
        /// Queue of available jobs; "" is default. Other states are listed for all queues.
        public var queue: String
        /// Limit is at most 200; 0 is 50.
        public var limit: Int

        public init(state: OperationV1.JobState = .unspecified, queue: String = "", limit: Int = 0) {
            self.state = state
            self.queue = queue
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            state = try fields.value("state", EnumCoder<OperationV1.JobState>.self)
            queue = try fields.value("queue", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("state", state, EnumCoder<OperationV1.JobState>.self)
            try fields.value("queue", queue, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListJobsResponse: ProtoMessage {
        public var jobs: [OperationV1.Job]

        public init(jobs: [OperationV1.Job] = []) {
            self.jobs = jobs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            jobs = try fields.list("jobs", MessageCoder<OperationV1.Job>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("jobs", jobs, MessageCoder<OperationV1.Job>.self)
        }

    }

    public struct GetJobRequest: ProtoMessage {
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

    public struct RetryJobRequest: ProtoMessage {
        public var id: String
        /// Reason for the audit log, at most 500 characters.
        public var reason: String

        public init(id: String = "0", reason: String = "") {
            self.id = id
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct DiscardJobRequest: ProtoMessage {
        public var id: String
        public var reason: String

        public init(id: String = "0", reason: String = "") {
            self.id = id
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct DropJobRequest: ProtoMessage {
        public var id: String
        public var reason: String

        public init(id: String = "0", reason: String = "") {
            self.id = id
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct DropJobResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct StartBackupRequest: ProtoMessage {
        /// Reason for the audit log, at most 500 characters.
        public var reason: String

        public init(reason: String = "") {
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct GetBackupRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct CancelBackupRequest: ProtoMessage {
        public var reason: String

        public init(reason: String = "") {
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    /// Backup is the latest backup of a node. Times are in milliseconds since 1970; 0: not yet.
    public struct Backup: ProtoMessage {
        public var state: OperationV1.BackupState
        /// By is the name of the key that began it.
        public var by: String
        /// Directory of the backups, on the node's machine.
        public var directory: String
        /// DoneBytes of total_bytes were read. The total changes a little when the stores are copied and the files are listed.
        public var doneBytes: Int64
        public var totalBytes: Int64
        public var startedMs: Int64
        public var endedMs: Int64
        /// Id of a complete backup, by which it is restored.
        public var id: String
        /// Files and bytes of a complete backup, and those that no earlier one had.
        public var files: Int64
        public var newFiles: Int64
        public var bytes: Int64
        public var newBytes: Int64
        /// Error says why it failed, and what to do.
        public var error: String

        public init(state: OperationV1.BackupState = .unspecified, by: String = "", directory: String = "", doneBytes: Int64 = 0, totalBytes: Int64 = 0, startedMs: Int64 = 0, endedMs: Int64 = 0, id: String = "", files: Int64 = 0, newFiles: Int64 = 0, bytes: Int64 = 0, newBytes: Int64 = 0, error: String = "") {
            self.state = state
            self.by = by
            self.directory = directory
            self.doneBytes = doneBytes
            self.totalBytes = totalBytes
            self.startedMs = startedMs
            self.endedMs = endedMs
            self.id = id
            self.files = files
            self.newFiles = newFiles
            self.bytes = bytes
            self.newBytes = newBytes
            self.error = error
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            state = try fields.value("state", EnumCoder<OperationV1.BackupState>.self)
            by = try fields.value("by", TextCoder.self)
            directory = try fields.value("directory", TextCoder.self)
            doneBytes = try fields.value("doneBytes", Int64Coder.self)
            totalBytes = try fields.value("totalBytes", Int64Coder.self)
            startedMs = try fields.value("startedMs", Int64Coder.self)
            endedMs = try fields.value("endedMs", Int64Coder.self)
            id = try fields.value("id", TextCoder.self)
            files = try fields.value("files", Int64Coder.self)
            newFiles = try fields.value("newFiles", Int64Coder.self)
            bytes = try fields.value("bytes", Int64Coder.self)
            newBytes = try fields.value("newBytes", Int64Coder.self)
            error = try fields.value("error", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("state", state, EnumCoder<OperationV1.BackupState>.self)
            try fields.value("by", by, TextCoder.self)
            try fields.value("directory", directory, TextCoder.self)
            try fields.value("doneBytes", doneBytes, Int64Coder.self)
            try fields.value("totalBytes", totalBytes, Int64Coder.self)
            try fields.value("startedMs", startedMs, Int64Coder.self)
            try fields.value("endedMs", endedMs, Int64Coder.self)
            try fields.value("id", id, TextCoder.self)
            try fields.value("files", files, Int64Coder.self)
            try fields.value("newFiles", newFiles, Int64Coder.self)
            try fields.value("bytes", bytes, Int64Coder.self)
            try fields.value("newBytes", newBytes, Int64Coder.self)
            try fields.value("error", error, TextCoder.self)
        }

    }

    public struct ListAuditEntriesRequest: ProtoMessage {
        /// Limit is at most 200; 0 is 50.
        public var limit: Int
        /// Before is the id of the last entry of the previous page; 0: the newest ones.
        public var before: String

        public init(limit: Int = 0, before: String = "0") {
            self.limit = limit
            self.before = before
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            limit = try fields.value("limit", IntCoder.self)
            before = try fields.value("before", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("limit", limit, IntCoder.self)
            try fields.value("before", before, IDCoder.self)
        }

    }

    public struct ListAuditEntriesResponse: ProtoMessage {
        public var entries: [OperationV1.AuditEntry]
        /// More: there are older ones.
        public var more: Bool

        public init(entries: [OperationV1.AuditEntry] = [], more: Bool = false) {
            self.entries = entries
            self.more = more
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            entries = try fields.list("entries", MessageCoder<OperationV1.AuditEntry>.self)
            more = try fields.value("more", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("entries", entries, MessageCoder<OperationV1.AuditEntry>.self)
            try fields.value("more", more, BoolCoder.self)
        }

    }

    /// AuditEntry is a change that somebody made.
    public struct AuditEntry: ProtoMessage {
        public var id: String
        public var timeMs: Int64
        /// Who made it: the name of the API key, or of whom a server named.
        public var who: String
        /// Action such as job.retry.
        public var action: String
        /// Subject of the action, such as the id of a job or the name of a switch.
        public var subject: String
        /// Before and after are its states.
        public var before: String
        public var after: String
        public var reason: String

        public init(id: String = "0", timeMs: Int64 = 0, who: String = "", action: String = "", subject: String = "", before: String = "", after: String = "", reason: String = "") {
            self.id = id
            self.timeMs = timeMs
            self.who = who
            self.action = action
            self.subject = subject
            self.before = before
            self.after = after
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            timeMs = try fields.value("timeMs", Int64Coder.self)
            who = try fields.value("who", TextCoder.self)
            action = try fields.value("action", TextCoder.self)
            subject = try fields.value("subject", TextCoder.self)
            before = try fields.value("before", TextCoder.self)
            after = try fields.value("after", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("timeMs", timeMs, Int64Coder.self)
            try fields.value("who", who, TextCoder.self)
            try fields.value("action", action, TextCoder.self)
            try fields.value("subject", subject, TextCoder.self)
            try fields.value("before", before, TextCoder.self)
            try fields.value("after", after, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct ListComparisonsRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListComparisonsResponse: ProtoMessage {
        public var comparisons: [OperationV1.Comparison]

        public init(comparisons: [OperationV1.Comparison] = []) {
            self.comparisons = comparisons
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            comparisons = try fields.list("comparisons", MessageCoder<OperationV1.Comparison>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("comparisons", comparisons, MessageCoder<OperationV1.Comparison>.self)
        }

    }

    /// Comparison compares two stores that have to agree, such as files and their rows, again and again.
    public struct Comparison: ProtoMessage {
        /// Name: files, quotas, unreferenced_files, video_files, segments, counts, inboxes, search, search_posts or search_messages. Docs/operating/reconciliation.md explains each.
        public var name: String
        /// Differences that are not repaired.
        public var differences: Int
        /// Round under way, from 1; 0: the first one has not begun. It began at began_ms, in milliseconds since 1970.
        public var round: Int64
        public var beganMs: Int64
        /// Compared is how many items the last whole round had. It ended at ended_ms; 0: none has.
        public var compared: Int64
        public var endedMs: Int64
        /// Corrected are differences that were corrected when they were found, and are listed until RepairDifference is called.
        public var corrected: Int

        public init(name: String = "", differences: Int = 0, round: Int64 = 0, beganMs: Int64 = 0, compared: Int64 = 0, endedMs: Int64 = 0, corrected: Int = 0) {
            self.name = name
            self.differences = differences
            self.round = round
            self.beganMs = beganMs
            self.compared = compared
            self.endedMs = endedMs
            self.corrected = corrected
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            differences = try fields.value("differences", IntCoder.self)
            round = try fields.value("round", Int64Coder.self)
            beganMs = try fields.value("beganMs", Int64Coder.self)
            compared = try fields.value("compared", Int64Coder.self)
            endedMs = try fields.value("endedMs", Int64Coder.self)
            corrected = try fields.value("corrected", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("differences", differences, IntCoder.self)
            try fields.value("round", round, Int64Coder.self)
            try fields.value("beganMs", beganMs, Int64Coder.self)
            try fields.value("compared", compared, Int64Coder.self)
            try fields.value("endedMs", endedMs, Int64Coder.self)
            try fields.value("corrected", corrected, IntCoder.self)
        }

    }

    public struct ListDifferencesRequest: ProtoMessage {
        /// Comparison is its name.
        public var comparison: String
        /// After is the subject of the last difference of the previous page.
        public var after: String
        /// Limit is at most 200; 0 is 50.
        public var limit: Int

        public init(comparison: String = "", after: String = "", limit: Int = 0) {
            self.comparison = comparison
            self.after = after
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            comparison = try fields.value("comparison", TextCoder.self)
            after = try fields.value("after", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("comparison", comparison, TextCoder.self)
            try fields.value("after", after, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListDifferencesResponse: ProtoMessage {
        public var differences: [OperationV1.StoreDifference]
        /// More: there are further ones.
        public var more: Bool

        public init(differences: [OperationV1.StoreDifference] = [], more: Bool = false) {
            self.differences = differences
            self.more = more
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            differences = try fields.list("differences", MessageCoder<OperationV1.StoreDifference>.self)
            more = try fields.value("more", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("differences", differences, MessageCoder<OperationV1.StoreDifference>.self)
            try fields.value("more", more, BoolCoder.self)
        }

    }

    /// StoreDifference is something about which two stores disagree.
    public struct StoreDifference: ProtoMessage {
        public var comparison: String
        /// Subject such as upload 42.
        public var subject: String
        /// What differs, in English.
        public var what: String
        /// FoundMs is when it was found first, in milliseconds since 1970.
        public var foundMs: Int64
        /// Repairing: a repair was asked for. It is a background job of the kind reconciliation_repair.
        public var repairing: Bool
        /// Corrected: the stores agree since it was found. RepairDifference compares once more, and removes it from the list.
        public var corrected: Bool
        /// Reason says what differs, for programs, such as file_missing.
        public var reason: String
        /// Values are what the text of the reason names, such as file.
        public var values: [String: String]
        /// Unrepairable: a repair was tried, and neither store has what the other should have.
        public var unrepairable: Bool

        public init(comparison: String = "", subject: String = "", what: String = "", foundMs: Int64 = 0, repairing: Bool = false, corrected: Bool = false, reason: String = "", values: [String: String] = [:], unrepairable: Bool = false) {
            self.comparison = comparison
            self.subject = subject
            self.what = what
            self.foundMs = foundMs
            self.repairing = repairing
            self.corrected = corrected
            self.reason = reason
            self.values = values
            self.unrepairable = unrepairable
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            comparison = try fields.value("comparison", TextCoder.self)
            subject = try fields.value("subject", TextCoder.self)
            what = try fields.value("what", TextCoder.self)
            foundMs = try fields.value("foundMs", Int64Coder.self)
            repairing = try fields.value("repairing", BoolCoder.self)
            corrected = try fields.value("corrected", BoolCoder.self)
            reason = try fields.value("reason", TextCoder.self)
            values = try fields.map("values", TextCoder.self, TextCoder.self)
            unrepairable = try fields.value("unrepairable", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("comparison", comparison, TextCoder.self)
            try fields.value("subject", subject, TextCoder.self)
            try fields.value("what", what, TextCoder.self)
            try fields.value("foundMs", foundMs, Int64Coder.self)
            try fields.value("repairing", repairing, BoolCoder.self)
            try fields.value("corrected", corrected, BoolCoder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.map("values", values, TextCoder.self, TextCoder.self)
            try fields.value("unrepairable", unrepairable, BoolCoder.self)
        }

    }

    public struct RepairDifferenceRequest: ProtoMessage {
        public var comparison: String
        public var subject: String
        /// Reason for the audit log, at most 500 characters.
        public var reason: String

        public init(comparison: String = "", subject: String = "", reason: String = "") {
            self.comparison = comparison
            self.subject = subject
            self.reason = reason
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            comparison = try fields.value("comparison", TextCoder.self)
            subject = try fields.value("subject", TextCoder.self)
            reason = try fields.value("reason", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("comparison", comparison, TextCoder.self)
            try fields.value("subject", subject, TextCoder.self)
            try fields.value("reason", reason, TextCoder.self)
        }

    }

    public struct GetVideoPipelineRequest: ProtoMessage {
        public var video: String

        public init(video: String = "0") {
            self.video = video
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            video = try fields.value("video", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("video", video, IDCoder.self)
        }

    }

    /// VideoPipeline is what is made of a video. Times are in milliseconds since 1970; 0: not yet.
    public struct VideoPipeline: ProtoMessage {
        public var video: String
        /// Owner of the video.
        public var owner: String
        public var state: VideoV1.VideoState
        public var createdMs: Int64
        /// EndedMs is when it was published, or has failed.
        public var endedMs: Int64
        /// Reason and error of a video that has failed.
        public var reason: String
        public var error: String
        /// Stages, each behind those that it needs.
        public var stages: [OperationV1.VideoStage]

        public init(video: String = "0", owner: String = "0", state: VideoV1.VideoState = .unspecified, createdMs: Int64 = 0, endedMs: Int64 = 0, reason: String = "", error: String = "", stages: [OperationV1.VideoStage] = []) {
            self.video = video
            self.owner = owner
            self.state = state
            self.createdMs = createdMs
            self.endedMs = endedMs
            self.reason = reason
            self.error = error
            self.stages = stages
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            video = try fields.value("video", IDCoder.self)
            owner = try fields.value("owner", IDCoder.self)
            state = try fields.value("state", EnumCoder<VideoV1.VideoState>.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            endedMs = try fields.value("endedMs", Int64Coder.self)
            reason = try fields.value("reason", TextCoder.self)
            error = try fields.value("error", TextCoder.self)
            stages = try fields.list("stages", MessageCoder<OperationV1.VideoStage>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("video", video, IDCoder.self)
            try fields.value("owner", owner, IDCoder.self)
            try fields.value("state", state, EnumCoder<VideoV1.VideoState>.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.value("endedMs", endedMs, Int64Coder.self)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("error", error, TextCoder.self)
            try fields.list("stages", stages, MessageCoder<OperationV1.VideoStage>.self)
        }

    }

    /// VideoStage is a part of what is made of a video. A stage has one task or, as an encoding, one for each chunk.
    public struct VideoStage: ProtoMessage {
        /// Name such as inspect, 720p, audio, thumbnails, storyboard, publish, or that of a stage of the pipeline's file.
        public var name: String
        /// Inputs are names of stages.
        public var inputs: [String]
        public var state: OperationV1.VideoStageState
        /// Custom: it is a stage of the pipeline's file.
        public var custom: Bool
        public var optional: Bool
        /// Copied: a rendition that is the picture of the file, without being encoded.
        public var copied: Bool
        /// Tasks, and how many of them are done.
        public var tasks: Int
        public var done: Int
        /// Attempts at all tasks.
        public var attempts: Int
        /// Nodes that worked on its tasks last, by name.
        public var nodes: [String]
        /// StartedMs is when the first attempt began, and ended_ms when the last task was done.
        public var startedMs: Int64
        public var endedMs: Int64
        /// SpentMs is how long all attempts took together, except those whose node died.
        public var spentMs: Int64
        /// Error of the latest attempt that failed.
        public var error: String
        /// SharedTasks: how many of its tasks belong to a run of ffmpeg that decodes a chunk once, and encodes it for several renditions.
        public var sharedTasks: Int
        /// SharesWith are the other renditions of these runs, by name.
        public var sharesWith: [String]
        /// StoredBytes of what its tasks have made.
        public var storedBytes: Int64

        public init(name: String = "", inputs: [String] = [], state: OperationV1.VideoStageState = .unspecified, custom: Bool = false, optional: Bool = false, copied: Bool = false, tasks: Int = 0, done: Int = 0, attempts: Int = 0, nodes: [String] = [], startedMs: Int64 = 0, endedMs: Int64 = 0, spentMs: Int64 = 0, error: String = "", sharedTasks: Int = 0, sharesWith: [String] = [], storedBytes: Int64 = 0) {
            self.name = name
            self.inputs = inputs
            self.state = state
            self.custom = custom
            self.optional = optional
            self.copied = copied
            self.tasks = tasks
            self.done = done
            self.attempts = attempts
            self.nodes = nodes
            self.startedMs = startedMs
            self.endedMs = endedMs
            self.spentMs = spentMs
            self.error = error
            self.sharedTasks = sharedTasks
            self.sharesWith = sharesWith
            self.storedBytes = storedBytes
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            inputs = try fields.list("inputs", TextCoder.self)
            state = try fields.value("state", EnumCoder<OperationV1.VideoStageState>.self)
            custom = try fields.value("custom", BoolCoder.self)
            optional = try fields.value("optional", BoolCoder.self)
            copied = try fields.value("copied", BoolCoder.self)
            tasks = try fields.value("tasks", IntCoder.self)
            done = try fields.value("done", IntCoder.self)
            attempts = try fields.value("attempts", IntCoder.self)
            nodes = try fields.list("nodes", TextCoder.self)
            startedMs = try fields.value("startedMs", Int64Coder.self)
            endedMs = try fields.value("endedMs", Int64Coder.self)
            spentMs = try fields.value("spentMs", Int64Coder.self)
            error = try fields.value("error", TextCoder.self)
            sharedTasks = try fields.value("sharedTasks", IntCoder.self)
            sharesWith = try fields.list("sharesWith", TextCoder.self)
            storedBytes = try fields.value("storedBytes", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.list("inputs", inputs, TextCoder.self)
            try fields.value("state", state, EnumCoder<OperationV1.VideoStageState>.self)
            try fields.value("custom", custom, BoolCoder.self)
            try fields.value("optional", optional, BoolCoder.self)
            try fields.value("copied", copied, BoolCoder.self)
            try fields.value("tasks", tasks, IntCoder.self)
            try fields.value("done", done, IntCoder.self)
            try fields.value("attempts", attempts, IntCoder.self)
            try fields.list("nodes", nodes, TextCoder.self)
            try fields.value("startedMs", startedMs, Int64Coder.self)
            try fields.value("endedMs", endedMs, Int64Coder.self)
            try fields.value("spentMs", spentMs, Int64Coder.self)
            try fields.value("error", error, TextCoder.self)
            try fields.value("sharedTasks", sharedTasks, IntCoder.self)
            try fields.list("sharesWith", sharesWith, TextCoder.self)
            try fields.value("storedBytes", storedBytes, Int64Coder.self)
        }

    }

    /// OperatorRole is what an API key may do in the console.
    public enum OperatorRole: ProtoEnum {
        case unspecified
        /// Auditor: read everything that the console shows.
        case auditor
        /// Operator: read and change, and do what moderators do.
        case `operator`
        /// Moderator: read what was reported, decide, and ban, and nothing else.
        case moderator
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<OperatorRole>] = [
            ProtoEnumValue("OPERATOR_ROLE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("OPERATOR_ROLE_AUDITOR", 1, .auditor),
            ProtoEnumValue("OPERATOR_ROLE_OPERATOR", 2, .`operator`),
            ProtoEnumValue("OPERATOR_ROLE_MODERATOR", 3, .moderator),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    public enum JobState: ProtoEnum {
        case unspecified
        case available
        case running
        case completed
        case cancelled
        /// Discarded: a dead letter. It failed too often, or its worker or an operator gave it up.
        case discarded
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<JobState>] = [
            ProtoEnumValue("JOB_STATE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("JOB_STATE_AVAILABLE", 1, .available),
            ProtoEnumValue("JOB_STATE_RUNNING", 2, .running),
            ProtoEnumValue("JOB_STATE_COMPLETED", 3, .completed),
            ProtoEnumValue("JOB_STATE_CANCELLED", 4, .cancelled),
            ProtoEnumValue("JOB_STATE_DISCARDED", 5, .discarded),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    public enum BackupState: ProtoEnum {
        /// Unspecified: none was begun since the node started.
        case unspecified
        case running
        case complete
        case failed
        /// Cancelled by an operator, or because the node stopped.
        case cancelled
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<BackupState>] = [
            ProtoEnumValue("BACKUP_STATE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("BACKUP_STATE_RUNNING", 1, .running),
            ProtoEnumValue("BACKUP_STATE_COMPLETE", 2, .complete),
            ProtoEnumValue("BACKUP_STATE_FAILED", 3, .failed),
            ProtoEnumValue("BACKUP_STATE_CANCELLED", 4, .cancelled),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// VideoStageState is how far a stage is.
    public enum VideoStageState: ProtoEnum {
        case unspecified
        /// Waiting for its inputs.
        case waiting
        /// Queued: its inputs are complete, and its tasks wait for a worker.
        case queued
        /// Running: a worker has a task of it. It is that also after the worker has died, until another one goes on.
        case running
        /// Retrying: the latest attempt failed, and another one follows.
        case retrying
        case done
        /// Skipped: it is optional, and failed, or needs one that did.
        case skipped
        /// Failed: the video has failed before it was done, or it is a rendition on demand that could not be encoded.
        case failed
        /// OnDemand: a rendition that is encoded on demand, and was not started yet, or was deleted because nobody played it.
        case onDemand
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<VideoStageState>] = [
            ProtoEnumValue("VIDEO_STAGE_STATE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("VIDEO_STAGE_STATE_WAITING", 1, .waiting),
            ProtoEnumValue("VIDEO_STAGE_STATE_QUEUED", 2, .queued),
            ProtoEnumValue("VIDEO_STAGE_STATE_RUNNING", 3, .running),
            ProtoEnumValue("VIDEO_STAGE_STATE_RETRYING", 4, .retrying),
            ProtoEnumValue("VIDEO_STAGE_STATE_DONE", 5, .done),
            ProtoEnumValue("VIDEO_STAGE_STATE_SKIPPED", 6, .skipped),
            ProtoEnumValue("VIDEO_STAGE_STATE_FAILED", 7, .failed),
            ProtoEnumValue("VIDEO_STAGE_STATE_ON_DEMAND", 8, .onDemand),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
