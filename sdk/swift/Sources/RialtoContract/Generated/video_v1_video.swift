// Made from rialto/video/v1/video.proto by make generate. Do not edit.
import Foundation

/// Messages and calls of rialto.video.v1.
public enum VideoV1 {}

extension VideoV1 {
    /// VideoService: videos that users upload and posts show.
    ///
    /// A video is made from a complete upload. The server checks the file, and encodes it in several sizes. Playback can begin before all of that is done.
    public enum VideoService {
        /// CreateVideo makes a video from an upload of one's own, and begins to process it. The file of the upload belongs to the video from then on, and
        /// is deleted with it. A retry returns the video that was made from the upload.
        public static let createVideo = RialtoContract.Call<VideoV1.CreateVideoRequest, VideoV1.Video>("rialto.video.v1.VideoService/CreateVideo")
        /// GetVideo gives a video of one's own, or one that a post shows which the caller may see. Call it about once a second while the video is
        /// processed, and again before its addresses expire.
        public static let getVideo = RialtoContract.Call<VideoV1.GetVideoRequest, VideoV1.Video>("rialto.video.v1.VideoService/GetVideo")
        /// ListVideos gives the caller's videos, the newest first, with their posters, but without steps, renditions and playback.
        public static let listVideos = RialtoContract.Call<VideoV1.ListVideosRequest, VideoV1.ListVideosResponse>("rialto.video.v1.VideoService/ListVideos")
        /// DeleteVideo deletes a video of one's own. Posts that name it show none. A retry is harmless.
        public static let deleteVideo = RialtoContract.Call<VideoV1.DeleteVideoRequest, VideoV1.DeleteVideoResponse>("rialto.video.v1.VideoService/DeleteVideo")
        /// RequestRendition begins to encode a rendition that is on_demand, of a video that is ready, unless it is complete or being encoded. It is for those who may see the video.
        /// Then call GetVideo every few seconds until it is complete: the playlists have it from then on. A retry is harmless.
        public static let requestRendition = RialtoContract.Call<VideoV1.RequestRenditionRequest, VideoV1.Video>("rialto.video.v1.VideoService/RequestRendition")
        /// RetryVideo processes a failed video of one's own again. What was finished is kept.
        public static let retryVideo = RialtoContract.Call<VideoV1.RetryVideoRequest, VideoV1.Video>("rialto.video.v1.VideoService/RetryVideo")
        /// SetWatchPosition stores how far the caller has watched a video, for all devices, and puts the video at the top of the caller's watch history. A position that
        /// was reached later wins, also if it comes earlier. Call it every ten seconds or so during playback, where it pauses, and when it is left.
        public static let setWatchPosition = RialtoContract.Call<VideoV1.SetWatchPositionRequest, VideoV1.SetWatchPositionResponse>("rialto.video.v1.VideoService/SetWatchPosition")
        /// ListWatched gives the caller's watch history: the videos that the caller may see, the one that was watched last first, each once. It has the latest 1,000
        /// videos.
        public static let listWatched = RialtoContract.Call<VideoV1.ListWatchedRequest, VideoV1.ListWatchedResponse>("rialto.video.v1.VideoService/ListWatched")
        /// RemoveWatched deletes a video from the caller's watch history, with its position. A retry is harmless.
        public static let removeWatched = RialtoContract.Call<VideoV1.RemoveWatchedRequest, VideoV1.RemoveWatchedResponse>("rialto.video.v1.VideoService/RemoveWatched")
        /// ClearWatched deletes the caller's watch history, with all positions.
        public static let clearWatched = RialtoContract.Call<VideoV1.ClearWatchedRequest, VideoV1.ClearWatchedResponse>("rialto.video.v1.VideoService/ClearWatched")
        /// SetSubtitles adds subtitles in one language to a video of one's own, or replaces them. A retry is harmless.
        public static let setSubtitles = RialtoContract.Call<VideoV1.SetSubtitlesRequest, VideoV1.Video>("rialto.video.v1.VideoService/SetSubtitles")
        /// RemoveSubtitles removes the subtitles in one language from a video of one's own. A retry is harmless.
        public static let removeSubtitles = RialtoContract.Call<VideoV1.RemoveSubtitlesRequest, VideoV1.Video>("rialto.video.v1.VideoService/RemoveSubtitles")
    }

