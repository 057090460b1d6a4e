package chat_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/timeline"
	"github.com/rialto-im/rialto/internal/service/chat"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func voice(m *chatv1.Media) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Voice{Voice: m}}
}

func fileOf(m *chatv1.Media) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_File{File: m}}
}

func video(m *chatv1.Media) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Video{Video: m}}
}

func album(caption string, items ...*chatv1.AlbumItem) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Album{Album: &chatv1.Album{Items: items, Caption: caption}}}
}

func albumImage(m *chatv1.Media) *chatv1.AlbumItem {
	return &chatv1.AlbumItem{Kind: &chatv1.AlbumItem_Image{Image: m}}
}

func albumVideo(m *chatv1.Media) *chatv1.AlbumItem {
	return &chatv1.AlbumItem{Kind: &chatv1.AlbumItem_Video{Video: m}}
}

func signal(m *chatv1.Custom) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Signal{Signal: m}}
}

// Each kind has its limits, and every upload that a content names must be the sender's own.
func TestKinds(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	deps := h.deps(h.db)
	var checked []id.Upload
	deps.CheckUploads = func(_ context.Context, _ id.Conversation, _ []id.User, uploads []id.Upload) (refused []error) {
		for _, upload := range uploads {
			checked = append(checked, upload)
			if refused = append(refused, nil); upload == 13 {
				refused[len(refused)-1] = errForeign
			}
		}
		return refused
	}
	s, err := chat.New(ctx, deps, h.config)
	must(t, err)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	place := func(l *chatv1.Location) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Location{Location: l}}
	}
	card := func(c *chatv1.Card) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Card{Card: c}}
	}
	custom := func(c *chatv1.Custom) *chatv1.Content {
		return &chatv1.Content{Kind: &chatv1.Content_Custom{Custom: c}}
	}
	one := func() *chatv1.AlbumItem { return albumImage(&chatv1.Media{Upload: 7}) }
	reply := signal(&chatv1.Custom{Type: "t"})
	reply.ReplyTo = &chatv1.Ref{Seq: 1}
	long := strings.Repeat("a", 2001)
	for n, test := range []struct {
		name    string
		content *chatv1.Content
		uploads []id.Upload
		reason  string
	}{
		{"voice", voice(&chatv1.Media{Upload: 7, DurationMs: 3000, Waveform: make([]byte, 64)}), []id.Upload{7}, ""},
		{"a waveform of a sample more", voice(&chatv1.Media{Upload: 7, Waveform: make([]byte, 65)}), nil, "bad_content"},
		{"a file with a waveform", fileOf(&chatv1.Media{Upload: 7, Waveform: []byte{1}}), nil, "bad_content"},
		{"voice with a poster", voice(&chatv1.Media{Upload: 7, Poster: 8}), nil, "bad_content"},
		{"voice without an upload", voice(&chatv1.Media{}), nil, "bad_content"},
		{"video with a poster", video(&chatv1.Media{Upload: 7, Poster: 8}), []id.Upload{8, 7}, ""},
		{"a poster of another", video(&chatv1.Media{Upload: 7, Poster: 13}), []id.Upload{13, 7}, "foreign"},
		{"video of another", video(&chatv1.Media{Upload: 13, Poster: 8}), []id.Upload{8, 13}, "foreign"},
		{"video with a waveform", video(&chatv1.Media{Upload: 7, Waveform: []byte{1}}), nil, "bad_content"},
		{"a file with a poster", fileOf(&chatv1.Media{Upload: 7, Poster: 8}), nil, "bad_content"},
		{"album", album("both", one(), albumVideo(&chatv1.Media{Upload: 9, Poster: 8})), []id.Upload{7, 8, 9}, ""},
		{"album with a file of another", album("", one(), albumImage(&chatv1.Media{Upload: 13})), []id.Upload{7, 13}, "foreign"},
		{"album of ten", album("", slices.Repeat([]*chatv1.AlbumItem{one()}, 10)...), slices.Repeat([]id.Upload{7}, 10), ""},
		{"album of eleven", album("", slices.Repeat([]*chatv1.AlbumItem{one()}, 11)...), nil, "bad_content"},
		{"empty album", album("nothing"), nil, "bad_content"},
		{"album with an item of no kind", album("", one(), &chatv1.AlbumItem{}), nil, "bad_content"},
		{"album with two captions", album("a", albumImage(&chatv1.Media{Upload: 7, Caption: "b"})), nil, "bad_content"},
		{"album with a long caption", album(long, one()), nil, "bad_content"},
		{"place", place(&chatv1.Location{Latitude: 45.4, Longitude: 12.3, Label: "Rialto", Accuracy: 12.5, Address: "Venezia"}), nil, ""},
		{"negative accuracy", place(&chatv1.Location{Accuracy: -1}), nil, "bad_content"},
		{"no number as accuracy", place(&chatv1.Location{Accuracy: math.NaN()}), nil, "bad_content"},
		{"infinite accuracy", place(&chatv1.Location{Accuracy: math.Inf(1)}), nil, "bad_content"},
		{"address of two lines", place(&chatv1.Location{Address: "a\nb"}), nil, "bad_content"},
		{"card of a user with a picture", card(&chatv1.Card{Title: "Bob", User: 2, Picture: 7}), []id.Upload{7}, ""},
		{"card of a group", card(&chatv1.Card{Title: "g", Group: 3}), nil, ""},
		{"card with a picture of another", card(&chatv1.Card{Title: "t", Picture: 13}), []id.Upload{13}, "foreign"},
		{"card with two references", card(&chatv1.Card{Title: "t", User: 2, Url: "https://example.com"}), nil, "bad_content"},
		{"custom with a fallback", custom(&chatv1.Custom{Type: "app.example/poll", Data: []byte("{}"), Fallback: "Poll: lunch?"}), nil, ""},
		{"long fallback", custom(&chatv1.Custom{Type: "t", Fallback: long}), nil, "bad_content"},
		{"fallback that turns", custom(&chatv1.Custom{Type: "t", Fallback: "a\u202eb"}), nil, "bad_content"},
		{"signal", signal(&chatv1.Custom{Type: "app.example/call", Data: []byte("x")}), nil, ""},
		{"signal without a type", signal(&chatv1.Custom{Data: []byte("x")}), nil, "bad_content"},
		{"signal with a fallback", signal(&chatv1.Custom{Type: "t", Fallback: "x"}), nil, "bad_content"},
		{"signal as a reply", reply, nil, "bad_content"},
	} {
		checked = nil
		d := draftOf(c, 1, uint64(n)+1, "")
		d.Content = contentOf(t, test.content)
		if err := s.Send(ctx, d); reasonOf(err) != test.reason {
			t.Errorf("%s: error is %v, want %q", test.name, err, test.reason)
		}
		if !slices.Equal(checked, test.uploads) {
			t.Errorf("%s: checked uploads %v, want %v", test.name, checked, test.uploads)
		}
	}
}

