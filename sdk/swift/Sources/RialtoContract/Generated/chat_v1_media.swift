// Made from rialto/chat/v1/media.proto by make generate. Do not edit.
import Foundation

extension ChatV1 {
    /// MediaService: files by presigned URL.
    public enum MediaService {
        /// CreateUpload gives a URL to which the client PUTs the bytes, good for 15 minutes and for that file only.
        public static let createUpload = RialtoContract.Call<ChatV1.CreateUploadRequest, ChatV1.CreateUploadResponse>("rialto.chat.v1.MediaService/CreateUpload")
        /// CompleteUpload checks size and type; from then on messages and profiles may name the upload. A retry is harmless.
        public static let completeUpload = RialtoContract.Call<ChatV1.CompleteUploadRequest, ChatV1.Upload>("rialto.chat.v1.MediaService/CompleteUpload")
        /// GetDownload gives a URL, good for at least 15 minutes, to one who may read a message that names the upload, to the members of a
        /// group whose picture it is, to every user while it is its owner's avatar, and to its owner.
        public static let getDownload = RialtoContract.Call<ChatV1.GetDownloadRequest, ChatV1.GetDownloadResponse>("rialto.chat.v1.MediaService/GetDownload")
        /// CreateMultipartUpload begins an upload whose bytes come in parts: in any order, in parallel, and again after an interruption. It is
        /// completed by CompleteUpload within 24 hours, or dropped.
        public static let createMultipartUpload = RialtoContract.Call<ChatV1.CreateMultipartUploadRequest, ChatV1.MultipartUpload>("rialto.chat.v1.MediaService/CreateMultipartUpload")
        /// GetMultipartUpload says which parts are missing, and has the checksums of the others.
        public static let getMultipartUpload = RialtoContract.Call<ChatV1.GetMultipartUploadRequest, ChatV1.MultipartUpload>("rialto.chat.v1.MediaService/GetMultipartUpload")
        /// SignParts gives URLs to which the client PUTs the bytes of parts, good for 15 minutes. Ask for them when they are needed.
        public static let signParts = RialtoContract.Call<ChatV1.SignPartsRequest, ChatV1.SignPartsResponse>("rialto.chat.v1.MediaService/SignParts")
        /// CreateUploadCredentials gives the keys with which any S3 client uploads the parts of one upload.
        public static let createUploadCredentials = RialtoContract.Call<ChatV1.CreateUploadCredentialsRequest, ChatV1.UploadCredentials>("rialto.chat.v1.MediaService/CreateUploadCredentials")
        /// ListUnfinishedUploads lists one's own uploads that CreateMultipartUpload began and that are neither complete nor dropped: the latest 100, the newest first.
        public static let listUnfinishedUploads = RialtoContract.Call<ChatV1.ListUnfinishedUploadsRequest, ChatV1.ListUnfinishedUploadsResponse>("rialto.chat.v1.MediaService/ListUnfinishedUploads")
        /// AbortUpload drops an upload that is not complete, and its bytes. It no longer counts for the quota.
        public static let abortUpload = RialtoContract.Call<ChatV1.AbortUploadRequest, ChatV1.AbortUploadResponse>("rialto.chat.v1.MediaService/AbortUpload")
    }

    public struct CreateUploadRequest: ProtoMessage {
        public var name: String
        public var mimeType: String
        /// Size in bytes, 1 to 100 MiB.
        public var size: Int64

        public init(name: String = "", mimeType: String = "", size: Int64 = 0) {
            self.name = name
            self.mimeType = mimeType
            self.size = size
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            mimeType = try fields.value("mimeType", TextCoder.self)
            size = try fields.value("size", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("mimeType", mimeType, TextCoder.self)
            try fields.value("size", size, Int64Coder.self)
        }

    }

    public struct CreateUploadResponse: ProtoMessage {
        public var upload: String
        /// Url, relative to the server where it begins with a slash.
        public var url: String
        public var expiresMs: Int64

        public init(upload: String = "0", url: String = "", expiresMs: Int64 = 0) {
            self.upload = upload
            self.url = url
            self.expiresMs = expiresMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
            url = try fields.value("url", TextCoder.self)
            expiresMs = try fields.value("expiresMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
            try fields.value("url", url, TextCoder.self)
            try fields.value("expiresMs", expiresMs, Int64Coder.self)
        }

    }

    public struct CompleteUploadRequest: ProtoMessage {
        public var upload: String

        public init(upload: String = "0") {
            self.upload = upload
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
        }

    }

    public struct Upload: ProtoMessage {
        public var upload: String
        public var name: String
        /// MimeType as found in the bytes, not as declared.
        public var mimeType: String
        public var size: Int64
        public var width: Int
        public var height: Int