    /// Video as one user sees it.
    public struct Video: ProtoMessage {
        public var id: String
        /// Owner who made it.
        public var owner: String
        /// Upload that it was made from. Only the owner gets it.
        public var upload: String
        /// Name of the uploaded file. Only the owner gets it.
        public var name: String
        public var state: VideoV1.VideoState
        /// Failure of a failed video. Only the owner gets its details.
        public var failure: VideoV1.VideoFailure?
        /// CreatedMs is when it was made, milliseconds since 1970.
        public var createdMs: Int64
        /// DurationMs is 0 until it is known.
        public var durationMs: Int
        /// Width of the picture as it is shown, 0 until it is known.
        public var width: Int
        /// Height of the picture as it is shown.
        public var height: Int
        /// HasAudio is whether there is sound.
        public var hasAudio: Bool
        /// Renditions that are made, the smallest first.
        public var renditions: [VideoV1.VideoRendition]
        /// Steps of the processing. Only the owner gets them.
        public var steps: [VideoV1.VideoStep]
        /// RemainingMs is an estimate of how long the processing still takes; 0: unknown, or it is done.
        public var remainingMs: Int
        /// Playback has the addresses for players; absent: nothing can be played yet.
        public var playback: VideoV1.VideoPlayback?
        /// Posters are frames of the video, in their order. The first is for lists.
        public var posters: [VideoV1.VideoPoster]
        /// Storyboard has small frames for seeking; absent: there is none yet.
        public var storyboard: VideoV1.VideoStoryboard?
        /// PositionMs is where the caller was in the video, on any device; 0: at its beginning, or never. Lists do not have it.
        public var positionMs: Int
        /// WatchedMs is when the caller was there, milliseconds since 1970; 0: never.
        public var watchedMs: Int64
        /// Subtitles by language. Lists do not have them.
        public var subtitles: [VideoV1.VideoSubtitles]
        /// Files that further stages of the server's pipeline made, such as a contact sheet. Lists do not have them.
        public var files: [VideoV1.VideoFile]
        /// AwaitsStorage: a disk of the server is full. The processing continues by itself when there is space; a video that can store nothing for a day has failed, with storage_full. Only the owner
        /// gets it.
        public var awaitsStorage: Bool

