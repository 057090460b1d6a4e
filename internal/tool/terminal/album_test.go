package terminal

import (
	"slices"
	"strings"
	"testing"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

func TestPathsOfAlbums(t *testing.T) {
	for text, want := range map[string][]string{
		"a.jpg":                              {"a.jpg", ""},
		` a.jpg "my cat.jpg"  b.png `:        {"a.jpg", "my cat.jpg", "b.png", ""},
		`a.jpg "my cat.jpg" -- both of them`: {"a.jpg", "my cat.jpg", "both of them"},
		"a--b.jpg -- -- a caption":           {"a--b.jpg", "-- a caption"},
		"a.jpg --":                           {"a.jpg", ""},
	} {
		paths, caption, err := parseAlbum(text)
		if got := append(paths, caption); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-- a caption", strings.Repeat("a.jpg ", 11)} {
		if _, _, err := parseAlbum(text); err == nil || !strings.Contains(err.Error(), "give 1 to 10 paths") {
			t.Errorf("%q: error %v, want one that contains 'give 1 to 10 paths'", text, err)
		}
	}
}

func TestItemsOfAlbums(t *testing.T) {
	if item, err := albumItem(&chatv1.Upload{Name: "a.png", MimeType: "image/png", Width: 2, Height: 3, Size: 9}); err != nil || item.GetImage().GetHeight() != 3 || item.GetImage().Size != 9 {
		t.Errorf("an image: %v, %v", item, err)
	}
	if item, err := albumItem(&chatv1.Upload{Name: "a.webm", MimeType: "video/webm"}); err != nil || item.GetVideo().GetName() != "a.webm" {
		t.Errorf("a video: %v, %v", item, err)
	}
	for _, kind := range []string{"image/png", "application/pdf"} { // an image that the server cannot read has no size
		if item, err := albumItem(&chatv1.Upload{Name: "a\x1b[2J.bin", MimeType: kind}); err == nil || err.Error() != "a[2J.bin is neither an image nor a video; send it with /file" {
			t.Errorf("%s: item %v, error %v; want that it is neither an image nor a video", kind, item, err)
		}
	}
}

func TestWaveformsAsText(t *testing.T) {
	long := make([]byte, 64)
	long[63] = 255
	for want, samples := range map[string][]byte{
		"":    nil,
		"▁▄█": {0, 128, 255},
		"▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█": long,
		"▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▂": {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 40},
	} {
		if got := waveform(samples); got != want {
			t.Errorf("%v: %q, want %q", samples, got, want)
		}
	}
}