        public init(upload: String = "0", name: String = "", mimeType: String = "", size: Int64 = 0, width: Int = 0, height: Int = 0) {
            self.upload = upload
            self.name = name
            self.mimeType = mimeType
            self.size = size
            self.width = width
            self.height = height
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            mimeType = try fields.value("mimeType", TextCoder.self)
            size = try fields.value("size", Int64Coder.self)
            width = try fields.value("width", IntCoder.self)
            height = try fields.value("height", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("mimeType", mimeType, TextCoder.self)
            try fields.value("size", size, Int64Coder.self)
            try fields.value("width", width, IntCoder.self)
            try fields.value("height", height, IntCoder.self)
        }

    }

    public struct GetDownloadRequest: ProtoMessage {
        public var upload: String
        /// Conversation and seq of a message that names it. A group's picture has the conversation only; an avatar and one's own upload neither.
        public var conversation: String
        public var seq: Int64
        /// Post that names it, without a conversation.
        public var post: String
        /// Comment that names it, without a conversation.
        public var comment: String

        public init(upload: String = "0", conversation: String = "0", seq: Int64 = 0, post: String = "0", comment: String = "0") {
            self.upload = upload
            self.conversation = conversation
            self.seq = seq
            self.post = post
            self.comment = comment
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
            conversation = try fields.value("conversation", IDCoder.self)
            seq = try fields.value("seq", Int64Coder.self)
            post = try fields.value("post", IDCoder.self)
            comment = try fields.value("comment", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
            try fields.value("conversation", conversation, IDCoder.self)
            try fields.value("seq", seq, Int64Coder.self)
            try fields.value("post", post, IDCoder.self)
            try fields.value("comment", comment, IDCoder.self)
        }

    }

    public struct GetDownloadResponse: ProtoMessage {
        public var url: String
        public var expiresMs: Int64

        public init(url: String = "", expiresMs: Int64 = 0) {
            self.url = url
            self.expiresMs = expiresMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            url = try fields.value("url", TextCoder.self)
            expiresMs = try fields.value("expiresMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("url", url, TextCoder.self)
            try fields.value("expiresMs", expiresMs, Int64Coder.self)
        }

    }

    public struct CreateMultipartUploadRequest: ProtoMessage {
        public var name: String
        public var mimeType: String
        /// Size in bytes, 1 to 100 MiB unless the server has another limit.
        public var size: Int64
        /// PartSize that an S3 client is set to, 5 to 16 MiB; at most 9,000 parts. 0: the server chooses.
        public var partSize: Int64
        /// Purpose is for clients, at most 64 bytes of UTF-8: ListUnfinishedUploads selects by it.
        public var purpose: String

        public init(name: String = "", mimeType: String = "", size: Int64 = 0, partSize: Int64 = 0, purpose: String = "") {
            self.name = name
            self.mimeType = mimeType
            self.size = size
            self.partSize = partSize
            self.purpose = purpose
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            mimeType = try fields.value("mimeType", TextCoder.self)
            size = try fields.value("size", Int64Coder.self)
            partSize = try fields.value("partSize", Int64Coder.self)
            purpose = try fields.value("purpose", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("mimeType", mimeType, TextCoder.self)
            try fields.value("size", size, Int64Coder.self)
            try fields.value("partSize", partSize, Int64Coder.self)
            try fields.value("purpose", purpose, TextCoder.self)
        }

    }

    public struct MultipartUpload: ProtoMessage {
        public var upload: String
        public var size: Int64
        /// PartSize of all parts but the last, which has the rest.
        public var partSize: Int64
        /// Parts is their number. They are numbered from 1.
        public var parts: Int
        /// Missing parts, in order.
        public var missing: [Int]
        /// ExpiresMs: an upload that is not complete then is dropped.
        public var expiresMs: Int64
        /// Checksums (SHA-256) of the parts that are not missing, in order. Only GetMultipartUpload has them, until the upload is complete.
        public var checksums: [Foundation.Data]

        public init(upload: String = "0", size: Int64 = 0, partSize: Int64 = 0, parts: Int = 0, missing: [Int] = [], expiresMs: Int64 = 0, checksums: [Foundation.Data] = []) {
            self.upload = upload
            self.size = size
            self.partSize = partSize
            self.parts = parts
            self.missing = missing
            self.expiresMs = expiresMs
            self.checksums = checksums
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
            size = try fields.value("size", Int64Coder.self)
            partSize = try fields.value("partSize", Int64Coder.self)
            parts = try fields.value("parts", IntCoder.self)
            missing = try fields.list("missing", IntCoder.self)
            expiresMs = try fields.value("expiresMs", Int64Coder.self)
            checksums = try fields.list("checksums", BytesCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
            try fields.value("size", size, Int64Coder.self)
            try fields.value("partSize", partSize, Int64Coder.self)
            try fields.value("parts", parts, IntCoder.self)
            try fields.list("missing", missing, IntCoder.self)
            try fields.value("expiresMs", expiresMs, Int64Coder.self)
            try fields.list("checksums", checksums, BytesCoder.self)
        }

    }

    public struct GetMultipartUploadRequest: ProtoMessage {
        public var upload: String

        public init(upload: String = "0") {
            self.upload = upload
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
        }

    }

