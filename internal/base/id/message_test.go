package id_test

import (
	"strings"
	"testing"

	"github.com/rialto-im/rialto/internal/base/id"
	"pgregory.net/rapid"
)

func TestMessageParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, 1<<42-1).Draw(t, "ms")
		spin := rapid.Uint16Range(0, 1<<12-1).Draw(t, "spin")
		typ := rapid.Uint8Range(0, 15).Draw(t, "type")
		c := id.Conversation(rapid.Uint64().Draw(t, "conversation"))
		m := id.MessageOf(ms, spin, typ, c)
		if m.Ms() != ms || m.Spin() != spin || m.Type() != typ || m.Low22() != uint32(c)&(1<<22-1) {
			t.Fatalf("%v has ms %d, spin %d, type %d and bits %d; want %d, %d, %d and %d", m, m.Ms(), m.Spin(), m.Type(), m.Low22(), ms, spin, typ, uint32(c)&(1<<22-1))
		}
		back, err := id.ParseMessage(m.String())
		if err != nil || back != m {
			t.Fatalf("%v became %v: %v", m, back, err)
		}
		later := id.MessageOf(rapid.Int64Range(ms, 1<<42-1).Draw(t, "later"), 1<<12-1, 15, 1<<22-1)
		if m.String() > later.String() {
			t.Fatalf("%v sorts after %v", m, later)
		}
	})
}

func TestParseMessageNamesTheFault(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "19 characters",
		"BD8U-FCQJ-LDC5-L78":  "19 characters",
		"BD8U-FCQJ-LDC5-L780": "character 19",
		"BD8UxFCQJ-LDC5-L789": "character 5",
		"bD8U-FCQJ-LDC5-L789": "character 1 ",
	} {
		if _, err := id.ParseMessage(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that contains %q", text, err, want)
		}
	}
	if m, err := id.ParseMessage("BD8U-FCQJ-LDC5-L789"); err != nil || m.String() != "BD8U-FCQJ-LDC5-L789" {
		t.Errorf("parsing an id returned %v, %v, want the same text again", m, err)
	}
}