        public init(id: String = "0", owner: String = "0", upload: String = "0", name: String = "", state: VideoV1.VideoState = .unspecified, failure: VideoV1.VideoFailure? = nil, createdMs: Int64 = 0, durationMs: Int = 0, width: Int = 0, height: Int = 0, hasAudio: Bool = false, renditions: [VideoV1.VideoRendition] = [], steps: [VideoV1.VideoStep] = [], remainingMs: Int = 0, playback: VideoV1.VideoPlayback? = nil, posters: [VideoV1.VideoPoster] = [], storyboard: VideoV1.VideoStoryboard? = nil, positionMs: Int = 0, watchedMs: Int64 = 0, subtitles: [VideoV1.VideoSubtitles] = [], files: [VideoV1.VideoFile] = [], awaitsStorage: Bool = false) {
            self.id = id
            self.owner = owner
            self.upload = upload
            self.name = name
            self.state = state
            self.failure = failure
            self.createdMs = createdMs
            self.durationMs = durationMs
            self.width = width
            self.height = height
            self.hasAudio = hasAudio
            self.renditions = renditions
            self.steps = steps
            self.remainingMs = remainingMs
            self.playback = playback
            self.posters = posters
            self.storyboard = storyboard
            self.positionMs = positionMs
            self.watchedMs = watchedMs
            self.subtitles = subtitles
            self.files = files
            self.awaitsStorage = awaitsStorage
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            id = try fields.value("id", IDCoder.self)
            owner = try fields.value("owner", IDCoder.self)
            upload = try fields.value("upload", IDCoder.self)
            name = try fields.value("name", TextCoder.self)
            state = try fields.value("state", EnumCoder<VideoV1.VideoState>.self)
            failure = try fields.optional("failure", MessageCoder<VideoV1.VideoFailure>.self)
            createdMs = try fields.value("createdMs", Int64Coder.self)
            durationMs = try fields.value("durationMs", IntCoder.self)
            width = try fields.value("width", IntCoder.self)
            height = try fields.value("height", IntCoder.self)
            hasAudio = try fields.value("hasAudio", BoolCoder.self)
            renditions = try fields.list("renditions", MessageCoder<VideoV1.VideoRendition>.self)
            steps = try fields.list("steps", MessageCoder<VideoV1.VideoStep>.self)
            remainingMs = try fields.value("remainingMs", IntCoder.self)
            playback = try fields.optional("playback", MessageCoder<VideoV1.VideoPlayback>.self)
            posters = try fields.list("posters", MessageCoder<VideoV1.VideoPoster>.self)
            storyboard = try fields.optional("storyboard", MessageCoder<VideoV1.VideoStoryboard>.self)
            positionMs = try fields.value("positionMs", IntCoder.self)
            watchedMs = try fields.value("watchedMs", Int64Coder.self)
            subtitles = try fields.list("subtitles", MessageCoder<VideoV1.VideoSubtitles>.self)
            files = try fields.list("files", MessageCoder<VideoV1.VideoFile>.self)
            awaitsStorage = try fields.value("awaitsStorage", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("id", id, IDCoder.self)
            try fields.value("owner", owner, IDCoder.self)
            try fields.value("upload", upload, IDCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("state", state, EnumCoder<VideoV1.VideoState>.self)
            try fields.optional("failure", failure, MessageCoder<VideoV1.VideoFailure>.self)
            try fields.value("createdMs", createdMs, Int64Coder.self)
            try fields.value("durationMs", durationMs, IntCoder.self)
            try fields.value("width", width, IntCoder.self)
            try fields.value("height", height, IntCoder.self)
            try fields.value("hasAudio", hasAudio, BoolCoder.self)
            try fields.list("renditions", renditions, MessageCoder<VideoV1.VideoRendition>.self)
            try fields.list("steps", steps, MessageCoder<VideoV1.VideoStep>.self)
            try fields.value("remainingMs", remainingMs, IntCoder.self)
            try fields.optional("playback", playback, MessageCoder<VideoV1.VideoPlayback>.self)
            try fields.list("posters", posters, MessageCoder<VideoV1.VideoPoster>.self)
            try fields.optional("storyboard", storyboard, MessageCoder<VideoV1.VideoStoryboard>.self)
            try fields.value("positionMs", positionMs, IntCoder.self)
            try fields.value("watchedMs", watchedMs, Int64Coder.self)
            try fields.list("subtitles", subtitles, MessageCoder<VideoV1.VideoSubtitles>.self)
            try fields.list("files", files, MessageCoder<VideoV1.VideoFile>.self)
            try fields.value("awaitsStorage", awaitsStorage, BoolCoder.self)
        }

    }

    /// VideoFile is a file that a stage of the server's pipeline made of a video.
    public struct VideoFile: ProtoMessage {
        /// Stage that made it.
        public var stage: String
        /// Name of the file.
        public var name: String
        /// Type is its media type, such as image/jpeg.
        public var type: String
        /// Size in bytes.
        public var size: Int64
        /// Url of the file. It expires with the addresses of playback.
        public var url: String

        public init(stage: String = "", name: String = "", type: String = "", size: Int64 = 0, url: String = "") {
            self.stage = stage
            self.name = name
            self.type = type
            self.size = size
            self.url = url
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            stage = try fields.value("stage", TextCoder.self)
            name = try fields.value("name", TextCoder.self)
            type = try fields.value("type", TextCoder.self)
            size = try fields.value("size", Int64Coder.self)
            url = try fields.value("url", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("stage", stage, TextCoder.self)
            try fields.value("name", name, TextCoder.self)
            try fields.value("type", type, TextCoder.self)
            try fields.value("size", size, Int64Coder.self)
            try fields.value("url", url, TextCoder.self)
        }

    }

    /// VideoSubtitles are subtitles in one language.
    public struct VideoSubtitles: ProtoMessage {
        /// Language as a BCP 47 tag, such as en or zh-Hans.
        public var language: String
        /// Label for menus, such as English.
        public var label: String
        /// Default: players show them unless the viewer has chosen otherwise. At most one has it.
        public var `default`: Bool
        /// Url of a WebVTT file. It expires with the addresses of playback, and changes when the subtitles are replaced.
        public var url: String
        /// Cues is the number of texts.
        public var cues: Int

        public init(language: String = "", label: String = "", `default`: Bool = false, url: String = "", cues: Int = 0) {
            self.language = language
            self.label = label
            self.`default` = `default`
            self.url = url
            self.cues = cues
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            language = try fields.value("language", TextCoder.self)
            label = try fields.value("label", TextCoder.self)
            `default` = try fields.value("default", BoolCoder.self)
            url = try fields.value("url", TextCoder.self)
            cues = try fields.value("cues", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("language", language, TextCoder.self)
            try fields.value("label", label, TextCoder.self)
            try fields.value("default", `default`, BoolCoder.self)
            try fields.value("url", url, TextCoder.self)
            try fields.value("cues", cues, IntCoder.self)
        }

    }

    /// VideoFailure is why a video could not be processed.
    public struct VideoFailure: ProtoMessage {
        /// Reason for programs, such as video_truncated.
        public var reason: String
        /// Message for people.
        public var message: String
        /// Retriable: RetryVideo may help. Otherwise the file is the cause, and was deleted.
        public var retriable: Bool

        public init(reason: String = "", message: String = "", retriable: Bool = false) {
            self.reason = reason
            self.message = message
            self.retriable = retriable
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            reason = try fields.value("reason", TextCoder.self)
            message = try fields.value("message", TextCoder.self)
            retriable = try fields.value("retriable", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("reason", reason, TextCoder.self)
            try fields.value("message", message, TextCoder.self)
            try fields.value("retriable", retriable, BoolCoder.self)
        }

    }

    /// VideoRendition is the video in one size.
    public struct VideoRendition: ProtoMessage {
        /// Name, such as 720p.
        public var name: String
        public var width: Int
        public var height: Int
        /// Bandwidth in bits per second, of the largest segment; 0 until one is there.
        public var bandwidth: Int
        /// PlayableMs is how much of it can be played, from its beginning.
        public var playableMs: Int
        /// Complete: all of it can be played.
        public var complete: Bool
        /// Copied from the upload, without being encoded again.
        public var copied: Bool
        /// OnDemand: it is encoded when somebody asks for it, or when the video has many viewers, and may be deleted again when nobody plays it for long. The playlists have it while
        /// it is complete.
        public var onDemand: Bool
        /// Requested: it is being encoded on demand.
        public var requested: Bool

        public init(name: String = "", width: Int = 0, height: Int = 0, bandwidth: Int = 0, playableMs: Int = 0, complete: Bool = false, copied: Bool = false, onDemand: Bool = false, requested: Bool = false) {
            self.name = name
            self.width = width
            self.height = height
            self.bandwidth = bandwidth
            self.playableMs = playableMs
            self.complete = complete
            self.copied = copied
            self.onDemand = onDemand
            self.requested = requested
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            name = try fields.value("name", TextCoder.self)
            width = try fields.value("width", IntCoder.self)
            height = try fields.value("height", IntCoder.self)
            bandwidth = try fields.value("bandwidth", IntCoder.self)
            playableMs = try fields.value("playableMs", IntCoder.self)
            complete = try fields.value("complete", BoolCoder.self)
            copied = try fields.value("copied", BoolCoder.self)
            onDemand = try fields.value("onDemand", BoolCoder.self)
            requested = try fields.value("requested", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("name", name, TextCoder.self)
            try fields.value("width", width, IntCoder.self)
            try fields.value("height", height, IntCoder.self)
            try fields.value("bandwidth", bandwidth, IntCoder.self)
            try fields.value("playableMs", playableMs, IntCoder.self)
            try fields.value("complete", complete, BoolCoder.self)
            try fields.value("copied", copied, BoolCoder.self)
            try fields.value("onDemand", onDemand, BoolCoder.self)
            try fields.value("requested", requested, BoolCoder.self)
        }

    }

    /// VideoStep is a part of the processing. It is complete when done equals total.
    public struct VideoStep: ProtoMessage {
        public var kind: VideoV1.VideoStepKind
        /// Rendition that it makes, such as 720p; empty: none.
        public var rendition: String
        /// Total of its tasks.
        public var total: Int
        /// Done of these tasks.
        public var done: Int
        /// Stage of the server's pipeline; empty: the step is a part of each pipeline.
        public var stage: String

        public init(kind: VideoV1.VideoStepKind = .unspecified, rendition: String = "", total: Int = 0, done: Int = 0, stage: String = "") {
            self.kind = kind
            self.rendition = rendition
            self.total = total
            self.done = done
            self.stage = stage
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            kind = try fields.value("kind", EnumCoder<VideoV1.VideoStepKind>.self)
            rendition = try fields.value("rendition", TextCoder.self)
            total = try fields.value("total", IntCoder.self)
            done = try fields.value("done", IntCoder.self)
            stage = try fields.value("stage", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("kind", kind, EnumCoder<VideoV1.VideoStepKind>.self)
            try fields.value("rendition", rendition, TextCoder.self)
            try fields.value("total", total, IntCoder.self)
            try fields.value("done", done, IntCoder.self)
            try fields.value("stage", stage, TextCoder.self)
        }

    }

    /// VideoPlayback has addresses that need no credentials, relative to the server's if they begin with a slash.
    public struct VideoPlayback: ProtoMessage {
        /// HlsUrl is the address of the HLS master playlist. It grows while the video is processed.
        public var hlsUrl: String
        /// DashUrl is the address of the DASH manifest; empty: there is none yet.
        public var dashUrl: String
        /// ExpiresMs is when all addresses of this video expire, milliseconds since 1970. Players get new ones from GetVideo before.
        public var expiresMs: Int64
        /// Complete: the playlists will not change, but for renditions that are on_demand, which come and go as a whole.
        public var complete: Bool

        public init(hlsUrl: String = "", dashUrl: String = "", expiresMs: Int64 = 0, complete: Bool = false) {
            self.hlsUrl = hlsUrl
            self.dashUrl = dashUrl
            self.expiresMs = expiresMs
            self.complete = complete
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            hlsUrl = try fields.value("hlsUrl", TextCoder.self)
            dashUrl = try fields.value("dashUrl", TextCoder.self)
            expiresMs = try fields.value("expiresMs", Int64Coder.self)
            complete = try fields.value("complete", BoolCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("hlsUrl", hlsUrl, TextCoder.self)
            try fields.value("dashUrl", dashUrl, TextCoder.self)
            try fields.value("expiresMs", expiresMs, Int64Coder.self)
            try fields.value("complete", complete, BoolCoder.self)
        }

    }

    /// VideoPoster is a frame of the video.
    public struct VideoPoster: ProtoMessage {
        /// Url of a JPEG image.
        public var url: String
        /// TimeMs is where it is in the video.
        public var timeMs: Int
        public var width: Int
        public var height: Int

        public init(url: String = "", timeMs: Int = 0, width: Int = 0, height: Int = 0) {
            self.url = url
            self.timeMs = timeMs
            self.width = width
            self.height = height
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            url = try fields.value("url", TextCoder.self)
            timeMs = try fields.value("timeMs", IntCoder.self)
            width = try fields.value("width", IntCoder.self)
            height = try fields.value("height", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("url", url, TextCoder.self)
            try fields.value("timeMs", timeMs, IntCoder.self)
            try fields.value("width", width, IntCoder.self)
            try fields.value("height", height, IntCoder.self)
        }

    }

    /// VideoStoryboard is one image with many small frames, in rows from left to right. Frame n shows the video at n × interval_ms.
    public struct VideoStoryboard: ProtoMessage {
        /// Url of a JPEG image.
        public var url: String
        /// VttUrl is the address of a WebVTT file that names the place of each frame, for players that read such files.
        public var vttUrl: String
        /// TileWidth of a frame, in pixels.
        public var tileWidth: Int
        /// TileHeight of a frame, in pixels.
        public var tileHeight: Int
        /// Columns of the image.
        public var columns: Int
        /// Count of the frames.
        public var count: Int
        public var intervalMs: Int

        public init(url: String = "", vttUrl: String = "", tileWidth: Int = 0, tileHeight: Int = 0, columns: Int = 0, count: Int = 0, intervalMs: Int = 0) {
            self.url = url
            self.vttUrl = vttUrl
            self.tileWidth = tileWidth
            self.tileHeight = tileHeight
            self.columns = columns
            self.count = count
            self.intervalMs = intervalMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            url = try fields.value("url", TextCoder.self)
            vttUrl = try fields.value("vttUrl", TextCoder.self)
            tileWidth = try fields.value("tileWidth", IntCoder.self)
            tileHeight = try fields.value("tileHeight", IntCoder.self)
            columns = try fields.value("columns", IntCoder.self)
            count = try fields.value("count", IntCoder.self)
            intervalMs = try fields.value("intervalMs", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("url", url, TextCoder.self)
            try fields.value("vttUrl", vttUrl, TextCoder.self)
            try fields.value("tileWidth", tileWidth, IntCoder.self)
            try fields.value("tileHeight", tileHeight, IntCoder.self)
            try fields.value("columns", columns, IntCoder.self)
            try fields.value("count", count, IntCoder.self)
            try fields.value("intervalMs", intervalMs, IntCoder.self)
        }

    }

    public struct CreateVideoRequest: ProtoMessage {
        /// Upload of the caller that is complete: an MP4, QuickTime, Matroska or WebM file.
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

    public struct GetVideoRequest: ProtoMessage {
        public var video: String
        /// Post that shows the video; 0: it is the caller's own.
        public var post: String

        public init(video: String = "0", post: String = "0") {
            self.video = video
            self.post = post
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            video = try fields.value("video", IDCoder.self)
            post = try fields.value("post", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("video", video, IDCoder.self)
            try fields.value("post", post, IDCoder.self)
        }

    }

    public struct ListVideosRequest: ProtoMessage {
        /// Before is the next of the previous page; 0: the newest videos.
        public var before: String
        /// Limit of the videos, at most 50; 0 is 20.
        public var limit: Int

        public init(before: String = "0", limit: Int = 0) {
            self.before = before
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            before = try fields.value("before", IDCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("before", before, IDCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListVideosResponse: ProtoMessage {
        public var videos: [VideoV1.Video]
        /// Next is the before of the next page; 0: there is none.
        public var next: String

        public init(videos: [VideoV1.Video] = [], next: String = "0") {
            self.videos = videos
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            videos = try fields.list("videos", MessageCoder<VideoV1.Video>.self)
            next = try fields.value("next", IDCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("videos", videos, MessageCoder<VideoV1.Video>.self)
            try fields.value("next", next, IDCoder.self)
        }

    }

    public struct DeleteVideoRequest: ProtoMessage {
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

    public struct DeleteVideoResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct RetryVideoRequest: ProtoMessage {
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

    public struct RequestRenditionRequest: ProtoMessage {
        public var video: String
        /// Post that shows the video; 0: it is the caller's own.
        public var post: String
        /// Rendition by its name, such as 1080p.
        public var rendition: String

        public init(video: String = "0", post: String = "0", rendition: String = "") {
            self.video = video
            self.post = post
            self.rendition = rendition
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            video = try fields.value("video", IDCoder.self)
            post = try fields.value("post", IDCoder.self)
            rendition = try fields.value("rendition", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("video", video, IDCoder.self)
            try fields.value("post", post, IDCoder.self)
            try fields.value("rendition", rendition, TextCoder.self)
        }

    }

    public struct SetWatchPositionRequest: ProtoMessage {
        public var video: String
        /// Post by which it is watched; 0: it is the caller's own.
        public var post: String
        /// PositionMs from the beginning. One behind the end is the end.
        public var positionMs: Int
        /// AgeMs is how long before this request the position was reached, by the device's own clock, at most a day; 0: just now. So clocks of devices need not agree.
        public var ageMs: Int

        public init(video: String = "0", post: String = "0", positionMs: Int = 0, ageMs: Int = 0) {
            self.video = video
            self.post = post
            self.positionMs = positionMs
            self.ageMs = ageMs
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            video = try fields.value("video", IDCoder.self)
            post = try fields.value("post", IDCoder.self)
            positionMs = try fields.value("positionMs", IntCoder.self)
            ageMs = try fields.value("ageMs", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("video", video, IDCoder.self)
            try fields.value("post", post, IDCoder.self)
            try fields.value("positionMs", positionMs, IntCoder.self)
            try fields.value("ageMs", ageMs, IntCoder.self)
        }

    }

    public struct SetWatchPositionResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ListWatchedRequest: ProtoMessage {
        /// Page is the next of the previous page; empty: the first one.
        public var page: String
        /// Limit of the videos, at most 50; 0 is 20.
        public var limit: Int

        public init(page: String = "", limit: Int = 0) {
            self.page = page
            self.limit = limit
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            page = try fields.value("page", TextCoder.self)
            limit = try fields.value("limit", IntCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("page", page, TextCoder.self)
            try fields.value("limit", limit, IntCoder.self)
        }

    }

    public struct ListWatchedResponse: ProtoMessage {
        public var videos: [VideoV1.WatchedVideo]
        /// Next is the page of the next request; empty: there is none. A page may have fewer videos than its limit, or none, although there is a next one.
        public var next: String

        public init(videos: [VideoV1.WatchedVideo] = [], next: String = "") {
            self.videos = videos
            self.next = next
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            videos = try fields.list("videos", MessageCoder<VideoV1.WatchedVideo>.self)
            next = try fields.value("next", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.list("videos", videos, MessageCoder<VideoV1.WatchedVideo>.self)
            try fields.value("next", next, TextCoder.self)
        }

    }

    /// WatchedVideo is an entry of a watch history.
    public struct WatchedVideo: ProtoMessage {
        /// Video as in ListVideos, with its position.
        public var video: VideoV1.Video?
        /// Post by which it was watched last; absent: it is the caller's own.
        public var post: FeedV1.Post?

        public init(video: VideoV1.Video? = nil, post: FeedV1.Post? = nil) {
            self.video = video
            self.post = post
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            video = try fields.optional("video", MessageCoder<VideoV1.Video>.self)
            post = try fields.optional("post", MessageCoder<FeedV1.Post>.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.optional("video", video, MessageCoder<VideoV1.Video>.self)
            try fields.optional("post", post, MessageCoder<FeedV1.Post>.self)
        }

    }

    public struct RemoveWatchedRequest: ProtoMessage {
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

    public struct RemoveWatchedResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ClearWatchedRequest: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct ClearWatchedResponse: ProtoMessage {
        public init() {
        }

        public init(from decoder: any Decoder) throws {}

        public func encode(to encoder: any Encoder) throws { _ = ProtoWriter(encoder) }

    }

    public struct SetSubtitlesRequest: ProtoMessage {
        public var video: String
        /// Language as a BCP 47 tag of at most 35 characters.
        public var language: String
        /// Label of at most 60 characters; empty: the language.
        public var label: String
        /// Default: they become the default, and others are it no longer.
        public var `default`: Bool
        /// File is the text of a WebVTT or SRT file in UTF-8, at most 512 KiB.
        public var file: String

        public init(video: String = "0", language: String = "", label: String = "", `default`: Bool = false, file: String = "") {
            self.video = video
            self.language = language
            self.label = label
            self.`default` = `default`
            self.file = file
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            video = try fields.value("video", IDCoder.self)
            language = try fields.value("language", TextCoder.self)
            label = try fields.value("label", TextCoder.self)
            `default` = try fields.value("default", BoolCoder.self)
            file = try fields.value("file", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("video", video, IDCoder.self)
            try fields.value("language", language, TextCoder.self)
            try fields.value("label", label, TextCoder.self)
            try fields.value("default", `default`, BoolCoder.self)
            try fields.value("file", file, TextCoder.self)
        }

    }

    public struct RemoveSubtitlesRequest: ProtoMessage {
        public var video: String
        public var language: String

        public init(video: String = "0", language: String = "") {
            self.video = video
            self.language = language
        }

        public init(from decoder: any Decoder) throws {
            let fields = try ProtoReader(decoder)
            video = try fields.value("video", IDCoder.self)
            language = try fields.value("language", TextCoder.self)
        }

        public func encode(to encoder: any Encoder) throws {
            var fields = ProtoWriter(encoder)
            try fields.value("video", video, IDCoder.self)
            try fields.value("language", language, TextCoder.self)
        }

    }

    /// VideoState is how far a video was processed.
    public enum VideoState: ProtoEnum {
        case unspecified
        /// It waits to be checked.
        case waiting
        /// It is being processed. It can be played as soon as it has a playback.
        case processing
        /// All renditions are complete but those that are on_demand.
        case ready
        /// It was given up: failure says why.
        case failed
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<VideoState>] = [
            ProtoEnumValue("VIDEO_STATE_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("VIDEO_STATE_WAITING", 1, .waiting),
            ProtoEnumValue("VIDEO_STATE_PROCESSING", 2, .processing),
            ProtoEnumValue("VIDEO_STATE_READY", 3, .ready),
            ProtoEnumValue("VIDEO_STATE_FAILED", 4, .failed),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

    /// VideoStepKind is a kind of work.
    public enum VideoStepKind: ProtoEnum {
        case unspecified
        /// The file is checked, and the work is divided.
        case inspect
        /// The picture is copied from the upload.
        case copy
        /// The chunks of a rendition are encoded.
        case encode
        /// The sound is copied or encoded.
        case audio
        case posters
        case storyboard
        /// All other steps are done.
        case publish
        /// A further stage of the server's pipeline, which stage names.
        case stage
        /// A value of a later version, by its number.
        case unrecognized(Int)

        public static let values: [ProtoEnumValue<VideoStepKind>] = [
            ProtoEnumValue("VIDEO_STEP_KIND_UNSPECIFIED", 0, .unspecified),
            ProtoEnumValue("VIDEO_STEP_KIND_INSPECT", 1, .inspect),
            ProtoEnumValue("VIDEO_STEP_KIND_COPY", 2, .copy),
            ProtoEnumValue("VIDEO_STEP_KIND_ENCODE", 3, .encode),
            ProtoEnumValue("VIDEO_STEP_KIND_AUDIO", 4, .audio),
            ProtoEnumValue("VIDEO_STEP_KIND_POSTERS", 5, .posters),
            ProtoEnumValue("VIDEO_STEP_KIND_STORYBOARD", 6, .storyboard),
            ProtoEnumValue("VIDEO_STEP_KIND_PUBLISH", 7, .publish),
            ProtoEnumValue("VIDEO_STEP_KIND_STAGE", 8, .stage),
        ]

        public var unrecognizedNumber: Int? { if case .unrecognized(let number) = self { number } else { nil } }
    }

}