    public struct SignPartsRequest: ProtoMessage {
        public var upload: String
        /// Parts, 1 to 100 numbers.
        public var parts: [Int]

        public init(upload: String = "0", parts: [Int] = []) {
            self.upload = upload
            self.parts = parts
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
            parts = try fields.list("parts", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
            try fields.list("parts", parts, IntCoder.self)
        }

    }

    public struct SignPartsResponse: ProtoMessage {
        /// Urls of the parts, in the order of the request; relative to the server where they begin with a slash.
        public var urls: [String]
        public var expiresMs: Int64

        public init(urls: [String] = [], expiresMs: Int64 = 0) {
            self.urls = urls
            self.expiresMs = expiresMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            urls = try fields.list("urls", TextCoder.self)
            expiresMs = try fields.value("expiresMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("urls", urls, TextCoder.self)
            try fields.value("expiresMs", expiresMs, Int64Coder.self)
        }

    }

    public struct CreateUploadCredentialsRequest: ProtoMessage {
        public var upload: String

        public init(upload: String = "0") {
            self.upload = upload
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
        }

    }

    public struct UploadCredentials: ProtoMessage {
        /// Origin of the S3 address, such as https://files.example.com; empty: the server's own.
        public var origin: String
        /// Bucket is addressed by path.
        public var bucket: String
        /// Key of the object to upload.
        public var key: String
        public var accessKey: String
        public var secretKey: String
        public var region: String
        /// ExpiresMs: the keys are refused from then on.
        public var expiresMs: Int64

        public init(origin: String = "", bucket: String = "", key: String = "", accessKey: String = "", secretKey: String = "", region: String = "", expiresMs: Int64 = 0) {
            self.origin = origin
            self.bucket = bucket
            self.key = key
            self.accessKey = accessKey
            self.secretKey = secretKey
            self.region = region
            self.expiresMs = expiresMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            origin = try fields.value("origin", TextCoder.self)
            bucket = try fields.value("bucket", TextCoder.self)
            key = try fields.value("key", TextCoder.self)
            accessKey = try fields.value("accessKey", TextCoder.self)
            secretKey = try fields.value("secretKey", TextCoder.self)
            region = try fields.value("region", TextCoder.self)
            expiresMs = try fields.value("expiresMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("origin", origin, TextCoder.self)
            try fields.value("bucket", bucket, TextCoder.self)
            try fields.value("key", key, TextCoder.self)
            try fields.value("accessKey", accessKey, TextCoder.self)
            try fields.value("secretKey", secretKey, TextCoder.self)
            try fields.value("region", region, TextCoder.self)
            try fields.value("expiresMs", expiresMs, Int64Coder.self)
        }

    }

    public struct ListUnfinishedUploadsRequest: ProtoMessage {
        /// Purpose with which the uploads were created; empty: any.
        public var purpose: String

        public init(purpose: String = "") {
            self.purpose = purpose
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            purpose = try fields.value("purpose", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("purpose", purpose, TextCoder.self)
        }

    }

    public struct ListUnfinishedUploadsResponse: ProtoMessage {
        public var uploads: [ChatV1.UnfinishedUpload]

        public init(uploads: [ChatV1.UnfinishedUpload] = []) {
            self.uploads = uploads
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            uploads = try fields.list("uploads", MessageCoder<ChatV1.UnfinishedUpload>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("uploads", uploads, MessageCoder<ChatV1.UnfinishedUpload>.self)
        }

    }

    /// UnfinishedUpload can be continued with the same file, on any device of its owner.
    public struct UnfinishedUpload: ProtoMessage {
        public var upload: String
        public var name: String
        public var size: Int64
        /// Stored are the bytes of the parts that are stored.
        public var stored: Int64
        public var purpose: String
        public var createdMs: Int64
        /// ExpiresMs: it is dropped then.
        public var expiresMs: Int64

        public init(upload: String = "0", name: String = "", size: Int64 = 0, stored: Int64 = 0, purpose: String = "", createdMs: Int64 = 0, expiresMs: Int64 = 0) {
            self.upload = upload
            self.name = name
            self.size = size
            self.stored = stored
            self.purpose = purpose
            self.createdMs = createdMs
            self.expiresMs = expiresMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            size = try fields.value("size", Int64Coder.self)
            stored = try fields.value("stored", Int64Coder.self)
            purpose = try fields.value("purpose", TextCoder.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            expiresMs = try fields.value("expiresMs", Int64Coder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("size", size, Int64Coder.self)
            try fields.value("stored", stored, Int64Coder.self)
            try fields.value("purpose", purpose, TextCoder.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.value("expiresMs", expiresMs, Int64Coder.self)
        }

    }

    public struct AbortUploadRequest: ProtoMessage {
        public var upload: String

        public init(upload: String = "0") {
            self.upload = upload
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            upload = try fields.value("upload", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("upload", upload, IDCoder.self)
        }

    }

    public struct AbortUploadResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

}