// A signal has a seq, but does not count, and no message refers to it.
func TestSignalDoesNotCount(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	must(t, s.Send(ctx, draftOf(c, 1, 1, "hello")))
	d := draftOf(c, 1, 2, "")
	d.Content = contentOf(t, signal(&chatv1.Custom{Type: "app.example/call"}))
	must(t, s.Send(ctx, d))
	if d.Seq != 3 || d.Counted != 1 {
		t.Errorf("the signal has the seq %d and the count %d", d.Seq, d.Counted)
	}
	again := draftOf(c, 1, 2, "")
	again.Content = contentOf(t, signal(&chatv1.Custom{Type: "app.example/call"}))
	if must(t, s.Send(ctx, again)); !again.Duplicate || again.Seq != d.Seq {
		t.Errorf("the retry returned %+v", again)
	}
	next := draftOf(c, 1, 3, "after")
	if must(t, s.Send(ctx, next)); next.Counted != 2 {
		t.Errorf("the message after it has the count %d", next.Counted)
	}
	for n, content := range []*chatv1.Content{
		{Kind: &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: &chatv1.Ref{Seq: d.Seq}}}},
		{Kind: &chatv1.Content_Reaction{Reaction: &chatv1.Reaction{Target: &chatv1.Ref{Seq: d.Seq}, Emoji: "👍"}}},
		{Kind: &chatv1.Content_Text{Text: "x"}, ReplyTo: &chatv1.Ref{Seq: d.Seq}},
	} {
		u := draftOf(c, 1, uint64(4+n), "")
		u.Content = contentOf(t, content)
		if err := s.Send(ctx, u); reasonOf(err) != "no_message" {
			t.Errorf("%v of a signal: %v", content, err)
		}
	}
	seq, counted, err := h.log.LatestByAuthor(ctx, timeline.Key{Kind: timeline.Conversation, ID: uint64(c)}, 1)
	if must(t, err); seq != next.Seq || counted != 2 {
		t.Errorf("the author's last message is %d with the count %d", seq, counted)
	}
}

// Of an album only the caption can be edited.
func TestEditAlbum(t *testing.T) {
	ctx := context.Background()
	h := newHarness(t, chat.Config{})
	s := h.node(t)
	c, err := s.OpenDirect(ctx, 1, 2)
	must(t, err)
	d := draftOf(c, 1, 1, "")
	d.Content = contentOf(t, album("before", albumImage(&chatv1.Media{Upload: 7}), albumImage(&chatv1.Media{Upload: 8})))
	must(t, s.Send(ctx, d))
	edit := draftOf(c, 1, 2, "")
	edit.Content = contentOf(t, &chatv1.Content{Kind: &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: &chatv1.Ref{Seq: d.Seq}, Content: album("after", albumImage(&chatv1.Media{Upload: 7}))}}})
	must(t, s.Send(ctx, edit))
	if a := messageAt(t, s, 2, c, d.Seq).Content.GetAlbum(); a.GetCaption() != "after" || len(a.GetItems()) != 2 {
		t.Errorf("the album is %v", a)
	}
}
