package inbox

import "testing"

// A page token decodes to the encoded position. Any other text is rejected, or decodes to a valid position.
func FuzzPage(f *testing.F) {
	f.Add("")
	f.Add("AQAAAAAAAAABAAAAAAAAAAI")
	f.Add("AP__________AAAAAAAAAAA")
	f.Add("AgAAAAAAAAABAAAAAAAAAAI")
	f.Fuzz(func(t *testing.T, page string) {
		from, err := parsePageToken(page)
		if err != nil || page == "" {
			return
		}
		again, err := parsePageToken(pageToken(from.pinned, Membership{Conversation: from.at.Conversation, ActiveMs: from.at.Ms}))
		if err != nil || again.pinned != from.pinned || *again.at != *from.at {
			t.Errorf("%q decodes to %v, which encodes to a token of %v (%v)", page, from, again, err)
		}
	})
}
