package search_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

func fileContent(name, mime, caption string) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_File{File: &chatv1.Media{Upload: 1, Name: name, MimeType: mime, Size: 1234, Caption: caption}}}
}

// sendFile sends a file, and returns what a search for files calls its message.
func (f *fixture) sendFile(c id.Conversation, u id.User, name, mime, caption string) (seq uint64, hit string) {
	f.t.Helper()
	seq, err := f.sendContent(c, u, fileContent(name, mime, caption))
	must(f.t, err)
	return seq, fmt.Sprint("f", c, "/", seq)
}

// expect compares what a query finds.
func (f *fixture) expect(what string, u id.User, query string, want ...string) {
	f.t.Helper()
	found, _ := f.find(u, &searchv1.SearchRequest{Query: query, Limit: 50})
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		f.t.Errorf("%s: %q found %v, want %v", what, query, got, want)
	}
}

// A file is found by a part of its name in any form, by its extension, and by its caption.
func TestFilesAreFoundByTheirNames(t *testing.T) {
	f := open(t, 2)
	ana, ben := f.users[0], f.users[1]
	c := f.group(ana, "Papers", ben)
	names := []string{"季度报告.pdf", "quarterly_report_v2.pdf", "annualReportFinal.docx", "minutes.of.meeting.2026.tar.gz", "IMG_2034.JPG"}
	hits := map[string]string{}
	for _, n := range names {
		_, hits[n] = f.sendFile(c, ana, n, "application/octet-stream", "")
	}
	_, captioned := f.sendFile(c, ana, "scan.png", "image/png", "Receipt of the ferry")
	f.catchUp()
	for query, want := range map[string][]string{"报告": {names[0]}, "季度": {names[0]}, "pdf": {names[0], names[1]}, ".pdf": {names[0], names[1]}, "report": {names[1], names[2]}, "annual final": {names[2]}, "AnnualReportFinal.docx": {names[2]},
		"report.pdf": {}, "meeting": {names[3]}, "gz": {names[3]}, "jpg": {names[4]}, "2034": {names[4]}} {
		var list []string
		for _, n := range want {
			list = append(list, hits[n])
		}
		f.expect("names", ben, query+" kind:file", list...)
	}
	f.expect("caption", ben, "ferry kind:file", captioned)
	_, out := f.find(ben, &searchv1.SearchRequest{Query: "final kind:file"})
	h := out.Groups[0].Hits[0]
	if part := []rune(h.Text)[h.Highlights[0].Start:][:h.Highlights[0].Length]; string(part) != "Final" || h.File.Media.Name != names[2] || h.File.Media.Size != 1234 || h.Message.Sender != uint64(ana) || h.Text != names[2] {
		t.Errorf("the hit is %v", h)
	}
	if found, _ := f.find(ben, &searchv1.SearchRequest{Query: "report kind:message", Limit: 50}); len(found) != 2 {
		t.Errorf("as messages: %v", found)
	}
}

