package rpc_test

import (
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
	"google.golang.org/protobuf/proto"
)

const videos = "/rialto.video.v1.VideoService/"

func ofVideos() map[string]row {
	// The uploads are pictures, so there is no video; package video tests who gets which.
	missing := func(request func(subject) proto.Message) row { return all("no_video", request) }
	return map[string]row{
		videos + "CreateVideo": all("no_upload", func(o subject) proto.Message { return &videov1.CreateVideoRequest{Upload: o.upload} }).ownerRefused("not_a_video"),
		videos + "GetVideo":    missing(func(o subject) proto.Message { return &videov1.GetVideoRequest{Video: o.post} }),
		videos + "ListVideos":  own(func(subject) proto.Message { return &videov1.ListVideosRequest{} }),
		videos + "DeleteVideo": missing(func(o subject) proto.Message { return &videov1.DeleteVideoRequest{Video: o.post} }),
		videos + "RetryVideo":  missing(func(o subject) proto.Message { return &videov1.RetryVideoRequest{Video: o.post} }),
		videos + "RequestRendition": missing(func(o subject) proto.Message {
			return &videov1.RequestRenditionRequest{Video: o.post, Rendition: "720p"}
		}),

		videos + "SetWatchPosition": missing(func(o subject) proto.Message { return &videov1.SetWatchPositionRequest{Video: o.post} }),
		videos + "ListWatched":      own(func(subject) proto.Message { return &videov1.ListWatchedRequest{} }),
		videos + "RemoveWatched":    own(func(o subject) proto.Message { return &videov1.RemoveWatchedRequest{Video: o.post} }),
		videos + "ClearWatched":     own(func(subject) proto.Message { return &videov1.ClearWatchedRequest{} }),
		videos + "SetSubtitles": missing(func(o subject) proto.Message {
			return &videov1.SetSubtitlesRequest{Video: o.post, Language: "en", File: "1\n00:00:01,000 --> 00:00:02,000\nhello"}
		}),
		videos + "RemoveSubtitles": missing(func(o subject) proto.Message { return &videov1.RemoveSubtitlesRequest{Video: o.post, Language: "en"} }),
	}
}
