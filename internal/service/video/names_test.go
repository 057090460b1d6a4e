package video

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNamesOfSubtitles: all names in the master playlist are different, whatever the labels are.
func TestNamesOfSubtitles(t *testing.T) {
	p := &progress{subtitles: []*subtitles{{language: "de", label: "A"}, {language: "en", label: "A (fr)"}, {language: "fr", label: "A"}, {language: "it", label: "A (fr) (fr)"}, {language: "nl", label: "A\"B"}, {language: "pl", label: "A'B"}}}
	var b strings.Builder
	p.masterSubtitles(&b)
	var got []string
	for _, found := range regexp.MustCompile(`NAME="([^"]*)"`).FindAllStringSubmatch(b.String(), -1) {
		got = append(got, found[1])
	}
	if want := []string{"A", "A (fr)", "A (fr) (fr)", "A (fr) (fr) (it)", "A'B", "A'B (pl)"}; !slices.Equal(got, want) {
		t.Errorf("the names are %q, want %q", got, want)
	}
}