// A type filter finds files of the type, also those without a name, and of a message with several the one that matches.
func TestTypesOfFiles(t *testing.T) {
	f := open(t, 2)
	ana, ben := f.users[0], f.users[1]
	c := f.group(ana, "Papers", ben)
	hit := func(content *chatv1.Content) string {
		seq, err := f.sendContent(c, ana, content)
		must(t, err)
		return fmt.Sprint("f", c, "/", seq)
	}
	f.send(c, ana, "no file at all, report")
	_, pdf := f.sendFile(c, ana, "report.pdf", "application/pdf", "")
	_, sheet := f.sendFile(c, ana, "report.xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "")
	_, unknown := f.sendFile(c, ana, "report.csv", "", "")
	_, song := f.sendFile(c, ana, "report.bin", "audio/mpeg; x=1", "")
	_, packed := f.sendFile(c, ana, "report.zip", "application/x-zip-compressed", "")
	_, other := f.sendFile(c, ana, "report.blend", "application/x-blender", "")
	_, picture := f.sendFile(c, ana, "report.png", "IMAGE/PNG", "")
	photo := hit(&chatv1.Content{Kind: &chatv1.Content_Image{Image: &chatv1.Media{Upload: 1, MimeType: "image/jpeg"}}})
	voice := hit(&chatv1.Content{Kind: &chatv1.Content_Voice{Voice: &chatv1.Media{Upload: 1, MimeType: "audio/ogg", Name: "report.ogg"}}})
	album := hit(&chatv1.Content{Kind: &chatv1.Content_Album{Album: &chatv1.Album{Caption: "Lake", Items: []*chatv1.AlbumItem{{Kind: &chatv1.AlbumItem_Image{Image: &chatv1.Media{Upload: 1, Name: "a.jpg"}}},
		{Kind: &chatv1.AlbumItem_Video{Video: &chatv1.Media{Upload: 2, Name: "report.mp4"}}}}}}})
	f.catchUp()
	for query, want := range map[string][]string{
		"type:image": {picture, photo, album}, "type:video": {album}, "type:audio": {song, voice}, "type:document": {pdf, sheet, unknown}, "type:archive": {packed}, "type:other": {other},
		"type:image type:other": {picture, photo, album, other}, "report type:document": {pdf, sheet, unknown}, "report type:image": {picture}, "report type:video": {album}, "lake type:image": {album}, "a type:video": {},
		"report type:audio": {song}, "type:image kind:message": {}, fmt.Sprint("type:archive in:", c): {packed}, "type:archive from:me": {}, "type:document from:@person1": {pdf, sheet, unknown},
	} {
		f.expect("types", ben, query, want...)
	}
	_, out := f.find(ben, &searchv1.SearchRequest{Query: "report", FileTypes: []searchv1.FileType{searchv1.FileType_FILE_TYPE_VIDEO}})
	if h := out.Groups[0].Hits[0]; h.File.Media.Name != "report.mp4" || h.File.Others != 1 || h.File.Type != searchv1.FileType_FILE_TYPE_VIDEO || h.Text != "report.mp4\nLake" {
		t.Errorf("the hit of an album is %v", h)
	}
}

// Each way to take a file back, or the right to read it, holds before the index has heard of it.
func TestFilesThatAreTakenBackAreNotFoundWhileTheIndexIsBehind(t *testing.T) {
	ctx := context.Background()
	f := open(t, 3)
	ana, ben, cleo := f.users[0], f.users[1], f.users[2]
	c := f.group(ana, "Group", ben)
	_, early := f.sendFile(c, ana, "canary_early.pdf", "application/pdf", "")
	_, err := f.chat.Invite(ctx, c, ana, []uint64{uint64(cleo)})
	must(t, err)
	recalled, wasRecalled := f.sendFile(c, ana, "canary_recalled.pdf", "application/pdf", "")
	edited, wasEdited := f.sendFile(c, ana, "edited.pdf", "application/pdf", "canary")
	deleted, wasDeleted := f.sendFile(c, ana, "canary_deleted.pdf", "application/pdf", "")
	_, kept := f.sendFile(c, ana, "canary_kept.pdf", "application/pdf", "")
	_, own := f.sendFile(c, ben, "canary_ben.pdf", "application/pdf", "")
	f.catchUp()
	const query = "canary kind:file"
	f.expect("before", ben, query, early, wasRecalled, wasEdited, wasDeleted, kept, own)
	f.expect("after joining", cleo, query, wasRecalled, wasEdited, wasDeleted, kept, own)
	_, err = f.sendContent(c, ana, &chatv1.Content{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: recalled}}}})
	must(t, err)
	_, err = f.sendContent(c, ana, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: edited}, Content: fileContent("", "", "another bird")}}})
	must(t, err)
	_, err = f.chat.DeleteMessages(ctx, ben, &chatv1.DeleteMessagesRequest{Conversation: uint64(c), Seqs: []uint64{deleted}})
	must(t, err)
	f.expect("after a recall, an edit and a deletion", ben, query, early, kept, own)
	f.expect("all that is there of a type", ben, "type:document", early, wasEdited, kept, own)
	f.expect("the deletion is ben's alone", cleo, query, wasDeleted, kept, own)
	_, err = f.accounts.SetBlock(ctx, ana, ben, true)
	must(t, err)
	f.expect("after a block", ben, query, own)
	_, err = f.chat.Leave(ctx, c, cleo)
	must(t, err)
	_, after := f.sendFile(c, ben, "canary_after.pdf", "application/pdf", "")
	f.expect("after leaving", cleo, query, wasDeleted, kept, own)
	f.catchUp()
	f.expect("with the index, ben", ben, query, own, after)
	f.expect("with the index, cleo", cleo, query, wasDeleted, kept, own)
	f.expect("the new caption", cleo, "bird kind:file", wasEdited)
}

// A file whose message has expired is not found, although the index still has it.
func TestFilesThatHaveExpiredAreNotFound(t *testing.T) {
	f := open(t, 2)
	ana, ben := f.users[0], f.users[1]
	c := f.group(ana, "Group", ben)
	_, err := f.chat.SetRetention(t.Context(), c, ana, 60)
	must(t, err)
	_, hit := f.sendFile(c, ana, "canary.pdf", "application/pdf", "")
	f.catchUp()
	f.expect("before", ben, "canary kind:file", hit)
	f.clock.Advance(2 * time.Minute)
	f.expect("after a minute", ben, "canary kind:file")
	f.expect("of a type", ben, "type:document")
}

