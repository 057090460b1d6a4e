package subtitle_test

import (
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/platform/subtitle"
)

// The text of a file is what its cues say, without times and tags. Of a file that was cut, the last cue is missing, and nothing else.
func TestText(t *testing.T) {
	file := convert(t, "WEBVTT\n\n1\n00:01.000 --> 00:02.000 align:left\n<v Ana>Fish &amp; <b>chips</b>\nat 1 &lt; 2\n\nNOTE nothing\n\n00:03.000 --> 00:04.000\n海上的<i>日出</i>\n")
	if got, want := subtitle.Text(file, false), "Fish & chips at 1 < 2\n海上的日出"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for n := range len(file) {
		got := subtitle.Text(file[:n], true)
		if want := "Fish & chips at 1 < 2"; got != "" && got != want || n >= strings.Index(file, "00:00:03") && got != want {
			t.Errorf("cut after %d bytes: %q", n, got)
		}
	}
	if got := subtitle.Text("", false); got != "" {
		t.Errorf("an empty file has the text %q, want none", got)
	}
}
