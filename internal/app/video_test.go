package app

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/eventually"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/platform/transcode"
	"github.com/rialto-im/rialto/internal/platform/transcode/transcodetest"
	"github.com/rialto-im/rialto/internal/service/account"
	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
	operationv1 "github.com/rialto-im/rialto/sdk/go/gen/operation/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/operation/v1/operationv1connect"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// TestVideoOverHTTP: an uploaded file becomes a video, which who may see a post with it can play, until the post is hidden.
func TestVideoOverHTTP(t *testing.T) {
	transcodetest.Open(t, transcode.Config{})
	path := transcodetest.File(t, "a.mp4", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10", "-t", "3", "-pix_fmt", "yuv420p", "-g", "20", "-c:v", "libx264")
	stages := filepath.Join(t.TempDir(), "pipeline.yaml")
	must(t, os.WriteFile(stages, []byte("storyboard: false\nstages:\n  - name: size\n    command: [sh, -c, 'wc -c < /in/90p.mp4 > size.txt']\n    inputs: [source, 90p]\n    outputs: [{file: size.txt, type: text/plain}]\nrenditions: [{height: 90}]\n"), 0o600))
	h, _ := open(t, "limits.search_user=none", "limits.search_address=none", "video.pipeline="+stages, edgeSecret)
	near := openEdgeOf(t, h)
	ann, ben := client(t, h), client(t, h)
	for c, handle := range map[*rialto.Client]string{ann: "ann", ben: "ben"} {
		must(t, c.Register(t.Context(), handle, "a good password", handle))
	}
	created, err := ann.Video().CreateVideo(t.Context(), connect.NewRequest(&videov1.CreateVideoRequest{Upload: uploadFile(t, h, ann, path)}))
	must(t, err)
	var v *videov1.Video
	eventually.True(t, "the video is ready", func() bool {
		r, err := ann.Video().GetVideo(t.Context(), connect.NewRequest(&videov1.GetVideoRequest{Video: created.Msg.Id}))
		must(t, err)
		v = r.Msg
		return v.State >= videov1.VideoState_VIDEO_STATE_READY
	})
	if v.State != videov1.VideoState_VIDEO_STATE_READY || len(v.Renditions) != 1 || !v.Renditions[0].Copied || v.HasAudio {
		t.Fatalf("the video is %v", v)
	}
	console := operationv1connect.NewOperationServiceClient(http.DefaultClient, "http://"+h.AdminAddress().String(), withKey(operatorKey(t, h)))
	graph, err := console.GetVideoPipeline(t.Context(), connect.NewRequest(&operationv1.GetVideoPipelineRequest{Video: v.Id}))
	must(t, err)
	var names []string
	for _, s := range graph.Msg.Stages {
		names = append(names, s.Name)
		if s.State != operationv1.VideoStageState_VIDEO_STAGE_STATE_DONE || s.Name != "publish" && (len(s.Nodes) != 1 || s.Nodes[0] != h.name) {
			t.Errorf("the stage is %v", s)
		}
	}
	if got := strings.Join(names, " "); got != "inspect 90p thumbnails size publish" {
		t.Errorf("the stages are %s", got)
	}
	content := &feedv1.PostContent{Video: v.Id}
	_, err = ben.Feed().Publish(t.Context(), connect.NewRequest(&feedv1.PublishRequest{ClientPostId: "b", Content: content}))
	if rialto.Reason(err) != "no_video" {
		t.Errorf("another user's video is answered with %v", err)
	}
	post, err := ann.Feed().Publish(t.Context(), connect.NewRequest(&feedv1.PublishRequest{ClientPostId: "a", Content: content}))
	must(t, err)
	seen, err := ben.Video().GetVideo(t.Context(), connect.NewRequest(&videov1.GetVideoRequest{Video: v.Id, Post: post.Msg.Id}))
	must(t, err)
	master := url(h) + seen.Msg.Playback.HlsUrl
	code, text := get(t, master)
	if code != http.StatusOK || !strings.Contains(text, "90p.m3u8") {
		t.Errorf("the playlist is answered with %d %s", code, text)
	}
	segment := strings.Replace(master, "master.m3u8", "90p/0.m4s", 1)
	code, bytesOf := get(t, segment)
	if code != http.StatusOK {
		t.Errorf("a segment is answered with %d", code)
	}
	if len(seen.Msg.Files) != 1 {
		t.Fatalf("the files are %v", seen.Msg.Files)
	}
	stageFile := url(h) + seen.Msg.Files[0].Url
	if code, text := get(t, stageFile); code != http.StatusOK || len(text) < 4 {
		t.Errorf("the file of a stage is answered with %d %q", code, text)
	}
	atEdge := func(address string) string { return url(near) + strings.TrimPrefix(address, url(h)) }
	for _, address := range []string{master, segment, segment} {
		if code, text := get(t, atEdge(address)); code != http.StatusOK || address == segment && text != bytesOf {
			t.Errorf("an edge answers with %d and %d bytes", code, len(text))
		}
	}
	_, err = ann.Video().SetSubtitles(t.Context(), connect.NewRequest(&videov1.SetSubtitlesRequest{Video: v.Id, Language: "en", File: "1\n00:00:01,000 --> 00:00:02,000\nhello"}))
	must(t, err)
	eventually.True(t, "the video is found by its subtitles", func() bool {
		hits, _ := searched(t, ben, "hello kind:video")
		return hits[searchv1.HitKind_HIT_KIND_VIDEO] == 1
	})
	_, err = ben.Video().SetWatchPosition(t.Context(), connect.NewRequest(&videov1.SetWatchPositionRequest{Video: v.Id, Post: post.Msg.Id, PositionMs: 1500}))
	must(t, err)
	seen, err = ben.Video().GetVideo(t.Context(), connect.NewRequest(&videov1.GetVideoRequest{Video: v.Id, Post: post.Msg.Id}))
	must(t, err)
	if code, text := get(t, url(h)+seen.Msg.Subtitles[0].Url); code != http.StatusOK || !strings.Contains(text, "hello") || seen.Msg.PositionMs != 1500 {
		t.Errorf("subtitles are answered with %d %s, the position is %d", code, text, seen.Msg.PositionMs)
	}
	if _, text := get(t, master); !strings.Contains(text, "TYPE=SUBTITLES,GROUP-ID=\"subtitles\",NAME=\"en\",LANGUAGE=\"en\",DEFAULT=NO") || strings.Count(text, ",SUBTITLES=\"subtitles\"\n") != 1 {
		t.Errorf("the playlist is %s", text)
	}
	watched := func() []*videov1.WatchedVideo {
		r, err := ben.Video().ListWatched(t.Context(), connect.NewRequest(&videov1.ListWatchedRequest{}))
		must(t, err)
		return r.Msg.Videos
	}
	if list := watched(); len(list) != 1 || list[0].Video.Id != v.Id || list[0].Post.Id != post.Msg.Id || list[0].Video.PositionMs != 1500 {
		t.Errorf("the watch history is %v", list)
	}
	admin := feedv1connect.NewFeedAdminServiceClient(http.DefaultClient, url(h), withKey(key(t, h)))
	_, err = admin.HidePost(t.Context(), connect.NewRequest(&feedv1.HidePostRequest{Post: post.Msg.Id, Reason: "test"}))
	must(t, err)
	if list := watched(); len(list) != 0 {
		t.Errorf("the watch history is %v, with a hidden post", list)
	}
	for _, address := range []string{master, segment, stageFile, url(h) + seen.Msg.Subtitles[0].Url} {
		if code, _ := get(t, address); code != http.StatusNotFound {
			t.Errorf("a file of a hidden post is answered with %d", code)
		}
		eventually.True(t, "the edge refuses the file of the hidden post", func() bool {
			code, _ := get(t, atEdge(address))
			return code == http.StatusNotFound
		})
	}
	own, err := ann.Video().GetVideo(t.Context(), connect.NewRequest(&videov1.GetVideoRequest{Video: v.Id}))
	must(t, err)
	owned := url(near) + strings.Replace(own.Msg.Playback.HlsUrl, "master.m3u8", "90p/0.m4s", 1)
	if code, _ := get(t, owned); code != http.StatusOK {
		t.Errorf("an edge answers the owner of a hidden post with %d", code)
	}
	_, err = ann.Video().DeleteVideo(t.Context(), connect.NewRequest(&videov1.DeleteVideoRequest{Video: created.Msg.Id}))
	must(t, err)
	eventually.True(t, "the edge refuses the deleted video", func() bool {
		code, _ := get(t, owned)
		return code == http.StatusNotFound
	})
	if hits, _ := searched(t, ben, "hello"); len(hits) != 0 {
		t.Errorf("a video of a hidden post is found: %v", hits)
	}
	if _, err := ben.Video().GetVideo(t.Context(), connect.NewRequest(&videov1.GetVideoRequest{Video: v.Id, Post: post.Msg.Id})); rialto.Reason(err) != "no_post" {
		t.Errorf("a video of a hidden post is answered with %v", err)
	}
}

// operatorKey makes a key for the console.
func operatorKey(t *testing.T, h *Node) string {
	t.Helper()
	key, err := h.accounts.CreateKey(t.Context(), account.NewKey{Name: "olga", Role: id.Operator}, nil)
	must(t, err)
	return key
}

// uploadFile uploads a file, and returns its complete upload.
func uploadFile(t *testing.T, h *Node, c *rialto.Client, path string) uint64 {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	r, err := c.Media().CreateUpload(t.Context(), connect.NewRequest(&chatv1.CreateUploadRequest{Name: filepath.Base(path), Size: uint64(len(b))}))
	must(t, err)
	put, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url(h)+r.Msg.Url, bytes.NewReader(b))
	must(t, err)
	answer, err := http.DefaultClient.Do(put)
	must(t, err)
	must(t, answer.Body.Close())
	if answer.StatusCode != http.StatusNoContent {
		t.Fatalf("the upload is answered with %d", answer.StatusCode)
	}
	_, err = c.Media().CompleteUpload(t.Context(), connect.NewRequest(&chatv1.CompleteUploadRequest{Upload: r.Msg.Upload}))
	must(t, err)
	return r.Msg.Upload
}