// A video is found by the words of its post and of its subtitles, by those who may see the post, as long as the video is there.
func TestVideosAreFoundAsTheirPosts(t *testing.T) {
	ctx := context.Background()
	f := open(t, 3)
	ana, ben, cleo := f.users[0], f.users[1], f.users[2]
	_, err := f.accounts.RequestFriend(ctx, ana, ben, "")
	must(t, err)
	_, err = f.accounts.AnswerFriend(ctx, ben, ana, true)
	must(t, err)
	f.setVideo(7, "the canary sings\n海上的日出", true)
	f.setVideo(8, "", true)
	public := f.publish(ana, &feedv1.PostContent{Title: "At the lake", Video: 7})
	friends := f.publish(ana, &feedv1.PostContent{Text: "Only for friends", Video: 7, Audience: feedv1.Audience_AUDIENCE_FRIENDS})
	second := f.publish(ana, &feedv1.PostContent{Title: "Canary islands", Video: 8})
	f.publish(ana, &feedv1.PostContent{Text: "canary without a video"})
	f.catchUp()
	v := func(n uint64) string { return fmt.Sprint("v", n) }
	f.expect("a friend", ben, "canary kind:video", v(public), v(friends), v(second))
	f.expect("others", cleo, "canary kind:video", v(public), v(second))
	f.expect("subtitles in Chinese", cleo, "日出", v(public))
	f.expect("a title finds the post as well", cleo, "lake", v(public), fmt.Sprint("p", public))
	f.expect("filters alone", cleo, "kind:video from:@person1", v(public), v(second))
	_, out := f.find(cleo, &searchv1.SearchRequest{Query: "sings"})
	if h := out.Groups[0].Hits[0]; h.Video.Id != 7 || h.Post.Id != public || h.Text != "At the lake\nthe canary sings\n海上的日出" {
		t.Errorf("the hit is %v", h)
	}
	f.setVideo(7, "nothing any more", true)
	f.expect("after new subtitles, the index is behind", ben, "canary kind:video", v(second))
	f.catchUp()
	f.expect("by new subtitles", ben, "nothing kind:video", v(public), v(friends))
	must(t, f.feed.HidePost(ctx, &feedv1.HidePostRequest{Post: public}))
	f.setVideo(8, "", false)
	f.expect("a hidden post", cleo, "nothing kind:video")
	f.expect("a deleted video", cleo, "canary kind:video")
	f.catchUp()
	f.expect("with the index", ben, "kind:video from:@person1", v(friends))
}

// New subtitles of a video that many posts show are read once for all of them, not for each.
func TestSubtitlesAreReadOnceForManyPosts(t *testing.T) {
	f := open(t, 1)
	f.setVideo(7, "the canary sings", true)
	for range 30 {
		f.publish(f.users[0], &feedv1.PostContent{Video: 7})
	}
	f.catchUp()
	f.videos.read.Store(0)
	f.setVideo(7, "nothing any more", true)
	f.catchUp()
	if n := f.videos.read.Load(); n != 1 {
		t.Errorf("they were read %d times", n)
	}
}

// An index of the form before, which has neither videos nor types of files, is built again: until then answers say that they are incomplete.
func TestAnEarlierIndexGetsVideosAndFiles(t *testing.T) {
	f := open(t, 1)
	c := f.group(f.users[0], "Papers")
	_, hit := f.sendFile(c, f.users[0], "quarterlyReport.pdf", "application/pdf", "")
	f.catchUp()
	must(t, f.CloseIndex())
	formats, err := filepath.Glob(filepath.Join(f.dir, "*", "FORMAT"))
	must(t, err)
	if len(formats) != 1 {
		t.Fatalf("formats: %v", formats)
	}
	must(t, os.WriteFile(formats[0], []byte("rialto search 3\n"), 0o600))
	var logged strings.Builder
	f.logger = slog.New(slog.NewTextHandler(&logged, nil))
	f.restart()
	if text := logged.String(); strings.Contains(text, "ERROR") || strings.Count(text, "WARN") != 1 || !strings.Contains(text, "another version") {
		t.Errorf("an upgrade is logged as %s", text)
	}
	f.logger = nil
	if _, out := f.find(f.users[0], &searchv1.SearchRequest{Query: "report kind:file"}); !out.Incomplete {
		t.Error("the answer of an index that is being built says that it is complete")
	}
	f.catchUp()
	f.expect("the new index", f.users[0], "report kind:file", hit)
}
