package video_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rialto-im/rialto/internal/base/id"
	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// insert stores ready videos of alice that were never processed.
func (f *fixture) insert(list ...uint64) {
	f.t.Helper()
	must(f.t, f.db.Write(f.t.Context(), func(tx *sql.Tx) error {
		for _, n := range list {
			if _, err := tx.ExecContext(f.t.Context(), `INSERT INTO videos (id, owner, upload, name, format, state, remaining, source, renditions, created_ms) VALUES ($1, $2, $1, 'a', 'mp4', 2, 0, $3, $4, 0)`,
				int64(n), int64(alice), []byte(`{"duration":60000000000}`), []byte(`[]`)); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (f *fixture) watch(by id.User, n, post uint64, positionMs uint32, age time.Duration) string {
	return reason(f.SetWatchPosition(f.t.Context(), by, &videov1.SetWatchPositionRequest{Video: n, Post: post, PositionMs: positionMs, AgeMs: uint32(age.Milliseconds())}))
}

// watched returns a user's history as "video:position", and fails if a page is longer than its limit.
func (f *fixture) watched(by id.User, limit uint32) (list []string) {
	f.t.Helper()
	for page := ""; ; {
		r, err := f.ListWatched(f.t.Context(), by, &videov1.ListWatchedRequest{Page: page, Limit: limit})
		must(f.t, err)
		if limit > 0 && len(r.Videos) > int(limit) {
			f.t.Errorf("a page has %d videos", len(r.Videos))
		}
		for _, w := range r.Videos {
			list = append(list, fmt.Sprintf("%d:%d", w.Video.Id, w.Video.PositionMs))
		}
		if page = r.Next; page == "" {
			return list
		}
	}
}

func (f *fixture) expectWatched(by id.User, limit uint32, want ...string) {
	f.t.Helper()
	if got := f.watched(by, limit); !slices.Equal(got, want) {
		f.t.Errorf("the history is %q, want %q", got, want)
	}
}

// TestWatchPosition: all devices of a user go on where the user was last, whichever request comes last.
func TestWatchPosition(t *testing.T) {
	f := openStopped(t)
	f.insert(7)
	f.posts.set(3, 7, bob)
	position := func() string {
		t.Helper()
		v, err := f.GetVideo(t.Context(), bob, &videov1.GetVideoRequest{Video: 7, Post: 3})
		must(t, err)
		return fmt.Sprint(v.PositionMs, " ", f.clock.Now().UnixMilli()-v.WatchedMs)
	}
	set := func(positionMs uint32, age time.Duration, want string) {
		t.Helper()
		if got := f.watch(bob, 7, 3, positionMs, age); got != "" || position() != want {
			t.Errorf("the position is %s, %s; want %s", position(), got, want)
		}
	}
	if v, err := f.GetVideo(t.Context(), bob, &videov1.GetVideoRequest{Video: 7, Post: 3}); err != nil || v.PositionMs != 0 || v.WatchedMs != 0 {
		t.Errorf("a video that was never watched is %v, %v", v, err)
	}
	set(10_000, 0, "10000 0")
	f.clock.Advance(time.Minute)
	set(20_000, 0, "20000 0")
	set(5_000, 30*time.Second, "20000 0") // of another device, whose request had to wait
	f.clock.Advance(time.Minute)
	set(30_000, 10*time.Second, "30000 10000") // it had to wait, and is still the latest one
	set(15_000, 10*time.Second, "15000 10000")
	set(99_000, 0, "60000 0") // behind the end
	set(0, 0, "0 0")
	for _, c := range []struct {
		by      id.User
		n, post uint64
		age     time.Duration
		want    string
	}{{alice, 7, 0, 0, ""}, {bob, 7, 0, 0, "no_video"}, {bob, 8, 3, 0, "no_video"}, {alice, 7, 3, 0, "no_post"}, {bob, 7, 3, 24*time.Hour + time.Millisecond, "bad_position"}, {alice, 9, 0, 0, "no_video"}} {
		if got := f.watch(c.by, c.n, c.post, 1, c.age); got != c.want {
			t.Errorf("%+v is answered with %q", c, got)
		}
	}
	must(t, f.exec(`UPDATE videos SET state = 0, source = $1`, []byte{}))
	if got := f.watch(alice, 7, 0, 1, 0); got != "not_playable_yet" {
		t.Errorf("a video that is not playable is answered with %q", got)
	}
}

// TestWatchPositionsOfNodes: where the clock of another node was ahead, a position of now is stored all the same, and stays the latest one; one that had to wait is not.
func TestWatchPositionsOfNodes(t *testing.T) {
	f := openStopped(t)
	f.insert(7, 8)
	f.posts.set(3, 7, bob)
	f.posts.set(4, 8, bob)
	for i, c := range []struct {
		ahead, age time.Duration
		want       string
		later      int64 // milliseconds after the position that was stored before
	}{{time.Minute, 0, "7:1", 1}, {time.Minute, 2 * time.Second, "7:2", 1}, {time.Minute, 2001 * time.Millisecond, "7:100", 0}, {-time.Second, time.Second, "7:4", 0}, {-time.Minute, 30 * time.Second, "7:5", 30_000}} {
		f.clock.Advance(time.Hour)
		f.clock.Advance(c.ahead)
		f.watch(bob, 7, 3, 100, 0)
		stored := f.clock.Now().UnixMilli()
		f.clock.Advance(-c.ahead)
		f.watch(bob, 8, 4, 0, time.Minute)
		f.watch(bob, 7, 3, uint32(i+1), c.age)
		f.watch(bob, 7, 3, 100, 40*time.Second) // sent later, reached earlier
		f.expectWatched(bob, 0, c.want, "8:0")
		v, err := f.GetVideo(t.Context(), bob, &videov1.GetVideoRequest{Video: 7, Post: 3})
		must(t, err)
		if later := v.WatchedMs - stored; later != c.later {
			t.Errorf("%+v: the time is %d ms after the one before", c, later)
		}
	}
}

// TestWatchHistory: a history has the latest video first, once, in pages, without those that the user may not see any more. It can be cleared.
func TestWatchHistory(t *testing.T) {
	f := openStopped(t)
	f.insert(1, 2, 3, 4, 5, 6)
	for n := range uint64(6) {
		f.posts.set(10+n+1, n+1, bob)
	}
	f.expectWatched(bob, 0)
	for n := range uint64(6) {
		f.clock.Advance(time.Second)
		if got := f.watch(bob, n+1, 10+n+1, uint32(n+1), 0); got != "" {
			t.Fatalf("the position was refused with %q, want success", got)
		}
	}
	f.clock.Advance(time.Second)
	f.watch(bob, 2, 12, 20, 0)
	f.expectWatched(bob, 2, "2:20", "6:6", "5:5", "4:4", "3:3", "1:1")
	f.expectWatched(alice, 2)
	f.posts.set(16, 0, 0)   // hidden
	f.posts.set(15, 1, bob) // edited
	must(t, f.DeleteVideo(t.Context(), alice, 3))
	f.expectWatched(bob, 1, "2:20", "4:4", "1:1")
	f.posts.set(16, 6, bob)
	f.expectWatched(bob, 50, "2:20", "6:6", "4:4", "1:1")
	r, err := f.ListWatched(t.Context(), bob, &videov1.ListWatchedRequest{Limit: 1})
	must(t, err)
	if w := r.Videos[0]; w.Post.GetId() != 12 || w.Video.DurationMs != 60_000 || w.Video.WatchedMs != f.clock.Now().UnixMilli() || w.Video.Playback != nil || r.Next == "" {
		t.Errorf("an entry is %v", w)
	}
	must(t, f.RemoveWatched(t.Context(), bob, 6))
	must(t, f.RemoveWatched(t.Context(), bob, 6))
	must(t, f.RemoveWatched(t.Context(), alice, 4)) // another user's history
	f.expectWatched(bob, 3, "2:20", "4:4", "1:1")
	f.watch(alice, 1, 0, 9, 0) // one's own
	f.expectWatched(alice, 0, "1:9")
	must(t, f.ClearWatched(t.Context(), bob))
	f.expectWatched(bob, 0)
	f.expectWatched(alice, 0, "1:9")
	for _, token := range []string{"x", "0.1", "-1.1", "1.1x", "1.99999999999999999999"} {
		if _, err := f.ListWatched(t.Context(), bob, &videov1.ListWatchedRequest{Page: token}); reason(err) != "bad_page" {
			t.Errorf("the page token %q is answered with %v", token, err)
		}
	}
}

// TestWatchHistoryIsBounded: the oldest videos leave a history of 1,000.
func TestWatchHistoryIsBounded(t *testing.T) {
	f := openStopped(t)
	f.insert(5000, 5001)
	now := f.clock.Now().UnixMilli()
	must(t, f.exec(`INSERT INTO video_watches (member, video, post, position_ms, at_ms) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT CAST($1 AS BIGINT), i, 0, 0, CAST($2 AS BIGINT) + i FROM n`, int64(alice), now-10_000))
	f.watch(alice, 5000, 0, 1, 0)
	f.watch(alice, 5000, 0, 2, 0)
	var count, oldest int64
	look := func(want string) {
		t.Helper()
		must(t, f.db.Read().QueryRowContext(t.Context(), `SELECT count(*), min(video) FROM video_watches WHERE member = $1`, int64(alice)).Scan(&count, &oldest))
		if got := fmt.Sprint(count, " ", oldest); got != want {
			t.Errorf("the count and the oldest are %s, want %s", got, want)
		}
	}
	look("1000 2")
	f.watch(alice, 5001, 0, 1, time.Hour) // older than all others
	look("1000 2")
}

// exec changes rows.
func (f *fixture) exec(statement string, args ...any) error {
	return f.db.Write(f.t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(context.Background(), statement, args...)
		return err
	})
}

const hello = "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nhello\n"

func (f *fixture) setSubtitles(by id.User, n uint64, language, label string, isDefault bool, text string) string {
	_, err := f.SetSubtitles(f.t.Context(), by, &videov1.SetSubtitlesRequest{Video: n, Language: language, Label: label, Default: isDefault, File: text})
	return reason(err)
}

// listed returns the subtitles of a video as "language label", with a star on the default.
func (f *fixture) listed(n uint64) (list []string) {
	f.t.Helper()
	for _, s := range f.get(n).Subtitles {
		text := s.Language + " " + s.Label
		if s.Default {
			text += "*"
		}
		list = append(list, text)
	}
	return list
}

// TestSearchedText: search reads what all subtitles of a video say, the default language first, up to a limit, and is told of each change. It gets no videos that were
// deleted, or have failed.
func TestSearchedText(t *testing.T) {
	f := openStopped(t)
	f.insert(7)
	f.insert(8)
	look := func(limit int, want string) {
		t.Helper()
		must(t, f.db.ReadSnapshot(t.Context(), func(tx *sql.Tx) error {
			got, err := f.SubtitlesText(t.Context(), tx, 7, limit)
			if got != want {
				t.Errorf("the text is %q, want %q", got, want)
			}
			return err
		}))
	}
	shown := func(want ...uint64) {
		t.Helper()
		must(t, f.db.ReadSnapshot(t.Context(), func(tx *sql.Tx) error {
			list, err := f.ShownVideos(t.Context(), tx, bob, map[uint64]uint64{3: 7, 4: 8, 5: 9})
			if got := slices.Sorted(maps.Keys(list)); !slices.Equal(got, want) {
				t.Errorf("videos of the posts %v are shown, want %v", got, want)
			}
			for _, v := range list {
				if v.Name != "" || v.Upload != 0 {
					t.Errorf("another user gets %v", v)
				}
			}
			return err
		}))
	}
	look(100, "")
	f.setSubtitles(alice, 7, "en", "", false, "1\n00:00:01,000 --> 00:00:02,000\nFish & chips\n\n2\n00:00:03,000 --> 00:00:04,000\non <i>Sunday</i>\n")
	f.setSubtitles(alice, 7, "zh", "", true, "1\n00:00:01,000 --> 00:00:02,000\n海上的日出\n")
	look(100, "海上的日出\nFish & chips\non Sunday")
	look(10, "海上的日出\nFish")
	shown(3, 4)
	_, err := f.RemoveSubtitles(t.Context(), alice, &videov1.RemoveSubtitlesRequest{Video: 7, Language: "zh"})
	must(t, err)
	look(100, "Fish & chips\non Sunday")
	must(t, f.exec(`UPDATE videos SET state = 3 WHERE id = 8`))
	shown(3)
	must(t, f.DeleteVideo(t.Context(), alice, 7))
	look(100, "")
	shown()
	if !slices.Equal(f.changed, []uint64{7, 7, 7, 7}) {
		t.Errorf("search was told of changes of %v", f.changed)
	}
}

// TestSubtitles: a video has subtitles in several languages, one of them the default, which are replaced and removed. Players get them like segments.
func TestSubtitles(t *testing.T) {
	f := openStopped(t)
	f.insert(7)
	f.posts.set(3, 7, bob)
	for _, c := range []struct{ language, label, want string }{{"en-us", "English", ""}, {"zh-hans", "中文", ""}, {"", "x", "bad_language"}, {"english", "x", "bad_language"}, {"en\"", "x", "bad_language"}, {"de", "a\nb", "bad_subtitles"},
		{"de", strings.Repeat("x", 61), "bad_subtitles"}, {"de", "", ""}} {
		if got := f.setSubtitles(alice, 7, c.language, c.label, true, hello); got != c.want {
			t.Errorf("%q %q is answered with %q", c.language, c.label, got)
		}
	}
	if got := f.setSubtitles(bob, 7, "en", "x", false, hello); got != "no_video" {
		t.Errorf("another user is answered with %q", got)
	}
	if got := f.setSubtitles(alice, 7, "en", "x", false, "no subtitles"); got != "bad_subtitles" {
		t.Errorf("another file is answered with %q", got)
	}
	if got, want := f.listed(7), []string{"de de*", "en-US English", "zh-Hans 中文"}; !slices.Equal(got, want) {
		t.Errorf("the subtitles are %q, want %q", got, want)
	}
	seen, err := f.GetVideo(t.Context(), bob, &videov1.GetVideoRequest{Video: 7, Post: 3})
	must(t, err)
	english := seen.Subtitles[1]
	if got := f.fetch(english.Url); got.Body.String() != hello || got.Header().Get("Content-Type") != "text/vtt; charset=utf-8" || english.Cues != 1 {
		t.Errorf("%v is answered with %v %q", english, got.Header(), got.Body)
	}
	if got := f.setSubtitles(alice, 7, "en-US", "English", false, "1\n00:00:01,000 --> 00:00:02,000\nhello"); got != "" || f.fetchOK(english.Url) != hello {
		t.Errorf("the same again is answered with %q", got)
	}
	if got := f.setSubtitles(alice, 7, "en-US", "American", true, strings.ReplaceAll(hello, "hello", "howdy")); got != "" {
		t.Errorf("a replacement is answered with %q", got)
	}
	if got := f.fetch(english.Url); got.Code != 404 {
		t.Errorf("what was replaced is answered with %d", got.Code)
	}
	if got, want := f.listed(7), []string{"de de", "en-US American*", "zh-Hans 中文"}; !slices.Equal(got, want) {
		t.Errorf("the subtitles are %q, want %q", got, want)
	}
	url := f.get(7).Subtitles[1].Url
	if text := f.fetchOK(strings.Replace(url, ".vtt", ".m3u8", 1)); !strings.Contains(text, "\n#EXTINF:60.000000,\n"+url[strings.LastIndexByte(url, '/')+1:]+"\n#EXT-X-ENDLIST\n") {
		t.Errorf("the playlist is %s", text)
	}
	for range 2 {
		_, err := f.RemoveSubtitles(t.Context(), alice, &videov1.RemoveSubtitlesRequest{Video: 7, Language: "EN-us"})
		must(t, err)
	}
	if _, err := f.RemoveSubtitles(t.Context(), bob, &videov1.RemoveSubtitlesRequest{Video: 7, Language: "de"}); reason(err) != "no_video" {
		t.Errorf("another user is answered with %v", err)
	}
	if got, want := f.listed(7), []string{"de de", "zh-Hans 中文"}; !slices.Equal(got, want) || f.fetch(url).Code != 404 {
		t.Errorf("the subtitles are %q, want %q", got, want)
	}
	for n := range 18 {
		if got := f.setSubtitles(alice, 7, fmt.Sprintf("de-x-a%d", n), "x", false, hello); got != "" {
			t.Fatalf("the subtitles were refused with %q, want success", got)
		}
	}
	if got := f.setSubtitles(alice, 7, "fr", "x", false, hello); got != "too_many_subtitles" {
		t.Errorf("one more language is answered with %q", got)
	}
	if got := f.setSubtitles(alice, 7, "de", "Deutsch", false, hello); got != "" {
		t.Errorf("a replacement is answered with %q", got)
	}
	f.posts.set(3, 0, 0)
	if got := f.fetch(english.Url); got.Code != 404 {
		t.Errorf("subtitles of a hidden post are answered with %d", got.Code)
	}
}

// subtitlesRows is how many subtitles are stored.
func (f *fixture) subtitlesRows() (count int) {
	f.t.Helper()
	must(f.t, f.db.Read().QueryRowContext(f.t.Context(), `SELECT count(*) FROM video_subtitles`).Scan(&count))
	return count
}

// TestSubtitlesAreBounded: the subtitles of a video have a size in all. A video that failed gets none, and the sweep removes those of videos that nobody can see any more.
func TestSubtitlesAreBounded(t *testing.T) {
	f := openStopped(t)
	f.insert(7, 8)
	large := "WEBVTT\n" + strings.Repeat("\n00:00:01.000 --> 00:00:02.000\n"+strings.Repeat("x", 500)+"\n", 960) // 499 KiB
	for _, language := range []string{"de", "en", "fr", "it"} {
		if got := f.setSubtitles(alice, 7, language, "", false, large); got != "" {
			t.Fatalf("the subtitles were refused with %q, want success", got)
		}
	}
	if got := f.setSubtitles(alice, 7, "nl", "", false, large); got != "subtitles_too_large" {
		t.Errorf("more than 2 MiB are answered with %q", got)
	}
	for _, c := range []struct {
		n    uint64
		text string
	}{{7, large}, {7, hello}, {8, large}} { // a replacement does not count twice, and videos not together
		if got := f.setSubtitles(alice, c.n, "en", "", false, c.text); got != "" {
			t.Errorf("video %d is answered with %q", c.n, got)
		}
	}
	if got := f.setSubtitles(alice, 7, "nl", "", false, large); got != "" {
		t.Errorf("after a shorter replacement the answer is %q", got)
	}
	must(t, f.exec(`UPDATE videos SET state = 3, retriable = TRUE, clean_ms = 1 WHERE id = 7`))
	must(t, f.Sweep(t.Context()))
	if n := f.subtitlesRows(); n != 6 {
		t.Errorf("of a video that can be retried %d subtitles are left, with another one", n)
	}
	must(t, f.exec(`UPDATE videos SET retriable = FALSE, clean_ms = 1 WHERE id = 7`))
	must(t, f.Sweep(t.Context()))
	if n := f.subtitlesRows(); n != 1 {
		t.Errorf("of a video that failed for good and another one there are %d subtitles", n)
	}
	if got := f.setSubtitles(alice, 7, "en", "", false, hello); got != "no_video" {
		t.Errorf("a video that failed is answered with %q", got)
	}
	must(t, f.DeleteVideo(t.Context(), alice, 8))
	must(t, f.Sweep(t.Context()))
	if n := f.subtitlesRows(); n != 0 {
		t.Errorf("of a deleted video there are %d subtitles", n)
	}
}
